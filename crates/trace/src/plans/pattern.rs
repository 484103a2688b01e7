//! Searching for a text anywhere: `LIKE` with a wildcard at the beginning, which no index helps.

use crate::analysis::{Analysis, StatementUse};
use crate::{Trace, TraceError};

/// The fewest steps in full scans from which on a search is named.
const SCANS: u64 = 10_000;

/// Scanning statements with such a pattern, by the values of their latest execution.
pub fn of(trace: &Trace, analysis: &Analysis) -> Result<Vec<String>, TraceError> {
    let mut all = Vec::new();
    for usage in analysis.statements.iter().filter(|statement| may_search(statement)) {
        let text = trace.statement(usage.latest.statement)?;
        let values = trace.values(usage.latest.event)?;
        if has_pattern(&text, &values) {
            all.push(usage.sql.clone());
        }
    }
    Ok(all)
}

fn may_search(usage: &StatementUse) -> bool {
    let text = usage.sql.to_ascii_uppercase();
    usage.scan_steps >= SCANS && (text.contains(" LIKE ") || text.contains(" GLOB "))
}

/// Whether the text or a bound value has a wildcard at the beginning.
fn has_pattern(sql: &str, values: &str) -> bool {
    let text = sql.to_ascii_uppercase();
    let written = ["LIKE", "GLOB"].iter().any(|word| {
        let rests = text.split(word).skip(1);
        rests
            .map(|rest| rest.trim_start_matches([' ', '\n', '\t', '(']))
            .any(|rest| rest.starts_with("'%") || rest.starts_with("'*"))
    });
    let values = serde_json::from_str::<Vec<serde_json::Value>>(values).unwrap_or_default();
    let bound =
        values.iter().filter_map(|value| value.as_str()).any(|value| value.starts_with(['%', '*']));
    written || bound
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wildcard_at_the_beginning_is_seen_in_texts_and_values() {
        for (sql, values, has) in [
            ("SELECT * FROM t WHERE a LIKE '%x'", "", true),
            ("SELECT * FROM t WHERE a LIKE '%' || ? || '%'", "[\"x\"]", true),
            ("SELECT * FROM t WHERE a LIKE ? ESCAPE '\\'", "[\"%x%\"]", true),
            ("SELECT * FROM t WHERE a LIKE ?", "[\"x%\"]", false),
            ("SELECT * FROM t WHERE a LIKE 'x%'", "", false),
        ] {
            assert_eq!(has_pattern(sql, values), has, "{sql} {values}");
        }
    }
}

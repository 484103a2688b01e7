//! Indexes that nothing uses, and searches that no index helps.

use std::collections::BTreeSet;

use crate::analysis::{Analysis, StatementUse};
use crate::plans::{SchemaCopy, UnusedIndex};
use crate::{Trace, TraceError};

/// The words of statements, in small letters.
pub struct Words {
    all: BTreeSet<String>,
    /// Columns that statements compare with a pattern.
    of_patterns: BTreeSet<String>,
}

impl Words {
    /// Returns the words of these texts.
    pub fn of<'a>(texts: impl Iterator<Item = &'a str>) -> Words {
        let mut words = Words { all: BTreeSet::new(), of_patterns: BTreeSet::new() };
        for text in texts {
            let lower = text.to_lowercase();
            let own = lower.split(|c: char| !(c.is_alphanumeric() || c == '_'));
            let own: Vec<String> = own.map(str::to_owned).collect();
            if own.iter().any(|word| word == "like" || word == "glob") {
                words.of_patterns.extend(own.iter().cloned());
            }
            words.all.extend(own);
        }
        words
    }

    /// Returns whether the plans of the texts say whether an index is used: statements name its table, and none of them
    /// compares its column with a pattern, whose value decides.
    fn decide(&self, table: &str, column: &str) -> bool {
        let has = |words: &BTreeSet<String>, name: &str| {
            let lower = name.to_lowercase();
            let mut parts = lower.split(|c: char| !(c.is_alphanumeric() || c == '_'));
            parts.all(|part| words.contains(part))
        };
        has(&self.all, table) && !has(&self.of_patterns, column)
    }
}

/// Returns the indexes that no plan uses and no constraint needs, as far as plans can tell. It returns none if triggers
/// run statements without plans.
pub fn unused(
    copy: &SchemaCopy,
    database: &str,
    plans: &[String],
    words: &Words,
) -> Vec<UnusedIndex> {
    if !copy.texts("SELECT name FROM sqlite_schema WHERE type = 'trigger'").is_empty() {
        return Vec::new();
    }
    let used: BTreeSet<&str> = plans.iter().filter_map(|line| index_of(line)).collect();
    let rows = copy.texts(
        "SELECT name, tbl_name, (SELECT coalesce(name, '') FROM pragma_index_info(it.name) WHERE seqno = 0)
         FROM sqlite_schema AS it WHERE type = 'index' AND sql IS NOT NULL
         AND (SELECT \"unique\" = 0 AND partial = 0 FROM pragma_index_list(it.tbl_name) AS list
           WHERE list.name = it.name)
         AND NOT EXISTS (SELECT 1 FROM pragma_foreign_key_list(it.tbl_name) AS k
           JOIN pragma_index_info(it.name) AS i ON i.seqno = 0 AND i.name = k.\"from\" COLLATE NOCASE)
         ORDER BY rowid",
    );
    let indexes = rows.into_iter().filter_map(|row| <[String; 3]>::try_from(row).ok());
    indexes
        .filter(|[index, table, column]| {
            !used.contains(index.as_str()) && words.decide(table, column)
        })
        .map(|[index, table, _]| UnusedIndex { database: database.to_owned(), index, table })
        .collect()
}

/// Returns the index that a node of a plan uses.
fn index_of(line: &str) -> Option<&str> {
    let (_, rest) =
        line.split_once(" USING INDEX ").or_else(|| line.split_once(" USING COVERING INDEX "))?;
    Some(rest.rsplit_once(" (").map_or(rest, |(name, _)| name))
}

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

/// Returns whether the text or a bound value has a wildcard at the beginning.
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
    fn plans_decide_about_tables_in_statements_without_patterns() {
        let words =
            Words::of(["SELECT a FROM \"my table\" WHERE b LIKE ?", "DELETE FROM t"].into_iter());
        for (table, column, decide) in [
            ("T", "x", true),
            ("my table", "c", true),
            ("t", "B", false),
            ("other", "x", false),
            ("my other", "x", false),
        ] {
            assert_eq!(words.decide(table, column), decide, "{table} {column}");
        }
    }

    #[test]
    fn a_node_names_its_index() {
        for (line, index) in [
            ("SEARCH t USING INDEX by_a (a=? AND b>?)", Some("by_a")),
            ("  SCAN t USING COVERING INDEX by (b)", Some("by")),
            ("SCAN t USING COVERING INDEX by_b", Some("by_b")),
            ("SEARCH t USING INTEGER PRIMARY KEY (rowid=?)", None),
            ("SCAN t", None),
        ] {
            assert_eq!(index_of(line), index, "{line}");
        }
    }

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

//! The wording of findings.

use indicatif::HumanCount;
use report::document::{Item, Sentence};
use report::figures::{duration, percent};
use trace::analysis::{Analysis, Finding, StatementUse};

/// How much of a statement a sentence quotes, in characters.
const QUOTED: usize = 70;

/// A finding as an item of a list.
pub fn item(analysis: &Analysis, finding: &Finding<'_>) -> Item {
    match finding {
        Finding::Time(it) => about(
            it,
            format!(
                "took {} of the time in statements.",
                percent(analysis.share_of_time(it))
            ),
        ),
        Finding::FullScans(it) => about(
            it,
            format!(
                "made {} steps in full scans and returned or changed {} rows. An index may avoid the scans.",
                HumanCount(it.scan_steps),
                HumanCount(it.rows.max(it.changes))
            ),
        ),
        Finding::Runs(it) => about(
            it,
            format!(
                "ran {} times in {} of at least 10 in a row (N+1), {} in the longest. One query for all rows \
                 may replace each of them.",
                HumanCount(it.in_runs),
                plural(it.runs, "run", "runs"),
                HumanCount(it.longest_run)
            ),
        ),
        Finding::Prepared(it) => about(
            it,
            format!(
                "was prepared {} times for {} executions. The application could keep it prepared.",
                HumanCount(it.prepared),
                HumanCount(it.count)
            ),
        ),
        Finding::Autocommit { writes, commits } => Item::new(format!(
            "{} of {} commits were writes in autocommit, a transaction each. Several writes in one transaction \
             share its cost.",
            HumanCount(*writes),
            HumanCount(*commits)
        )),
        Finding::ReadBeforeWrite(count) => Item::new(Sentence::marked(&format!(
            "{} read before writing. Such a write fails at once, whatever the busy timeout is, if another connection \
             has written in the meantime. `BEGIN IMMEDIATE` avoids that.",
            plural(*count, "transaction", "transactions")
        ))),
        Finding::Busy(count) => Item::new(format!(
            "{} failed because another connection had a lock.",
            plural(*count, "statement", "statements")
        )),
        Finding::Idle(us) => Item::new(format!(
            "Transactions were open for {} without a running statement. A transaction that has written blocks other \
             writers meanwhile.",
            time(*us as f64 * 1e3)
        )),
    }
}

fn about(it: &StatementUse, words: String) -> Item {
    Item::new(Sentence::code(shortened(&it.sql, QUOTED)).words(format!(" {words}")))
}

/// A number with its noun.
pub fn plural(count: u64, one: &str, many: &str) -> String {
    format!(
        "{} {}",
        HumanCount(count),
        if count == 1 { one } else { many }
    )
}

/// A time of so many nanoseconds.
pub fn time(ns: f64) -> String {
    match ns {
        ..1e3 => format!("{ns:.0} ns"),
        ..1e6 => format!("{:.1} µs", ns / 1e3),
        ..1e9 => format!("{:.1} ms", ns / 1e6),
        _ => duration(ns / 1e9),
    }
}

/// The beginning of a text.
pub fn shortened(text: &str, length: usize) -> String {
    match text.char_indices().nth(length) {
        Some((end, _)) => format!("{}…", text[..end].trim_end()),
        None => text.to_owned(),
    }
}

//! The wording of findings.

use indicatif::HumanCount;
use report::document::{Item, Sentence};
use report::figures::{duration, percent};
use report::sql::shortened;
use trace::analysis::{Analysis, CycleUse, FEW, Finding, READS, StatementUse};
use trace::plans::Plans;

/// How much of a statement a sentence quotes, in characters.
const QUOTED: usize = 70;

/// A finding as an item of a list.
pub fn item(analysis: &Analysis, plans: &Plans, finding: &Finding<'_>) -> Item {
    let sentence = match finding {
        Finding::Time(it) => share_of_time(analysis, it),
        Finding::FullScans(it) => full_scans(plans, it),
        Finding::Runs(it) => run(it),
        Finding::Cycles(it) => cycle(it),
        Finding::SingleRows(it) => single_rows(it),
        Finding::Prepared(it) => prepared(it),
        Finding::Autocommit { writes, commits } => autocommit(*writes, *commits),
        Finding::SingleStatement { transactions, commits } => {
            single_statement(*transactions, *commits)
        }
        Finding::ShortConnections { short, connections } => short_connections(*short, *connections),
        Finding::ReadBeforeWrite(count) => read_before_write(*count),
        Finding::Busy(count) => busy(*count),
        Finding::Idle(us) => idle(*us),
    };
    Item::new(lesson(sentence, finding.experiment()))
}

fn share_of_time(analysis: &Analysis, it: &StatementUse) -> Sentence {
    let share = percent(analysis.share_of_time(it));
    about(it, format!("took {share} of the time in statements."))
}

fn full_scans(plans: &Plans, it: &StatementUse) -> Sentence {
    let scans = about(
        it,
        format!(
            "made {} steps in full scans and returned or changed {} rows.",
            HumanCount(it.scan_steps),
            HumanCount(it.rows.max(it.changes))
        ),
    );
    match plans.missing.get(&it.sql) {
        Some(missing) => scans
            .words(" SQLite would use an index on ")
            .and_code(format!("{}({})", missing.table, missing.column))
            .words(" instead."),
        None => scans,
    }
}

fn run(it: &StatementUse) -> Sentence {
    about(
        it,
        format!(
            "ran {} times in {} of at least {READS} in a row (N+1), {} in the longest. One query for all rows may \
             replace each of them.",
            HumanCount(it.in_runs),
            plural(it.runs, "run", "runs"),
            HumanCount(it.longest_run)
        ),
    )
}

fn cycle(it: &CycleUse) -> Sentence {
    let mut statements = Sentence::default();
    for (number, sql) in it.texts.iter().enumerate() {
        let between = if number == 0 { "" } else { ", then " };
        statements = statements.words(between).and_code(shortened(sql, QUOTED));
    }
    statements.words(format!(
        " ran in turn {} times in {} of at least {READS} (N+1), {} in the longest. One query for all rows may replace each \
         of them.",
        HumanCount(it.times),
        plural(it.runs, "run", "runs"),
        HumanCount(it.longest)
    ))
}

fn single_rows(it: &StatementUse) -> Sentence {
    about(
        it,
        format!(
            "inserted {} rows one by one in runs within a transaction, {} in the longest. One statement can insert \
             several rows.",
            HumanCount(it.single_rows),
            HumanCount(it.longest_single_rows)
        ),
    )
}

fn prepared(it: &StatementUse) -> Sentence {
    about(
        it,
        format!(
            "was prepared again on the same connection for {} of {} executions. The application could keep it prepared.",
            HumanCount(it.prepared_again),
            HumanCount(it.count)
        ),
    )
}

fn autocommit(writes: u64, commits: u64) -> Sentence {
    format!(
        "{} of {} commits were writes in autocommit, each soon after another one on its connection with at most reads \
         between them. Several writes in one transaction share its cost.",
        HumanCount(writes),
        HumanCount(commits)
    )
    .into()
}

fn single_statement(transactions: u64, commits: u64) -> Sentence {
    format!(
        "{} of {} commits ended transactions of one statement that writes, each soon after another one on its connection \
         with at most reads between them. Several writes in one transaction share its cost.",
        HumanCount(transactions),
        HumanCount(commits)
    )
    .into()
}

fn short_connections(short: u64, connections: u64) -> Sentence {
    format!(
        "{} of {} executed fewer than {FEW} statements. Each new connection reads the schema and prepares \
         its statements again. The application could keep connections open.",
        HumanCount(short),
        plural(connections, "connection", "connections")
    )
    .into()
}

fn read_before_write(count: u64) -> Sentence {
    Sentence::marked(&format!(
        "{} read before writing. Such a write fails at once, whatever the busy timeout is, if another connection has \
         written in the meantime. `BEGIN IMMEDIATE` avoids that.",
        plural(count, "transaction", "transactions")
    ))
}

fn busy(count: u64) -> Sentence {
    let statements = plural(count, "statement", "statements");
    format!("{statements} failed because another connection had a lock.").into()
}

fn idle(us: i64) -> Sentence {
    format!(
        "Transactions were open for {} without a running statement. A transaction that has written blocks other \
         writers meanwhile.",
        time(us as f64 * 1e3)
    )
    .into()
}

/// A sentence with the experiment that measures the advice on this machine.
pub fn lesson(sentence: Sentence, experiment: Option<&str>) -> Sentence {
    // An application in another language is another application.
    let name = match experiment {
        Some("orm-activerecord") => " Experiment (an application in Ruby): ",
        _ => " Experiment: ",
    };
    match experiment {
        Some(id) => sentence.words(name).and_code(format!("pragmark run {id}")).words("."),
        None => sentence,
    }
}

fn about(it: &StatementUse, words: String) -> Sentence {
    Sentence::code(shortened(&it.sql, QUOTED)).words(format!(" {words}"))
}

/// A number with its noun.
pub fn plural(count: u64, one: &str, many: &str) -> String {
    format!("{} {}", HumanCount(count), if count == 1 { one } else { many })
}

/// A time of so many nanoseconds.
pub fn time(ns: f64) -> String {
    match ns {
        0.0 => "0".to_owned(),
        ..1e3 => format!("{ns:.0} ns"),
        ..1e6 => format!("{:.1} µs", ns / 1e3),
        ..1e9 => format!("{:.1} ms", ns / 1e6),
        _ => duration(ns / 1e9),
    }
}

//! Findings in a trace, in words, and the plans of its statements.

use std::collections::BTreeMap;
use std::path::Path;

use lab::metric::Unit;
use report::document::{Abridge, Block, Cell, Column, Item, Row, Sentence, Table};
use report::figures::{duration, percent, with_unit};
use report::sql::shortened;
use trace::analysis::{
    Analysis, CycleUse, FEW, Finding, Kind, PinUse, READS, Refusal, RefusalUse, RunUse,
    StatementUse, Unprotected, Waits,
};
use trace::plans::{Plans, UnusedIndex};

use crate::words::{grouped, plural, shell_path};

/// How much of a statement with a plan is quoted, in characters.
const QUOTED_WITH_PLAN: usize = 60;
/// How many statements that were prepared again are named.
const NAMED_PREPARED: usize = 3;
/// How many indexes of a database are named.
const NAMED: usize = 5;
/// From this share of a statement's time on, it mostly waits for locks; below the other one, it hardly does.
const MOSTLY: f64 = 0.5;
const HARDLY: f64 = 0.05;
/// How much of a statement a sentence quotes, in characters.
const QUOTED: usize = 70;

/// Returns what deserves a look, as items of a list.
pub(super) fn items(trace: &Path, analysis: &Analysis, plans: &Plans) -> Vec<Item> {
    let findings = analysis.findings();
    let commits = findings.iter().find_map(|finding| match finding {
        Finding::Time(usage) => commit_time(analysis, usage).map(|_| *usage),
        _ => None,
    });
    let has_no_keys = |setting: &Unprotected| {
        setting.pragma == "foreign_keys" && plans.without_foreign_keys.contains(&setting.database)
    };
    let findings = findings.iter().filter(
        |finding| !matches!(finding, Finding::Unprotected(setting) if has_no_keys(setting)),
    );
    let items = findings.map(|finding| item(trace, analysis, finding, commits));
    items.chain(of_plans(analysis, plans)).collect()
}

/// Returns an item of the list; the first statement with something to say of commits says what takes them time.
fn item(
    trace: &Path,
    analysis: &Analysis,
    finding: &Finding<'_>,
    first: Option<&StatementUse>,
) -> Item {
    let sentence = match finding {
        Finding::Time(usage) => {
            let said = share_of_time(analysis, usage);
            match commit_time(analysis, usage).filter(|_| first == Some(*usage)) {
                Some((why, varied, known)) => {
                    let trace = shell_path(trace);
                    let command = format!("pragmark measure --trace {trace} --vary {varied}");
                    said.words(why).and_code(command).words(known)
                }
                None => said,
            }
        }
        Finding::FullScans(usage) => full_scans(usage),
        Finding::Runs(usage) => run(usage),
        Finding::Cycles(usage) => cycle(usage),
        Finding::SingleRows(usage) => single_rows(usage),
        Finding::Prepared(statements) => prepared(statements),
        Finding::Autocommit { writes, commits } => autocommit(*writes, *commits),
        Finding::SingleStatement { transactions, commits } => {
            single_statement(*transactions, *commits)
        }
        Finding::ShortConnections { short, connections } => {
            short_connections(analysis, *short, *connections)
        }
        Finding::ReadBeforeWrite(count) => read_before_write(*count),
        Finding::Refused(usage) => refused(usage),
        Finding::Unprotected(setting) => unprotected(setting),
        Finding::Pinned(pin) => pinned(pin),
        Finding::Idle(us) => {
            idle("written", *us, "A transaction that has written blocks other writers meanwhile.")
        }
        Finding::IdleReads(us) => {
            idle("only read", *us, "Outside of WAL mode, no other connection can commit meanwhile.")
        }
    };
    Item::new(lesson(sentence, finding.experiment()))
}

fn share_of_time(analysis: &Analysis, usage: &StatementUse) -> Sentence {
    let share = percent(analysis.share_of_time(usage));
    let begins = begins_with(usage, &["BEGIN IMMEDIATE", "BEGIN EXCLUSIVE"]);
    let waited = match usage.share_of_waits() {
        Some(0.0) if begins || commits(usage) => ", and waited for no lock".to_owned(),
        Some(waited) if waited > 0.0 => format!(", {} of that waiting for locks", percent(waited)),
        _ => String::new(),
    };
    let sentence = about(usage, format!("took {share} of the time in statements{waited}."));
    if commits_by_itself(usage) {
        sentence.words(
            " Outside of BEGIN and COMMIT it commits by itself, and its time includes the commit.",
        )
    } else if begins && usage.share_of_waits().is_none() {
        sentence.words(" It waits while another connection has the write lock.")
    } else if usage.kind == Kind::Read
        && usage.share_of_waits() >= Some(MOSTLY)
        && !are_in_wal(analysis)
    {
        sentence.words(" With a rollback journal, reads wait for commits. In WAL mode they do not.")
    } else {
        sentence
    }
}

/// Returns whether some commits were in WAL mode, or in no mode that is known.
fn are_in_wal(analysis: &Analysis) -> bool {
    let [in_wal, with_journal] = analysis.commits_by_mode;
    in_wal > 0 || with_journal == 0
}

fn begins_with(usage: &StatementUse, words: &[&str]) -> bool {
    let sql = usage.sql.to_ascii_uppercase();
    words.iter().any(|word| sql.starts_with(word))
}

fn commits_by_itself(usage: &StatementUse) -> bool {
    usage.autocommit_writes * 2 > usage.count
}

/// Returns whether a statement's time includes commits.
fn commits(usage: &StatementUse) -> bool {
    commits_by_itself(usage) || begins_with(usage, &["COMMIT", "END"])
}

/// Returns what takes commits time, the setting that measures it, and of how many commits that is known: nearly all have to be in
/// one mode. Nothing where a statement does not commit, mostly waits for locks that no commit in its mode waits for, or is known not
/// to sync.
fn commit_time(
    analysis: &Analysis,
    usage: &StatementUse,
) -> Option<(&'static str, &'static str, String)> {
    let [in_wal, with_journal] = analysis.commits_by_mode;
    let most = in_wal.max(with_journal);
    if !commits(usage) || most * 10 < analysis.commits * 9 {
        return None;
    }
    let hardly_syncs = analysis.unsynced_commits * 10 >= analysis.commits * 9;
    let (why, varied) = match (in_wal == most, usage.share_of_waits()) {
        (true, Some(MOSTLY..)) => return None,
        (true, _) | (false, Some(..HARDLY)) if hardly_syncs => return None,
        (true, Some(_)) => (
            " A commit in WAL mode writes the log, syncs it unless synchronous is NORMAL or OFF, and now and then copies it into the database. What the sync costs: ",
            "synchronous=full,normal",
        ),
        (true, None) => (
            " In WAL mode a commit waits for no lock: it writes the log, syncs it unless synchronous is NORMAL or OFF, and now and then copies it into the database. What the sync costs: ",
            "synchronous=full,normal",
        ),
        (false, Some(..HARDLY)) => (
            " Outside of WAL mode a commit syncs the database and a journal in a file, unless synchronous is OFF. In WAL mode it syncs the log at most: ",
            "journal_mode=delete,wal",
        ),
        (false, Some(MOSTLY..)) => (
            " Outside of WAL mode a commit waits for connections that read. In WAL mode it waits for none: ",
            "journal_mode=delete,wal",
        ),
        (false, _) => (
            " Outside of WAL mode a commit waits for connections that read, and unless synchronous is OFF it syncs the database and a journal in a file. In WAL mode it waits for none: ",
            "journal_mode=delete,wal",
        ),
    };
    let all = grouped(analysis.commits);
    let known = format!(". Of {all} commits, {} are known to be in this mode.", grouped(most));
    let known = if most < analysis.commits { known } else { ".".to_owned() };
    Some((why, varied, known))
}

fn full_scans(usage: &StatementUse) -> Sentence {
    about(
        usage,
        format!(
            "made {} steps in full scans and returned or changed {}.",
            grouped(usage.scan_steps),
            plural(usage.rows.max(usage.changes), "row", "rows")
        ),
    )
}

fn run(usage: &StatementUse) -> Sentence {
    about(usage, format!("ran {}", in_runs(usage.runs)))
}

fn cycle(usage: &CycleUse) -> Sentence {
    let mut statements = Sentence::default();
    for (number, sql) in usage.texts.iter().enumerate() {
        let between = if number == 0 { "" } else { ", then " };
        statements = statements.words(between).and_code(shortened(sql, QUOTED));
    }
    statements.words(format!(" ran in turn {}", in_runs(usage.runs)))
}

/// Returns how often reads ran in a row, and what can replace them.
fn in_runs(runs: RunUse) -> String {
    let (kind, advice) = if runs.of_rows > 0 {
        (" (N+1)", "One query for all rows may replace each of them.")
    } else {
        ("", "If one task needs all rows of a run, one query can replace it.")
    };
    format!(
        "{} times in {} of at least {READS} in a row{kind}, {} in the longest. {advice}",
        grouped(runs.times),
        plural(runs.count, "run", "runs"),
        grouped(runs.longest)
    )
}

fn single_rows(usage: &StatementUse) -> Sentence {
    let sql = usage.sql.to_ascii_uppercase();
    // It says what happens to a row that exists.
    let may_update = ["OR REPLACE", "DO UPDATE"].iter().any(|words| sql.contains(words))
        || sql.starts_with("REPLACE");
    let verb = if may_update { "inserted or updated" } else { "inserted" };
    about(
        usage,
        format!(
            "{verb} {} rows one by one in runs within a transaction, {} in the longest. One statement can insert \
             several rows.",
            grouped(usage.single_rows),
            grouped(usage.longest_single_rows)
        ),
    )
}

fn prepared(statements: &[&StatementUse]) -> Sentence {
    let mut sentence = Sentence::default();
    for (number, usage) in statements.iter().take(NAMED_PREPARED).enumerate() {
        let before = if number == 0 { "" } else { ", " };
        sentence = sentence.words(before).and_code(shortened(&usage.sql, QUOTED)).words(format!(
            " ({} of {} executions)",
            grouped(usage.prepared_again),
            grouped(usage.count)
        ));
    }
    let (verb, object) = if statements.len() == 1 { ("was", "it") } else { ("were", "them") };
    let others = match statements.len().saturating_sub(NAMED_PREPARED) {
        0 => String::new(),
        others => format!(" and {}", plural(others as u64, "other statement", "other statements")),
    };
    let has_values = statements.iter().any(|usage| usage.other_literals * 2 > usage.prepared_again);
    let how = if has_values { ", with parameters instead of values in the text" } else { "" };
    sentence.words(format!(
        "{others} {verb} prepared again on the same connection. The application could keep {object} prepared{how}."
    ))
}

fn autocommit(writes: u64, commits: u64) -> Sentence {
    format!(
        "{} of {} commits were writes in autocommit, each soon after another one on its connection with at most reads \
         between them. Several writes in one transaction share its cost.",
        grouped(writes),
        grouped(commits)
    )
    .into()
}

fn single_statement(transactions: u64, commits: u64) -> Sentence {
    format!(
        "{} of {} commits ended transactions of one statement that writes, each soon after another one on its connection \
         with at most reads between them. Several writes in one transaction share its cost.",
        grouped(transactions),
        grouped(commits)
    )
    .into()
}

fn short_connections(analysis: &Analysis, short: u64, connections: u64) -> Sentence {
    let [in_wal, _] = analysis.commits_by_mode;
    let log = if in_wal == 0 {
        ""
    } else {
        " In WAL mode, closing the last open one copies the log into the database and syncs it."
    };
    format!(
        "{} of {} executed fewer than {FEW} statements. Each new connection reads the schema and prepares its statements again.{log} \
         The times of statements do not include opening and closing. The application could keep connections open.",
        grouped(short),
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

fn refused(usage: &RefusalUse) -> Sentence {
    let statements = plural(usage.count, "statement", "statements");
    let (code, waited) = (error_name(usage.code), waited(&usage.waits));
    let words = match usage.refusal {
        Refusal::Upgrade => {
            let writes = plural(usage.count, "write", "writes");
            let their = if usage.count == 1 { "its" } else { "their" };
            format!(
                "{writes} failed at once because {their} transaction had read before ({code}): no busy timeout helps; \
                 `BEGIN IMMEDIATE` does. {waited}"
            )
        }
        Refusal::TimedOut => format!(
            "{statements} waited for another connection's lock until the busy timeout, and failed. {waited} Shorter \
             transactions or a longer timeout avoid that."
        ),
        Refusal::NoTimeout => format!(
            "{statements} failed at once because another connection had a lock and the busy timeout is 0. With a timeout \
             they wait."
        ),
        Refusal::Locked => format!(
            "{statements} failed because a statement of the same connection or shared cache was in the way ({code}). No \
             busy timeout waits for that."
        ),
        Refusal::Waited => format!(
            "{statements} waited for another connection's lock and then got it, {} in all and {} at most. Shorter transactions \
             shorten the waits.",
            time(usage.waits.total_ns as f64),
            time(usage.waits.longest_ns as f64),
        ),
        Refusal::Other => {
            format!("{statements} failed because of a lock ({code}). {waited}")
        }
    };
    let mut sentence = Sentence::marked(words.trim_end());
    for (number, sql) in usage.transaction.iter().enumerate() {
        let before = if number == 0 { " Most often: " } else { ", " };
        sentence = sentence.words(before).and_code(shortened(sql, QUOTED));
    }
    let sentence = if usage.transaction.is_empty() { sentence } else { sentence.words(".") };
    held(sentence, usage).words(if was_overtaken(usage) {
        " No recorded transaction held the lock for as long as the longest wait: others can take it between SQLite's attempts, which \
         are up to 100 ms apart, or a program held it that was not recorded."
    } else {
        ""
    })
}

/// Returns whether a connection with a busy timeout waited for much longer than any transaction that held the lock is open.
fn was_overtaken(usage: &RefusalUse) -> bool {
    let held_us = usage.holders.iter().map(|holder| holder.held_us).max().unwrap_or(i64::MAX);
    usage.refusal == Refusal::Waited
        && usage.waits.timeouts_ms.is_some_and(|(least, _)| least > 0)
        && usage.waits.longest_ns / 2000 > held_us
}

/// Adds the transactions that held the lock, or whose commit made a snapshot old.
fn held(mut sentence: Sentence, usage: &RefusalUse) -> Sentence {
    let (verb, held) = if usage.is_of_an_old_snapshot() {
        ("another connection committed", "which held a lock for")
    } else {
        ("the lock was held by", "for")
    };
    for holder in usage.holders.iter().take(NAMED) {
        let us = |us: i64| time(us as f64 * 1e3);
        let idle = match holder.idle_us {
            0 => String::new(),
            idle_us => format!(", {} of it without a running statement", us(idle_us)),
        };
        let cases = plural(usage.count, "case", "cases");
        sentence = sentence
            .words(format!(" In {} of {cases}, {verb} a transaction with ", grouped(holder.count)))
            .and_code(shortened(&holder.sql, QUOTED))
            .words(format!(", {held} {} at most{idle}.", us(holder.held_us)));
    }
    sentence
}

/// Returns how long statements waited, and how long they might have.
fn waited(waits: &Waits) -> String {
    let ms = |ms: i64| time(ms as f64 * 1e6);
    let longest = time(waits.longest_ns as f64);
    match waits.timeouts_ms {
        Some((least, most)) if least == most => {
            format!("The longest took {longest} of a busy timeout of {}.", ms(least))
        }
        Some((least, most)) => {
            format!("The longest took {longest}; busy timeouts were {} to {}.", ms(least), ms(most))
        }
        None => format!("The longest took {longest}; the busy timeout is not known."),
    }
}

fn unprotected(setting: &Unprotected) -> Sentence {
    let Unprotected { pragma, database, without, with } = setting;
    let risk = if *pragma == "foreign_keys" {
        "foreign keys are not checked then"
    } else {
        "a power cut can corrupt the database then"
    };
    Sentence::code(database.as_str()).words(format!(
        ": {} that wrote had {pragma} off when closed ({risk}); {} had it on.",
        plural(*without, "connection", "connections"),
        grouped(*with)
    ))
}

fn pinned(pin: &PinUse) -> Sentence {
    let log = pin.log_bytes.map_or(String::new(), |size| {
        format!(" It had {} when a connection was closed.", with_unit(size as f64, Unit::Bytes))
    });
    Sentence::code(shortened(&pin.sql, QUOTED)).words(format!(
        " began to read in a transaction that was open for {}, while {} transactions of others committed. No checkpoint could \
         reset the write-ahead log meanwhile, so it grew.{log} Shorter reads keep it small.",
        time(pin.held_us as f64 * 1e3),
        grouped(pin.commits),
    ))
}

fn idle(done: &str, us: i64, effect: &str) -> Sentence {
    let time = time(us as f64 * 1e3);
    format!(
        "Transactions that had {done} were open for {time} without a running statement. {effect}"
    )
    .into()
}

/// Adds the experiment that measures the advice on this machine.
fn lesson(sentence: Sentence, experiment: Option<&str>) -> Sentence {
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

fn about(usage: &StatementUse, words: String) -> Sentence {
    Sentence::code(shortened(&usage.sql, QUOTED)).words(format!(" {words}"))
}

/// SQLite's names of primary result codes, and of extended ones that ask for another remedy.
const ERRORS: [(i64, &str); 27] = [
    (1, "ERROR"),
    (3, "PERM"),
    (4, "ABORT"),
    (5, "BUSY"),
    (6, "LOCKED"),
    (7, "NOMEM"),
    (8, "READONLY"),
    (9, "INTERRUPT"),
    (10, "IOERR"),
    (11, "CORRUPT"),
    (13, "FULL"),
    (14, "CANTOPEN"),
    (17, "SCHEMA"),
    (18, "TOOBIG"),
    (19, "CONSTRAINT"),
    (20, "MISMATCH"),
    (26, "NOTADB"),
    (261, "BUSY_RECOVERY"),
    (517, "BUSY_SNAPSHOT"),
    (773, "BUSY_TIMEOUT"),
    (262, "LOCKED_SHAREDCACHE"),
    (275, "CONSTRAINT_CHECK"),
    (787, "CONSTRAINT_FOREIGNKEY"),
    (1299, "CONSTRAINT_NOTNULL"),
    (1555, "CONSTRAINT_PRIMARYKEY"),
    (2067, "CONSTRAINT_UNIQUE"),
    (2579, "CONSTRAINT_ROWID"),
];

/// SQLite's name of a result code.
pub(super) fn error_name(code: i64) -> String {
    let named = |code: i64| ERRORS.iter().find(|(known, _)| *known == code);
    match (named(code), named(code & 0xff)) {
        (Some((_, name)), _) => format!("SQLITE_{name}"),
        (None, Some((_, name))) => format!("SQLITE_{name} ({code})"),
        _ => format!("result code {code}"),
    }
}

/// Returns a time in words.
pub(crate) fn time(ns: f64) -> String {
    match ns {
        0.0 => "0".to_owned(),
        ..1e3 => format!("{ns:.0} ns"),
        ..1e6 => format!("{:.1} µs", ns / 1e3),
        ..1e9 => format!("{:.1} ms", ns / 1e6),
        _ => duration(ns / 1e9),
    }
}

/// Returns the findings in plans.
fn of_plans(analysis: &Analysis, plans: &Plans) -> Vec<Item> {
    let scans = analysis.statements.iter().filter(|usage| plans.patterns.contains(&usage.sql));
    let searches = scans.map(|usage| {
        let words = format!(
            " searches texts with a wildcard at the beginning, which no index helps: {} steps in full scans. A \
             full-text index (FTS5) finds words, and with its trigram tokenizer parts of words.",
            grouped(usage.scan_steps)
        );
        let about = Sentence::code(shortened(&usage.sql, QUOTED_WITH_PLAN)).words(words);
        Item::new(lesson(about, Some("fts-baselines")))
    });
    searches.chain(unused(&plans.unused)).collect()
}

/// An item for each database with indexes that no statement uses.
fn unused(indexes: &[UnusedIndex]) -> Vec<Item> {
    let mut databases: BTreeMap<&str, Vec<&UnusedIndex>> = BTreeMap::new();
    for index in indexes {
        databases.entry(&index.database).or_default().push(index);
    }
    let item = |(database, indexes): (&str, Vec<&UnusedIndex>)| {
        let named = indexes.iter().take(NAMED);
        let names: Vec<String> =
            named.map(|index| format!("{} ({})", index.index, index.table)).collect();
        let others = indexes.len().saturating_sub(NAMED);
        let others = match others {
            0 => String::new(),
            others => format!(" and {others} others"),
        };
        let words = format!(
            ": no recorded statement uses {} {}{others}. Writes to the table maintain an index whether or not it is used.",
            if indexes.len() == 1 { "the index" } else { "the indexes" },
            names.join(", "),
        );
        let name = if database.is_empty() { "in memory" } else { database };
        Item::new(lesson(Sentence::code(name).words(words), Some("index-timing")))
    };
    databases.into_iter().map(item).collect()
}

/// The plans of all statements, and which have none.
pub(super) fn plans(analysis: &Analysis, plans: &Plans) -> Vec<Block> {
    let rows: Vec<Row> = analysis
        .statements
        .iter()
        .filter_map(|statement| Some((statement, plans.plans.get(&statement.sql)?)))
        .map(|(it, plan)| {
            let nodes: Vec<&str> = plan.iter().map(|node| node.trim_start()).collect();
            let mut name = Cell::code(shortened(&it.sql, QUOTED_WITH_PLAN));
            name.title = Some(it.sql.clone());
            Row::new([name, Cell::new(nodes.join("; "))])
        })
        .collect();
    let mut blocks = Vec::new();
    if !rows.is_empty() {
        let columns = [Column::left("statement"), Column::left("query plan").prose()];
        let mut table = Table::new("query plans", columns, rows);
        table.abridge = Abridge::End;
        blocks.push(Block::table(table));
        blocks.push(Block::small(
            "These are the plans of pragmark's own version of SQLite for the schema at the latest execution of each \
             statement. The version that the program used may have chosen others.",
        ));
    }
    blocks.extend(unknown(plans));
    blocks
}

fn unknown(plans: &Plans) -> Option<Block> {
    let mut reasons: BTreeMap<&str, u64> = BTreeMap::new();
    for why in plans.unknown.values() {
        *reasons.entry(why).or_default() += 1;
    }
    let item = |(why, count): (&str, u64)| {
        Item::doubt(
            None,
            format!("{} without a plan: {why}.", plural(count, "statement", "statements")),
        )
    };
    Block::list(reasons.into_iter().map(item))
}

#[cfg(test)]
mod tests {
    use trace::analysis::HolderUse;

    use super::*;

    #[test]
    fn the_first_statement_that_commits_says_what_it_waits_for_where_the_mode_of_nearly_all_is_known()
     {
        let said = |sql: &str, autocommit_writes, commits_by_mode: [u64; 2]| -> Vec<String> {
            let of = |sql: &str, autocommit_writes| StatementUse {
                sql: sql.to_owned(),
                count: 20,
                autocommit_writes,
                total_ns: 5,
                unknown_waits: 20,
                ..StatementUse::default()
            };
            let statements = vec![of(sql, autocommit_writes), of("end", 0)];
            let analysis = Analysis {
                statements,
                total_ns: 20,
                commits: if commits_by_mode[0] > 4 { 40 } else { 4 },
                commits_by_mode,
                ..Analysis::default()
            };
            items(Path::new("my app.trace"), &analysis, &Plans::default())
                .iter()
                .map(|item| item.text.plain())
                .collect()
        };
        let both = said("COMMIT", 0, [4, 0]);
        assert!(both[0].contains("a commit waits for no lock"), "{both:?}");
        assert!(
            said("COMMIT", 0, [36, 2])[0]
                .ends_with("Of 40 commits, 36 are known to be in this mode.")
        );
        assert!(!said("COMMIT", 0, [35, 2])[0].contains("waits"));
        let command = "pragmark measure --trace 'my app.trace' --vary synchronous=full,normal";
        assert!(both[0].contains(command), "{both:?}");
        assert!(both[1].ends_with("took 25 % of the time in statements."), "{both:?}");
        let both = said("UPDATE t SET a = ?", 20, [0, 4]);
        assert!(both[0].contains("it commits by itself, and its time includes the commit"));
        assert!(both[0].contains("a commit waits for connections that read"), "{both:?}");
        let both = said("UPDATE t SET a = ?", 10, [0, 4]);
        assert!(both[0].ends_with("took 25 % of the time in statements."), "{both:?}");
        assert!(both[1].contains("a commit waits for connections that read"), "{both:?}");
        let both = said("BEGIN IMMEDIATE", 0, [2, 2]);
        assert!(both[0].ends_with("It waits while another connection has the write lock."));
        assert!(both[1].ends_with("took 25 % of the time in statements."), "{both:?}");
    }

    #[test]
    fn the_time_of_a_statement_is_told_from_its_waits_for_locks() {
        let said = |sql: &str, writes, waited_ns, unknown_waits, modes: [u64; 2]| {
            let usage = StatementUse {
                sql: sql.to_owned(),
                kind: Kind::of(sql, sql.starts_with("SELECT")),
                count: 20,
                autocommit_writes: writes,
                total_ns: 1_000,
                waited_ns,
                unknown_waits,
                ..StatementUse::default()
            };
            let analysis = Analysis {
                statements: vec![usage],
                total_ns: 2_000,
                commits: 20,
                commits_by_mode: modes,
                unsynced_commits: u64::from(unknown_waits == 20) * 18,
                ..Analysis::default()
            };
            items(Path::new("my app.trace"), &analysis, &Plans::default())[0].text.plain()
        };
        let update = "UPDATE t SET a = ?";
        let (wal, journal) = ([20, 0], [0, 20]);
        let text = said(update, 20, 900, 0, wal);
        assert!(
            text.contains("took 50 % of the time in statements, 90 % of that waiting for locks. ")
        );
        assert!(!text.contains("sync"), "the sync is not what took the time: {text}");
        let text = said(update, 20, 900, 0, journal);
        assert!(
            text.contains(
                "a commit waits for connections that read. In WAL mode it waits for none"
            )
        );
        let text = said("COMMIT", 0, 0, 0, journal);
        assert!(
            text.contains("statements, and waited for no lock. Outside of WAL mode a commit syncs")
        );
        let text = said("COMMIT", 0, 10, 0, wal);
        assert!(
            text.contains("1 % of that waiting for locks. A commit in WAL mode writes the log")
        );
        assert!(
            said("BEGIN IMMEDIATE", 0, 990, 0, wal).ends_with("99 % of that waiting for locks.")
        );
        assert!(said("BEGIN IMMEDIATE", 0, 0, 0, wal).ends_with("and waited for no lock."));
        let unsynced = said("COMMIT", 0, 0, 20, wal);
        assert!(unsynced.ends_with("took 50 % of the time in statements."), "{unsynced}");
        let select = "SELECT a FROM t";
        assert!(said(select, 0, 499, 0, journal).ends_with("50 % of that waiting for locks."));
        let text = said(select, 0, 500, 0, journal);
        assert!(
            text.ends_with(
                "locks. With a rollback journal, reads wait for commits. In WAL mode they do not."
            ),
            "{text}"
        );
        assert!(said(select, 0, 500, 0, wal).ends_with("50 % of that waiting for locks."));
        assert!(said(select, 0, 0, 0, journal).ends_with("took 50 % of the time in statements."));
        assert!(said(select, 0, 500, 1, journal).ends_with("took 50 % of the time in statements."));
    }

    #[test]
    fn a_wait_that_is_longer_than_any_transaction_was_open_is_explained() {
        let said = |held_us, timeouts_ms| {
            let holder = HolderUse { sql: "UPDATE".to_owned(), count: 25, held_us, idle_us: 0 };
            refused(&RefusalUse {
                refusal: Refusal::Waited,
                code: 0,
                count: 30,
                waits: Waits { longest_ns: 1_800_000_000, total_ns: 6_000_000_000, timeouts_ms },
                transaction: vec!["UPDATE t".to_owned()],
                holders: vec![holder],
            })
            .plain()
        };
        let text = said(30_000, Some((5_000, 5_000)));
        assert!(text.starts_with(
            "30 statements waited for another connection's lock and then got it, 6.0 s in all and 1.8 s at most."
        ), "{text}");
        assert!(text.contains("Most often: UPDATE t. In 25 of 30 cases, the lock was held by a transaction with UPDATE, for 30.0 ms at most."));
        assert!(text.contains("others can take it"), "{text}");
        for (held_us, timeouts_ms) in
            [(1_000_000, Some((5_000, 5_000))), (30_000, Some((0, 0))), (30_000, None)]
        {
            assert!(!said(held_us, timeouts_ms).contains("others can take it"));
        }
    }

    #[test]
    fn statements_that_are_prepared_again_are_one_finding() {
        let usage = |sql: &str| StatementUse {
            sql: sql.to_owned(),
            count: 80,
            prepared_again: 79,
            ..StatementUse::default()
        };
        let (a, b) = (usage("SELECT 1"), usage("SELECT 2"));
        let with_values = StatementUse { other_literals: 70, ..a.clone() };
        assert!(prepared(&[&b, &with_values]).plain().ends_with(
            "The application could keep them prepared, with parameters instead of values in the text."
        ));
        assert_eq!(
            prepared(&[&a]).plain(),
            "SELECT 1 (79 of 80 executions) was prepared again on the same connection. The application could keep it prepared."
        );
        assert_eq!(
            prepared(&[&a, &b, &a, &b, &a]).plain(),
            "SELECT 1 (79 of 80 executions), SELECT 2 (79 of 80 executions), SELECT 1 (79 of 80 executions) and 2 other statements were prepared again on the same connection. The application could keep them prepared."
        );
    }
}

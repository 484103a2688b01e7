//! A trace as a document.

use std::collections::BTreeMap;
use std::path::Path;

use report::document::{
    Abridge, Block, Cell, Column, Document, Item, Kind, Row, Section, Sentence, Table,
};
use report::figures::percent;
use report::sql::shortened;
use trace::analysis::{Analysis, StatementUse};
use trace::{Meta, Note, Process, Setting, Snapshot};

use super::Traffic;
use super::findings::{error_name, items, plans, time};
use super::indexes;
use crate::words::{grouped, plural};

/// How much of a statement a table quotes, in characters.
const QUOTED: usize = 80;
/// How many rows of the timeline are printed.
const TIMES: usize = 12;

/// Returns everything that a trace shows as a document.
pub(super) fn document(path: &Path, traffic: &Traffic) -> Document {
    let sections = [
        findings(path, traffic),
        statements(&traffic.analysis),
        section("plans", "Query plans", plans(&traffic.analysis, &traffic.plans)),
        transactions(&traffic.analysis),
        failures(&traffic.analysis),
        connections(traffic),
        over_time(&traffic.analysis),
        section("completeness", "What the trace lacks", completeness(traffic)),
    ];
    Document {
        title: format!("What the application does: {}", path.display()),
        about: about(traffic),
        sections: sections.into_iter().flatten().collect(),
        ..Document::default()
    }
}

fn section(anchor: &str, title: &str, blocks: Vec<Block>) -> Option<Section> {
    (!blocks.is_empty()).then(|| Section::new(anchor, Kind::Chapter, title, blocks))
}

fn about(traffic: &Traffic) -> Vec<Sentence> {
    let analysis = &traffic.analysis;
    let programs: BTreeMap<&str, usize> =
        traffic.processes.iter().fold(BTreeMap::new(), |mut programs, process| {
            *programs.entry(process.program.as_str()).or_default() += 1;
            programs
        });
    let programs: Vec<String> = programs
        .iter()
        .map(|(program, count)| {
            if *count == 1 {
                (*program).to_owned()
            } else {
                format!("{program} ({count} processes)")
            }
        })
        .collect();
    let versions: std::collections::BTreeSet<&str> =
        traffic.processes.iter().flat_map(|process| process.versions.split(',')).collect();
    vec![
        format!(
            "{}; SQLite {}",
            programs.join(", "),
            versions.into_iter().collect::<Vec<_>>().join(", ")
        )
        .into(),
        format!(
            "{} in {}; they took {}. {}, {}.",
            plural(analysis.events, "statement", "statements"),
            time(traffic.meta.duration_us as f64 * 1e3),
            time(analysis.total_ns as f64),
            plural(traffic.connections.len() as u64, "connection", "connections"),
            plural(analysis.commits, "commit", "commits"),
        )
        .into(),
    ]
}

fn findings(path: &Path, traffic: &Traffic) -> Option<Section> {
    let mut blocks = Block::list(items(path, &traffic.analysis, &traffic.plans))
        .map(|list| vec![list])
        .unwrap_or_else(|| {
            vec![Block::paragraph(
                "Nothing exceeded the thresholds of pragmark; the tables have all figures.",
            )]
        });
    blocks.extend(traffic.indexes.iter().flat_map(indexes::blocks));
    let title = "What deserves a look";
    Some(Section::new("findings", Kind::Highlights, title, blocks))
}

/// Returns the section of statements, if there is something to show.
pub(crate) fn statements(analysis: &Analysis) -> Option<Section> {
    let columns = [
        Column::right("no."),
        Column::left("statement"),
        Column::right("executions"),
        Column::right("share of time"),
        Column::right("mean"),
        Column::right("p99").full_only(),
        Column::right("longest").full_only(),
        Column::right("rows"),
        Column::right("changes").full_only(),
        Column::right("full-scan steps"),
        Column::right("scan steps per row"),
        Column::right("sorts").full_only(),
        Column::right("prepared"),
        Column::right("waiting for locks").full_only(),
        Column::right("VM steps").full_only(),
    ];
    let rows = (1..).zip(&analysis.statements).map(|row| statement(analysis, row));
    let mut table = Table::new("statements by their normalised text", columns, rows);
    table.sortable = true;
    table.abridge = Abridge::End;
    let remark = "Statements that differ in their values only are one row. The time of a statement is from its first step to its \
                  last one, with waits for locks and what the application does between rows.";
    let blocks = vec![Block::table(table), Block::small(remark)];
    section(
        "statements",
        "Statements",
        if analysis.statements.is_empty() { Vec::new() } else { blocks },
    )
}

fn statement(analysis: &Analysis, (place, usage): (u64, &StatementUse)) -> Row {
    let seconds = |ns: u64| Cell::figure(Some(ns as f64), time);
    let mut name = Cell::code(shortened(&usage.sql, QUOTED));
    name.title = Some(usage.sql.clone());
    Row::new([
        number(place),
        name,
        number(usage.count),
        Cell::figure(Some(analysis.share_of_time(usage)), percent),
        seconds(usage.total_ns / usage.count.max(1)),
        Cell::figure(usage.p99_ns(), time),
        seconds(usage.longest_ns),
        number(usage.rows),
        number(usage.changes),
        number(usage.scan_steps),
        Cell::figure(scan_steps_per_row(usage), |value| format!("{value:.1}")),
        number(usage.sorts),
        number(usage.prepared),
        Cell::figure((usage.unknown_waits == 0).then_some(usage.waited_ns as f64), time),
        number(usage.vm_steps),
    ])
}

/// Steps in full scans for each row that was returned or changed; nothing without such rows.
fn scan_steps_per_row(it: &StatementUse) -> Option<f64> {
    let rows = it.rows.max(it.changes);
    (rows > 0).then(|| it.scan_steps as f64 / rows as f64)
}

fn number(value: u64) -> Cell {
    Cell::figure(Some(value as f64), |value| grouped(value as u64))
}

/// Returns the section of transactions, if there is something to show.
pub(crate) fn transactions(analysis: &Analysis) -> Option<Section> {
    let seconds = |us: i64| time(us as f64 * 1e3);
    let mixed = analysis
        .read_before_write
        .map_or("not known to this version of SQLite".to_owned(), grouped);
    let facts = [
        ("commits that wrote", grouped(analysis.commits)),
        ("of these in autocommit", grouped(analysis.autocommit_writes)),
        ("transactions between BEGIN and their end", grouped(analysis.transactions)),
        ("of these read before they wrote", mixed),
        ("time in them without a running statement", seconds(analysis.idle_us)),
        ("waiting for locks", waits(analysis)),
    ];
    let mut blocks = vec![Block::Facts(
        facts.map(|(name, value)| (name.into(), Sentence::number(value))).into(),
    )];
    let rows = analysis.longest.iter().map(|transaction| {
        Row::new([
            Cell::number(Some(seconds(transaction.duration_us))),
            Cell::number(Some(seconds(transaction.idle_us))),
            number(transaction.statements),
            Cell::new(if transaction.wrote { "yes" } else { "no" }),
            Cell::number(Some(transaction.connection.to_string())),
            Cell::number(Some(seconds(transaction.start_us))),
            Cell::code(shortened(&transaction.slowest, QUOTED)),
        ])
    });
    let columns = [
        Column::right("longest transactions"),
        Column::right("of that idle"),
        Column::right("statements"),
        Column::left("wrote"),
        Column::right("connection"),
        Column::right("began at"),
        Column::left("slowest statement"),
    ];
    if !analysis.longest.is_empty() {
        blocks.push(Block::table(Table::new("the longest transactions", columns, rows)));
    }
    section("transactions", "Transactions", blocks)
}

/// Returns how long statements waited for locks, as far as that is known.
pub(crate) fn waits(analysis: &Analysis) -> String {
    let known = match analysis.waited {
        0 => "0".to_owned(),
        waited => format!(
            "{} in {}",
            time(analysis.waited_ns as f64),
            plural(waited, "statement", "statements")
        ),
    };
    match analysis.unknown_waits {
        0 => known,
        unknown if unknown == analysis.events - analysis.unfinished => "not known".to_owned(),
        unknown => format!("{known}, not known of {}", plural(unknown, "other", "others")),
    }
}

/// Returns the section of failures, if there is something to show.
pub(crate) fn failures(analysis: &Analysis) -> Option<Section> {
    let columns = [
        Column::right("failures"),
        Column::left("error"),
        Column::right("longest"),
        Column::right("busy timeout"),
        Column::left("statement"),
    ];
    let rows = analysis.failures.iter().map(|failure| {
        // Statements wait for locks only.
        let waits = matches!(failure.code & 0xff, 5 | 6).then_some(failure.waits);
        let ms = |ms: i64| time(ms as f64 * 1e6);
        let timeout = waits.and_then(|waits| waits.timeouts_ms).map(|(least, most)| {
            if least == most { ms(least) } else { format!("{}–{}", ms(least), ms(most)) }
        });
        Row::new([
            number(failure.count),
            Cell::code(error_name(failure.code)),
            Cell::figure(waits.map(|waits| waits.longest_ns as f64), time),
            Cell::number(timeout),
            Cell::code(shortened(&failure.sql, QUOTED)),
        ])
    });
    let table = Table::new("failed statements", columns, rows);
    let blocks = if analysis.failures.is_empty() { Vec::new() } else { vec![Block::table(table)] };
    section("failures", "Failed statements", blocks)
}

fn connections(traffic: &Traffic) -> Option<Section> {
    let mut databases: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for connection in &traffic.connections {
        let name = if connection.database.is_empty() {
            "in memory or temporary"
        } else {
            &connection.database
        };
        let (count, open) = databases.entry(name).or_default();
        *count += 1;
        *open += u64::from(connection.closed_us.is_none());
    }
    let rows = databases
        .into_iter()
        .map(|(name, (count, open))| Row::new([Cell::code(name), number(count), number(open)]));
    let columns =
        [Column::left("database"), Column::right("connections"), Column::right("not closed")];
    let mut blocks = vec![Block::table(Table::new("databases", columns, rows))];
    let rows = traffic.settings.iter().map(|setting| {
        Row::new([
            Cell::code(&setting.name),
            Cell::code(level(setting)),
            number(setting.connections.unsigned_abs()),
        ])
    });
    let columns = [Column::left("setting"), Column::left("value"), Column::right("connections")];
    if !traffic.settings.is_empty() {
        let mut table = Table::new("settings", columns, rows);
        table.dense = true;
        blocks.push(Block::table(table));
        blocks.push(Block::small(
            "Settings are read back when a connection is closed, if it has run a statement.",
        ));
    }
    section("connections", "Connections and settings", blocks)
}

/// The value of a setting by its name, where values have names.
fn level(setting: &Setting) -> String {
    let pragma = engine::pragma::find(&setting.name);
    let named = pragma.and_then(|pragma| pragma.normalise(&setting.value).ok());
    named.unwrap_or_else(|| setting.value.clone())
}

fn over_time(analysis: &Analysis) -> Option<Section> {
    let size = analysis.timeline.len().div_ceil(TIMES).max(1);
    let bucket = analysis.bucket_us as f64 * 1e3;
    let rows = analysis.timeline.chunks(size).enumerate().map(|(index, buckets)| {
        let sum = |what: fn(&trace::analysis::Bucket) -> u64| buckets.iter().map(what).sum::<u64>();
        Row::new([
            Cell::number(Some(time((index * size) as f64 * bucket))),
            number(sum(|bucket| bucket.reads)),
            number(sum(|bucket| bucket.commits)),
            Cell::figure(Some(sum(|bucket| bucket.busy_ns) as f64), time),
        ])
    });
    let columns = [
        Column::right("from"),
        Column::right("statements without commit"),
        Column::right("commits"),
        Column::right("time in statements"),
    ];
    let table = Table::new("statements over time", columns, rows);
    section(
        "time",
        "Over time",
        if analysis.events == 0 { Vec::new() } else { vec![Block::table(table)] },
    )
}

/// Returns what the trace lacks, if anything.
fn completeness(traffic: &Traffic) -> Vec<Block> {
    let notes = traffic.notes.iter().map(of_note);
    let failed = traffic.snapshots.iter().filter(|snapshot| snapshot.state == "failed");
    let items = of_processes(&traffic.processes)
        .into_iter()
        .chain(of_recording(&traffic.meta, traffic.analysis.unfinished))
        .chain(notes)
        .chain(failed.map(of_snapshot))
        .map(|words| Item::doubt(None, words));
    Block::list(items).into_iter().collect()
}

fn of_processes(processes: &[Process]) -> Vec<String> {
    let count = |is_so: fn(&&Process) -> bool| processes.iter().filter(is_so).count() as u64;
    let killed = count(|process| !process.ended);
    let inexact = count(|process| !process.exact_values);
    let words = |count: u64| plural(count, "process", "processes");
    [
        (killed > 0).then(|| {
            format!(
                "{} left no end in the recording: killed, ended by `_exit()`, or still running.",
                words(killed)
            )
        }),
        (inexact > 0).then(|| {
            format!(
                "In {}, values are inexact: REAL has 15 digits, and a text ends at NUL.",
                words(inexact)
            )
        }),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn of_recording(meta: &Meta, unfinished: u64) -> Vec<String> {
    let statements = || plural(unfinished, "statement", "statements");
    let lost = "A part of the recording is missing; the table `meta` says why.";
    let redacted =
        "Texts and blobs are hashed and there are no snapshots, so the trace cannot be replayed.";
    [
        (unfinished > 0).then(|| format!("The end of {} was not recorded.", statements())),
        (meta.unreadable_bytes > 0)
            .then(|| format!("{} bytes of the recording were unreadable.", meta.unreadable_bytes)),
        meta.lost.then(|| lost.to_owned()),
        meta.redacted.then(|| redacted.to_owned()),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn of_note(note: &Note) -> String {
    let words = &note.words;
    match note.code {
        1 => format!("The SQLite library in {words} could not be recorded."),
        2 => format!(
            "The program set its own trace callback in {words}; later statements are missing until the next commit."
        ),
        3 => format!("A key was set for {words}; values of that connection are omitted."),
        4 => format!("SQLite in {words} is older than 3.14 and was not recorded."),
        code => format!("Note {code}: {words}"),
    }
}

fn of_snapshot(snapshot: &Snapshot) -> String {
    let code = snapshot.result.unwrap_or(0);
    format!("There is no snapshot of {}: {}.", snapshot.database, error_name(code & 0xff))
}

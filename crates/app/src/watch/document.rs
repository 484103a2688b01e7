//! A watched program as documents: the view while it runs, one of its statements, and the summary.

use std::time::Duration;

use lab::metric::Unit;
use report::document::{Block, Cell, Code, Column, Document, Row, Sentence, Table};
use report::figures::{percent, with_unit};
use report::sql::shortened;
use trace::analysis::StatementUse;

use super::slow::plan;
use super::{Counts, Moment};
use crate::trace::{failures, statements, time, transactions};
use crate::words::{grouped, plural, shell_word};

/// How much of a statement the view quotes, in characters.
const QUOTED: usize = 60;

/// Where the figures begin in the view's table, in the order of [`Order`].
const FIGURES: usize = 2;

/// Figures by which the view orders statements, in the order of the columns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// The time of all executions.
    #[default]
    Time,
    /// Executions.
    Executions,
    /// The mean time.
    Mean,
    /// The time that 99 of 100 executions do not exceed.
    P99,
    /// Rows that were returned or changed.
    Rows,
    /// Steps in full scans.
    Scans,
}

impl Order {
    fn key(self, usage: &StatementUse) -> f64 {
        match self {
            Order::Time => usage.total_ns as f64,
            Order::Executions => usage.count as f64,
            Order::Mean => mean_ns(usage),
            Order::P99 => usage.p99_ns().unwrap_or(0.0),
            Order::Rows => usage.rows.max(usage.changes) as f64,
            Order::Scans => usage.scan_steps as f64,
        }
    }
}

/// Returns the statements of a moment in an order, those that come first first.
pub fn ordered(moment: &Moment, order: Order) -> Vec<&StatementUse> {
    let mut statements: Vec<&StatementUse> = moment.analysis.statements.iter().collect();
    statements.retain(|usage| usage.count > 0);
    statements.sort_by(|a, b| order.key(b).total_cmp(&order.key(a)));
    statements
}

/// Returns the view of a moment with this many statements.
pub fn live(moment: &Moment, order: Order, most: usize) -> Document {
    let statements = ordered(moment, order);
    let rows = statements.iter().take(most).enumerate().map(|(index, usage)| {
        let rows = usage.rows.max(usage.changes);
        let mut cells = [
            number(index as u64 + 1),
            Cell::code(shortened(&usage.sql, QUOTED)),
            Cell::figure(Some(moment.analysis.share_of_time(usage)), percent),
            number(usage.count),
            Cell::figure(Some(mean_ns(usage)), time),
            Cell::figure(usage.p99_ns(), time),
            number(rows),
            number(usage.scan_steps),
        ];
        cells[FIGURES..=FIGURES + order as usize].rotate_right(1);
        Row::new(cells)
    });
    let mut columns = [
        Column::right("no."),
        Column::left("statement"),
        Column::right("share of time"),
        Column::right("executions"),
        Column::right("mean"),
        Column::right("p99"),
        Column::right("rows"),
        Column::right("full-scan steps"),
    ];
    // A narrow terminal leaves out the last ones.
    columns[FIGURES..=FIGURES + order as usize].rotate_right(1);
    let table = Table::new("statements since the program was started", columns, rows);
    let head = if table.rows.is_empty() {
        Block::paragraph("No statement has ended so far.")
    } else {
        Block::table(table)
    };
    Document {
        title: rates(moment),
        about: databases(moment, true).into_iter().map(Sentence::from).collect(),
        head: vec![head],
        ..Document::default()
    }
}

/// Returns one statement with its plan and the command that explains it.
pub fn statement(moment: &Moment, usage: &StatementUse) -> Document {
    let code = |text: String| Block::Code(Code { language: "sql", text });
    let mut head = vec![code(usage.sql.clone())];
    let mut plans = moment
        .databases
        .iter()
        .filter_map(|database| Some((database, plan(&database.path, &usage.sql)?)));
    if let Some((database, plan)) = plans.next() {
        head.push(code(plan.join("\n")));
        let (path, sql) = (shell_word(&database.path), shell_word(&usage.sql));
        head.push(Block::paragraph(Sentence::from("To see why it takes that long:")));
        head.push(code(format!("pragmark explain --db {path} {sql}")));
    }
    Document { title: "One statement".to_owned(), head, ..Document::default() }
}

/// Returns what a program did until it ended.
pub fn summary(program: &str, moment: &Moment) -> Document {
    let analysis = &moment.analysis;
    let seconds = moment.elapsed.as_secs_f64().max(1e-3);
    let total = format!(
        "{} in {}; they took {}. {}, {:.1} per second.",
        plural(analysis.events, "statement", "statements"),
        time(moment.elapsed.as_nanos() as f64),
        time(analysis.total_ns as f64),
        plural(analysis.commits, "commit", "commits"),
        analysis.commits as f64 / seconds,
    );
    let sections = [statements(analysis), transactions(analysis), failures(analysis)];
    Document {
        title: format!("What {program} did with SQLite"),
        about: std::iter::once(total).chain(databases(moment, false)).map(Sentence::from).collect(),
        sections: sections.into_iter().flatten().collect(),
        ..Document::default()
    }
}

/// Returns the figures of the time since the moment before.
fn rates(moment: &Moment) -> String {
    let now = Counts::of(&moment.analysis);
    let (span, before) = moment.since.unwrap_or((moment.elapsed, Counts::default()));
    let rate = |now: u64, before: u64| {
        let per_s = now.saturating_sub(before) as f64 / span.as_secs_f64().max(1e-3);
        grouped(per_s.round() as u64)
    };
    format!(
        "{}: {} statements/s, {} commits/s, {} refused by locks, {} of waiting for locks, {}",
        humantime::format_duration(Duration::from_secs(moment.elapsed.as_secs())),
        rate(now.statements, before.statements),
        rate(now.commits, before.commits),
        grouped(now.refused),
        time(now.waited_ns as f64),
        plural(moment.processes as u64, "process", "processes"),
    )
}

/// Returns the databases; connections are open as long as the program runs.
fn databases(moment: &Moment, is_running: bool) -> Vec<String> {
    let words = |database: &super::Database| {
        let open = (is_running && database.connections > 0)
            .then(|| plural(database.connections, "open connection", "open connections"));
        let size = |bytes: u64| with_unit(bytes as f64, Unit::Bytes);
        let log = match (database.wal_bytes, database.largest_wal_bytes) {
            (_, 0) => None,
            (0, most) => Some(format!("write-ahead log of {} at most", size(most))),
            (now, most) if now == most => Some(format!("write-ahead log of {}", size(now))),
            (now, most) => {
                Some(format!("write-ahead log of {}, {} at most", size(now), size(most)))
            }
        };
        let facts: Vec<String> = open.into_iter().chain(log).collect();
        let colon = if facts.is_empty() { "" } else { ": " };
        format!("{}{colon}{}", database.path, facts.join(", "))
    };
    moment.databases.iter().map(words).collect()
}

fn mean_ns(usage: &StatementUse) -> f64 {
    usage.total_ns as f64 / usage.count.max(1) as f64
}

fn number(value: u64) -> Cell {
    Cell::figure(Some(value as f64), |value| grouped(value as u64))
}

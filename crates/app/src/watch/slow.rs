//! A line of JSON for each execution that took long, with the plan of its statement.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use engine::Connection;
use serde::Serialize;
use trace::live::Execution;
use trace::plans::is_planned;

use crate::error::{Error, Result};
use crate::files::open_unlocked;

/// How many plans are remembered.
const PLANS: usize = 10_000;

/// The log.
pub struct SlowLog {
    file: File,
    path: PathBuf,
    slower_ns: i64,
    /// When recording began, in nanoseconds since 1970.
    began_ns: u64,
    plans: HashMap<(String, String), Option<Vec<String>>>,
    /// Why the log ended.
    problem: Option<String>,
}

/// A line of the log.
#[derive(Serialize)]
struct Line<'a> {
    time: &'a str,
    pid: u64,
    database: &'a str,
    milliseconds: f64,
    /// Of that, the time of waiting for locks; nothing where it is not known.
    waited_milliseconds: Option<f64>,
    sql: &'a str,
    rows: i64,
    changes: i64,
    vm_steps: i64,
    scan_steps: i64,
    sorts: i64,
    automatic_index_rows: i64,
    /// SQLite's extended result code; nothing where it is not known.
    result: Option<i64>,
    /// Nothing where SQLite has none, or where the file could not be read.
    plan: Option<&'a [String]>,
}

impl SlowLog {
    /// Opens the file, to which lines are appended, for a recording that began at this time, in nanoseconds since 1970.
    pub fn create(path: &Path, slower: Duration, began_ns: u64) -> Result<SlowLog> {
        let file = OpenOptions::new().create(true).append(true).open(path).map_err(|error| {
            Error::unusable(format!("cannot write {}: {error}", path.display()))
        })?;
        Ok(SlowLog {
            file,
            path: path.to_owned(),
            slower_ns: i64::try_from(slower.as_nanos()).unwrap_or(i64::MAX),
            began_ns,
            plans: HashMap::new(),
            problem: None,
        })
    }

    /// Returns why lines are missing, if any are.
    pub fn problem(&self) -> Option<String> {
        self.problem.clone()
    }

    /// Writes a line, if the execution took long.
    pub fn take(&mut self, execution: &Execution<'_>) {
        let event = execution.event;
        let duration = event.duration_ns.unwrap_or(0);
        if duration < self.slower_ns || self.problem.is_some() {
            return;
        }
        let since = Duration::from_nanos(self.began_ns)
            + Duration::from_micros(event.start_us.unsigned_abs());
        let time = humantime::format_rfc3339_millis(UNIX_EPOCH + since).to_string();
        let line = Line {
            time: &time,
            pid: execution.pid,
            database: execution.database,
            milliseconds: duration as f64 / 1e6,
            waited_milliseconds: event.waited_ns.map(|ns| ns as f64 / 1e6),
            sql: execution.sql,
            rows: event.rows,
            changes: event.changes,
            vm_steps: event.vm_steps,
            scan_steps: event.scan_steps,
            sorts: event.sorts,
            automatic_index_rows: event.automatic_index_rows,
            result: event.result,
            plan: self.plan(execution.database, execution.sql),
        };
        let line = serde_json::to_string(&line).map_err(std::io::Error::from);
        let written = line.and_then(|line| self.file.write_all(format!("{line}\n").as_bytes()));
        self.problem =
            written.err().map(|error| format!("{} ended at {time}: {error}", self.path.display()));
    }

    fn plan(&mut self, database: &str, sql: &str) -> Option<&[String]> {
        if self.plans.len() >= PLANS {
            self.plans.clear();
        }
        let key = (database.to_owned(), sql.to_owned());
        self.plans.entry(key).or_insert_with(|| plan(database, sql)).as_deref()
    }
}

/// Returns the plan that pragmark's SQLite has for a statement, with the schema in the database's file; nothing where it cannot
/// be read, or the statement has none.
pub fn plan(database: &str, sql: &str) -> Option<Vec<String>> {
    if database.is_empty() || !is_planned(sql) {
        return None;
    }
    let connection: Connection = open_unlocked(Path::new(database)).ok()?;
    connection.query_plan(sql).ok().filter(|plan| !plan.is_empty())
}

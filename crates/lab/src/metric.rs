//! The catalogue of metrics: what a trial may report, in which unit, and whether higher or lower is better.
//!
//! A metric may be reported for one phase of a trial by a suffix: `seconds.index` is the time of
//! the phase `index`. The suffix changes neither unit nor direction.
//!
//! Drivers declare metrics for workloads of their own. A metric is looked up by its name wherever a figure is written, so declared metrics are known to the whole
//! process, like those of [`METRICS`]. A name means the same as long as the process runs:
//! declaring it again with another unit or direction is an error. The plan of a run holds the metrics of its
//! workloads, so a run's folder is enough for its report.

use std::sync::{PoisonError, RwLock};

use serde::{Deserialize, Serialize};

/// Whether higher or lower values are better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// Larger values are better (rates).
    Higher,
    /// Smaller values are better (times, sizes).
    Lower,
}

/// The unit of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Seconds of wall-clock or CPU time.
    Seconds,
    /// Microseconds.
    Microseconds,
    /// Nanoseconds.
    Nanoseconds,
    /// Bytes.
    Bytes,
    /// Bytes per row.
    BytesPerRow,
    /// Rows per second.
    RowsPerSecond,
    /// Operations (transactions, queries) per second.
    OpsPerSecond,
    /// Mebibytes (2^20 bytes) per second.
    MebibytesPerSecond,
    /// A count.
    Count,
    /// Hundredths of a whole.
    Percent,
    /// A part of a whole, from 0 to 1.
    Share,
}

impl Unit {
    /// Returns whether figures are times or rates, so that a better one is a faster one.
    pub fn is_speed(self) -> bool {
        let times = [Unit::Seconds, Unit::Microseconds, Unit::Nanoseconds];
        let rates = [Unit::RowsPerSecond, Unit::OpsPerSecond, Unit::MebibytesPerSecond];
        times.contains(&self) || rates.contains(&self)
    }
}

/// One metric.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Metric {
    /// Name in experiment files and records, without a phase.
    pub name: &'static str,
    /// Name as a heading, without a phase: `Rows per second`.
    pub heading: &'static str,
    /// Unit of the figure.
    pub unit: Unit,
    /// Whether higher or lower is better.
    pub better: Better,
    /// Its meaning and how it is measured.
    pub about: &'static str,
    /// Whether it comes from the counting trial, which is not timed. Suffixes of these metrics
    /// name kinds of files: `database`, `journal`, `wal`, `temporary`, `super_journal`.
    pub counted: bool,
}

/// A table of metrics: name, heading, unit, direction and origin in one line, and the meaning below.
macro_rules! metrics {
    ($($name:literal, $heading:literal, $unit:ident, $better:ident, $origin:ident: $about:literal;)*) => {
        &[$(Metric {
            name: $name,
            heading: $heading,
            unit: Unit::$unit,
            better: Better::$better,
            about: $about,
            counted: matches!(Origin::$origin, Origin::Counted),
        }),*]
    };
}

/// The trial that a metric comes from.
enum Origin {
    Timed,
    Counted,
}

/// Every metric that a trial may report.
pub const METRICS: &[Metric] = metrics! {
    "rows_per_s", "Rows per second", RowsPerSecond, Higher, Timed:
        "rows written per second, from the first statement to the end of the work, including index builds and commits";
    "ns_per_row", "Time per row", Nanoseconds, Lower, Timed:
        "wall-clock time of one part of the work, divided by the rows that it wrote or read, or by its statements if it has no rows";
    "read_back", "PRAGMA read back", Count, Higher, Timed:
        "the number that SQLite returns for this PRAGMA after the work; `journal_mode_wal` is 1 in WAL mode and 0 otherwise";
    "mib_per_s", "MiB per second", MebibytesPerSecond, Higher, Timed:
        "MiB (2^20 bytes) of the application's own data written per second, without keys and overhead";
    "queries_per_s", "Queries per second", OpsPerSecond, Higher, Timed:
        "queries answered per second, including the preparation of each";
    "answered", "Queries answered", Count, Higher, Timed:
        "queries that the table answered; refused queries are missing from time, recall and precision, so a variant that answers fewer looks better than it is";
    "results", "Rows found", Count, Higher, Timed:
        "rows that the queries return";
    "segments", "Index segments", Count, Lower, Timed:
        "segments of the full-text index; a query searches each of them";
    "overlap", "Overlap", Share, Higher, Timed:
        "share of rows found by both of two tokenizers among those found by either; mean over queries";
    "recall_word", "Recall of words", Share, Higher, Timed:
        "share of the rows with the query words that is found; without a class, the mean over queries";
    "precision_word", "Precision by words", Share, Higher, Timed:
        "share of the rows found that have the query words; without a class, the mean over queries";
    "recall_stem", "Recall of stems", Share, Higher, Timed:
        "share of the rows with words of the same stems (Snowball, English) that is found";
    "precision_stem", "Precision by stems", Share, Higher, Timed:
        "share of the rows found that have words of the same stems (Snowball, English)";
    "recall_substring", "Recall of letters", Share, Higher, Timed:
        "share of the rows with the query letters, within or across words, that is found";
    "precision_substring", "Precision by letters", Share, Higher, Timed:
        "share of the rows found that have the query letters, within or across words";
    "opcodes", "Bytecode instructions", Count, Lower, Timed:
        "instructions in the bytecode of a statement, as listed by EXPLAIN";
    "plan_scans", "Tables scanned", Count, Lower, Timed:
        "tables that EXPLAIN QUERY PLAN reports as scanned";
    "plan_searches", "Tables searched", Count, Higher, Timed:
        "tables that EXPLAIN QUERY PLAN reports as searched by a key or an index";
    "images_per_s", "Crash images per second", OpsPerSecond, Higher, Timed:
        "crash images recovered and checked per second";
    "images", "Crash images", Count, Higher, Timed:
        "distinct crash images under all storage models";
    "kills", "Kills", Count, Higher, Timed:
        "processes killed while they wrote";
    "unfinished_kills", "Unfinished kills", Count, Higher, Timed:
        "kills that left a journal or a log to recover";
    "checked_databases", "Databases checked", Count, Higher, Timed:
        "databases opened and compared after a kill; the others went to the next process first";
    "acknowledged_commits", "Acknowledged commits", Count, Higher, Timed:
        "commits that killed processes had reported";
    "scenarios", "Scenarios", Count, Higher, Timed:
        "scenarios of two connections that were run";
    "bad_images", "Corrupt crash images", Count, Lower, Timed:
        "crash images whose database does not open, is damaged or holds uncommitted data, under the storage models within SQLite's assumptions";
    "losing_images", "Crash images with lost commits", Count, Lower, Timed:
        "crash images that lack acknowledged commits but are otherwise intact, under the storage models within SQLite's assumptions";
    "lost_commits", "Most commits lost", Count, Lower, Timed:
        "largest number of acknowledged commits that one such crash image lacks";
    "schedules", "Schedules run", Count, Higher, Timed:
        "schedules of two connections that were run, each once";
    "wrong_schedules", "Failed schedules", Count, Lower, Timed:
        "schedules that damaged the database, returned a state that never existed or locked a connection out";
    "txns_per_s", "Transactions per second", OpsPerSecond, Higher, Timed:
        "transactions committed per second";
    "statements_per_s", "Statements per second", OpsPerSecond, Higher, Timed:
        "recorded statements replayed per second";
    "coverage_percent", "Statements replayed", Percent, Higher, Timed:
        "share of the recorded statements that can be replayed; others need something that only the application has";
    "coverage_time_percent", "Recorded time replayed", Percent, Higher, Timed:
        "share of the recorded statements' time that those take which can be replayed";
    "agreement_percent", "Statements that agree", Percent, Higher, Timed:
        "share of the replayed statements that returned and changed as many rows as in the recording, with the same error if any";
    "divergences", "Divergences", Count, Lower, Timed:
        "replayed statements with other rows or another error than in the recording";
    "differing_tables", "Tables that differ", Count, Lower, Timed:
        "tables whose content at the end of the replay differs from that of the recording; not reported if that is not known";
    "recorded_s", "Time of the recording", Seconds, Lower, Timed:
        "time from the first to the last statement of the recording, pauses of the application included";
    "seconds", "Time", Seconds, Lower, Timed:
        "wall-clock time of the measured work";
    "cpu_user_s", "CPU time, user", Seconds, Lower, Timed:
        "CPU time in user mode during the measured work (getrusage)";
    "cpu_system_s", "CPU time, kernel", Seconds, Lower, Timed:
        "CPU time in the kernel during the measured work (getrusage)";
    "peak_memory_bytes", "Peak memory", Bytes, Lower, Timed:
        "largest resident set of the trial's process (getrusage)";
    "db_bytes", "Database size", Bytes, Lower, Timed:
        "size of the database file after the work, once the connection is closed";
    "wal_bytes", "WAL size", Bytes, Lower, Timed:
        "size of the WAL before the connection is closed";
    "bytes_per_row", "Bytes per row", BytesPerRow, Lower, Timed:
        "size of the database file divided by rows";
    "close_s", "Time to close", Seconds, Lower, Timed:
        "time to close the connection, including the last checkpoint in WAL mode; not part of `seconds`";
    "generate_s", "Time to generate the input", Seconds, Lower, Timed:
        "time to generate the input, outside the measured work";
    "p50_us", "Median latency", Microseconds, Lower, Timed:
        "median latency of an operation";
    "p90_us", "Latency, p90", Microseconds, Lower, Timed:
        "90th percentile of latency";
    "p99_us", "Latency, p99", Microseconds, Lower, Timed:
        "99th percentile of latency; reported from 1,000 operations";
    "p999_us", "Latency, p99.9", Microseconds, Lower, Timed:
        "99.9th percentile of latency; reported from 10,000 operations";
    "max_us", "Largest latency", Microseconds, Lower, Timed:
        "largest latency of an operation";
    "over_limit_percent", "Transactions over the latency limit", Percent, Lower, Timed:
        "share of the transactions that took longer than the limit; those that were never started do not count";
    "offered_per_s", "Operations offered per second", OpsPerSecond, Higher, Timed:
        "operations per second that arrived by the schedule of an open loop, served or not";
    "served_percent", "Offered load served", Percent, Higher, Timed:
        "achieved rate divided by the rate that the schedule of an open loop offered; below 100, the load was too high";
    "busy_errors", "Busy errors", Count, Lower, Timed:
        "SQLITE_BUSY results (`database is locked`) that reached the application; waits within busy_timeout do not count";
    "busy_at_once", "Busy errors at once", Count, Lower, Timed:
        "SQLITE_BUSY results that came before half of busy_timeout had passed: SQLite refused instead of waiting";
    "busy_snapshots", "Busy snapshots", Count, Lower, Timed:
        "SQLITE_BUSY results that are SQLITE_BUSY_SNAPSHOT: another connection has written since the transaction read";
    "retries", "Retries", Count, Lower, Timed:
        "operations that the application restarted after SQLITE_BUSY";
    "given_up", "Operations abandoned", Count, Lower, Timed:
        "operations that the application abandoned after the last retry; their latencies do not count";
    "unserved", "Operations still waiting", Count, Lower, Timed:
        "operations still waiting when an overloaded open loop was stopped; counted with the latency reached by then";
    "ops_per_s", "Operations per second", OpsPerSecond, Higher, Timed:
        "queue operations per second of all workers together: inserts, updates, deletes, claims, reads";
    "left_over", "Left over", Count, Lower, Timed:
        "what remains when every task is done and the store is closed: files other than the database and tasks that are meant to stay; on PostgreSQL tables and sessions";
    "connections_opened", "Connections opened", Count, Lower, Timed:
        "connections opened during the measured work because the pool keeps too few";
    "opening_percent", "Time spent opening connections", Percent, Lower, Timed:
        "share of all workers' time spent opening connections";
    "settled_percent", "Second half versus first", Percent, Lower, Timed:
        "time of the second half of the repetitions divided by that of the first; below 100, the work gets faster as it goes";
    "timer_late_us", "Timer delay, p99", Microseconds, Lower, Timed:
        "99th percentile of the delay with which the timer woke an idle worker for its next operation: pragmark's own part of the latency";
    "open_us", "Time to open one", Microseconds, Lower, Timed:
        "mean time to open a database: the call, the settings of the variant and the first read of the schema";
    "close_us", "Time to close one", Microseconds, Lower, Timed:
        "mean time to close a database, including the last checkpoint in WAL mode";
    "open_files", "File handles", Count, Lower, Timed:
        "largest number of file handles held by the process of the trial";
    "files_per_database", "File handles per database", Count, Lower, Timed:
        "mean number of file handles that one open connection held after a commit";
    "executions", "Executions", Count, Higher, Timed:
        "executions of a statement during the measured work; without a statement, transactions";
    "rows_per_call", "Rows returned", Count, Lower, Timed:
        "mean number of rows that an execution of a statement returned; without a statement, of a transaction";
    "vm_steps", "VM steps", Count, Lower, Timed:
        "mean number of instructions of SQLite's virtual machine per execution of a statement (SQLITE_STMTSTATUS_VM_STEP); without a statement, per transaction";
    "scan_steps", "Full-scan steps", Count, Lower, Timed:
        "mean number of rows stepped over in scans of whole tables per execution of a statement (SQLITE_STMTSTATUS_FULLSCAN_STEP); without a statement, per transaction";
    "sorts", "Sorts", Count, Lower, Timed:
        "mean number of sorts per execution of a statement (SQLITE_STMTSTATUS_SORT); without a statement, per transaction";
    "auto_index_rows", "Rows of automatic indexes", Count, Lower, Timed:
        "mean number of rows inserted into indexes that SQLite built for one execution of a statement (SQLITE_STMTSTATUS_AUTOINDEX); without a statement, per transaction";
    "growth_bytes", "Database growth", Bytes, Lower, Timed:
        "change of the size of the database file by the work, once its connections are closed";
    "syncs", "Syncs", Count, Lower, Counted:
        "syncs of files and directories during the measured work";
    "writes", "Write calls", Count, Lower, Counted:
        "write calls during the measured work";
    "bytes_written", "Bytes written", Bytes, Lower, Counted:
        "bytes written during the measured work";
    "reads", "Read calls", Count, Lower, Counted:
        "read calls during the measured work";
    "bytes_read", "Bytes read", Bytes, Lower, Counted:
        "bytes read during the measured work";
    "truncates", "File size changes", Count, Lower, Counted:
        "changes of file size during the measured work, except those made by writes";
    "deletes", "Files deleted", Count, Lower, Counted:
        "files deleted during the measured work";
    "cache_misses", "Cache misses", Count, Lower, Counted:
        "pages not found in the page cache during the measured work";
    "cache_spills", "Pages spilled", Count, Lower, Counted:
        "pages written in the middle of a transaction because the page cache was full";
    "pages_written", "Pages written", Count, Lower, Counted:
        "pages written to the database or its WAL during the measured work";
    "pages_per_row", "Pages written per row", Count, Lower, Counted:
        "pages written to the database or its WAL per row";
    "bytes_written_per_row", "Bytes written per row", BytesPerRow, Lower, Counted:
        "bytes written to files of any kind per row";
    "syncs_per_txn", "Syncs per transaction", Count, Lower, Counted:
        "syncs of files and directories per transaction";
    "pages_per_txn", "Pages written per transaction", Count, Lower, Counted:
        "pages written to the database or its WAL per transaction";
    "bytes_written_per_txn", "Bytes written per transaction", Bytes, Lower, Counted:
        "bytes written to files of any kind per transaction";
};

/// Returns the metric of this name, built in or declared by a driver; a phase suffix after a dot is allowed.
pub fn find(name: &str) -> Option<&'static Metric> {
    let base = name.split_once('.').map_or(name, |(base, _)| base);
    METRICS.iter().find(|metric| metric.name == base).or_else(|| find_declared(base))
}

/// Returns whether larger figures of the metric are better; so is a metric that is not in the catalogue.
pub fn higher_is_better(name: &str) -> bool {
    find(name).is_none_or(|metric| metric.better == Better::Higher)
}

/// A metric as a driver declares it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeclaredMetric {
    /// Name in experiment files and records: lower-case letters, digits and underscores.
    pub name: String,
    /// Name as a heading.
    pub heading: String,
    /// Unit of the figure.
    pub unit: Unit,
    /// Whether higher or lower is better.
    pub better: Better,
    /// Its meaning.
    pub about: String,
}

/// Every metric declared so far. They stay as long as the process, which reads a few manifests and plans.
static DECLARED: RwLock<Vec<&'static Metric>> = RwLock::new(Vec::new());

impl DeclaredMetric {
    /// Returns whether the name can be a declared metric's.
    ///
    /// # Errors
    /// Why not.
    pub fn check(&self) -> Result<(), String> {
        let name = &self.name;
        let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        if !name.starts_with(|c: char| c.is_ascii_lowercase()) || !name.chars().all(is_plain) {
            return Err(format!(
                "`{name}` cannot be the name of a metric: a name begins with a lower-case letter and has lower-case letters, digits and underscores"
            ));
        }
        if METRICS.iter().any(|known| known.name == name) {
            Err(format!("`{name}` is a metric of pragmark's own; report it without declaring it"))
        } else {
            Ok(())
        }
    }

    fn is_like(&self, known: &Metric) -> bool {
        (self.unit, self.better) == (known.unit, known.better)
            && (self.heading.as_str(), self.about.as_str()) == (known.heading, known.about)
    }

    /// Returns the same for as long as the process runs.
    fn kept(&self) -> &'static Metric {
        let text = |text: &String| -> &'static str { text.clone().leak() };
        Box::leak(Box::new(Metric {
            name: text(&self.name),
            heading: text(&self.heading),
            unit: self.unit,
            better: self.better,
            about: text(&self.about),
            counted: false,
        }))
    }
}

/// Makes metrics known under their names.
///
/// # Errors
/// A name is not allowed, or means something else already.
pub fn declare(metrics: &[DeclaredMetric]) -> Result<(), String> {
    let mut declared = DECLARED.write().unwrap_or_else(PoisonError::into_inner);
    for metric in metrics {
        metric.check()?;
        match declared.iter().find(|known| known.name == metric.name) {
            None => declared.push(metric.kept()),
            Some(known) if metric.is_like(known) => {}
            Some(_) => {
                return Err(format!(
                    "the metric `{}` is declared twice, with different units, directions or meanings",
                    metric.name
                ));
            }
        }
    }
    Ok(())
}

/// Returns the declared metric of this name, without a phase.
pub fn find_declared(name: &str) -> Option<&'static Metric> {
    let declared = DECLARED.read().unwrap_or_else(PoisonError::into_inner);
    declared.iter().find(|known| known.name == name).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_metrics_with_and_without_a_phase() {
        assert_eq!(find("seconds").unwrap().unit, Unit::Seconds);
        assert_eq!(find("seconds.index").unwrap().better, Better::Lower);
        assert!(find("second").is_none());
    }

    #[test]
    fn names_and_headings_are_unique_and_names_have_no_dots() {
        for (index, metric) in METRICS.iter().enumerate() {
            assert!(!metric.name.contains('.'));
            assert!(!metric.heading.contains(['.', '_']) || metric.heading.contains("p99.9"));
            for other in &METRICS[..index] {
                assert!(other.name != metric.name, "{}", metric.name);
                assert!(other.heading != metric.heading, "{}", metric.heading);
            }
        }
    }

    fn metric(name: &str, better: Better) -> DeclaredMetric {
        DeclaredMetric {
            name: name.to_owned(),
            heading: "Parcels sent per second".to_owned(),
            unit: Unit::OpsPerSecond,
            better,
            about: "parcels sent per second".to_owned(),
        }
    }

    #[test]
    fn a_declared_metric_is_found_like_any_other_and_keeps_its_meaning() {
        assert!(find("parcels_per_s").is_none());
        let parcels = metric("parcels_per_s", Better::Higher);
        declare(std::slice::from_ref(&parcels)).unwrap();
        declare(&[parcels]).unwrap();
        assert_eq!(find("parcels_per_s").unwrap().unit, Unit::OpsPerSecond);
        assert!(higher_is_better("parcels_per_s"));
        let other = declare(&[metric("parcels_per_s", Better::Lower)]).unwrap_err();
        assert!(other.contains("declared twice"), "{other}");
        assert!(higher_is_better("parcels_per_s"));
    }

    #[test]
    fn names_of_pragmark_s_own_metrics_and_names_that_are_none_are_refused() {
        for name in ["seconds", "", "a.b", "Parcels", "1st"] {
            assert!(declare(&[metric(name, Better::Higher)]).is_err(), "{name}");
        }
    }
}

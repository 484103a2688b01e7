//! The catalogue of metrics: what a trial may report, in which unit, and which way is better.
//!
//! A metric may be reported for one phase of a trial by a suffix: `seconds.index` is the time of
//! the phase `index`. The suffix changes neither unit nor direction.

use serde::{Deserialize, Serialize};

/// Which way a metric gets better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// Larger values are better (rates).
    Higher,
    /// Smaller values are better (times, sizes).
    Lower,
}

/// How a figure of a metric is to be shown.
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
    /// Bytes a row.
    BytesPerRow,
    /// Rows a second.
    RowsPerSecond,
    /// Operations (transactions, queries) a second.
    OpsPerSecond,
    /// Mebibytes (2^20 bytes) a second.
    MebibytesPerSecond,
    /// A count.
    Count,
    /// Hundredths of a whole.
    Percent,
    /// A part of a whole, from 0 to 1.
    Share,
}

/// One metric.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Metric {
    /// Name in experiment files and records, without a phase.
    pub name: &'static str,
    /// Unit of the figure.
    pub unit: Unit,
    /// Which way is better.
    pub better: Better,
    /// What it means and how it is taken.
    pub about: &'static str,
    /// Whether it comes from the counting trial, which is not timed. Suffixes of these metrics
    /// name kinds of files: `database`, `journal`, `wal`, `temporary`, `super_journal`.
    pub counted: bool,
}

const fn metric(name: &'static str, unit: Unit, better: Better, about: &'static str) -> Metric {
    Metric {
        name,
        unit,
        better,
        about,
        counted: false,
    }
}

const fn counted(name: &'static str, unit: Unit, about: &'static str) -> Metric {
    Metric {
        name,
        unit,
        better: Better::Lower,
        about,
        counted: true,
    }
}

/// Every metric a trial may report.
pub const METRICS: &[Metric] = &[
    metric(
        "rows_per_s",
        Unit::RowsPerSecond,
        Better::Higher,
        "rows written a second, from the first statement to the end of the last phase that belongs to the work (index builds and commits included)",
    ),
    metric(
        "ns_per_row",
        Unit::Nanoseconds,
        Better::Lower,
        "wall-clock time of one part of the work divided by the rows that it wrote or read, or by its statements where it has no rows",
    ),
    metric(
        "read_back",
        Unit::Count,
        Better::Higher,
        "the number that SQLite answers for the PRAGMA of this name after the work",
    ),
    metric(
        "mib_per_s",
        Unit::MebibytesPerSecond,
        Better::Higher,
        "mebibytes (2^20 bytes) of the application's own data written a second, without keys and overhead",
    ),
    metric(
        "queries_per_s",
        Unit::OpsPerSecond,
        Better::Higher,
        "queries answered a second, each with whatever must be prepared for it",
    ),
    metric(
        "results",
        Unit::Count,
        Better::Higher,
        "rows that the queries find",
    ),
    metric(
        "segments",
        Unit::Count,
        Better::Lower,
        "segments of the full-text index, each of which a query looks into",
    ),
    metric(
        "overlap",
        Unit::Share,
        Better::Higher,
        "of the rows that this tokenizer or another finds, the part that both find; the mean over queries",
    ),
    metric(
        "recall_word",
        Unit::Share,
        Better::Higher,
        "of the rows with the words asked for, the part that is found; without a class, the mean over queries",
    ),
    metric(
        "precision_word",
        Unit::Share,
        Better::Higher,
        "of the rows found, the part with the words asked for; without a class, the mean over queries",
    ),
    metric(
        "recall_stem",
        Unit::Share,
        Better::Higher,
        "of the rows with words of the same stems (Snowball, English), the part that is found",
    ),
    metric(
        "precision_stem",
        Unit::Share,
        Better::Higher,
        "of the rows found, the part with words of the same stems (Snowball, English)",
    ),
    metric(
        "recall_substring",
        Unit::Share,
        Better::Higher,
        "of the rows with the letters asked for, in words or across them, the part that is found",
    ),
    metric(
        "precision_substring",
        Unit::Share,
        Better::Higher,
        "of the rows found, the part with the letters asked for, in words or across them",
    ),
    metric(
        "opcodes",
        Unit::Count,
        Better::Lower,
        "instructions in the bytecode of a statement, as EXPLAIN lists them",
    ),
    metric(
        "plan_scans",
        Unit::Count,
        Better::Lower,
        "tables that EXPLAIN QUERY PLAN says are scanned",
    ),
    metric(
        "plan_searches",
        Unit::Count,
        Better::Higher,
        "tables that EXPLAIN QUERY PLAN says are searched by a key or an index",
    ),
    metric(
        "images_per_s",
        Unit::OpsPerSecond,
        Better::Higher,
        "images that crashes may leave, recovered and judged a second",
    ),
    metric(
        "images",
        Unit::Count,
        Better::Higher,
        "distinct images that crashes may leave, under all storage models",
    ),
    metric(
        "bad_images",
        Unit::Count,
        Better::Lower,
        "images with a database that does not open, is damaged or holds what was never committed, under the storage models that SQLite's assumptions cover",
    ),
    metric(
        "losing_images",
        Unit::Count,
        Better::Lower,
        "images that lack acknowledged commits and are in order otherwise, under the storage models that SQLite's assumptions cover",
    ),
    metric(
        "lost_commits",
        Unit::Count,
        Better::Lower,
        "the most acknowledged commits that such an image lacks",
    ),
    metric(
        "schedules",
        Unit::Count,
        Better::Higher,
        "schedules of two connections that were played, each once",
    ),
    metric(
        "wrong_schedules",
        Unit::Count,
        Better::Lower,
        "schedules that damaged the database, showed a state that never was or locked a connection out",
    ),
    metric(
        "txns_per_s",
        Unit::OpsPerSecond,
        Better::Higher,
        "committed transactions a second",
    ),
    metric(
        "seconds",
        Unit::Seconds,
        Better::Lower,
        "wall-clock time of the measured work",
    ),
    metric(
        "cpu_user_s",
        Unit::Seconds,
        Better::Lower,
        "CPU time in user mode during the measured work (getrusage)",
    ),
    metric(
        "cpu_system_s",
        Unit::Seconds,
        Better::Lower,
        "CPU time in the kernel during the measured work (getrusage)",
    ),
    metric(
        "peak_memory_bytes",
        Unit::Bytes,
        Better::Lower,
        "largest resident set of the trial's process (getrusage)",
    ),
    metric(
        "db_bytes",
        Unit::Bytes,
        Better::Lower,
        "size of the database file after the work and the closing of the connection",
    ),
    metric(
        "wal_bytes",
        Unit::Bytes,
        Better::Lower,
        "size of the write-ahead log before the closing of the connection",
    ),
    metric(
        "bytes_per_row",
        Unit::BytesPerRow,
        Better::Lower,
        "database file size divided by rows",
    ),
    metric(
        "close_s",
        Unit::Seconds,
        Better::Lower,
        "time to close the connection, in WAL mode with its last checkpoint; not part of `seconds`",
    ),
    metric(
        "generate_s",
        Unit::Seconds,
        Better::Lower,
        "time to generate the input, outside the measured work",
    ),
    metric(
        "p50_us",
        Unit::Microseconds,
        Better::Lower,
        "median latency of an operation",
    ),
    metric(
        "p90_us",
        Unit::Microseconds,
        Better::Lower,
        "90th percentile of latency",
    ),
    metric(
        "p99_us",
        Unit::Microseconds,
        Better::Lower,
        "99th percentile of latency; given from 1,000 operations on",
    ),
    metric(
        "p999_us",
        Unit::Microseconds,
        Better::Lower,
        "99.9th percentile of latency; given from 10,000 operations on",
    ),
    metric(
        "max_us",
        Unit::Microseconds,
        Better::Lower,
        "largest latency of an operation",
    ),
    metric(
        "offered_per_s",
        Unit::OpsPerSecond,
        Better::Higher,
        "operations a second that arrived by the schedule of an open loop, whether or not they could be served",
    ),
    metric(
        "served_percent",
        Unit::Percent,
        Better::Higher,
        "achieved rate divided by the rate offered by the schedule of an open loop; below 100 the load was too much",
    ),
    metric(
        "busy_errors",
        Unit::Count,
        Better::Lower,
        "SQLITE_BUSY results (`database is locked`) that reached the application; waits within busy_timeout are not among them",
    ),
    metric(
        "busy_at_once",
        Unit::Count,
        Better::Lower,
        "those of the SQLITE_BUSY results that came before half of busy_timeout had passed: not waited for in vain, but refused",
    ),
    metric(
        "busy_snapshots",
        Unit::Count,
        Better::Lower,
        "those of the SQLITE_BUSY results that are SQLITE_BUSY_SNAPSHOT: another connection has written since the transaction read",
    ),
    metric(
        "retries",
        Unit::Count,
        Better::Lower,
        "times that the application began an operation anew after SQLITE_BUSY",
    ),
    metric(
        "given_up",
        Unit::Count,
        Better::Lower,
        "operations that the application gave up after its last retry; they are not among the latencies",
    ),
    metric(
        "unserved",
        Unit::Count,
        Better::Lower,
        "operations that still waited for their turn when an overloaded open loop was stopped; counted with the latency they had reached",
    ),
    metric(
        "ops_per_s",
        Unit::OpsPerSecond,
        Better::Higher,
        "operations on a queue a second, of all workers together: insertions, changes, deletions, claims, readings",
    ),
    metric(
        "left_over",
        Unit::Count,
        Better::Lower,
        "tasks and files that are still there when every task has been done and deleted",
    ),
    metric(
        "connections_opened",
        Unit::Count,
        Better::Lower,
        "connections that were opened during the measured work, where a pool keeps too few of them",
    ),
    metric(
        "opening_percent",
        Unit::Percent,
        Better::Lower,
        "of the time that all workers spent together, the part in which they opened connections",
    ),
    metric(
        "settled_percent",
        Unit::Percent,
        Better::Lower,
        "time of the second half of the repetitions, divided by that of the first; below 100 the work gets faster as it goes",
    ),
    metric(
        "timer_late_us",
        Unit::Microseconds,
        Better::Lower,
        "99th percentile of how late the timer woke an idle worker for its next operation: the part of the latency that is the laboratory's own",
    ),
    metric(
        "open_us",
        Unit::Microseconds,
        Better::Lower,
        "mean time to open a database: the call, the settings of the arm, and the first look at the schema",
    ),
    metric(
        "close_us",
        Unit::Microseconds,
        Better::Lower,
        "mean time to close a database, in WAL mode with its last checkpoint",
    ),
    metric(
        "open_files",
        Unit::Count,
        Better::Lower,
        "file handles that the process of the trial held at most",
    ),
    metric(
        "files_per_database",
        Unit::Count,
        Better::Lower,
        "file handles that one connection kept open held after a commit, on average",
    ),
    counted(
        "syncs",
        Unit::Count,
        "syncs of files and directories during the measured work",
    ),
    counted(
        "writes",
        Unit::Count,
        "write calls during the measured work",
    ),
    counted(
        "bytes_written",
        Unit::Bytes,
        "bytes written during the measured work",
    ),
    counted("reads", Unit::Count, "read calls during the measured work"),
    counted(
        "bytes_read",
        Unit::Bytes,
        "bytes read during the measured work",
    ),
    counted(
        "truncates",
        Unit::Count,
        "changes of file size during the measured work, without those that writing makes",
    ),
    counted(
        "deletes",
        Unit::Count,
        "files deleted during the measured work",
    ),
    counted(
        "cache_misses",
        Unit::Count,
        "pages not found in the page cache during the measured work",
    ),
    counted(
        "cache_spills",
        Unit::Count,
        "pages written in the middle of a transaction because the page cache was full",
    ),
    counted(
        "pages_written",
        Unit::Count,
        "pages written to the database or its log during the measured work",
    ),
    counted(
        "pages_per_row",
        Unit::Count,
        "pages written to the database or its log for each row",
    ),
    counted(
        "bytes_written_per_row",
        Unit::BytesPerRow,
        "bytes written to files of any kind for each row",
    ),
    counted(
        "syncs_per_txn",
        Unit::Count,
        "syncs of files and directories for each transaction",
    ),
    counted(
        "pages_per_txn",
        Unit::Count,
        "pages written to the database or its log for each transaction",
    ),
    counted(
        "bytes_written_per_txn",
        Unit::Bytes,
        "bytes written to files of any kind for each transaction",
    ),
];

/// The metric of this name; a phase suffix after a dot is allowed.
pub fn find(name: &str) -> Option<&'static Metric> {
    let base = name.split_once('.').map_or(name, |(base, _)| base);
    METRICS.iter().find(|metric| metric.name == base)
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
    fn names_are_unique_and_free_of_dots() {
        for (index, metric) in METRICS.iter().enumerate() {
            assert!(!metric.name.contains('.'));
            assert!(
                METRICS[..index]
                    .iter()
                    .all(|other| other.name != metric.name)
            );
        }
    }
}

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
    /// Name as a heading, without a phase: `Rows a second`.
    pub heading: &'static str,
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

const fn metric(
    name: &'static str,
    heading: &'static str,
    unit: Unit,
    better: Better,
    about: &'static str,
) -> Metric {
    Metric {
        name,
        heading,
        unit,
        better,
        about,
        counted: false,
    }
}

const fn counted(
    name: &'static str,
    heading: &'static str,
    unit: Unit,
    about: &'static str,
) -> Metric {
    Metric {
        name,
        heading,
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
        "Rows a second",
        Unit::RowsPerSecond,
        Better::Higher,
        "rows written a second, from the first statement to the end of the last phase that belongs to the work (index builds and commits included)",
    ),
    metric(
        "ns_per_row",
        "Time a row",
        Unit::Nanoseconds,
        Better::Lower,
        "wall-clock time of one part of the work divided by the rows that it wrote or read, or by its statements where it has no rows",
    ),
    metric(
        "read_back",
        "PRAGMA read back",
        Unit::Count,
        Better::Higher,
        "the number that SQLite answers for the PRAGMA of this name after the work; `journal_mode_wal` is 1 where the journal mode is WAL and 0 elsewhere",
    ),
    metric(
        "mib_per_s",
        "MiB a second",
        Unit::MebibytesPerSecond,
        Better::Higher,
        "mebibytes (2^20 bytes) of the application's own data written a second, without keys and overhead",
    ),
    metric(
        "queries_per_s",
        "Queries a second",
        Unit::OpsPerSecond,
        Better::Higher,
        "queries answered a second, each with whatever must be prepared for it",
    ),
    metric(
        "answered",
        "Queries answered",
        Unit::Count,
        Better::Higher,
        "queries that the table answered; those it refused are missing from time, recall and precision, so a variant that answers fewer seems better there than it is",
    ),
    metric(
        "results",
        "Rows found",
        Unit::Count,
        Better::Higher,
        "rows that the queries find",
    ),
    metric(
        "segments",
        "Segments of the index",
        Unit::Count,
        Better::Lower,
        "segments of the full-text index, each of which a query looks into",
    ),
    metric(
        "overlap",
        "Overlap",
        Unit::Share,
        Better::Higher,
        "of the rows that this tokenizer or another finds, the part that both find; the mean over queries",
    ),
    metric(
        "recall_word",
        "Recall of words",
        Unit::Share,
        Better::Higher,
        "of the rows with the words asked for, the part that is found; without a class, the mean over queries",
    ),
    metric(
        "precision_word",
        "Precision by words",
        Unit::Share,
        Better::Higher,
        "of the rows found, the part with the words asked for; without a class, the mean over queries",
    ),
    metric(
        "recall_stem",
        "Recall of stems",
        Unit::Share,
        Better::Higher,
        "of the rows with words of the same stems (Snowball, English), the part that is found",
    ),
    metric(
        "precision_stem",
        "Precision by stems",
        Unit::Share,
        Better::Higher,
        "of the rows found, the part with words of the same stems (Snowball, English)",
    ),
    metric(
        "recall_substring",
        "Recall of letters",
        Unit::Share,
        Better::Higher,
        "of the rows with the letters asked for, in words or across them, the part that is found",
    ),
    metric(
        "precision_substring",
        "Precision by letters",
        Unit::Share,
        Better::Higher,
        "of the rows found, the part with the letters asked for, in words or across them",
    ),
    metric(
        "opcodes",
        "Instructions of bytecode",
        Unit::Count,
        Better::Lower,
        "instructions in the bytecode of a statement, as EXPLAIN lists them",
    ),
    metric(
        "plan_scans",
        "Tables scanned by plan",
        Unit::Count,
        Better::Lower,
        "tables that EXPLAIN QUERY PLAN says are scanned",
    ),
    metric(
        "plan_searches",
        "Tables searched by plan",
        Unit::Count,
        Better::Higher,
        "tables that EXPLAIN QUERY PLAN says are searched by a key or an index",
    ),
    metric(
        "images_per_s",
        "Images a second",
        Unit::OpsPerSecond,
        Better::Higher,
        "images that crashes may leave, recovered and judged a second",
    ),
    metric(
        "images",
        "Images of crashes",
        Unit::Count,
        Better::Higher,
        "distinct images that crashes may leave, under all storage models",
    ),
    metric(
        "bad_images",
        "Images with corruption",
        Unit::Count,
        Better::Lower,
        "images with a database that does not open, is damaged or holds what was never committed, under the storage models that SQLite's assumptions cover",
    ),
    metric(
        "losing_images",
        "Images lacking commits",
        Unit::Count,
        Better::Lower,
        "images that lack acknowledged commits and are in order otherwise, under the storage models that SQLite's assumptions cover",
    ),
    metric(
        "lost_commits",
        "Most commits lost",
        Unit::Count,
        Better::Lower,
        "the most acknowledged commits that such an image lacks",
    ),
    metric(
        "schedules",
        "Schedules played",
        Unit::Count,
        Better::Higher,
        "schedules of two connections that were played, each once",
    ),
    metric(
        "wrong_schedules",
        "Wrong schedules",
        Unit::Count,
        Better::Lower,
        "schedules that damaged the database, showed a state that never was or locked a connection out",
    ),
    metric(
        "txns_per_s",
        "Transactions a second",
        Unit::OpsPerSecond,
        Better::Higher,
        "committed transactions a second",
    ),
    metric(
        "seconds",
        "Time",
        Unit::Seconds,
        Better::Lower,
        "wall-clock time of the measured work",
    ),
    metric(
        "cpu_user_s",
        "CPU time, user",
        Unit::Seconds,
        Better::Lower,
        "CPU time in user mode during the measured work (getrusage)",
    ),
    metric(
        "cpu_system_s",
        "CPU time, kernel",
        Unit::Seconds,
        Better::Lower,
        "CPU time in the kernel during the measured work (getrusage)",
    ),
    metric(
        "peak_memory_bytes",
        "Peak memory",
        Unit::Bytes,
        Better::Lower,
        "largest resident set of the trial's process (getrusage)",
    ),
    metric(
        "db_bytes",
        "Database size",
        Unit::Bytes,
        Better::Lower,
        "size of the database file after the work and the closing of the connection",
    ),
    metric(
        "wal_bytes",
        "WAL size",
        Unit::Bytes,
        Better::Lower,
        "size of the write-ahead log before the closing of the connection",
    ),
    metric(
        "bytes_per_row",
        "Bytes a row",
        Unit::BytesPerRow,
        Better::Lower,
        "database file size divided by rows",
    ),
    metric(
        "close_s",
        "Time to close",
        Unit::Seconds,
        Better::Lower,
        "time to close the connection, in WAL mode with its last checkpoint; not part of `seconds`",
    ),
    metric(
        "generate_s",
        "Time to generate the input",
        Unit::Seconds,
        Better::Lower,
        "time to generate the input, outside the measured work",
    ),
    metric(
        "p50_us",
        "Median latency",
        Unit::Microseconds,
        Better::Lower,
        "median latency of an operation",
    ),
    metric(
        "p90_us",
        "Latency, p90",
        Unit::Microseconds,
        Better::Lower,
        "90th percentile of latency",
    ),
    metric(
        "p99_us",
        "Latency, p99",
        Unit::Microseconds,
        Better::Lower,
        "99th percentile of latency; given from 1,000 operations on",
    ),
    metric(
        "p999_us",
        "Latency, p99.9",
        Unit::Microseconds,
        Better::Lower,
        "99.9th percentile of latency; given from 10,000 operations on",
    ),
    metric(
        "max_us",
        "Largest latency",
        Unit::Microseconds,
        Better::Lower,
        "largest latency of an operation",
    ),
    metric(
        "offered_per_s",
        "Operations offered a second",
        Unit::OpsPerSecond,
        Better::Higher,
        "operations a second that arrived by the schedule of an open loop, whether or not they could be served",
    ),
    metric(
        "served_percent",
        "Served of what was offered",
        Unit::Percent,
        Better::Higher,
        "achieved rate divided by the rate offered by the schedule of an open loop; below 100 the load was too much",
    ),
    metric(
        "busy_errors",
        "Busy errors",
        Unit::Count,
        Better::Lower,
        "SQLITE_BUSY results (`database is locked`) that reached the application; waits within busy_timeout are not among them",
    ),
    metric(
        "busy_at_once",
        "Busy errors at once",
        Unit::Count,
        Better::Lower,
        "those of the SQLITE_BUSY results that came before half of busy_timeout had passed: not waited for in vain, but refused",
    ),
    metric(
        "busy_snapshots",
        "Busy snapshots",
        Unit::Count,
        Better::Lower,
        "those of the SQLITE_BUSY results that are SQLITE_BUSY_SNAPSHOT: another connection has written since the transaction read",
    ),
    metric(
        "retries",
        "Operations begun anew",
        Unit::Count,
        Better::Lower,
        "times that the application began an operation anew after SQLITE_BUSY",
    ),
    metric(
        "given_up",
        "Operations given up",
        Unit::Count,
        Better::Lower,
        "operations that the application gave up after its last retry; they are not among the latencies",
    ),
    metric(
        "unserved",
        "Operations left waiting",
        Unit::Count,
        Better::Lower,
        "operations that still waited for their turn when an overloaded open loop was stopped; counted with the latency they had reached",
    ),
    metric(
        "ops_per_s",
        "Operations a second",
        Unit::OpsPerSecond,
        Better::Higher,
        "operations on a queue a second, of all workers together: insertions, changes, deletions, claims, readings",
    ),
    metric(
        "left_over",
        "Left over",
        Unit::Count,
        Better::Lower,
        "tasks and files that are still there when every task has been done and deleted",
    ),
    metric(
        "connections_opened",
        "Connections opened",
        Unit::Count,
        Better::Lower,
        "connections that were opened during the measured work, where a pool keeps too few of them",
    ),
    metric(
        "opening_percent",
        "Time spent opening connections",
        Unit::Percent,
        Better::Lower,
        "of the time that all workers spent together, the part in which they opened connections",
    ),
    metric(
        "settled_percent",
        "Second half against the first",
        Unit::Percent,
        Better::Lower,
        "time of the second half of the repetitions, divided by that of the first; below 100 the work gets faster as it goes",
    ),
    metric(
        "timer_late_us",
        "Timer late, p99",
        Unit::Microseconds,
        Better::Lower,
        "99th percentile of how late the timer woke an idle worker for its next operation: the part of the latency that is the laboratory's own",
    ),
    metric(
        "open_us",
        "Time to open one",
        Unit::Microseconds,
        Better::Lower,
        "mean time to open a database: the call, the settings of the variant, and the first look at the schema",
    ),
    metric(
        "close_us",
        "Time to close one",
        Unit::Microseconds,
        Better::Lower,
        "mean time to close a database, in WAL mode with its last checkpoint",
    ),
    metric(
        "open_files",
        "File handles",
        Unit::Count,
        Better::Lower,
        "file handles that the process of the trial held at most",
    ),
    metric(
        "files_per_database",
        "File handles a database",
        Unit::Count,
        Better::Lower,
        "file handles that one connection kept open held after a commit, on average",
    ),
    counted(
        "syncs",
        "Syncs",
        Unit::Count,
        "syncs of files and directories during the measured work",
    ),
    counted(
        "writes",
        "Write calls",
        Unit::Count,
        "write calls during the measured work",
    ),
    counted(
        "bytes_written",
        "Bytes written",
        Unit::Bytes,
        "bytes written during the measured work",
    ),
    counted(
        "reads",
        "Read calls",
        Unit::Count,
        "read calls during the measured work",
    ),
    counted(
        "bytes_read",
        "Bytes read",
        Unit::Bytes,
        "bytes read during the measured work",
    ),
    counted(
        "truncates",
        "Changes of size",
        Unit::Count,
        "changes of file size during the measured work, without those that writing makes",
    ),
    counted(
        "deletes",
        "Files deleted",
        Unit::Count,
        "files deleted during the measured work",
    ),
    counted(
        "cache_misses",
        "Cache misses",
        Unit::Count,
        "pages not found in the page cache during the measured work",
    ),
    counted(
        "cache_spills",
        "Pages spilt",
        Unit::Count,
        "pages written in the middle of a transaction because the page cache was full",
    ),
    counted(
        "pages_written",
        "Pages written",
        Unit::Count,
        "pages written to the database or its log during the measured work",
    ),
    counted(
        "pages_per_row",
        "Pages written a row",
        Unit::Count,
        "pages written to the database or its log for each row",
    ),
    counted(
        "bytes_written_per_row",
        "Bytes written a row",
        Unit::BytesPerRow,
        "bytes written to files of any kind for each row",
    ),
    counted(
        "syncs_per_txn",
        "Syncs a transaction",
        Unit::Count,
        "syncs of files and directories for each transaction",
    ),
    counted(
        "pages_per_txn",
        "Pages written a transaction",
        Unit::Count,
        "pages written to the database or its log for each transaction",
    ),
    counted(
        "bytes_written_per_txn",
        "Bytes written a transaction",
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
}

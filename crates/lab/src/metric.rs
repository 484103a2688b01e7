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

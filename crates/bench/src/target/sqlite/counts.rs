//! Counts of file operations and of the page cache, in counting trials.

use std::collections::BTreeMap;
use std::sync::Arc;

use engine::vfs::{CountingVfs, FileCounts, IoCounts};
use engine::{Connection, DbStatus};

use crate::error::Result;
use crate::trial::Trial;

/// Counts file operations and page cache events from its creation on.
pub(crate) struct Counts {
    counter: Arc<CountingVfs>,
    before: IoCounts,
    /// The counts until the last pause as metrics: for all files together, and for each kind of file that took part.
    pub(crate) metrics: BTreeMap<String, f64>,
}

/// Counters of the page cache by metric.
const CACHE: &[(&str, DbStatus)] = &[
    ("cache_misses", DbStatus::CacheMiss),
    ("cache_spills", DbStatus::CacheSpill),
    ("pages_written", DbStatus::CacheWrite),
];

impl Counts {
    /// Begins to count in a counting trial; returns `None` in a timed one.
    pub(crate) fn begin(trial: &Trial<'_>, connection: &Connection) -> Result<Option<Counts>> {
        Counts::of(trial.counter.as_ref(), std::slice::from_ref(connection))
    }

    /// As [`Counts::begin`], for work by several connections.
    pub(crate) fn of(
        counter: Option<&Arc<CountingVfs>>,
        connections: &[Connection],
    ) -> Result<Option<Counts>> {
        let Some(counter) = counter else { return Ok(None) };
        for connection in connections {
            for (_, status) in CACHE {
                connection.db_status(*status, true)?;
            }
        }
        Ok(Some(Counts {
            counter: Arc::clone(counter),
            before: counter.counts(),
            metrics: BTreeMap::new(),
        }))
    }

    /// Adds the page cache counters of a connection since it was opened or counting began. Call it once before the connection is
    /// closed.
    pub(crate) fn note(&mut self, connection: &Connection) -> Result<()> {
        for (name, status) in CACHE {
            let value = connection.db_status(*status, true)?.current;
            *self.metrics.entry((*name).to_owned()).or_default() += value as f64;
        }
        Ok(())
    }

    /// Stops counting file operations until [`Counts::resume`], after noting these connections.
    pub(crate) fn pause(&mut self, connections: &[Connection]) -> Result<()> {
        let now = self.counter.counts();
        for (name, value) in file_metrics(&(now - self.before)) {
            *self.metrics.entry(name).or_default() += value;
        }
        self.before = now;
        connections.iter().try_for_each(|connection| self.note(connection))
    }

    /// Resumes counting file operations.
    pub(crate) fn resume(&mut self) {
        self.before = self.counter.counts();
    }

    /// Returns the counts so far of work by one connection.
    pub(crate) fn end(mut self, connection: &Connection) -> Result<BTreeMap<String, f64>> {
        self.pause(std::slice::from_ref(connection))?;
        Ok(self.metrics)
    }
}

/// Counts that are reported per row and per transaction: the metric, the count, and the rate of rows or transactions.
const EACH: &[(&str, &str, &str)] = &[
    ("pages_per_row", "pages_written", "rows_per_s"),
    ("bytes_written_per_row", "bytes_written", "rows_per_s"),
    ("syncs_per_txn", "syncs", "txns_per_s"),
    ("pages_per_txn", "pages_written", "txns_per_s"),
    ("bytes_written_per_txn", "bytes_written", "txns_per_s"),
];

/// Adds the counts per row and per transaction, if the work has any.
pub(crate) fn add_counts_for_each(metrics: &mut BTreeMap<String, f64>) {
    let figure = |name: &str| metrics.get(name).copied();
    let of = |&(each, all, rate): &(&str, &str, &str)| {
        let number = figure(rate)? * figure("seconds")?;
        (number > 0.0).then_some((each.to_owned(), figure(all)? / number))
    };
    let each: Vec<(String, f64)> = EACH.iter().filter_map(of).collect();
    metrics.extend(each);
}

/// Returns file operations as metrics: for all files together, and for each kind of file that took part.
pub(crate) fn file_metrics(counts: &IoCounts) -> BTreeMap<String, f64> {
    let kinds = [
        ("database", &counts.database),
        ("journal", &counts.journal),
        ("wal", &counts.wal),
        ("super_journal", &counts.super_journal),
        ("temporary", &counts.temporary),
    ];
    let mut metrics = BTreeMap::new();
    for (kind, files) in kinds {
        for (name, value) in figures(files) {
            *metrics.entry(name.to_owned()).or_default() += value;
            if *files != FileCounts::default() {
                metrics.insert(format!("{name}.{kind}"), value);
            }
        }
    }
    metrics
}

fn figures(files: &FileCounts) -> [(&'static str, f64); 7] {
    [
        ("syncs", files.syncs + files.directory_syncs),
        ("writes", files.writes),
        ("bytes_written", files.bytes_written),
        ("reads", files.reads + files.mapped_reads),
        ("bytes_read", files.bytes_read),
        ("truncates", files.truncates),
        ("deletes", files.deletes),
    ]
    .map(|(name, value)| (name, value as f64))
}

//! What the work does to files and to the page cache, counted in counting trials.

use std::collections::BTreeMap;
use std::sync::Arc;

use engine::vfs::{CountingVfs, FileCounts, IoCounts};
use engine::{Connection, DbStatus};

use crate::error::TrialError;
use crate::trial::Trial;

/// What the work does to files and to the page cache, counted from its making on.
pub(crate) struct Counts {
    counter: Arc<CountingVfs>,
    before: IoCounts,
    metrics: BTreeMap<String, f64>,
}

/// Counters of the page cache by metric.
const CACHE: &[(&str, DbStatus)] = &[
    ("cache_misses", DbStatus::CacheMiss),
    ("cache_spills", DbStatus::CacheSpill),
    ("pages_written", DbStatus::CacheWrite),
];

impl Counts {
    /// Begins to count in a counting trial; none in a timed one.
    pub(crate) fn begin(
        trial: &Trial<'_>,
        connection: &Connection,
    ) -> Result<Option<Counts>, TrialError> {
        Counts::begin_all(trial, std::slice::from_ref(connection))
    }

    /// As [`Counts::begin`], for work by several connections.
    pub(crate) fn begin_all(
        trial: &Trial<'_>,
        connections: &[Connection],
    ) -> Result<Option<Counts>, TrialError> {
        Counts::of(trial.counter.as_ref(), connections)
    }

    /// As [`Counts::begin_all`], with a counter of the connections' own.
    pub(crate) fn of(
        counter: Option<&Arc<CountingVfs>>,
        connections: &[Connection],
    ) -> Result<Option<Counts>, TrialError> {
        let Some(counter) = counter else {
            return Ok(None);
        };
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

    /// Adds what the page cache of a connection has counted since it was opened or counting began;
    /// to be called once before it is closed.
    pub(crate) fn note(&mut self, connection: &Connection) -> Result<(), TrialError> {
        for (name, status) in CACHE {
            let value = connection.db_status(*status, true)?.current;
            *self.metrics.entry((*name).to_owned()).or_default() += value as f64;
        }
        Ok(())
    }

    /// Leaves out what happens to files until [`Counts::resume`], after noting these connections.
    pub(crate) fn pause(&mut self, connections: &[Connection]) -> Result<(), TrialError> {
        let now = self.counter.counts();
        for (name, value) in file_metrics(&now.since(&self.before)) {
            *self.metrics.entry(name).or_default() += value;
        }
        self.before = now;
        connections.iter().try_for_each(|connection| self.note(connection))
    }

    /// Counts again what happens to files.
    pub(crate) fn resume(&mut self) {
        self.before = self.counter.counts();
    }

    /// What was counted until the last pause, as metrics: for all files together, and by kind of
    /// file where any of that kind took part.
    pub(crate) fn finish(self) -> BTreeMap<String, f64> {
        self.metrics
    }

    /// What was counted until now in work by one connection.
    pub(crate) fn end(
        mut self,
        connection: &Connection,
    ) -> Result<BTreeMap<String, f64>, TrialError> {
        self.pause(std::slice::from_ref(connection))?;
        Ok(self.finish())
    }
}

/// What is reported per row and per transaction: the metric, what it divides, and the rate
/// that tells how many there were.
const EACH: &[(&str, &str, &str)] = &[
    ("pages_per_row", "pages_written", "rows_per_s"),
    ("bytes_written_per_row", "bytes_written", "rows_per_s"),
    ("syncs_per_txn", "syncs", "txns_per_s"),
    ("pages_per_txn", "pages_written", "txns_per_s"),
    ("bytes_written_per_txn", "bytes_written", "txns_per_s"),
];

/// Adds what was counted for each row and each transaction, where the work has them.
pub(crate) fn add_counts_for_each(metrics: &mut BTreeMap<String, f64>) {
    let figure = |name: &str| metrics.get(name).copied();
    let of = |&(each, all, rate): &(&str, &str, &str)| {
        let number = figure(rate)? * figure("seconds")?;
        (number > 0.0).then_some((each.to_owned(), figure(all)? / number))
    };
    let each: Vec<(String, f64)> = EACH.iter().filter_map(of).collect();
    metrics.extend(each);
}

/// What was done to files, as metrics: for all together, and by kind where any took part.
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

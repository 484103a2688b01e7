//! The feed between the reader and the writer of a load: the source is read ahead on a thread of its own, while the
//! writer takes its batches, refuses rows and reports progress to the observer.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use crate::as_text::decode;
use crate::batch::{Batch, Malformed};
use crate::blobs::Blobs;
use crate::error::{LoadError, Result};
use crate::rejects::Rejects;
use crate::source::{ReadOptions, Source};

/// The progress of a load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// The current phase.
    pub phase: Phase,
    /// Rows taken up so far.
    pub rows: u64,
    /// Rows skipped so far.
    pub rejected: u64,
    /// Bytes of the input that have been read from the disk so far.
    pub bytes_read: u64,
    /// Bytes of the input, where known.
    pub total_bytes: Option<u64>,
}

impl Progress {
    /// Returns the progress at the beginning.
    pub(crate) fn new(phase: Phase) -> Progress {
        Progress { phase, rows: 0, rejected: 0, bytes_read: 0, total_bytes: None }
    }
}

/// The parts of a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Types are chosen from all rows, before these are loaded.
    Types,
    /// Rows are loaded.
    Rows,
    /// Indexes are made.
    Indexes,
    /// The full-text index is filled.
    FullText,
    /// SQLite's statistics are gathered.
    Analyze,
    /// The database is checked.
    Check,
    /// The database is synced to the disk.
    Sync,
}

/// Called with the progress after every batch; `false` ends the load.
pub type Observer<'o> = dyn FnMut(&Progress) -> bool + 'o;

/// How often progress is reported while a load waits for its input.
pub(crate) const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Batches read ahead: enough that reader and writer do not wait for one another.
const AHEAD: usize = 2;

/// The input of a load: the source, where its refused rows go, and who learns of progress.
pub(crate) struct Input<'i> {
    pub(crate) source: &'i mut dyn Source,
    pub(crate) rejects: &'i mut Rejects,
    pub(crate) observer: &'i mut Observer<'i>,
}

/// Reads the source on a thread of its own while `work` takes the batches; returns the bytes read.
pub(crate) fn feed(
    input: &mut Input<'_>,
    mut options: ReadOptions,
    work: impl FnOnce(&mut Feed<'_>) -> Result<()>,
) -> Result<u64> {
    let Input { source, rejects, observer } = input;
    let source = &mut **source;
    let stop = Arc::new(AtomicBool::new(false));
    options.stop = Arc::clone(&stop);
    let blobs = std::mem::take(&mut options.blobs);
    let rowid = options.rowid;
    source.begin(options);
    let (input, total_bytes) = (source.name().to_owned(), source.info().total_bytes);
    std::thread::scope(|scope| {
        let (sender, batches) = sync_channel(AHEAD);
        scope.spawn(move || read(source, &blobs, rowid, &sender));
        // However `work` ends, the source must not be waited for afterwards.
        let _stop = StopOnDrop(stop);
        let mut feed = Feed {
            batches,
            input,
            rejects,
            observer,
            progress: Progress { total_bytes, ..Progress::new(Phase::Rows) },
        };
        work(&mut feed)?;
        Ok(feed.progress.bytes_read)
    })
}

/// Stops a source when dropped.
struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Sends batches until the end, an error, or until the receiver is gone.
fn read(
    source: &mut dyn Source,
    blobs: &[Option<Blobs>],
    rowid: Option<usize>,
    sender: &SyncSender<Result<Batch>>,
) {
    while let Some(mut item) = source.next_converted().transpose() {
        if let (Ok(batch), Some(key)) = (&item, rowid)
            && batch.rows.column(key).null_count() > 0
        {
            let info = source.info();
            let name = &info.columns[key].name;
            info.notes.warn(format!(
                "rows without a value in {name} got a number there, because it is the rowid"
            ));
        }
        if let Ok(batch) = &mut item
            && blobs.iter().any(Option::is_some)
            && let Err(error) = decode(source.name(), batch, blobs)
        {
            item = Err(error);
        }
        let is_last = item.is_err();
        if sender.send(item).is_err() || is_last {
            return;
        }
    }
}

/// Where a strategy takes its batches from, and where refused rows go.
pub(crate) struct Feed<'f> {
    batches: Receiver<Result<Batch>>,
    /// The name of the source.
    input: String,
    rejects: &'f mut Rejects,
    observer: &'f mut Observer<'f>,
    progress: Progress,
}

impl Feed<'_> {
    /// Returns the next batch; its malformed rows have been dealt with.
    pub(crate) fn next(&mut self) -> Result<Option<Batch>> {
        let Some(batch) = self.wait()? else { return Ok(None) };
        let mut batch = batch?;
        for malformed in batch.malformed.drain(..) {
            self.rejects.reject(malformed)?;
        }
        self.progress.bytes_read = batch.bytes_read;
        Ok(Some(batch))
    }

    /// Waits for the reader; the observer may end the load meanwhile. `None` at the end of the
    /// input.
    fn wait(&mut self) -> Result<Option<Result<Batch>>> {
        loop {
            match self.batches.recv_timeout(POLL_INTERVAL) {
                Ok(batch) => return Ok(Some(batch)),
                Err(RecvTimeoutError::Disconnected) => return Ok(None),
                Err(RecvTimeoutError::Timeout) => self.report(Phase::Rows)?,
            }
        }
    }

    /// Returns the bytes of the input, where they are known.
    pub(crate) fn total_bytes(&self) -> Option<u64> {
        self.progress.total_bytes
    }

    /// Estimates the rows of the input from the number of first rows; if its length is not
    /// known, there may be no more than these.
    pub(crate) fn expected_rows(&self, first: u64) -> u64 {
        match (self.progress.total_bytes, self.progress.bytes_read) {
            (Some(total), read @ 1..) => (first as f64 * (total as f64 / read as f64)) as u64,
            _ => first,
        }
    }

    /// Refuses a row.
    pub(crate) fn reject(&mut self, row: Malformed) -> Result<()> {
        self.rejects.reject(row)
    }

    /// Checks that not all rows were refused, given the number of loaded rows, and syncs the refused
    /// ones to the disk.
    pub(crate) fn check_rejects(&mut self, loaded: u64) -> Result<()> {
        self.rejects.sync()?;
        self.rejects.check(&self.input, loaded)
    }

    /// Counts rows taken up, and reports progress.
    pub(crate) fn loaded(&mut self, rows: u64) -> Result<()> {
        self.progress.rows += rows;
        self.report(Phase::Rows)
    }

    /// Reports the phase to the observer, which may end the load.
    pub(crate) fn report(&mut self, phase: Phase) -> Result<()> {
        self.progress.phase = phase;
        self.progress.rejected = self.rejects.count;
        if (self.observer)(&self.progress) { Ok(()) } else { Err(LoadError::Interrupted) }
    }
}

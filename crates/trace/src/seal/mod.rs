//! Makes a trace of a recording.
//!
//! The recording is read twice: once for the texts of statements, to which other chunks refer, and once for
//! everything else. An event gets its number when its statement starts, so the events of a connection are
//! in the order of their starts, and is written when the statement ends.

mod end;
mod events;
mod files;
mod json;
mod texts;
mod write;

use std::path::{Path, PathBuf};

use engine::Library;
use recorder::Folder;
use recorder::read::{Lost, ReadError, Recording};
use std::sync::Arc;

use crate::{Result, TraceError};
use events::Events;
pub(crate) use events::{runs_again, take_note, transaction_number};
use files::DatabaseFile;
use texts::Texts;
use write::Writer;
pub(crate) use write::open as open_new;

/// The contents of a trace, and the gaps of its recording.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sealed {
    /// Processes in which the recorder was loaded.
    pub preloaded: u32,
    /// Processes that used SQLite.
    pub processes: u64,
    /// Connections.
    pub connections: u64,
    /// Statements executed.
    pub events: u64,
    /// Bytes of the recording that could not be read.
    pub unreadable: u64,
    /// Why processes stopped recording early.
    pub lost: Lost,
    /// Libraries that were recognised but could not be recorded.
    pub stubs: Vec<String>,
    /// Libraries that are too old.
    pub old: Vec<String>,
    /// Databases without a snapshot, with SQLite's result code.
    pub without_snapshot: Vec<(String, i64)>,
}

/// Copies a database of the user's without changing it, or returns why that failed.
pub type Copier<'a> = &'a dyn Fn(&Path, &Path) -> Result<(), String>;

/// Seals the recording in a folder into a trace. The trace has its name only when it is whole. What is in the
/// databases at the end is read from copies that `copy` makes.
///
/// # Errors
/// When the recording cannot be read, the trace exists or cannot be written.
pub fn seal(
    library: &Arc<Library>,
    folder: &Folder,
    trace: &Path,
    copy: Copier<'_>,
) -> Result<Sealed> {
    if trace.exists() {
        return Err(TraceError::Exists(trace.to_owned()));
    }
    folder.seal().map_err(|source| TraceError::File { path: folder.raw(), source })?;
    let recording = Recording::open(&folder.raw())?;
    let unfinished = Unfinished::of(trace);
    let connection = write::open(library, unfinished.path())?;
    let writer = Writer::new(&connection, unfinished.path())?;
    let (mut sealed, files) = fill(&recording, &writer)?;
    sealed.without_snapshot = writer.snapshots(folder)?;
    if !recording.is_redacted() {
        end::write(library, folder, &writer, &files, copy)?;
    }
    writer.meta(&recording, &sealed)?;
    writer.finish()?;
    connection
        .close()
        .map_err(|source| TraceError::Database { path: unfinished.path().to_owned(), source })?;
    unfinished.name(trace)?;
    Ok(sealed)
}

/// A trace that does not have its name yet; removed unless it gets one.
pub(crate) struct Unfinished(PathBuf);

impl Unfinished {
    pub(crate) fn of(trace: &Path) -> Unfinished {
        let mut name = trace.as_os_str().to_owned();
        name.push(".unfinished");
        let unfinished = Unfinished(name.into());
        unfinished.remove();
        unfinished
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Gives it its name.
    pub(crate) fn name(&self, trace: &Path) -> Result<()> {
        std::fs::rename(&self.0, trace)
            .map_err(|source| TraceError::File { path: trace.to_owned(), source })
    }

    fn remove(&self) {
        // The file is gone if it has been renamed.
        let _ = std::fs::remove_file(&self.0);
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        self.remove();
    }
}

fn fill(recording: &Recording, writer: &Writer<'_>) -> Result<(Sealed, Vec<DatabaseFile>)> {
    let mut texts = Texts::new(recording.is_redacted());
    recording.for_each_chunk::<ReadError>(|chunk| {
        texts.collect(chunk);
        Ok(())
    })?;
    texts.classes.number();
    let mut events = Events::new(recording.started(), texts);
    let mut torn = 0;
    let unreadable = recording.for_each_chunk::<TraceError>(|chunk| {
        torn += events.take(chunk, writer)?;
        Ok(())
    })?;
    let (mut sealed, files) = events.finish(writer)?;
    sealed.unreadable = unreadable + torn;
    sealed.lost = recording.lost();
    sealed.preloaded = recording.preloaded();
    Ok((sealed, files))
}

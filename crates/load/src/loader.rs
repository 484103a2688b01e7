//! A load from beginning to end: place, table, way, rows, indexes, and the moment at which all of it
//! becomes true at once.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use engine::{Connection, Library, OpenFlags};

use crate::arrays;
use crate::batch::{Batch, Malformed};
use crate::error::LoadError;
use crate::full_text::FullText;
use crate::pages::{self, Layout, Means, PageFile, Written};
use crate::rejects::Rejects;
use crate::source::{Source, is_same_file};
use crate::staging::{Staging, journal};
use crate::table::{Index, Table, quoted};
use crate::target::Target;

/// What is to be loaded where, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The database; it is made if it does not exist.
    pub database: PathBuf,
    /// The table.
    pub table: Table,
    /// What happens if the table exists, or does not.
    pub mode: Mode,
    /// Which way the rows go.
    pub way: WayChoice,
    /// What happens to rows that cannot be read or that the table refuses.
    pub on_error: OnError,
    /// The file that skipped rows are written to, made only if there are any.
    pub rejects: Option<PathBuf>,
    /// The page size of a new database in bytes, a power of two from 512 to 65,536; SQLite's default
    /// of 4,096 otherwise.
    pub page_size: Option<u32>,
    /// Threads that write pages; twice as many as there are processors otherwise, because each of them
    /// waits for the disk now and then, but at most [`MOST_WORKERS`].
    pub workers: Option<usize>,
    /// Bytes of memory for sorting indexes, and the rows of a table WITHOUT ROWID; beyond that, sorted runs
    /// of them go into a temporary file beside the database.
    pub index_memory: usize,
    /// The VFS by which SQLite opens a database that exists, its default otherwise. Pages are written past
    /// it.
    pub vfs: Option<String>,
    /// Whether the finished table is checked before it is kept (`PRAGMA integrity_check` and the number
    /// of rows), which reads all of it.
    pub check: bool,
}

impl Request {
    /// Makes the table, by the fastest way that can, and fails at the first row that is wrong.
    pub fn new(database: impl Into<PathBuf>, table: Table) -> Request {
        Request {
            database: database.into(),
            table,
            mode: Mode::Create,
            way: WayChoice::Auto,
            on_error: OnError::Fail,
            rejects: None,
            page_size: None,
            workers: None,
            index_memory: 512 << 20,
            vfs: None,
            check: false,
        }
    }
}

impl Request {
    /// Whether an index has to be there before the rows: a unique one that decides which of them are
    /// skipped.
    pub(crate) fn is_made_before(&self, index: &Index) -> bool {
        index.unique && self.on_error == OnError::Skip
    }
}

/// What happens to a table that exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// It is an error; the table is made otherwise.
    Create,
    /// The rows are added; a table that does not exist is an error.
    Append,
    /// It is dropped with its indexes and triggers, and made anew.
    Replace,
}

/// What happens to a row that is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnError {
    /// It ends the load; the database is as it was.
    Fail,
    /// It is left out and counted.
    Skip,
}

/// How rows get into the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// Pages, written directly: of a new database, or behind the end of one that exists.
    Pages,
    /// SQL over arrays.
    Arrays,
}

impl Way {
    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Way::Pages => "pages",
            Way::Arrays => "arrays",
        }
    }
}

/// Which way is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WayChoice {
    /// The fastest that can do it.
    Auto,
    /// This one, or an error.
    Only(Way),
}

/// How far a load has come.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// What is being done.
    pub phase: Phase,
    /// Rows taken up so far.
    pub rows: u64,
    /// Rows skipped so far.
    pub rejected: u64,
    /// Bytes of the input read so far, as they lie on the disk.
    pub bytes_read: u64,
    /// Bytes of the input, where known.
    pub total_bytes: Option<u64>,
}

/// The parts of a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Rows are loaded.
    Rows,
    /// Indexes are made.
    Indexes,
    /// The full-text index is filled.
    FullText,
    /// The database is checked.
    Check,
    /// The database is synced to the disk.
    Sync,
}

/// What a load came to.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    /// Rows in the table that were not there before.
    pub rows: u64,
    /// Of these, rows by the way [`Way::Pages`]; the others came by [`Way::Arrays`].
    pub rows_by_pages: u64,
    /// Why not all rows were written as pages; `None` if they were.
    pub why_arrays: Option<String>,
    /// Rows skipped.
    pub rejected: u64,
    /// Bytes of the input, as they lie on the disk.
    pub bytes_read: u64,
    /// Bytes of the database afterwards.
    pub database_bytes: u64,
    /// From the beginning to the end, syncing included.
    pub time: Duration,
}

impl Summary {
    /// Rows per second.
    pub fn rows_per_second(&self) -> f64 {
        self.rows as f64 / self.time.as_secs_f64()
    }
}

/// Told how far the load has come after every batch; `false` ends it.
pub type Observer<'o> = dyn FnMut(&Progress) -> bool + 'o;

/// How long another connection's lock is waited for.
const PATIENCE: Duration = Duration::from_secs(5);
/// Threads that write pages unless more are asked for: beyond these the disk is the limit.
pub const MOST_WORKERS: usize = 4;

fn usual_workers() -> usize {
    std::thread::available_parallelism().map_or(1, |count| (2 * count.get()).min(MOST_WORKERS))
}

/// How often the observer is told of a load that waits for its input.
const LOOK: Duration = Duration::from_millis(100);

const AS_ASKED_FOR: &str = "as asked for";
const SKIPS_DUPLICATES: &str = "rows that are not unique are to be skipped";

/// Rows of the first batch below which a table that has rows is not given pages of their own.
const FEW_ROWS: usize = 1_000;

/// Batches read ahead: enough that reader and writer do not wait for one another.
const AHEAD: usize = 2;

/// Loads every row of a source into a table.
///
/// Whatever happens, the database is afterwards either as it was or complete: a new one takes its place
/// when it is finished and synced, an existing one is changed in one transaction.
///
/// # Errors
/// See [`LoadError`]; the database is as it was.
pub fn load(
    library: &Arc<Library>,
    source: &mut dyn Source,
    request: &Request,
    observer: &mut Observer<'_>,
) -> Result<Summary, LoadError> {
    let begin = Instant::now();
    let mut load = Load {
        library,
        request,
        rows: 0,
        rows_by_pages: 0,
        why_arrays: None,
        indexes_made: false,
    };
    let mut rejects = Rejects::new(
        source.places(),
        request.on_error,
        request.rejects.as_deref(),
    );
    refuse_own_input(&*source, request)?;
    let is_new = !request.database.exists();
    let loaded = if is_new {
        load.build_new(source, &mut rejects, observer)
    } else {
        load.change_existing(source, &mut rejects, observer)
    };
    let bytes_read = loaded.map_err(|error| error.in_database(&request.database))?;
    rejects.keep()?;
    Ok(Summary {
        rows: load.rows,
        rows_by_pages: load.rows_by_pages,
        why_arrays: load.why_arrays,
        rejected: rejects.count(),
        bytes_read,
        database_bytes: size(&request.database)?,
        time: begin.elapsed(),
    })
}

/// No file that is read can be written at the same time, and none be both database and rejected rows.
fn refuse_own_input(source: &dyn Source, request: &Request) -> Result<(), LoadError> {
    let same = |path: &Path, one, other| LoadError::SameFile {
        path: path.to_owned(),
        one,
        other,
    };
    for input in source.files() {
        if is_same_file(&input, &request.database) {
            return Err(same(&input, INPUT, DATABASE));
        }
        if request
            .rejects
            .as_deref()
            .is_some_and(|path| is_same_file(&input, path))
        {
            return Err(same(&input, INPUT, REJECTS));
        }
    }
    match &request.rejects {
        Some(rejects) if is_same_place(rejects, &request.database) => {
            Err(same(rejects, DATABASE, REJECTS))
        }
        _ => Ok(()),
    }
}

const INPUT: &str = "an input";
const DATABASE: &str = "the database to load into";
const REJECTS: &str = "the file for rejected rows";

/// Whether two paths are, or would be, the same file.
fn is_same_place(one: &Path, other: &Path) -> bool {
    one == other || is_same_file(one, other)
}

fn size(path: &Path) -> Result<u64, LoadError> {
    std::fs::metadata(path)
        .map(|metadata| metadata.len())
        .map_err(|source| LoadError::Open {
            path: path.to_owned(),
            source,
        })
}

/// A load that is going on.
struct Load<'l> {
    library: &'l Arc<Library>,
    request: &'l Request,
    rows: u64,
    rows_by_pages: u64,
    why_arrays: Option<String>,
    /// Whether all indexes exist before the rows.
    indexes_made: bool,
}

impl Load<'_> {
    /// Builds a new database beside its place.
    fn build_new(
        &mut self,
        source: &mut dyn Source,
        rejects: &mut Rejects,
        observer: &mut Observer<'_>,
    ) -> Result<u64, LoadError> {
        let staging = Staging::new(&self.request.database)?;
        let connection = self.open_new(staging.path())?;
        connection.execute("BEGIN")?;
        let target = Target::prepare(&connection, self.request, source.columns())?;
        let layout = self.layout(&connection, &target)?;
        let bytes = feed(source, &target, rejects, observer, |feed| {
            let connection = match layout {
                Ok(layout) => self.by_pages(connection, staging.path(), layout, &target, feed)?,
                Err(why) => {
                    self.by_arrays(&connection, &target, None, feed, &why)?;
                    connection
                }
            };
            self.finish(&connection, feed)?;
            connection.execute("COMMIT")?;
            connection.close()?;
            feed.tell(Phase::Sync)
        })?;
        staging.publish()?;
        Ok(bytes)
    }

    /// Where the page writer may begin, or why it cannot.
    fn layout(
        &mut self,
        connection: &Connection,
        target: &Target,
    ) -> Result<Result<Layout, String>, LoadError> {
        if let Some(why) = self.refusal(target) {
            self.refuse_pages(why)?;
            return Ok(Err(why.to_owned()));
        }
        // They are filled together with the table.
        for sql in self.request.table.create_indexes(|_| true) {
            connection.execute(&sql)?;
        }
        self.indexes_made = true;
        let layout = Layout::of_new(connection, target)?;
        if let Err(why) = &layout {
            self.refuse_pages(why)?;
        }
        Ok(layout)
    }

    /// Where the page writer may begin in a database that exists, or why it cannot.
    fn layout_beyond(
        &mut self,
        connection: &Connection,
        target: &Target,
    ) -> Result<Result<Layout, String>, LoadError> {
        let layout = if self.request.way == WayChoice::Only(Way::Arrays) {
            Err(AS_ASKED_FOR.to_owned())
        } else {
            if self.request.mode != Mode::Append && self.refusal(target).is_none() {
                for sql in self.request.table.create_indexes(|_| true) {
                    connection.execute(&sql)?;
                }
                self.indexes_made = true;
            }
            Layout::of_existing(connection, target)?.and_then(|layout| {
                if self.request.on_error == OnError::Skip && layout.is_unique() {
                    Err(SKIPS_DUPLICATES.to_owned())
                } else {
                    Ok(layout)
                }
            })
        };
        if let Err(why) = &layout {
            self.refuse_pages(why)?;
        }
        Ok(layout)
    }

    /// What about the request the page writer cannot do.
    fn refusal(&self, target: &Target) -> Option<&'static str> {
        let table = &self.request.table;
        let skips = self.request.on_error == OnError::Skip;
        let key_is_index = !table.primary_key.is_empty() && target.rowid_alias.is_none();
        if self.request.way == WayChoice::Only(Way::Arrays) {
            Some(AS_ASKED_FOR)
        } else if skips && (key_is_index || table.indexes.iter().any(|index| index.unique)) {
            Some(SKIPS_DUPLICATES)
        } else {
            None
        }
    }

    /// Closes the connection, writes pages, and opens it again within a transaction. Rows that cannot
    /// be written as pages then go through SQL.
    fn by_pages(
        &mut self,
        connection: Connection,
        path: &Path,
        layout: Layout,
        target: &Target,
        feed: &mut Feed<'_>,
    ) -> Result<Connection, LoadError> {
        connection.execute("COMMIT")?;
        connection.close()?;
        let written = pages::write(self.library, path, layout, target, self.means(), feed)?;
        let connection = self.open_new(path)?;
        connection.execute("BEGIN")?;
        self.go_on(&connection, target, written, feed)?;
        Ok(connection)
    }

    fn means(&self) -> Means {
        Means {
            workers: self.request.workers.unwrap_or_else(usual_workers).max(1),
            index_memory: self.request.index_memory,
            least_rows: match self.request.way {
                WayChoice::Auto => FEW_ROWS,
                WayChoice::Only(_) => 0,
            },
        }
    }

    /// Does what the page writer has left to SQL.
    fn go_on(
        &mut self,
        connection: &Connection,
        target: &Target,
        written: Written,
        feed: &mut Feed<'_>,
    ) -> Result<(), LoadError> {
        self.rows += written.rows;
        self.rows_by_pages = written.rows;
        if let Some((batch, why)) = written.stopped {
            self.refuse_pages(&why)?;
            self.by_arrays(connection, target, Some(batch), feed, &why)?;
        }
        Ok(())
    }

    /// Changes an existing database, or leaves it as it was.
    fn change_existing(
        &mut self,
        source: &mut dyn Source,
        rejects: &mut Rejects,
        observer: &mut Observer<'_>,
    ) -> Result<u64, LoadError> {
        let changed = self.change_in_transaction(source, rejects, observer);
        if changed.is_err() {
            self.settle();
        }
        changed
    }

    /// Lets SQLite take back what it could not take back when it failed: on a full disk it may leave its
    /// journal to whoever opens the database next. Where it cannot do it now either, the journal is still
    /// there for the next one.
    fn settle(&self) {
        let database = &self.request.database;
        if !journal(database, "-journal").exists() {
            return;
        }
        let vfs = self.request.vfs.as_deref();
        let opened = Connection::open(self.library, database, OpenFlags::READ_WRITE, vfs);
        let _ = opened.and_then(|connection| {
            connection.query_i64("SELECT count(*) FROM sqlite_master")?;
            connection.close()
        });
    }

    fn change_in_transaction(
        &mut self,
        source: &mut dyn Source,
        rejects: &mut Rejects,
        observer: &mut Observer<'_>,
    ) -> Result<u64, LoadError> {
        // Before the connection, because it has to outlive it: closing it would give up SQLite's locks.
        let mut file: Option<PageFile> = None;
        let connection = Connection::open(
            self.library,
            &self.request.database,
            OpenFlags::READ_WRITE,
            self.request.vfs.as_deref(),
        )?;
        connection.busy_timeout(PATIENCE)?;
        connection.execute("BEGIN IMMEDIATE")?;
        let changed = self.change(&connection, &mut file, source, rejects, observer);
        if let (Err(_), Some(file)) = (&changed, &file) {
            file.abandon();
        }
        let bytes = changed?;
        connection.execute("COMMIT")?;
        connection.close()?;
        Ok(bytes)
    }

    /// Fills the transaction that is open.
    fn change(
        &mut self,
        connection: &Connection,
        file: &mut Option<PageFile>,
        source: &mut dyn Source,
        rejects: &mut Rejects,
        observer: &mut Observer<'_>,
    ) -> Result<u64, LoadError> {
        let target = Target::prepare(connection, self.request, source.columns())?;
        let layout = self.layout_beyond(connection, &target)?;
        feed(source, &target, rejects, observer, |feed| {
            match layout {
                Ok(layout) => {
                    let file = file.insert(layout.open_beyond(&self.request.database)?);
                    self.by_pages_beyond(connection, file, layout, &target, feed)?;
                }
                Err(why) => self.by_arrays(connection, &target, None, feed, &why)?,
            }
            self.finish(connection, feed)?;
            feed.tell(Phase::Sync)
        })
    }

    /// Writes pages behind the end of the database, and links them within the transaction that is open.
    fn by_pages_beyond(
        &mut self,
        connection: &Connection,
        file: &PageFile,
        layout: Layout,
        target: &Target,
        feed: &mut Feed<'_>,
    ) -> Result<(), LoadError> {
        let means = self.means();
        let written = pages::write_into(file, self.library, layout, target, means, feed)?;
        if written.rows > 0 {
            pages::link(connection, file)?;
        }
        self.go_on(connection, target, written, feed)
    }

    fn refuse_pages(&self, reason: &str) -> Result<(), LoadError> {
        match self.request.way {
            WayChoice::Only(Way::Pages) => Err(LoadError::Way {
                way: Way::Pages.name(),
                reason: reason.to_owned(),
            }),
            _ => Ok(()),
        }
    }

    /// Opens a database in the making. It is thrown away if anything fails, so it is neither synced
    /// before its end nor journalled on the disk; a journal in memory keeps statements atomic.
    fn open_new(&self, path: &Path) -> Result<Connection, LoadError> {
        let connection = Connection::open(self.library, path, OpenFlags::READ_WRITE, None)?;
        if let Some(size) = self.request.page_size {
            check_page_size(size)?;
            connection.execute(&format!("PRAGMA page_size = {size}"))?;
        }
        connection.execute(
            "PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE; \
             PRAGMA cache_size = -65536",
        )?;
        Ok(connection)
    }

    fn by_arrays(
        &mut self,
        connection: &Connection,
        target: &Target,
        first: Option<Batch>,
        feed: &mut Feed<'_>,
        why: &str,
    ) -> Result<(), LoadError> {
        self.why_arrays = Some(why.to_owned());
        self.rows += arrays::insert(connection, target, first, feed)?;
        Ok(())
    }

    /// What comes after the rows: indexes and the check.
    fn finish(&self, connection: &Connection, feed: &mut Feed<'_>) -> Result<(), LoadError> {
        if self.request.mode != Mode::Append && !self.indexes_made {
            let after = |index: &Index| !self.request.is_made_before(index);
            for sql in self.request.table.create_indexes(after) {
                feed.tell(Phase::Indexes)?;
                connection.execute(&sql)?;
            }
        }
        if let Some(full_text) = self.full_text() {
            feed.tell(Phase::FullText)?;
            full_text.make(connection, &self.request.table.name)?;
        }
        if self.request.check {
            feed.tell(Phase::Check)?;
            self.check(connection)?;
        }
        Ok(())
    }

    /// The full-text index to be made; like other indexes it comes with a new table only.
    fn full_text(&self) -> Option<&FullText> {
        let full_text = self.request.table.full_text.as_ref();
        full_text.filter(|_| self.request.mode != Mode::Append)
    }

    fn check(&self, connection: &Connection) -> Result<(), LoadError> {
        let found = connection.query_text("PRAGMA integrity_check")?;
        if found != "ok" {
            return Err(LoadError::Check(found));
        }
        if let Some(full_text) = self.full_text() {
            full_text.check(connection, &self.request.table.name)?;
        }
        if self.request.mode != Mode::Append {
            let table = quoted(&self.request.table.name);
            let rows = connection.query_i64(&format!("SELECT count(*) FROM {table}"))?;
            if u64::try_from(rows) != Ok(self.rows) {
                let expected = self.rows;
                return Err(LoadError::Check(format!(
                    "it has {rows} rows instead of {expected}"
                )));
            }
        }
        Ok(())
    }
}

fn check_page_size(size: u32) -> Result<(), LoadError> {
    if size.is_power_of_two() && (512..=65_536).contains(&size) {
        return Ok(());
    }
    Err(LoadError::Definition(format!(
        "{size} is no page size: it must be a power of two from 512 to 65536"
    )))
}

/// Reads the source on a thread of its own while `work` takes the batches; returns the bytes read.
fn feed(
    source: &mut dyn Source,
    target: &Target,
    rejects: &mut Rejects,
    observer: &mut Observer<'_>,
    work: impl FnOnce(&mut Feed<'_>) -> Result<(), LoadError>,
) -> Result<u64, LoadError> {
    let stop = Arc::new(AtomicBool::new(false));
    source.begin(&target.affinities(), &stop);
    let total_bytes = source.total_bytes();
    std::thread::scope(|scope| {
        let (sender, batches) = sync_channel(AHEAD);
        scope.spawn(move || read(source, &sender));
        // However `work` ends, the source must not be waited for afterwards.
        let _stop = StopOnDrop(stop);
        let mut feed = Feed {
            batches,
            rejects,
            observer,
            progress: Progress {
                phase: Phase::Rows,
                rows: 0,
                rejected: 0,
                bytes_read: 0,
                total_bytes,
            },
        };
        work(&mut feed)?;
        Ok(feed.progress.bytes_read)
    })
}

/// Tells a source that nobody wants its rows any more.
struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Sends batches until the end, an error, or until nobody takes them any more.
fn read(source: &mut dyn Source, sender: &SyncSender<Result<Batch, LoadError>>) {
    while let Some(item) = source.next().transpose() {
        let failed = item.is_err();
        if sender.send(item).is_err() || failed {
            return;
        }
    }
}

/// Where a way takes its batches from, and where refused rows go.
pub(crate) struct Feed<'f> {
    batches: Receiver<Result<Batch, LoadError>>,
    rejects: &'f mut Rejects,
    observer: &'f mut Observer<'f>,
    progress: Progress,
}

impl Feed<'_> {
    /// The next batch; its malformed rows have been dealt with.
    pub(crate) fn next(&mut self) -> Result<Option<Batch>, LoadError> {
        let Some(batch) = self.wait()? else {
            return Ok(None);
        };
        let mut batch = batch?;
        for malformed in batch.malformed.drain(..) {
            self.rejects.reject(malformed)?;
        }
        self.progress.bytes_read = batch.bytes_read;
        Ok(Some(batch))
    }

    /// Waits for the reader; the observer may end the load meanwhile. `None` when the reader has come to
    /// the end.
    fn wait(&mut self) -> Result<Option<Result<Batch, LoadError>>, LoadError> {
        loop {
            match self.batches.recv_timeout(LOOK) {
                Ok(batch) => return Ok(Some(batch)),
                Err(RecvTimeoutError::Disconnected) => return Ok(None),
                Err(RecvTimeoutError::Timeout) => self.tell(Phase::Rows)?,
            }
        }
    }

    /// Refuses a row.
    pub(crate) fn reject(&mut self, row: Malformed) -> Result<(), LoadError> {
        self.rejects.reject(row)
    }

    /// Counts rows taken up, and tells the observer.
    pub(crate) fn loaded(&mut self, rows: u64) -> Result<(), LoadError> {
        self.progress.rows += rows;
        self.tell(Phase::Rows)
    }

    /// Tells the observer what is being done; it may end the load.
    pub(crate) fn tell(&mut self, phase: Phase) -> Result<(), LoadError> {
        self.progress.phase = phase;
        self.progress.rejected = self.rejects.count();
        if (self.observer)(&self.progress) {
            Ok(())
        } else {
            Err(LoadError::Interrupted)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_sqlite_has_not_taken_back_when_it_failed_is_taken_back() {
        let library = Arc::new(Library::load(&engine::Source::Embedded).unwrap());
        let folder = tempfile::tempdir().unwrap();
        let [live, left] = ["live.db", "left.db"].map(|name| folder.path().join(name));
        let connection = Connection::open(&library, &live, OpenFlags::default(), None).unwrap();
        connection
            .execute(
                "CREATE TABLE t(a); WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 3000)
                 INSERT INTO t SELECT printf('%0100d', i) FROM n",
            )
            .unwrap();
        let before = std::fs::read(&live).unwrap();
        // Far more pages than the cache holds: they are in the file before the transaction ends.
        connection
            .execute("PRAGMA cache_size = 5; BEGIN; UPDATE t SET a = a || a")
            .unwrap();
        std::fs::copy(&live, &left).unwrap();
        std::fs::copy(journal(&live, "-journal"), journal(&left, "-journal")).unwrap();
        assert!(std::fs::read(&left).unwrap() != before);

        let load = Load {
            library: &library,
            request: &Request::new(&left, Table::new("t")),
            rows: 0,
            rows_by_pages: 0,
            why_arrays: None,
            indexes_made: false,
        };
        load.settle();
        assert!(!journal(&left, "-journal").exists());
        assert!(std::fs::read(&left).unwrap() == before);
    }
}

//! A load from beginning to end: the types of columns, table, strategy, rows, indexes, and the moment at which all of
//! it becomes visible at once.
//!
//! Columns get the types that the first rows suggest. If a later row does not fit them, the load
//! starts again with types that fit all rows.

use std::panic::resume_unwind;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use engine::{Connection, Library};

use crate::affinity::Affinity;
use crate::arrays::{self, Commits};
use crate::as_text::AsText;
use crate::batch::Batch;
use crate::database::{self, refuse_own_input};
use crate::error::{LoadError, Result};
use crate::feed::{Feed, Input, Observer, POLL_INTERVAL, Phase, Progress, feed};
use crate::full_text;
use crate::pages::{self, Layout, NoLayout, PageFile, Resources, Written, refused};
use crate::rejects::Rejects;
use crate::request::{Duplicates, LoadStrategy, Mode, Request, Summary};
use crate::source::{
    Deciding, Note, ReadOptions, Reopen, RowLocation, Seen, Source, SourceInfo, Storing, Typing,
    Unit,
};
use crate::sql::{quoted, same};
use crate::staging::new_database;
use crate::table::{Column, Index};
use crate::target::{Target, TargetColumn, make_indexes};

/// The most threads that write pages by default: with more, the disk is the limit.
pub const MOST_WORKERS: usize = 4;

/// Bytes of the input that justify a second worker.
const BYTES_OF_WORKER: u64 = 256 << 10;

const SKIPS_DUPLICATES: &str = "duplicate rows are to be skipped";
const EXPECTS_DUPLICATES: &str = "duplicate rows are to be ignored or to update others";

/// The fewest rows of the first batch that get pages of their own in a table with rows.
const FEW_ROWS: usize = 1_000;
/// The share of its rows by which a table with rows and indexes has to grow to get new trees for its indexes:
/// SQLite needs about ten times as long for an entry as it takes to copy one.
const LEAST_GROWTH: f64 = 0.1;

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
) -> Result<Summary> {
    let begin = Instant::now();
    let request = &request.resolved()?;
    let reopen = source.reopen();
    let same_types = reopen.clone();
    let same_types = same_types.map(|reopen| move |_: &mut Observer<'_>| reopen.with_same_types());
    let mut summary = match load_skipping(library, source, request, observer, same_types) {
        Err(error) if error.is_of_type() => {
            let Some(reopen) = reopen else { return Err(error) };
            let mut again = with_types_of_all_rows(reopen.clone(), observer)?;
            let made_texts = made_texts(source.info(), again.info(), request, &error);
            let reopen = |observer: &mut Observer<'_>| with_types_of_all_rows(reopen, observer);
            let mut summary = load_skipping(library, &mut *again, request, observer, Some(reopen))?;
            summary.why_reread = Some(error.to_string());
            summary.notes.extend(made_texts);
            summary
        }
        loaded => loaded?,
    };
    summary.time = begin.elapsed();
    Ok(summary)
}

/// Returns a warning for each column that becomes a text column because of a later row. The column that the error names needs none.
fn made_texts(
    first: &SourceInfo,
    all: &SourceInfo,
    request: &Request,
    error: &LoadError,
) -> Vec<Note> {
    let is_known = |name: &String| {
        let of_error = matches!(error, LoadError::Row { column: Some(known), .. } if known == name);
        of_error || request.declares(name)
    };
    let columns = all.columns.iter().zip(&all.seen).filter(|(column, _)| !is_known(&column.name));
    let made = columns.filter_map(|(Column { name, declared, .. }, seen)| {
        let before = first.columns.iter().find(|column| column.name == *name)?;
        let Deciding { row, value } = seen.decided.as_ref()?;
        let RowLocation { input, unit, number } = row;
        (before.declared != *declared && declared == "TEXT").then(|| {
            Note::Warning(format!(
                "column {name} is TEXT because of `{value}` ({input}, {unit} {number})"
            ))
        })
    });
    made.collect()
}

/// Loads every row, unless one does not fit the types. Usually no rows, or few, are skipped because of their keys;
/// so the load begins as if there were none, and starts again when it finds one.
fn load_skipping(
    library: &Arc<Library>,
    source: &mut dyn Source,
    request: &Request,
    observer: &mut Observer<'_>,
    reopen: Option<impl FnOnce(&mut Observer<'_>) -> Result<Box<dyn Source>>>,
) -> Result<Summary> {
    let hopeful = request.expecting_unique(reopen.is_some());
    let loaded = load_once(library, source, &hopeful, observer);
    match (loaded, reopen) {
        (Err(error), Some(reopen)) if hopeful.expects_unique && error.is_of_uniqueness() => {
            let mut source = reopen(observer)?;
            load_once(library, &mut *source, request, observer)
        }
        (loaded, _) => loaded,
    }
}

/// Opens the inputs again with types chosen from all rows; the observer may end that.
fn with_types_of_all_rows(reopen: Reopen, observer: &mut Observer<'_>) -> Result<Box<dyn Source>> {
    let stop = Arc::new(AtomicBool::new(false));
    let progress = Progress::new(Phase::Types);
    std::thread::scope(|scope| {
        let opening = scope.spawn(|| reopen.with_types_of_all_rows(&stop));
        loop {
            if !observer(&progress) {
                stop.store(true, Ordering::Relaxed);
            }
            if opening.is_finished() {
                return opening.join().unwrap_or_else(|panic| resume_unwind(panic));
            }
            std::thread::park_timeout(POLL_INTERVAL);
        }
    })
}

/// Returns how a source is read for the table: the affinities of its columns, and where their types come from.
pub(crate) fn read_options(source: &dyn Source, request: &Request, target: &Target) -> ReadOptions {
    let is_reopenable = source.reopen().is_some();
    let columns = source.columns().iter().zip(&source.info().seen).zip(&target.columns);
    let of = |((column, seen), stored): ((&Column, &Seen), &TargetColumn)| {
        let mut types = request.table.types.iter();
        let declared = types.find(|known| same(&known.name, &column.name));
        // A table that its SQL makes gets the texts back that were unloaded from it.
        let of_table = (request.mode == Mode::Append).then_some(&stored.declared);
        let is_boolean = declared
            .map(|known| &known.declared)
            .or(of_table)
            .is_some_and(|declared| Affinity::is_of_truth_values(declared));
        let is_fixed = request.has_types() && !target.added.contains(&column.name);
        let typing = if stored.written == Some(AsText::Reals) {
            Typing::Written
        } else if is_boolean {
            Typing::Booleans
        } else if is_fixed || declared.is_some() {
            Typing::Declared
        } else if seen.is_typed {
            Typing::Sampled
        } else if is_reopenable {
            Typing::Unseen
        } else {
            Typing::Declared
        };
        Storing { affinity: stored.written.map_or(stored.affinity, AsText::affinity), typing }
    };
    let blobs = target.columns.iter().map(|column| match column.written {
        Some(AsText::Blobs(blobs)) => Some(blobs),
        _ => None,
    });
    ReadOptions {
        columns: columns.map(of).collect(),
        blobs: blobs.collect(),
        rowid: target.rowid_alias,
        is_reopenable,
        ..ReadOptions::default()
    }
}

/// Loads every row of a source whose types are chosen.
fn load_once(
    library: &Arc<Library>,
    source: &mut dyn Source,
    request: &Request,
    observer: &mut Observer<'_>,
) -> Result<Summary> {
    let mut load = Load {
        library,
        request,
        summary: Summary::default(),
        made_indexes: None,
        replaced: Vec::new(),
        triggers: Vec::new(),
    };
    let mut rejects = Rejects::new(source.info().locations.clone(), request);
    refuse_own_input(&*source, request)?;
    check_types(source.info(), request)?;
    let is_new = !request.database.exists();
    let mut input = Input { source: &mut *source, rejects: &mut rejects, observer };
    let loaded = if is_new { load.build_new(&mut input) } else { load.change_existing(&mut input) };
    if !is_new && loaded.is_err() {
        database::roll_back_leftovers(library, request);
    }
    if !matches!(&loaded, Err(error) if !error.is_of_skipped_rows()) {
        rejects.keep()?;
    }
    let bytes_read = loaded
        .map_err(|error| with_rows(error.in_database(&request.database), source.info(), request))?;
    let metadata = std::fs::metadata(&request.database);
    let (mut notes, dates) = (source.info().notes.all(), source.info().dates.clone());
    // Texts that became dates did not stay.
    notes.retain(|note| match note {
        Note::Texts { column, .. } => !dates.iter().any(|date| date.name == *column),
        _ => true,
    });
    Ok(Summary {
        rejected: rejects.count,
        mended: rejects.mended,
        notes,
        decimals: source.info().decimals.clone(),
        dates,
        bytes_read,
        new_database: is_new,
        database_bytes: metadata.map_err(LoadError::open(&request.database))?.len(),
        ..load.summary
    })
}

/// Refuses types of numbers for columns in which no value is one.
pub(crate) fn check_types(info: &SourceInfo, request: &Request) -> Result<()> {
    for (column, seen) in info.columns.iter().zip(&info.seen) {
        let declared = request.table.types.iter().find(|known| same(&known.name, &column.name));
        let Some((declared, value)) = declared.zip(seen.no_number.clone()) else { continue };
        if !Affinity::is_of_numbers(&declared.declared) {
            continue;
        }
        let forms = info.notes.all().into_iter().find_map(|note| match note {
            Note::Numbers { column: known, forms, .. } if known == column.name => Some(forms),
            _ => None,
        });
        let (column, declared) = (column.name.clone(), declared.declared.clone());
        let form = forms.and_then(|forms| forms.first().copied());
        return Err(LoadError::NoNumbers { column, declared, value, form });
    }
    Ok(())
}

/// Refuses a request that the page writer cannot do.
pub(crate) fn check_request(request: &Request, target: &Target) -> Result<(), NoLayout> {
    let table = &request.table;
    let skips = request.skips_duplicates();
    let key_is_index = !table.primary_key.is_empty() && target.rowid_alias.is_none();
    if request.strategy == Some(LoadStrategy::Arrays) {
        refused("as requested")
    } else if request.duplicates != Duplicates::Refuse {
        refused(EXPECTS_DUPLICATES)
    } else if skips && (key_is_index || table.indexes.iter().any(|index| index.unique)) {
        refused(SKIPS_DUPLICATES)
    } else {
        Ok(())
    }
}

impl Layout {
    /// Refuses a table whose indexes may reject rows that are to be skipped.
    pub(crate) fn checked(self, request: &Request) -> Result<Layout, NoLayout> {
        if !request.skips_duplicates() {
            Ok(self)
        } else if self.is_unique() {
            refused(SKIPS_DUPLICATES)
        } else {
            Ok(self.without_sorting())
        }
    }
}

/// A load in progress.
struct Load<'l> {
    library: &'l Arc<Library>,
    request: &'l Request,
    /// The result so far.
    summary: Summary,
    /// Names of the indexes that were made before the rows, unless they are to be made afterwards.
    made_indexes: Option<Vec<String>>,
    /// Pages to be freed at the end of the transaction.
    replaced: Vec<u32>,
    /// Triggers to be made after the rows.
    triggers: Vec<String>,
}

impl Load<'_> {
    /// Builds a new database in a temporary file.
    fn build_new(&mut self, input: &mut Input<'_>) -> Result<u64> {
        let staging = new_database(&self.request.database)?;
        let connection = database::open_new(self.library, staging.path(), self.request)?;
        connection.execute("BEGIN")?;
        let target = Target::prepare(&connection, self.request, input.source.info())?;
        let layout = self.layout(&connection, &target, true)?;
        let options = read_options(&*input.source, self.request, &target);
        let bytes = feed(input, options, |feed| {
            let connection = match layout {
                Ok(layout) => self.by_pages(connection, staging.path(), layout, &target, feed)?,
                Err(why) => {
                    let commits = Commits::NowAndThen;
                    self.by_arrays(&connection, &target, None, feed, (&why, commits))?;
                    connection
                }
            };
            self.finish(&connection, feed)?;
            connection.execute("COMMIT")?;
            connection.close()?;
            feed.report(Phase::Sync)
        })?;
        staging.publish(&self.request.database)?;
        Ok(bytes)
    }

    /// Returns where the page writer may begin, or why it cannot.
    fn layout(
        &mut self,
        connection: &Connection,
        target: &Target,
        is_new: bool,
    ) -> Result<Result<Layout, String>> {
        match self.layout_with_indexes(connection, target, is_new) {
            Ok(layout) => Ok(Ok(layout)),
            Err(NoLayout::Failed(error)) => Err(error),
            Err(NoLayout::Refused(why)) => {
                self.refuse_pages(&why)?;
                // SQLite makes indexes faster after the rows.
                for name in self.made_indexes.take().into_iter().flatten() {
                    connection.execute(&format!("DROP INDEX main.{}", quoted(&name)))?;
                }
                Ok(Err(why))
            }
        }
    }

    fn layout_with_indexes(
        &mut self,
        connection: &Connection,
        target: &Target,
        is_new: bool,
    ) -> Result<Layout, NoLayout> {
        check_request(self.request, target)?;
        if self.request.mode != Mode::Append {
            // They are filled together with the table.
            let others = |index: &Index| !self.request.is_made_before(index);
            self.made_indexes = Some(make_indexes(connection, &self.request.table, others)?);
        }
        if is_new {
            return Layout::of_new(connection, target, self.request)?.checked(self.request);
        }
        if database::has_log(self.request) {
            return refused("another connection uses the write-ahead log");
        }
        Layout::of_existing(connection, target)?.checked(self.request)
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
    ) -> Result<Connection> {
        connection.execute("COMMIT")?;
        connection.close()?;
        let written = pages::write(self.library, path, layout, target, self.resources(feed), feed)?;
        let connection = database::open_new(self.library, path, self.request)?;
        connection.execute("BEGIN")?;
        self.go_on(&connection, target, written, feed, Commits::NowAndThen)?;
        Ok(connection)
    }

    fn resources(&self, feed: &Feed<'_>) -> Resources {
        let is_free = self.request.strategy.is_none();
        let workers = || match feed.total_bytes() {
            Some(..BYTES_OF_WORKER) => 1,
            _ => std::thread::available_parallelism()
                .map_or(1, |count| (2 * count.get()).min(MOST_WORKERS)),
        };
        Resources {
            workers: self.request.workers.unwrap_or_else(workers).max(1),
            index_memory: self.request.index_memory,
            least_rows: if is_free { FEW_ROWS } else { 0 },
            least_growth: if is_free { LEAST_GROWTH } else { 0.0 },
        }
    }

    /// Loads the rows that the page writer has left to SQL.
    fn go_on(
        &mut self,
        connection: &Connection,
        target: &Target,
        written: Written,
        feed: &mut Feed<'_>,
        commits: Commits,
    ) -> Result<()> {
        self.summary.rows += written.rows;
        self.summary.rows_by_pages = written.rows;
        self.replaced = written.replaced;
        if let Some((batch, why)) = written.stopped {
            self.refuse_pages(&why)?;
            self.by_arrays(connection, target, Some(batch), feed, (&why, commits))?;
        }
        Ok(())
    }

    /// Changes an existing database, or leaves it as it was.
    fn change_existing(&mut self, input: &mut Input<'_>) -> Result<u64> {
        // Before the connection, because it has to outlive it: closing it would give up SQLite's locks.
        let mut file: Option<PageFile> = None;
        let connection = database::open(self.library, self.request)?;
        database::empty_log(&connection, self.request)?;
        connection.execute("BEGIN IMMEDIATE")?;
        let changed = self.change(&connection, &mut file, input).and_then(|bytes| {
            connection.execute("COMMIT")?;
            Ok(bytes)
        });
        // SQLite may have rolled back on its own: its lock is gone then, and behind the end
        // there may be pages of another connection by now. Ours are left where they are, which costs
        // space only.
        if let (Err(_), Some(file)) = (&changed, &file)
            && connection.in_transaction()
        {
            file.abandon();
        }
        let bytes = changed?;
        connection.close()?;
        Ok(bytes)
    }

    /// Fills the transaction that is open.
    fn change(
        &mut self,
        connection: &Connection,
        file: &mut Option<PageFile>,
        input: &mut Input<'_>,
    ) -> Result<u64> {
        database::check_page_size(connection, self.request)?;
        let target = Target::prepare(connection, self.request, input.source.info())?;
        self.triggers.clone_from(&target.triggers);
        let layout = self.layout(connection, &target, false)?;
        let options = read_options(&*input.source, self.request, &target);
        feed(input, options, |feed| {
            match layout {
                Ok(layout) => {
                    let file = file.insert(layout.open_beyond(&self.request.database)?);
                    self.by_pages_beyond(connection, file, layout, &target, feed)?;
                }
                Err(why) => {
                    self.by_arrays(connection, &target, None, feed, (&why, Commits::Never))?;
                }
            }
            self.finish(connection, feed)?;
            feed.report(Phase::Sync)
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
    ) -> Result<()> {
        let resources = self.resources(feed);
        let written = pages::write_into(file, self.library, layout, target, resources, feed)?;
        if written.rows > 0 {
            pages::link(connection, file)?;
        }
        self.go_on(connection, target, written, feed, Commits::Never)
    }

    fn refuse_pages(&self, reason: &str) -> Result<()> {
        match self.request.strategy {
            Some(LoadStrategy::Pages) => Err(LoadError::Strategy(reason.to_owned())),
            Some(LoadStrategy::Arrays) | None => Ok(()),
        }
    }

    fn by_arrays(
        &mut self,
        connection: &Connection,
        target: &Target,
        first: Option<Batch>,
        feed: &mut Feed<'_>,
        (why, commits): (&str, Commits),
    ) -> Result<()> {
        self.summary.why_arrays = Some(why.to_owned());
        let duplicates = &self.request.duplicates;
        let inserted = arrays::insert(connection, (target, duplicates), first, feed, commits)?;
        self.summary.rows += inserted.rows;
        self.summary.ignored += inserted.ignored;
        Ok(())
    }

    /// Makes the indexes and checks the database after the rows.
    fn finish(&mut self, connection: &Connection, feed: &mut Feed<'_>) -> Result<()> {
        if self.request.mode != Mode::Append && self.made_indexes.is_none() {
            let after = |index: &Index| !self.request.is_made_before(index);
            feed.report(Phase::Indexes)?;
            make_indexes(connection, &self.request.table, after)?;
        }
        for trigger in &self.triggers {
            connection.execute(trigger)?;
        }
        full_text::fill(connection, self.request, feed, &mut self.summary)?;
        if self.request.analyze {
            feed.report(Phase::Analyze)?;
            let table = quoted(&self.request.table.name);
            connection.execute(&format!("ANALYZE main.{table}"))?;
        }
        // Nothing is written in this transaction from here on.
        pages::free(connection, &self.replaced)?;
        if self.request.check {
            feed.report(Phase::Check)?;
            self.check(connection)?;
        }
        feed.check_rejects(self.summary.rows + self.summary.ignored)
    }

    fn check(&self, connection: &Connection) -> Result<()> {
        let found = connection.query_text("PRAGMA integrity_check")?;
        if found != "ok" {
            return Err(LoadError::Check(found));
        }
        let is_made = self.request.mode != Mode::Append;
        if let Some(full_text) = self.request.table.full_text.as_ref().filter(|_| is_made) {
            full_text.check(connection, &self.request.table.name)?;
        }
        let is_counted = !matches!(self.request.duplicates, Duplicates::Update(_));
        if is_made && is_counted {
            let table = quoted(&self.request.table.name);
            let rows = connection.query_i64(&format!("SELECT count(*) FROM {table}"))?;
            if u64::try_from(rows) != Ok(self.summary.rows) {
                let expected = self.summary.rows;
                return Err(LoadError::Check(format!("it has {rows} rows, expected {expected}")));
            }
        }
        Ok(())
    }
}

/// Adds the rows of the input to an error about two rows with the same key. In a new table without an integer
/// key, rowids are the numbers of rows.
fn with_rows(mut error: LoadError, info: &SourceInfo, request: &Request) -> LoadError {
    let is_numbered =
        info.is_row_for_row && !request.has_types() && request.table.primary_key.len() != 1;
    if let LoadError::Duplicate { input, rowids, rows, .. } = &mut error {
        input.clone_from(&info.name);
        let find = |rowid: i64| info.locations.find(rowid.unsigned_abs());
        // Lines may be empty, rows may not.
        let found = rowids.filter(|_| is_numbered).map(|rowids| Box::new(rowids.map(find)));
        *rows = found.filter(|rows| rows.iter().all(|row| row.unit == Unit::Row));
    }
    error
}

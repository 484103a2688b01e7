//! `pragmark load`: data into a table.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use engine::{EngineError, ErrorKind, Library, Source as EngineSource};
use indicatif::{HumanBytes, HumanCount};
use load::{
    Column, CsvOptions, DateOrder, Dates, Decimals, Duplicates, Fault, Format, FullText, Index,
    LoadError, LoadStrategy, Mode, OnError, Opening, Phase, Progress, RawWrite, Request, Selection,
    StrategyChoice, Summary, Table,
};

use super::{outline, output};
use crate::cli::{DatesArg, DecimalsArg, FormatArg, LoadArgs, Names, OnErrorArg, StrategyArg};
use crate::failure::{Exit, Failure};
use crate::interrupt;
use crate::progress::{Task, is_bar_wanted};

/// Loads and reports the result.
pub fn execute(args: &LoadArgs) -> Result<Exit, Failure> {
    let library = Arc::new(Library::load(&EngineSource::Embedded).map_err(Failure::unusable)?);
    let inputs = load::expand(&args.inputs)?;
    let mut source = load::open(&inputs, &opening(args, &library)?)?;
    let request = request(args)?;
    if args.dry_run {
        return outline::execute(&library, &mut *source, &request);
    }
    // Not before: opening waits for the first bytes of a pipe, and a signal ends that at once.
    let interrupted = interrupt::flag()?;
    let (task, begin) = (Task::new(is_bar_wanted(args.plain)), Instant::now());
    let loaded = load::load(&library, &mut *source, &request, &mut |progress| {
        display(&task, begin, progress);
        !interrupted.load(Ordering::Relaxed)
    });
    drop(task);
    match loaded {
        Ok(summary) => {
            let mut text = outcome(&summary, &request, decimals(args.decimals));
            if args.measure_disk {
                text += &share_of_disk(&summary, &args.database);
            }
            output::write_text(None, &text)
        }
        Err(LoadError::Interrupted) => {
            tell!("stopped; {} is unchanged", args.database.display());
            Ok(Exit::Interrupted)
        }
        Err(error) => Err(error.into()),
    }
}

/// How the inputs are to be opened.
fn opening(args: &LoadArgs, library: &Arc<Library>) -> Result<Opening, Failure> {
    let mut opening = Opening::new(library);
    opening.csv = CsvOptions {
        delimiter: args.delimiter,
        quote: args.quote.0,
        header: !args.no_header,
        skip_lines: args.skip_lines,
        comment: args.comment,
        null: args.null.clone(),
        ..CsvOptions::default()
    };
    opening.encoding = args.encoding;
    // A type names a column, which JSON may have later.
    let types = args.types.iter();
    opening.more_keys = types.map(|(name, _)| name_in_input(args, name)).collect();
    opening.columns = all(&args.select);
    opening.names.clone_from(&args.rename);
    opening.file_column.clone_from(&args.filename_column);
    opening.decimals = decimals(args.decimals);
    opening.dates = args.dates.map(|order| dates(args, order));
    opening.selection = match (&args.from_table, &args.query) {
        (Some(table), _) => Selection::Table(table.clone()),
        (_, Some(query)) => Selection::Query(query.clone()),
        _ => Selection::OnlyTable,
    };
    let named = args.format.map(|format| match format {
        FormatArg::Csv => Format::Csv,
        FormatArg::JsonLines => Format::JsonLines,
        FormatArg::Columnar => Format::Columnar,
        FormatArg::Database => Format::Database,
    });
    let selects = opening.selection != Selection::OnlyTable;
    if selects && named.is_some_and(|format| format != Format::Database) {
        return Err(Failure::usage(
            "--from-table and --query need a SQLite database; --format names another format",
        ));
    }
    opening.format = if selects { Some(Format::Database) } else { named };
    Ok(opening)
}

/// The name that the inputs have for a column.
fn name_in_input(args: &LoadArgs, name: &str) -> String {
    let renamed = args.rename.iter().find(|(_, new)| new == name);
    renamed.map_or(name, |(old, _)| old).to_owned()
}

fn decimals(argument: DecimalsArg) -> Decimals {
    match argument {
        DecimalsArg::Text => Decimals::Text,
        DecimalsArg::Real => Decimals::Real,
        DecimalsArg::ScaledInteger => Decimals::ScaledInteger,
    }
}

/// The dates to look for: a column with a type of its own stays as it is.
fn dates(args: &LoadArgs, order: DatesArg) -> Dates {
    Dates {
        order: match order {
            DatesArg::Auto => DateOrder::Auto,
            DatesArg::DayFirst => DateOrder::DayFirst,
            DatesArg::MonthFirst => DateOrder::MonthFirst,
        },
        except: args.types.iter().map(|(name, _)| name.clone()).collect(),
    }
}

fn request(args: &LoadArgs) -> Result<Request, Failure> {
    let mut request = Request::new(&args.database, table(args));
    request.mode = match (args.append, args.replace) {
        (true, _) => Mode::Append,
        (_, true) => Mode::Replace,
        _ => Mode::Create,
    };
    request.strategy = match args.strategy {
        StrategyArg::Auto => StrategyChoice::Auto,
        StrategyArg::Pages => StrategyChoice::Only(LoadStrategy::Pages),
        StrategyArg::Arrays => StrategyChoice::Only(LoadStrategy::Arrays),
    };
    if args.rejects.is_some() && args.on_error == OnErrorArg::Fail {
        return Err(Failure::usage("--rejects requires --on-error skip"));
    }
    if args.max_errors.is_some() && args.on_error == OnErrorArg::Fail {
        return Err(Failure::usage("--max-errors requires --on-error skip"));
    }
    request.max_errors = args.max_errors;
    if args.on_error == OnErrorArg::Skip {
        request.on_error = OnError::Skip;
        request.rejects = Some(args.rejects.clone().unwrap_or_else(|| rejects_file(&args.inputs)));
    }
    request.duplicates = match &args.upsert {
        Some(keys) => Duplicates::Update(keys.0.clone()),
        None if args.ignore => Duplicates::Ignore,
        None => Duplicates::Refuse,
    };
    request.foreign_keys = args.foreign_keys;
    request.analyze = args.analyze;
    request.page_size = args.page_size;
    request.check = args.check;
    Ok(request)
}

fn table(args: &LoadArgs) -> Table {
    let index = |unique| move |names: &Names| Index { columns: names.0.clone(), unique };
    let plain = args.index.iter().map(index(false));
    let types = args.types.iter();
    Table {
        types: types.map(|(name, declared)| Column::new(name, declared)).collect(),
        not_null: all(&args.not_null),
        primary_key: all(&args.primary_key),
        strict: args.strict,
        without_rowid: args.without_rowid,
        indexes: plain.chain(args.unique.iter().map(index(true))).collect(),
        full_text: (!args.fts.is_empty())
            .then(|| FullText { columns: all(&args.fts), name: args.fts_table.clone() }),
        ..Table::new(&args.table)
    }
}

/// The names of all lists of an option.
fn all(lists: &[Names]) -> Vec<String> {
    lists.iter().flat_map(|names| names.0.clone()).collect()
}

/// Where skipped rows go unless a file is named: into the current directory, under the first input's
/// name.
fn rejects_file(inputs: &[PathBuf]) -> PathBuf {
    let name = match inputs.first().and_then(|input| input.file_name()) {
        Some(name) if name != "-" => name.to_string_lossy().into_owned(),
        _ => "input".to_owned(),
    };
    format!("{name}.rejected.csv").into()
}

/// What was done, in words.
fn outcome(summary: &Summary, request: &Request, stored: Decimals) -> String {
    let added = match request.duplicates {
        Duplicates::Update(_) => " inserted or updated",
        Duplicates::Refuse | Duplicates::Ignore => "",
    };
    let mut text = format!(
        "{}{added} into {} of {} in {:.2} s: {} rows/s, {} read, database {}\n",
        rows(summary.rows),
        request.table.name,
        request.database.display(),
        summary.time.as_secs_f64(),
        HumanCount(summary.rows_per_second() as u64),
        HumanBytes(summary.bytes_read),
        HumanBytes(summary.database_bytes)
    );
    if let Some(full_text) = &request.table.full_text {
        text += &format!(
            "full-text index: {}; after changing rows, update it with {}\n",
            full_text.name(&request.table.name),
            full_text.rebuild(&request.table.name)
        );
    }
    text += &indexes(summary);
    text += &match &summary.why_arrays {
        None if summary.new_database => "strategy: pages\n".to_owned(),
        None => "strategy: pages, appended to the database\n".to_owned(),
        Some(why) if summary.rows_by_pages == 0 => format!("strategy: arrays ({why})\n"),
        Some(why) => format!(
            "strategy: pages for the first {}, then arrays ({why})\n",
            rows(summary.rows_by_pages)
        ),
    };
    text += &dates_stored(summary);
    text += &decimals_stored(summary, stored);
    if let Some(why) = &summary.why_reread {
        text += &format!("types: from all rows, read a second time ({why})\n");
    }
    if summary.ignored > 0 {
        let why = match request.duplicates {
            Duplicates::Refuse => "the definition of the table or a trigger ignores them",
            _ => "their keys exist",
        };
        text += &format!("{} ignored: {why}\n", rows(summary.ignored));
    }
    if summary.rejected > 0 {
        text += &format!("{} skipped", rows(summary.rejected));
        if let Some(path) = &request.rejects {
            text += &format!("; see {}", path.display());
        }
        text.push('\n');
    }
    text
}

/// What the first date of each column has become.
fn dates_stored(summary: &Summary) -> String {
    let columns = summary.dates.iter();
    let columns: Vec<String> =
        columns.map(|(name, first, written)| format!("{name} ({first} is {written})")).collect();
    match columns.is_empty() {
        true => String::new(),
        false => format!("dates: {}\n", columns.join(", ")),
    }
}

/// What decimals are stored as, where there are any.
fn decimals_stored(summary: &Summary, stored: Decimals) -> String {
    let columns = summary.decimals.iter();
    let columns: Vec<String> = match stored {
        Decimals::ScaledInteger => {
            columns.map(|(name, scale)| format!("{name} × 10^{scale}")).collect()
        }
        Decimals::Text | Decimals::Real => columns.map(|(name, _)| name.clone()).collect(),
    };
    if columns.is_empty() {
        return String::new();
    }
    let how = match stored {
        Decimals::Text => "TEXT with every digit (numbers: --decimals real or scaled-integer)",
        Decimals::Real => "REAL, rounded to 64-bit floating point",
        Decimals::ScaledInteger => "INTEGER",
    };
    format!("decimals: {} as {how}\n", columns.join(", "))
}

/// What became of the full-text indexes that were there.
fn indexes(summary: &Summary) -> String {
    let rebuilt = summary.rebuilt.iter();
    let rebuilt = rebuilt.map(|name| format!("full-text index {name}: filled again\n"));
    let stale = summary.stale.iter().map(|name| {
        let rebuild = load::rebuild_full_text(name);
        format!(
            "warning: the full-text index {name} lacks the new rows; update it with {rebuild}\n"
        )
    });
    rebuilt.chain(stale).collect()
}

/// A number of rows in words.
fn rows(count: u64) -> String {
    let unit = if count == 1 { "row" } else { "rows" };
    format!("{} {unit}", HumanCount(count))
}

/// What share of the disk's rate the load of a new database reached; of one that was there, nobody knows how much was
/// written.
fn share_of_disk(summary: &Summary, database: &Path) -> String {
    if !summary.new_database {
        return "disk: not measured; --measure-disk needs a load that makes a new database\n"
            .to_owned();
    }
    match load::raw_write(database) {
        Ok(raw) => share(summary, &raw),
        Err(error) => {
            tell!("warning: the rows are loaded, but the disk could not be measured: {error}");
            String::new()
        }
    }
}

/// How the load compares with what the disk takes.
fn share(summary: &Summary, raw: &RawWrite) -> String {
    let (rate, reached) = (raw.rate(), summary.database_rate());
    format!(
        "disk: {}/s, {:.0} % of the {}/s of raw writes ({})\n",
        HumanBytes(reached as u64),
        100.0 * reached / rate,
        HumanBytes(rate as u64),
        if raw.direct { "direct I/O, synced" } else { "through the page cache, synced" }
    )
}

/// Displays rate and share, and the time to go where the size of the input is known.
fn display(task: &Task, begin: Instant, progress: &Progress) {
    let read = HumanBytes(progress.bytes_read);
    let doing = match progress.phase {
        Phase::Types => "choosing types from all rows".to_owned(),
        Phase::Rows => {
            let rate = progress.rows as f64 / begin.elapsed().as_secs_f64();
            let rate = HumanCount(rate as u64);
            format!("{}, {rate} rows/s", rows(progress.rows))
        }
        Phase::Indexes => "building indexes".to_owned(),
        Phase::FullText => "building the full-text index".to_owned(),
        Phase::Analyze => "running ANALYZE".to_owned(),
        Phase::Check => "checking".to_owned(),
        Phase::Sync => "syncing".to_owned(),
    };
    match progress.total_bytes {
        Some(total) => {
            let message = format!("{read} of {}, {doing}", HumanBytes(total));
            task.step(progress.bytes_read, total, message);
        }
        None => task.update(format!("{read}, {doing}"), None),
    }
}

/// What helps with a row that is wrong.
fn row_hint(fault: &Fault) -> String {
    let remedy = match fault {
        Fault::Encoding(_) => "set the encoding with --encoding, such as windows-1252",
        Fault::UnknownKey(_) => "declare such keys with --type KEY=TYPE",
        Fault::Type { .. } | Fault::Unseen => {
            return "set the type of the column with --type COLUMN=TYPE, such as TEXT; nothing was loaded".to_owned();
        }
        _ => "correct the row",
    };
    format!("{remedy}, or skip such rows with --on-error skip; nothing was loaded")
}

const FULL: &str = "make room on the disk, or choose a path on another one; nothing was loaded";

/// What helps with an error of SQLite's.
fn hint_of_sqlite(error: &EngineError) -> Option<&'static str> {
    Some(match error.as_sqlite()?.kind() {
        ErrorKind::Busy => "another program is using the database; try again later",
        ErrorKind::Full => FULL,
        ErrorKind::ReadOnly => {
            "make the file and its directory writable (SQLite creates a journal there); nothing was loaded"
        }
        _ => return None,
    })
}

/// What helps with an error; nothing where its own words say it.
fn hint(error: &LoadError) -> Option<String> {
    let hint = match error {
        LoadError::Row { fault, .. } => return Some(row_hint(fault)),
        LoadError::HeaderEncoding { .. } => {
            "set the encoding with --encoding, such as windows-1252"
        }
        LoadError::SeveralTables { .. } => "choose one with --from-table, or use --query",
        LoadError::SameFile { .. } => {
            "choose another file; within one database, INSERT … SELECT copies rows"
        }
        LoadError::TooManyErrors { .. } => {
            "the skipped rows are in the file of rejected rows; nothing was loaded"
        }
        LoadError::NothingLoaded { .. } => {
            "check delimiter, header and types; the rows are in the file of rejected rows; nothing was loaded"
        }
        LoadError::TableExists(_) => "add to it with --append, or recreate it with --replace",
        LoadError::NoTable(_) => "omit --append to create it",
        LoadError::NoColumn { .. } => "use the table's column names in the header",
        LoadError::LeftoverJournal(_) => {
            "restore its database, or delete the journal if it is not needed"
        }
        LoadError::Strategy { .. } => "omit --strategy to use the fastest one possible",
        LoadError::Duplicate { .. } | LoadError::DuplicateKey { .. } => {
            "skip such rows with --on-error skip, ignore them with --ignore, or update the rows with --upsert; nothing was loaded"
        }
        LoadError::AmbiguousDates { .. } => {
            "choose with --dates=day-first or --dates=month-first, or keep the column with --type COLUMN=TEXT; nothing was loaded"
        }
        LoadError::Type { .. } => "convert the column before loading",
        LoadError::Read { .. } => "it may be damaged or truncated; nothing was loaded",
        LoadError::Write { source, .. } | LoadError::Spill { source, .. }
            if source.kind() == io::ErrorKind::StorageFull =>
        {
            FULL
        }
        LoadError::Database { source, .. } => return hint_of_sqlite(source).map(str::to_owned),
        _ => return None,
    };
    Some(hint.to_owned())
}

impl From<LoadError> for Failure {
    fn from(error: LoadError) -> Failure {
        let hint = hint(&error);
        let failure = match error {
            LoadError::Definition(_) | LoadError::SameFile { .. } => Failure::usage(error),
            error => Failure::unusable(error),
        };
        failure.hint_if(hint)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn skipped_rows_go_into_the_current_directory_under_the_name_of_the_input() {
        assert_eq!(
            rejects_file(&["/data/a.csv.gz".into(), "b.csv".into()]),
            Path::new("a.csv.gz.rejected.csv")
        );
        assert_eq!(rejects_file(&["-".into()]), Path::new("input.rejected.csv"));
    }

    #[test]
    fn errors_come_with_what_helps() {
        let row = |fault| LoadError::Row {
            location: load::Locations::new("a.csv", load::Unit::Row).find(1),
            column: None,
            fault,
        };
        let full =
            LoadError::Write { path: "a.db".into(), source: io::ErrorKind::StorageFull.into() };
        let spilled = LoadError::Spill {
            directory: "/data".into(),
            source: io::ErrorKind::StorageFull.into(),
        };
        for (error, part) in [
            (row(Fault::Encoding("UTF-8")), "--encoding"),
            (row(Fault::UnknownKey("b".to_owned())), "--type KEY=TYPE"),
            (row(Fault::Refused("CHECK".to_owned())), "--on-error skip"),
            (full, "make room"),
            (spilled, "make room"),
        ] {
            let found = hint(&error).unwrap();
            assert!(found.contains(part), "{error}: {found}");
        }
        assert_eq!(hint(&LoadError::Interrupted), None);
    }
}

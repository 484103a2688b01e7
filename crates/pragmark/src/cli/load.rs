//! Options of `load`.

use std::path::PathBuf;

use app::load::LoadRequest;
use app::{Error, Result};
use clap::{Args, ValueEnum};
use load::{
    Column, CsvOptions, DateOrder, Dates, Decimals, Duplicates, Format, FullText, Index,
    LoadStrategy, Mode, OnError, Opening, Request, Selection, Table,
};

use super::values::{Names, Quote, column_type, names, new_name, one_byte, quote, values_of};
use crate::commands;
use crate::exit::Exit;

/// Load strategies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum StrategyArg {
    /// The fastest possible.
    Auto,
    /// Write database pages directly.
    Pages,
    /// Insert through SQL: supports triggers, constraints and any schema.
    Arrays,
}

values_of! {
    /// Formats of inputs.
    enum FormatArg of Format {
        /// CSV, TSV and similar.
        Csv,
        /// One JSON object per line, or an array of objects.
        JsonLines,
        /// Parquet or Arrow IPC.
        Columnar,
        /// A SQLite database.
        Database,
    }
}

/// Objects dropped when a table is replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ReplaceArg {
    /// The table with its indexes and triggers.
    All,
    /// The table; its indexes and triggers are created again.
    KeepIndexes,
}

/// Irregularities that are loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LenientArg {
    /// Rows that break the rules.
    Rows,
    /// Inputs with different columns.
    Columns,
}

/// Reads `fail`, `skip` or `skip=100`: what to do, and the number of rows that may be skipped; one more ends the load.
fn on_error(text: &str) -> Result<(OnError, Option<u64>), String> {
    match text.split_once('=') {
        None if text == "fail" => Ok((OnError::Fail, None)),
        None if text == "skip" => Ok((OnError::Skip, None)),
        Some(("skip", rows)) if rows.parse::<u64>().is_ok() => {
            Ok((OnError::Skip, rows.parse().ok()))
        }
        _ => Err("must be `fail`, `skip`, or `skip=100` with the largest number of rows to skip"
            .to_owned()),
    }
}

/// Reads `2` or `2,1`: lines at the beginning and at the end.
fn skipped_lines(text: &str) -> Result<(u64, usize), String> {
    let (first, last) = text.split_once(',').unwrap_or((text, "0"));
    let lines = first.trim().parse().ok().zip(last.trim().parse().ok());
    lines.ok_or_else(|| {
        "must be a number of lines, or two: 2,1 skips two first lines and the last one".to_owned()
    })
}

values_of! {
    /// How to store decimals of Parquet and Arrow files.
    enum DecimalsArg of Decimals {
        /// Numbers that keep every digit: integers, or floating point numbers of up to 15 digits; others are errors.
        Numbers,
        /// Text with every digit; compares as text.
        Text,
        /// The nearest floating point number.
        Real,
        /// The integer without the decimal point: 12.30 becomes 1230.
        ScaledInteger,
    }
}

values_of! {
    /// The beginning of dates that end with the year.
    enum DatesArg of DateOrder {
        /// As the values of each column show.
        Auto,
        /// 31/12/2024.
        DayFirst,
        /// 12/31/2024.
        MonthFirst,
    }
}

/// Options of `load`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pragmark load people.csv people.db
  pragmark load people.csv people.sql new.db
  pragmark load people.csv.gz people.db --primary-key id --index name
  pragmark load export.tsv shop.db --table orders --append
  pragmark load prices.csv shop.db --append --upsert id
  pragmark load 'logs/*.csv' logs.db --table log --filename-column file
  pragmark load 2023.jsonl 2024.jsonl.zst events.db --table events --fts title,body
  pragmark load old.db new.db --rows 'SELECT id, name FROM people' --table people
  zcat log.csv.gz | pragmark load - log.db --table log --on-error skip --rejects bad.csv

A load that fails or is interrupted leaves the database unchanged.")]
pub struct LoadArgs {
    /// Input files: CSV, TSV, JSON Lines or JSON arrays, plain or compressed with gzip or zstd; Parquet; Arrow
    /// IPC; or SQLite databases. Several inputs need the same columns. A folder stands for its files, a quoted
    /// pattern such as '*.csv' for the files that match. `-` reads standard input. A file of SQL (people.sql) makes the table.
    #[arg(required = true, num_args = 1.., value_name = "INPUT")]
    pub inputs: Vec<PathBuf>,
    /// Database; created if it does not exist.
    pub database: PathBuf,
    /// Table to load into [default: the name in --rows, the only table of a SQLite database, or the file's name: people for
    /// people.csv.gz].
    #[arg(long, value_name = "NAME")]
    pub table: Option<String>,
    /// Add the rows to an existing table. Columns are matched by name, with `--header 0` by position.
    #[arg(long)]
    pub append: bool,
    /// Drop the table with its indexes and triggers, and create it again; --replace=keep-indexes creates these again, too.
    #[arg(
        long,
        value_enum,
        value_name = "WHAT",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "all",
        conflicts_with = "append"
    )]
    pub replace: Option<ReplaceArg>,
    /// Leave out rows whose primary key or unique values are already in the table or an earlier
    /// row.
    #[arg(long)]
    pub ignore: bool,
    /// Update the row that has the same values in these columns, which need a primary key or unique index; insert
    /// the row if there is none.
    #[arg(long, value_name = "COLUMNS", value_parser = names, conflicts_with = "ignore")]
    pub upsert: Option<Names>,
    /// Load these columns only, in this order, separated by commas.
    #[arg(long, value_name = "COLUMNS", value_parser = names)]
    pub select: Vec<Names>,
    /// Keep these columns, and make a row of each value of the others, in the columns `name` and
    /// `value`. NULL gives no row.
    #[arg(long, value_name = "COLUMNS", value_parser = names, conflicts_with = "upsert")]
    pub long: Vec<Names>,
    /// Load a column under another name; repeatable. Other options use the new name, --select the old one.
    #[arg(long, value_name = "OLD=NEW", value_parser = new_name)]
    pub rename: Vec<(String, String)>,
    /// Add a column with the input of each row.
    #[arg(long, value_name = "NAME")]
    pub filename_column: Option<String>,
    /// Show the table, the types with the values that decided them, the strategy and the first rows; write
    /// nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// Format of the inputs [default: detected from name and content].
    #[arg(long, value_enum)]
    pub format: Option<FormatArg>,
    /// Text encoding, such as windows-1252 or utf-16le [default: from the byte order mark, otherwise
    /// UTF-8].
    #[arg(long, value_name = "NAME")]
    pub encoding: Option<load::Encoding>,
    /// Rows to load: the table or view of a SQLite database, or a query on it, such as 'SELECT id FROM people'; or the
    /// list of a JSON document, such as contests or response.docs [default: the only table or list].
    #[arg(long, value_name = "NAME|SQL", aliases = ["query", "from-table"])]
    pub rows: Option<String>,
    /// Field delimiter; `tab` for a tab [default: detected from the first line].
    #[arg(long, value_name = "CHARACTER", value_parser = one_byte)]
    pub delimiter: Option<u8>,
    /// Quote character around fields that contain delimiters or line breaks; `none` if quotes have no
    /// meaning [default: "].
    #[arg(long, value_name = "CHARACTER", value_parser = quote)]
    pub quote: Option<Quote>,
    /// Number of header lines; several are joined. With 0 the first line is data, and columns are named column1,
    /// column2, …, or with --append matched by position.
    #[arg(long, value_name = "LINES", default_value_t = 1)]
    pub header: usize,
    /// The same as --header 0.
    #[arg(long, hide = true, conflicts_with = "header")]
    pub no_header: bool,
    /// Skip this many lines at the beginning of each CSV input, and at its end: 2,1.
    #[arg(long, value_name = "FIRST[,LAST]", default_value = "0", hide_default_value = true, value_parser = skipped_lines)]
    pub skip_lines: (u64, usize),
    /// Remove blanks around fields of CSV inputs, also around quotes.
    #[arg(long)]
    pub trim: bool,
    /// Load rows of CSV inputs that break the rules: short rows get NULL, further values go into a column, and quotes
    /// within quotes need not be doubled. Lists these rows in the file of --rejects. --lenient=columns loads inputs with
    /// different columns, and with --append adds the columns that the table lacks; other rows have NULL there.
    #[arg(
        long,
        value_enum,
        value_name = "WHAT",
        num_args = 0..=1,
        require_equals = true,
        value_delimiter = ',',
        default_missing_value = "rows"
    )]
    pub lenient: Vec<LenientArg>,
    /// Form of numbers in CSV inputs, by an example: 1.234,5 or 1,234.5. Also reads currencies,
    /// percent (12 % is 12) and parentheses for negative numbers.
    #[arg(long, value_name = "EXAMPLE")]
    pub number: Option<load::NumberForm>,
    /// Skip lines of CSV inputs that begin with this character.
    #[arg(long, value_name = "CHARACTER", value_parser = one_byte)]
    pub comment: Option<u8>,
    /// Unquoted text that means NULL, or '""' for an empty text in quotes; repeatable [default: an empty field].
    #[arg(
        long,
        value_name = "TEXT",
        default_value = "",
        hide_default_value = true,
        allow_negative_numbers = true
    )]
    pub null: Vec<String>,
    /// Declared type of a column, such as price=REAL; repeatable. BOOLEAN stores words such as true and N in CSV as
    /// 1 and 0. Otherwise types come from the first ten thousand rows, and from all rows if a later one does not fit.
    #[arg(long = "type", value_name = "COLUMN=TYPE", value_parser = column_type, conflicts_with = "append")]
    pub types: Vec<(String, String)>,
    /// Store texts that are dates, such as 31.12.2024 or 12/31/2024 5:30 PM, as SQLite's date functions read them:
    /// 2024-12-31, 2024-12-31T17:30:00. If a column does not show whether the day or the month comes first, say
    /// which: --dates=day-first.
    #[arg(
        long,
        value_enum,
        value_name = "ORDER",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "auto"
    )]
    pub dates: Option<DatesArg>,
    /// How to store decimals of Parquet and Arrow files.
    #[arg(long, value_enum, default_value = "numbers")]
    pub decimals: DecimalsArg,
    /// NOT NULL columns, separated by commas.
    #[arg(
        long,
        value_name = "COLUMNS",
        value_parser = names,
        conflicts_with = "append"
    )]
    pub not_null: Vec<Names>,
    /// Primary key columns, separated by commas. A single INTEGER column becomes the rowid, the fastest
    /// key.
    #[arg(
        long,
        value_name = "COLUMNS",
        value_parser = names,
        conflicts_with = "append"
    )]
    pub primary_key: Vec<Names>,
    /// Columns of an index, separated by commas; repeatable. Built after the rows are loaded. Put a
    /// name with a comma in double quotes, here and in the other lists of columns: --index
    /// '"a,b",c'.
    #[arg(long, value_name = "COLUMNS", value_parser = names, conflicts_with = "append")]
    pub index: Vec<Names>,
    /// Columns of a unique index, separated by commas; repeatable.
    #[arg(long, value_name = "COLUMNS", value_parser = names, conflicts_with = "append")]
    pub unique: Vec<Names>,
    /// Columns of a full-text index (FTS5), separated by commas. Built after the rows are loaded, with the
    /// table as external content.
    #[arg(
        long,
        value_name = "COLUMNS",
        value_parser = names,
        conflicts_with_all = ["append", "without_rowid"]
    )]
    pub fts: Vec<Names>,
    /// Create a STRICT table: a value that does not fit its column's type is an error.
    #[arg(long, conflicts_with = "append")]
    pub strict: bool,
    /// Create a WITHOUT ROWID table, stored in primary key order.
    #[arg(long, requires = "primary_key", conflicts_with = "append")]
    pub without_rowid: bool,
    /// Page size of a new database in bytes, a power of two from 512 to 65536.
    #[arg(long, value_name = "BYTES")]
    pub page_size: Option<u32>,
    /// Load strategy, for those who compare strategies.
    #[arg(long, value_enum, default_value = "auto", hide = true)]
    pub strategy: StrategyArg,
    /// Action for a row that cannot be read or violates a constraint: `fail` leaves the database
    /// unchanged, `skip` writes the row to a file, and `skip=100` ends the load after a hundred
    /// such rows.
    #[arg(long, value_name = "ACTION", value_parser = on_error, default_value = "fail")]
    pub on_error: (OnError, Option<u64>),
    /// File for skipped rows, created only if there are any [default: INPUT.rejected.csv in the current
    /// directory].
    #[arg(long, value_name = "FILE")]
    pub rejects: Option<PathBuf>,
    /// Enforce the foreign keys of the tables: a row without its parent is an error.
    #[arg(long)]
    pub foreign_keys: bool,
    /// Run ANALYZE on the table, which helps SQLite choose the better index.
    #[arg(long)]
    pub analyze: bool,
    /// Check the finished database (integrity_check and row count) before keeping it; reads all of it.
    #[arg(long)]
    pub check: bool,
    /// The same as --lenient=columns.
    #[arg(long, hide = true)]
    pub add_columns: bool,
}

impl LoadArgs {
    fn adds_columns(&self) -> bool {
        self.add_columns || self.lenient.contains(&LenientArg::Columns)
    }

    /// Loads, or shows what a load would do.
    pub fn execute(mut self) -> Result<Exit> {
        let mut opening = opening(&self)?;
        let made = app::load::made_table(&mut self.inputs, &mut opening)?;
        opening.has_table = self.append || made.is_some();
        let name = match (&self.table, &made) {
            (Some(name), _) => name.clone(),
            (None, Some(made)) => made.name.clone(),
            (None, None) => app::load::table_name(&self.inputs, &opening)?,
        };
        let mut request = request(&self, &name)?;
        if let Some(made) = made {
            if self.append
                || self.replace == Some(ReplaceArg::KeepIndexes)
                || request.table != Table::new(&made.name)
            {
                let reason = "a file of SQL makes the table: omit --append, --table, and the options for types, keys and indexes";
                return Err(Error::mistake(reason));
            }
            request.table = made;
        }
        let request = LoadRequest { opening, request, inputs: self.inputs };
        if self.dry_run {
            commands::outline::execute(&request)
        } else {
            commands::load::execute(&request)
        }
    }
}

/// Returns how the inputs are opened.
fn opening(args: &LoadArgs) -> Result<Opening> {
    let mut opening = app::load::opening()?;
    opening.csv = CsvOptions {
        delimiter: args.delimiter,
        quote: args.quote.map_or(Some(b'"'), |quote| quote.0),
        is_quote_known: args.quote.is_some(),
        header: if args.no_header { 0 } else { args.header },
        skip_lines: args.skip_lines.0,
        skip_last: args.skip_lines.1,
        trim: args.trim,
        lenient: args.lenient.contains(&LenientArg::Rows),
        number: args.number,
        comment: args.comment,
        null: args.null.clone(),
        ..CsvOptions::default()
    };
    opening.encoding = args.encoding;
    // A type names a column, which JSON may have later.
    opening.more_keys = args.types.iter().map(|(name, _)| name_in_input(args, name)).collect();
    opening.columns = all(&args.select);
    opening.names.clone_from(&args.rename);
    opening.file_column.clone_from(&args.filename_column);
    opening.adds_columns = args.adds_columns();
    opening.long = all(&args.long);
    opening.decimals = args.decimals.into();
    opening.dates = args.dates.map(|order| dates(args, order));
    opening.selection = args.rows.as_deref().map_or(Selection::OnlyTable, Selection::of);
    opening.format = args.format.map(Into::into);
    Ok(opening)
}

/// Returns the name that the inputs have for a column.
fn name_in_input(args: &LoadArgs, name: &str) -> String {
    args.rename.iter().find(|(_, new)| new == name).map_or(name, |(old, _)| old).to_owned()
}

/// Returns the dates to look for: a column with a type of its own stays as it is.
fn dates(args: &LoadArgs, order: DatesArg) -> Dates {
    Dates { order: order.into(), except: args.types.iter().map(|(name, _)| name.clone()).collect() }
}

fn request(args: &LoadArgs, name: &str) -> Result<Request> {
    let mut request = Request::new(&args.database, table(args, name));
    request.mode = match args.replace {
        _ if args.append => Mode::Append,
        Some(_) => Mode::Replace,
        None => Mode::Create,
    };
    request.strategy = match args.strategy {
        StrategyArg::Auto => None,
        StrategyArg::Pages => Some(LoadStrategy::Pages),
        StrategyArg::Arrays => Some(LoadStrategy::Arrays),
    };
    let is_lenient = args.lenient.contains(&LenientArg::Rows);
    if args.rejects.is_some() && args.on_error.0 == OnError::Fail && !is_lenient {
        return Err(Error::mistake("--rejects requires --on-error skip or --lenient"));
    }
    if is_lenient || args.on_error.0 == OnError::Skip {
        request.rejects = Some(args.rejects.clone().unwrap_or_else(|| rejects_file(&args.inputs)));
    }
    (request.on_error, request.max_errors) = args.on_error;
    request.duplicates = match &args.upsert {
        Some(keys) => Duplicates::Update(keys.0.clone()),
        None if args.ignore => Duplicates::Ignore,
        None => Duplicates::Refuse,
    };
    request.foreign_keys = args.foreign_keys;
    request.analyze = args.analyze;
    request.check = args.check;
    request.adds_columns = args.adds_columns();
    request.keeps_indexes = args.replace == Some(ReplaceArg::KeepIndexes);
    request.page_size = args.page_size;
    Ok(request)
}

fn table(args: &LoadArgs, name: &str) -> Table {
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
        full_text: (!args.fts.is_empty()).then(|| FullText { columns: all(&args.fts), name: None }),
        ..Table::new(name)
    }
}

/// Returns the names of all lists of an option.
fn all(lists: &[Names]) -> Vec<String> {
    lists.iter().flat_map(|names| names.0.clone()).collect()
}

/// Returns the file of skipped rows by default: in the current directory, with the name of the first input.
fn rejects_file(inputs: &[PathBuf]) -> PathBuf {
    let name = match inputs.first().and_then(|input| input.file_name()) {
        Some(name) if name != "-" => name.to_string_lossy().into_owned(),
        _ => "input".to_owned(),
    };
    format!("{name}.rejected.csv").into()
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
}

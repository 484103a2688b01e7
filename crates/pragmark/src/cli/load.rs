//! Options of `load`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::values::{Quote, column_type, one_byte, quote};

/// Ways of loading.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum WayArg {
    /// The fastest that can do it.
    Auto,
    /// Pages of a new database, written directly.
    Pages,
    /// SQL over arrays: triggers, constraints, existing databases.
    Arrays,
}

/// Formats of inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FormatArg {
    /// Fields between delimiters: CSV, TSV and their kin.
    Csv,
    /// A JSON object on each line.
    JsonLines,
    /// Parquet or Arrow IPC.
    Columnar,
    /// A SQLite database.
    Database,
}

/// What happens to a row that is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OnErrorArg {
    /// It ends the load; the database is as it was.
    Fail,
    /// It is left out and written to a file.
    Skip,
}

/// Options of `load`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pragmark load people.csv people.db --table people
  pragmark load people.csv.gz people.db --table people --primary-key id --index name
  pragmark load export.tsv shop.db --table orders --append
  pragmark load 2023.jsonl 2024.jsonl.zst events.db --table events --fts title,body
  pragmark load old.db new.db --query 'SELECT id, name FROM people' --table people
  zcat log.csv.gz | pragmark load - log.db --table log --on-error skip --rejects bad.csv

Whatever happens, the database is afterwards either as it was or complete.")]
pub struct LoadArgs {
    /// The files: CSV, TSV or JSON Lines, plain or compressed by gzip or zstd; Parquet; Arrow IPC; or
    /// SQLite databases. Several must have the same columns. `-` is standard input.
    #[arg(required = true, num_args = 1.., value_name = "INPUT")]
    pub inputs: Vec<PathBuf>,
    /// The database; it is made if it does not exist.
    pub database: PathBuf,
    /// The table.
    #[arg(long, value_name = "NAME")]
    pub table: String,
    /// Add the rows to a table that exists. Columns go by their names, in any order.
    #[arg(long)]
    pub append: bool,
    /// Drop the table, with its indexes and triggers, and make it anew.
    #[arg(long, conflicts_with = "append")]
    pub replace: bool,
    /// What the files are. Worth it where neither name nor first bytes tell, as for JSON Lines from
    /// standard input.
    #[arg(long, value_enum)]
    pub format: Option<FormatArg>,
    /// The encoding of texts, such as windows-1252 or utf-16le [default: told from the byte order mark,
    /// UTF-8 without one].
    #[arg(long, value_name = "NAME")]
    pub encoding: Option<load::Encoding>,
    /// The table or view of a SQLite database that is read [default: its only table].
    #[arg(long, value_name = "NAME")]
    pub from_table: Option<String>,
    /// A query whose answer is read from a SQLite database.
    #[arg(long, value_name = "SQL", conflicts_with = "from_table")]
    pub query: Option<String>,
    /// The character between fields; `tab` for a tab [default: told from the first line].
    #[arg(long, value_name = "CHARACTER", value_parser = one_byte)]
    pub delimiter: Option<u8>,
    /// The character around fields that hold delimiters or line ends; `none` where quotes mean
    /// nothing.
    #[arg(long, value_name = "CHARACTER", default_value = "\"", value_parser = quote)]
    pub quote: Quote,
    /// The first line is data; the columns are called column1, column2, ….
    #[arg(long)]
    pub no_header: bool,
    /// What stands for NULL unless it is in quotes [default: nothing between two delimiters].
    #[arg(
        long,
        value_name = "TEXT",
        default_value = "",
        hide_default_value = true
    )]
    pub null: String,
    /// Declared type of a column, such as price=REAL; may be given several times. Worth it where
    /// the first ten thousand rows do not tell.
    #[arg(long = "type", value_name = "COLUMN=TYPE", value_parser = column_type, conflicts_with = "append")]
    pub types: Vec<(String, String)>,
    /// Columns that must not be NULL, divided by commas.
    #[arg(
        long,
        value_name = "COLUMNS",
        value_delimiter = ',',
        conflicts_with = "append"
    )]
    pub not_null: Vec<String>,
    /// Columns of the primary key, divided by commas. One INTEGER column becomes the rowid, which
    /// is the fastest key.
    #[arg(
        long,
        value_name = "COLUMNS",
        value_delimiter = ',',
        conflicts_with = "append"
    )]
    pub primary_key: Vec<String>,
    /// Columns of an index, divided by commas; may be given several times. It is made after the
    /// rows are in.
    #[arg(long, value_name = "COLUMNS", conflicts_with = "append")]
    pub index: Vec<String>,
    /// The same for a unique index.
    #[arg(long, value_name = "COLUMNS", conflicts_with = "append")]
    pub unique: Vec<String>,
    /// Columns of a full-text index (FTS5), divided by commas. It finds rows of the table by rowid and
    /// is filled after they are in.
    #[arg(
        long,
        value_name = "COLUMNS",
        value_delimiter = ',',
        conflicts_with_all = ["append", "without_rowid"]
    )]
    pub fts: Vec<String>,
    /// Name of the full-text index [default: TABLE_fts].
    #[arg(long, value_name = "NAME", requires = "fts", conflicts_with = "append")]
    pub fts_table: Option<String>,
    /// Make the table STRICT: a value that does not fit its column's type is an error.
    #[arg(long, conflicts_with = "append")]
    pub strict: bool,
    /// Make the table WITHOUT ROWID, kept in the order of its primary key.
    #[arg(long, requires = "primary_key", conflicts_with = "append")]
    pub without_rowid: bool,
    /// Page size of a new database in bytes, a power of two from 512 to 65536.
    #[arg(long, value_name = "BYTES")]
    pub page_size: Option<u32>,
    /// The way the rows go. Worth it to compare them.
    #[arg(long, value_enum, default_value = "auto")]
    pub way: WayArg,
    /// What happens to a row that cannot be read or that the table refuses.
    #[arg(long, value_enum, default_value = "fail")]
    pub on_error: OnErrorArg,
    /// File for the rows that were skipped, made only if there are any [default: INPUT.rejected.csv
    /// in the current directory].
    #[arg(long, value_name = "FILE")]
    pub rejects: Option<PathBuf>,
    /// Check the finished database before it is kept; this reads all of it.
    #[arg(long)]
    pub check: bool,
    /// Write as many bytes directly afterwards, and say which share of the disk's rate the load has
    /// reached.
    #[arg(long)]
    pub measure_disk: bool,
    /// Print no progress.
    #[arg(long)]
    pub plain: bool,
}

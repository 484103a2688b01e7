//! Options of `unload`.

use std::path::{Path, PathBuf};

use app::{Error, Result};
use clap::Args;
use load::{Blobs, OutputForm, Selection, Split, Unload};

use super::values::values_of;
use crate::commands;
use crate::exit::Exit;

values_of! {
    /// Encoding of blobs in text formats.
    enum BlobsArg of Blobs {
        /// Two hexadecimal digits a byte.
        Hex,
        /// Base64.
        Base64,
    }
}

/// Options of `unload`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pragmark unload people.db people.csv.gz
  pragmark unload people.db people.csv people.sql
  pragmark unload shop.db orders.parquet --rows orders
  pragmark unload shop.db late.jsonl --rows \"SELECT * FROM orders WHERE state = 'late'\"
  pragmark unload app.db events.csv --rows events --split 1GB
  pragmark unload shop.db part/orders.parquet --rows orders --split country
  pragmark unload app.db - --rows users --format jsonl | jq .name

All rows come from one read transaction. Files get their names when all of them are complete.")]
pub struct UnloadArgs {
    /// Database; it is only read.
    pub database: PathBuf,
    /// File; its ending selects the format. `-` writes to standard output.
    pub output: PathBuf,
    /// File for the statements that make the table and its indexes, such as people.sql. `load` reads both.
    pub schema: Option<PathBuf>,
    /// Table or view, or a query, such as 'SELECT id FROM people' [default: the only table].
    #[arg(long, value_name = "NAME|SQL")]
    pub rows: Option<String>,
    /// Format: csv, tsv, json, jsonl, each also with .gz or .zst; parquet, arrow, or arrows for a stream [default: the
    /// ending of the file; csv to standard output].
    #[arg(long, value_name = "ENDING")]
    pub format: Option<OutputForm>,
    /// Begin another file after this size (1GB) or number of rows (100000), people-0001.csv, people-0002.csv, …; or divide
    /// the rows by the values of columns (country,year): country=DE/year=2024/people.csv, …
    #[arg(long, value_name = "SIZE|ROWS|COLUMNS")]
    pub split: Option<Split>,
    /// Encoding of blobs in text formats.
    #[arg(long, value_enum, default_value = "hex")]
    pub blobs: BlobsArg,
    /// Replace files that exist.
    #[arg(long)]
    pub replace: bool,
}

impl UnloadArgs {
    /// Writes the rows.
    pub fn execute(self) -> Result<Exit> {
        let output = (self.output != Path::new("-")).then_some(self.output);
        let of_name = || {
            // Rows in a pipe are CSV.
            let output = output.as_deref().unwrap_or(Path::new("rows.csv"));
            OutputForm::of_name(&output.file_name()?.to_string_lossy())
        };
        let form = self.format.or_else(of_name).ok_or_else(|| {
            Error::mistake("the format is not clear")
                .hint("name it: --format csv, tsv, json, jsonl, parquet, arrow or arrows")
        })?;
        let is_sql = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "sql");
        if !self.schema.as_ref().is_none_or(is_sql) {
            return Err(Error::mistake("the file for the statements must end in .sql")
                .hint("name a table with --rows"));
        }
        commands::unload::execute(&Unload {
            database: self.database,
            selection: self.rows.as_deref().map_or(Selection::OnlyTable, Selection::of),
            output,
            schema: self.schema,
            replace: self.replace,
            form,
            split: self.split,
            blobs: self.blobs.into(),
        })
    }
}

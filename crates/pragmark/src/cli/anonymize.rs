//! Options of `anonymize`.

use std::path::PathBuf;

use clap::Args;

/// Options of `anonymize`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pragmark anonymize app.db --out shared.db
  pragmark anonymize app.db --out shared.db --keep orders.status,countries.code

Letters become other letters and digits other digits, word by word, with a random key that
pragmark does not store. Lengths, punctuation and equality stay, so joins, searches and index
statistics still work. Numbers, dates, times, names of tables and columns, and texts in the schema
do not change. If a query compares a column with a text of its own, name that column in --keep.")]
pub struct AnonymizeArgs {
    /// The database; it is copied and never changed.
    pub database: PathBuf,
    /// File for the copy, which must not exist.
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
    /// Columns whose values stay, as TABLE.COLUMN, separated by commas.
    #[arg(long, value_name = "TABLE.COLUMN", value_delimiter = ',')]
    pub keep: Vec<String>,
}

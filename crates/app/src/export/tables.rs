//! Exports of runs as tables: an SQLite database, or a folder of Parquet files.

use std::path::{Path, PathBuf};

use engine::Value;
use report::export::{Datum, Kind, TABLES, TableRow, run_rows, trial_rows};
use runner::RunFolder;
use trace::TraceError;
use trace::export::Type;
use trace::export::{self as export_tables, Add, Table};

use crate::error::{Error, Result};
use crate::files::{built_in_library, parent_of};
use crate::report::analyse;

/// Forms of the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TablesForm {
    /// An SQLite database.
    Sqlite,
    /// A folder of Parquet files.
    Parquet,
}

/// Writes all tables of all runs. They get their name when they are complete.
///
/// # Errors
/// The file exists or cannot be written, or a run cannot be read.
pub fn tables(runs: &[PathBuf], form: TablesForm, out: &Path) -> Result<()> {
    if out.exists() {
        return Err(Error::unusable(format!("{} exists", out.display()))
            .hint("choose another name with --out"));
    }
    let failed = |error: std::io::Error| Error::writing(out, error);
    let folder = tempfile::tempdir_in(parent_of(out)).map_err(failed)?;
    let made = folder.path().join("made");
    match form {
        TablesForm::Parquet => {
            std::fs::create_dir(&made).map_err(failed)?;
            export_tables::parquet(&made, &forms(), |add| fill(runs, add))?;
        }
        TablesForm::Sqlite => {
            let library = built_in_library()?;
            export_tables::sqlite(&library, &made, &forms(), |add| fill(runs, add))?;
        }
    }
    std::fs::rename(&made, out).map_err(failed)
}

/// Passes the rows of all runs.
fn fill(runs: &[PathBuf], add: &mut Add<'_>) -> Result<()> {
    for run in runs {
        let analysis = analyse(run)?;
        let rows = run_rows(&analysis);
        let id = analysis.plan.id;
        rows.into_iter().try_for_each(|row| put(add, row))?;
        trials(run, &id, add)?;
    }
    Ok(())
}

fn trials(run: &Path, id: &str, add: &mut Add<'_>) -> Result<()> {
    let (mut number, mut written) = (0, Ok(()));
    let folder = RunFolder::open(run)?;
    let read = folder.each_trial(|record| {
        if written.is_ok() {
            written = trial_rows(id, number, &record).into_iter().try_for_each(|row| put(add, row));
        }
        number += 1;
    });
    read?;
    Ok(written?)
}

fn put(add: &mut Add<'_>, (table, row): TableRow) -> Result<(), TraceError> {
    let value = |datum: Datum| match datum {
        Datum::None => Value::Null,
        Datum::Integer(number) => Value::Integer(number),
        Datum::Real(number) => Value::Real(number),
        Datum::Text(text) => Value::Text(text),
    };
    add(table, row.into_iter().map(value).collect())
}

fn forms() -> Vec<Table> {
    let kind = |kind: Kind| match kind {
        Kind::Integer => Type::Integer,
        Kind::Real => Type::Real,
        Kind::Text => Type::Text,
        Kind::Boolean => Type::Boolean,
    };
    let tables = TABLES.iter().map(|form| Table {
        name: form.name,
        columns: form.columns.iter().map(|(name, of)| (*name, kind(*of))).collect(),
    });
    tables.collect()
}

//! Runs as tables: an SQLite database, or a folder of Parquet files.

use std::path::Path;
use std::sync::Arc;

use engine::{Library, Source, Value};
use report::export::{Datum, Kind, TABLES, TableRow, run_rows, trial_rows};
use runner::RunFolder;
use trace::TraceError;
use trace::export::Type;
use trace::export::{self as tables, Add, Table};

use crate::cli::{ExportArgs, ExportFormat};
use crate::commands::report as of_run;
use crate::failure::{Exit, Failure};

/// Writes all tables of all runs. What is not whole does not have the name.
pub fn execute(args: &ExportArgs) -> Result<Exit, Failure> {
    let Some(out) = &args.out else {
        return Err(
            Failure::usage("this format is no text").hint("name a new file or folder with --out")
        );
    };
    let failed = |error: std::io::Error| {
        Failure::unusable(format!("cannot write {}: {error}", out.display()))
    };
    if out.exists() {
        return Err(Failure::unusable(format!("{} exists", out.display()))
            .hint("choose another name with --out"));
    }
    let parent = match out.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    let folder = tempfile::tempdir_in(parent).map_err(failed)?;
    let made = folder.path().join("made");
    match args.format {
        ExportFormat::Parquet => {
            std::fs::create_dir(&made).map_err(failed)?;
            tables::parquet(&made, &forms(), |add| fill(args, add)).map_err(Failure::from)?;
        }
        _ => {
            let library = Library::load(&Source::Embedded).map_err(Failure::unusable)?;
            let library = Arc::new(library);
            tables::sqlite(&library, &made, &forms(), |add| fill(args, add))
                .map_err(Failure::from)?;
        }
    }
    std::fs::rename(&made, out).map_err(failed)?;
    Ok(Exit::Success)
}

/// Why tables were not written.
enum Problem {
    /// A run cannot be read.
    Run(Failure),
    /// The tables cannot be written.
    Tables(TraceError),
}

impl From<TraceError> for Problem {
    fn from(error: TraceError) -> Problem {
        Problem::Tables(error)
    }
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Failure {
        match problem {
            Problem::Run(failure) => failure,
            Problem::Tables(error) => Failure::unusable(error),
        }
    }
}

/// Passes the rows of all runs.
fn fill(args: &ExportArgs, add: &mut Add<'_>) -> Result<(), Problem> {
    for run in &args.runs {
        let analysis = of_run::analyse(run).map_err(Problem::Run)?;
        let rows = run_rows(&analysis);
        let id = analysis.plan.id;
        rows.into_iter().try_for_each(|row| put(add, row))?;
        trials(run, &id, add)?;
    }
    Ok(())
}

fn trials(run: &Path, id: &str, add: &mut Add<'_>) -> Result<(), Problem> {
    let (mut number, mut written) = (0, Ok(()));
    let of_run = |error: runner::RunError| Problem::Run(error.into());
    let folder = RunFolder::open(run).map_err(of_run)?;
    let read = folder.each_trial(|record| {
        if written.is_ok() {
            let mut rows = trial_rows(id, number, &record).into_iter();
            written = rows.try_for_each(|row| put(add, row));
        }
        number += 1;
    });
    read.map_err(of_run)?;
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
        columns: form.columns.iter().map(|it| (it.0, kind(it.1))).collect(),
    });
    tables.collect()
}

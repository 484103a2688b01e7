//! A CSV file into a new database, by one tool's whole process from its start to its end.
//!
//! The clock runs from the start of the process to its end, with syncing as the tool does by itself: that
//! an interpreter starts and its libraries are imported is part of what a user waits for. Every tool gets
//! the same file, whose bytes are in the page cache, and has to make the same table. Making the file,
//! asking the tool for its version (by which its program and libraries are in the page cache, too) and
//! verifying the database are outside.
//!
//! It stands apart from the workloads that insert because nothing here is done through the engine under
//! test: tools bring their own SQLite, which the engine only verifies.

mod file;
mod process;
mod tool;
mod verify;

use std::path::Path;

use engine::Origin;
use lab::level::Settings;
use lab::needs::Needs;
use lab::trial::{DataTable, Measured};

use self::process::Took;
use self::tool::Tool;
use super::common::{set, set_bytes_per_row};
use super::{Declared, Trial};
use crate::error::TrialError;
use crate::parameters::Rows;
use crate::target::sqlite;

/// The workload `load-file`.
pub(super) struct LoadFile;

/// The file that is read and the database that is made, in the directory of the trial, where tools run.
const FILE: &str = "user.csv";
const DATABASE: &str = "made.db";

/// Bytes on the disk for each row, at most: of the file, the database, and a journal or a database that
/// is not yet in its place.
const BYTES_PER_ROW: u64 = 80;

parameters! {
    /// The parameters of one trial.
    struct Parameters {
        /// Rows of the file.
        rows: Rows = 100_000, 1..;
        /// What loads the file. Python is that of PRAGMARK_PYTHON, or python3 on the path.
        tool: Tool = Tool::PragmarkPages;
    }
}

impl Declared for LoadFile {
    const NAME: &'static str = "load-file";
    const ABOUT: &'static str = "Loads a CSV file with a quoted column into user(id INTEGER PRIMARY KEY, area CHAR(6), age INTEGER, active INTEGER) of a new database, timing the whole process of one tool.";
    const COUNTS: bool = false;
    const CHECKED_FIRST: bool = true;
    type Parameters = Parameters;

    fn needs(parameters: &Parameters, _: &Settings) -> Needs {
        Needs {
            disk_bytes: BYTES_PER_ROW.saturating_mul(parameters.rows as u64),
            ..Needs::default()
        }
    }

    fn check(_: &Parameters, settings: &Settings) -> Result<(), TrialError> {
        let pragmas = sqlite::pragma_statements(settings)?;
        pragmas.first().map_or(Ok(()), |pragma| {
            Err(TrialError::cannot_run(format!(
                "tools set their own PRAGMAs, so {pragma} has no effect"
            )))
        })
    }

    fn run(trial: &mut Trial<'_>, parameters: &Parameters) -> Result<Measured, TrialError> {
        let program = std::env::current_exe()
            .map_err(TrialError::io("find the program", Path::new("pragmark")))?;
        refuse_engine(trial)?;
        measure(trial, parameters, &tool::Start::of(&program))
    }
}

/// Figures would be reported for an engine that took no part.
fn refuse_engine(trial: &Trial<'_>) -> Result<(), TrialError> {
    match trial.library.identity().origin {
        Origin::Embedded => Ok(()),
        _ => Err(TrialError::cannot_run(
            "tools bring their own SQLite, which cannot be replaced by another engine",
        )),
    }
}

fn measure(
    trial: &mut Trial<'_>,
    parameters: &Parameters,
    start: &tool::Start,
) -> Result<Measured, TrialError> {
    let tool = parameters.tool.in_directory(trial.directory, start)?;
    let version = tool.version()?;
    (trial.phase)("generate");
    let expected = file::write(&trial.directory.join(FILE), parameters.rows, trial.seed)?;

    (trial.phase)("load");
    let took = tool.load()?;
    let mut measured = figures(&took, parameters.rows);
    measured.tables.push(version_table(&version));

    (trial.phase)("verify");
    let database = trial.directory.join(DATABASE);
    verify::check(&trial.library, &database, &expected)?;
    set(&mut measured, "db_bytes", sqlite::size(&database)?);
    set_bytes_per_row(&mut measured, parameters.rows);
    Ok(measured)
}

fn figures(took: &Took, rows: usize) -> Measured {
    let mut measured = Measured::default();
    set(&mut measured, "seconds", took.seconds);
    set(&mut measured, "rows_per_s", rows as f64 / took.seconds);
    set(&mut measured, "cpu_user_s", took.cpu.user);
    set(&mut measured, "cpu_system_s", took.cpu.system);
    if let Some(bytes) = took.peak_memory {
        set(&mut measured, "peak_memory_bytes", bytes);
    }
    measured
}

/// Returns the tool's version as a table of the report.
fn version_table(version: &str) -> DataTable {
    DataTable {
        title: "version reported by the tool".to_owned(),
        columns: vec!["version".to_owned()],
        rows: vec![vec![version.to_owned()]],
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use engine::{Library, Source};
    use lab::level::Level;
    use lab::seed::Seed;
    use lab::trial::Outcome;

    use super::*;
    use crate::parameters::Choice;

    fn measured(tool: Tool, start: &tool::Start) -> Result<Measured, TrialError> {
        let directory = tempfile::tempdir().unwrap();
        let mut trial = Trial {
            settings: &Settings::new(),
            library: Arc::new(Library::load(&Source::Embedded).unwrap()),
            directory: directory.path(),
            seed: Seed(5),
            counter: None,
            postgres: None,
            artifacts: None,
            phase: &mut |_| {},
        };
        let parameters = Parameters { rows: 3_003, tool };
        measure(&mut trial, &parameters, start)
    }

    #[test]
    fn a_tool_that_is_there_gives_verified_rows_and_figures_of_its_process() {
        let tool = Tool::PythonExecutemany;
        let measured = match measured(tool, &tool::Start::directly("python3")) {
            Err(TrialError::CannotRun(why)) => return testing::skip(why),
            measured => measured.unwrap(),
        };
        let metrics = &measured.metrics;
        let rows = metrics["rows_per_s"] * metrics["seconds"];
        assert!((rows - 3_003.0).abs() < 0.01, "{rows}");
        assert!(metrics["bytes_per_row"] > 10.0);
        assert!(measured.tables[0].rows[0][0].contains("Python 3"));
    }

    #[test]
    fn a_tool_that_is_not_there_is_skipped_with_how_to_get_it() {
        for name in ["pandas", "sqlite-utils", "adbc", "polars", "duckdb"] {
            let tool = Tool::named(name).unwrap();
            let error = measured(tool, &tool::Start::directly("/no/such/python")).unwrap_err();
            let Outcome::Skipped { why } = error.outcome() else {
                panic!("{error}");
            };
            for part in ["/no/such/python", "pip install", tool::PYTHON] {
                assert!(why.contains(part), "{name}: {why}");
            }
        }
    }

    #[test]
    fn a_pragma_cannot_be_given_to_a_tool() {
        let settings = Settings::from([("journal_mode".to_owned(), Level::from("wal"))]);
        let parameters = Parameters { rows: 1, tool: Tool::Shell };
        let why = LoadFile::check(&parameters, &settings).unwrap_err();
        let why = why.to_string();
        assert!(why.contains("journal_mode"), "{why}");
        assert!(LoadFile::check(&parameters, &Settings::new()).is_ok());
    }
}

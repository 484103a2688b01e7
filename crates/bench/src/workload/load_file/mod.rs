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

mod tool;

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

use engine::{Connection, Library, OpenFlags, Origin};
use lab::level::Settings;
use lab::needs::Needs;
use lab::seed::Seed;
use lab::trial::{DataTable, Measured};

use self::tool::{Took, Tool};
use crate::error::{Result, TrialError};
use crate::generate::{User, Users};
use crate::parameters::Rows;
use crate::target::sqlite;
use crate::trial::Trial;
use crate::workload::common::{Sum, check_sums, expect, set, set_bytes_per_row, set_cpu, sums};
use crate::workload::declared::Declared;

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

    fn check(_: &Parameters, settings: &Settings) -> Result<()> {
        let pragmas = sqlite::pragma_statements(settings)?;
        pragmas.first().map_or(Ok(()), |pragma| {
            Err(TrialError::cannot_run(format!(
                "tools set their own PRAGMAs, so {pragma} has no effect"
            )))
        })
    }

    fn run(trial: &mut Trial<'_>, parameters: &Parameters) -> Result<Measured> {
        let program = std::env::current_exe()
            .map_err(TrialError::io("find the program", Path::new("pragmark")))?;
        refuse_engine(trial)?;
        measure(trial, parameters, &tool::Start::of(&program))
    }
}

/// Figures would be reported for an engine that took no part.
fn refuse_engine(trial: &Trial<'_>) -> Result<()> {
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
) -> Result<Measured> {
    let tool = parameters.tool.in_directory(trial.directory, start)?;
    let version = tool.version()?;
    (trial.phase)("generate");
    let expected = write_file(&trial.directory.join(FILE), parameters.rows, trial.seed)?;

    (trial.phase)("load");
    let took = tool.load()?;
    let mut measured = figures(&took, parameters.rows);
    measured.tables.push(version_table(&version));

    (trial.phase)("verify");
    let database = trial.directory.join(DATABASE);
    verify(&trial.library, &database, &expected)?;
    set(&mut measured, "db_bytes", sqlite::size(&database)?);
    set_bytes_per_row(&mut measured, parameters.rows);
    Ok(measured)
}

fn figures(took: &Took, rows: usize) -> Measured {
    let mut measured = Measured::default();
    set(&mut measured, "seconds", took.seconds);
    set(&mut measured, "rows_per_s", rows as f64 / took.seconds);
    set_cpu(&mut measured, took.cpu);
    if let Some(bytes) = took.peak_memory {
        set(&mut measured, "peak_memory_bytes", bytes);
    }
    measured
}

/// Returns the tool's version as a table of the report.
fn version_table(version: &str) -> DataTable {
    DataTable::new("version reported by the tool", &["version"], [vec![version.to_owned()]])
}

/// Rows that are drawn at a time.
const PART: usize = 10_000;

/// Writes and syncs the file, so that nothing of it is left to be written while a tool is timed; returns
/// what a table of its rows holds.
fn write_file(path: &Path, rows: usize, seed: Seed) -> Result<Sums> {
    let users = Users::new(seed, rows, PART, 0);
    write_rows(path, users.all()).map_err(TrialError::io("write", path))
}

fn write_rows(path: &Path, users: impl Iterator<Item = User>) -> io::Result<Sums> {
    let mut file = BufWriter::new(File::create(path)?);
    let mut sums = Sums::default();
    writeln!(file, "id,area,age,active")?;
    for (id, user) in (1_i64..).zip(users) {
        let area = user.area.unwrap_or_default();
        write!(file, "{id},\"")?;
        file.write_all(&area)?;
        writeln!(file, "\",{},{}", user.age, user.active)?;
        sums.add(id, &area, user.age, user.active);
    }
    file.into_inner()?.sync_all()?;
    Ok(sums)
}

/// Sums that tell the rows of one file from others without holding them: sums of each column, and one over
/// rows that notices values which came into another row.
const SUMS: [Sum; 6] = [
    ("the count of rows of the right types", "count(*)"),
    ("the sum of ids", "sum(id)"),
    ("the sum of areas", "sum(number)"),
    ("the sum of ages", "sum(age)"),
    ("the sum of active", "sum(active)"),
    ("the sum over rows", "sum(id % 997 * (number + 3 * age + active))"),
];

/// Rows of the right types. Values of another type than the column's count as missing.
const TYPED: &str = "(SELECT *, CAST(area AS INTEGER) AS number FROM user) \
     WHERE typeof(id) = 'integer' AND typeof(area) = 'text' AND length(area) = 6 \
     AND typeof(age) = 'integer' AND typeof(active) = 'integer'";

/// A prime that keeps the sum over rows within 64 bits for a thousand million of them.
const MODULUS: i64 = 997;

/// The sums of a file in the order of [`SUMS`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Sums([i64; SUMS.len()]);

impl Sums {
    /// Adds a row; an area is of ASCII digits.
    fn add(&mut self, id: i64, area: &[u8], age: u8, active: u8) {
        let digit = |number: i64, byte: &u8| number * 10 + i64::from(byte.wrapping_sub(b'0'));
        let area = area.iter().fold(0, digit);
        let (age, active) = (i64::from(age), i64::from(active));
        let over_row = id % MODULUS * (area + 3 * age + active);
        self.0 = sums([self.0, [1, id, area, age, active, over_row]].into_iter());
    }
}

/// Checks the database that a tool has made.
fn verify(library: &Arc<Library>, database: &Path, expected: &Sums) -> Result<()> {
    let connection = Connection::open(library, database, OpenFlags::READ_WRITE, None)?;
    let found = connection.query_text("PRAGMA integrity_check")?;
    expect("the check of integrity", found.as_str(), "ok")?;
    expect("the table", columns(&connection)?.as_str(), COLUMNS)?;
    let count = connection.query_i64("SELECT count(*) FROM user")?;
    expect("the count of rows", count, expected.0[0])?;
    check_sums(&connection, &SUMS, (TYPED, ""), &expected.0)?;
    Ok(connection.close()?)
}

/// The columns that the table must have, with their types and which of them is the key.
const COLUMNS: &str = "id INTEGER key, area CHAR(6), age INTEGER, active INTEGER";

fn columns(connection: &Connection) -> Result<String> {
    let columns = connection.query_rows("PRAGMA table_info(user)", |row| {
        let key = if row.column_i64(5) > 0 { " key" } else { "" };
        Ok(format!("{} {}{key}", row.column_text(1)?, row.column_text(2)?))
    })?;
    Ok(columns.join(", "))
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

    fn measured(tool: Tool, start: &tool::Start) -> Result<Measured> {
        let directory = tempfile::tempdir().unwrap();
        let mut trial = Trial {
            settings: &Settings::new(),
            library: Arc::new(Library::load(&Source::Embedded).unwrap()),
            directory: directory.path(),
            seed: Seed(5),
            counter: None,
            postgres: None,
            artifacts: None,
            tests_open: true,
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

    #[test]
    fn the_file_has_a_header_and_a_quoted_area_in_every_row() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("user.csv");
        write_file(&path, 25_001, Seed(3)).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("id,area,age,active\n1,\""));
        let mut reader = csv::Reader::from_path(&path).unwrap();
        let mut rows = 0;
        for (number, row) in reader.records().enumerate() {
            let row = row.unwrap();
            assert_eq!(row[0], (number + 1).to_string());
            assert!(row[1].len() == 6 && row[1].bytes().all(|byte| byte.is_ascii_digit()));
            rows += 1;
        }
        assert_eq!(rows, 25_001);
    }

    const CREATE: &str =
        "CREATE TABLE user(id INTEGER PRIMARY KEY, area CHAR(6), age INTEGER, active INTEGER)";

    fn expected() -> Sums {
        let mut sums = Sums::default();
        sums.add(1, b"012345", 5, 1);
        sums.add(2, b"999999", 15, 0);
        sums
    }

    fn problem(create: &str, rows: &str) -> Option<String> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("made.db");
        let library = Arc::new(Library::load(&Source::Embedded).unwrap());
        let connection = Connection::open(&library, &path, OpenFlags::default(), None).unwrap();
        let insert = format!("{create}; INSERT INTO user VALUES {rows}");
        connection.execute(&insert).unwrap();
        connection.close().unwrap();
        let checked = verify(&library, &path, &expected());
        checked.err().map(|error| error.to_string())
    }

    #[test]
    fn the_rows_of_the_file_are_right_and_all_others_are_noticed() {
        assert_eq!(problem(CREATE, "(1, '012345', 5, 1), (2, '999999', 15, 0)"), None);
        for (rows, named) in [
            ("(1, '012345', 5, 1)", "the count of rows"),
            ("(1, '012345', 5, 1), (2, '999999', 'old', 0)", "right types"),
            ("(1, '12345', 5, 1), (2, '999999', 15, 0)", "right types"),
            ("(1, '012345', 5, 1), (3, '999999', 15, 0)", "sum of ids"),
            ("(1, '012346', 5, 1), (2, '999999', 15, 0)", "sum of areas"),
            ("(1, '012345', 15, 1), (2, '999999', 15, 0)", "sum of ages"),
            ("(1, '012345', 5, 1), (2, '999999', 15, 1)", "sum of active"),
            ("(1, '999999', 5, 1), (2, '012345', 15, 0)", "sum over rows"),
        ] {
            let found = problem(CREATE, rows).unwrap();
            assert!(found.contains(named), "{rows}: {found}");
        }
    }

    #[test]
    fn another_table_is_noticed() {
        let create = CREATE.replace(" PRIMARY KEY", "");
        let rows = "(1, '012345', 5, 1), (2, '999999', 15, 0)";
        let found = problem(&create, rows).unwrap();
        assert!(found.contains("the table is id INTEGER, area"), "{found}");
    }

    #[test]
    fn no_database_is_an_error_that_names_it() {
        let library = Arc::new(Library::load(&Source::Embedded).unwrap());
        let missing = Path::new("/no/such/made.db");
        let error = verify(&library, missing, &expected()).unwrap_err();
        assert!(error.to_string().contains("/no/such/made.db"), "{error}");
    }
}

//! The tools: how each is asked for its version, how it loads the file, and how one gets it.
//!
//! A process from its start to its end: its time, its CPU time, its memory, and its messages where it
//! fails.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use ::process::{Group, Limits, Process, command_line};

use super::{DATABASE, FILE};
use crate::error::{Result, TrialError};
use crate::measure::{CpuTime, peak_memory_bytes_of};

/// The environment variable that names the Python whose libraries are measured.
pub(super) const PYTHON: &str = "PRAGMARK_PYTHON";

/// The program that loads by a library of Python, whose name it gets.
const SCRIPT: &str = include_str!("peers.py");

/// The script's name in the directory of a trial.
const SCRIPT_NAME: &str = "peers.py";

/// The table, as every tool that does not make it itself is told to.
const CREATE: &str =
    "CREATE TABLE user(id INTEGER PRIMARY KEY, area CHAR(6), age INTEGER, active INTEGER)";

choice! {
    /// A program that loads a file.
    enum Tool {
        /// Pragmark load with --strategy pages.
        PragmarkPages = "pragmark-pages",
        /// Pragmark load with --strategy arrays.
        PragmarkArrays = "pragmark-arrays",
        /// .import of SQLite's shell.
        Shell = "sqlite3-import",
        /// csv and sqlite3 of Python's standard library.
        PythonExecutemany = "python-executemany",
        /// read_csv and to_sql.
        Pandas = "pandas",
        /// Its insert.
        SqliteUtils = "sqlite-utils",
        /// Pyarrow's CSV reader and adbc_ingest.
        Adbc = "adbc",
        /// read_csv and write_database by ADBC.
        Polars = "polars",
        /// Its sqlite extension.
        Duckdb = "duckdb",
    }
}

/// How a tool is driven.
enum Program {
    /// `pragmark load`, by this way.
    Pragmark(&'static str),
    /// SQLite's own shell.
    Shell,
    /// A library of Python: its name in the script, and its packages, none for the standard library.
    Python { method: &'static str, packages: &'static str },
}

/// How programs are started.
pub(super) struct Start {
    pragmark: PathBuf,
    python: OsString,
    /// Whether pragmark becomes the tool, so that it ends with the trial.
    ends_with_the_trial: bool,
}

impl Start {
    /// From this pragmark, with the user's Python.
    pub(super) fn of(pragmark: &Path) -> Start {
        Start {
            pragmark: pragmark.to_owned(),
            python: std::env::var_os(PYTHON).unwrap_or_else(|| "python3".into()),
            ends_with_the_trial: true,
        }
    }

    /// Returns the tool for a test, whose program is not pragmark.
    #[cfg(test)]
    pub(super) fn directly(python: &str) -> Start {
        Start { pragmark: PathBuf::new(), python: python.into(), ends_with_the_trial: false }
    }

    /// Returns the command for a program.
    ///
    /// Processes that a trial starts are stopped with it by whoever started the trial, unless that one
    /// is killed: then only what asked the kernel to end with its parent ends.
    fn command(&self, program: &OsStr) -> Command {
        if !self.ends_with_the_trial {
            return Command::new(program);
        }
        let mut command = Command::new(&self.pragmark);
        command.arg("become").arg(program);
        command
    }
}

impl Tool {
    fn kind(self) -> Program {
        let python = |method, packages| Program::Python { method, packages };
        match self {
            Tool::PragmarkPages => Program::Pragmark("pages"),
            Tool::PragmarkArrays => Program::Pragmark("arrays"),
            Tool::Shell => Program::Shell,
            Tool::PythonExecutemany => python("executemany", ""),
            Tool::Pandas => python("pandas", "pandas"),
            Tool::SqliteUtils => python("sqlite_utils", "sqlite-utils"),
            Tool::Adbc => python("adbc", "adbc-driver-sqlite pyarrow"),
            Tool::Polars => python("polars", "polars adbc-driver-sqlite pyarrow"),
            Tool::Duckdb => python("duckdb", "duckdb"),
        }
    }

    /// Returns the tool at work in this directory.
    ///
    /// # Errors
    /// When the script cannot be written there.
    pub(super) fn in_directory<'s>(self, directory: &Path, start: &'s Start) -> Result<Ready<'s>> {
        if let Program::Python { .. } = self.kind() {
            let path = directory.join(SCRIPT_NAME);
            std::fs::write(&path, SCRIPT).map_err(TrialError::io("write", &path))?;
        }
        Ok(Ready { program: self.kind(), directory: directory.to_owned(), start })
    }
}

/// A tool in its directory.
pub(super) struct Ready<'s> {
    program: Program,
    directory: PathBuf,
    start: &'s Start,
}

impl Ready<'_> {
    fn name(&self) -> &OsStr {
        match self.program {
            Program::Pragmark(_) => self.start.pragmark.as_os_str(),
            Program::Shell => "sqlite3".as_ref(),
            Program::Python { .. } => &self.start.python,
        }
    }

    fn command<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> Command {
        let mut command = self.start.command(self.name());
        command.args(arguments).current_dir(&self.directory);
        command
    }

    /// Returns the tool's own name and version.
    ///
    /// # Errors
    /// [`TrialError::CannotRun`] with how to get it, where it does not answer.
    pub(super) fn version(&self) -> Result<String> {
        let python = self.start.python.display();
        let (mut command, hint) = match self.program {
            Program::Pragmark(_) => (self.command(["--version"]), "it is this program".to_owned()),
            Program::Shell => (
                self.command(["--version"]),
                "install SQLite's shell, 3.32 or newer: `apt install sqlite3`, `dnf install sqlite` or `brew install sqlite`".to_owned(),
            ),
            Program::Python { method, packages } => (
                self.command([SCRIPT_NAME, method]),
                match packages {
                    "" => format!("install Python 3.9 or newer, or set {PYTHON} to one"),
                    _ => format!(
                        "run `{python} -m pip install {packages}`, or set {PYTHON} to a Python that has it"
                    ),
                },
            ),
        };
        answer(&mut command).map_err(|why| {
            let name = self.name().display();
            TrialError::CannotRun(format!("{name} is not usable: {why}; {hint}"))
        })
    }

    /// Loads the file, and says what that took.
    ///
    /// # Errors
    /// The tool fails.
    pub(super) fn load(&self) -> Result<Took> {
        let mut command = match self.program {
            Program::Pragmark(way) => self.command(
                format!(
                    "load {FILE} {DATABASE} --table user --primary-key id --type area=CHAR(6) --strategy {way}"
                )
                .split(' '),
            ),
            Program::Shell => {
                let import = format!(".import --csv --skip 1 {FILE} user");
                self.command([DATABASE, CREATE, &import])
            }
            Program::Python { method, .. } => self.command([SCRIPT_NAME, method, FILE, DATABASE]),
        };
        timed(&mut command)
    }
}

/// The interval at which the memory of the process is read; what it takes after the last reading is
/// missed.
const LOOK: Duration = Duration::from_millis(5);

/// Resources that a process used.
pub(super) struct Took {
    /// From its start to its end, wall-clock.
    pub(super) seconds: f64,
    /// Its CPU time, including processes that it started and waited for.
    pub(super) cpu: CpuTime,
    /// Its largest resident set, in bytes, where the system reports it.
    pub(super) peak_memory: Option<f64>,
}

/// Returns the output of a process that answers a question. It belongs to the group of the trial, with which it
/// ends.
///
/// # Errors
/// The reason why the process cannot be started, or its own messages.
pub(super) fn answer(command: &mut Command) -> Result<String, String> {
    let answer = ::process::run(command, Group::Shared, &Limits::default());
    let answer = answer.map_err(|error| error.to_string())?;
    if answer.end.is_success() {
        Ok(answer.text().trim().to_owned())
    } else {
        Err(format!("{}: {}", answer.end, answer.errors))
    }
}

/// Runs a process of the trial's group to its end.
///
/// # Errors
/// It cannot be started, or fails; with its messages.
pub(super) fn timed(command: &mut Command) -> Result<Took> {
    let failed = |who: &Command, why: String| TrialError::worker(command_line(who), why);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let before = CpuTime::of_children()?;

    let start = Instant::now();
    let process = Process::start(command, Group::Shared);
    let mut process = process.map_err(|error| failed(command, error.to_string()))?;
    // Waits for the end; the clock is read as soon as it has come.
    let ended = AtomicBool::new(false);
    let id = process.id().to_string();
    let (status, seconds, peak_memory) = thread::scope(|scope| {
        let memory = scope.spawn(|| peak_memory_until(&ended, &id));
        let status = process.wait();
        let seconds = start.elapsed().as_secs_f64();
        ended.store(true, Ordering::Relaxed);
        (status, seconds, memory.join().ok().flatten())
    });
    let cpu = CpuTime::of_children()?.since(before);

    let status = status.map_err(|error| failed(command, error.to_string()))?;
    if status.success() {
        return Ok(Took { seconds, cpu, peak_memory });
    }
    let status = ::process::described(status);
    let why = format!("ended with {status}: {}", process.errors());
    Err(failed(command, why))
}

/// Returns the largest resident set that was seen. The last look counts, not the largest figure: a process that becomes
/// another program begins anew.
fn peak_memory_until(ended: &AtomicBool, process: &str) -> Option<f64> {
    let mut peak = None;
    loop {
        let seen = peak_memory_bytes_of(process);
        // After its end another process may have its number.
        if ended.load(Ordering::Relaxed) {
            return peak;
        }
        peak = seen.or(peak);
        thread::sleep(LOOK);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameters::Choice;

    #[test]
    fn a_tool_started_by_a_trial_is_what_pragmark_becomes() {
        let start = Start::of(Path::new("/bin/pragmark"));
        let command = start.command("sqlite3".as_ref());
        assert_eq!(command.get_program(), "/bin/pragmark");
        assert!(command.get_args().eq(["become", "sqlite3"]));
    }

    #[test]
    fn every_method_of_the_script_is_a_tool_and_no_other_is() {
        let known: Vec<&str> = Tool::ALL
            .iter()
            .filter_map(|(tool, ..)| match tool.kind() {
                Program::Python { method, .. } => Some(method),
                _ => None,
            })
            .collect();
        let list = SCRIPT
            .lines()
            .find_map(|line| line.strip_prefix("METHODS = ["))
            .and_then(|list| list.strip_suffix(']'))
            .unwrap();
        let methods: Vec<&str> = list.split(", ").collect();
        assert_eq!(known, methods);
    }

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn time_and_memory_are_those_of_the_process() {
        let took = timed(&mut shell("sleep 0.05")).unwrap();
        assert!(took.seconds >= 0.05);
        assert!(took.cpu.user >= 0.0 && took.cpu.system >= 0.0);
        if cfg!(target_os = "linux") {
            assert!(took.peak_memory.unwrap() > 100_000.0);
        }
    }

    #[test]
    fn a_process_that_fails_is_named_with_its_words() {
        let error = timed(&mut shell("echo no such column >&2; exit 4"));
        let error = error.err().unwrap().to_string();
        for part in ["sh -c", "4", "no such column"] {
            assert!(error.contains(part), "{error}");
        }
        let missing = answer(&mut Command::new("/no/such/tool")).unwrap_err();
        assert!(missing.contains("No such file"), "{missing}");
        assert_eq!(answer(&mut shell("echo 1.2")).unwrap(), "1.2");
    }
}

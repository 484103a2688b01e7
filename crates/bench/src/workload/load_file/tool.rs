//! The tools: how each is asked for its version, how it loads the file, and how one gets it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::process::{self, Took};
use super::{DATABASE, FILE};
use crate::error::TrialError;

/// The environment variable that names the Python whose libraries are measured.
pub(super) const PYTHON: &str = "PRAGMARK_PYTHON";

/// What loads by libraries of Python: a program for all of them, which names one.
const SCRIPT: &str = include_str!("peers.py");

/// The script's name in the directory of a trial.
const SCRIPT_NAME: &str = "peers.py";

/// The table, as every tool that does not make it itself is told to.
const CREATE: &str =
    "CREATE TABLE user(id INTEGER PRIMARY KEY, area CHAR(6), age INTEGER, active INTEGER)";

/// A program that loads a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tool {
    /// `pragmark load`, by this way.
    Pragmark(&'static str),
    /// SQLite's own shell.
    Shell,
    /// A library of Python.
    Python(Library),
}

/// A library of Python, as the script knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Library {
    method: &'static str,
    /// What pip is asked for; nothing for what comes with Python.
    packages: &'static str,
}

const fn python(method: &'static str, packages: &'static str) -> Tool {
    Tool::Python(Library { method, packages })
}

pub(super) const TOOLS: &[(&str, Tool)] = &[
    ("pragmark-pages", Tool::Pragmark("pages")),
    ("pragmark-arrays", Tool::Pragmark("arrays")),
    ("sqlite3-import", Tool::Shell),
    ("python-executemany", python("executemany", "")),
    ("pandas", python("pandas", "pandas")),
    ("sqlite-utils", python("sqlite_utils", "sqlite-utils")),
    ("adbc", python("adbc", "adbc-driver-sqlite pyarrow")),
    (
        "polars",
        python("polars", "polars adbc-driver-sqlite pyarrow"),
    ),
    ("duckdb", python("duckdb", "duckdb")),
];

/// What the tools are, for the list of parameters.
pub(super) const ABOUT: &str = "what loads the file: pragmark-pages and pragmark-arrays: pragmark load \
by that way; sqlite3-import: .import of SQLite's shell; python-executemany: csv and sqlite3 of Python's \
standard library; pandas: read_csv and to_sql; sqlite-utils: its insert; adbc: pyarrow's CSV reader and \
adbc_ingest; polars: read_csv and write_database by ADBC; duckdb: its sqlite extension. The Python is \
that of PRAGMARK_PYTHON, or python3 on the path";

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

    /// From a test, whose program is no pragmark.
    #[cfg(test)]
    pub(super) fn directly(python: &str) -> Start {
        Start {
            pragmark: PathBuf::new(),
            python: python.into(),
            ends_with_the_trial: false,
        }
    }

    /// The command for a program.
    ///
    /// Processes that a trial starts are stopped with it by whoever started the trial, unless that one
    /// is killed: then only what asked the kernel to end with its parent ends.
    fn command(&self, program: impl Into<OsString>) -> Command {
        let program = program.into();
        if !self.ends_with_the_trial {
            return Command::new(program);
        }
        let mut command = Command::new(&self.pragmark);
        command.arg("become").arg(program);
        command
    }
}

impl Tool {
    /// The tool at work in this directory.
    ///
    /// # Errors
    /// When the script cannot be put there.
    pub(super) fn in_directory<'s>(
        self,
        directory: &Path,
        start: &'s Start,
    ) -> Result<Ready<'s>, TrialError> {
        if let Tool::Python(_) = self {
            let path = directory.join(SCRIPT_NAME);
            std::fs::write(&path, SCRIPT).map_err(|source| TrialError::Io {
                doing: "write",
                path,
                source,
            })?;
        }
        Ok(Ready {
            tool: self,
            directory: directory.to_owned(),
            start,
        })
    }

    fn program(self, start: &Start) -> OsString {
        match self {
            Tool::Pragmark(_) => start.pragmark.clone().into_os_string(),
            Tool::Shell => "sqlite3".into(),
            Tool::Python(_) => start.python.clone(),
        }
    }

    /// The arguments with which it names its version, and fails where something is missing.
    fn question(self) -> Vec<String> {
        match self {
            Tool::Pragmark(_) | Tool::Shell => owned(&["--version"]),
            Tool::Python(library) => owned(&[SCRIPT_NAME, library.method]),
        }
    }

    /// The arguments with which it loads.
    fn arguments(self) -> Vec<String> {
        match self {
            Tool::Pragmark(way) => {
                let mut arguments = owned(&["load", FILE, DATABASE, "--table", "user", "--plain"]);
                arguments.extend(owned(&["--primary-key", "id", "--type", "area=CHAR(6)"]));
                arguments.extend(owned(&["--strategy", way]));
                arguments
            }
            Tool::Shell => owned(&[
                DATABASE,
                CREATE,
                &format!(".import --csv --skip 1 {FILE} user"),
            ]),
            Tool::Python(library) => owned(&[SCRIPT_NAME, library.method, FILE, DATABASE]),
        }
    }

    /// How one gets it.
    fn hint(self, start: &Start) -> String {
        let python = start.python.display();
        match self {
            Tool::Pragmark(_) => "it is this program".to_owned(),
            Tool::Shell => "install SQLite's shell, 3.32 or newer: `apt install sqlite3`, `dnf install sqlite` or `brew install sqlite`".to_owned(),
            Tool::Python(library) if library.packages.is_empty() => {
                format!("install Python 3.9 or newer, or name one by {PYTHON}")
            }
            Tool::Python(library) => format!(
                "`{python} -m pip install {}`, or name a Python that has it by {PYTHON}",
                library.packages
            ),
        }
    }
}

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// A tool in its directory.
pub(super) struct Ready<'s> {
    tool: Tool,
    directory: PathBuf,
    start: &'s Start,
}

impl Ready<'_> {
    fn command(&self, arguments: Vec<String>) -> Command {
        let mut command = self.start.command(self.tool.program(self.start));
        command.args(arguments).current_dir(&self.directory);
        command
    }

    /// What the tool says that it is.
    ///
    /// # Errors
    /// [`TrialError::CannotRun`] with how to get it, where it does not answer.
    pub(super) fn version(&self) -> Result<String, TrialError> {
        let program = self.tool.program(self.start);
        process::answer(&mut self.command(self.tool.question())).map_err(|why| {
            TrialError::CannotRun(format!(
                "{} cannot be used for this: {why}; {}",
                program.display(),
                self.tool.hint(self.start)
            ))
        })
    }

    /// Loads the file, and says what that took.
    ///
    /// # Errors
    /// The tool fails.
    pub(super) fn load(&self) -> Result<Took, TrialError> {
        process::timed(&mut self.command(self.tool.arguments()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_started_by_a_trial_is_what_pragmark_becomes() {
        let start = Start::of(Path::new("/bin/pragmark"));
        let command = start.command("sqlite3");
        assert_eq!(command.get_program(), "/bin/pragmark");
        assert!(command.get_args().eq(["become", "sqlite3"]));
    }

    #[test]
    fn every_method_of_the_script_is_a_tool_and_no_other_is() {
        let known: Vec<&str> = TOOLS
            .iter()
            .filter_map(|(_, tool)| match tool {
                Tool::Python(library) => Some(library.method),
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
}

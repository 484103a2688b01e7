//! The programs that experiments and drivers need: which of them are here, and how to get the others.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use process::{Group, Limits};

use super::search_path::{directories, find_executable};

/// How long a tool may take to print its version.
pub const VERSION_TIMEOUT: Duration = Duration::from_secs(2);

/// A program that was searched for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tool {
    /// Its name in words, for example `C compiler`.
    pub name: String,
    /// Where it is; `None` if it was not found.
    pub found: Option<PathBuf>,
    /// The first line of its answer when asked for its version; `None` if it was not found, failed, or
    /// took longer than [`VERSION_TIMEOUT`].
    pub version: Option<String>,
    /// Its purpose and how to install it.
    pub hint: String,
}

/// A program to search for. Lists are separated by spaces.
#[derive(Debug, Clone, Copy, Default)]
pub struct ToolQuery<'a> {
    /// Its name in words.
    pub name: &'a str,
    /// The names that its executable may have, the preferred one first.
    pub commands: &'a str,
    /// Executables that must be in the same directory.
    pub companions: &'a str,
    /// The argument by which it prints its version.
    pub version: &'a str,
    /// Directories to search after `PATH`; one `*` in each stands for part of a name.
    pub directories: &'a str,
    /// Its purpose and how to install it.
    pub hint: &'a str,
}

/// The tools that pragmark itself uses; manifests name the tools of drivers.
const TOOLS: [ToolQuery<'static>; 4] = [
    ToolQuery {
        name: "C compiler",
        commands: "cc gcc clang",
        companions: "",
        version: "--version",
        directories: "/usr/bin /usr/local/bin /opt/homebrew/bin",
        hint: "compiles other SQLite versions and options; install it with \
               `apt install build-essential`, `dnf install gcc` or `xcode-select --install`",
    },
    ToolQuery {
        name: "Cargo",
        commands: "cargo",
        companions: "",
        version: "--version",
        directories: "/usr/bin /usr/local/bin /opt/homebrew/bin",
        hint: "fetches the source of other SQLite versions; install Rust from https://rustup.rs",
    },
    ToolQuery {
        name: "sqlite3 shell",
        commands: "sqlite3",
        companions: "",
        version: "--version",
        directories: "/usr/bin /usr/local/bin /opt/homebrew/opt/sqlite/bin",
        hint: "inspects databases by hand; install it with `apt install sqlite3`, \
               `dnf install sqlite` or `brew install sqlite`",
    },
    ToolQuery {
        name: "PostgreSQL server",
        commands: "initdb",
        companions: "postgres",
        version: "--version",
        directories: "/usr/lib/postgresql/*/bin /usr/pgsql-*/bin /usr/local/pgsql/bin \
                      /opt/homebrew/opt/postgresql@*/bin /usr/local/opt/postgresql@*/bin \
                      /Applications/Postgres.app/Contents/Versions/*/bin",
        hint: "is compared with SQLite; install it with `apt install postgresql`, \
               `dnf install postgresql-server` or `brew install postgresql`",
    },
];

/// Searches for pragmark's own tools, then for others, along `PATH` and in the usual directories, and asks
/// those that are found for their version, all at once; takes at most a little over [`VERSION_TIMEOUT`].
pub fn find_tools(others: &[ToolQuery<'_>]) -> Vec<Tool> {
    let path = std::env::var_os("PATH");
    let path = path.as_deref();
    thread::scope(|scope| {
        let search = |query| scope.spawn(move || ToolQuery::find(query, path));
        let searches: Vec<_> = TOOLS.iter().chain(others).map(search).collect();
        let found = searches.into_iter().map(thread::ScopedJoinHandle::join);
        found.filter_map(Result::ok).collect()
    })
}

/// The path of the tool of this name, without asking it for its version.
///
/// # Errors
/// Its purpose and how to install it.
pub fn find_program(name: &str) -> Result<PathBuf, &'static str> {
    let query = TOOLS.iter().find(|query| query.name == name);
    let query = query.ok_or("is a tool that pragmark does not know")?;
    let path = std::env::var_os("PATH");
    query.executable(path.as_deref()).ok_or(query.hint)
}

impl ToolQuery<'_> {
    fn find(&self, path: Option<&OsStr>) -> Tool {
        let found = self.executable(path);
        Tool {
            name: self.name.to_owned(),
            // A tool that does not report its version still counts as found.
            version: found
                .as_deref()
                .and_then(|program| first_line(program, &[self.version], VERSION_TIMEOUT)),
            found,
            hint: self.hint.to_owned(),
        }
    }

    fn executable(&self, path: Option<&OsStr>) -> Option<PathBuf> {
        let [commands, companions, usual] = [self.commands, self.companions, self.directories]
            .map(|list| list.split_whitespace().collect::<Vec<_>>());
        find_executable(&directories(path, &usual), &commands, &companions)
    }
}

/// The first line that a program writes, to standard output or else to standard error; `None` if it
/// cannot be run, fails, writes nothing, or is not done in time and is therefore killed.
fn first_line(program: &Path, arguments: &[&str], timeout: Duration) -> Option<String> {
    let mut command = Command::new(program);
    command.args(arguments);
    let answer = process::run(&mut command, Group::Own, &Limits::time(timeout)).ok()?;
    // Some colour their words even where nobody reads them on a terminal.
    let text = format!("{}\n{}", answer.text(), answer.errors);
    let text = anstream::adapter::strip_str(&text).to_string();
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.next().filter(|_| answer.end.is_success()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, timeout: Duration) -> Option<String> {
        first_line(Path::new("/bin/sh"), &["-c", script], timeout)
    }

    #[test]
    fn the_version_is_the_first_line_on_either_stream() {
        let long = Duration::from_secs(60);
        assert_eq!(shell("echo; echo ' tool 1.2 '; echo more", long).as_deref(), Some("tool 1.2"));
        assert_eq!(shell("echo old >&2", long).as_deref(), Some("old"));
        assert_eq!(shell("echo warning >&2; echo new", long).as_deref(), Some("new"));
    }

    #[test]
    fn a_tool_that_fails_or_is_silent_has_no_version() {
        let long = Duration::from_secs(60);
        assert_eq!(shell("echo broken; exit 1", long), None);
        assert_eq!(shell("true", long), None);
    }

    #[test]
    fn a_tool_that_hangs_has_no_version() {
        let limit = Duration::from_millis(30);
        assert_eq!(shell("echo 1.0; sleep 600 & wait", limit), None);
    }

    #[test]
    fn a_tool_that_is_nowhere_is_reported_with_its_hint() {
        let nowhere =
            ToolQuery { commands: "no-such-command", directories: "/no/such/place", ..TOOLS[0] };
        let tool = nowhere.find(Some(OsStr::new("/no/such/path")));
        assert_eq!(tool.found, None);
        assert_eq!(tool.version, None);
        assert!(tool.hint.contains("install"));
    }

    #[test]
    fn every_tool_is_listed_whether_it_is_here_or_not() {
        let other = ToolQuery { name: "shell", commands: "sh", ..ToolQuery::default() };
        let tools = find_tools(&[other]);
        let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names[..4], TOOLS.map(|query| query.name));
        assert_eq!(names[4..], ["shell"]);
        assert!(tools[4].found.is_some());
        assert!(tools.iter().all(|tool| tool.found.is_some() || tool.version.is_none()));
    }
}

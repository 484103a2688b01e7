//! The programs that some experiments need, which of them are here, and how to get the others.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use process::{Group, Limits};

use super::search_path::{directories, find_executable};

/// How long a tool may take to say its version.
pub const VERSION_TIMEOUT: Duration = Duration::from_secs(2);

/// A program that was looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tool {
    /// What it is called by people, for example `C compiler`.
    pub name: &'static str,
    /// Where it is; `None` if it was not found.
    pub found: Option<PathBuf>,
    /// The first line of what it says about its version; `None` if it was not found, failed, or took
    /// longer than [`VERSION_TIMEOUT`].
    pub version: Option<String>,
    /// What it is needed for and how to install it.
    pub hint: &'static str,
}

/// A program to look for.
struct Sought {
    name: &'static str,
    commands: &'static [&'static str],
    companions: &'static [&'static str],
    version_arguments: &'static [&'static str],
    usual_places: &'static [&'static str],
    hint: &'static str,
}

const SYSTEM: &[&str] = &["/usr/bin", "/usr/local/bin", "/opt/homebrew/bin"];

const SOUGHT: [Sought; 9] = [
    Sought {
        name: "C compiler",
        commands: &["cc", "gcc", "clang"],
        companions: &[],
        version_arguments: &["--version"],
        usual_places: SYSTEM,
        hint: "compiles other SQLite versions and options; install it with \
               `apt install build-essential`, `dnf install gcc` or `xcode-select --install`",
    },
    Sought {
        name: "Cargo",
        commands: &["cargo"],
        companions: &[],
        version_arguments: &["--version"],
        usual_places: SYSTEM,
        hint: "fetches the source of other SQLite versions; install Rust from https://rustup.rs",
    },
    Sought {
        name: "sqlite3 shell",
        commands: &["sqlite3"],
        companions: &[],
        version_arguments: &["--version"],
        usual_places: &["/usr/bin", "/usr/local/bin", "/opt/homebrew/opt/sqlite/bin"],
        hint: "inspects databases by hand; install it with `apt install sqlite3`, \
               `dnf install sqlite` or `brew install sqlite`",
    },
    Sought {
        name: "PostgreSQL server",
        commands: &["initdb"],
        companions: &["postgres"],
        version_arguments: &["--version"],
        usual_places: &[
            "/usr/lib/postgresql/*/bin",
            "/usr/pgsql-*/bin",
            "/usr/local/pgsql/bin",
            "/opt/homebrew/opt/postgresql@*/bin",
            "/usr/local/opt/postgresql@*/bin",
            "/Applications/Postgres.app/Contents/Versions/*/bin",
        ],
        hint: "is compared with SQLite; install it with `apt install postgresql`, \
               `dnf install postgresql-server` or `brew install postgresql`",
    },
    Sought {
        name: "Ruby",
        commands: &["ruby"],
        companions: &[],
        version_arguments: &["--version"],
        usual_places: SYSTEM,
        hint: "drives SQLite through ActiveRecord; install it with `apt install ruby-full`, \
               `dnf install ruby-devel` or `brew install ruby`",
    },
    Sought {
        name: "Python",
        commands: &["python3"],
        companions: &[],
        version_arguments: &["--version"],
        usual_places: SYSTEM,
        hint: "drives SQLite through its sqlite3 module; install it with `apt install python3`, \
               `dnf install python3` or `brew install python`",
    },
    Sought {
        name: "Go",
        commands: &["go"],
        companions: &[],
        version_arguments: &["version"],
        usual_places: &["/usr/local/go/bin", "/usr/bin", "/opt/homebrew/bin"],
        hint: "drives SQLite through Go's bindings; install it with `apt install golang`, \
               `dnf install golang` or `brew install go`",
    },
    Sought {
        name: "Java",
        commands: &["java"],
        companions: &[],
        version_arguments: &["-version"],
        usual_places: &["/usr/bin", "/opt/homebrew/opt/openjdk/bin"],
        hint: "drives SQLite through JDBC; install it with `apt install default-jdk`, \
               `dnf install java-latest-openjdk-devel` or `brew install openjdk`",
    },
    Sought {
        name: "Node.js",
        commands: &["node", "nodejs"],
        companions: &[],
        version_arguments: &["--version"],
        usual_places: SYSTEM,
        hint: "drives SQLite through better-sqlite3 or node:sqlite; install it with \
               `apt install nodejs npm`, `dnf install nodejs` or `brew install node`",
    },
];

/// Looks for every tool along `PATH` and in the usual places, and asks those that are found for
/// their version, all at once; takes at most a little over [`VERSION_TIMEOUT`].
pub fn find_tools() -> Vec<Tool> {
    let path = std::env::var_os("PATH");
    thread::scope(|scope| {
        let searches: Vec<_> = SOUGHT
            .iter()
            .map(|sought| {
                let path = path.as_deref();
                (sought, scope.spawn(move || find(sought, path)))
            })
            .collect();
        searches
            .into_iter()
            .map(|(sought, search)| search.join().unwrap_or_else(|_| sought.not_found()))
            .collect()
    })
}

/// Where the tool of this name is, without asking it for its version.
///
/// # Errors
/// What it is needed for and how to install it.
pub fn find_program(name: &str) -> Result<PathBuf, &'static str> {
    let sought = SOUGHT.iter().find(|sought| sought.name == name);
    let sought = sought.ok_or("is a tool that pragmark does not know")?;
    let path = std::env::var_os("PATH");
    let directories = directories(path.as_deref(), sought.usual_places);
    find_executable(&directories, sought.commands, sought.companions).ok_or(sought.hint)
}

impl Sought {
    fn not_found(&self) -> Tool {
        Tool {
            name: self.name,
            found: None,
            version: None,
            hint: self.hint,
        }
    }
}

fn find(sought: &Sought, path: Option<&OsStr>) -> Tool {
    let directories = directories(path, sought.usual_places);
    match find_executable(&directories, sought.commands, sought.companions) {
        Some(program) => Tool {
            // A tool that does not say its version is there all the same.
            version: first_line(&program, sought.version_arguments, VERSION_TIMEOUT),
            found: Some(program),
            ..sought.not_found()
        },
        None => sought.not_found(),
    }
}

/// The first line that a program writes, to standard output or else to standard error; `None` if it
/// cannot be run, fails, writes nothing, or is not done in time and is therefore killed.
fn first_line(program: &Path, arguments: &[&str], timeout: Duration) -> Option<String> {
    let mut command = Command::new(program);
    command.args(arguments);
    let answer = process::run(&mut command, Group::Own, &Limits::time(timeout)).ok()?;
    let text = format!("{}\n{}", answer.text(), answer.errors);
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines
        .next()
        .filter(|_| answer.end.is_success())
        .map(str::to_owned)
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
        assert_eq!(
            shell("echo; echo ' tool 1.2 '; echo more", long).as_deref(),
            Some("tool 1.2")
        );
        assert_eq!(shell("echo old >&2", long).as_deref(), Some("old"));
        assert_eq!(
            shell("echo warning >&2; echo new", long).as_deref(),
            Some("new")
        );
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
        let nowhere = Sought {
            name: "Nothing",
            commands: &["no-such-command"],
            usual_places: &["/no/such/place"],
            ..SOUGHT[0]
        };
        let tool = find(&nowhere, Some(OsStr::new("/no/such/path")));
        assert_eq!(tool.found, None);
        assert_eq!(tool.version, None);
        assert!(tool.hint.contains("install"));
    }

    #[test]
    fn every_tool_is_listed_whether_it_is_here_or_not() {
        let tools = find_tools();
        let names: Vec<&str> = tools.iter().map(|tool| tool.name).collect();
        assert_eq!(names, SOUGHT.each_ref().map(|sought| sought.name));
        assert!(
            tools
                .iter()
                .all(|tool| tool.found.is_some() || tool.version.is_none())
        );
    }
}

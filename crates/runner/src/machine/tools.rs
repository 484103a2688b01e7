//! The programs that experiments and drivers need: which of them are here, and how to get the others.

use std::cmp::Reverse;
use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use std::{fs, thread};

use process::{Group, Limits};

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
        searches.into_iter().map(thread::ScopedJoinHandle::join).filter_map(Result::ok).collect()
    })
}

/// Returns the path of the tool of this name, without asking it for its version.
///
/// # Errors
/// Its purpose and how to install it.
pub fn find_program(name: &str) -> Result<PathBuf, &'static str> {
    let query = TOOLS.iter().find(|query| query.name == name);
    let query = query.ok_or("is a tool that pragmark does not know")?;
    query.executable(std::env::var_os("PATH").as_deref()).ok_or(query.hint)
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
        first_executable(&directories(path, &usual), &commands, &companions)
    }
}

/// Returns the first line that a program writes, to standard output or else to standard error; `None` if it cannot be
/// run, fails, writes nothing, or is not done in time and is therefore killed.
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

/// Returns the first directory in which one of `commands` is executable, together with all `companions`; gives the path
/// of the command. Names are tried in the order given, each in every directory.
pub(super) fn first_executable(
    directories: &[PathBuf],
    commands: &[&str],
    companions: &[&str],
) -> Option<PathBuf> {
    commands.iter().find_map(|command| {
        directories
            .iter()
            .filter(|directory| {
                companions.iter().all(|companion| is_executable(&directory.join(companion)))
            })
            .map(|directory| directory.join(command))
            .find(|path| is_executable(path))
    })
}

/// Returns the directories of `PATH`, then those that match `usual`.
pub(super) fn directories(path: Option<&OsStr>, usual: &[&str]) -> Vec<PathBuf> {
    let on_path = path.into_iter().flat_map(std::env::split_paths);
    on_path
        .filter(|directory| directory.is_absolute())
        .chain(usual.iter().flat_map(|pattern| expand(pattern)))
        .collect()
}

/// Returns the executable of this name as a shell finds it: a bare name is searched for along `PATH`, also in its relative folders.
pub fn find_executable(name: &Path) -> Option<PathBuf> {
    if name.components().count() > 1 {
        return Some(name.to_owned()).filter(|path| is_executable(path));
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|path| is_executable(path))
}

fn is_executable(path: &Path) -> bool {
    fs::metadata(path)
        .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

/// Returns the directories that match a pattern with at most one `*`, which stands for part of one name: the highest
/// version first.
fn expand(pattern: &str) -> Vec<PathBuf> {
    let Some((before, after)) = pattern.split_once('*') else { return vec![pattern.into()] };
    let (parent, prefix) = before.rsplit_once('/').unwrap_or((".", before));
    let (suffix, below) = after.split_once('/').unwrap_or((after, ""));
    let Ok(entries) = fs::read_dir(parent) else { return Vec::new() };
    let mut matches: Vec<(Vec<u32>, PathBuf)> = entries
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let version = name.strip_prefix(prefix)?.strip_suffix(suffix)?;
            Some((numbers(version), entry.path().join(below)))
        })
        .collect();
    matches.sort_by_key(|entry| Reverse(entry.clone()));
    matches.into_iter().map(|(_, path)| path).collect()
}

/// Returns the numbers in a version, so that 16 comes after 9.6.
fn numbers(version: &str) -> Vec<u32> {
    version.split(|c: char| !c.is_ascii_digit()).filter_map(|part| part.parse().ok()).collect()
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

    fn executable(path: &Path) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    #[test]
    fn the_path_comes_before_the_usual_places_and_higher_versions_first() {
        let root = tempfile::tempdir().unwrap();
        let at = |path: &str| root.path().join(path);
        for directory in ["pg/9.6/bin", "pg/16/bin", "pg/15/bin"] {
            fs::create_dir_all(at(directory)).unwrap();
        }
        let usual = at("pg/*/bin").display().to_string();
        let on_path = std::env::join_paths([at("first"), "relative".into()]).unwrap();
        assert_eq!(
            directories(Some(&on_path), &[&usual, "/plain"]),
            [at("first"), at("pg/16/bin"), at("pg/15/bin"), at("pg/9.6/bin"), "/plain".into()]
        );
        assert!(directories(None, &["/no/such/*/bin"]).is_empty());
    }

    #[test]
    fn a_star_may_be_part_of_a_name() {
        let root = tempfile::tempdir().unwrap();
        for directory in ["pgsql-13", "pgsql-17", "other-18"] {
            fs::create_dir_all(root.path().join(directory)).unwrap();
        }
        let pattern = root.path().join("pgsql-*/bin").display().to_string();
        assert_eq!(
            expand(&pattern),
            [root.path().join("pgsql-17/bin"), root.path().join("pgsql-13/bin")]
        );
    }

    #[test]
    fn what_is_not_executable_is_passed_over() {
        let root = tempfile::tempdir().unwrap();
        let (a, b) = (root.path().join("a"), root.path().join("b"));
        fs::create_dir_all(a.join("tool")).unwrap();
        executable(&b.join("tool"));
        fs::write(a.join("plain"), "").unwrap();
        let directories = [a, b.clone()];
        assert_eq!(first_executable(&directories, &["tool"], &[]), Some(b.join("tool")));
        assert_eq!(first_executable(&directories, &["plain"], &[]), None);
    }

    #[test]
    fn companions_must_be_in_the_same_directory() {
        let root = tempfile::tempdir().unwrap();
        let (a, b) = (root.path().join("a"), root.path().join("b"));
        executable(&a.join("initdb"));
        executable(&b.join("initdb"));
        executable(&b.join("pg_ctl"));
        assert_eq!(
            first_executable(&[a, b.clone()], &["initdb"], &["pg_ctl"]),
            Some(b.join("initdb"))
        );
    }

    #[test]
    fn the_first_name_is_preferred_wherever_it_is() {
        let root = tempfile::tempdir().unwrap();
        let (a, b) = (root.path().join("a"), root.path().join("b"));
        executable(&a.join("clang"));
        executable(&b.join("cc"));
        assert_eq!(first_executable(&[a, b.clone()], &["cc", "clang"], &[]), Some(b.join("cc")));
    }
}

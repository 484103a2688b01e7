#![forbid(unsafe_code)]
//! What the tests of several crates share: saying that one was not run, and finding programs and libraries.

use std::ffi::OsStr;
use std::fmt::Display;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Reports that the calling test cannot run on this machine, which the test harness would count as passed.
///
/// If `PRAGMARK_SKIPPED_TESTS` names a file, a line of package, test program and test is added to it, from which
/// `.ci/run` runs the test again where everything is installed.
///
/// # Panics
/// If `CI` is set: there every test must run, so that none is skipped unnoticed.
pub fn skip(why: impl Display) {
    let must_run = must_run(std::env::var_os("CI").as_deref());
    assert!(!must_run, "skipped, though CI is set: {why}");
    eprintln!("skipped: {why}");
    if let Some(file) = std::env::var_os("PRAGMARK_SKIPPED_TESTS") {
        note_skipped(Path::new(&file)).expect("the list of skipped tests can be written");
    }
}

/// Adds the calling test to the list of skipped tests. The harness names a test's thread after the test.
fn note_skipped(file: &Path) -> std::io::Result<()> {
    let package = std::env::var("CARGO_PKG_NAME").expect("cargo runs the tests");
    let program = std::env::current_exe()?;
    let thread = std::thread::current();
    let line = format!(
        "{package}\t{}\t{}\n",
        program.file_stem().unwrap_or_default().display(),
        thread.name().expect("a test has a name"),
    );
    // One write of a short line to a file opened for appending is not mixed with those of other processes.
    OpenOptions::new().create(true).append(true).open(file)?.write_all(line.as_bytes())
}

/// Whether there is a Python with `sqlite3`; says that the calling test cannot run where there is none.
///
/// # Panics
/// As [`skip`].
pub fn has_python() -> bool {
    let output = Command::new("python3").args(["-c", "import sqlite3"]).output();
    let has = output.is_ok_and(|output| output.status.success());
    if !has {
        skip("there is no Python with sqlite3 here");
    }
    has
}

/// Whether there is the sqlite3 shell; says that the calling test cannot run where there is none.
///
/// # Panics
/// As [`skip`].
pub fn has_sqlite_shell() -> bool {
    let has = Command::new("sqlite3").arg("--version").output().is_ok();
    if !has {
        skip("there is no sqlite3 shell here");
    }
    has
}

/// A Python whose `sqlite3` can load extensions: some are built without that, so the system's own is tried, too.
pub fn python_with_extensions() -> Option<&'static str> {
    const TRIED: &str = "import sqlite3; sqlite3.Connection.enable_load_extension";
    let can = |python: &&str| {
        let output = Command::new(python).args(["-c", TRIED]).output();
        output.is_ok_and(|output| output.status.success())
    };
    ["python3", "/usr/bin/python3"].into_iter().find(can)
}

/// A file that cargo builds next to the calling test program, or one folder above, as `examples/NAME`.
///
/// # Panics
/// Where it is not there.
pub fn built(file: &str) -> PathBuf {
    let program = std::env::current_exe().expect("a test knows its program");
    let folders = program.ancestors().skip(1).take(2);
    let mut paths = folders.map(|folder| folder.join(file));
    let path = paths.find(|path| path.exists());
    path.unwrap_or_else(|| panic!("{file} is not next to {}", program.display()))
}

/// A shared library that cargo builds next to the calling test program, by its name without what the system adds.
///
/// # Panics
/// As [`built`].
pub fn shared_library(name: &str) -> PathBuf {
    use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
    built(&format!("{DLL_PREFIX}{name}{DLL_SUFFIX}"))
}

/// Whether this value of `CI` says that every test must run.
fn must_run(ci: Option<&OsStr>) -> bool {
    ci.is_some_and(|ci| !["", "0", "false"].iter().any(|off| ci == *off))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_must_run_where_ci_is_set() {
        for (ci, must) in [("1", true), ("true", true), ("0", false), ("", false)] {
            assert_eq!(must_run(Some(OsStr::new(ci))), must, "{ci}");
        }
        assert!(!must_run(None));
    }
}

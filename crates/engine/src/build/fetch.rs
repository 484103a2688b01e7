//! Getting the source of a version through cargo, which has the crates that pragmark was built with
//! and can fetch others.

use super::error::{self, BuildError, Context, Result};
use super::release::Release;
use process::Finished;
use serde::Deserialize;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;
use tempfile::TempDir;

/// Returns the amalgamation of a version from cargo's own store of sources; asks the registry only if it is not there. `cargo` is the
/// command.
///
/// # Errors
/// Cargo is not there or cannot fetch it; the release carries another version than it should.
pub(super) fn source(
    cargo: &str,
    release: &'static Release,
    cancelled: &AtomicBool,
) -> Result<PathBuf> {
    let project = project(release)?;
    let run = |arguments: &[&str]| {
        let mut command = Command::new(cargo);
        command.args(arguments).arg("--quiet").current_dir(project.path());
        error::run(&mut command, "cargo", cancelled)
    };
    let succeeded = |finished: Finished| {
        let Finished { end, output, errors, .. } = finished;
        if end.is_success() { Ok(output) } else { Err(failed(release, errors)) }
    };
    if !run(&["fetch", "--offline"])?.end.is_success() {
        succeeded(run(&["fetch"])?)?;
    }
    let answer = succeeded(run(&["metadata", "--offline", "--format-version", "1"])?)?;
    let metadata: Metadata = serde_json::from_slice(&answer)
        .map_err(|error| failed(release, format!("its answer is not understood: {error}")))?;
    let package = metadata
        .packages
        .into_iter()
        .find(|package| package.name == release.package)
        .ok_or_else(|| failed(release, "its answer does not name the crate".to_owned()))?;
    let source = package.manifest_path.with_file_name(release.source);
    check_version(&source, release)?;
    Ok(source)
}

/// The part of cargo's answer that is used (<https://doc.rust-lang.org/cargo/commands/cargo-metadata.html>).
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    manifest_path: PathBuf,
}

/// Returns a project that depends on the release and on nothing else. Two releases cannot be had in one,
/// because both say that they link SQLite.
fn project(release: &Release) -> Result<TempDir> {
    let place = std::env::temp_dir();
    let project = tempfile::Builder::new()
        .prefix("pragmark-fetch-")
        .tempdir()
        .context("create a directory in", &place)?;
    let manifest = project.path().join("Cargo.toml");
    // The table [workspace] keeps cargo from looking for one in the directories above.
    let text = format!(
        "[package]\nname = \"fetch\"\nversion = \"0.0.0\"\nedition = \"2021\"\n\n[workspace]\n\n\
         [dependencies]\n{} = \"={}\"\n",
        release.package, release.crate_version
    );
    fs::write(&manifest, text).context("write", &manifest)?;
    let library = project.path().join("src/lib.rs");
    fs::create_dir(project.path().join("src")).context("create", &library)?;
    fs::write(&library, "").context("write", &library)?;
    Ok(project)
}

fn failed(release: &'static Release, said: String) -> BuildError {
    let Release { version, package, crate_version, .. } = release;
    BuildError::Fetch(format!(
        "cargo cannot fetch {package} {crate_version}, which carries SQLite {version}: {said}"
    ))
}

/// Compares the version that the header of the source defines with the one the table promises.
fn check_version(source: &Path, release: &'static Release) -> Result<()> {
    let header = source.with_file_name("sqlite3.h");
    let text = fs::read_to_string(&header).context("read", &header)?;
    let found = defined_version(&text).unwrap_or("of no version");
    if found == release.version {
        return Ok(());
    }
    Err(other_version(release, found))
}

/// Returns the error of a release that carries another version than the table says.
pub(super) fn other_version(release: &Release, found: &str) -> BuildError {
    let Release { version, package, crate_version, .. } = release;
    BuildError::Failed(format!("{package} {crate_version} carries SQLite {found}, not {version}"))
}

fn defined_version(header: &str) -> Option<&str> {
    header.lines().find_map(|line| line.strip_prefix("#define SQLITE_VERSION "))?.split('"').nth(1)
}

#[cfg(test)]
mod tests {
    use super::super::release::RELEASES;
    use super::*;

    #[test]
    fn cargo_has_the_source_of_the_version_that_is_built_in() {
        let cargo = std::env::var("CARGO").expect("cargo runs the tests");
        let source = super::source(&cargo, &RELEASES[0], &AtomicBool::new(false)).expect("found");
        assert!(source.is_file());
    }

    #[test]
    fn another_version_than_the_promised_one_is_refused() {
        let directory = tempfile::tempdir().expect("a directory");
        let header =
            "#define SQLITE_VERSION        \"3.1.4\"\n#define SQLITE_VERSION_NUMBER 3001004\n";
        fs::write(directory.path().join("sqlite3.h"), header).expect("writes");
        let error = check_version(&directory.path().join("sqlite3.c"), &RELEASES[0]);
        let text = error.expect_err("another").to_string();
        assert!(text.contains("3.1.4") && text.contains(RELEASES[0].version), "{text}");
    }

    #[test]
    fn a_cargo_that_fails_is_quoted_and_one_that_is_not_there_is_named() {
        let never = AtomicBool::new(false);
        let source = |program: &str| {
            let error = super::source(program, &RELEASES[0], &never);
            error.expect_err("no source").to_string()
        };
        assert!(source("/no/such/cargo").contains("/no/such/cargo"));
        let directory = tempfile::tempdir().expect("a directory");
        let script = directory.path().join("cargo");
        fs::write(&script, "#!/bin/sh\necho no network >&2\nexit 101\n").expect("writes");
        let mut permissions = fs::metadata(&script).expect("there").permissions();
        std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o755);
        fs::set_permissions(&script, permissions).expect("allowed");
        let text = source(&script.display().to_string());
        assert!(text.contains("no network") && text.contains(RELEASES[0].version), "{text}");
    }
}

//! Real servers, where PostgreSQL is installed; a word where not.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::sync::atomic::AtomicBool;

use lab::trial::Outcome;
use tempfile::TempDir;

use super::*;

static NEVER: AtomicBool = AtomicBool::new(false);

/// Returns a directory that the server's user may enter.
fn open_directory() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    let open = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(directory.path(), open).unwrap();
    directory
}

/// Returns the address, or nothing where this machine has no server.
fn started(servers: &mut Servers, directory: &Path) -> Option<String> {
    match servers.uri(directory, "test", &NEVER) {
        Ok(uri) => Some(uri),
        Err(error) => match error.outcome() {
            Some(Outcome::Skipped { why }) => {
                eprintln!("not tested: {why}");
                None
            }
            _ => panic!("{error}"),
        },
    }
}

fn socket(uri: &str) -> PathBuf {
    let (_, host) = uri.split_once("host=").unwrap();
    let host = host.split('&').next().unwrap().replace("%2F", "/");
    Path::new(&host).join(".s.PGSQL.5432")
}

#[test]
fn one_server_serves_a_directory_and_nothing_is_left_of_it() {
    let directory = open_directory();
    let mut servers = Servers::default();
    let Some(uri) = started(&mut servers, directory.path()) else { return };
    assert_eq!(started(&mut servers, directory.path()).unwrap(), uri);
    let socket = socket(&uri);
    assert!(UnixStream::connect(&socket).is_ok());
    servers.stop();
    assert!(UnixStream::connect(&socket).is_err());
    assert!(!socket.parent().unwrap().exists());
    assert_eq!(directory.path().read_dir().unwrap().count(), 0);
}

#[test]
fn a_server_that_died_is_told_with_its_last_words_and_replaced() {
    let directory = open_directory();
    let mut servers = Servers::default();
    let Some(uri) = started(&mut servers, directory.path()) else { return };
    let home = servers.clusters[directory.path()].home();
    let pid = std::fs::read_to_string(home.join("postmaster.pid")).unwrap();
    let pid: i32 = pid.lines().next().unwrap().parse().unwrap();
    rustix::process::kill_process(
        rustix::process::Pid::from_raw(pid).unwrap(),
        rustix::process::Signal::QUIT,
    )
    .unwrap();
    let gone = (0..1_000).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(10));
        UnixStream::connect(socket(&uri)).is_err()
    });
    assert!(gone);
    let failed = Outcome::failed("connection closed");
    let explained = servers.explained(directory.path(), failed).problem().unwrap();
    assert!(explained.contains("connection closed; the PostgreSQL server has ended"));
    assert!(explained.contains("immediate shutdown"), "{explained}");
    let other = started(&mut servers, directory.path()).unwrap();
    assert_ne!(other, uri);
    assert!(UnixStream::connect(socket(&other)).is_ok());
}

#[test]
fn a_run_that_was_stopped_starts_no_server() {
    let directory = open_directory();
    let stopped = AtomicBool::new(true);
    let error = Servers::default().uri(directory.path(), "test", &stopped);
    match error.unwrap_err() {
        ServerError::Cancelled => {}
        other => assert!(matches!(other.outcome(), Some(Outcome::Skipped { .. }))),
    }
    assert_eq!(directory.path().read_dir().unwrap().count(), 0);
}

#[test]
fn a_server_of_the_users_is_passed_on_as_it_was_given() {
    let mut servers =
        Servers { given: Some("postgresql://host/db".to_owned()), ..Servers::default() };
    let uri = servers.uri(Path::new("/nowhere"), "test", &NEVER).unwrap();
    assert_eq!(uri, "postgresql://host/db");
    let failed = Outcome::failed("refused");
    let explained = servers.explained(Path::new("/nowhere"), failed.clone());
    assert_eq!(explained, failed);
}

#[test]
fn without_a_server_the_trial_is_skipped_with_what_to_install() {
    let outcome =
        ServerError::NotInstalled("is compared; install it with `apt install postgresql`");
    let problem = outcome.outcome().unwrap().problem().unwrap();
    assert!(problem.starts_with("skipped") && problem.contains("apt install"));
}

/// A program that does this, in a directory of programs.
fn program(programs: &Path, name: &str, does: &str) {
    let path = programs.join(name);
    std::fs::write(&path, format!("#!/bin/sh\n{does}\n")).unwrap();
    let executable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(&path, executable).unwrap();
}

#[test]
fn a_server_that_ends_at_once_is_not_waited_for_and_leaves_nothing() {
    let (programs, directory) = (open_directory(), open_directory());
    program(programs.path(), "initdb", "exit 0");
    program(programs.path(), "postgres", "echo no such setting; exit 3");
    let began = std::time::Instant::now();
    let started = Cluster::start(programs.path(), directory.path(), "test", &NEVER);
    let error = started.unwrap_err();
    if let Some(Outcome::Skipped { why }) = error.outcome() {
        eprintln!("not tested: {why}");
        return;
    }
    let said = error.to_string();
    assert!(said.contains("ended before it was ready"), "{said}");
    assert!(said.contains("exit code 3"), "{said}");
    assert!(said.contains("no such setting"), "{said}");
    assert!(began.elapsed().as_secs() < 30);
    assert_eq!(directory.path().read_dir().unwrap().count(), 0);
}

#[test]
fn what_a_program_refused_is_remembered_for_the_directory() {
    let mut servers = Servers::default();
    let [refused, other] = ["/refused", "/other"].map(Path::new);
    let error = ServerError::Program {
        program: "postgres",
        how: "ended".to_owned(),
        said: "no such setting".to_owned(),
    };
    let outcome = servers.refused(refused, &error).unwrap();
    let settings = [("target".to_owned(), "postgres".into())].into();
    let mut spec = TrialSpec { settings, ..TrialSpec::default() };
    let again = servers.provide(&mut spec, refused, "test", &NEVER).unwrap_err();
    assert_eq!(again, Some(outcome));
    assert_eq!(servers.refused(other, &ServerError::Cancelled), None);
    assert!(!servers.refusals.contains_key(other));
}

//! Disks that are full: limits of the length of files, and, where the system allows it, file systems of a given
//! size.

use std::path::Path;
use std::process::{Command, Output};

use crate::accidents::{Prepared, ROOM, child, rounds};

/// Runs a load that has room for so many KiB.
type Limited = fn(&Prepared, &Path, u64) -> Output;

#[test]
fn a_load_that_finds_no_room_leaves_the_old_database() {
    on_disks("files", limited_files);
}

#[test]
#[ignore = "it mounts file systems, which not every machine permits"]
fn a_load_on_a_full_file_system_leaves_the_old_database() {
    on_disks("file systems", limited_file_system);
}

fn on_disks(kind: &str, limited: Limited) {
    for prepared in Prepared::all() {
        let database = prepared.fresh();
        let before = database.metadata().map_or(0, |file| file.len());
        prepared.scene.load(&database).unwrap();
        // With room for database, journal and what is sorted, every load succeeds.
        let most = (4 * database.metadata().unwrap().len()) >> 10;
        let (least, rounds) = (before >> 10, rounds(3) as u64);
        let mut failed = 0;
        for round in 0..rounds {
            let room = least + (most - least) * round / rounds;
            let database = prepared.fresh();
            let output = limited(&prepared, &database, room);
            let complaint = String::from_utf8_lossy(&output.stderr);
            let is_loaded = prepared.is_loaded(&database);
            assert_eq!(
                output.status.success(),
                is_loaded,
                "{}, {room} KiB: {complaint}",
                prepared.scene.name
            );
            if !is_loaded {
                assert_eq!(output.status.code(), Some(9), "{complaint}");
                failed += 1;
            }
        }
        let name = prepared.scene.name;
        assert!(failed > 0, "{name}: every load had enough room");
        println!("{name}, {kind}: {failed} of {rounds} loads failed, none changed the database");
    }
}

fn limited_files(prepared: &Prepared, database: &Path, room: u64) -> Output {
    // A program that does not expect the signal is killed by it.
    let script = "trap '' XFSZ; exec \"$0\" \"$@\"";
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", script]).arg(std::env::current_exe().unwrap()).env(ROOM, room.to_string());
    child(&mut shell, "child_that_loads", prepared.number, database);
    shell.output().unwrap()
}

/// What mounts a file system in memory for one command.
fn with_file_system(script: &str) -> Command {
    let mut unshare = Command::new("unshare");
    unshare.args(["--user", "--map-root-user", "--mount", "/bin/sh", "-c", script]);
    unshare
}

/// The database is copied there and back, whatever the load comes to.
fn limited_file_system(prepared: &Prepared, database: &Path, room: u64) -> Output {
    let kept = database.parent().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let script = format!(
        "mount -t tmpfs -o size={}k none '{here}' || exit 8
         cp -a '{kept}/.' '{here}' || exit 8
         \"$0\" \"$@\"
         code=$?
         rm -f '{kept}'/*
         cp -a '{here}/.' '{kept}' || exit 8
         exit $code",
        room + 16,
        here = folder.path().display(),
        kept = kept.display(),
    );
    let mut shell = with_file_system(&script);
    shell.arg(std::env::current_exe().unwrap());
    let there = folder.path().join(database.file_name().unwrap());
    child(&mut shell, "child_that_loads", prepared.number, &there);
    shell.output().unwrap()
}

//! `benchmarks/make-fs`: file systems that a machine does not have, for a run.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::laboratory::{Answer, Laboratory, wait_until};
use crate::queue::{QUEUE, running};

/// Returns the script with these arguments, to be run in the laboratory.
fn make_fs(laboratory: &Laboratory, arguments: &[&str]) -> Command {
    let mut command =
        Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../benchmarks/make-fs"));
    command
        .args(arguments)
        .current_dir(laboratory.path())
        .env("PRAGMARK_CACHE", laboratory.path().join("cache"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Runs the script to its end.
fn made(laboratory: &Laboratory, arguments: &[&str]) -> Answer {
    Answer(make_fs(laboratory, arguments).output().unwrap())
}

/// Whether this machine does not let the script do its work, which the test then says.
fn is_refused(answer: &Answer) -> bool {
    let said = answer.stderr();
    let refusals = ["only root", "mount failed", "is not installed"];
    let refused = answer.code() == 3 && refusals.iter().any(|words| said.contains(words));
    if refused {
        // Containers of CI may not mount, and few machines have the tools of all kinds.
        eprintln!("not tested: {said}");
    }
    refused
}

/// Whether a file system is mounted in the laboratory.
fn is_mounted(laboratory: &Laboratory) -> bool {
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    mounts.contains(&*laboratory.path().to_string_lossy())
}

/// Checks that the script has left nothing.
fn nothing_is_left(laboratory: &Laboratory) {
    assert!(!is_mounted(laboratory));
    assert!(laboratory.left_over().is_empty());
}

fn state(process: Pid) -> String {
    let stat = format!("/proc/{}/stat", process.as_raw_nonzero());
    fs::read_to_string(stat).unwrap_or_default()
}

/// Starts the script with a file system in memory and these arguments; none where it may not make one.
fn with_file_system(laboratory: &Laboratory, arguments: &[&str]) -> Option<Child> {
    let make = [&["tmpfs", "--size", "32M"], arguments].concat();
    let child = make_fs(laboratory, &make).spawn().unwrap();
    let ended = || state(Pid::from_child(&child)).contains(") Z ");
    wait_until(|| is_mounted(laboratory) || ended());
    if ended() {
        assert!(is_refused(&Answer(child.wait_with_output().unwrap())));
        return None;
    }
    Some(child)
}

#[test]
fn a_run_on_a_file_system_that_was_made_for_it_can_fill_it() {
    let laboratory = Laboratory::new();
    let full = QUEUE
        .replace(
            "target = [\"sqlite\", \"files\", \"memory\", \"postgres\"], work = [\"life-cycle\", \"schedule\"]",
            "target = [\"sqlite\", \"files\"], work = [\"life-cycle\"]",
        )
        .replace("tasks = 5", "tasks = 2, payload_bytes = 20_000_000");
    laboratory.write("full.toml", &full);
    let make = ["tmpfs", "--size", "32M", "--", env!("CARGO_BIN_EXE_pragmark"), "run"];
    let run = ["full.toml", "--out", "run", "--probe", "0", "--no-tiers", "{dirs}"];
    let answer = made(&laboratory, &[&make[..], &run].concat());
    if !is_refused(&answer) {
        let trials = laboratory.trials("run");
        assert!(!trials.is_empty());
        for trial in trials {
            let why = trial["outcome"]["failed"]["why"].as_str().unwrap();
            assert!(why.contains("full") || why.contains("No space"), "{why}");
        }
    }
    nothing_is_left(&laboratory);
}

#[test]
fn each_kind_is_mounted_on_a_directory_of_its_own() {
    for kind in ["ext4", "xfs", "btrfs", "tmpfs"] {
        let laboratory = Laboratory::new();
        let look = ["--", "sh", "-c", "touch $2/file && stat -f -c %T $2", "sh", "{dirs}"];
        let answer = made(&laboratory, &[&[kind, "--size", "384M"], &look[..]].concat());
        if !is_refused(&answer) {
            let name = if kind == "ext4" { "ext2/ext3" } else { kind };
            assert_eq!(answer.exits(0).stdout().trim(), name);
        }
        nothing_is_left(&laboratory);
    }
}

#[test]
fn a_file_system_that_is_in_use_is_reported_and_does_not_stay() {
    let laboratory = Laboratory::new();
    let Some(mut child) = with_file_system(&laboratory, &[]) else {
        return;
    };
    let output = BufReader::new(child.stdout.take().unwrap());
    let directory = output.lines().next().unwrap().unwrap();
    let held = File::create(format!("{directory}/held")).unwrap();
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    let answer = Answer(child.wait_with_output().unwrap()).exits(3);
    answer.complains(&["umount failed", "fuser"]);
    drop(held);
    nothing_is_left(&laboratory);
}

#[test]
fn file_systems_of_a_script_that_was_killed_go_with_the_next() {
    let laboratory = Laboratory::new();
    let Some(mut child) = with_file_system(&laboratory, &["--", "sleep", "1"]) else {
        return;
    };
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(is_mounted(&laboratory));
    made(&laboratory, &["tmpfs", "--size", "32M", "--", "true"]).exits(0);
    nothing_is_left(&laboratory);
}

#[test]
fn wrong_arguments_are_refused() {
    let laboratory = Laboratory::new();
    for (arguments, words) in [
        (&["ext5"][..], "one of ext4, xfs"),
        (&[], "kinds of file systems are missing"),
        (&["tmpfs", "--size", "0x"], "positive size"),
        (&["tmpfs", "--"], "command after -- is missing"),
    ] {
        made(&laboratory, arguments).exits(2).complains(&[words]);
    }
    made(&laboratory, &["xfs", "--size", "1M"]).exits(3).complains(&["xfs needs at least 320 MiB"]);
    nothing_is_left(&laboratory);
}

#[test]
fn the_code_of_the_command_is_passed_on() {
    let laboratory = Laboratory::new();
    for (script, code) in [("exit 1", 1), ("exit 130", 130), ("exit 7", 3)] {
        let answer = made(&laboratory, &["tmpfs", "--size", "32M", "--", "sh", "-c", script]);
        if is_refused(&answer) {
            return;
        }
        answer.exits(code);
    }
    nothing_is_left(&laboratory);
}

#[test]
fn file_systems_go_at_ctrl_c() {
    let laboratory = Laboratory::new();
    let Some(mut child) = with_file_system(&laboratory, &[]) else {
        return;
    };
    // They are printed only when they are made; before that, Ctrl-C stops their making.
    let output = BufReader::new(child.stdout.take().unwrap());
    let said = output.lines().next().unwrap().unwrap();
    assert!(said.contains("tmpfs"), "{said}");
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    Answer(child.wait_with_output().unwrap()).exits(0);
    nothing_is_left(&laboratory);
}

#[test]
fn a_command_on_file_systems_ends_with_the_script_that_runs_it() {
    let laboratory = Laboratory::new();
    let followed = laboratory.path().join("followed.txt");
    let followed = followed.to_str().unwrap();
    laboratory.write("followed.txt", "");
    let Some(child) = with_file_system(&laboratory, &["--", "tail", "-f", followed]) else {
        return;
    };
    let tail = format!("tail\0-f\0{followed}");
    let tails = || running(&tail).len();
    // The script has been given the same words.
    wait_until(|| tails() == 2);
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    Answer(child.wait_with_output().unwrap()).exits(130);
    assert_eq!(tails(), 0);
    nothing_is_left(&laboratory);
}

//! What goes wrong during a run: killed, interrupted, hanging, failing, out of space.

use std::collections::HashSet;
use std::process::Command;
use std::thread::sleep;
use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::laboratory::{Laboratory, SMALL, SMALL_TRIALS, wait_until};

/// Kills at moments spread over the whole run, from before its folder exists to after its end.
const KILLS: u32 = 25;

#[test]
fn killed_at_any_moment_and_resumed_nothing_is_lost_or_repeated() {
    let laboratory = Laboratory::new();
    let whole = Instant::now();
    laboratory.pragmark(&["run", "small.toml", "--out", "whole"]).exits(0);
    let step = whole.elapsed() / (KILLS - 3);
    for number in 0..KILLS {
        let run = format!("run-{number}");
        let mut child = laboratory.start(&["run", "small.toml", "--out", &run, "--seed", "5"]);
        sleep(step * number);
        child.kill().unwrap();
        child.wait().unwrap();
        let before = laboratory.trials(&run);
        if laboratory.path().join(&run).join("run.json").exists() {
            laboratory.pragmark(&["run", "--resume", &run]).exits(0);
            let after = laboratory.trials(&run);
            assert_eq!(
                after[..before.len()],
                before,
                "kill {number}: what was measured must stay as it was"
            );
            assert!(after.len() >= SMALL_TRIALS, "kill {number}");
            assert_eq!(places(&after).len(), after.len(), "kill {number}: a trial was repeated");
        } else {
            assert!(before.is_empty());
            laboratory.pragmark(&["run", "--resume", &run]).exits(3);
        }
    }
    laboratory.pragmark(&["run", "small.toml", "--out", "last"]).exits(0);
    assert_eq!(laboratory.left_over(), Vec::<std::path::PathBuf>::new());
}

fn places(trials: &[Value]) -> HashSet<String> {
    trials
        .iter()
        .map(|trial| format!("{} {} {}", trial["round"], trial["block"], trial["position"]))
        .collect()
}

/// An experiment whose trials take long enough to be interrupted.
fn slow() -> String {
    SMALL.replace(
        "rows = 2_000",
        "rows = 100_000_000, rows_per_txn = 1000, stop_after_ms = 400, values = \"ones\"",
    )
}

#[test]
fn ctrl_c_cleans_up_keeps_and_reports_what_was_measured_and_says_how_to_resume() {
    let laboratory = Laboratory::new();
    laboratory.write("slow.toml", &slow());
    let child = laboratory.start(&["run", "slow.toml", "--out", "run"]);
    wait_until(|| laboratory.trials("run").len() >= 2);
    let pid = Pid::from_child(&child);
    kill_process(pid, Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    let answer =
        crate::laboratory::Answer(output).exits(130).complains(&["pragmark run --resume run"]);
    answer.says(&["run/report.html"]);

    assert!(laboratory.left_over().is_empty());
    let kept = laboratory.trials("run");
    assert!(kept.len() >= 2);
    assert!(laboratory.path().join("run/report.html").exists());
}

#[test]
fn a_killed_run_leaves_no_process_behind() {
    let laboratory = Laboratory::new();
    laboratory.write("slow.toml", &slow().replace("stop_after_ms = 400", "stop_after_ms = 60_000"));
    let mut child = laboratory.start(&["run", "slow.toml", "--out", "run"]);
    wait_until(|| !laboratory.processes().is_empty());
    child.kill().unwrap();
    child.wait().unwrap();
    wait_until(|| laboratory.processes().is_empty());
}

#[test]
fn a_trial_that_hangs_is_stopped_recorded_and_told() {
    let laboratory = Laboratory::new();
    laboratory.write("slow.toml", &slow());
    laboratory
        .pragmark(&["run", "slow.toml", "--out", "run", "--trial-limit", "0.1"])
        .exits(1)
        .says(&["time limit"]);
    assert!(
        laboratory
            .trials("run")
            .iter()
            .all(|trial| trial["outcome"]["timed_out"]["limit_s"] == 0.1)
    );
    assert!(laboratory.left_over().is_empty());
}

#[test]
fn a_variant_that_fails_does_not_stop_the_others() {
    let laboratory = Laboratory::new();
    let limit = i64::MAX;
    let text = SMALL
        .replace("rows_per_statement = [1, 5, 10]", &format!("mmap_size = [0, 1048576, {limit}]"))
        .replace("baseline = { rows_per_statement = 1 }", "baseline = { mmap_size = 0 }");
    let text = &text[..text.find("[[claims]]").unwrap()];
    laboratory.write("failing.toml", text);
    laboratory
        .pragmark(&["run", "failing.toml", "--out", "run"])
        .exits(1)
        .says(&["mmap_size", "failed"]);
    let trials = laboratory.trials("run");
    let why: Vec<&str> =
        trials.iter().filter_map(|trial| trial["outcome"]["failed"]["why"].as_str()).collect();
    assert_eq!(why.len(), 2, "a variant is given up after its second failure");
    assert!(why[0].contains("mmap_size"), "{}", why[0]);
    assert!(trials.iter().filter(|trial| !trial["outcome"]["measured"].is_null()).count() >= 9);
}

#[test]
fn a_full_disk_is_an_outcome_and_the_run_goes_on() {
    let laboratory = Laboratory::new();
    let small_disk = laboratory.path().join("disk");
    std::fs::create_dir(&small_disk).unwrap();
    let Some(_mounted) = Mounted::tmpfs(&small_disk, "4m") else {
        testing::skip("this test needs the right to mount a file system");
        return;
    };
    let big = SMALL
        .replace("rows_per_statement = [1, 5, 10]", "rows = [100, 1_000_000]")
        .replace("rows = 2_000, ", "");
    let big = big.replace("baseline = { rows_per_statement = 1 }", "baseline = { rows = 100 }");
    laboratory.write("big.toml", &big[..big.find("[[claims]]").unwrap()]);
    laboratory
        .pragmark(&["run", "big.toml", "--out", "run", "--dir", "disk"])
        .exits(1)
        .says(&["full"]);
    let trials = laboratory.trials("run");
    let failed = trials.iter().filter(|trial| {
        trial["outcome"]["failed"]["why"].as_str().is_some_and(|why| why.contains("full"))
    });
    assert_eq!(failed.count(), 2);
    let measured = trials.iter().filter(|trial| !trial["outcome"]["measured"].is_null());
    assert!(measured.count() >= 7, "baseline and A/A check in three rounds, and a counting trial");
    assert_eq!(std::fs::read_dir(&small_disk).unwrap().count(), 0);
}

/// A mounted file system, unmounted when dropped.
struct Mounted<'a>(&'a std::path::Path);

impl Mounted<'_> {
    fn tmpfs<'a>(path: &'a std::path::Path, size: &str) -> Option<Mounted<'a>> {
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"])
            .arg(path)
            .output()
            .is_ok_and(|output| output.status.success());
        mounted.then_some(Mounted(path))
    }
}

impl Drop for Mounted<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0).status();
    }
}

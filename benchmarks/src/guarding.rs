//! Real runs of `pragmark guard` on two directories: how many raise an alarm with identical work on both sides, and how
//! soon a planted slow-down is found.
//!
//! A transaction of the base is 100 statements of one kind, and one of the new side is so many more that its throughput
//! is lower by the planted share.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Instant;

use clap::Args;

use crate::Failure;

/// What is guarded, and how often.
#[derive(Clone, Debug, Args)]
pub struct Plan {
    /// Runs of guard.
    #[arg(long, default_value_t = 50)]
    runs: u32,
    /// By how much the throughput of the new side is lower, in per cent: 0 to 90.
    #[arg(long, default_value_t = 0)]
    slower: u32,
    /// Budget of the throughput. Identical work cannot be proved to pass `>= 1`.
    #[arg(long, default_value = ">= 1")]
    budget: String,
    /// Time limit of each run, in seconds.
    #[arg(long = "time-limit", default_value_t = 300)]
    time_limit_s: u32,
    /// Threads that keep a processor busy meanwhile.
    #[arg(long, default_value_t = 0)]
    hogs: usize,
    /// Sync each statement to the disk, instead of computing.
    #[arg(long)]
    synced: bool,
    /// Directory for the databases.
    #[arg(long = "dir", default_value = ".")]
    directory: PathBuf,
}

/// How the runs ended.
#[derive(Debug, Default)]
struct Ends {
    passed: usize,
    failed: usize,
    undecided: usize,
    /// Seconds of the runs that failed.
    seconds: Vec<f64>,
}

/// Runs guard, and prints how the runs ended.
pub fn run(pragmark: &Path, plan: &Plan) -> Result<(), Failure> {
    let pragmark = pragmark.canonicalize()?;
    let directory = tempfile::tempdir_in(&plan.directory)?;
    let statements = 100 * 100 / (100 - plan.slower.min(90));
    write_side(&directory.path().join("base"), plan, 100)?;
    write_side(&directory.path().join("new"), plan, statements)?;
    let stop = AtomicBool::new(false);
    let ends = thread::scope(|scope| {
        for _ in 0..plan.hogs {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let ends = guard_often(&pragmark, directory.path(), plan);
        stop.store(true, Ordering::Relaxed);
        ends
    })?;
    println!("{}", words(plan, ends));
    Ok(())
}

fn write_side(folder: &Path, plan: &Plan, statements: u32) -> Result<(), Failure> {
    std::fs::create_dir(folder)?;
    let statement = match plan.synced {
        true => "UPDATE t SET n = n + 1 WHERE id = 1;\n",
        false => {
            "WITH RECURSIVE n(v) AS (SELECT 1 UNION ALL SELECT v + 1 FROM n WHERE v < 300) SELECT sum(v) FROM n;\n"
        }
    };
    std::fs::write(folder.join("work.sql"), statement.repeat(statements as usize))?;
    std::fs::write(
        folder.join("setup.sql"),
        "CREATE TABLE t(id INTEGER PRIMARY KEY, n); INSERT INTO t VALUES (1, 0);",
    )?;
    let file = format!(
        "answers = \"any\"\nscans = \"allowed\"\n[work]\nscripts = \"work.sql\"\nsetup = \"setup.sql\"\nexecutions = 1\nsettings = {{ unit = \"file\" }}\n[budgets]\ntxns_per_s = \"{}\"\n",
        plan.budget
    );
    std::fs::write(folder.join("pragmark-guard.toml"), file)?;
    Ok(())
}

fn guard_often(pragmark: &Path, directory: &Path, plan: &Plan) -> Result<Ends, Failure> {
    let mut ends = Ends::default();
    for run in 1..=plan.runs {
        let start = Instant::now();
        let output = Command::new(pragmark)
            .current_dir(directory.join("new"))
            .args(["guard", "--base", "../base", "--time-limit"])
            .arg(format!("{}s", plan.time_limit_s))
            .output()?;
        let seconds = start.elapsed().as_secs_f64();
        match output.status.code() {
            Some(0) => ends.passed += 1,
            Some(4) => {
                ends.failed += 1;
                ends.seconds.push(seconds);
            }
            Some(5) => ends.undecided += 1,
            _ => {
                let words = String::from_utf8_lossy(&output.stderr).into_owned();
                return Err(format!("guard ended with {}: {words}", output.status).into());
            }
        }
        eprintln!("{run} of {}: {seconds:.1} s, {ends:?}", plan.runs);
    }
    Ok(ends)
}

fn words(plan: &Plan, mut ends: Ends) -> String {
    ends.seconds.sort_by(f64::total_cmp);
    let middle = ends.seconds.get(ends.seconds.len() / 2);
    let last = ends.seconds.last();
    let times = middle.zip(last).map_or(String::new(), |(middle, last)| {
        format!("; failures within {middle:.0} s (median), {last:.0} s (longest)")
    });
    let target = match plan.slower {
        0 => "at most 1 % fail",
        1..30 => "at least 90 % fail within 5 minutes",
        _ => "at least 90 % fail within 1 minute",
    };
    format!(
        "{} runs, {} % slower, budget {}, {} busy threads: {} failed, {} passed, {} undecided{times} (target: {target})",
        plan.runs, plan.slower, plan.budget, plan.hogs, ends.failed, ends.passed, ends.undecided
    )
}

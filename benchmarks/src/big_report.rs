//! The report over a record of many outcomes.
//!
//! The record is synthetic, with trials as large as real ones: one trial is measured, and its outcome is
//! repeated with other figures.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use lab::design::{Role, Stopping, round};
use lab::experiment::Experiment;
use lab::level::Settings;
use lab::record::{EnvironmentFile, FORMAT, PlannedExperiment, RunPlan, TrialRecord};
use lab::seed::Seed;
use lab::trial::{Measured, Outcome};
use runner::RunFolder;

use crate::Failure;
use crate::program::{measure, specification};

/// Creates the record, then times its report.
pub fn run(pragmark: &Path, outcomes: usize) -> Result<(), Failure> {
    let directory = tempfile::tempdir()?;
    let folder = directory.path().join("run");
    let made = Made::of(pragmark)?;
    made.fill(&folder, EXPERIMENT, outcomes, ROUNDS, 0)?;
    let page = directory.path().join("page.html");
    let mut command = timed(pragmark);
    command.args(["report", "--format", "html", "--out"]);
    let figures = figures_of(command.arg(&page).arg(&folder))?;
    let record = std::fs::metadata(folder.join("outcomes.jsonl"))?.len() as f64 / 1e6;
    let size = std::fs::metadata(&page)?.len() as f64 / 1e6;
    println!(
        "report over {outcomes} outcomes ({record:.0} MB): {figures}, page {size:.1} MB (target: 3 s, 500 MB)"
    );
    Ok(())
}

/// Creates two records, then times their comparison.
pub fn compare(pragmark: &Path, outcomes: usize, rounds: u32) -> Result<(), Failure> {
    let directory = tempfile::tempdir()?;
    let folders = ["base", "new"].map(|name| directory.path().join(name));
    let made = Made::of(pragmark)?;
    for (folder, number) in folders.iter().zip(0..) {
        made.fill(folder, EXPERIMENT, outcomes, rounds, number)?;
    }
    let page = directory.path().join("page.html");
    let mut command = timed(pragmark);
    command.args(["compare", "--format", "html", "--out"]);
    let figures = figures_of(command.arg(&page).args(&folders))?;
    let size = std::fs::metadata(&page)?.len() as f64 / 1e6;
    println!(
        "comparison of two runs of {outcomes} outcomes, {rounds} rounds: {figures}, page {size:.1} MB (target: 5 s, 300 MB)"
    );
    Ok(())
}

/// Creates many records, then times the page of their history.
pub fn history(pragmark: &Path, runs: u32) -> Result<(), Failure> {
    let directory = tempfile::tempdir()?;
    let made = Made::of(pragmark)?;
    for number in 0..runs {
        let folder = directory.path().join(format!("run-{number:04}"));
        made.fill(&folder, SMALL, 28, 7, number)?;
    }
    let page = directory.path().join("page.html");
    let mut command = timed(pragmark);
    command.args(["history", "--format", "html", "--out"]);
    let figures = figures_of(command.arg(&page).arg(directory.path()))?;
    let size = std::fs::metadata(&page)?.len() as f64 / 1e6;
    println!("history of {runs} runs: {figures}, page {size:.2} MB (target: 5 s, 2 MB)");
    Ok(())
}

/// The program, with its time and memory measured.
fn timed(pragmark: &Path) -> Command {
    let mut command = Command::new("/usr/bin/env");
    command.args(["time", "-v"]).arg(pragmark);
    command
}

/// Time and peak memory of a command.
fn figures_of(command: &mut Command) -> Result<String, Failure> {
    let start = Instant::now();
    let output = command.output()?;
    let seconds = start.elapsed().as_secs_f64();
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    if !output.status.success() {
        return Err(format!("it failed: {words}").into());
    }
    let prefix = "Maximum resident set size (kbytes): ";
    let mut lines = words.lines();
    let kilobytes = lines.find_map(|line| line.trim().strip_prefix(prefix)?.parse::<f64>().ok());
    let memory = kilobytes.map_or("not measured".to_owned(), |kilobytes| {
        format!("{:.0} MB", kilobytes * 1024.0 / 1e6)
    });
    Ok(format!("{seconds:.2} s, peak memory {memory}"))
}

/// An experiment of 49 variants, repeated until there are enough outcomes.
const EXPERIMENT: &str = r#"{
  "id": "many", "question": "How long does a report take?", "workload": "bulk-insert",
  "factors": { "rows_per_statement": [1, 2, 3, 4, 5, 6, 7], "rows_per_txn": [0, 1, 2, 3, 4, 5, 6] },
  "design": { "kind": "factorial", "baseline": { "rows_per_statement": 1, "rows_per_txn": 0 } },
  "claims": [{ "id": "c", "says": "so", "at_least": 1,
    "ratio": { "of": { "rows_per_statement": 7 }, "to": { "rows_per_statement": 1 } } }]
}"#;

/// An experiment of three variants.
const SMALL: &str = r#"{
  "id": "small", "question": "How does it go?", "workload": "bulk-insert",
  "factors": { "rows_per_statement": [1, 2, 3] },
  "design": { "kind": "one-at-a-time", "baseline": { "rows_per_statement": 1 } }
}"#;

/// Rounds of each experiment in the synthetic record.
const ROUNDS: u32 = 30;

/// What synthetic records are made of.
struct Made {
    sample: Measured,
}

impl Made {
    fn of(pragmark: &Path) -> Result<Made, Failure> {
        let sample = sample(pragmark)?;
        Ok(Made { sample })
    }

    /// Makes the record of a run: an experiment, repeated until there are enough outcomes.
    fn fill(
        &self,
        folder: &Path,
        experiment: &str,
        outcomes: usize,
        rounds: u32,
        number: u32,
    ) -> Result<(), Failure> {
        let plan = plan(folder, experiment, outcomes, rounds, number)?;
        let environment = EnvironmentFile {
            format: FORMAT,
            machine: Default::default(),
            engines: Vec::new(),
            noise: None,
        };
        RunFolder::create(folder, &plan, &environment)?;
        write_outcomes(folder, &plan, &self.sample, outcomes)
    }
}

/// The plan of a run with this number.
fn plan(
    folder: &Path,
    experiment: &str,
    outcomes: usize,
    rounds: u32,
    number: u32,
) -> Result<RunPlan, Failure> {
    let experiment: Experiment = serde_json::from_str(experiment)?;
    let scale = lab::experiment::Scale::Quick;
    let variants = lab::design::variants(&experiment, scale, &Default::default());
    let per_experiment = lab::design::trials_per_round(variants.len()) * rounds as usize;
    let stopping = Stopping { rounds, max_rounds: rounds, ..Stopping::default() };
    let planned = (0..outcomes.div_ceil(per_experiment)).map(|copy| PlannedExperiment {
        key: format!("{}@{copy}", experiment.id),
        experiment: experiment.clone(),
        directory: folder.to_owned(),
        variants: variants.clone(),
        stopping,
        ..PlannedExperiment::default()
    });
    let (minute, second) = (number / 60 % 60, number % 60);
    Ok(RunPlan {
        format: FORMAT,
        id: format!("made-up-{number:04}"),
        created: format!("2026-01-01T{:02}:{minute:02}:{second:02}Z", number / 3600),
        pragmark: "benchmark".to_owned(),
        began_in: None,
        seed: Seed(u64::from(number) + 1),
        scale,
        engine: "default".to_owned(),
        quick: false,
        trial_limit_s: 60.0,
        budget_s: None,
        tiers: None,
        postgres_given: false,
        experiments: planned.collect(),
    })
}

/// A real trial with latencies, windows and PRAGMAs read back.
fn sample(pragmark: &Path) -> Result<Measured, Failure> {
    let mut settings = Settings::new();
    for (name, level) in
        [("rows", 20_000), ("rows_per_statement", 1), ("rows_per_txn", 10), ("stop_after_ms", 0)]
    {
        settings.insert(name.to_owned(), i64::into(level));
    }
    for (name, level) in
        [("values", "int32"), ("index", "none"), ("statement", "reused"), ("synchronous", "off")]
    {
        settings.insert(name.to_owned(), level.into());
    }
    let place = tempfile::tempdir()?;
    measure(pragmark, &specification("bulk-insert", settings, place.path(), 1))
}

/// Appends without syncing each line, unlike the record of real trials.
fn write_outcomes(
    folder: &Path,
    plan: &RunPlan,
    sample: &Measured,
    outcomes: usize,
) -> Result<(), Failure> {
    use std::io::Write;
    let file = std::fs::OpenOptions::new().append(true).open(folder.join("outcomes.jsonl"))?;
    let mut writer = std::io::BufWriter::new(file);
    let mut noise = plan.seed.child("noise").generator();
    let mut left = outcomes;
    for planned in &plan.experiments {
        let others: Vec<usize> = (1..planned.variants.len()).collect();
        for number in 0..planned.stopping.rounds {
            for (block, trials) in
                round(plan.seed.child(&planned.key), number, &others).iter().enumerate()
            {
                for (position, trial) in trials.iter().enumerate() {
                    if left == 0 {
                        writer.flush()?;
                        return Ok(());
                    }
                    left -= 1;
                    let place = (number, block as u32, position as u32);
                    let wobble = 1.0 + noise.below(100) as f64 / 1_000.0;
                    let record = outcome(planned, place, trial.variant, trial.role, sample, wobble);
                    serde_json::to_writer(&mut writer, &record)?;
                    writer.write_all(b"\n")?;
                }
            }
        }
    }
    writer.flush()?;
    Ok(())
}

fn outcome(
    planned: &PlannedExperiment,
    (round, block, position): (u32, u32, u32),
    variant: usize,
    role: Role,
    sample: &Measured,
    wobble: f64,
) -> TrialRecord {
    let mut measured = sample.clone();
    measured.metrics.values_mut().for_each(|value| *value *= wobble);
    TrialRecord {
        purpose: Default::default(),
        experiment: planned.key.clone(),
        round,
        block,
        position,
        variant: planned.variants[variant].label.clone(),
        role,
        agent: None,
        started: runner::now(),
        wall_s: 0.1,
        covariates: Default::default(),
        outcome: Outcome::Measured(Box::new(measured)),
    }
}

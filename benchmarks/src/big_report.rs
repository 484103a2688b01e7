//! The report over a record of many outcomes.
//!
//! The record is synthetic, with trials as large as real ones: one trial is measured, and its outcome is
//! repeated with other figures.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use lab::design::{Role, round};
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
    fill(pragmark, &folder, outcomes)?;
    let page = directory.path().join("page.html");
    let start = Instant::now();
    let output = Command::new("/usr/bin/env")
        .args(["time", "-v"])
        .arg(pragmark)
        .args(["report", "--format", "html", "--out"])
        .arg(&page)
        .arg(&folder)
        .output()?;
    let seconds = start.elapsed().as_secs_f64();
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    if !output.status.success() {
        return Err(format!("the report failed: {words}").into());
    }
    let megabytes = words
        .lines()
        .find_map(|line| {
            line.trim()
                .strip_prefix("Maximum resident set size (kbytes): ")
        })
        .and_then(|kilobytes| kilobytes.parse::<f64>().ok())
        .map_or("not measured".to_owned(), |kilobytes| {
            format!("{:.0} MB", kilobytes * 1024.0 / 1e6)
        });
    let record = std::fs::metadata(folder.join("outcomes.jsonl"))?.len() as f64 / 1e6;
    let size = std::fs::metadata(&page)?.len() as f64 / 1e6;
    println!(
        "report over {outcomes} outcomes ({record:.0} MB): {seconds:.2} s, peak memory {megabytes}, page {size:.1} MB (target: 3 s, 500 MB)"
    );
    Ok(())
}

/// An experiment of 49 variants, repeated until there are enough outcomes.
const EXPERIMENT: &str = r#"{
  "id": "many", "question": "How long does a report take?", "workload": "bulk-insert",
  "factors": { "rows_per_statement": [1, 2, 3, 4, 5, 6, 7], "rows_per_txn": [0, 1, 2, 3, 4, 5, 6] },
  "design": { "kind": "factorial", "baseline": { "rows_per_statement": 1, "rows_per_txn": 0 } },
  "claims": [{ "id": "c", "says": "so", "at_least": 1,
    "ratio": { "of": { "rows_per_statement": 7 }, "to": { "rows_per_statement": 1 } } }]
}"#;

/// Rounds of each experiment in the synthetic record.
const ROUNDS: u32 = 30;

fn fill(pragmark: &Path, folder: &Path, outcomes: usize) -> Result<(), Failure> {
    let experiment: Experiment = serde_json::from_str(EXPERIMENT)?;
    let variants = lab::design::variants(
        &experiment,
        lab::experiment::Scale::Quick,
        &Default::default(),
    );
    let per_experiment = lab::design::trials_per_round(variants.len()) * ROUNDS as usize;
    let planned: Vec<PlannedExperiment> = (0..outcomes.div_ceil(per_experiment))
        .map(|number| PlannedExperiment {
            tuning: None,
            key: format!("many@{number}"),
            experiment: experiment.clone(),
            directory: folder.to_owned(),
            variants: variants.clone(),
            stopping: Default::default(),
            upper_bounds: Vec::new(),
            alone: false,
            counting: false,
            crash_relevant: Vec::new(),
            metrics: Vec::new(),
        })
        .collect();
    let plan = RunPlan {
        format: FORMAT,
        id: "made-up".to_owned(),
        created: runner::now(),
        pragmark: "benchmark".to_owned(),
        seed: Seed(1),
        scale: lab::experiment::Scale::Quick,
        engine: "default".to_owned(),
        quick: false,
        trial_limit_s: 60.0,
        budget_s: None,
        tiers: None,
        postgres_given: false,
        experiments: planned,
    };
    let environment = EnvironmentFile {
        format: FORMAT,
        machine: Default::default(),
        engines: Vec::new(),
        noise: None,
    };
    let sample = sample(pragmark)?;
    RunFolder::create(folder, &plan, &environment)?;
    write_outcomes(folder, &plan, &sample, outcomes)
}

/// A real trial with latencies, windows and PRAGMAs read back.
fn sample(pragmark: &Path) -> Result<Measured, Failure> {
    let mut settings = Settings::new();
    for (name, level) in [
        ("rows", 20_000),
        ("rows_per_statement", 1),
        ("rows_per_txn", 10),
        ("stop_after_ms", 0),
    ] {
        settings.insert(name.to_owned(), i64::into(level));
    }
    for (name, level) in [
        ("values", "int32"),
        ("index", "none"),
        ("statement", "reused"),
        ("synchronous", "off"),
    ] {
        settings.insert(name.to_owned(), level.into());
    }
    let place = tempfile::tempdir()?;
    measure(
        pragmark,
        &specification("bulk-insert", settings, place.path(), 1),
    )
}

/// Appends without syncing each line, unlike the record of real trials.
fn write_outcomes(
    folder: &Path,
    plan: &RunPlan,
    sample: &Measured,
    outcomes: usize,
) -> Result<(), Failure> {
    use std::io::Write;
    let file = std::fs::OpenOptions::new()
        .append(true)
        .open(folder.join("outcomes.jsonl"))?;
    let mut writer = std::io::BufWriter::new(file);
    let mut noise = Seed(9).generator();
    let mut left = outcomes;
    for planned in &plan.experiments {
        let others: Vec<usize> = (1..planned.variants.len()).collect();
        for number in 0..ROUNDS {
            for (block, trials) in round(plan.seed.child(&planned.key), number, &others)
                .iter()
                .enumerate()
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
    measured
        .metrics
        .values_mut()
        .for_each(|value| *value *= wobble);
    TrialRecord {
        purpose: Default::default(),
        experiment: planned.key.clone(),
        round,
        block,
        position,
        variant: planned.variants[variant].label.clone(),
        role,
        started: runner::now(),
        wall_s: 0.1,
        covariates: Default::default(),
        outcome: Outcome::Measured(Box::new(measured)),
    }
}

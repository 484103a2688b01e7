//! Trials with any values that parameters declare: each ends in an outcome, and none panics.

use std::io::Write;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use lab::catalogue::{Accepts, Parameter, Scope};
use lab::level::{Level, Settings};
use lab::seed::{Seed, SplitMix64};
use serde_json::json;

/// Trials of each workload.
const CASES: u64 = 4;

/// What a trial may take before it is killed: a panic comes from a check or an allocation, ahead of the work.
const PATIENCE: Duration = Duration::from_secs(1);

/// Address space in KiB and file size in blocks of 512 bytes, so that no trial harms the machine.
const LIMITS: &str = "ulimit -v 4000000 && ulimit -f 400000 && ulimit -c 0";

#[test]
fn no_trial_panics_on_any_value_that_its_parameters_accept() {
    let seed = std::env::var("PROPTEST_RNG_SEED").ok();
    let seed = Seed(seed.and_then(|seed| seed.parse().ok()).unwrap_or(1));
    let catalogue = bench::catalogue();
    let mut tried = 0;
    for workload in &catalogue.workloads {
        for case in 0..CASES {
            let mut random = seed.child(&workload.name).nth(case).generator();
            let settings = any(&workload.parameters, &mut random);
            let printed = tried_once(&workload.name, &settings);
            let panicked = printed.contains("panicked at");
            assert!(!panicked, "{} with {settings:?}: {printed}", workload.name);
            tried += 1;
        }
    }
    assert_eq!(tried, catalogue.workloads.len() as u64 * CASES);
}

/// Half of the parameters with a value that they accept, most often one at an end of their range.
fn any(parameters: &[Parameter], random: &mut SplitMix64) -> Settings {
    let of_workload = parameters.iter().filter(|it| it.scope == Scope::Workload);
    let chosen = of_workload.filter(|_| random.below(2) == 0).collect::<Vec<_>>();
    let level = |parameter: &Parameter| (parameter.name.clone(), value(&parameter.accepts, random));
    chosen.into_iter().map(level).collect()
}

fn value(accepts: &Accepts, random: &mut SplitMix64) -> Level {
    const TEXTS: [&str; 6] = ["", "x", "'; DROP", "\0", "/dev/null", "a \\ b"];
    match accepts {
        Accepts::Bool => (random.below(2) == 0).into(),
        Accepts::Int { min, max } => {
            let near = min.saturating_add(random.below(300) as i64).min(*max);
            [*min, *max, near, max / 2][random.below(4) as usize].max(*min).into()
        }
        Accepts::PowerOfTwo { min, max } => [*min, *max][random.below(2) as usize].into(),
        Accepts::Choice(names) => names[random.below(names.len() as u64) as usize].as_str().into(),
        Accepts::Text(_) => TEXTS[random.below(TEXTS.len() as u64) as usize].into(),
    }
}

/// What a trial prints to standard error until it ends or is killed.
fn tried_once(workload: &str, settings: &Settings) -> String {
    let directory = tempfile::tempdir().unwrap();
    let errors = directory.path().join("errors");
    let script = format!("{LIMITS} && exec \"$0\" trial");
    let mut trial = Command::new("/bin/sh")
        .args(["-c", &script, env!("CARGO_BIN_EXE_pragmark")])
        .env("RUST_BACKTRACE", "0")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(std::fs::File::create(&errors).unwrap())
        .spawn()
        .unwrap();
    let specification = json!({
        "protocol": lab::trial::PROTOCOL, "workload": workload, "settings": settings,
        "engine": "default", "directory": directory.path(), "seed": 1, "counting": false
    });
    let mut input = trial.stdin.take().unwrap();
    input.write_all(specification.to_string().as_bytes()).unwrap();
    drop(input);
    end_of(&mut trial);
    std::fs::read_to_string(errors).unwrap()
}

/// Waits for the end of a trial, and kills it when it takes too long.
fn end_of(trial: &mut Child) {
    let begin = Instant::now();
    while trial.try_wait().unwrap().is_none() {
        if begin.elapsed() > PATIENCE {
            trial.kill().unwrap();
            trial.wait().unwrap();
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

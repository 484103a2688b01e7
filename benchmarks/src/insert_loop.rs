//! The native driver's insert loop compared with a loop in C.
//!
//! Both insert the same values into a new database in the same directory. Each pair runs in random
//! order, each time with fresh copies of both programs.

use std::path::{Path, PathBuf};
use std::process::Command;

use lab::level::Settings;
use lab::samples::Comparison;
use lab::seed::Seed;
use lab::stats::median;

use crate::Failure;
use crate::program::{fresh_copy, measure, specification};

const C_SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/insert_loop.c");

/// Measures pairs and prints the ratio of times with its interval.
pub fn run(pragmark: &Path, rows: usize, pairs: usize) -> Result<(), Failure> {
    let directory = tempfile::tempdir()?;
    let c_loop = compile(directory.path(), C_SOURCE, "insert_loop")?;
    let (mut native, mut c) = (Vec::new(), Vec::new());
    let mut order = Seed(1).generator();
    for pair in 0..pairs {
        let first = order.below(2);
        for turn in 0..2 {
            if turn == first {
                native.push(time_native(pragmark, directory.path(), rows, pair as u64)?);
            } else {
                c.push(time_c(&c_loop, directory.path(), rows, pair as u64)?);
            }
        }
    }
    let ratios: Vec<f64> = native.iter().zip(&c).map(|(native, c)| (native / c).ln()).collect();
    let comparison = Comparison::new(ratios).ok_or("at least two pairs are needed")?;
    let interval = comparison.interval(0.05);
    println!(
        "insert loop, {rows} rows, {pairs} pairs: native {:.1} ms, C {:.1} ms (medians); \
         native ÷ C {:.4} [{:.4}, {:.4}] (target: at most 1.03)",
        median(&native).unwrap_or(f64::NAN) * 1e3,
        median(&c).unwrap_or(f64::NAN) * 1e3,
        comparison.ratio(),
        interval.low,
        interval.high
    );
    Ok(())
}

/// Compiles a C program together with the amalgamation, with the options of the built-in engine.
pub fn compile(directory: &Path, source: &str, name: &str) -> Result<PathBuf, Failure> {
    let amalgamation = Path::new(env!("PRAGMARK_AMALGAMATION"));
    let program = directory.join(name);
    let target = env!("PRAGMARK_TARGET");
    let compiler = cc::Build::new()
        .opt_level(2)
        .host(target)
        .target(target)
        .cargo_metadata(false)
        .get_compiler();
    let mut command = compiler.to_command();
    command.arg("-O2").arg("-I").arg(amalgamation);
    command.args(engine::COMPILE_OPTIONS.iter().map(|option| option.define()));
    command.arg(source).arg(amalgamation.join("sqlite3.c")).arg("-o").arg(&program);
    command.args(["-lm", "-lpthread", "-ldl"]);
    let output = command.output()?;
    if !output.status.success() {
        return Err(format!(
            "the C program does not compile: {}",
            String::from_utf8_lossy(&output.stderr)
        )
        .into());
    }
    Ok(program)
}

/// The settings of the native driver that do what the C loop does.
fn settings(rows: usize) -> Settings {
    let mut settings = Settings::new();
    for (name, level) in [
        ("rows", rows as i64),
        ("rows_per_statement", 1),
        ("rows_per_txn", 0),
        ("stop_after_ms", 0),
    ] {
        settings.insert(name.to_owned(), level.into());
    }
    for (name, level) in [("values", "int32"), ("index", "none"), ("statement", "reused")] {
        settings.insert(name.to_owned(), level.into());
    }
    settings
}

fn time_native(pragmark: &Path, directory: &Path, rows: usize, seed: u64) -> Result<f64, Failure> {
    let program = fresh_copy(pragmark, directory, "pragmark-copy")?;
    let place = tempfile::tempdir_in(directory)?;
    let measured =
        measure(&program, &specification("bulk-insert", settings(rows), place.path(), seed))?;
    measured.metrics.get("seconds").copied().ok_or_else(|| "the trial reports no seconds".into())
}

fn time_c(program: &Path, directory: &Path, rows: usize, seed: u64) -> Result<f64, Failure> {
    let program = fresh_copy(program, directory, "insert_loop-copy")?;
    let place = tempfile::tempdir_in(directory)?;
    let values = place.path().join("values");
    std::fs::write(&values, values_of(rows, seed))?;
    let output = Command::new(program).arg(place.path().join("test.db")).arg(&values).output()?;
    if !output.status.success() {
        return Err(
            format!("the C loop failed: {}", String::from_utf8_lossy(&output.stderr)).into()
        );
    }
    Ok(String::from_utf8(output.stdout)?.trim().parse()?)
}

/// The values that the native driver generates for the same seed, as native 64-bit integers.
fn values_of(rows: usize, seed: u64) -> Vec<u8> {
    let mut generator = Seed(seed).child("integers").generator();
    (0..rows).flat_map(|_| ((generator.next_u64() as i64) >> 32).to_ne_bytes()).collect()
}

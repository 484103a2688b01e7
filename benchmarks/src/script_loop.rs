//! The workload `sql` with two scripts of pgbench, compared with the same statements in C.
//!
//! Both make the same tables in a new database in the same directory and execute as many transactions. Each pair runs
//! in random order, each time with fresh copies of both programs.

use std::path::Path;
use std::process::Command;

use lab::level::{Level, Settings};
use lab::samples::Comparison;
use lab::seed::Seed;
use lab::stats::median;

use crate::Failure;
use crate::insert_loop::compile;
use crate::program::{fresh_copy, measure, specification};

const C_SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/script_loop.c");

/// The scripts with their numbers of statements.
const SCRIPTS: [(&str, f64); 2] = [("tpcb-like", 7.0), ("select-only", 1.0)];

/// Measures pairs and prints the ratio of times with its interval, and the difference for a statement.
pub fn run(pragmark: &Path, transactions: usize, pairs: usize) -> Result<(), Failure> {
    let directory = tempfile::tempdir()?;
    let c_loop = compile(directory.path(), C_SOURCE, "script_loop")?;
    for (script, statements) in SCRIPTS {
        let (mut native, mut c) = (Vec::new(), Vec::new());
        let mut order = Seed(1).generator();
        for pair in 0..pairs {
            let first = order.below(2);
            for turn in 0..2 {
                if turn == first {
                    let time = time_native(pragmark, directory.path(), script, transactions, pair)?;
                    native.push(time);
                } else {
                    c.push(time_c(&c_loop, directory.path(), script, transactions)?);
                }
            }
        }
        print(script, statements * transactions as f64, &native, &c)?;
    }
    Ok(())
}

fn print(script: &str, statements: f64, native: &[f64], c: &[f64]) -> Result<(), Failure> {
    let ratios = native.iter().zip(c).map(|(native, c)| (native / c).ln());
    let comparison = Comparison::new(ratios.collect()).ok_or("at least two pairs are needed")?;
    let interval = comparison.interval(0.05);
    let differences = native.iter().zip(c).map(|(native, c)| (native - c) / statements * 1e6);
    println!(
        "{script}, {} pairs: native ÷ C {:.4} [{:.4}, {:.4}] (target for tpcb-like: at most 1.05); \
         a statement takes {:.3} µs in C, and {:.3} µs more by the script (medians; target: at most 0.2)",
        native.len(),
        comparison.ratio(),
        interval.low,
        interval.high,
        median(c).unwrap_or(f64::NAN) / statements * 1e6,
        median(&differences.collect::<Vec<_>>()).unwrap_or(f64::NAN),
    );
    Ok(())
}

/// The settings that do what the C program does.
fn settings(script: &str, transactions: usize) -> Settings {
    let numbers = [("transactions", transactions as i64), ("answers", 0), ("cache_size", -64_000)];
    let names = [
        ("builtin", script),
        // One thread in its process, as the C program has: with a second one, each call of the C library and of the
        // system takes longer.
        ("workers", "processes"),
        ("page_cache", "as-is"),
        ("journal_mode", "memory"),
        ("synchronous", "off"),
    ];
    let numbers = numbers.map(|(name, number)| (name.to_owned(), Level::from(number)));
    let names = names.map(|(name, level)| (name.to_owned(), Level::from(level)));
    numbers.into_iter().chain(names).collect()
}

fn time_native(
    pragmark: &Path,
    directory: &Path,
    script: &str,
    transactions: usize,
    seed: usize,
) -> Result<f64, Failure> {
    let program = fresh_copy(pragmark, directory, "pragmark-copy")?;
    let place = tempfile::tempdir_in(directory)?;
    let settings = settings(script, transactions);
    let specification = specification("sql", settings, place.path(), seed as u64);
    let measured = measure(&program, &specification)?;
    let seconds = measured.metrics.get("seconds").copied();
    seconds.ok_or_else(|| "the trial reports no seconds".into())
}

fn time_c(
    program: &Path,
    directory: &Path,
    script: &str,
    transactions: usize,
) -> Result<f64, Failure> {
    let program = fresh_copy(program, directory, "script_loop-copy")?;
    let place = tempfile::tempdir_in(directory)?;
    let output = Command::new(program)
        .arg(place.path().join("test.db"))
        .args([script, &transactions.to_string()])
        .output()?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("the C program failed: {said}").into());
    }
    Ok(String::from_utf8(output.stdout)?.trim().parse()?)
}

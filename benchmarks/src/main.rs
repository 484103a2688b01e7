#![forbid(unsafe_code)]
//! Benchmarks of pragmark itself.
//!
//! Each prints its target and the measured figure; `benchmarks/RESULTS.md` has the figures of the
//! development machine. Benchmarks are run manually, never as tests.

mod big_report;
mod build_engine;
mod crash_images;
mod crash_tiers;
mod empty_trial;
mod guarding;
mod insert_loop;
mod load;
mod load_large;
mod program;
mod script_loop;
mod tuning;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// An error message.
type Failure = Box<dyn std::error::Error>;

/// Benchmarks of pragmark itself.
#[derive(Debug, Parser)]
struct Cli {
    /// The pragmark program to measure.
    #[arg(long, default_value = "target/release/pragmark")]
    pragmark: PathBuf,
    #[command(subcommand)]
    benchmark: Benchmark,
}

#[derive(Debug, Subcommand)]
enum Benchmark {
    /// Compare the native driver's insert loop with a C loop linked statically with the same
    /// amalgamation, in pairs of random order. Target: at most 3 % slower.
    InsertLoop {
        /// Rows per repetition.
        #[arg(long, default_value_t = 1_000_000)]
        rows: usize,
        /// Pairs.
        #[arg(long, default_value_t = 40)]
        pairs: usize,
    },
    /// Compare pgbench's scripts in the workload `sql` with the same statements in C, in pairs of random order.
    /// Targets: at most 0.2 µs more per statement, and 5 % for tpcb-like.
    ScriptLoop {
        /// Transactions per repetition.
        #[arg(long, default_value_t = 100_000)]
        transactions: usize,
        /// Pairs.
        #[arg(long, default_value_t = 20)]
        pairs: usize,
    },
    /// Search made-up surfaces with the method of `pragmark tune` and with others. Targets: within 5 % of the best
    /// configuration in 0.85 of the searches with 100 trials of the current settings, in 0.95 with 300.
    Tuning {
        /// Surfaces.
        #[arg(long, default_value_t = 40)]
        surfaces: u64,
        /// Factors, from 6 to 15.
        #[arg(long, default_value_t = 12)]
        factors: usize,
        /// Budgets, in trials of the current settings.
        #[arg(long, value_delimiter = ',', default_value = "100,300")]
        budgets: Vec<f64>,
        /// Only measure the time of choosing a trial.
        #[arg(long)]
        speed: bool,
    },
    /// Search on surfaces with a small budget: nothing excluded may be tried or recommended.
    TuningSafety {
        /// Searches.
        #[arg(long, default_value_t = 10_000)]
        searches: u64,
    },
    /// Start, run and end an empty trial. Target: at most 30 ms.
    EmptyTrial {
        /// Trials.
        #[arg(long, default_value_t = 200)]
        trials: usize,
    },
    /// Compare building an engine of the built-in version with the C compiler alone. Target: at most
    /// 10 % slower.
    BuildEngine {
        /// The engine to build; not a profile-guided one.
        #[arg(long, default_value = "3.54.1")]
        name: String,
        /// Pairs.
        #[arg(long, default_value_t = 4)]
        pairs: usize,
    },
    /// Report many outcomes. Target: 100,000 in at most 3 s and 500 MB.
    BigReport {
        /// Outcomes.
        #[arg(long, default_value_t = 100_000)]
        outcomes: usize,
    },
    /// Compare two runs of many outcomes. Target: of 100,000 each in at most 5 s and 300 MB.
    BigCompare {
        /// Outcomes of each run.
        #[arg(long, default_value_t = 100_000)]
        outcomes: usize,
        /// Rounds of each of its experiments, which have 49 variants: 1,754 make one experiment of 100,000 outcomes.
        #[arg(long, default_value_t = 30)]
        rounds: u32,
    },
    /// Make the history page of many runs of 28 outcomes each. Target: of 1,000 runs in at most 5 s and 2 MB.
    BigHistory {
        /// Runs.
        #[arg(long, default_value_t = 1_000)]
        runs: u32,
    },
    /// Run `pragmark guard` many times on two directories. Targets: with `--slower 0`, also with `--hogs 2`, at most
    /// 1 % of 100 runs fail; with `--slower 10` 90 % of 50 fail within 5 minutes, with `--slower 30` within 1 minute
    /// (`--time-limit 60`).
    Guarding(guarding::Plan),
    /// Recover and judge crash images with one thread. Target: 10,000 per second.
    CrashImages {
        /// Crash images per variant and storage model.
        #[arg(long, default_value_t = 6000)]
        images: usize,
    },
    /// Measure the safety tiers of all durability settings with several seeds, with ever more crash images.
    /// Target: the seed decides no verdict at the number that safety tiers are measured with.
    CrashTiers {
        /// Crash images per settings and storage model.
        #[arg(long, value_delimiter = ',', default_value = "500,2000,8000,32000")]
        images: Vec<usize>,
        /// Seeds.
        #[arg(long, default_value_t = 5)]
        seeds: u64,
        /// Page sizes in bytes.
        #[arg(long, value_delimiter = ',', default_value = "4096")]
        page_size: Vec<u32>,
    },
    /// Compare bulk loading with copying from an attached database, in pairs of random order, including
    /// syncs. Targets, compared with `SELECT *` for 20 M, 20 M and 1 M rows: pages 15 times as fast for T2,
    /// 8 times for T1 and T3, 10 times into an existing database; arrays twice for T2.
    Load(load::Plan),
    /// Write a large table as pages while its rows are generated. Target: 10^9 rows in 120 s, with less than
    /// 1 GiB of memory at any size.
    LoadLarge {
        /// Rows; 10^9 take 19 GB of disk.
        #[arg(long, default_value_t = 100_000_000)]
        rows: u64,
        /// A column to index.
        #[arg(long)]
        index: Option<String>,
        /// Directory for the database, on the disk to measure.
        #[arg(long, default_value = ".")]
        dir: PathBuf,
    },
}

/// Carries out the benchmark.
fn execute(cli: Cli) -> Result<(), Failure> {
    match cli.benchmark {
        Benchmark::InsertLoop { rows, pairs } => insert_loop::run(&cli.pragmark, rows, pairs),
        Benchmark::ScriptLoop { transactions, pairs } => {
            script_loop::run(&cli.pragmark, transactions, pairs)
        }
        Benchmark::Tuning { surfaces, factors, budgets, speed } => {
            match speed {
                true => tuning::speed(surfaces, factors, &budgets),
                false => tuning::run(surfaces, factors, &budgets),
            }
            Ok(())
        }
        Benchmark::TuningSafety { searches } => {
            tuning::safety(searches);
            Ok(())
        }
        Benchmark::EmptyTrial { trials } => empty_trial::run(&cli.pragmark, trials),
        Benchmark::BuildEngine { name, pairs } => build_engine::run(&cli.pragmark, &name, pairs),
        Benchmark::BigReport { outcomes } => big_report::run(&cli.pragmark, outcomes),
        Benchmark::BigCompare { outcomes, rounds } => {
            big_report::compare(&cli.pragmark, outcomes, rounds)
        }
        Benchmark::BigHistory { runs } => big_report::history(&cli.pragmark, runs),
        Benchmark::Guarding(plan) => guarding::run(&cli.pragmark, &plan),
        Benchmark::CrashImages { images } => crash_images::run(images),
        Benchmark::CrashTiers { images, seeds, page_size } => {
            crash_tiers::run(&images, seeds, &page_size)
        }
        Benchmark::Load(plan) => load::run(&plan),
        Benchmark::LoadLarge { rows, index, dir } => load_large::run(rows, index.as_deref(), &dir),
    }
}

fn main() -> ExitCode {
    match execute(Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::FAILURE
        }
    }
}

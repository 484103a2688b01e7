#![forbid(unsafe_code)]
//! Benchmarks of pragmark itself.
//!
//! Each prints what it measured and the figure to reach; `docs/benchmarks.md` keeps what was
//! measured on the development machine. They are run by hand, never as tests.

mod big_report;
mod build_engine;
mod crash_images;
mod empty_trial;
mod insert_loop;
mod load;
mod load_large;
mod program;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// What went wrong, in words.
type Failure = Box<dyn std::error::Error>;

/// Benchmarks of pragmark itself.
#[derive(Debug, Parser)]
struct Cli {
    /// The program to be measured.
    #[arg(long, default_value = "target/release/pragmark")]
    pragmark: PathBuf,
    #[command(subcommand)]
    benchmark: Benchmark,
}

#[derive(Debug, Subcommand)]
enum Benchmark {
    /// The native driver's insert loop against a C loop linked statically with the same
    /// amalgamation, in pairs of random order. To reach: at most 3 % more.
    InsertLoop {
        /// Rows of each repetition.
        #[arg(long, default_value_t = 1_000_000)]
        rows: usize,
        /// Pairs.
        #[arg(long, default_value_t = 40)]
        pairs: usize,
    },
    /// Starting, running and tearing down an empty trial. To reach: at most 30 ms.
    EmptyTrial {
        /// Trials.
        #[arg(long, default_value_t = 200)]
        trials: usize,
    },
    /// Building an engine of the built-in version against the C compiler by itself. To reach: at most
    /// 10 % more.
    BuildEngine {
        /// The build; not a profile-guided one.
        #[arg(long, default_value = "3.54.1")]
        name: String,
        /// Pairs.
        #[arg(long, default_value_t = 4)]
        pairs: usize,
    },
    /// A report over many outcomes. To reach: 100,000 in at most 3 s and 500 MB.
    BigReport {
        /// Outcomes.
        #[arg(long, default_value_t = 100_000)]
        outcomes: usize,
    },
    /// Images of crashes recovered and judged by one thread. To reach: 10,000 a second.
    CrashImages {
        /// Images for each variant and model.
        #[arg(long, default_value_t = 6000)]
        images: usize,
    },
    /// Bulk loading against the copy from an attached database, in pairs of random order, syncing
    /// included. To reach, against `SELECT *` with 20 M, 20 M and 1 M rows: pages 15 times as fast for
    /// T2 and 8 times for T1 and T3, 10 times into a database that exists; arrays twice for T2.
    Load {
        /// Tables.
        #[arg(default_values = ["t1", "t2", "t3"])]
        subjects: Vec<load::Subject>,
        /// Rows [default: 1,000,000 of T1 and T2, 50,000 of T3].
        #[arg(long)]
        rows: Option<usize>,
        /// Methods: `arrays`; `pages-N`, a new database by so many threads; `existing-N`, an empty table of
        /// a database that exists.
        #[arg(long = "method", default_values = ["arrays", "pages-1", "pages-2", "pages-4", "existing-4"])]
        methods: Vec<load::Method>,
        /// Forms of the copy.
        #[arg(long = "copy", default_values = ["whole", "listed"])]
        copies: Vec<load::Copy>,
        /// A column of which an index is made, too; by CREATE INDEX after the copy. To reach: 6 times.
        #[arg(long)]
        index: Option<String>,
        /// Pairs for each method and each form of the copy.
        #[arg(long, default_value_t = 5)]
        pairs: usize,
        /// Directory for the databases, on the disk to be measured.
        #[arg(long, default_value = ".")]
        dir: PathBuf,
    },
    /// A table of many rows written as pages while they are made. To reach: 10^9 rows in 120 s, with less
    /// than 1 GiB of memory at any size.
    LoadLarge {
        /// Rows; 10^9 take 19 GB of disk.
        #[arg(long, default_value_t = 100_000_000)]
        rows: u64,
        /// A column of which an index is made, too.
        #[arg(long)]
        index: Option<String>,
        /// Directory for the database, on the disk to be measured.
        #[arg(long, default_value = ".")]
        dir: PathBuf,
    },
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let result = match cli.benchmark {
        Benchmark::InsertLoop { rows, pairs } => insert_loop::run(&cli.pragmark, rows, pairs),
        Benchmark::EmptyTrial { trials } => empty_trial::run(&cli.pragmark, trials),
        Benchmark::BuildEngine { name, pairs } => build_engine::run(&cli.pragmark, &name, pairs),
        Benchmark::BigReport { outcomes } => big_report::run(&cli.pragmark, outcomes),
        Benchmark::CrashImages { images } => crash_images::run(images),
        Benchmark::Load {
            subjects,
            rows,
            methods,
            copies,
            index,
            pairs,
            dir,
        } => load::run(&load::Plan {
            subjects,
            rows,
            methods,
            copies,
            index,
            pairs,
            directory: dir,
        }),
        Benchmark::LoadLarge { rows, index, dir } => load_large::run(rows, index.as_deref(), &dir),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::FAILURE
        }
    }
}

//! Options of `compare`.

use std::path::PathBuf;

use app::Result;
use app::compare::ExactRequest;
use app::measure::{Sql, Subject, Work};
use clap::Args;

use super::stand_in::StandInArgs;
use super::values::{settings, varied};
use crate::commands::compare;
use crate::exit::Exit;
use crate::output::Output;

/// Repetitions of each side. Counters that differ between them give no verdict.
const REPETITIONS: u32 = 2;

/// Seed of all random choices, the same in each comparison so that counters are.
const SEED: u64 = 1;

/// Options of `compare`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pragmark compare app.trace --engine 3.46.0 --engine 3.54.1
                                        recorded traffic on two versions of SQLite, before an upgrade
  pragmark compare queries.sql --db app.db --engine system --engine default
                                        a list of queries on two libraries
  pragmark compare queries.sql --db app.db --db migrated.db
                                        the same on two databases
  pragmark compare --db app.db -c 'SELECT …' -c 'SELECT …'
                                        two forms of one query: work and answers
  pragmark compare queries.sql --db app.db --vary journal_mode=delete,wal
                                        syncs, pages and bytes written with two settings

  pragmark compare pragmark-runs/A pragmark-runs/B
                                        two runs: differences around them, ratios to each run's own baseline, counters

Only runs are timed. Everything else compares query plans, answers and counters: instructions of SQLite's virtual machine, full-scan steps, sorts, pages and syncs. All are the same on every machine.")]
pub struct CompareArgs {
    /// Folders of runs or their exports (JSON, SQLite, Parquet, or CSV tables of trials), a trace
    /// of `pragmark record`, or files of SQL as for `pragmark measure`. Several files are compared
    /// with one another. If databases, engines or settings are compared, each side executes all
    /// files.
    #[arg(required_unless_present = "commands")]
    pub subjects: Vec<PathBuf>,
    /// Statement to compare instead of a file. Several are compared with one another, like files.
    #[arg(short = 'c', long = "command", value_name = "SQL", conflicts_with = "subjects")]
    pub commands: Vec<String>,
    /// Your database. Every repetition works on a copy. Repeat it to compare databases [default: an empty one].
    #[arg(long = "db", value_name = "FILE")]
    pub dbs: Vec<PathBuf>,
    #[command(flatten)]
    pub stand_ins: StandInArgs,
    /// SQL file to execute on each copy before the work. Use it for a schema or an index.
    #[arg(long, value_name = "FILE")]
    pub setup: Option<PathBuf>,
    /// SQLite library: `default`, `system`, a version, or the path of a shared library; repeat it to compare several.
    #[arg(long, value_name = "ENGINE")]
    pub engine: Vec<String>,
    /// Setting to compare, with its values, such as journal_mode=delete,wal or 'schema_change=,CREATE INDEX i ON t(a, b)'. The
    /// first value is the base.
    #[arg(long, value_name = "NAME=VALUE,…")]
    pub vary: Vec<String>,
    /// Setting of all sides, such as cache_size=-64000.
    #[arg(long, value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    /// Executions of each query or script; a trace is replayed once.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub executions: u32,
    /// Directory for the copies [default: the current one].
    #[arg(long = "dir", value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// The result.
    #[command(flatten)]
    pub output: Output,
}

impl CompareArgs {
    /// Compares.
    pub fn execute(self) -> Result<Exit> {
        let request = ExactRequest {
            subject: Subject {
                work: Work::Sql(Sql { statements: self.commands, ..Sql::default() }),
                databases: self.dbs,
                setup: self.setup,
                vary: varied(&self.vary)?,
                indexes: Vec::new(),
                set: settings(&self.set, "--set")?,
                engines: self.engine,
            },
            executions: self.executions,
            repetitions: REPETITIONS,
            directory: self.dir,
            seed: SEED,
        };
        compare::execute(&self.subjects, &self.stand_ins, request, &self.output)
    }
}

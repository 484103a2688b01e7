//! Options of `guard`.

use std::path::PathBuf;
use std::time::Duration;

use app::Result;
use app::guard::GuardRequest;
use clap::Args;

use super::values::seconds;
use crate::commands::guard::{self, Undecided};
use crate::exit::Exit;

/// Seed of all random choices, the same in each run so that counters are.
const SEED: u64 = 1;

/// Options of `guard`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pragmark guard --base origin/main                 what the working directory changes
  pragmark guard --base v1.4 --new v1.5             two revisions
  pragmark guard --counters-only --base HEAD~1      plans, counters, answers and safety only: seconds, no noise
  pragmark guard --engine 3.46.0 --engine 3.54.1    two libraries with the same project
  pragmark guard --base ../old                      two directories
  pragmark guard --no-base                          no comparison: full scans, automatic indexes, limits

The file pragmark-guard.toml names the work and the budgets.

Exit codes: 0 every check passed; 3 a side cannot be measured; 4 a check failed; 5 undecided.")]
pub struct GuardArgs {
    /// Revision of this git repository to compare with, or a directory, such as ../old (a path that begins with `.` or `/`).
    /// pragmark checks the revision out elsewhere.
    #[arg(long, value_name = "REVISION")]
    pub base: Option<String>,
    /// Compare with nothing: fail if a statement scans more than 1,000 rows, builds an automatic index, or exceeds a limit of the
    /// file, such as `vm_steps`.
    #[arg(long, conflicts_with_all = ["base", "new"])]
    pub no_base: bool,
    /// Revision to check, instead of the working directory.
    #[arg(long, value_name = "REVISION", requires = "base")]
    pub new: Option<String>,
    /// SQLite library of both sides, or of the base and of the new side if given twice.
    #[arg(long, value_name = "ENGINE", num_args = 1)]
    pub engine: Vec<String>,
    /// Database of both sides, or of the base and of the new side if given twice.
    #[arg(long = "db", value_name = "FILE")]
    pub dbs: Vec<PathBuf>,
    /// The file with work and budgets.
    #[arg(long, value_name = "FILE", default_value = "pragmark-guard.toml")]
    pub config: PathBuf,
    /// Check plans, counters, answers and safety, and measure no time.
    #[arg(long)]
    pub counters_only: bool,
    /// Time limit for measuring times, such as 90s or 5m.
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = seconds)]
    pub time_limit: f64,
    /// Time of one trial, such as 200ms.
    #[arg(long, value_name = "TIME", default_value = "300ms", value_parser = seconds)]
    pub trial: f64,
    /// The verdict on an undecided budget.
    #[arg(long, value_enum, value_name = "WHAT")]
    pub undecided: Option<Undecided>,
    /// Keep the record and the result in this new folder: a run that `report`, `compare` and `runs history` read, and
    /// the result as summary.md, report.html, guard.json and junit.xml.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

impl GuardArgs {
    /// Measures both sides and judges.
    pub fn execute(self) -> Result<Exit> {
        let is_directory = |base: &String| base.starts_with(['.', '/']);
        let (base, base_directory) = match self.base {
            Some(base) if is_directory(&base) => (None, Some(PathBuf::from(base))),
            base => (base, None),
        };
        let request = GuardRequest {
            base,
            new: self.new,
            base_directory,
            no_base: self.no_base,
            engines: self.engine,
            databases: self.dbs,
            config: self.config,
            counters_only: self.counters_only,
            time_limit: Duration::from_secs_f64(self.time_limit),
            trial: Duration::from_secs_f64(self.trial),
            seed: SEED,
            out: self.out,
        };
        guard::execute(&request, self.undecided)
    }
}

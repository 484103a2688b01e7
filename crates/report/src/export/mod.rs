//! Exports: the same figures with every digit, for other programs.
//!
//! Trials are streamed, because a record may hold any number of them; variants, claims and the whole
//! analysis are small and made in one piece. Figures are plain numbers in the base unit of their
//! metric (see [`lab::metric`]); an empty cell says that there is none. Text that a spreadsheet would take
//! for a formula has an apostrophe before it; JSON has every text as it is.

mod columns;
mod csv_tables;
mod read;
mod services;
mod tables;

use tuning::Analysis;

use crate::Result;

pub use columns::{Columns, Datum, Kind};
pub use csv_tables::{TrialsCsv, claims_csv, metrics_csv, variants_csv};
pub use read::{NEEDED_TABLES, RunOfTables, run_of_trials_csv};
pub use services::{Benchstat, Direction, bencher, github_benchmark};
pub use tables::{TABLES, TableForm, TableRow, run_rows, trial_rows};

/// Returns the whole analysis as indented JSON, in the form of [`Analysis`]. Ends of intervals that are
/// not bounded are `null`; characters that a terminal would act on are escaped.
///
/// # Errors
/// When the analysis holds what JSON cannot say, such as a path that is not UTF-8.
pub fn json(analysis: &Analysis) -> Result<String> {
    let text = serde_json::to_string_pretty(analysis)?;
    Ok(services::escaped_json(&text) + "\n")
}

//! `pragmark trial`: the native driver, run by pragmark itself in a process for each trial.

use crate::failure::{Exit, Failure};

/// Runs the trial that standard input specifies.
pub fn execute() -> Result<Exit, Failure> {
    bench::drive(std::io::stdin().lock(), std::io::stdout().lock()).map_err(Failure::unusable)?;
    Ok(Exit::Success)
}

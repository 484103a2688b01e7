//! `pragmark trial`: the native driver, run by pragmark itself in a process for each trial; and
//! `pragmark contention-worker`, which a trial starts when several processes share its work.

use crate::failure::{Exit, Failure};

/// Runs the trial that standard input specifies.
pub fn execute() -> Result<Exit, Failure> {
    bench::drive(std::io::stdin().lock(), std::io::stdout().lock()).map_err(Failure::unusable)?;
    Ok(Exit::Success)
}

/// Does the part of one worker, as standard input orders.
pub fn contention_worker() -> Result<Exit, Failure> {
    bench::contention_worker(std::io::stdin().lock(), std::io::stdout().lock())
        .map_err(Failure::unusable)?;
    Ok(Exit::Success)
}

//! `pragmark trial`: the native driver, run by pragmark itself in a process for each trial; and
//! what a trial starts: `pragmark contention-worker` when several processes share its work, and
//! `pragmark write-until-killed`.

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

/// Executes the part of a replay that is given to one process.
pub fn replay_worker() -> Result<Exit, Failure> {
    let input = std::io::BufReader::new(std::io::stdin());
    bench::replay_worker(input, std::io::stdout()).map_err(Failure::unusable)?;
    Ok(Exit::Success)
}

/// Writes until it is killed.
pub fn write_until_killed() -> Result<Exit, Failure> {
    crash::kill::write_until_killed(std::io::stdin().lock(), std::io::stdout().lock())
        .map_err(Failure::unusable)?;
    Ok(Exit::Success)
}

/// Commits with an engine while the parent counts the system calls.
pub fn make_synced_commits(engine: &str) -> Result<Exit, Failure> {
    crash::syncs::make_synced_commits(engine, std::io::stdin().lock(), std::io::stdout().lock())
        .map_err(Failure::unusable)?;
    Ok(Exit::Success)
}

/// Describes an engine in a process of its own, because loading a library runs its code.
pub fn describe_engine(engine: &str) -> Result<Exit, Failure> {
    let record = bench::describe_engine(engine).map_err(Failure::unusable)?;
    let text = serde_json::to_string(&record).map_err(Failure::unusable)?;
    super::output::write_text(None, &text)
}

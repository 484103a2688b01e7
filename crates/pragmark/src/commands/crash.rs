//! `pragmark crash`: what a crash can destroy.

use std::path::Path;

use app::crash::{CrashRequest, Played, crash};
use app::{Error, Result};
use clap::ValueEnum;
use crash::schedule::Schedule;
use runner::End;

use super::run::{exit, summary};
use crate::exit::Exit;
use crate::output;
use crate::terminal::Terminal;

/// Forms of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CrashFormat {
    /// A summary.
    Terminal,
    /// All counts, and the promises of SQLite's documentation.
    Markdown,
    /// All results.
    Json,
}

/// Carries out a crash test and reports it.
pub fn execute(request: &CrashRequest, format: CrashFormat) -> Result<Exit> {
    let concluded = crash(request, &Terminal::new())?;
    let analysis = &concluded.analysis;
    let text = match format {
        CrashFormat::Markdown => report::markdown(analysis),
        CrashFormat::Json => report::export::json(analysis).map_err(Error::unusable)?,
        CrashFormat::Terminal => summary(analysis, &concluded.folder),
    };
    output::write_text(None, &text)?;
    let mut variants = analysis.experiments.iter().flat_map(|experiment| &experiment.variants);
    Ok(with_damage(exit(&concluded), variants.any(|variant| variant.class().uncrashed)))
}

/// Returns the exit code of a test that found damage without a crash, or none.
fn with_damage(exit: Exit, corrupts: bool) -> Exit {
    match exit {
        Exit::Success if corrupts => Exit::TrialsFailed,
        exit => exit,
    }
}

/// Plays a schedule again and prints its calls.
pub fn play(schedule: &Schedule, engines: &[String], directory: Option<&Path>) -> Result<Exit> {
    let Played { calls, wrong } = app::crash::play(schedule, engines, directory, &Terminal::new())?;
    let outcome = match wrong {
        0 => "nothing went wrong".to_owned(),
        wrong => format!("{wrong} things went wrong"),
    };
    let calls = calls.join("\n");
    output::write_text(
        None,
        &format!(
            "{schedule}: calls of the first connection by number, acts of both indented\n\n{calls}\n\n{outcome}\n"
        ),
    )
}

/// Measures the safety tiers that come with the program and writes them to a file.
pub fn write_known(file: &Path, quick: bool, directory: Option<&Path>) -> Result<Exit> {
    Ok(match app::crash::write_known(file, quick, directory, &Terminal::new())? {
        End::Finished => Exit::Success,
        End::Cancelled => Exit::Interrupted,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damage_without_a_crash_is_a_failure_and_losses_in_crashes_are_none() {
        assert_eq!(with_damage(Exit::Success, true), Exit::TrialsFailed);
        assert_eq!(with_damage(Exit::Success, false), Exit::Success);
        assert_eq!(with_damage(Exit::Interrupted, true), Exit::Interrupted);
    }
}

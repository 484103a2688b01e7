//! The end of a run: its page, what the terminal shows, and the exit code.

use std::path::Path;

use lab::analysis::TrialCounts;
use lab::tier::MayLose;
use runner::End;
use tuning::Analysis;

use super::{output, report, tune};
use crate::failure::{Exit, Failure};
use crate::shell;

/// Writes the page, prints what `rendered` makes of the run, and says how it ended.
pub(super) fn conclude(
    folder: &Path,
    end: End,
    rendered: impl FnOnce(&Analysis) -> Result<String, Failure>,
) -> Result<Exit, Failure> {
    let analysis = report::analyse(folder)?;
    let page = folder.join(report::PAGE);
    output::write_in_run(&page, &report::page(&analysis)?)?;
    tune::write_experiment(&analysis, folder)?;
    output::write_text(None, &rendered(&analysis)?)?;
    if end == End::Cancelled {
        let kept = match analysis.measured() {
            0 => "stopped before anything was measured",
            _ => "stopped; what was measured is kept",
        };
        tell!("{kept}\nhint: {}", resume_hint(folder, analysis.plan.postgres_given));
        return Ok(Exit::Interrupted);
    }
    Ok(if some_failed(&analysis) {
        Exit::TrialsFailed
    } else if let Some(why) = why_all_skipped(&analysis) {
        tell!("nothing was measured: every trial was {why}");
        Exit::Unusable
    } else {
        Exit::Success
    })
}

/// What the terminal shows of a run.
pub(super) fn summary(analysis: &Analysis, folder: &Path) -> String {
    let summary = ::report::terminal(analysis, report::terminal_style());
    let page = folder.join(report::PAGE);
    let settings = match recommends_settings(analysis) {
        true => format!(
            "settings for another binding, such as python: pragmark settings {} --for python\n",
            shell::path(folder)
        ),
        false => String::new(),
    };
    format!("{summary}\n{settings}report: {}\n", page.display())
}

/// Whether there are settings to paste.
fn recommends_settings(analysis: &Analysis) -> bool {
    let mut rungs = analysis.ladders.iter().flat_map(|it| &it.rungs);
    rungs.any(|it| it.advice.is_ok() && it.may_lose < MayLose::Anything)
}

fn some_failed(analysis: &Analysis) -> bool {
    let all = [
        &analysis.trials,
        &analysis.counting_trials,
        &analysis.tier_trials,
        &analysis.confirmation_trials,
    ];
    all.iter().any(|trials| trials.failed + trials.timed_out > 0)
}

/// The first reason, where there was something to measure and none of it could be run here.
fn why_all_skipped(analysis: &Analysis) -> Option<&str> {
    let TrialCounts { measured, skipped, .. } = analysis.trials;
    let mut variants = analysis.experiments.iter().flat_map(|it| &it.variants);
    match skipped > 0 && measured == 0 {
        true => variants.find_map(|variant| variant.problem.as_deref()),
        false => None,
    }
}

/// How to go on with a run.
pub(super) fn resume_hint(folder: &Path, postgres_given: bool) -> String {
    let server = match postgres_given {
        true => " --postgres URI",
        false => "",
    };
    format!("go on with `pragmark run --resume {}{server}`", shell::path(folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_on_a_server_of_the_users_goes_on_only_with_that() {
        let hint = |given| resume_hint(Path::new("runs/a"), given);
        assert!(hint(true).ends_with("`pragmark run --resume runs/a --postgres URI`"));
        assert!(hint(false).ends_with("`pragmark run --resume runs/a`"));
    }
}

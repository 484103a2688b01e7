//! The end of a run: its page, and how it came out.

use std::path::{Path, PathBuf};

use lab::analysis::{TrialCounts, VariantAnalysis};
use lab::level::Level;
use lab::tier::MayLose;
use runner::{End, RunFolder};
use tuning::Analysis;

use crate::error::{Error, Result};
use crate::files::write_in_run;
use crate::report::{PAGE, analyse, page};
use crate::words::shell_path;

/// The file in the folder of a search that holds the experiment on what is recommended.
pub(crate) const TUNED_EXPERIMENT: &str = "tuned.toml";

/// A run that was carried out, or stopped.
pub struct Concluded {
    /// The folder of the run.
    pub folder: PathBuf,
    /// The analysis.
    pub analysis: Analysis,
    /// Whether it was carried out to its end.
    pub end: End,
    /// Whether nothing could be measured because of a mistake in the user's SQL.
    is_mistake: bool,
}

/// How a run came out.
pub enum Conclusion<'a> {
    /// A signal stopped it.
    Stopped,
    /// Nothing was measured because of a mistake in the user's SQL.
    Mistake,
    /// Some trials failed or timed out.
    TrialsFailed,
    /// Every trial was skipped, for this reason.
    NothingMeasured(&'a str),
    /// Everything was measured.
    Complete,
}

impl Concluded {
    /// Returns how the run came out.
    pub fn conclusion(&self) -> Conclusion<'_> {
        if self.end == End::Cancelled {
            Conclusion::Stopped
        } else if self.is_mistake {
            Conclusion::Mistake
        } else if some_failed(&self.analysis) {
            Conclusion::TrialsFailed
        } else if let Some(why) = why_all_skipped(&self.analysis) {
            Conclusion::NothingMeasured(why)
        } else {
            Conclusion::Complete
        }
    }
}

/// Analyses a run, writes its page, and for a search the experiment on what is recommended.
///
/// # Errors
/// The record cannot be read, or its folder cannot be written.
pub fn conclude(folder: &Path, end: End) -> Result<Concluded> {
    let analysis = analyse(folder)?;
    write_in_run(&folder.join(PAGE), &page(&analysis)?)?;
    if analysis.tuning.is_some()
        && let Some(planned) = analysis.plan.experiments.first()
        // Otherwise nothing was recommended, or nothing but what is set now.
        && !planned.experiment.design.variants.is_empty()
    {
        let text = planned.experiment.to_toml().map_err(Error::unusable)?;
        write_in_run(&folder.join(TUNED_EXPERIMENT), &text)?;
    }
    let is_mistake = analysis.measured() == 0 && has_mistake(folder, None)?;
    Ok(Concluded { folder: folder.to_owned(), analysis, end, is_mistake })
}

/// Returns whether a trial met a mistake in the user's SQL: a trial of a variant, or any.
fn has_mistake(folder: &Path, variant: Option<&str>) -> Result<bool> {
    let mut is_mistake = false;
    RunFolder::open(folder)?.each_trial(|record| {
        let is_meant = variant.is_none_or(|label| record.variant == label);
        is_mistake |= is_meant && record.outcome.is_mistake();
    })?;
    Ok(is_mistake)
}

/// Returns whether there are settings to paste.
pub fn recommends_settings(analysis: &Analysis) -> bool {
    let mut rungs = analysis.ladders.iter().flat_map(|ladder| &ladder.rungs);
    rungs.any(|rung| rung.advice.is_ok() && rung.may_lose < MayLose::Anything)
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

/// Returns the first reason if there was something to measure and nothing could be run here.
fn why_all_skipped(analysis: &Analysis) -> Option<&str> {
    let TrialCounts { measured, skipped, .. } = analysis.trials;
    if skipped == 0 || measured > 0 {
        return None;
    }
    let mut variants = analysis.experiments.iter().flat_map(|experiment| &experiment.variants);
    variants.find_map(|variant| variant.problem.as_deref())
}

/// Refuses a run in which the baseline could not be measured: there is nothing to report.
pub(super) fn check_measured(folder: &Path, analysis: &Analysis) -> Result<()> {
    let variants = analysis.experiments.iter().flat_map(|experiment| experiment.variants.first());
    let mut unmeasured = variants.filter(|variant| variant.unmeasured());
    let Some((variant, problem)) =
        unmeasured.find_map(|variant| Some((variant, variant.problem.as_ref()?)))
    else {
        return Ok(());
    };
    // How the trial ended is known; what remains is why.
    let why = problem.strip_prefix("failed: ").or(problem.strip_prefix("skipped: "));
    let problem = why.unwrap_or(problem);
    let error = if has_mistake(folder, Some(&variant.label))? {
        Error::mistake(problem)
    } else {
        Error::unusable(problem)
    };
    Err(error.hint_if(hint_for_problem(variant, problem)))
}

/// Returns a hint if a table is missing from a database that was not named, a database is locked, or a statement cannot be
/// executed twice.
fn hint_for_problem(variant: &VariantAnalysis, problem: &str) -> Option<&'static str> {
    if problem.contains("UNIQUE constraint failed") {
        return Some(
            "each statement is executed many times: let SQLite give the key, or draw it, such as \\set id random(1, 1000000000)",
        );
    }
    if problem.contains("database is locked") {
        return Some(
            "another program holds a lock on it: wait until it has committed, or measure a copy of the database",
        );
    }
    let named = variant.settings.get("database").and_then(Level::as_text);
    let is_empty = named.is_none_or(str::is_empty) && !variant.settings.contains_key("trace");
    let misses_data = ["no such table", "has no value"].iter().any(|words| problem.contains(words));
    (is_empty && misses_data).then_some(
        "without --db FILE the database is empty, and `setup` (`--set setup=FILE`) names SQL that makes its tables",
    )
}

/// Returns how to go on with a run.
pub fn resume_hint(folder: &Path, postgres_given: bool) -> String {
    let server = if postgres_given { " --postgres URI" } else { "" };
    format!("continue with `pragmark run --resume {}{server}`", shell_path(folder))
}

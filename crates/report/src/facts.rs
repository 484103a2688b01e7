//! The small print in sentences: how a run went, what weakens it, and how to repeat it.

use std::path::Path;

use lab::analysis::{Analysis, ExperimentAnalysis, VariantAnalysis};
use lab::claims::Verdict;
use lab::environment::Environment;
use lab::record::{EngineRecord, RunPlan};

use crate::figures::{self, duration, percent};
use crate::words::{plural, unsteadiness};

/// An RFC 3339 time to the minute: `2026-03-01 09:30 UTC`. A time in another form is left as it
/// is.
pub(crate) fn minute(created: &str) -> String {
    match (created.split_once('T'), created.ends_with('Z')) {
        (Some((day, time)), true) => match time.get(..5) {
            Some(minute) => format!("{day} {minute} UTC"),
            None => created.to_owned(),
        },
        _ => created.to_owned(),
    }
}

/// The machine in a few words: `AMD EPYC 7763, 4 CPUs, 15.6 GiB, Linux 6.12.1`.
pub(crate) fn machine(environment: &Environment) -> String {
    let cpus = environment.cpu.usable_cpus.or(environment.cpu.logical_cpus);
    let memory = environment.memory.total_bytes;
    let parts = [
        environment.cpu.model.clone(),
        cpus.map(|cpus| plural(cpus as usize, "CPU", "CPUs")),
        memory.map(|bytes| figures::with_unit(bytes as f64, lab::metric::Unit::Bytes)),
        environment.system.kernel.clone(),
    ];
    let known: Vec<String> = parts.into_iter().flatten().collect();
    if known.is_empty() {
        "a machine that says nothing of itself".to_owned()
    } else {
        known.join(", ")
    }
}

/// The version of SQLite that the run is about: that of its default engine.
pub(crate) fn sqlite(analysis: &Analysis) -> String {
    let engines = &analysis.environment.engines;
    let chosen = engines
        .iter()
        .find(|engine| engine.name == analysis.plan.engine)
        .or(engines.first());
    match chosen {
        Some(EngineRecord { version, .. }) => format!("SQLite {version}"),
        None => "SQLite".to_owned(),
    }
}

/// How the trials ended: `186 trials: 180 measured, 4 skipped, 2 failed`.
pub(crate) fn trials(analysis: &Analysis) -> String {
    let counts = analysis.trials;
    let parts = [
        (counts.measured, "measured"),
        (counts.skipped, "skipped"),
        (counts.failed, "failed"),
        (counts.timed_out, "timed out"),
    ];
    let told = parts.iter().filter(|(count, _)| *count > 0);
    let told: Vec<String> = told
        .map(|(n, how)| format!("{} {how}", figures::count(*n)))
        .collect();
    let all = plural(counts.total(), "trial", "trials");
    let all = if told.is_empty() {
        all
    } else {
        format!("{all}: {}", told.join(", "))
    };
    let (tiers, confirmation) = (&analysis.tier_trials, &analysis.confirmation_trials);
    let later = [
        (tiers, "crash trial", "crash trials", "for safety tiers"),
        (
            confirmation,
            "trial",
            "trials",
            "again of what was chosen from many",
        ),
    ];
    let later = later.iter().filter(|(counts, ..)| counts.total() > 0);
    let told = later
        .map(|(counts, one, more, why)| format!("{} {why}", plural(counts.total(), one, more)));
    [all].into_iter().chain(told).collect::<Vec<_>>().join("; ")
}

/// The time that all trials took.
pub(crate) fn time_taken(analysis: &Analysis) -> String {
    duration(
        analysis
            .experiments
            .iter()
            .map(|experiment| experiment.wall_s)
            .sum(),
    )
}

/// What weakens the whole run: where it ended early, and the warnings about its machine.
pub(crate) fn warnings(analysis: &Analysis) -> Vec<String> {
    let open = analysis
        .experiments
        .iter()
        .filter(|experiment| experiment.stop.is_none())
        .count();
    let all = analysis.experiments.len();
    let unfinished = (open > 0)
        .then(|| format!("unfinished: {open} of {all} experiments were not measured to their end"));
    let machine = analysis.environment.machine.warnings();
    unfinished
        .into_iter()
        .chain(machine.iter().map(|warning| warning.to_string()))
        .collect()
}

/// What weakens one experiment, a short word and a sentence each.
pub(crate) fn doubts(experiment: &ExperimentAnalysis) -> Vec<(&'static str, String)> {
    let mut doubts = Vec::new();
    if experiment.stop.is_none() {
        doubts.push(("unfinished", "it was not measured to its end".to_owned()));
    }
    if experiment.preliminary {
        let rounds = plural(experiment.rounds as usize, "round is", "rounds are");
        doubts.push((
            "preliminary",
            format!("{rounds} too few for more than a first answer"),
        ));
    }
    if let Some(aa_check) = experiment
        .aa_check
        .as_ref()
        .filter(|_| experiment.aa_check_alarm())
    {
        let ratio = figures::ratio(aa_check.centre, aa_check.interval);
        doubts.push((
            "A/A check alarm",
            format!("the baseline against itself shows a difference ({ratio}), so small effects are not to be trusted"),
        ));
    }
    doubts
}

/// How an experiment was measured, one sentence each.
pub(crate) fn footnotes(experiment: &ExperimentAnalysis) -> Vec<String> {
    let mut notes = vec![rounds(experiment)];
    if experiment.dropped_blocks > 0 {
        let blocks = plural(experiment.dropped_blocks, "block was", "blocks were");
        notes.push(format!(
            "{blocks} dropped because the machine was disturbed, whatever was measured"
        ));
    }
    if let Some(aa_check) = &experiment.aa_check {
        let ratio = figures::ratio(aa_check.centre, aa_check.interval);
        let well = if experiment.aa_check_alarm() {
            "where ×1 was due"
        } else {
            "as it should be"
        };
        notes.push(format!(
            "A/A check, the baseline against itself: {ratio}, {well}"
        ));
    }
    notes.extend(experiment.detectable.map(detectable));
    notes.extend(crate::tiers::footnote(experiment));
    notes.extend(crate::durability::footnote(experiment));
    if let Some(stop) = experiment.stop {
        notes.push(format!("measuring ended because {stop}"));
    }
    notes
}

/// What the reader of a variant's figures must know: why trials are missing, settings that no factor
/// accounts for, and throughput that did not hold still.
pub(crate) fn variant_notes(
    experiment: &ExperimentAnalysis,
    variant: &VariantAnalysis,
) -> Vec<String> {
    let unsteady =
        unsteadiness(variant.steadiness).map(|unsteady| format!("throughput {unsteady}"));
    variant_problems(experiment, variant)
        .into_iter()
        .chain(unsteady)
        .collect()
}

/// Why trials of a variant are missing, and settings that no factor accounts for.
pub(crate) fn variant_problems(
    experiment: &ExperimentAnalysis,
    variant: &VariantAnalysis,
) -> Vec<String> {
    let missing = variant.trials.total() - variant.trials.measured;
    let problem = match (&variant.problem, variant.trials.measured) {
        (None, 0) => Some("not measured in this run".to_owned()),
        (None, _) => None,
        (Some(problem), 0) => Some(clipped(problem)),
        (Some(problem), _) => Some(format!(
            "{missing} of {} trials without a figure, {}",
            variant.trials.total(),
            clipped(problem)
        )),
    };
    [problem, adjusted(experiment, variant)]
        .into_iter()
        .flatten()
        .collect()
}

/// A problem without its middle where it is long, as what a compiler says with its command can be. The
/// beginning tells what went wrong, the end why; the record keeps all of it.
fn clipped(problem: &str) -> String {
    const BEGINNING: usize = 200;
    const END: usize = 300;
    let length = problem.chars().count();
    if length <= BEGINNING + END {
        return problem.to_owned();
    }
    let beginning: String = problem.chars().take(BEGINNING).collect();
    let end: String = problem.chars().skip(length - END).collect();
    format!("{beginning} […] {end}")
}

/// Settings besides its levels in which a variant differs from the baseline.
fn adjusted(experiment: &ExperimentAnalysis, variant: &VariantAnalysis) -> Option<String> {
    let baseline = experiment.variants.first()?;
    let other = variant.settings.iter().filter(|(name, level)| {
        !variant.levels.contains_key(*name) && baseline.settings.get(*name) != Some(level)
    });
    let told: Vec<String> = other
        .map(|(name, level)| match baseline.settings.get(name) {
            Some(usual) => format!("{name}={level} where the baseline has {usual}"),
            None => format!("{name}={level}"),
        })
        .collect();
    (!told.is_empty()).then(|| format!("run with {}", told.join(", ")))
}

/// What would have been seen. Figures that hardly vary, such as sizes, show every difference.
fn detectable(detectable: f64) -> String {
    const ANY: f64 = 5e-4;
    if detectable < ANY {
        return "any difference would have been seen, so little did the trials vary".to_owned();
    }
    format!(
        "no difference above {} would have gone unseen (80 % power)",
        percent(detectable)
    )
}

fn rounds(experiment: &ExperimentAnalysis) -> String {
    format!(
        "{} in {}, {}",
        plural(experiment.rounds as usize, "round", "rounds"),
        plural(experiment.blocks, "block", "blocks"),
        duration(experiment.wall_s)
    )
}

/// How many claims ended with each verdict: `3 confirmed, 1 refuted`; none without claims.
pub(crate) fn verdict_counts(analysis: &Analysis) -> Option<String> {
    let told = crate::words::VERDICTS
        .into_iter()
        .filter_map(|verdict: Verdict| {
            let count = analysis.verdicts(verdict);
            (count > 0)
                .then(|| format!("{} {count} {verdict}", crate::words::verdict_sign(verdict)))
        });
    let told: Vec<String> = told.collect();
    (!told.is_empty()).then(|| told.join(", "))
}

/// The command that plans the same run again.
pub(crate) fn command(plan: &RunPlan) -> String {
    let mut ids: Vec<&str> = Vec::new();
    for planned in &plan.experiments {
        if !ids.contains(&planned.experiment.id.as_str()) {
            ids.push(&planned.experiment.id);
        }
    }
    let mut words = vec!["pragmark run".to_owned()];
    words.extend(ids.into_iter().map(str::to_owned));
    words.push(format!("--scale {} --seed {}", plan.scale, plan.seed.0));
    if plan.quick {
        words.push("--quick".to_owned());
    }
    if let Some(budget_s) = plan.budget_s {
        words.push(format!("--time-limit {budget_s}s"));
    }
    if let Some(tiers) = &plan.tiers {
        words.push(format!("--crash-seconds {}", tiers.seconds));
    }
    let mut directories: Vec<&Path> = Vec::new();
    for planned in &plan.experiments {
        if !directories.contains(&planned.directory.as_path()) {
            directories.push(&planned.directory);
        }
    }
    for directory in directories {
        words.push(format!("--dir {}", quoted(&directory.to_string_lossy())));
    }
    if plan.engine != "default" {
        words.push(format!("--engine {}", quoted(&plan.engine)));
    }
    if plan.postgres_given {
        // Its address may hold a password, so that the plan does not keep it.
        words.push("--postgres URI".to_owned());
    }
    words.join(" ")
}

/// A word that a POSIX shell takes as it is.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_shortened_only_when_they_are_in_the_expected_form() {
        assert_eq!(minute("2026-03-01T09:30:12Z"), "2026-03-01 09:30 UTC");
        assert_eq!(minute("yesterday"), "yesterday");
    }

    #[test]
    fn words_for_a_shell_are_quoted_when_they_must_be() {
        assert_eq!(quoted("/usr/lib/libsqlite3.so"), "/usr/lib/libsqlite3.so");
        assert_eq!(quoted("it's here"), r"'it'\''s here'");
    }

    #[test]
    fn a_long_problem_keeps_its_beginning_and_its_end() {
        assert_eq!(clipped("no such engine"), "no such engine");
        let long = format!(
            "the compiler failed: cc {}undefined symbol",
            "-O2 ".repeat(500)
        );
        let shown = clipped(&long);
        assert!(shown.starts_with("the compiler failed: cc"), "{shown}");
        assert!(shown.ends_with("undefined symbol"), "{shown}");
        assert!(shown.chars().count() < 520, "{shown}");
    }
}

//! The head of the report: what was run on which machine, how it ended, and what weakens all of it.

use std::path::Path;

use lab::analysis::ExperimentAnalysis;
use lab::environment::Environment;
use lab::tier::{Origin, TierPlan};
use tuning::Analysis;

use super::subject::Subject;
use crate::document::{Block, Item, Sentence, blocks};
use crate::figures::{self, duration};
use crate::glossary::explained;
use crate::words::{plural, verdict_counts};

/// The version of SQLite that the run is about, and the machine.
pub(super) fn title(analysis: &Analysis) -> (String, String) {
    let engines = &analysis.environment.engines;
    let default = engines.iter().find(|engine| engine.name == analysis.plan.engine);
    let engine = default.or(engines.first());
    let title = engine.map_or("SQLite".to_owned(), |engine| format!("SQLite {}", engine.version));
    (title, machine(&analysis.environment.machine))
}

/// The machine in a few words: `AMD EPYC 7763, 4 CPUs, 15.6 GiB, Linux 6.12.1`.
fn machine(environment: &Environment) -> String {
    let cpus = environment.cpu.usable_cpus.or(environment.cpu.logical_cpus);
    let memory = environment.memory.total_bytes;
    let parts = [
        environment.cpu.model.clone(),
        cpus.map(|cpus| plural(cpus as usize, "CPU", "CPUs")),
        memory.map(|bytes| figures::with_unit(bytes as f64, lab::metric::Unit::Bytes)),
        environment.system.kernel.clone(),
    ];
    let known: Vec<String> = parts.into_iter().flatten().collect();
    if known.is_empty() { "an unknown machine".to_owned() } else { known.join(", ") }
}

/// How the run came about and how its trials ended.
pub(super) fn about(analysis: &Analysis) -> Vec<Sentence> {
    let plan = &analysis.plan;
    let about =
        format!(" · {} scale · seed {} · {}", plan.scale, plan.seed.0, minute(&plan.created));
    vec![
        Sentence::code(&plan.id).words(about),
        format!("{} · {}", trials(analysis), duration(analysis.trials_s)).into(),
    ]
}

/// An RFC 3339 time to the minute: `2026-03-01 09:30 UTC`. A time in another form is left as it
/// is.
fn minute(created: &str) -> String {
    let parts = created.split_once('T').filter(|_| created.ends_with('Z'));
    match parts.and_then(|(day, time)| Some((day, time.get(..5)?))) {
        Some((day, minute)) => format!("{day} {minute} UTC"),
        None => created.to_owned(),
    }
}

/// How the trials ended: `186 trials: 180 measured, 4 skipped, 2 failed`, or `186 trials, all measured`.
fn trials(analysis: &Analysis) -> String {
    let counts = analysis.trials;
    let endings = [
        (counts.measured, "measured"),
        (counts.skipped, "skipped"),
        (counts.failed, "failed"),
        (counts.timed_out, "timed out"),
    ];
    let endings = endings.iter().filter(|(count, _)| *count > 0);
    let endings: Vec<String> =
        endings.map(|(n, how)| format!("{} {how}", figures::count(*n))).collect();
    let all = plural(counts.total(), "trial", "trials");
    let all = if endings.is_empty() {
        all
    } else if counts.total() > 1 && counts.measured == counts.total() {
        format!("{all}, all measured")
    } else {
        format!("{all}: {}", endings.join(", "))
    };
    let later = [
        (&analysis.search_trials, "trial", "trials", "of the search and the gains of its settings"),
        (&analysis.counting_trials, "trial", "trials", "in the counting pass"),
        (&analysis.tier_trials, "crash trial", "crash trials", "for safety tiers"),
        (
            &analysis.confirmation_trials,
            "trial",
            "trials",
            "in confirmation runs of the chosen variants",
        ),
    ];
    let later = later.iter().filter(|(counts, ..)| counts.total() > 0);
    let later = later
        .map(|(counts, one, more, why)| format!("{} {why}", plural(counts.total(), one, more)));
    let known = analysis.plan.tiers.iter().flat_map(known_tiers);
    [all].into_iter().chain(later).chain(known).collect::<Vec<_>>().join("; ")
}

/// How many safety tiers the run did not need to measure, by where they come from.
fn known_tiers(tiers: &TierPlan) -> Vec<String> {
    let from = |origin: Origin, whence: &str| {
        let known = tiers.known.iter().filter(|tier| tier.origin == origin).count();
        (known > 0).then(|| format!("{} {whence}", plural(known, "safety tier", "safety tiers")))
    };
    let origins =
        [from(Origin::Program, "supplied with pragmark"), from(Origin::Cache, "from earlier runs")];
    origins.into_iter().flatten().collect()
}

/// How the claims ended, and what weakens the whole run.
pub(super) fn head(analysis: &Analysis) -> Vec<Block> {
    let claims = verdict_counts(|verdict| analysis.verdicts(verdict));
    let tally = (!claims.is_empty())
        .then(|| Block::Tally("Published claims, checked here".to_owned(), claims));
    let mut warnings = of_run(analysis);
    if !has_answer(analysis) {
        warnings.extend(of_machine(analysis));
    }
    blocks![tally, doubts(warnings)]
}

/// Returns what may have disturbed the measurements, for the end of the only experiment: its answer comes first.
pub(super) fn caveats(subject: &Subject<'_>) -> Vec<Block> {
    let analysis = subject.analysis;
    let of_machine = if has_answer(analysis) { of_machine(analysis) } else { Vec::new() };
    doubts(of_machine).into_iter().collect()
}

fn has_answer(analysis: &Analysis) -> bool {
    analysis.experiments.len() == 1
}

fn doubts(warnings: Vec<String>) -> Option<Block> {
    Block::list(warnings.iter().map(|warning| Item::doubt(None, explained(warning))))
}

/// Returns the warnings about the machine; none if nothing was timed on it.
fn of_machine(analysis: &Analysis) -> Vec<String> {
    if analysis.experiments.iter().all(ExperimentAnalysis::tries_crashes) {
        return Vec::new();
    }
    let variants = || analysis.experiments.iter().flat_map(|experiment| &experiment.variants);
    // An uncounted variant may sync.
    let mut measured = variants().filter(|variant| !variant.unmeasured()).peekable();
    let syncs_nothing = measured.peek().is_some()
        && measured.all(|variant| variant.counts.get("syncs") == Some(&0.0));
    let warnings = analysis.environment.machine.warnings().into_iter();
    let shown = warnings.filter(|warning| !(syncs_nothing && warning.is_about_syncs()));
    shown.map(|warning| warning.to_string()).collect()
}

/// Returns caveats on the whole run: that it ended early, or an engine does not sync.
fn of_run(analysis: &Analysis) -> Vec<String> {
    let open = analysis.experiments.iter().filter(|experiment| experiment.stop.is_none());
    let (open, all) = (open.count(), analysis.experiments.len());
    let unfinished =
        (open > 0).then(|| format!("unfinished: {open} of {all} experiments did not complete"));
    let quick = analysis.plan.quick;
    let quick = quick.then(|| "a quick run: its answers are preliminary".to_owned());
    let unsynced = analysis.environment.engines.iter().filter_map(|engine| {
        let why = engine.why_unsynced()?;
        Some(format!("the engine {}: {why}, so a power cut can corrupt databases", engine.name))
    });
    unfinished.into_iter().chain(quick).chain(unsynced).collect()
}

/// Returns the name of the experiment's directory, its whole path if another one ends alike; none if the run
/// had one directory only.
pub(super) fn directory_name(
    analysis: &Analysis,
    experiment: &ExperimentAnalysis,
) -> Option<String> {
    let own: &Path = &experiment.directory;
    let directories = analysis.experiments.iter().map(|experiment| experiment.directory.as_path());
    let mut others = directories.filter(|other| *other != own).peekable();
    others.peek()?;
    let name = own.file_name();
    let is_clear = name.is_some() && others.all(|other| other.file_name() != name);
    let path = if is_clear { name.map(Path::new)? } else { own };
    Some(path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab::tier::{Findings, KnownTier, TierSet};

    #[test]
    fn tiers_that_were_known_are_counted_by_where_they_come_from() {
        let known = |level: &str, origin| KnownTier {
            set: TierSet {
                engine: "default".to_owned(),
                settings: [("synchronous".to_owned(), level.into())].into(),
            },
            in_force: Default::default(),
            origin,
            findings: Findings { safety: Vec::new(), schedules: None },
        };
        let mut tiers = TierPlan { names: Vec::new(), sets: Vec::new(), known: Vec::new() };
        assert!(known_tiers(&tiers).is_empty());
        tiers.known = vec![
            known("off", Origin::Program),
            known("full", Origin::Program),
            known("extra", Origin::Cache),
        ];
        assert_eq!(
            known_tiers(&tiers),
            ["2 safety tiers supplied with pragmark", "1 safety tier from earlier runs"]
        );
    }

    #[test]
    fn times_are_shortened_only_when_they_are_in_the_expected_form() {
        assert_eq!(minute("2026-03-01T09:30:12Z"), "2026-03-01 09:30 UTC");
        assert_eq!(minute("yesterday"), "yesterday");
    }
}

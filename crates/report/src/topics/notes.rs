//! The small print of an experiment: how it was measured.

use lab::analysis::{ExperimentAnalysis, Tiered, TrialFigures};
use lab::measures::Measures;

use super::durability;
use super::subject::Subject;
use crate::document::Block;
use crate::figures::{self, duration, percent};
use crate::glossary::explained;
use crate::words::{TOO_FEW_ROUNDS, capital, plural, tier_words};

/// One paragraph.
pub(super) fn blocks(subject: &Subject<'_>) -> Vec<Block> {
    let experiment = subject.experiment;
    let safety = match experiment.tiered() {
        // Kills are counted in their table, and make no images.
        Tiered::Alike(safety) if experiment.measures() != Measures::Kills => {
            Some(format!("safety tier of every variant: {}", tier_words(&safety.tier)))
        }
        _ => None,
    };
    // The number of rounds of a measurement is an option.
    let stop = experiment.stop.filter(|_| !experiment.is_measured_by_command());
    let stop = stop.map(|stop| format!("measuring ended because {stop}"));
    let notes = [
        Some(rounds(experiment)),
        dropped(experiment),
        machine(experiment),
        aa_check(subject),
        detectable(experiment),
        safety,
        durability::footnote(subject),
        stop,
    ];
    let notes: Vec<String> = notes.into_iter().flatten().collect();
    vec![Block::small(explained(&format!("{}.", capital(&notes.join("; ")))))]
}

fn rounds(experiment: &ExperimentAnalysis) -> String {
    // A dropped block is measured again, in a further round.
    let begun = match experiment.dropped_blocks {
        0 => "",
        _ => " begun",
    };
    format!(
        "{}{begun} in {}, {}",
        plural(experiment.rounds as usize, "round", "rounds"),
        plural(experiment.blocks, "block", "blocks"),
        duration(experiment.wall_s)
    )
}

fn dropped(experiment: &ExperimentAnalysis) -> Option<String> {
    let dropped = experiment.dropped_blocks;
    let blocks = plural(dropped, "block", "blocks");
    (dropped > 0).then(|| format!("{blocks} dropped because the machine was disturbed"))
}

/// Returns the other load on the machine meanwhile, if known.
fn machine(experiment: &ExperimentAnalysis) -> Option<String> {
    let found = Some(&experiment.disturbances).filter(|_| !experiment.tries_crashes())?;
    let words = |what: &str, course: Option<TrialFigures>, unit: f64| {
        let TrialFigures { median, highest } = course?;
        let (median, highest) = (percent(median * unit), percent(highest * unit));
        Some(format!("{what} {median} (up to {highest})"))
    };
    let words =
        [words("CPU pressure", found.cpu_pressure, 0.01), words("CPU steal", found.steal, 1.0)];
    let words: Vec<String> = words.into_iter().flatten().collect();
    (!words.is_empty()).then(|| words.join(", "))
}

fn aa_check(subject: &Subject<'_>) -> Option<String> {
    let experiment = subject.experiment;
    if experiment.variants.len() == 1 && !experiment.aa_check_alarm() {
        return None;
    }
    let Some(aa_check) = experiment.aa_check.as_ref() else {
        let is_planned = experiment.variants.len() > 1 && !subject.planned.alone;
        let is_expected = experiment.blocks > 0 && is_planned;
        return is_expected.then(|| format!("A/A check: {TOO_FEW_ROUNDS}"));
    };
    let ratio = figures::ratio(aa_check.centre, aa_check.interval);
    let result = if experiment.aa_check_alarm() { "failed, ×1 was expected" } else { "passed" };
    Some(format!("A/A check {result}: {ratio}"))
}

/// Returns the detectable difference. Figures that hardly vary, such as sizes, show every difference.
fn detectable(experiment: &ExperimentAnalysis) -> Option<String> {
    let detectable = experiment.detectable?;
    Some(if experiment.detects_everything() {
        "detectable difference: any, as trials hardly vary".to_owned()
    } else {
        format!("detectable difference {} (80 % power)", percent(detectable))
    })
}

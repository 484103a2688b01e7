//! Hints at how to measure more, in the words of the command that measured.

use lab::analysis::ExperimentAnalysis;

use super::subject::Subject;
use crate::document::Sentence;
use crate::words::plural;

/// Returns how smaller differences are detected, if an option does it.
pub(super) fn finer(experiment: &ExperimentAnalysis) -> Sentence {
    /// A difference that is worth finding, as a fraction.
    const WORTH: f64 = 0.1;
    /// More rounds take longer than anybody waits.
    const MOST: usize = 200;
    if !experiment.is_measured_by_command() {
        return Sentence::default();
    }
    let coarse = experiment.detectable.is_some_and(|size| size > WORTH);
    let code = |rounds| Sentence::code(format!("--rounds {rounds}"));
    match experiment.rounds_to_detect(WORTH).filter(|_| coarse) {
        Some(rounds) if rounds <= MOST => Sentence::from("; with as much noise, ")
            .and(code(rounds))
            .words(" detects 10 %"),
        Some(_) => "; trials vary too much for rounds to help, and longer ones, with --seconds or a longer recording, vary less".into(),
        None => Sentence::from("; more rounds detect smaller ones").and(more_rounds(experiment)),
    }
}

/// Returns the time limit with which a search has time for its rounds, if the run's own was too short for them.
pub(super) fn longer(subject: &Subject<'_>) -> Sentence {
    let tuning = subject.analysis.tuning.as_ref();
    let tuning = tuning.filter(|tuning| tuning.experiment == subject.experiment.key);
    let Some(limit_s) = tuning.and_then(|tuning| tuning.limit_for_rounds_s) else {
        return Sentence::default();
    };
    // Whole minutes: it is a guess by the time of few rounds.
    let minutes = (limit_s / 60.0).ceil();
    Sentence::from(" The time limit left time for ")
        .words(plural(subject.experiment.rounds as usize, "round", "rounds"))
        .words("; by the time that they took, ")
        .and_code(format!("--time-limit {minutes}m"))
        .words(" is long enough.")
}

/// Returns how to measure more rounds, if an option does it.
pub(super) fn more_rounds(experiment: &ExperimentAnalysis) -> Sentence {
    let twice = 2 * experiment.rounds.max(10);
    if experiment.is_measured_by_command() {
        Sentence::from(": ").and_code(format!("--rounds {twice}"))
    } else {
        Sentence::default()
    }
}

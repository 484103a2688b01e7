//! The sentences that answer a question, in pieces that each view dresses in its own way.

use lab::analysis::{ArmAnalysis, ExperimentAnalysis, Finding};
use lab::design::MANY;
use lab::level::label;

use crate::figures;
use crate::names::Names;
use crate::recall;
use crate::tiers;
use crate::words::{Standing, gain_words, plural};

/// Tied arms that are named; of more only the number is given.
const NAMED: usize = 3;

/// A piece of a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    /// Plain words.
    Words(String),
    /// A setting or a name out of an experiment file.
    Code(String),
    /// A figure that the sentence is about.
    Figure(String),
}

/// A sentence in pieces.
pub(crate) type Sentence = Vec<Piece>;

/// The sentence without any dress.
pub(crate) fn plain(sentence: &[Piece]) -> String {
    let text = |piece: &Piece| match piece {
        Piece::Words(text) | Piece::Code(text) | Piece::Figure(text) => text.clone(),
    };
    sentence.iter().map(text).collect()
}

/// The words of an experiment file, in which names stand between backticks. A backtick alone is a
/// backtick.
pub(crate) fn of_text(text: &str) -> Sentence {
    let parts: Vec<&str> = text.split('`').collect();
    if parts.len().is_multiple_of(2) {
        return vec![words(text)];
    }
    let piece = |(number, part): (usize, &&str)| match number % 2 {
        0 => words(part),
        _ => Piece::Code((*part).to_owned()),
    };
    parts.iter().enumerate().map(piece).collect()
}

/// What a finding says, and what it loses of what is found, where that is what the experiment is about.
pub(crate) fn told(found: &Finding, experiment: &ExperimentAnalysis) -> Sentence {
    let mut sentence = finding(found, &experiment.metric);
    sentence.extend(recall::of_finding(found, experiment));
    sentence
}

/// What a finding says: `index=after is 2.1 times as fast as index=before`.
///
/// Where settings that decide what a crash can destroy made the difference, it says what is known of
/// their safety: speed alone recommends nothing.
fn finding(finding: &Finding, metric: &str) -> Sentence {
    let mut sentence = vec![
        Piece::Code(finding.what()),
        words(" is "),
        Piece::Figure(format!(
            "{} times",
            figures::times(finding.gain, finding.interval)
        )),
        words(&format!(" {} ", gain_words(metric))),
        // An arm of a list may name settings that the reference leaves as they are.
        match finding.instead_of.is_empty() {
            true => words("the reference"),
            false => Piece::Code(label(&finding.instead_of)),
        },
    ];
    if !finding.conditions.is_empty() {
        sentence.push(words(", at "));
        sentence.push(Piece::Code(label(&finding.conditions)));
    }
    sentence.push(words("."));
    if finding.chosen_from >= MANY {
        sentence.push(words(&choice(finding)));
    }
    sentence.extend(tiers::of_finding(finding, metric));
    sentence
}

/// What it says of the gain that the arm was chosen out of many.
fn choice(finding: &Finding) -> String {
    let many = finding.chosen_from;
    let Some(rounds) = finding.fresh_rounds else {
        return format!(
            " The same rounds chose it out of {many} arms, so the true gain is probably a little smaller."
        );
    };
    let held = match finding.interval.contains(1.0) {
        true => "in which it can no longer be told apart",
        false => "which show this gain",
    };
    format!(
        " It was chosen out of {many} arms and then measured again in {} of its own, {held}.",
        plural(rounds, "round", "rounds")
    )
}

/// The arms that cannot be told apart from the best one; none where it stands alone.
pub(crate) fn tied(finding: &Finding, experiment: &ExperimentAnalysis) -> Option<Sentence> {
    let names = Names::of(experiment);
    let mut tied: Vec<&str> = Vec::new();
    for (index, arm) in experiment.arms.iter().enumerate() {
        if finding.tied.contains(&arm.label) {
            tied.push(names.get(index));
        }
    }
    let (named, more) = tied.split_at(tied.len().min(NAMED));
    let mut sentence = vec![words("It cannot be told apart from ")];
    for (index, name) in named.iter().enumerate() {
        let last = index + 1 == named.len() && more.is_empty();
        if index > 0 {
            sentence.push(words(if last { " and " } else { ", " }));
        }
        sentence.push(Piece::Code((*name).to_owned()));
    }
    if !more.is_empty() {
        sentence.push(words(&format!(
            " and {}",
            plural(more.len(), "other arm", "other arms")
        )));
    }
    sentence.push(words("."));
    (!tied.is_empty()).then_some(sentence)
}

/// The answer to the question of an experiment in a sentence or two.
pub(crate) fn answer(experiment: &ExperimentAnalysis, found: Option<&Finding>) -> Sentence {
    if let Some(answer) = tiers::answer(experiment) {
        return answer;
    }
    let Some(reference) = experiment.arms.first().filter(|arm| !arm.unmeasured()) else {
        return without_reference(experiment);
    };
    if let Some(found) = found {
        let mut sentence = told(found, experiment);
        if let Some(tied) = tied(found, experiment) {
            sentence.push(words(" "));
            sentence.extend(tied);
        }
        return sentence;
    }
    if only_conditions(experiment) && differs(experiment) {
        return over_conditions(experiment);
    }
    without_finding(experiment, reference)
}

/// Whether no arm is an alternative to the reference: they differ in conditions alone.
fn only_conditions(experiment: &ExperimentAnalysis) -> bool {
    let (_, others) = experiment.arms.split_at(1);
    !others.iter().any(|arm| experiment.is_alternative(arm))
}

/// Whether any arm was told apart from the reference.
fn differs(experiment: &ExperimentAnalysis) -> bool {
    let found = |arm: &ArmAnalysis| arm.effect.as_ref().is_some_and(|effect| effect.is_found());
    experiment.arms.iter().any(found)
}

/// From where to where the figures go when there is nothing to choose.
fn over_conditions(experiment: &ExperimentAnalysis) -> Sentence {
    let names = Names::of(experiment);
    let measured: Vec<(usize, f64)> = experiment
        .ranking
        .iter()
        .filter_map(|arm| {
            let summary = experiment.arms[*arm].summaries.get(&experiment.metric)?;
            Some((*arm, summary.median))
        })
        .collect();
    let (Some(best), Some(worst)) = (measured.first(), measured.last()) else {
        return vec![words("No answer yet: nothing was measured.")];
    };
    let figure = |value| Piece::Figure(figures::figure(value, &experiment.metric));
    vec![
        words("From "),
        figure(best.1),
        words(" at "),
        Piece::Code(names.get(best.0).to_owned()),
        words(" to "),
        figure(worst.1),
        words(" at "),
        Piece::Code(names.get(worst.0).to_owned()),
        words("; nothing here is to be chosen."),
    ]
}

fn without_reference(experiment: &ExperimentAnalysis) -> Sentence {
    let problem = experiment.arms.first().and_then(|arm| arm.problem.clone());
    vec![match problem {
        Some(problem) => words(&format!(
            "No answer: the reference was not measured ({problem})."
        )),
        None => words("No answer yet: nothing was measured."),
    }]
}

fn without_finding(experiment: &ExperimentAnalysis, reference: &ArmAnalysis) -> Sentence {
    let count = |wanted| {
        let stands = |arm: &&ArmAnalysis| {
            (experiment.is_alternative(arm) || only_conditions(experiment))
                && Standing::of(arm, &experiment.metric) == wanted
        };
        experiment.arms.iter().filter(stands).count()
    };
    let name = Piece::Code(Names::of(experiment).get(0).to_owned());
    match (count(Standing::Same), count(Standing::Worse)) {
        (0, 0) if count(Standing::Uncompared) > 0 => {
            vec![
                words("No answer yet: too few rounds to compare anything with "),
                name,
                words("."),
            ]
        }
        (0, 0) => only_figure(experiment, reference, name),
        (_, 0) => vec![
            words("No detectable difference from "),
            name,
            words(
                &detectable(experiment).map_or_else(|| ".".to_owned(), |mde| format!(" ({mde}).")),
            ),
        ],
        (0, worse) => {
            let others = if worse == 1 {
                "the other arm is"
            } else {
                "every other arm is"
            };
            vec![
                words("Nothing beats the reference "),
                name,
                words(&format!(": {others} worse.")),
            ]
        }
        (same, worse) => vec![
            words("Nothing beats the reference "),
            name,
            words(&format!(
                ": {} worse and {} cannot be told apart from it.",
                plural(worse, "arm is", "arms are"),
                same
            )),
        ],
    }
}

fn only_figure(experiment: &ExperimentAnalysis, reference: &ArmAnalysis, name: Piece) -> Sentence {
    match reference.summaries.get(&experiment.metric) {
        Some(summary) => vec![
            name,
            words(": "),
            Piece::Figure(figures::figure(summary.median, &experiment.metric)),
            words(". There is nothing to compare it with."),
        ],
        None => vec![words("There is nothing to compare.")],
    }
}

/// The smallest difference that the experiment would have seen: `MDE 3 %`.
pub(crate) fn detectable(experiment: &ExperimentAnalysis) -> Option<String> {
    experiment
        .mde
        .map(|mde| format!("MDE {}", figures::percent(mde)))
}

fn words(text: &str) -> Piece {
    Piece::Words(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_between_backticks_are_told_from_words() {
        let sentence = of_text("What does `detail` save?");
        assert!(matches!(&sentence[1], Piece::Code(name) if name == "detail"));
        assert_eq!(plain(&sentence), "What does detail save?");
        assert_eq!(plain(&of_text("a ` alone")), "a ` alone");
    }
}

//! The sentences that answer a question, in pieces that each view dresses in its own way.

use lab::analysis::{ExperimentAnalysis, Finding, VariantAnalysis};
use lab::design::MANY;
use lab::level::label;

use crate::figures;
use crate::names::Names;
use crate::recall;
use crate::tiers;
use crate::words::{Standing, gain_words, plural};

/// Tied variants that are named; of more only the number is given.
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
        // A variant of a list may name settings that the baseline leaves as they are.
        match finding.instead_of.is_empty() {
            true => words("the baseline"),
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

/// What it says of the gain that the variant was chosen out of many.
fn choice(finding: &Finding) -> String {
    let many = finding.chosen_from;
    let Some(rounds) = finding.confirmation_rounds else {
        return format!(
            " The same rounds chose it out of {many} variants, so the true gain is probably a little smaller."
        );
    };
    let held = match finding.interval.contains(1.0) {
        true => "in which it can no longer be told apart",
        false => "which show this gain",
    };
    format!(
        " It was chosen out of {many} variants and then measured again in {} of its own, {held}.",
        plural(rounds, "round", "rounds")
    )
}

/// The variants that cannot be told apart from the best one; none where it stands alone.
pub(crate) fn tied(finding: &Finding, experiment: &ExperimentAnalysis) -> Option<Sentence> {
    let names = Names::of(experiment);
    let mut tied: Vec<&str> = Vec::new();
    for (index, variant) in experiment.variants.iter().enumerate() {
        if finding.tied.contains(&variant.label) {
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
            plural(more.len(), "other variant", "other variants")
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
    let Some(baseline) = experiment
        .variants
        .first()
        .filter(|variant| !variant.unmeasured())
    else {
        return without_baseline(experiment);
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
    without_finding(experiment, baseline)
}

/// Whether no variant is an alternative to the baseline: they differ in conditions alone.
fn only_conditions(experiment: &ExperimentAnalysis) -> bool {
    let (_, others) = experiment.variants.split_at(1);
    !others
        .iter()
        .any(|variant| experiment.is_alternative(variant))
}

/// Whether any variant was told apart from the baseline.
fn differs(experiment: &ExperimentAnalysis) -> bool {
    let found = |variant: &VariantAnalysis| {
        variant
            .effect
            .as_ref()
            .is_some_and(|effect| effect.is_found())
    };
    experiment.variants.iter().any(found)
}

/// From where to where the figures go when there is nothing to choose.
fn over_conditions(experiment: &ExperimentAnalysis) -> Sentence {
    let names = Names::of(experiment);
    let measured: Vec<(usize, f64)> = experiment
        .ranking
        .iter()
        .filter_map(|variant| {
            let summary = experiment.variants[*variant]
                .summaries
                .get(&experiment.metric)?;
            Some((*variant, summary.median))
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

fn without_baseline(experiment: &ExperimentAnalysis) -> Sentence {
    let problem = experiment
        .variants
        .first()
        .and_then(|variant| variant.problem.clone());
    vec![match problem {
        Some(problem) => words(&format!(
            "No answer: the baseline was not measured ({problem})."
        )),
        None => words("No answer yet: nothing was measured."),
    }]
}

fn without_finding(experiment: &ExperimentAnalysis, baseline: &VariantAnalysis) -> Sentence {
    let count = |wanted| {
        let stands = |variant: &&VariantAnalysis| {
            (experiment.is_alternative(variant) || only_conditions(experiment))
                && Standing::of(variant, &experiment.metric) == wanted
        };
        experiment.variants.iter().filter(stands).count()
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
        (0, 0) => only_figure(experiment, baseline, name),
        (_, 0) => vec![
            words("No detectable difference from "),
            name,
            words(
                &detectable(experiment)
                    .map_or_else(|| ".".to_owned(), |detectable| format!(" ({detectable}).")),
            ),
        ],
        (0, worse) => {
            let others = if worse == 1 {
                "the other variant is"
            } else {
                "every other variant is"
            };
            vec![
                words("Nothing beats the baseline "),
                name,
                words(&format!(": {others} worse.")),
            ]
        }
        (same, worse) => vec![
            words("Nothing beats the baseline "),
            name,
            words(&format!(
                ": {} worse and {} cannot be told apart from it.",
                plural(worse, "variant is", "variants are"),
                same
            )),
        ],
    }
}

fn only_figure(
    experiment: &ExperimentAnalysis,
    baseline: &VariantAnalysis,
    name: Piece,
) -> Sentence {
    match baseline.summaries.get(&experiment.metric) {
        Some(summary) => vec![
            name,
            words(": "),
            Piece::Figure(figures::figure(summary.median, &experiment.metric)),
            words(". There is nothing to compare it with."),
        ],
        None => vec![words("There is nothing to compare.")],
    }
}

/// The smallest difference that the experiment would have seen: `detectable difference 3 %`.
pub(crate) fn detectable(experiment: &ExperimentAnalysis) -> Option<String> {
    experiment
        .detectable
        .map(|detectable| format!("detectable difference {}", figures::percent(detectable)))
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

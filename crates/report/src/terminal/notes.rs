//! What weakens the figures of variants, with variants named together of which the same is said.

use lab::analysis::{ExperimentAnalysis, VariantAnalysis};

use super::choice::{self, Line};
use crate::facts::variant_problems;
use crate::figures;
use crate::names::Names;
use crate::tiers::tries_crashes;
use crate::words::{Standing, named, upper_bound_problem};

/// Variants that one note names.
const NAMED: usize = 4;

/// The notes below the table of variants.
pub(super) fn notes(experiment: &ExperimentAnalysis) -> Vec<String> {
    let names = Names::of(experiment);
    if tries_crashes(experiment) {
        return problems(experiment, &names);
    }
    problems(experiment, &names)
        .into_iter()
        .chain(unseen(experiment, &names))
        .chain(unsteady(experiment, &names))
        .chain(upper_bounds(experiment))
        .collect()
}

/// The variants of which the notes speak: those in the table and those that have no figure.
fn told(experiment: &ExperimentAnalysis) -> Vec<usize> {
    let lines = choice::lines(experiment);
    let shown = lines.into_iter().filter_map(|line| match line {
        Line::Variant(variant) => Some(variant),
        Line::LeftOut(_) => None,
    });
    let mut told: Vec<usize> = shown.collect();
    let unmeasured =
        (0..experiment.variants.len()).filter(|variant| experiment.variants[*variant].unmeasured());
    for variant in unmeasured {
        if !told.contains(&variant) {
            told.push(variant);
        }
    }
    told
}

fn problems(experiment: &ExperimentAnalysis, names: &Names) -> Vec<String> {
    let mut grouped: Vec<(String, Vec<String>)> = Vec::new();
    for variant in told(experiment) {
        let problem = variant_problems(experiment, &experiment.variants[variant]).join("; ");
        if problem.is_empty() {
            continue;
        }
        let name = names.get(variant).to_owned();
        match grouped.iter_mut().find(|(known, _)| *known == problem) {
            Some((_, variants)) => variants.push(name),
            None => grouped.push((problem, vec![name])),
        }
    }
    grouped
        .into_iter()
        .map(|(problem, variants)| format!("{}: {problem}", named(&variants, NAMED)))
        .collect()
}

/// The variants in the table for which no difference was seen, and what would have been seen.
fn unseen(experiment: &ExperimentAnalysis, names: &Names) -> Option<String> {
    let same: Vec<String> = told(experiment)
        .into_iter()
        .filter_map(|variant| {
            let analysed = &experiment.variants[variant];
            let effect = analysed.effect.as_ref()?;
            let same = Standing::of(analysed, &experiment.metric) == Standing::Same;
            same.then(|| {
                let detectable = figures::percent(effect.estimate.detectable);
                format!(
                    "{} (detectable difference {detectable})",
                    names.get(variant)
                )
            })
        })
        .collect();
    let (sign, words) = (Standing::Same.sign(), Standing::Same.words());
    (!same.is_empty()).then(|| format!("{sign} {words}: {}", named(&same, NAMED)))
}

/// The variants whose throughput did not hold still in most of their trials, in one line.
fn unsteady(experiment: &ExperimentAnalysis, names: &Names) -> Option<String> {
    let of_kind = |kind: Unsteady| -> Vec<String> {
        let variants = 0..experiment.variants.len();
        variants
            .filter(|variant| Unsteady::of(&experiment.variants[*variant]) == Some(kind))
            .map(|variant| names.get(variant).to_owned())
            .collect()
    };
    let lines: Vec<String> = [Unsteady::Drifting, Unsteady::Warming, Unsteady::Both]
        .into_iter()
        .map(|kind| (kind.words(), of_kind(kind)))
        .filter(|(_, variants)| !variants.is_empty())
        .map(
            |(words, variants)| match variants.len() == experiment.variants.len() {
                true => format!("{words} in most trials of every variant"),
                false => format!("{words} in most trials of: {}", named(&variants, NAMED)),
            },
        )
        .collect();
    (!lines.is_empty()).then(|| format!("throughput {}", lines.join("; ")))
}

/// How most trials of a variant were unsteady.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unsteady {
    Drifting,
    Warming,
    Both,
}

impl Unsteady {
    /// None when at least half of the trials were steady, or none was looked at.
    fn of(variant: &VariantAnalysis) -> Option<Unsteady> {
        let counts = variant.steadiness?;
        let all = counts.warming + counts.steady + counts.drifting;
        let most = |count: usize| 2 * count > all;
        match (most(counts.drifting), most(counts.warming)) {
            (true, _) => Some(Unsteady::Drifting),
            (_, true) => Some(Unsteady::Warming),
            _ => most(counts.drifting + counts.warming).then_some(Unsteady::Both),
        }
    }

    fn words(self) -> &'static str {
        match self {
            Unsteady::Drifting => "drifted",
            Unsteady::Warming => "was still warming up",
            Unsteady::Both => "warmed up or drifted",
        }
    }
}

fn upper_bounds(experiment: &ExperimentAnalysis) -> impl Iterator<Item = String> {
    let upper_bounds = experiment.upper_bounds.iter();
    upper_bounds
        .filter_map(|bound| Some(format!("{}: {}", bound.name, upper_bound_problem(bound)?)))
}

//! What weakens the figures of arms, with arms named together of which the same is said.

use lab::analysis::{ArmAnalysis, ExperimentAnalysis};

use super::choice::{self, Line};
use crate::facts::arm_problems;
use crate::figures;
use crate::names::Names;
use crate::tiers::tries_crashes;
use crate::words::{Standing, limit_problem, named};

/// Arms that one note names.
const NAMED: usize = 4;

/// The notes below the table of arms.
pub(super) fn notes(experiment: &ExperimentAnalysis) -> Vec<String> {
    let names = Names::of(experiment);
    if tries_crashes(experiment) {
        return problems(experiment, &names);
    }
    problems(experiment, &names)
        .into_iter()
        .chain(unseen(experiment, &names))
        .chain(unsteady(experiment, &names))
        .chain(limits(experiment))
        .collect()
}

/// The arms of which the notes speak: those in the table and those that have no figure.
fn told(experiment: &ExperimentAnalysis) -> Vec<usize> {
    let lines = choice::lines(experiment);
    let shown = lines.into_iter().filter_map(|line| match line {
        Line::Arm(arm) => Some(arm),
        Line::LeftOut(_) => None,
    });
    let mut told: Vec<usize> = shown.collect();
    let unmeasured = (0..experiment.arms.len()).filter(|arm| experiment.arms[*arm].unmeasured());
    for arm in unmeasured {
        if !told.contains(&arm) {
            told.push(arm);
        }
    }
    told
}

fn problems(experiment: &ExperimentAnalysis, names: &Names) -> Vec<String> {
    let mut grouped: Vec<(String, Vec<String>)> = Vec::new();
    for arm in told(experiment) {
        let problem = arm_problems(experiment, &experiment.arms[arm]).join("; ");
        if problem.is_empty() {
            continue;
        }
        let name = names.get(arm).to_owned();
        match grouped.iter_mut().find(|(known, _)| *known == problem) {
            Some((_, arms)) => arms.push(name),
            None => grouped.push((problem, vec![name])),
        }
    }
    grouped
        .into_iter()
        .map(|(problem, arms)| format!("{}: {problem}", named(&arms, NAMED)))
        .collect()
}

/// The arms in the table for which no difference was seen, and what would have been seen.
fn unseen(experiment: &ExperimentAnalysis, names: &Names) -> Option<String> {
    let same: Vec<String> = told(experiment)
        .into_iter()
        .filter_map(|arm| {
            let analysed = &experiment.arms[arm];
            let effect = analysed.effect.as_ref()?;
            let same = Standing::of(analysed, &experiment.metric) == Standing::Same;
            same.then(|| {
                let mde = figures::percent(effect.estimate.mde);
                format!("{} (MDE {mde})", names.get(arm))
            })
        })
        .collect();
    let (sign, words) = (Standing::Same.sign(), Standing::Same.words());
    (!same.is_empty()).then(|| format!("{sign} {words}: {}", named(&same, NAMED)))
}

/// The arms whose throughput did not hold still in most of their trials, in one line.
fn unsteady(experiment: &ExperimentAnalysis, names: &Names) -> Option<String> {
    let of_kind = |kind: Unsteady| -> Vec<String> {
        let arms = 0..experiment.arms.len();
        arms.filter(|arm| Unsteady::of(&experiment.arms[*arm]) == Some(kind))
            .map(|arm| names.get(arm).to_owned())
            .collect()
    };
    let lines: Vec<String> = [Unsteady::Drifting, Unsteady::Warming, Unsteady::Both]
        .into_iter()
        .map(|kind| (kind.words(), of_kind(kind)))
        .filter(|(_, arms)| !arms.is_empty())
        .map(|(words, arms)| match arms.len() == experiment.arms.len() {
            true => format!("{words} in most trials of every arm"),
            false => format!("{words} in most trials of: {}", named(&arms, NAMED)),
        })
        .collect();
    (!lines.is_empty()).then(|| format!("throughput {}", lines.join("; ")))
}

/// How most trials of an arm were unsteady.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unsteady {
    Drifting,
    Warming,
    Both,
}

impl Unsteady {
    /// None when at least half of the trials were steady, or none was looked at.
    fn of(arm: &ArmAnalysis) -> Option<Unsteady> {
        let counts = arm.steadiness?;
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

fn limits(experiment: &ExperimentAnalysis) -> impl Iterator<Item = String> {
    let limits = experiment.limits.iter();
    limits.filter_map(|limit| Some(format!("{}: {}", limit.name, limit_problem(limit)?)))
}

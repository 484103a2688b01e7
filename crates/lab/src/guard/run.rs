//! A guarded comparison as a run like any other: two experiments whose variants are the sides. One holds what was
//! counted, the other what was timed.

use crate::comparison::is_exact;
use crate::design::{Role, Stopping, Variant};
use crate::experiment::{DesignKind, Experiment};
use crate::level::{Level, Settings};
use crate::record::{PlannedExperiment, RunPlan};
use crate::target;
use crate::trial::Outcome;

/// Returns the experiment for counters, with these sides as its variants, the base first.
pub fn counting_experiment(sides: &PlannedExperiment, repetitions: u32) -> PlannedExperiment {
    let secondary = ["scan_steps", "syncs", "pages_written", "bytes_written"];
    let experiment = Experiment {
        question: "Does the new side do more work than the base?".to_owned(),
        metric: "vm_steps".to_owned(),
        secondary_metrics: secondary.map(str::to_owned).into(),
        ..listed("counters", &sides.experiment)
    };
    in_turns(sides, experiment, repetitions)
}

/// Returns the timed experiment; its metrics are those with budgets, and the first ranks.
pub fn timing_experiment(sides: &PlannedExperiment, metrics: &[String]) -> PlannedExperiment {
    let mut metrics = metrics.iter().cloned();
    let experiment = Experiment {
        question: "Is the new side slower than the base?".to_owned(),
        metric: metrics.next().unwrap_or_else(|| sides.experiment.metric.clone()),
        secondary_metrics: metrics.collect(),
        ..listed("times", &sides.experiment)
    };
    in_turns(sides, experiment, 0)
}

fn listed(id: &str, work: &Experiment) -> Experiment {
    let mut experiment = work.clone();
    experiment.id = id.to_owned();
    experiment.design.kind = DesignKind::List;
    experiment
}

fn in_turns(sides: &PlannedExperiment, experiment: Experiment, rounds: u32) -> PlannedExperiment {
    PlannedExperiment {
        key: experiment.id.clone(),
        experiment,
        stopping: rounds_of(rounds),
        counting: false,
        // The sides are the only trials of a block.
        alone: true,
        ..sides.clone()
    }
}

fn rounds_of(rounds: u32) -> Stopping {
    Stopping { rounds, max_rounds: rounds, ..Stopping::default() }
}

/// Returns the plan of the record: these experiments, the timed one with the rounds that the budgets needed. `folder` held copies and
/// databases for the time of the comparison; what is in it has a path relative to it.
pub fn recorded_plan(
    plan: &RunPlan,
    counters: &PlannedExperiment,
    timed: (&PlannedExperiment, u32),
    folder: &str,
) -> RunPlan {
    let (times, rounds) = timed;
    let times =
        (rounds > 0).then(|| PlannedExperiment { stopping: rounds_of(rounds), ..times.clone() });
    let experiments = std::iter::once(counters.clone()).chain(times).map(|mut planned| {
        for variant in &mut planned.variants {
            relative(&mut variant.settings, folder);
        }
        relative(&mut planned.experiment.base, folder);
        planned
    });
    RunPlan { experiments: experiments.collect(), ..plan.clone() }
}

fn relative(settings: &mut Settings, folder: &str) {
    let folder = format!("{}/", folder.trim_end_matches('/'));
    for level in settings.values_mut() {
        if let Level::Text(text) = level {
            *text = text.replace(&folder, "");
        }
    }
}

/// Returns the role of a side in the record.
pub fn role_of(side: usize) -> Role {
    match side {
        0 => Role::Baseline,
        _ => Role::Variant,
    }
}

/// Keeps only the counters of a trial that only counted: its times belong to other work.
pub fn counts_of(outcome: Outcome) -> Outcome {
    match outcome {
        Outcome::Measured(mut measured) => {
            measured.metrics.retain(|name, _| is_exact(name));
            measured.latency = None;
            measured.windows = Vec::new();
            Outcome::Measured(measured)
        }
        other => other,
    }
}

/// The sides cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the sides do different work: {base} in the base, {new} in the new side")]
pub struct OtherWork {
    base: String,
    new: String,
}

/// Returns the work of both sides as an experiment with the first variant of each, with their names for people.
///
/// # Errors
/// The sides have another workload or another target, so that no figure of one says anything of the other.
pub fn both_sides(
    base: &PlannedExperiment,
    new: &PlannedExperiment,
    names: &[String; 2],
) -> Result<PlannedExperiment, OtherWork> {
    let work = |side: &PlannedExperiment| {
        let target = side.variants.first().map(|variant| target::of(&variant.settings));
        let workload = &side.experiment.workload;
        match target {
            None | Some(target::SQLITE) => format!("`{workload}`"),
            Some(other) => format!("`{workload}` on {other}"),
        }
    };
    let [one, other] = [base, new].map(work);
    if one != other {
        return Err(OtherWork { base: one, new: other });
    }
    let sides = [(base, "base"), (new, "new")].into_iter().zip(names);
    let variants = sides.filter_map(|((planned, side), name)| {
        Some(side_variant(planned.variants.first()?, side, name))
    });
    Ok(PlannedExperiment { variants: variants.collect(), ..base.clone() })
}

/// The variant of a side with a name for people.
fn side_variant(variant: &Variant, side: &str, name: &str) -> Variant {
    Variant { label: side.to_owned(), name: Some(name.to_owned()), ..variant.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::Collector;
    use crate::environment::Covariates;
    use crate::plan::ad_hoc;
    use crate::record::{EnvironmentFile, Purpose, TrialRecord};
    use crate::trial::Measured;

    fn plan() -> RunPlan {
        let variant = |label: &str| Variant {
            label: label.to_owned(),
            settings: [("database".to_owned(), Level::Text(format!("/desk/x/{label}.db")))].into(),
            ..Variant::default()
        };
        let sides = PlannedExperiment {
            experiment: ad_hoc("base", "?", "sql", "txns_per_s"),
            variants: ["base", "new"].map(variant).to_vec(),
            ..PlannedExperiment::default()
        };
        let whole = RunPlan { id: "run".to_owned(), trial_limit_s: 1.0, ..RunPlan::default() };
        let times = timing_experiment(&sides, &["p99_us".to_owned()]);
        let counters = counting_experiment(&sides, 2);
        recorded_plan(&whole, &counters, (&times, 9), "/desk/x")
    }

    fn trial(planned: &PlannedExperiment, round: u32, side: usize) -> TrialRecord {
        let figures = [("vm_steps", 10.0), ("p99_us", 5.0 + side as f64)];
        let measured = Measured {
            metrics: figures.map(|(name, value)| (name.to_owned(), value)).into(),
            ..Measured::default()
        };
        let outcome = Outcome::Measured(Box::new(measured));
        TrialRecord {
            agent: None,
            purpose: Purpose::Rounds,
            experiment: planned.key.clone(),
            round,
            block: 0,
            // Whichever came first.
            position: (side as u32 + round) % 2,
            variant: planned.variants[side].label.clone(),
            role: role_of(side),
            started: String::new(),
            wall_s: 0.1,
            covariates: Covariates::default(),
            outcome: match planned.key.as_str() {
                "counters" => counts_of(outcome),
                _ => outcome,
            },
        }
    }

    #[test]
    fn the_record_is_a_whole_run_with_a_ratio_and_counters_without_times() {
        let plan = plan();
        assert_eq!(plan.check(), Ok(()));
        assert_eq!(plan.experiments[0].variants[1].settings["database"], "new.db".into());
        let mut collector = Collector::new(plan.clone(), EnvironmentFile::default());
        for planned in &plan.experiments {
            for round in 0..planned.stopping.rounds {
                for side in 0..2 {
                    collector.add(trial(planned, round, side));
                }
            }
        }
        let analysis = collector.finish();
        assert!(analysis.is_complete());
        let [counters, times] = &analysis.experiments[..] else {
            panic!("two experiments");
        };
        assert!(!counters.variants[0].summaries.contains_key("p99_us"));
        assert_eq!(counters.variants[1].summaries["vm_steps"].n, 2);
        let effect = times.variants[1].effect.as_ref().unwrap();
        assert!((effect.estimate.centre - 1.2).abs() < 1e-9);
        assert_eq!(effect.estimate.n, 9);
    }

    #[test]
    fn sides_of_other_work_are_refused() {
        let side = |workload: &str, settings: Settings| PlannedExperiment {
            experiment: ad_hoc("side", "?", workload, "txns_per_s"),
            variants: vec![Variant { settings, ..Variant::default() }],
            ..PlannedExperiment::default()
        };
        let names = ["base: a", "new: b"].map(str::to_owned);
        let of = |new: PlannedExperiment| both_sides(&side("sql", Settings::new()), &new, &names);
        let both = of(side("sql", Settings::new())).unwrap();
        let labels: Vec<_> = both.variants.iter().map(|variant| variant.label.as_str()).collect();
        assert_eq!(labels, ["base", "new"]);
        let words = of(side("replay", Settings::new())).unwrap_err().to_string();
        assert!(words.contains("`sql` in the base, `replay` in the new"), "{words}");
        let elsewhere = Settings::from([("target".to_owned(), "postgres".into())]);
        let words = of(side("sql", elsewhere)).unwrap_err().to_string();
        assert!(words.contains("`sql` on postgres"), "{words}");
    }

    #[test]
    fn without_a_timed_block_there_is_only_what_was_counted() {
        let whole = plan();
        let [counters, times] = &whole.experiments[..] else {
            panic!("two experiments");
        };
        let plan = recorded_plan(&whole, counters, (times, 0), "/desk");
        assert_eq!(plan.experiments.len(), 1);
    }
}

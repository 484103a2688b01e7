//! What runs that try accidents say besides tiers: where engines differ, what kills and schedules came to, and
//! the files that show damage.

use lab::analysis::{EngineDifference, ExperimentAnalysis, VariantAnalysis};
use lab::engine_name::ENGINE;
use lab::tier::{KILL, SCHEDULES};

use crate::figures;
use crate::tiers::tries_crashes;

/// Artifacts that are named at most; the folder holds all.
const ARTIFACTS: usize = 8;

/// A count as the report writes it.
fn count(number: u64) -> String {
    figures::count(usize::try_from(number).unwrap_or(usize::MAX))
}

/// The remarks on an experiment that tries accidents, each a sentence or two.
pub(crate) fn remarks(experiment: &ExperimentAnalysis) -> Vec<String> {
    if !tries_crashes(experiment) {
        return Vec::new();
    }
    let variants = &experiment.variants;
    let mut remarks = differences(experiment);
    remarks.extend(variants.iter().filter_map(|variant| {
        let problem = variant.problem.as_ref()?;
        Some(format!("not measured: {}: {problem}", variant.label))
    }));
    if experiment.workload == KILL {
        remarks.extend(variants.iter().filter_map(kills));
        remarks.push("unfinished: kills that left a journal or a log to recover. checked: databases opened and compared; the others went to the next process first. A killed process leaves what it wrote to the system, so this says nothing of power failures.".to_owned());
    }
    if experiment.workload == SCHEDULES {
        remarks.extend(variants.iter().flat_map(scenarios));
        remarks.push(schedules(experiment));
    }
    remarks.extend(artifacts(experiment));
    remarks
}

fn differences(experiment: &ExperimentAnalysis) -> Vec<String> {
    let mut variants = experiment.variants.iter();
    if !variants.any(|variant| variant.levels.contains_key(ENGINE)) {
        return Vec::new();
    }
    let differences = &experiment.engine_differences;
    match differences.is_empty() {
        true => vec!["engines do not differ but in counts".to_owned()],
        false => differences.iter().map(difference).collect(),
    }
}

fn difference(difference: &EngineDifference) -> String {
    let tiers = difference.tiers.iter();
    let tiers: Vec<String> = tiers
        .map(|(engine, tier)| format!("{engine}: {}", tier.words(count)))
        .collect();
    format!(
        "engines differ: {} under {}: {}",
        difference.settings,
        difference.model,
        tiers.join("; ")
    )
}

fn kills(variant: &VariantAnalysis) -> Option<String> {
    let counted = |metric: &str| {
        variant
            .counts
            .get(metric)
            .map(|number| count(*number as u64))
    };
    let kills = counted("kills")?;
    let safety = variant.safety.as_ref()?;
    let damaged: u64 = safety.models.iter().map(|model| model.tier.damaged()).sum();
    let witness = safety
        .models
        .iter()
        .find_map(|model| model.witness.as_ref());
    Some(format!(
        "{}: {} in {kills} kills: {} unfinished, {} databases checked, {} commits acknowledged{}",
        variant.label,
        match damaged {
            0 => "no violation".to_owned(),
            some => format!("{} damaged databases", count(some)),
        },
        counted("unfinished_kills")?,
        counted("checked_databases")?,
        counted("acknowledged_commits")?,
        witness.map_or(String::new(), |witness| format!("; {witness}")),
    ))
}

fn scenarios(variant: &VariantAnalysis) -> Vec<String> {
    let rows = variant.tables.iter().flat_map(|table| &table.rows);
    rows.filter_map(|row| Some(format!("{}: {}", row.first()?, row.last()?)))
        .collect()
}

/// How many schedules went wrong, and how to see one.
fn schedules(experiment: &ExperimentAnalysis) -> String {
    let models = || {
        let safeties = experiment
            .variants
            .iter()
            .filter_map(|it| it.safety.as_ref());
        safeties.flat_map(|safety| &safety.models)
    };
    let wrong: u64 = models().map(|model| model.tier.damaged()).sum();
    let played: u64 = models().map(|model| model.tier.images()).sum();
    let again = models().find_map(|model| model.again.as_ref());
    format!(
        "{} of {} schedules went wrong{}",
        count(wrong),
        count(played),
        again.map_or(String::new(), |again| format!(
            "; to see one call by call: {again}"
        ))
    )
}

fn artifacts(experiment: &ExperimentAnalysis) -> Vec<String> {
    let all = experiment.variants.iter().flat_map(|it| &it.artifacts);
    let total = all.clone().count();
    let mut lines: Vec<String> = all
        .take(ARTIFACTS)
        .map(|artifact| format!("{}: {}", artifact.path.display(), artifact.about))
        .collect();
    if total > ARTIFACTS {
        lines.push(format!(
            "artifacts/{} holds {} witnesses in all",
            experiment.key,
            count(total as u64)
        ));
    }
    lines
}

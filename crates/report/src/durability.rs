//! What survives of an acknowledged change, and which variant is best among those of which the same
//! survives: what all views share.

use lab::analysis::{AtDurability, ExperimentAnalysis, SurvivalChange};

use crate::figures;
use crate::names::Names;

/// Other variants of a class that are named; of more only the number is given.
const NAMED: usize = 4;

/// One class.
pub(crate) struct Row {
    /// What survives.
    pub(crate) survives: &'static str,
    /// The best variant, and what cannot be told apart from it.
    pub(crate) best: String,
    /// The figure of the best.
    pub(crate) figure: String,
    /// The others of the class: how far behind they are.
    pub(crate) others: String,
    /// What giving up the stronger classes buys.
    pub(crate) remark: &'static str,
}

/// The classes of an experiment, the strongest first; empty where no target said what survives, or
/// where the same survives in every variant, whose table says the rest.
pub(crate) fn rows(experiment: &ExperimentAnalysis) -> Vec<Row> {
    let classes = &experiment.by_durability;
    if classes.len() < 2 {
        return Vec::new();
    }
    let names = Names::of(experiment);
    classes
        .iter()
        .enumerate()
        .map(|(place, class)| row(experiment, &names, class, place == 0))
        .collect()
}

/// The classes as sentences, for views that are too narrow for the table.
pub(crate) fn lines(experiment: &ExperimentAnalysis) -> Vec<String> {
    let line = |row: Row| {
        let others = match row.others.as_str() {
            "" => String::new(),
            others => format!("; behind it {others}"),
        };
        let remark = match row.remark {
            "" => String::new(),
            remark => format!("; {remark}"),
        };
        format!(
            "{}: {} is best with {}{others}{remark}",
            row.survives, row.best, row.figure
        )
    };
    rows(experiment).into_iter().map(line).collect()
}

/// What a finding gains or gives up, after its speed.
pub(crate) fn change(change: &SurvivalChange) -> String {
    let (own, baseline) = (change.own, change.baseline);
    let more = if own > baseline { "More" } else { "Less" };
    format!(" {more} survives: {own} (baseline: {baseline}).")
}

/// The class that all variants have, as a sentence of the small print.
pub(crate) fn footnote(experiment: &ExperimentAnalysis) -> Option<String> {
    match experiment.by_durability.as_slice() {
        [only] => Some(format!("what survives in every variant: {}", only.class)),
        _ => None,
    }
}

fn row(
    experiment: &ExperimentAnalysis,
    names: &Names,
    class: &AtDurability,
    strongest: bool,
) -> Row {
    let metric = &experiment.metric;
    let (tied, behind) = class
        .variants
        .split_at(class.tied.clamp(1, class.variants.len()));
    let best: Vec<&str> = tied.iter().map(|variant| names.get(*variant)).collect();
    let behind: Vec<String> = behind
        .iter()
        .zip(&class.to_best[tied.len()..])
        .map(|(variant, share)| format!("{} (× {share:.2})", names.get(*variant)))
        .collect();
    let (named, more) = behind.split_at(behind.len().min(NAMED));
    let mut others = named.join(", ");
    if !more.is_empty() {
        others.push_str(&format!(" and {} more", more.len()));
    }
    let first = experiment.variants[tied[0]].summaries.get(metric);
    let median = first.map(|summary| figures::figure(summary.median, metric));
    Row {
        survives: class.class.words(),
        best: best.join(" or "),
        figure: median.unwrap_or_default(),
        others,
        remark: match (strongest, class.buys) {
            (true, _) => "",
            (false, true) => "gains by it",
            (false, false) => "gains nothing by it",
        },
    }
}

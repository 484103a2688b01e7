//! A run of which nothing is known but its trials, as a table has them.

use crate::analysis::Collector;
use crate::design::{Role, Variant};
use crate::metric;
use crate::plan::ad_hoc;
use crate::record::{EnvironmentFile, PlannedExperiment, RunPlan, TrialRecord};

use super::RunDigest;

impl RunDigest {
    /// The run whose experiments have these metrics, of its trials alone. `name` stands for its id. Experiments without a
    /// trial of their baseline are left out: a run that was stopped did not come to it.
    ///
    /// # Errors
    /// A metric is not in the catalogue, so that nobody knows which figures are better; or no experiment has a trial of
    /// its baseline.
    pub fn of_trials(
        name: &str,
        metrics: &[(String, String)],
        trials: Vec<TrialRecord>,
    ) -> Result<RunDigest, String> {
        let experiments = metrics.iter();
        let experiments = experiments.filter_map(|(key, metric)| planned(key, metric, &trials));
        let experiments: Vec<PlannedExperiment> = experiments.collect::<Result<_, _>>()?;
        if let (true, Some((key, _))) = (experiments.is_empty(), metrics.first()) {
            return Err(format!("{key} has no trial of its baseline"));
        }
        let plan = RunPlan { id: name.to_owned(), experiments, ..RunPlan::default() };
        let mut collector = Collector::new(plan, EnvironmentFile::default());
        trials.into_iter().for_each(|trial| collector.add(trial));
        Ok(RunDigest { trials_alone: true, ..RunDigest::from(collector.finish()) })
    }
}

/// An experiment with the variants that its trials name, the baseline first; none without a trial of its baseline.
fn planned(
    key: &str,
    metric: &str,
    trials: &[TrialRecord],
) -> Option<Result<PlannedExperiment, String>> {
    let own = || trials.iter().filter(|trial| trial.experiment == key);
    let baseline = own().find(|trial| trial.role == Role::Baseline)?;
    if metric::find(metric).is_none() {
        return Some(Err(format!(
            "{metric}, the metric of {key}, is one of a driver, and the table does not say whether more of it is better"
        )));
    }
    let mut labels = vec![&baseline.variant];
    for trial in own().filter(|trial| trial.role == Role::Variant) {
        if !labels.contains(&&trial.variant) {
            labels.push(&trial.variant);
        }
    }
    let variant = |label: &String| Variant { label: label.clone(), ..Variant::default() };
    Some(Ok(PlannedExperiment {
        key: key.to_owned(),
        experiment: ad_hoc(key, "", "", metric),
        variants: labels.into_iter().map(variant).collect(),
        ..PlannedExperiment::default()
    }))
}

//! Gathering trials into variants.

use std::collections::HashMap;

use super::answers;
use super::directories::side_by_side;
use super::durability::by_durability;
use super::engines::engine_differences;
use super::gathered::{Gathered, observation};
use super::sync_rate::why_impossible;
use super::tiers::{Tiers, best_at_tiers};
use super::{
    Analysis, ExperimentAnalysis, TrialCounts, VariantAnalysis, experiment, findings, ladder,
};
use crate::claims::{Claim, DeviceLevels};
use crate::design::{DesignParams, History, Variant};
use crate::engine_name::engine_of;
use crate::environment::FsyncLatency;
use crate::record::{EngineRecord, EnvironmentFile, Purpose, RunPlan, TrialRecord};
use crate::stats::{ALPHA, Estimate};
use crate::target;
use crate::tier::Safety;

/// Takes the trials of a run one by one.
pub struct Collector {
    /// The plan of the run.
    pub plan: RunPlan,
    environment: EnvironmentFile,
    gathered: Vec<Gathered>,
    by_key: HashMap<String, usize>,
    tiers: Tiers,
    confirmation: Vec<History>,
    confirmation_trials: TrialCounts,
    search_trials: TrialCounts,
    /// Time taken by the trials of all parts, in seconds.
    trials_s: f64,
}

impl Collector {
    /// Returns a collector for a run without any trial yet.
    pub fn new(plan: RunPlan, environment: EnvironmentFile) -> Collector {
        let experiments = &plan.experiments;
        let keys = experiments.iter().map(|planned| planned.key.clone());
        Collector {
            gathered: experiments.iter().map(Gathered::new).collect(),
            by_key: keys.zip(0..).collect(),
            tiers: Tiers::new(&plan),
            confirmation: vec![History::default(); experiments.len()],
            confirmation_trials: TrialCounts::default(),
            search_trials: TrialCounts::default(),
            trials_s: 0.0,
            plan,
            environment,
        }
    }

    /// Sets another plan before the first trial of the rounds: a search chooses the variants of its experiment.
    pub fn set_plan(&mut self, plan: RunPlan) {
        self.gathered = plan.experiments.iter().map(Gathered::new).collect();
        self.plan = plan;
    }

    /// Adds one trial; one that does not belong to the plan is left out.
    pub fn add(&mut self, record: TrialRecord) {
        self.trials_s += record.wall_s;
        match record.purpose {
            Purpose::Tier => return self.tiers.add(record),
            Purpose::Search | Purpose::Ablation | Purpose::Advice => {
                return self.search_trials.add(&record.outcome);
            }
            Purpose::Rounds | Purpose::Confirmation => {}
        }
        let Some(&index) = self.by_key.get(&record.experiment) else { return };
        let planned = &self.plan.experiments[index];
        if record.purpose == Purpose::Rounds {
            self.gathered[index].add(planned, record);
        } else if let Some(observation) = observation(planned, &record)
            && self.confirmation[index].add(observation)
        {
            self.confirmation_trials.add(&record.outcome);
        }
    }

    /// Estimates, ranks and judges.
    pub fn finish(self) -> Analysis {
        self.finish_with(|_| Vec::new())
    }

    /// Estimates, ranks and judges; `broken` returns the constraints that a variant of this label does not keep.
    pub fn finish_with(mut self, broken: impl Fn(&str) -> Vec<String>) -> Analysis {
        for experiment in &mut self.gathered {
            answers::compare(&mut experiment.variants);
        }
        let variants = self.gathered.iter().flat_map(|gathered| &gathered.variants);
        let trials =
            variants.fold(TrialCounts::default(), |sum, variant| sum.plus(variant.analysis.trials));
        let counting = self.gathered.iter().map(|gathered| gathered.counting);
        let counting_trials = counting.fold(TrialCounts::default(), TrialCounts::plus);
        let planned = self.plan.experiments.iter();
        let levels: Vec<DeviceLevels> = planned
            .zip(&self.gathered)
            .map(|(planned, gathered)| {
                experiment::device_levels(planned, gathered, &self.environment)
            })
            .collect();
        let gathered = std::mem::take(&mut self.gathered);
        let experiments = self.experiments(gathered, &devices(&self.plan, &levels), broken);
        Analysis {
            trials,
            counting_trials,
            tier_trials: self.tiers.counts(),
            confirmation_trials: self.confirmation_trials,
            search_trials: self.search_trials,
            trials_s: self.trials_s,
            tuning: None,
            findings: findings(&experiments),
            ladders: experiments.iter().filter_map(ladder).collect(),
            side_by_side: side_by_side(&experiments, &levels),
            experiments,
            plan: self.plan,
            environment: self.environment,
        }
    }

    fn experiments(
        &self,
        gathered: Vec<Gathered>,
        devices: &HashMap<&str, Vec<DeviceLevels>>,
        broken: impl Fn(&str) -> Vec<String>,
    ) -> Vec<ExperimentAnalysis> {
        let histories = gathered.iter().map(|gathered| &gathered.history);
        let params = self.plan.design_params(&histories.collect::<Vec<_>>());
        let analyse = |(index, (params, gathered)): (usize, (&DesignParams, Gathered))| {
            let planned = &self.plan.experiments[index];
            let devices = devices.get(planned.experiment.id.as_str());
            let devices = devices.map_or(&[][..], Vec::as_slice);
            let disturbances = gathered.disturbing.finish();
            let mut analysed = experiment::analyse(
                planned, self.plan.scale, params, gathered, &self.environment, devices,
            );
            analysed.disturbances = disturbances;
            let fsync = analysed.fsync;
            for (analysed, variant) in analysed.variants.iter_mut().zip(&planned.variants) {
                let safety = analysed.safety.take();
                let safety = safety.or_else(|| {
                    let safety = self.tiers.safety_of(planned, variant)?;
                    let (used, engines) = (analysed.engine.as_ref(), &self.environment.engines);
                    let safety = self.tiers.with_library(safety, variant, used, engines);
                    Some(self.tiers.with_read_back(safety, variant, analysed))
                });
                analysed.safety = self.with_syncs(variant, analysed, fsync, safety);
                analysed.breaks = broken(&variant.label);
            }
            add_confirmation_estimates(&mut analysed.variants, &self.confirmation[index]);
            analysed.engine_differences = engine_differences(&analysed.variants);
            analysed.best_at_tiers = best_at_tiers(&analysed);
            analysed.by_durability = by_durability(&analysed);
            analysed
        };
        params.iter().zip(gathered).enumerate().map(analyse).collect()
    }

    /// Returns the safety of a variant, with what is known of its engine's own syncs and of the price of a sync.
    fn with_syncs(
        &self,
        variant: &Variant,
        analysed: &VariantAnalysis,
        fsync: Option<FsyncLatency>,
        safety: Option<Safety>,
    ) -> Option<Safety> {
        let name = engine_of(&variant.settings, &self.plan.engine);
        let engine = self.environment.engines.iter().find(|engine| engine.name == name);
        let is_sqlite = target::is_sqlite(&variant.settings);
        let by_engine = || engine.and_then(EngineRecord::why_unsynced);
        let why = by_engine().or_else(|| why_impossible(analysed, fsync));
        match why.filter(|_| is_sqlite) {
            Some(why) => {
                let safety =
                    safety.unwrap_or_else(|| Safety::not_measured("no setting decides it"));
                Some(safety.unsynced(why))
            }
            None => safety,
        }
    }
}

/// Gives variants that were measured again the ratio to the baseline that the confirmation rounds show.
fn add_confirmation_estimates(variants: &mut [VariantAnalysis], confirmation: &History) {
    let samples = confirmation.samples(variants.len());
    for (index, variant) in variants.iter_mut().enumerate().skip(1) {
        variant.confirmation = Estimate::from_log_ratios(&samples.log_ratios(index, 0), ALPHA).ok();
    }
}

/// By experiment: its level on each device, where one of its claims compares devices.
fn devices<'a>(plan: &'a RunPlan, levels: &[DeviceLevels]) -> HashMap<&'a str, Vec<DeviceLevels>> {
    let mut devices: HashMap<&str, Vec<DeviceLevels>> = HashMap::new();
    for (planned, levels) in plan.experiments.iter().zip(levels) {
        if planned.experiment.claims.iter().any(Claim::compares_devices) {
            devices.entry(&planned.experiment.id).or_default().push(levels.clone());
        }
    }
    devices
}

//! Gathering trials into variants.
//!
//! Whether the syncs that SQLite requests can have taken place: a device has a price for each, which is probed, and a rate
//! beyond it shows that something on the way swallows them. This holds whatever VFS an application, a preloaded library or
//! an engine brings.
//!
//! The same experiment on several directories: how the devices and file systems behind them compare.
//!
//! Each directory has rounds of its own, so that its variants, effects and ranks stand in an experiment
//! each; what is added here is the figure that only exists between them.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;

use super::gathered::{Gathered, observation};
use super::tiers::{Tiers, best_at_tiers, by_durability, engine_differences};
use super::{
    Analysis, ExperimentAnalysis, TrialCounts, VariantAnalysis, answers, experiment, findings,
    ladder,
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
            folder: None,
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

/// How many times as fast as the quickest probe syncs may seem. Several syncs of a commit may find nothing left to write, and
/// a probe may meet a busy moment.
const TOLERATED: f64 = 4.0;
/// The fewest probes by which the price is known.
const FEWEST_PROBES: usize = 5;
/// How many times as long as the quickest probe the slowest may take: where other work disturbs them, every probe may have
/// met it and none shows what the device can do.
const STEADY: u64 = 3;

/// Returns why the syncs of a variant cannot have reached the disk; `None` if they can have, or where it is not known how
/// many there were or what one takes. Syncs of several connections may be carried out together.
pub(super) fn why_impossible(
    variant: &VariantAnalysis,
    fsync: Option<FsyncLatency>,
) -> Option<String> {
    let per_txn = *variant.counts.get("syncs_per_txn")?;
    let txns_per_s = variant.median("txns_per_s")?;
    let fsync = fsync.filter(is_known)?;
    let low_s = fsync.low_ns as f64 / 1e9;
    let together = variant.connections.len().max(1) as f64;
    let rate = per_txn * txns_per_s / together;
    (rate * low_s > TOLERATED).then(|| {
        format!(
            "it requested {rate:.0} syncs per second, but an fsync took at least {:.2} ms here, which allows {:.0}",
            low_s * 1e3,
            1.0 / low_s
        )
    })
}

/// Returns whether the probes show what an fsync takes.
fn is_known(fsync: &FsyncLatency) -> bool {
    fsync.probes >= FEWEST_PROBES && fsync.high_ns <= fsync.low_ns.saturating_mul(STEADY)
}

/// One experiment on several directories.
#[derive(Clone, Debug, Serialize)]
pub struct SideBySide {
    /// Indices into the experiments of the run, in the order of the directories. All have the same
    /// variants in the same order.
    pub experiments: Vec<usize>,
    /// All variants together in the experiment's metric, divided by the first directory: the mean of the
    /// logarithms of each round, paired by the number of the round. None for the first, and where
    /// too few rounds can be compared.
    pub to_first: Vec<Option<Estimate>>,
}

/// Returns the experiments that were done on more than one directory, given what each reached as a whole.
pub(super) fn side_by_side(
    experiments: &[ExperimentAnalysis],
    levels: &[DeviceLevels],
) -> Vec<SideBySide> {
    let mut same: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (index, experiment) in experiments.iter().enumerate() {
        same.entry(&experiment.id).or_default().push(index);
    }
    let mut several: Vec<Vec<usize>> =
        same.into_values().filter(|indices| indices.len() > 1).collect();
    several.sort_unstable();
    let compared = |indices: Vec<usize>| {
        let metric = &experiments[indices[0]].metric;
        let rounds = |index: usize| levels[index].levels.get(metric).map_or(&[][..], Vec::as_slice);
        let first = rounds(indices[0]);
        let to_first = indices.iter().enumerate().map(|(place, index)| {
            let ratios: Vec<f64> =
                rounds(*index).iter().zip(first).map(|(of, to)| of - to).collect();
            (place > 0).then(|| Estimate::supported(&ratios))?
        });
        SideBySide { to_first: to_first.collect(), experiments: indices.clone() }
    };
    several.into_iter().map(compared).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::Summary;
    use crate::stats::Interval;
    use crate::trial::ReadBack;

    fn connection(number: usize) -> ReadBack {
        ReadBack { connection: format!("writer {number}"), pragmas: Default::default() }
    }

    fn variant(per_txn: f64, txns_per_s: f64, connections: usize) -> VariantAnalysis {
        let summary = Summary {
            median: txns_per_s,
            range: Interval { low: txns_per_s, high: txns_per_s },
            sd: None,
            p95: txns_per_s,
            p99: txns_per_s,
            n: 3,
        };
        VariantAnalysis {
            counts: [("syncs_per_txn".to_owned(), per_txn)].into(),
            summaries: [("txns_per_s".to_owned(), summary)].into(),
            connections: (0..connections).map(connection).collect(),
            ..VariantAnalysis::default()
        }
    }

    #[test]
    fn syncs_that_are_quicker_than_the_device_did_not_reach_it() {
        // An fsync takes 2 ms, so a device does 500 a second.
        let fsync = FsyncLatency::of(vec![2_000_000, 3_000_000, 2_000_000, 3_000_000, 2_000_000]);
        let why = |it: &VariantAnalysis| why_impossible(it, fsync);
        assert_eq!(why(&variant(2.0, 240.0, 1)), None);
        assert_eq!(why(&variant(0.0, 90_000.0, 1)), None);
        let swallowed = why(&variant(1.0, 9_000.0, 1)).unwrap();
        assert!(swallowed.contains("9000 syncs per second"), "{swallowed}");
        assert!(swallowed.contains("2.00 ms") && swallowed.contains("500"));
        // Eight connections may share what one device does.
        assert_eq!(why(&variant(1.0, 9_000.0, 8)), None);
    }

    #[test]
    fn nothing_is_said_where_syncs_or_their_price_are_not_known() {
        let quick = variant(1.0, 90_000.0, 1);
        assert_eq!(why_impossible(&quick, None), None);
        let uncounted = VariantAnalysis { counts: Default::default(), ..quick };
        let steady = FsyncLatency::of(vec![2_000_000; 5]);
        assert_eq!(why_impossible(&uncounted, steady), None);
        let quick = variant(1.0, 90_000.0, 1);
        assert!(why_impossible(&quick, steady).is_some());
        // Too few probes, and probes that met other work.
        assert_eq!(why_impossible(&quick, FsyncLatency::of(vec![2_000_000; 4])), None);
        let disturbed =
            FsyncLatency::of(vec![1_000_000, 9_000_000, 2_000_000, 3_000_000, 1_000_000]);
        assert_eq!(why_impossible(&quick, disturbed), None);
    }
}

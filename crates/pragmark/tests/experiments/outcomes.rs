//! Made-up outcomes of the trials of an experiment, and what the analysis makes of them.

use std::path::PathBuf;

use lab::catalogue::Catalogue;
use lab::claims::{Claim, DeviceKind, Judged};
use lab::design::Role;
use lab::environment::{Covariates, Volume, VolumeKind};
use lab::experiment::{Experiment, Scale};
use lab::plan::{Request, plan};
use lab::record::{EnvironmentFile, FORMAT, PlannedExperiment, RunPlan, TrialRecord};
use lab::seed::Seed;
use lab::trial::{Measured, Outcome};
use tuning::Collector;

/// Enough for the smallest error rate that any one claim needs: 240 changes of places among 16 variants. Of more
/// than 32 variants, only means over pairs and the best are claimed.
fn rounds(variants: usize) -> u32 {
    if variants <= 32 { 16 } else { 7 }
}

/// Where made-up trials ran, and on what.
const DIRECTORIES: [(&str, DeviceKind); 2] =
    [("/solid", DeviceKind::Solid), ("/rotating", DeviceKind::Rotating)];

/// The figure of a trial: by kind of device, variant and metric.
pub type World<'w> = &'w dyn Fn(DeviceKind, usize, &str) -> f64;

/// An experiment with one claim, ready to be given outcomes.
pub struct Stage {
    plan: RunPlan,
    environment: EnvironmentFile,
}

impl Stage {
    /// The experiment with this claim alone, at a scale at which it is judged, on a machine that has what it
    /// requires.
    pub fn of(experiment: &Experiment, claim: &Claim, catalogue: &Catalogue) -> Stage {
        let mut one = experiment.clone();
        one.claims = vec![claim.clone()];
        let both = if claim.compares_devices() { 2 } else { 1 };
        let directories = DIRECTORIES[..both].iter();
        let request = Request {
            id: "run".to_owned(),
            created: String::new(),
            pragmark: String::new(),
            seed: Seed(1),
            scale: Scale::Paper,
            engine: "default".to_owned(),
            postgres_given: true,
            quick: false,
            trial_limit_s: 1.0,
            budget_s: None,
            tiers: false,
            experiments: vec![one],
            directories: directories.map(|(path, _)| PathBuf::from(path)).collect(),
        };
        Stage { plan: plan(request, catalogue), environment: environment(claim) }
    }

    /// The planned experiment on the first device.
    pub fn planned(&self) -> &PlannedExperiment {
        &self.plan.experiments[0]
    }

    /// What the claim is judged when every trial measures the figures of this world.
    pub fn judged(&self, world: World<'_>) -> Judged {
        let mut collector = Collector::new(self.plan.clone(), self.environment.clone());
        for (planned, (_, device)) in self.plan.experiments.iter().zip(DIRECTORIES) {
            for record in trials(planned, device, world) {
                collector.add(record);
            }
        }
        let mut analysis = collector.finish();
        analysis.experiments[0].claims.remove(0)
    }
}

fn environment(claim: &Claim) -> EnvironmentFile {
    let file_system = claim.file_systems.first().map_or("ext4", String::as_str);
    let volumes = DIRECTORIES.map(|(path, device)| Volume {
        file_system: Some(file_system.to_owned()),
        rotational: Some(device == DeviceKind::Rotating),
        ..Volume::new(path, VolumeKind::Disk)
    });
    let mut environment = EnvironmentFile {
        format: FORMAT,
        machine: Default::default(),
        engines: Vec::new(),
        noise: None,
    };
    environment.machine.volumes = volumes.into();
    environment
}

/// Every variant once in each round, all in one block, with the baseline's A/A check.
fn trials(planned: &PlannedExperiment, device: DeviceKind, world: World<'_>) -> Vec<TrialRecord> {
    let variants = 1..planned.variants.len();
    let others = variants.map(|variant| (variant, Role::Variant));
    let all: Vec<(usize, Role)> =
        [(0, Role::Baseline), (0, Role::AaCheck)].into_iter().chain(others).collect();
    let places = (0..rounds(planned.variants.len())).flat_map(|round| {
        let places = all.iter().zip(0..);
        places.map(move |(&(variant, role), position)| ((round, 0, position), variant, role))
    });
    places
        .map(|(place, variant, role)| trial(planned, device, place, (variant, role), world))
        .collect()
}

fn trial(
    planned: &PlannedExperiment,
    device: DeviceKind,
    place: (u32, u32, u32),
    (variant, role): (usize, Role),
    world: World<'_>,
) -> TrialRecord {
    let claim = &planned.experiment.claims[0];
    let form = claim.forms()[0];
    let own = planned.experiment.metric.as_str();
    let names = [Some(own), form.metric(), form.to_metric()];
    let noise = if claim.exact { 1.0 } else { noise(place) };
    let metrics = names.into_iter().flatten();
    let metrics = metrics.map(|name| (name.to_owned(), world(device, variant, name) * noise));
    TrialRecord {
        agent: None,
        purpose: Default::default(),
        experiment: planned.key.clone(),
        round: place.0,
        block: place.1,
        position: place.2,
        variant: planned.label(variant).to_owned(),
        role,
        started: String::new(),
        wall_s: 0.1,
        covariates: Covariates { fsync_p50_ns: Some(1_000_000), ..Covariates::default() },
        outcome: Outcome::Measured(Box::new(Measured {
            metrics: metrics.collect(),
            ..Measured::default()
        })),
    }
}

/// Up to a tenth of a per cent up or down.
fn noise((round, _, position): (u32, u32, u32)) -> f64 {
    let step = (round * 31 + position * 17) % 11;
    1.0 + (f64::from(step) - 5.0) / 5_000.0
}

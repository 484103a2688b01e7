//! Made-up figures of four variants, and claims judged by them.

use std::collections::BTreeMap;

use crate::common::{catalogue, columns, read};
use crate::lab::claims::{DeviceLevels, Evidence, Judged, Verdict, judge};
use crate::lab::design::{Role, variants};
use crate::lab::environment::FsyncLatency;
use crate::lab::experiment::Scale;
use crate::lab::samples::Samples;
use crate::lab::seed::Seed;

/// How the figures of the four variants are made up.
pub struct World {
    /// True figure of each variant.
    pub truth: [f64; 4],
    /// Noise: the largest relative deviation.
    pub noise: f64,
    pub rounds: u32,
    pub fsync: Option<FsyncLatency>,
    pub scale: Scale,
    pub missing: Option<usize>,
    /// A variant some of whose trials failed.
    pub failing: Option<usize>,
    /// The figure of the baseline's A/A checks, where there are any.
    pub aa_check: Option<f64>,
    pub devices: Vec<DeviceLevels>,
}

impl Default for World {
    fn default() -> Self {
        World {
            truth: [1.0, 1.1, 1.3, 0.9],
            noise: 0.01,
            rounds: 12,
            fsync: FsyncLatency::of(vec![500_000]),
            scale: Scale::Default,
            missing: None,
            failing: None,
            aa_check: None,
            devices: Vec::new(),
        }
    }
}

impl World {
    pub fn judge(&self, claims: &str) -> Vec<Judged> {
        let experiment = read(&columns(claims)).unwrap();
        let variants = variants(&experiment, Scale::Default, &catalogue());
        let samples = self.samples(self.truth);
        // The work without its loading is faster, the more so the faster the variant.
        let loading = self.samples(self.truth.map(|truth| 2.0 * truth * truth));
        let problems: Vec<Option<String>> = (0..4)
            .map(|variant| {
                (self.missing == Some(variant)).then(|| "skipped: no such thing".to_owned())
            })
            .collect();
        let failures: Vec<Option<String>> = (0..4)
            .map(|variant| {
                (self.failing == Some(variant)).then(|| "1 of its 9 trials failed".to_owned())
            })
            .collect();
        judge(&Evidence {
            experiment: &experiment,
            variants: &variants,
            samples: &BTreeMap::from([
                ("rows_per_s".to_owned(), samples.clone()),
                ("db_bytes".to_owned(), samples),
                ("rows_per_s.load".to_owned(), loading),
            ]),
            problems: &problems,
            failures: &failures,
            scale: self.scale,
            fsync: self.fsync,
            file_system: Some("ext4"),
            devices: &self.devices,
        })
    }

    pub fn samples(&self, truth: [f64; 4]) -> Samples {
        let mut samples = Samples::new(4);
        let mut generator = Seed(11).generator();
        for round in 0..self.rounds {
            let drift = 1.0 + f64::from(round) / 5.0;
            for (variant, truth) in truth.iter().enumerate() {
                let wobble = 1.0 + self.noise * (generator.below(2_001) as f64 / 1_000.0 - 1.0);
                let role = if variant == 0 { Role::Baseline } else { Role::Variant };
                samples.add(round, 0, variant, role, truth * drift * wobble);
            }
            if let Some(aa_check) = self.aa_check {
                samples.add(round, 0, 0, Role::AaCheck, aa_check * drift);
            }
        }
        samples
    }
}

pub fn verdict(world: &World, body: &str) -> Verdict {
    judged(world, body).verdict
}

pub fn judged(world: &World, body: &str) -> Judged {
    world.judge(&claim("a", body)).remove(0)
}

pub fn claim(id: &str, body: &str) -> String {
    format!("[[claims]]\nid = \"{id}\"\nsays = \"as it says\"\n{body}\n")
}

pub const RATIO: &str = "ratio = { of = { columns = 4 }, to = { columns = 1 } }";

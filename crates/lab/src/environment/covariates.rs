//! The state of the machine: disturbance during a block, and noise ahead of a run.
//!
//! Apart from the environment because these are figures of an interval, not of a moment. A block is
//! kept or dropped on covariates alone, never on its outcomes, so the rule lives here.

use serde::{Deserialize, Serialize};

use crate::stats::standard_deviation;

/// The share of CPU time taken by the hypervisor above which a block is dropped.
pub const MAX_STEAL_FRACTION: f64 = 0.01;

/// The CPU pressure, in per cent over ten seconds, above which a block is dropped.
pub const MAX_CPU_PRESSURE_AVG10: f64 = 5.0;

/// Disturbance of the machine during an interval, commonly one block.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Covariates {
    /// Length of the interval in nanoseconds.
    pub duration_ns: u64,
    /// Share of all CPU time in the interval, 0 to 1, that the hypervisor gave to others, from
    /// `/proc/stat`; `None` also for an interval shorter than a clock tick (commonly 10 ms).
    pub steal_fraction: Option<f64>,
    /// Per cent of the ten seconds before the end, 0 to 100, in which some task waited for a CPU,
    /// from `/proc/pressure/cpu`.
    pub cpu_pressure_avg10: Option<f64>,
    /// The same for storage, from `/proc/pressure/io`.
    pub io_pressure_avg10: Option<f64>,
    /// The same for memory, from `/proc/pressure/memory`.
    pub memory_pressure_avg10: Option<f64>,
    /// Median time of a 4 KiB write and fdatasync in the measured directory just before the trial, in
    /// nanoseconds; probed ahead of the first trial of each block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fsync_p50_ns: Option<u64>,
}

impl Covariates {
    /// Returns the reason to drop the block, if there is one; steal before pressure.
    ///
    /// Pressure on storage and memory is recorded but gives no reason: a workload that syncs or
    /// fills the cache causes it by itself, so dropping on it would be dropping on outcomes.
    /// A figure that is not available gives no reason either.
    pub fn disturbance(&self) -> Option<Disturbance> {
        let steal = self
            .steal_fraction
            .filter(|fraction| *fraction > MAX_STEAL_FRACTION)
            .map(|fraction| Disturbance::Steal { fraction });
        let pressure = || {
            self.cpu_pressure_avg10
                .filter(|avg10| *avg10 > MAX_CPU_PRESSURE_AVG10)
                .map(|avg10| Disturbance::CpuPressure { avg10 })
        };
        steal.or_else(pressure)
    }
}

/// Why a block is dropped.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Disturbance {
    /// The hypervisor gave too much CPU time to others.
    #[error("CPU steal {:.1} % (at most {:.0} % is accepted)", fraction * 100.0, MAX_STEAL_FRACTION * 100.0)]
    Steal {
        /// Share of all CPU time, 0 to 1.
        fraction: f64,
    },
    /// Tasks waited for a CPU too often.
    #[error("CPU pressure {avg10:.1} % (at most {MAX_CPU_PRESSURE_AVG10:.0} % is accepted)")]
    CpuPressure {
        /// Per cent of ten seconds, 0 to 100.
        avg10: f64,
    },
}

/// How far two measurements of the same thing differ on this machine, from a short probe.
///
/// A first prediction only: the bursts last milliseconds, so that drift over minutes is not in it
/// and very short disturbances weigh more than they do in a trial of seconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NoiseProbe {
    /// How many pairs were measured.
    pub pairs: u32,
    /// Standard deviation of the log-ratio within pairs of bursts of integer work; about the relative
    /// difference (0.02 is 2 %). `None` with fewer than two pairs.
    pub cpu_sd: Option<f64>,
    /// The same for pairs of bursts of 4 KiB writes, each with an fdatasync.
    pub fsync_sd: Option<f64>,
    /// Time the probe took, in nanoseconds.
    pub duration_ns: u64,
}

impl NoiseProbe {
    /// Sums up pairs of durations in nanoseconds; both lists belong to the same pairs.
    pub fn from_pairs(cpu: &[(u64, u64)], fsync: &[(u64, u64)], duration_ns: u64) -> Self {
        Self {
            pairs: u32::try_from(cpu.len().min(fsync.len())).unwrap_or(u32::MAX),
            cpu_sd: log_ratio_sd(cpu),
            fsync_sd: log_ratio_sd(fsync),
            duration_ns,
        }
    }
}

/// Sample standard deviation (n − 1) of the log-ratios of pairs of durations. A duration below the
/// clock's resolution counts as one nanosecond, so that the logarithm exists.
fn log_ratio_sd(pairs: &[(u64, u64)]) -> Option<f64> {
    let ln = |ns: u64| (ns.max(1) as f64).ln();
    let ratios: Vec<f64> = pairs.iter().map(|&(a, b)| ln(a) - ln(b)).collect();
    standard_deviation(&ratios)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_dropped_above_the_limits_and_kept_at_them() {
        let with = |steal, pressure| Covariates {
            steal_fraction: steal,
            cpu_pressure_avg10: pressure,
            ..Covariates::default()
        };
        assert_eq!(with(Some(0.01), Some(5.0)).disturbance(), None);
        assert_eq!(
            with(Some(0.011), Some(9.0)).disturbance(),
            Some(Disturbance::Steal { fraction: 0.011 })
        );
        assert_eq!(
            with(None, Some(5.1)).disturbance(),
            Some(Disturbance::CpuPressure { avg10: 5.1 })
        );
        assert_eq!(with(None, None).disturbance(), None);
    }

    #[test]
    fn pressure_that_the_workload_makes_itself_drops_nothing() {
        let syncing = Covariates {
            io_pressure_avg10: Some(90.0),
            memory_pressure_avg10: Some(40.0),
            ..Covariates::default()
        };
        assert_eq!(syncing.disturbance(), None);
    }

    #[test]
    fn noise_is_the_deviation_of_log_ratios_and_ignores_a_constant_factor() {
        // Log-ratios +ln 2 and −ln 2: mean 0, deviation ln 2 · √2.
        let opposite = [(200, 100), (100, 200)];
        // Always twice as long: no noise at all.
        let constant = [(200, 100), (400, 200), (2_000, 1_000)];
        let probe = NoiseProbe::from_pairs(&opposite, &constant[..2], 7);
        assert_eq!(probe.pairs, 2);
        let expected = std::f64::consts::LN_2 * std::f64::consts::SQRT_2;
        assert!((probe.cpu_sd.unwrap() - expected).abs() < 1e-12);
        assert!(probe.fsync_sd.unwrap() < 1e-12);
    }

    #[test]
    fn one_pair_shows_no_noise_figure() {
        let probe = NoiseProbe::from_pairs(&[(2, 1)], &[(3, 1)], 7);
        assert_eq!((probe.cpu_sd, probe.fsync_sd), (None, None));
    }

    #[test]
    fn a_disturbance_says_how_much_and_what_is_accepted() {
        assert_eq!(
            Disturbance::Steal { fraction: 0.034 }.to_string(),
            "CPU steal 3.4 % (at most 1 % is accepted)"
        );
        assert_eq!(
            Disturbance::CpuPressure { avg10: 12.34 }.to_string(),
            "CPU pressure 12.3 % (at most 5 % is accepted)"
        );
    }
}

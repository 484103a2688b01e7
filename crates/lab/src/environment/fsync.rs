//! The price of an fsync and what it says about the device.
//!
//! Apart from the volume because these are measured figures and their thresholds, where the volume
//! holds what the system says of itself; the two may disagree, which is the point.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::VolumeKind;

/// A 4 KiB write and fdatasync quicker than this, in nanoseconds, did not wait for a flash or
/// magnetic medium: tmpfs, a sync that does nothing, or a cache with power-loss protection.
pub const NO_OP_BELOW_NS: u64 = 30_000;

/// A rotating disk quicker than this, in nanoseconds, answered from its cache: at 7,200 revolutions
/// a minute one turn takes 8.3 ms.
pub const ROTATION_BELOW_NS: u64 = 2_000_000;

/// The median fsync, in nanoseconds, from which a claim about the cost of fsync can be judged.
/// Where a sync is cheaper there is no cost to show and the claim is *not applicable here*.
pub const FSYNC_CLAIM_MEDIAN_NS: u64 = 200_000;

/// The measured price of an fsync: single 4 KiB writes, each followed by fdatasync(2), one after
/// another into space that was allocated beforehand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FsyncProbe {
    /// How many writes were timed; fewer than planned on a slow disk.
    pub count: u32,
    /// Median time of write and fdatasync, in nanoseconds.
    pub p50_ns: u64,
    /// 99th percentile of the same, in nanoseconds (nearest rank; the maximum below 100 writes).
    pub p99_ns: u64,
    /// What the median says about the device.
    pub verdict: FsyncVerdict,
}

impl FsyncProbe {
    /// The figures of a probe together with what they mean on this kind of storage.
    pub fn new(
        count: u32,
        p50_ns: u64,
        p99_ns: u64,
        kind: VolumeKind,
        rotational: Option<bool>,
    ) -> Self {
        Self { count, p50_ns, p99_ns, verdict: FsyncVerdict::judge(p50_ns, kind, rotational) }
    }
}

/// What the median time of an fsync says about the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FsyncVerdict {
    /// The directory is in memory: there is nothing to sync to.
    Memory,
    /// Quicker than any medium. Either the sync does nothing, or the device protects its cache
    /// against power loss; the two cannot be distinguished without cutting the power.
    NoOpOrPowerLossProtection,
    /// Quicker than a turn of the disk: the answer came from a cache, volatile or battery-backed.
    RotationalWithCache,
    /// Nothing in the figure speaks against the device. That is no proof of its honesty.
    Plain,
}

impl FsyncVerdict {
    /// Judges a median in nanoseconds. Storage in memory is named as such however slow it is.
    pub fn judge(p50_ns: u64, kind: VolumeKind, rotational: Option<bool>) -> Self {
        match (kind, rotational) {
            (VolumeKind::Memory, _) => Self::Memory,
            _ if p50_ns < NO_OP_BELOW_NS => Self::NoOpOrPowerLossProtection,
            (_, Some(true)) if p50_ns < ROTATION_BELOW_NS => Self::RotationalWithCache,
            _ => Self::Plain,
        }
    }
}

/// The price of an fsync while an experiment ran: each block begins with a short probe, because a disk that
/// others use too changes its price within minutes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FsyncCourse {
    /// How many probes there were.
    pub probes: usize,
    /// The median of their medians, in nanoseconds.
    pub median_ns: u64,
    /// The smallest of their medians, in nanoseconds.
    pub low_ns: u64,
    /// The largest of their medians, in nanoseconds.
    pub high_ns: u64,
}

impl FsyncCourse {
    /// Sums up the medians of probes, in nanoseconds; none where there were none. Of an even number the lower
    /// of the two in the middle.
    pub fn of(mut medians: Vec<u64>) -> Option<FsyncCourse> {
        medians.sort_unstable();
        Some(FsyncCourse {
            probes: medians.len(),
            median_ns: *medians.get(medians.len().checked_sub(1)? / 2)?,
            low_ns: *medians.first()?,
            high_ns: *medians.last()?,
        })
    }

    /// Whether a sync takes long enough for claims about its price.
    pub fn has_a_price(&self) -> bool {
        self.median_ns >= FSYNC_CLAIM_MEDIAN_NS
    }
}

impl fmt::Display for FsyncCourse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = |ns: u64| ns as f64 / 1e6;
        write!(f, "{:.3} ms", ms(self.median_ns))?;
        if self.low_ns == self.high_ns {
            return Ok(());
        }
        let (low, high, probes) = (ms(self.low_ns), ms(self.high_ns), self.probes);
        write!(f, " ({low:.3} to {high:.3} ms in {probes} probes)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_price_while_an_experiment_ran_is_the_median_of_its_probes() {
        let course = FsyncCourse::of(vec![4_000_000, 85_000, 310_000]).unwrap();
        assert_eq!((course.median_ns, course.probes), (310_000, 3));
        assert!(course.has_a_price());
        assert_eq!(course.to_string(), "0.310 ms (0.085 to 4.000 ms in 3 probes)");
        // Between two the lower decides: a claim applies only where most probes show a price.
        let between = FsyncCourse::of(vec![210_000, 85_000]).unwrap();
        assert!(!between.has_a_price());
        assert_eq!(FsyncCourse::of(vec![85_000]).unwrap().to_string(), "0.085 ms");
        assert_eq!(FsyncCourse::of(Vec::new()), None);
    }

    #[test]
    fn verdicts_change_exactly_at_their_thresholds() {
        use FsyncVerdict::*;
        let cases = [
            (1_500, VolumeKind::Memory, None, Memory),
            (60_000, VolumeKind::Memory, None, Memory),
            (29_999, VolumeKind::Disk, Some(false), NoOpOrPowerLossProtection),
            (29_999, VolumeKind::Disk, Some(true), NoOpOrPowerLossProtection),
            (30_000, VolumeKind::Disk, Some(false), Plain),
            (30_000, VolumeKind::Disk, None, Plain),
            (30_000, VolumeKind::Disk, Some(true), RotationalWithCache),
            (1_999_999, VolumeKind::Disk, Some(true), RotationalWithCache),
            (2_000_000, VolumeKind::Disk, Some(true), Plain),
        ];
        for (p50_ns, kind, rotational, expected) in cases {
            assert_eq!(
                FsyncVerdict::judge(p50_ns, kind, rotational),
                expected,
                "{p50_ns} ns on {kind:?}, rotational {rotational:?}"
            );
        }
    }
}

//! Figures over two kinds of devices: the levels of both, and the order of variants on each.

use super::evidence::{DeviceLevels, Evidence, Unable, ratio_by_round};
use super::figure::Figure;
use super::{DeviceKind, Devices};
use crate::samples::{Comparison, Samples};

impl Evidence<'_> {
    /// Rounds on different devices are not measured side by side, so that nothing but their number
    /// pairs them: the interval is then that of two independent series.
    pub(super) fn devices(
        &self,
        wanted: &Devices,
        metric: &str,
    ) -> Result<(Figure, String), Unable> {
        let (of, to) = (self.device(wanted.of)?, self.device(wanted.to)?);
        self.check_same_variants(wanted, metric)?;
        let measure = format!("{metric} of all variants: {} ÷ {}", wanted.of, wanted.to);
        let both = of.levels.get(metric).zip(to.levels.get(metric));
        let diffs = both.map(|(of, to)| {
            let pairs = of.iter().zip(to);
            pairs.map(|(of, to)| of - to).collect()
        });
        ratio_by_round(diffs, measure)
    }

    /// The order is the same where no two variants change places: the figure is the largest ratio by which
    /// one leads another on one device and trails it on the other.
    pub(super) fn same_order(
        &self,
        wanted: &Devices,
        metric: &str,
    ) -> Result<(Figure, String), Unable> {
        let (of, to) = (self.device(wanted.of)?, self.device(wanted.to)?);
        self.check_same_variants(wanted, metric)?;
        let both = of.samples.get(metric).zip(to.samples.get(metric));
        let changes = both.map(|both| self.changes_of_places(both));
        let changes = changes.filter(|all| !all.is_empty()).ok_or_else(|| {
            Unable::NotMeasured(format!(
                "no two variants were measured in two rounds on both devices in {metric}"
            ))
        })?;
        let measure = format!(
            "{metric}: largest change of places of two variants between {} and {}",
            wanted.of, wanted.to
        );
        Ok((Figure::Lead(changes), measure))
    }

    /// Refuses devices on which different variants were measured: where only the slow ones are missing on one, neither its
    /// level nor its order is that of all.
    fn check_same_variants(&self, wanted: &Devices, metric: &str) -> Result<(), Unable> {
        let measured = |kind: DeviceKind| -> Result<Vec<bool>, Unable> {
            let samples = self.device(kind)?.samples.get(metric);
            let has = |variant| samples.is_some_and(|it| !it.values(variant).is_empty());
            Ok((0..self.variants.len()).map(has).collect())
        };
        let (of, to) = (measured(wanted.of)?, measured(wanted.to)?);
        let differing = (0..of.len()).find(|variant| of[*variant] != to[*variant]);
        differing.map_or(Ok(()), |variant| {
            let label = &self.variants[variant].label;
            Err(Unable::NotMeasured(format!("{label} was measured on one of the two devices only")))
        })
    }

    /// For each two variants in either order: the ratio on the one device, and its inverse on the other.
    fn changes_of_places(&self, (one, other): (&Samples, &Samples)) -> Vec<Vec<Comparison>> {
        let all = 0..self.variants.len();
        let pairs = all.clone().flat_map(|a| all.clone().map(move |b| (a, b)));
        let change = |(a, b): (usize, usize)| {
            let there = Comparison::new(one.log_ratios(a, b))?;
            let back = Comparison::new(other.log_ratios(b, a))?;
            Some(vec![there, back])
        };
        pairs.filter_map(change).collect()
    }

    fn device(&self, kind: DeviceKind) -> Result<&DeviceLevels, Unable> {
        let device = self.devices.iter().find(|on| on.kind == Some(kind));
        device.ok_or_else(|| {
            Unable::NotApplicable(format!(
                "it requires the experiment on {kind} too: give `--dir` once for each"
            ))
        })
    }
}

//! One axis: which values it spans, whether it is logarithmic, and its round marks.

use lab::stats::Interval;

use super::Percent;
use crate::document::Scale;
use crate::figures;

/// From this ratio of largest to smallest value on, the axis is logarithmic.
const LOG_FROM: f64 = 30.0;
/// A linear axis begins at zero when the smallest value is below this part of the largest.
const ZERO_BELOW: f64 = 0.5;
/// From this ratio of the largest value outside the plot to the largest plotted one on, the
/// axis is logarithmic.
const PRESSED_FROM: f64 = 3.0;
/// Room at both ends, as a part of the axis.
const MARGIN: f64 = 0.04;
/// Steps between marks that are aimed at.
const STEPS: f64 = 5.0;

/// A horizontal axis from `low` to `high`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Axis {
    low: f64,
    high: f64,
    log: bool,
}

/// A mark of an axis.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tick {
    /// Where it stands.
    pub(crate) at: Percent,
    /// Its text.
    pub(crate) label: String,
    /// Whether it is left out where the screen is narrow.
    pub(crate) minor: bool,
}

impl Tick {
    pub(super) fn new(at: Percent, label: String) -> Tick {
        Tick { at, label, minor: false }
    }

    /// The class of a line at this mark, which is drawn only where the mark has its label.
    pub(crate) fn class(&self) -> &'static str {
        if self.minor { "grid minor" } else { "grid" }
    }
}

impl Axis {
    /// An axis that holds all of the values; none when no value is finite.
    pub(crate) fn over(values: impl IntoIterator<Item = f64>) -> Option<Axis> {
        let (low, high) = ends(values)?;
        let log = low > 0.0 && high / low >= LOG_FROM;
        Some(if log { Axis::logarithmic(low, high) } else { Axis::linear(low, high) })
    }

    /// A logarithmic axis that holds all of the values; none when one is not above zero or no
    /// value is finite.
    pub(crate) fn logarithmic_over(values: impl IntoIterator<Item = f64>) -> Option<Axis> {
        let (low, high) = ends(values)?;
        (low > 0.0).then(|| {
            if high > low {
                Axis::logarithmic(low, high)
            } else {
                Axis::logarithmic(low / 2.0, high * 2.0)
            }
        })
    }

    /// An axis for `values` that also holds `others`: logarithmic where on a linear axis the
    /// others would press the values together.
    pub(crate) fn over_with(values: &[f64], others: &[f64]) -> Option<Axis> {
        let all = || values.iter().chain(others).copied();
        match (ends(values.iter().copied()), ends(all())) {
            (Some((_, most)), Some((least, highest)))
                if least > 0.0 && highest / most >= PRESSED_FROM =>
            {
                Axis::logarithmic_over(all())
            }
            _ => Axis::over(all()),
        }
    }

    fn logarithmic(low: f64, high: f64) -> Axis {
        let margin = (high / low).powf(MARGIN);
        Axis { low: low / margin, high: high * margin, log: true }
    }

    fn linear(low: f64, high: f64) -> Axis {
        let from_zero = low >= 0.0 && (low < ZERO_BELOW * high || low == high);
        let start = if from_zero { 0.0 } else { low };
        let width = if high > start { high - start } else { start.abs().max(1.0) };
        let low = if from_zero { 0.0 } else { start - MARGIN * width };
        Axis { low, high: start + width * (1.0 + MARGIN), log: false }
    }

    /// Whether it is logarithmic.
    pub(crate) fn is_log(&self) -> bool {
        self.log
    }

    /// Whether it begins elsewhere than at zero, which a reader must be told.
    pub(crate) fn is_cut(&self) -> bool {
        !self.log && self.low != 0.0
    }

    /// Returns what a reader must know of it.
    pub(crate) fn remark(&self) -> Option<&'static str> {
        match (self.is_log(), self.is_cut()) {
            (true, _) => Some("logarithmic scale"),
            (_, true) => Some("the scale does not begin at zero"),
            _ => None,
        }
    }

    /// Where a value stands; values beyond the axis stand at its end.
    pub(crate) fn at(&self, value: f64) -> Percent {
        let along = |value: f64| {
            if self.log { value.max(f64::MIN_POSITIVE).ln() } else { value }
        };
        let (low, high) = (along(self.low), along(self.high));
        Percent((100.0 * (along(value) - low) / (high - low)).clamp(0.0, 100.0))
    }

    /// Where an interval stands.
    pub(crate) fn span(&self, interval: Interval) -> [Percent; 2] {
        [self.at(interval.low), self.at(interval.high)]
    }

    /// Round marks for figures of a metric.
    pub(crate) fn ticks(&self, metric: &str) -> Vec<Tick> {
        let values = match (self.log, figures::is_size(metric)) {
            (false, size) => self.linear_marks(size),
            (true, false) => self.decades(),
            (true, true) => self.powers_of_two(),
        };
        self.marked(values, |value| figures::tick(value, metric))
    }

    /// Round marks of an axis of ratios; on a linear one and close to 1, in equal steps.
    fn ratio_ticks(&self) -> Vec<Tick> {
        const NARROW: f64 = 3.0;
        let values = if !self.log || self.high / self.low < NARROW {
            self.linear_marks(false)
        } else {
            self.decades()
        };
        self.marked(values, |value| format!("×{}", figures::level(value)))
    }

    /// Round marks of either kind.
    pub(crate) fn ticks_of(&self, scale: &Scale) -> Vec<Tick> {
        match scale {
            Scale::Metric(metric) => self.ticks(metric),
            Scale::Ratio => self.ratio_ticks(),
        }
    }

    fn marked(&self, values: Vec<f64>, label: impl Fn(f64) -> String) -> Vec<Tick> {
        let tick = |value: f64| Tick::new(self.at(value), label(value));
        spaced(values.into_iter().map(tick).collect())
    }

    fn linear_marks(&self, size: bool) -> Vec<f64> {
        // Sizes are round in KiB or MiB, so steps are looked for in that unit.
        let unit = if size { 1024f64.powf(self.high.max(1.0).log(1024.0).floor()) } else { 1.0 };
        let step = unit * nice((self.high - self.low) / unit / STEPS);
        let first = (self.low / step).ceil() as i64;
        let last = (self.high / step).floor() as i64;
        (first..=last).map(|number| number as f64 * step).collect()
    }

    fn decades(&self) -> Vec<f64> {
        let decades = (self.high / self.low).log10();
        let factors: &[f64] = match decades {
            few if few < 2.0 => &[1.0, 2.0, 5.0],
            some if some < 3.5 => &[1.0, 3.0],
            _ => &[1.0],
        };
        let first = self.low.log10().floor() as i32;
        let last = self.high.log10().floor() as i32;
        // Over very many decades only every second or third is marked.
        let every = (decades / (2.0 * STEPS)).ceil().max(1.0) as usize;
        (first..=last)
            .step_by(every)
            .flat_map(|power| factors.iter().map(move |factor| factor * 10f64.powi(power)))
            .filter(|value| self.holds(*value))
            .collect()
    }

    fn powers_of_two(&self) -> Vec<f64> {
        let (low, high) = (self.low.log2().ceil() as i32, self.high.log2().floor() as i32);
        let step = (f64::from(high - low) / STEPS).ceil().max(1.0) as usize;
        (low..=high).step_by(step).map(|power| 2f64.powi(power)).collect()
    }

    fn holds(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }
}

/// Marks whose labels do not collide: others are left out, on narrow screens or everywhere.
pub(crate) fn spaced(ticks: Vec<Tick>) -> Vec<Tick> {
    /// Width of a character of a label in parts of a hundred of an axis on a wide screen, and on a narrow one, where
    /// names and figures may leave an axis 9rem.
    const CHARACTER: [f64; 2] = [1.7, 5.0];
    let half = |tick: &Tick, width: f64| (tick.label.chars().count() as f64 + 1.5) * width / 2.0;
    let mut ends = [f64::NEG_INFINITY; 2];
    let mut kept = Vec::new();
    for tick in ticks {
        let begins = CHARACTER.map(|width| tick.at.0 - half(&tick, width));
        if begins[0] < ends[0] {
            continue;
        }
        let minor = begins[1] < ends[1];
        ends[0] = tick.at.0 + half(&tick, CHARACTER[0]);
        if !minor {
            ends[1] = tick.at.0 + half(&tick, CHARACTER[1]);
        }
        kept.push(Tick { minor, ..tick });
    }
    kept
}

/// The smallest and the largest finite value.
fn ends(values: impl IntoIterator<Item = f64>) -> Option<(f64, f64)> {
    let finite = values.into_iter().filter(|value| value.is_finite());
    let (low, high) = finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
        (low.min(value), high.max(value))
    });
    (low <= high).then_some((low, high))
}

/// The next step of the form 1, 2 or 5 times a power of ten.
fn nice(step: f64) -> f64 {
    let power = 10f64.powf(step.log10().floor());
    let factor = [1.0, 2.0, 5.0, 10.0].into_iter().find(|factor| factor * power >= step * 0.999);
    factor.unwrap_or(10.0) * power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_that_would_collide_are_left_out() {
        let tick = |at: f64| Tick::new(Percent(at), "1000".to_owned());
        let kept = spaced([0.0, 4.0, 11.0, 40.0].map(tick).into());
        let places: Vec<(f64, bool)> = kept.iter().map(|tick| (tick.at.0, tick.minor)).collect();
        assert_eq!(places, [(0.0, false), (11.0, true), (40.0, false)]);
    }

    #[test]
    fn labels_fit_an_axis_of_nine_rem_on_a_narrow_screen() {
        // A digit of 13 pixels is a little more than seven wide; 9rem are 144 pixels.
        let (character, axis) = (7.3, 144.0);
        for (high, metric) in [(30_000.0, "txns_per_s"), (4e9, "db_bytes"), (2e6, "rows_per_s")] {
            let ticks = Axis::over([high / 290.0, high]).unwrap().ticks(metric);
            let kept = ticks.iter().filter(|tick| !tick.minor);
            let ends = kept.map(|tick| {
                let half = tick.label.chars().count() as f64 * character / 2.0;
                let at = tick.at.0 / 100.0 * axis;
                (at - half, at + half)
            });
            let ends: Vec<(f64, f64)> = ends.collect();
            assert!(ends.len() > 1, "{ticks:?}");
            assert!(ends.windows(2).all(|pair| pair[0].1 <= pair[1].0), "{ticks:?}");
        }
    }

    fn labels(axis: Axis, metric: &str) -> Vec<String> {
        axis.ticks(metric).into_iter().map(|tick| tick.label).collect()
    }

    #[test]
    fn values_within_a_factor_of_thirty_stand_on_a_linear_axis_from_zero() {
        let axis = Axis::over([100_000.0, 2_500_000.0]).unwrap();
        assert!(!axis.is_log() && !axis.is_cut());
        assert_eq!(axis.at(0.0), Percent(0.0));
        let (once, twice) = (axis.at(1e6).0, axis.at(2e6).0);
        assert!((twice - 2.0 * once).abs() < 1e-9);
        assert_eq!(labels(axis, "rows_per_s"), ["0", "1 M", "2 M"]);
    }

    #[test]
    fn ratios_on_an_axis_from_zero_have_marks_in_equal_steps() {
        let axis = Axis::over([0.4, 7.0]).unwrap();
        assert!(!axis.is_log() && !axis.is_cut());
        let ticks = axis.ratio_ticks();
        let labels: Vec<&str> = ticks.iter().map(|tick| tick.label.as_str()).collect();
        assert_eq!(labels, ["×0", "×2", "×4", "×6"]);
    }

    #[test]
    fn values_close_together_stand_on_an_axis_that_says_it_is_cut() {
        let axis = Axis::over([0.95, 1.05]).unwrap();
        assert!(axis.is_cut());
        assert!(axis.at(0.95).0 > 0.0 && axis.at(1.05).0 < 100.0);
    }

    #[test]
    fn values_far_apart_stand_on_a_logarithmic_axis() {
        let axis = Axis::over([100.0, 30_000.0]).unwrap();
        assert!(axis.is_log());
        let step = axis.at(1000.0).0 - axis.at(100.0).0;
        assert!((axis.at(10_000.0).0 - axis.at(1000.0).0 - step).abs() < 1e-9);
        assert_eq!(labels(axis, "txns_per_s"), ["100", "300", "1 k", "3 k", "10 k", "30 k"]);
    }

    #[test]
    fn values_far_above_the_plotted_ones_make_the_axis_logarithmic() {
        let plotted = [480_000.0, 1_400_000.0];
        assert!(!Axis::over_with(&plotted, &[2e6]).unwrap().is_log());
        let axis = Axis::over_with(&plotted, &[8e6]).unwrap();
        assert!(axis.is_log());
        assert!(axis.at(8e6).0 > 90.0 && axis.at(1.4e6).0 < 60.0);
        assert!(!Axis::over_with(&[0.0, 1.0], &[8.0]).unwrap().is_log());
        assert!(Axis::over_with(&[], &[8e6]).is_some());
    }

    #[test]
    fn an_axis_of_levels_is_logarithmic_however_few_there_are() {
        assert!(Axis::logarithmic_over([1.0, 2.0]).unwrap().is_log());
        assert_eq!(Axis::logarithmic_over([7.0]).unwrap().at(7.0), Percent(50.0));
        assert!(Axis::logarithmic_over([0.0, 7.0]).is_none());
    }

    #[test]
    fn sizes_are_marked_at_powers_of_two() {
        let linear = Axis::over([3.0 * 1_048_576.0, 20.0 * 1_048_576.0]).unwrap();
        assert_eq!(labels(linear, "db_bytes"), ["0 B", "5 MiB", "10 MiB", "15 MiB", "20 MiB"]);
        let log = Axis::over([4096.0, 4096.0 * 1024.0]).unwrap();
        assert_eq!(
            labels(log, "db_bytes"),
            ["4 KiB", "16 KiB", "64 KiB", "256 KiB", "1 MiB", "4 MiB"]
        );
    }

    #[test]
    fn equal_values_and_none_have_an_axis_or_none() {
        let axis = Axis::over([7.0, 7.0]).unwrap();
        assert!(axis.at(7.0).0 > 50.0);
        assert!(Axis::over([f64::INFINITY, f64::NAN]).is_none());
        assert!(Axis::over([]).is_none());
        assert_eq!(Axis::over([0.0, 0.0]).unwrap().at(0.0), Percent(0.0));
    }

    #[test]
    fn values_beyond_the_axis_stand_at_its_end() {
        let axis = Axis::over([1.0, 2.0]).unwrap();
        assert_eq!(axis.at(f64::INFINITY), Percent(100.0));
        assert_eq!(Axis::over([1.0, 100.0]).unwrap().at(0.0), Percent(0.0));
    }
}

//! Numbers as a person reads them: `2.46 M rows/s`, `1.3 MiB`, `×2.1 [1.9, 2.3]`.
//!
//! One module for all views, so that a figure reads the same in a terminal, a page and a file.
//! Three significant digits are enough for a measured figure: the noise of a good machine is in
//! the third. Exports do not pass through here; they keep every digit.

mod claim;
mod digits;
mod short;

use lab::metric::{self, Unit};
use lab::stats::Interval;

pub(crate) use claim::is_spread;
pub use claim::{claim_bounds, claim_expected, claim_figure, claim_interval, claim_published};
pub use digits::significant;
use digits::{decimals, grouped, rounded, trimmed};
pub(crate) use short::{about, about_with_unit, compact, level, stated, stated_range};

/// The figure of a metric with its unit; a name that is not in the catalogue of metrics has none.
pub fn figure(value: f64, metric: &str) -> String {
    match metric::find(metric) {
        Some(metric) => with_unit(value, metric.unit),
        None => significant(value),
    }
}

/// A figure with its unit, scaled to a size that is easily read.
pub fn with_unit(value: f64, unit: Unit) -> String {
    let (divisor, suffix) = scale(value, unit);
    join(&scaled(value / divisor, unit), suffix)
}

/// The mark of an axis: short, and without `rows/s`, which the heading of the axis says.
pub(crate) fn tick(value: f64, metric: &str) -> String {
    let Some(unit) = metric::find(metric).map(|metric| metric.unit) else {
        return trimmed(value);
    };
    let (divisor, suffix) = scale(value, unit);
    let suffix = suffix.trim_end_matches("rows/s").trim_end_matches("ops/s").trim_end();
    join(&trimmed(value / divisor), suffix)
}

/// Whether figures of the metric are sizes, whose round numbers are powers of two.
pub(crate) fn is_size(metric: &str) -> bool {
    metric::find(metric).is_some_and(|metric| metric.unit == Unit::Bytes)
}

/// Both ends of a range in the unit that suits the upper one: `2.31–2.58 M rows/s`.
pub fn range(range: Interval, metric: &str) -> String {
    let Some(unit) = metric::find(metric).map(|metric| metric.unit) else {
        return format!("{}–{}", significant(range.low), significant(range.high));
    };
    let (divisor, suffix) = scale(range.high, unit);
    let (low, high) = (scaled(range.low / divisor, unit), scaled(range.high / divisor, unit));
    if low == high { join(&high, suffix) } else { join(&format!("{low}–{high}"), suffix) }
}

/// The interval of a figure of a metric: `[12.9, 13.4] B/row`; open ends are written as `∞`.
pub(crate) fn interval_of_figure(interval: Interval, metric: &str) -> String {
    let (ends, suffix) = ends(interval, &[], metric);
    join(&ends, suffix)
}

/// A figure of a metric with its interval, in one unit: `11.1 [10.8, 11.4] ms`.
pub(crate) fn figure_with_interval(value: f64, interval: Interval, metric: &str) -> String {
    let (ends, suffix) = ends(interval, &[value], metric);
    join(&ends, suffix)
}

/// Some figures and the ends of an interval in the unit that suits the largest of them, and the unit.
fn ends(interval: Interval, before: &[f64], metric: &str) -> (String, &'static str) {
    let unit = metric::find(metric).map(|metric| metric.unit);
    let all = [interval.high, interval.low].into_iter().chain(before.iter().copied());
    let largest = all.filter(|value| value.is_finite()).reduce(f64::max);
    let (divisor, suffix) = match (unit, largest) {
        (Some(unit), Some(largest)) => scale(largest, unit),
        _ => (1.0, ""),
    };
    let written = |value: f64| match (value.is_finite(), unit) {
        (true, Some(unit)) => scaled(value / divisor, unit),
        (true, None) => significant(value),
        (false, _) if value > 0.0 => "∞".to_owned(),
        (false, _) => "−∞".to_owned(),
    };
    let before: String = before.iter().map(|before| written(*before) + " ").collect();
    let [low, high] = [interval.low, interval.high].map(written);
    (format!("{before}[{low}, {high}]"), suffix)
}

/// A ratio with its interval: `×2.1 [1.9, 2.3]`. As many decimals are shown as the interval
/// supports.
pub fn ratio(centre: f64, interval: Interval) -> String {
    format!("{} {}", ratio_alone(centre, interval), interval_of_ratio(centre, interval))
}

/// The ratio without its interval, to the precision that the interval supports.
pub fn ratio_alone(centre: f64, interval: Interval) -> String {
    format!("×{}", times(centre, interval))
}

/// The ratio as a bare number, for sentences such as "2.1 times as fast".
pub fn times(centre: f64, interval: Interval) -> String {
    digits_of_ratio(centre, decimals(centre, interval))
}

/// A ratio with so many decimals; one of thousands with three digits that mean something.
fn digits_of_ratio(value: f64, decimals: usize) -> String {
    if value >= 1_000.0 { significant(value) } else { format!("{value:.decimals$}") }
}

/// An interval whose ends are open where they are further than a factor of a hundred from the estimate,
/// which is above 0: with so much noise, how far they are says nothing, and a wider interval holds as well.
fn within_sense(centre: f64, interval: Interval) -> Interval {
    const FAR: f64 = 100.0;
    Interval {
        low: if interval.low * FAR < centre { 0.0 } else { interval.low },
        high: if interval.high > FAR * centre { f64::INFINITY } else { interval.high },
    }
}

/// The interval of a ratio alone: `[1.9, 2.3]`; an open end is written as `∞`, and as `0` below.
pub fn interval_of_ratio(centre: f64, interval: Interval) -> String {
    let interval = within_sense(centre, interval);
    let decimals = decimals(centre, interval);
    let end = |value: f64| match value {
        value if value == f64::INFINITY => "∞".to_owned(),
        value if value <= 0.0 => "0".to_owned(),
        value => digits_of_ratio(value, decimals),
    };
    format!("[{}, {}]", end(interval.low), end(interval.high))
}

/// A ratio that has no interval, such as a bound or a published figure.
pub fn plain_ratio(value: f64) -> String {
    format!("×{}", trimmed(value))
}

/// A measured ratio whose interval is not known, to three digits.
pub(crate) fn ratio_without_interval(value: f64) -> String {
    plain_ratio(rounded(value))
}

/// A fraction in per cent: `3 %`, `0.4 %`.
pub fn percent(fraction: f64) -> String {
    /// Below this a percentage with one decimal would read as none at all.
    const LEAST: f64 = 0.05;
    let value = fraction * 100.0;
    if value > 0.0 && value < LEAST {
        return "< 0.1 %".to_owned();
    }
    let decimals = if value.abs() >= 9.95 { 0 } else { 1 };
    let text = format!("{value:.decimals$}");
    format!("{} %", text.strip_suffix(".0").unwrap_or(&text))
}

/// A count with its thousands set apart: `12,345`.
pub fn count(value: usize) -> String {
    grouped(&value.to_string())
}

/// How long something took, for a clock rather than a comparison: `2 min 13 s`.
pub fn duration(seconds: f64) -> String {
    /// Shorter than this, tenths of a second are of interest.
    const SHORT_S: f64 = 10.0;
    if seconds < SHORT_S {
        return format!("{seconds:.1} s");
    }
    let whole = seconds.round() as u64;
    match (whole / 3600, whole / 60 % 60, whole % 60) {
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, 0) => format!("{minutes} min"),
        (0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (hours, 0, _) => format!("{hours} h"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}

/// The divisor and the suffix that suit a value of this unit.
fn scale(value: f64, unit: Unit) -> (f64, &'static str) {
    const RATES: [f64; 4] = [1e9, 1e6, 1e3, 1.0];
    const ROWS: [&str; 4] = ["G rows/s", "M rows/s", "k rows/s", "rows/s"];
    const OPS: [&str; 4] = ["G ops/s", "M ops/s", "k ops/s", "ops/s"];
    const SECONDS: [(f64, &str); 4] = [(1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")];
    const MICROSECONDS: [(f64, &str); 3] = [(1e6, "s"), (1e3, "ms"), (1.0, "µs")];
    const NANOSECONDS: [(f64, &str); 4] = [(1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns")];
    const BYTES: [(f64, &str); 4] =
        [(1_073_741_824.0, "GiB"), (1_048_576.0, "MiB"), (1024.0, "KiB"), (1.0, "B")];
    let pick = |steps: &[(f64, &'static str)]| {
        let fits = steps.iter().find(|(step, _)| rounded(value.abs() / step) >= 1.0);
        *fits.or(steps.last()).unwrap_or(&(1.0, ""))
    };
    let rate = |names: [&'static str; 4]| {
        pick(&std::array::from_fn::<_, 4, _>(|index| (RATES[index], names[index])))
    };
    match unit {
        Unit::Seconds if value == 0.0 => (1.0, "s"),
        Unit::Seconds => pick(&SECONDS),
        Unit::Microseconds => pick(&MICROSECONDS),
        Unit::Nanoseconds => pick(&NANOSECONDS),
        Unit::Bytes => pick(&BYTES),
        Unit::BytesPerRow => (1.0, "B/row"),
        Unit::MebibytesPerSecond => (1.0, "MiB/s"),
        Unit::Count => (1.0, ""),
        Unit::Percent => (1.0, "%"),
        Unit::Share => (0.01, "%"),
        Unit::RowsPerSecond => rate(ROWS),
        Unit::OpsPerSecond => rate(OPS),
    }
}

/// A whole number of bytes or of things has no decimals however small it is.
fn scaled(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Count if value.fract() == 0.0 => grouped(&format!("{value:.0}")),
        Unit::Bytes if value.fract() == 0.0 => grouped(&format!("{value:.0}")),
        _ => significant(value),
    }
}

fn join(number: &str, suffix: &str) -> String {
    if suffix.is_empty() { number.to_owned() } else { format!("{number} {suffix}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn between(low: f64, high: f64) -> Interval {
        Interval { low, high }
    }

    #[test]
    fn figures_are_scaled_to_their_unit() {
        for (value, metric, shown) in [
            (2_461_234.0, "rows_per_s", "2.46 M rows/s"),
            (999.96, "rows_per_s", "1.00 k rows/s"),
            (812.4, "txns_per_s", "812 ops/s"),
            (0.0456, "seconds.index", "45.6 ms"),
            (133.2, "seconds", "133 s"),
            (0.0, "seconds", "0 s"),
            (45.6, "p50_us", "45.6 µs"),
            (12_345.0, "p99_us", "12.3 ms"),
            (1_363_149.0, "db_bytes", "1.30 MiB"),
            (512.0, "wal_bytes", "512 B"),
            (36.94, "bytes_per_row", "36.9 B/row"),
            (0.3333, "recall_word", "33.3 %"),
            (12_345.6, "of_no_catalogue", "12,300"),
        ] {
            assert_eq!(figure(value, metric), shown);
        }
    }

    #[test]
    fn a_range_has_one_unit_and_equal_ends_are_one_figure() {
        assert_eq!(range(between(2.31e6, 2.58e6), "rows_per_s"), "2.31–2.58 M rows/s");
        assert_eq!(range(between(900_000.0, 1.2e6), "rows_per_s"), "0.900–1.20 M rows/s");
        assert_eq!(range(between(4096.0, 4096.0), "db_bytes"), "4 KiB");
    }

    #[test]
    fn the_interval_of_a_figure_has_one_unit_and_may_be_open() {
        for (low, high, metric, shown) in [
            (12.94, 13.42, "bytes_per_row", "[12.9, 13.4] B/row"),
            (900_000.0, 1.2e6, "rows_per_s", "[0.900, 1.20] M rows/s"),
            (0.5, f64::INFINITY, "seconds", "[500, ∞] ms"),
            (f64::NEG_INFINITY, f64::INFINITY, "seconds", "[−∞, ∞]"),
        ] {
            assert_eq!(interval_of_figure(between(low, high), metric), shown);
        }
    }

    #[test]
    fn a_ratio_shows_the_decimals_that_its_interval_supports() {
        for (centre, low, high, shown) in [
            (2.1, 1.9, 2.3, "×2.1 [1.9, 2.3]"),
            (1.02, 0.99, 1.05, "×1.02 [0.99, 1.05]"),
            (1.003, 1.001, 1.005, "×1.003 [1.001, 1.005]"),
            (12.3, 11.0, 14.0, "×12 [11, 14]"),
            (0.0123, 0.0120, 0.0126, "×0.0123 [0.0120, 0.0126]"),
            (2.1, 0.5, 9.0, "×2.1 [0.5, 9.0]"),
            (2.13, 0.0, f64::INFINITY, "×2.13 [0, ∞]"),
            (1.0, 1.0, 1.0, "×1.00 [1.00, 1.00]"),
            (12_345.6, 9_876.5, 15_432.0, "×12,300 [9,880, 15,400]"),
        ] {
            assert_eq!(ratio(centre, between(low, high)), shown);
        }
    }

    #[test]
    fn durations_percentages_and_counts_read_naturally() {
        assert_eq!(duration(4.24), "4.2 s");
        assert_eq!(duration(133.0), "2 min 13 s");
        assert_eq!(duration(7_260.0), "2 h 1 min");
        assert_eq!(percent(0.031), "3.1 %");
        assert_eq!(percent(0.03), "3 %");
        assert_eq!(percent(0.124), "12 %");
        assert_eq!(percent(0.0001), "< 0.1 %");
        assert_eq!(percent(0.0), "0 %");
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(plain_ratio(3.29), "×3.29");
        assert_eq!(plain_ratio(2.0), "×2");
    }
}

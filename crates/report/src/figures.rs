//! Numbers as a person reads them: `2.46 M rows/s`, `1.3 MiB`, `×2.1 [1.9, 2.3]`.
//!
//! One module for all views, so that a figure reads the same in a terminal, a page and a file.
//! Three significant digits are enough for a measured figure: the noise of a good machine is in
//! the third. Exports do not pass through here; they keep every digit.

use lab::claims::{Form, Judged};
use lab::metric::{self, Unit};
use lab::stats::Interval;
use lab::text::grouped;

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
    let Some(unit) = metric::find(metric).map(|metric| metric.unit) else { return trimmed(value) };
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

/// Below this, a figure is written with an exponent.
const SMALL: f64 = 0.0001;

fn tiny(value: f64) -> String {
    format!("{value:.1e}")
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
        (true, Some(_)) if value > 0.0 && value / divisor < SMALL => tiny(value / divisor),
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
    format!("×{}", digits_of_ratio(centre, decimals(centre, interval)))
}

/// The ratio as a bare number of two digits, for sentences such as "2.1 times as fast"; of more where two would say another
/// thing than its interval.
pub fn times(centre: f64, interval: Interval) -> String {
    let (short, two) = (to_two_digits(centre), (1 - magnitude(centre)).max(0));
    if interval.contains(short) && telling_from_one(centre, interval) <= two {
        grouped(&format!("{short:.0$}", two as usize))
    } else {
        digits_of_ratio(centre, decimals(centre, interval))
    }
}

/// Writes a ratio with these decimals; thousands with three significant digits.
fn digits_of_ratio(value: f64, decimals: usize) -> String {
    if value >= 1_000.0 { significant(value) } else { format!("{value:.decimals$}") }
}

/// The interval of a ratio alone: `[1.9, 2.3]`; an open end is written as `∞`, and as `0` below.
pub fn interval_of_ratio(centre: f64, interval: Interval) -> String {
    let decimals = decimals(centre, interval);
    let end = |value: f64| match value {
        value if value == f64::INFINITY => "∞".to_owned(),
        value if value <= 0.0 => "0".to_owned(),
        // Rounded to these decimals it would be a zero.
        value if value < SMALL => tiny(value),
        value if value < 0.5 * 0.1_f64.powi(decimals as i32) => significant(value),
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

/// The same to two digits, for sentences.
pub fn about_ratio(value: f64) -> String {
    plain_ratio(to_two_digits(value))
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

/// A figure that is stated, not measured, such as a bound: without zeros that say nothing.
pub(crate) fn stated(value: f64, metric: &str) -> String {
    let Some(unit) = metric::find(metric).map(|metric| metric.unit) else { return trimmed(value) };
    let (divisor, suffix) = scale(value, unit);
    join(&trimmed(value / divisor), suffix)
}

/// Two stated figures in the unit that suits the larger one: `12.5 to 13.9 B/row`.
pub(crate) fn stated_range(low: f64, high: f64, metric: &str) -> String {
    let unit = metric::find(metric).map(|metric| metric.unit);
    let (divisor, suffix) = unit.map_or((1.0, ""), |unit| scale(high, unit));
    let ends = format!("{} to {}", trimmed(low / divisor), trimmed(high / divisor));
    join(&ends, suffix)
}

/// The level of a numeric factor: `4096`, `250 k`, `1 M`.
pub(crate) fn level(value: f64) -> String {
    /// From here on a level is easier to read in thousands.
    const LONG: f64 = 1e5;
    let (divisor, suffix) = match value {
        value if value < LONG => (1.0, ""),
        value if value < 1e6 => (1e3, "k"),
        value if value < 1e9 => (1e6, "M"),
        _ => (1e9, "G"),
    };
    join(&trimmed(value / divisor), suffix)
}

/// A figure for a table of many columns: large counts to three digits, `1.92 M`.
pub(crate) fn compact(value: f64, metric: &str) -> String {
    /// Smaller counts take no more room in full.
    const LONG: f64 = 1e5;
    let count = metric::find(metric).is_some_and(|metric| metric.unit == Unit::Count);
    match value {
        value if !count || rounded(value) < LONG => figure(value, metric),
        value if rounded(value) < 1e6 => format!("{} k", significant(value / 1e3)),
        value if rounded(value) < 1e9 => format!("{} M", significant(value / 1e6)),
        value => format!("{} G", significant(value / 1e9)),
    }
}

/// A level that a model says, which is known to two digits at most: `1.2 M`.
pub(crate) fn about(value: f64) -> String {
    level(to_two_digits(value))
}

/// A figure that a model says, to two digits: `14 µs`.
pub(crate) fn about_with_unit(value: f64, unit: Unit) -> String {
    let (divisor, suffix) = scale(value, unit);
    join(&trimmed(to_two_digits(value / divisor)), suffix)
}

fn to_two_digits(value: f64) -> f64 {
    if value == 0.0 {
        return value;
    }
    let power = 10f64.powi(magnitude(value) - 1);
    (value / power).round() * power
}

/// Significant digits of a measured figure.
const DIGITS: i32 = 3;

/// Three significant digits without an exponent.
pub fn significant(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    let value = rounded(value);
    let decimals = (DIGITS - 1 - magnitude(value)).max(0) as usize;
    grouped(&format!("{value:.decimals$}"))
}

/// Decimals with which a ratio is written: enough to tell the ends of the interval apart, at
/// least two significant digits of the ratio and one of the lower end, at most what three
/// significant digits below one or three decimals above it need.
fn decimals(centre: f64, interval: Interval) -> usize {
    const MOST: i32 = 3;
    if !centre.is_finite() || centre <= 0.0 {
        return 2;
    }
    let of_width = match interval.half_width() {
        width if width.is_finite() && width > 0.0 => (-width.log10()).ceil() as i32,
        _ => 2 - magnitude(centre),
    };
    let of_centre = 1 - magnitude(centre);
    let of_low = if interval.low > 0.0 { -magnitude(interval.low) } else { 0 };
    let most = MOST.max(2 - magnitude(centre));
    let decimals = of_width.max(of_centre).max(of_low.min(of_centre + 1)).clamp(0, most);
    decimals.max(telling_from_one(centre, interval)) as usize
}

/// Decimals without which an interval that excludes 1 would read as if it held it, or its ratio as 1.
fn telling_from_one(centre: f64, interval: Interval) -> i32 {
    /// A difference that is smaller than that is written as none.
    const MOST: i32 = 6;
    /// 1.001 less 1 is a little less than a thousandth.
    const ROUNDING: f64 = 1e-9;
    if interval.contains(1.0) {
        return 0;
    }
    let ends = [interval.low, interval.high, centre].map(|end| (end - 1.0).abs());
    let nearest = ends.into_iter().fold(f64::INFINITY, f64::min);
    ((-nearest.log10() - ROUNDING).ceil() as i32).clamp(0, MOST)
}

/// The power of ten of the first digit.
fn magnitude(value: f64) -> i32 {
    rounded(value).abs().log10().floor() as i32
}

/// The value rounded to the significant digits shown, so that 999.9 is already a thousand.
fn rounded(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let digits = DIGITS - 1 - value.abs().log10().floor() as i32;
    let power = 10f64.powi(digits.abs());
    if digits >= 0 { (value * power).round() / power } else { (value / power).round() * power }
}

/// At most four significant digits, without zeros at the end: bounds are stated, not measured.
fn trimmed(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    let decimals = (DIGITS - magnitude(value)).clamp(0, 6) as usize;
    let text = format!("{value:.decimals$}");
    let text =
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    grouped(text)
}

// The figures of a claim are written in one form, so that they can be compared at a glance: as a ratio, for a spread, which is
// a ratio less one, in per cent, and for an absolute figure in the unit of its metric.

/// The measured figure of a claim: a ratio, for a spread the fraction in per cent, for an absolute
/// figure with its unit.
pub fn claim_figure(judged: &Judged) -> Option<String> {
    let value = judged.figure?;
    Some(match (&judged.unit, judged.interval) {
        (Some(metric), _) => figure(value, metric),
        (None, _) if is_spread(judged) => percent(value),
        (None, Some(interval)) => ratio_alone(value, interval),
        (None, None) => plain_ratio(value),
    })
}

/// The interval of a claim's figure, in the form of [`claim_figure`].
pub fn claim_interval(judged: &Judged) -> Option<String> {
    let (value, interval) = (judged.figure?, judged.interval?);
    Some(match &judged.unit {
        Some(metric) => interval_of_figure(interval, metric),
        None if is_spread(judged) => interval_of_spread(interval),
        None => interval_of_ratio(value, interval),
    })
}

fn interval_of_spread(interval: Interval) -> String {
    /// More than a hundredfold, no spread is of any use.
    const FAR: f64 = 100.0;
    if interval.high <= FAR {
        format!("[{}, {}]", percent(interval.low), percent(interval.high))
    } else {
        format!("[{}, ∞]", percent(interval.low.max(0.0)))
    }
}

/// The published figure of a claim, in the form of [`claim_figure`].
pub fn claim_published(judged: &Judged) -> Option<String> {
    Some(claim_value(judged, judged.claim.published?))
}

/// The expected figure of a claim, in the form of [`claim_figure`].
pub fn claim_expected(judged: &Judged) -> Option<String> {
    Some(claim_value(judged, judged.claim.expected?.figure))
}

/// The bounds that confirm a claim: `at least ×2`.
pub fn claim_bounds(judged: &Judged) -> String {
    let show = |value| claim_value(judged, value);
    match (judged.bounds.low, judged.bounds.high) {
        (Some(low), Some(high)) => match &judged.unit {
            Some(metric) => stated_range(low, high, metric),
            None => format!("{} to {}", show(low), show(high)),
        },
        (Some(low), None) => format!("at least {}", show(low)),
        (None, Some(high)) => format!("at most {}", show(high)),
        (None, None) => "any".to_owned(),
    }
}

fn claim_value(judged: &Judged, value: f64) -> String {
    match &judged.unit {
        Some(metric) => stated(value, metric),
        None if is_spread(judged) => percent(value),
        None => plain_ratio(value),
    }
}

/// A spread is a ratio less one, so it is shown as a percentage.
pub(crate) fn is_spread(judged: &Judged) -> bool {
    matches!(judged.claim.forms().first(), Some(Form::Spread(_)))
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
    fn sentences_have_two_digits_unless_their_interval_needs_more() {
        for (centre, low, high, shown) in [
            (557.0, 540.0, 580.0, "560"),
            (557.0, 556.0, 558.0, "557"),
            (12_345.6, 9_876.5, 15_432.0, "12,000"),
            (1.80, 1.72, 1.89, "1.8"),
            (1.003, 1.001, 1.005, "1.003"),
            (1.05, 1.02, 1.2, "1.05"),
            (0.744, 0.5, 0.9, "0.74"),
            (2.0, 1.99, 2.01, "2.0"),
        ] {
            assert_eq!(times(centre, between(low, high)), shown);
        }
        assert_eq!(about_ratio(127.3), "×130");
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

    #[test]
    fn stated_figures_and_levels_have_no_digits_that_say_nothing() {
        assert_eq!(stated(13.25, "bytes_per_row"), "13.25 B/row");
        assert_eq!(stated(2e6, "rows_per_s"), "2 M rows/s");
        assert_eq!(stated(0.5, "of_no_catalogue"), "0.5");
        assert_eq!(stated_range(12.5, 13.9, "bytes_per_row"), "12.5 to 13.9 B/row");
        assert_eq!(stated_range(5e5, 2e6, "rows_per_s"), "0.5 to 2 M rows/s");
        assert_eq!(level(4096.0), "4,096");
        assert_eq!(tick(2000.0, "vm_steps"), "2,000");
        assert_eq!(level(300_000.0), "300 k");
        assert_eq!(level(1e6), "1 M");
        assert_eq!(level(2.5e9), "2.5 G");
        assert_eq!(compact(10_014.0, "syncs"), "10,014");
        assert_eq!(compact(1_923_411.0, "writes.wal"), "1.92 M");
        assert_eq!(compact(999_900.0, "writes"), "1.00 M");
        assert_eq!(compact(3e8, "bytes_written"), "286 MiB");
        assert_eq!(about(1_234_567.0), "1.2 M");
        assert_eq!(about(997_000.0), "1 M");
        assert_eq!(about_with_unit(0.0, Unit::Seconds), "0 s");
        assert_eq!(about_with_unit(1.4237e-5, Unit::Seconds), "14 µs");
    }
}

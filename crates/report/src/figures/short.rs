//! Figures with fewer digits than a measured one has: stated bounds, levels, what a model says, and
//! counts in a crowded table.

use lab::metric::{self, Unit};

use super::digits::{magnitude, rounded, significant, trimmed};
use super::{figure, join, scale};

/// A figure that is stated, not measured, such as a bound: without zeros that say nothing.
pub(crate) fn stated(value: f64, metric: &str) -> String {
    let Some(unit) = metric::find(metric).map(|metric| metric.unit) else {
        return trimmed(value);
    };
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stated_figures_and_levels_have_no_digits_that_say_nothing() {
        assert_eq!(stated(13.25, "bytes_per_row"), "13.25 B/row");
        assert_eq!(stated(2e6, "rows_per_s"), "2 M rows/s");
        assert_eq!(stated(0.5, "of_no_catalogue"), "0.5");
        assert_eq!(stated_range(12.5, 13.9, "bytes_per_row"), "12.5 to 13.9 B/row");
        assert_eq!(stated_range(5e5, 2e6, "rows_per_s"), "0.5 to 2 M rows/s");
        assert_eq!(level(4096.0), "4096");
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

//! How many digits a number is shown with, and how they are set.

use lab::stats::Interval;

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
pub(super) fn decimals(centre: f64, interval: Interval) -> usize {
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
pub(super) fn magnitude(value: f64) -> i32 {
    rounded(value).abs().log10().floor() as i32
}

/// The value rounded to the significant digits shown, so that 999.9 is already a thousand.
pub(super) fn rounded(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let digits = DIGITS - 1 - value.abs().log10().floor() as i32;
    let power = 10f64.powi(digits.abs());
    if digits >= 0 { (value * power).round() / power } else { (value / power).round() * power }
}

/// At most four significant digits, without zeros at the end: bounds are stated, not measured.
pub(super) fn trimmed(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    let decimals = (DIGITS - magnitude(value)).clamp(0, 6) as usize;
    let text = format!("{value:.decimals$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

pub(super) fn grouped(number: &str) -> String {
    let (whole, fraction) = number.split_once('.').map_or((number, None), |(w, f)| (w, Some(f)));
    let (sign, digits) = whole.strip_prefix('-').map_or(("", whole), |digits| ("-", digits));
    let mut text = String::from(sign);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if let Some(fraction) = fraction {
        text.push('.');
        text.push_str(fraction);
    }
    text
}

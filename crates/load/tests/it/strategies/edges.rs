//! Values at which storing, converting or comparing changes its way, for properties and classes alike.

/// Where the length of an integer changes, and where a real can no longer hold it exactly.
pub(super) const INTEGERS: [i64; 9] =
    [0, 1, -1, i64::MIN, i64::MAX, 1 << 47, -(1 << 47), (1 << 47) - 1, -(1 << 47) - 1];

/// Where a real stops being a whole number, an integer or finite.
pub(super) const REALS: [f64; 10] = [
    0.0,
    -0.0,
    1e15,
    1e300,
    f64::INFINITY,
    f64::NEG_INFINITY,
    9_223_372_036_854_775_807.0,
    -9_223_372_036_854_775_808.0,
    140_737_488_355_328.0,
    0.1,
];

/// What may or may not be a number.
pub(super) const TEXTS: [&str; 20] = [
    "", " ", "9223372036854775807", "9223372036854775808", "-9223372036854775808", "0x10", "1e400",
    "-0", "-0.0", "007", "+-1", "1_000", "inf", "nan", "2024-01-31", "1e", ".", " 12\n", "3.50",
    "\u{fffd}\u{1d11e}",
];

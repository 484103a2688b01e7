#![forbid(unsafe_code)]
//! Values of Arrow that SQLite has no type for, and the values that take their place: dates, times and decimals
//! as texts, integers without a sign.
//!
//! The loader and the loadable extension share these rules. The crate has no dependencies, so that the extension
//! stays a small library.

pub mod calendar;
mod decimal;

pub use decimal::decimal_text;

/// Returns an integer without a sign as SQLite's, which has one.
///
/// # Errors
/// It has no room in 63 bits.
pub fn signed(value: u64) -> Result<i64, String> {
    let largest = i64::MAX;
    i64::try_from(value).map_err(|_| format!("{value} is above SQLite's largest, {largest}"))
}

#![forbid(unsafe_code)]
//! Values of Arrow that SQLite has no type for: dates, times and decimals as texts.
//!
//! The loader and the loadable extension share these rules. The crate has no dependencies, so that the extension
//! stays a small library.

pub mod calendar;
mod decimal;

pub use decimal::decimal_text;

//! Data made from a seed, before the clock starts.

pub mod integers;

pub use integers::Values;

//! Data made from a seed, before the clock starts.

pub mod integers;
pub mod orders;

pub use integers::Values;
pub use orders::Order;

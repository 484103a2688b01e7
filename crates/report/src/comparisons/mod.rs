//! Comparisons as documents: of counters, which are exact.

mod exact;
mod figures;

pub use exact::exact;

//! Comparisons as documents: of counters, which are exact, and of whole runs.

mod exact;
mod figures;
mod runs;

pub use exact::exact;
pub use runs::runs;

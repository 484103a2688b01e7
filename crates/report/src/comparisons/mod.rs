//! Comparisons as documents: of counters, which are exact, of whole runs, and the gate of a guarded comparison.

mod exact;
mod figures;
mod guarded;
mod runs;

pub use exact::exact;
pub use guarded::{guarded, junit};
pub use runs::runs;

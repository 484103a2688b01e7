//! Comparisons as documents: of counters, which are exact, of whole runs, of many runs over time, and the gate of a guarded
//! comparison.

mod exact;
mod figures;
mod guarded;
mod history;
mod runs;

pub use exact::exact;
pub use guarded::{guarded, junit};
pub use history::history;
pub use runs::runs;

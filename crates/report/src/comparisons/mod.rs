//! Comparisons as documents: of counters, which are exact, of whole runs, of many runs over time, the gate of a guarded
//! comparison, and one run on many machines.

mod exact;
mod figures;
mod fleet;
mod guarded;
mod history;
mod runs;

pub use exact::exact;
pub use fleet::fleet;
pub use guarded::{guarded, junit};
pub use history::history;
pub use runs::runs;

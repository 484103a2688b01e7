//! Comparisons as documents: of counters, which are exact, of whole runs, of many runs over time, the gate of a guarded
//! comparison, and one run on many machines.

mod exact;
mod figures;
mod fleet;
mod guarded;
mod history;
mod runs;

use crate::document::{Block, Item, Sentence};

pub use exact::exact;
pub use fleet::fleet;
pub use guarded::{guarded, junit};
pub use history::history;
pub use runs::runs;

/// The runs that could not be read, each with the reason.
fn not_read(unreadable: &[(String, String)]) -> Vec<Block> {
    let items = unreadable
        .iter()
        .map(|(name, why)| Item::doubt(None, Sentence::code(name).words(format!(": {why}"))));
    Block::list(items).into_iter().collect()
}

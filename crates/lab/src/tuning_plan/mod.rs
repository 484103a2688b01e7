//! The plan of a search for the fastest settings, as the record of a run stores it. The search is in the crate `tuning`.

mod plan;
mod space;

pub use plan::{Advice, Bound, Constraint, SearchOutcome, SearchTrial, TunableSetting, TuningPlan};
pub use space::{Configuration, Exclusion, Factor, Gate, Space};

//! The plan of a search for the fastest settings, as the record of a run stores it. The search is in the crate `tuning`.

mod constraint;
mod plan;
mod space;

pub use constraint::{Bound, Constraint};
pub use plan::{Advice, SearchOutcome, SearchTrial, TunableSetting, TuningPlan};
pub use space::{Configuration, Exclusion, Factor, Gate, Space};

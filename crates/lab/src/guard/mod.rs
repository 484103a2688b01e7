//! The gate for continuous integration: what may change between a base and its new version, and whether it did.
//!
//! Counters, plans, answers and safety are certain and judged here at once. Time is judged by a sequence of blocks that
//! measure both sides together ([`Sequence`]). What was measured is a run like any other ([`recorded_plan`]).

mod bounds;
mod checks;
mod config;
mod run;
mod safety;
mod sequence;
mod timed;

pub use bounds::{Budget, BudgetError, Comparator, Limit};
pub use checks::{Check, Gate, Status, alone, counters};
pub use config::{Answers, Guard, MayLose, Scans, Work};
pub use run::{
    OtherWork, both_sides, counting_experiment, counts_of, recorded_plan, role_of,
    timing_experiment,
};
pub use safety::safety;
pub use sequence::{Decision, Look, Looks, Sequence};
pub use timed::Timed;

//! Tuning: the search for the fastest settings among very many, as a pure function of outcomes.
//!
//! A [`Space`] says which levels may be combined. A [`Search`] names the next block: first a screen of 18
//! configurations, then those that a Gaussian process over the levels makes promising. The recommendation is the
//! configuration of the best posterior mean, never the fastest trial, which is fast by luck as well. What is
//! reported of it comes from rounds of their own. Why this method: `docs/method.md`.

mod advice;
mod climb;
mod compared;
mod contribution;
mod course;
#[cfg(test)]
mod course_tests;
mod data;
mod hopeless;
mod levers;
mod limits;
mod matrix;
mod model;
mod parts;
#[cfg(test)]
mod parts_tests;
mod plan;
mod screen;
mod search;
mod settled;
pub mod simulation;
mod space;
mod trade_off;

pub use advice::{Advice, Advised, Gain};
pub use contribution::Contribution;
pub use course::{Ambiguous, Forecast, SearchBlock, SearchCourse, SearchSlot};
pub use hopeless::stop_at;
pub use levers::{Lever, attach, exclude_unsafe, tuning_of};
pub use limits::{Bound, Constrained, Constraint, Measured, Moved};
pub(crate) use parts::ROUNDS;
pub use parts::Tuning;
pub use plan::TuningPlan;
pub use search::{PER_BLOCK, SCREEN_BLOCKS, Search, Seen, Tried};
pub use settled::{Interaction, Unchanged};
pub use space::{Configuration, Exclusion, Factor, Gate, Space};
pub use trade_off::{Compromise, CompromiseFigure, TradeOff};

#![forbid(unsafe_code)]
//! Tuning: the search for the fastest settings among very many, as a pure function of outcomes.
//!
//! A [`Space`](lab::tuning_plan::Space) says which levels may be combined. A [`Search`] names the next block: first a
//! screen of 18 configurations, then those that a Gaussian process over the levels makes promising. The recommendation is
//! the configuration of the best posterior mean, never the fastest trial, which is fast by luck as well. What is
//! reported of it comes from rounds of their own. Why this method: `docs/method.md`.

mod advice;
mod analysis;
mod climb;
mod compared;
mod contribution;
mod course;
mod data;
mod hopeless;
mod levers;
mod limits;
mod matrix;
mod model;
mod parts;
mod screen;
mod search;
mod settled;
mod trade_off;

pub use advice::{Advised, Gain};
pub use analysis::{Analysis, Collector, SearchStep, TuningAnalysis};
pub use contribution::Contribution;
pub use course::{Ambiguous, Forecast, SearchBlock, SearchCourse, SearchSlot};
pub use hopeless::{STOP_AT, stop_at};
pub use levers::{attach, exclude_unsafe, tuning_of};
pub use limits::{Constrained, Measured, Moved};
pub use parts::Tuning;
pub use search::{PER_BLOCK, SCREEN_BLOCKS, Search};
pub use settled::{Interaction, Unchanged};
pub use trade_off::{Compromise, CompromiseFigure, TradeOff};

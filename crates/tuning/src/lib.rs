#![forbid(unsafe_code)]
//! Tuning: the search for the fastest settings among very many, as a pure function of outcomes.
//!
//! A [`Space`](lab::tuning_plan::Space) says which levels may be combined. A [`Search`] names the next block: first a
//! screen of 18 configurations, then those that a Gaussian process over the levels makes promising. The recommendation is
//! the configuration of the best posterior mean, never the fastest trial, which is fast by luck as well. What is
//! reported of it comes from rounds of their own. Why this method: `docs/method.md`.

mod analysis;
mod climb;
mod contribution;
mod model;
mod plan;
mod result;
mod rounds;
mod search;
mod state;
mod trade_off;
mod tuning;

pub use analysis::{Analysis, Collector, Extent, SearchStep, TuningAnalysis};
pub use contribution::Contribution;
pub use contribution::{Advised, Gain};
pub use plan::{attach, exclude_unsafe, tuning_of};
pub use result::{Interaction, Unchanged};
pub use rounds::{Constrained, Measured, Moved};
pub use search::{PER_BLOCK, SCREEN_BLOCKS, Search};
pub use search::{STOP_AT, stop_at};
pub use state::{Ambiguous, Forecast, SearchBlock, SearchSlot, SearchState};
pub use trade_off::{Compromise, CompromiseFigure, TradeOff};
pub use tuning::Tuning;

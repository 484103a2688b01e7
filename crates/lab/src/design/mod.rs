//! Designs: which variants there are, in which order trials run, and when to stop.
//!
//! What comes next is a pure function of the plan and of the outcomes so far ([`next`]), so a
//! killed run resumes where it was, and the whole schedule can be tested without a clock.

mod history;
mod next;
mod schedule;
mod turns;
mod variants;

pub use history::{Done, History, Observation};
pub use next::{DesignParams, Next, StopReason, Stopping, block, next};
pub use schedule::{Block, Role, ScheduledTrial, round, trials_per_round};
pub use turns::{
    MANY, ahead, budget_of, expected_rounds, expected_seconds, fewest_trials, outlook,
    rounds_again, turn,
};
pub use variants::{UpperBound, Variant, VariantsError, partners, select, upper_bounds, variants};

//! Comparisons: two sides counted exactly, two runs, many runs over time, and the machines of a fleet.
//!
//! All of them speak of the same things. A [`Figure`] is a counter on two sides, a [`Ratio`] is measured and has an
//! interval, and a [`Change`] is the verdict on either of them. [`Unmatched`] names what only one side has, and a
//! [`Difference`] is a circumstance, such as the machine or a setting, that is not the same on both.
//!
//! | comparison | sides | compared by |
//! | --- | --- | --- |
//! | [`ExactComparison`] | engines, databases, files of SQL, revisions ([`crate::guard`]) | counters, plans and answers |
//! | [`RunComparison`] | two runs, each measured at its own time | ratios to each run's own baseline, and counters |
//! | [`History`] | many runs | changes of level |
//! | [`FleetAnalysis`] | machines | ratios to the baseline on each machine |

mod answer;
mod attributes;
mod circumstances;
mod digest;
mod exact;
mod figure;
mod history;
mod machines;
mod plans;
mod rows;
mod runs;
mod statement;

pub use answer::AnswerChange;
pub use attributes::{Attributes, Explanation};
pub use circumstances::{Difference, Doubt};
pub use digest::{ExperimentDigest, OfTables, RunDigest, VariantDigest};
pub use exact::{ExactComparison, Side, SideFacts, Unmatched, is_exact};
pub use figure::{Change, Count, Figure, Ratio};
pub use history::{History, LevelChange, Run, Series};
pub use machines::{
    Agreement, Check, DiskSummary, FleetAnalysis, FleetClaim, FleetExperiment, FleetVariant,
    GroupAnswer, Machine, MachineCollector, MachineRatio, Standing, Unanswered, summarise,
};
pub use plans::{PlanChange, normalised, same_plan};
pub use rows::{DifferingRow, DifferingRows, keep_few_rows, keeping_rows};
pub use runs::{ExperimentComparison, Incomparable, RatioChange, RunComparison, VariantComparison};
pub(crate) use statement::OF_STATEMENT;
pub use statement::{Severity, StatementComparison};

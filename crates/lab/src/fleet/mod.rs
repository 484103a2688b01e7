//! Runs over a fleet: which machines share a run, and what many machines say together.

mod claims;
mod code;
mod collect;
mod explain;
mod groups;
mod labels;
mod pace;
mod summary;

pub use claims::{Agreement, FleetClaim};
pub use code::{extensions, files, has_sql, has_sql_for_another_driver, with_paths};
pub use collect::MachineCollector;
pub use groups::{CLASS, Candidate, Disk, Group, Kind, Per, class, groups, name_of, own_labels};
pub use labels::{Expression, ExpressionError, Labels, Listed};
pub use pace::{Pace, Progress, stragglers};
pub use summary::{
    Attributes, DiskSummary, Explanation, FleetAnalysis, FleetExperiment, FleetMachine,
    FleetVariant, GroupAnswer, GroupRatio, Machine, MachineRatio, Unanswered, summarise,
};

//! Runs over a fleet: which machines share a run, and how fast they carry it out. [`crate::comparison`] compares them.

mod code;
mod groups;
mod labels;
mod reruns;

pub use code::{extensions, files, has_sql, has_sql_for_another_driver, with_paths};
pub use groups::{
    CLASS, Candidate, Disk, Group, Kind, Pace, Per, Progress, class, groups, name_of, own_labels,
    stragglers,
};
pub use labels::{Expression, ExpressionError, Labels, Listed};
pub use reruns::Reruns;

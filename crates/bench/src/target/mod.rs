//! Targets: what a workload drives.

pub(crate) mod postgres;
pub(crate) mod queue;
pub(crate) mod sqlite;

//! Targets: what a workload drives.

pub(crate) mod sqlite;

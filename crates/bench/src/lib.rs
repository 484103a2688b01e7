#![forbid(unsafe_code)]
//! The worker side: workloads, data generators, targets, and the trial itself.
//!
//! This code runs in a process of its own for each trial. It measures and verifies; it knows
//! neither statistics nor printing, and what it has to say goes to the parent as messages.

mod catalogue;
mod drive;
mod error;
mod generate;
mod import;
mod measure;
mod settings;
mod target;
mod workload;

pub use catalogue::catalogue;
pub use drive::{describe_engine, drive};
pub use error::TrialError;
pub use import::{ImportError, TextFile, TextSummary};

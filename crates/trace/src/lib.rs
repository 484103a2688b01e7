#![forbid(unsafe_code)]
//! Traces: what an application did with SQLite, as one SQLite database that users can query.
//!
//! [`seal`] makes a trace of a recording (the crate `recorder`), [`Trace`] reads one, and [`analysis`] says
//! what the application does: pure functions over events, without files or databases. [`live`] feeds it while a
//! program runs. [`plans`] asks SQLite how it
//! executes the statements. [`edit`] makes new traces of
//! others, [`export`] files for other tools, [`to_script`] a
//! script with fitted values. [`normalised`] gives
//! statements that differ in their values only the same text.
//!
//! This crate knows neither statistics nor printing.

pub mod analysis;
pub mod content;
pub mod edit;
mod error;
pub mod export;
mod fit;
mod grown;
pub mod live;
mod normalise;
pub mod plans;
mod read;
mod replay;
mod schema;
pub mod seal;

pub use error::{Result, TraceError, named};
pub use fit::{Amount, Fitted, to_script};
pub use grown::Grown;
pub use normalise::normalised;
pub use read::{Connection, EndOfDatabase, Meta, Note, Process, Setting, Snapshot, Text, Trace};
pub use replay::{Bound, Call, Values};
pub use schema::{APPLICATION_ID, FORMAT, is_in_memory, path_of, state};

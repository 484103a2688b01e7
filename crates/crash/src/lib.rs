#![forbid(unsafe_code)]
//! Crash safety, measured instead of asserted.
//!
//! A workload is recorded ([`Trace`]); storage models ([`Model`]) say what of it a crash may leave on
//! the disk; what it leaves is recovered by the same engine and compared with every state that a
//! committed transaction produced.
//!
//! Three modules work on real processes and files instead of a recording:
//! - [`kill`] kills a writing process at random moments, on the real file system;
//! - [`schedule`] runs one connection inside the file-system calls of another, which finds damage that needs no crash;
//! - [`syncs`] checks that the syncs of an engine reach the system.

mod checks;
mod content;
mod counts;
mod disk;
mod documented;
mod error;
mod harness;
mod in_force;
mod initial;
mod judge;
pub mod kill;
mod matrix;
mod model;
mod named;
mod pages;
mod rare;
mod record;
pub mod schedule;
mod script;
mod settings;
mod situations;
mod states;
mod survey;
pub mod syncs;
mod threads;
mod trace;
mod witness;

pub use content::Content;
pub use counts::{ImageCounts, Witness, Witnesses};
pub use disk::{Damage, Disk, State, Units};
pub use documented::{cause_of_breach, cause_of_more_safety, documented};
pub use error::CrashError;
pub use harness::{EndedAt, Harness, Isolation, Problem, Recovered, RecoveryObserver};
pub use in_force::{SettingsInForce, Span};
pub use initial::{InitialDatabases, MAIN};
pub use judge::{Judge, Judgement, Violation};
pub use matrix::{Cell, FEWEST, Matrix, Plan, ScriptSummary, measure};
pub use model::{LYING_WINDOW, Model, SyncRule};
pub use named::UnknownValue;
pub use rare::{MarkedAction, RareEvent, RareEvents, touched};
pub use record::{Commit, Performed, Recording};
pub use script::{Action, Execution, Script};
pub use settings::{CrashSettings, JournalMode, LockingMode, Synchronous};
pub use states::{Candidate, Source, Visited, minimise, prefix_files, visit};
pub use trace::{File, Inode, Name, Step, Trace};
pub use witness::write_witnesses;

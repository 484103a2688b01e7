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
mod disk;
mod documented;
mod error;
mod in_force;
mod initial;
mod judge;
pub mod kill;
mod matrix;
mod model;
mod named;
mod occasion;
mod pages;
mod record;
mod sandbox;
pub mod schedule;
mod script;
mod settings;
mod states;
mod survey;
pub mod syncs;
mod tally;
mod trace;
mod witness;

pub use content::Content;
pub use disk::{Damage, Disk, State, Units};
pub use documented::{cause_of_breach, cause_of_more_safety, documented};
pub use error::{AccidentError, CrashError};
pub use in_force::{InForce, Span};
pub use initial::{InitialDatabases, MAIN};
pub use judge::{Judge, Judgement, Violation};
pub use matrix::{Cell, FEWEST, Matrix, OwnScript, Plan, Progress, measure};
pub use model::{LYING_WINDOW, Model, SyncRule};
pub use named::UnknownValue;
pub use occasion::{MarkedAct, Occasion, Occasions, touched};
pub use record::{Commit, NotMeasured, Performed, Recording};
pub use sandbox::{EndedAt, Isolation, Problem, Recovered, Recoveries, Sandbox};
pub use script::{Act, Execution, Script};
pub use settings::{CrashSettings, JournalMode, LockingMode, Synchronous};
pub use states::{Candidate, Source, Visited, minimise, prefix_files, visit};
pub use tally::{Tally, Witness, Witnesses};
pub use trace::{File, Inode, Name, Step, Trace};
pub use witness::write_witnesses;

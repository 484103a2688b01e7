#![forbid(unsafe_code)]
//! Crash safety, measured instead of asserted.
//!
//! A workload is recorded ([`Trace`]); storage models ([`Model`]) say what of it a crash may leave on
//! the disk; what it leaves is recovered by the same engine and compared with every state that a
//! committed transaction produced.

mod bench;
mod compare;
mod content;
mod disk;
mod error;
mod expected;
mod judge;
mod look;
mod matrix;
mod model;
mod occasion;
pub mod present;
mod record;
mod script;
mod settings;
mod states;
mod tally;
mod trace;
mod witness;

pub use bench::{Bench, Problem, Recovered};
pub use compare::{Difference, differences};
pub use content::Content;
pub use error::CrashError;
pub use expected::{Expectation, Promise, Standing, cause, expected};
pub use judge::{Judge, Judgement, Violation};
pub use matrix::{Cell, Matrix, Plan, Progress, measure};
pub use record::{Commit, MAIN, NotMeasured, Recording};
pub use script::{Act, Script};
pub use settings::{JournalMode, LockingMode, Synchronous, UnknownValue, Variant};

pub use disk::{Damage, Disk, State, Units};
pub use model::{LYING_WINDOW, Model, SyncRule, UnknownModel};
pub use occasion::{Marked, Occasion, Occasions, touched};
pub use states::{Candidate, Go, Source, minimise, prefix_files, visit};
pub use tally::{Everyday, Narrowed, OnOccasion, Tally, Verdict, Witness};
pub use trace::{File, Inode, Name, Step, Trace};
pub use witness::{describe, write_witnesses};

#![forbid(unsafe_code)]
//! Crash safety, measured instead of asserted.
//!
//! A workload is recorded ([`Trace`]); storage models ([`Model`]) say what of it a crash may leave on
//! the disk; what it leaves is recovered by the same engine and compared with every state that a
//! committed transaction produced.

mod bench;
mod content;
mod disk;
mod error;
mod model;
mod script;
mod settings;
mod states;
mod trace;

pub use bench::{Bench, Problem, Recovered};
pub use content::Content;
pub use error::CrashError;
pub use script::{Act, Script};
pub use settings::{Arm, JournalMode, LockingMode, Synchronous, UnknownValue};

pub use disk::{Damage, Disk, State, Units};
pub use model::{LYING_WINDOW, Model, SyncRule, UnknownModel};
pub use states::{Candidate, Go, Source, files_after, minimise, visit};
pub use trace::{File, Inode, Name, Step, Trace};

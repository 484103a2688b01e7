#![forbid(unsafe_code)]
//! Crash safety, measured instead of asserted.
//!
//! A workload is recorded ([`Trace`]); storage models ([`Model`]) say what of it a crash may leave on
//! the disk; what it leaves is recovered by the same engine and compared with every state that a
//! committed transaction produced.

mod model;
mod trace;

pub use model::{LYING_WINDOW, Model, SyncRule, UnknownModel};
pub use trace::{File, Inode, Name, Step, Trace};

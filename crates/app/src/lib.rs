#![forbid(unsafe_code)]
//! The use cases of pragmark, one module a command: a typed request in, a typed result out.
//!
//! A use case neither parses arguments nor prints. What it has to say on the way, and what it has to ask, goes through
//! [`Interface`], which the command line implements. An [`Error`] says whose mistake it is; exit codes follow from that.

/// Says something through an [`Interface`], in the form of `format!`.
macro_rules! tell {
    ($ui:expr, $($words:tt)*) => { $ui.say(&format!($($words)*)) };
}

pub mod agent;
pub mod anonymize;
pub mod compare;
pub mod crash;
pub mod doctor;
pub mod driver;
pub mod engine;
mod error;
pub mod explain;
pub mod export;
pub mod files;
pub mod fleet;
mod git;
pub mod guard;
pub mod history;
pub mod inspect;
mod interface;
pub mod library;
pub mod load;
pub mod measure;
pub mod record;
pub mod report;
pub mod run;
pub mod runs;
pub mod signals;
pub mod trace;
pub mod tune;
pub mod unload;
pub mod watch;
pub mod words;

pub use error::{Error, Kind, Result};
pub use interface::{BuildObserver, Interface, Task};

/// The version of this program. Runs are carried on by the version that began them.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

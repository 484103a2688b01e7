#![forbid(unsafe_code)]
//! The parent side of a run: a fresh process on a fresh directory for every trial, the record that
//! survives being killed, and the look at the machine.
//!
//! The runner never loads SQLite: whatever happens in a trial (a crash, a hang, a wrong answer)
//! happens in another process and ends as an outcome here. What comes next is decided by
//! [`lab::design`]; the runner only carries it out.

mod error;
mod executor;
mod isolation;
mod local;
pub mod machine;
mod pilot;
mod postgres;
pub mod process;
pub mod record;
mod run;
mod sides;
mod stamp;
mod survey;
pub mod tiers;
mod train;
pub mod workdir;

pub use error::RunError;
pub use executor::{End, Execution, Executor, Task, Watch};
pub use local::{Draws, Local};
pub use pilot::{count, run_pilots};
pub use process::{Bindings, Driver, Prepared};
pub use record::{RunFolder, TrustedRuns};
pub use run::{Event, Observer, block_of, run};
pub use sides::{Sides, side_record};
pub use stamp::{now, run_id};
pub use survey::survey;
pub use train::train;

//! Progress on standard error. [`Task`] is the one display; the others decide what it displays of a run and of engines that are
//! built.

mod builds;
mod run;
mod task;

pub use builds::Builds;
pub use run::Trials;
pub use task::{Task, is_bar_wanted};

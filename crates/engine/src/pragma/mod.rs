//! The PRAGMA catalogue: what settings SQLite has, applying them, and verifying that they took effect.
//!
//! SQLite silently ignores unknown, late and impossible settings
//! (<https://sqlite.org/pragma.html>). Here each of these is an error: [`apply`] reads every setting
//! back, and [`read_back`] gives all of them for the record of a trial.

mod apply;
mod catalogue;
mod error;
mod model;
mod normalise;
mod reason;

pub use apply::{apply, in_force, read, read_back};
pub use catalogue::{CATALOGUE, find};
pub use error::PragmaError;
pub use model::{Access, Pragma, Scope, Timing, Values};

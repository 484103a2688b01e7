//! Engines that end the process in which they recover an image, or hang: what is told to the outside, and what is known
//! from it.

use std::fmt::Debug;
use std::sync::Arc;

/// Hears of each recovery before it begins, so that it is known outside of the process which one ended it.
pub trait Recoveries: Debug + Send + Sync {
    /// The recovery of this number, counted from 1 on each thread, begins.
    fn begins(&self, number: u64);
}

/// The recovery in which the engine ended an earlier process that did the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndedAt {
    /// Its number.
    pub recovery: u64,
    /// How the process ended, in words.
    pub how: String,
}

/// What connects recoveries with the world outside of the process.
#[derive(Debug, Clone, Default)]
pub struct Isolation {
    /// Hears of recoveries.
    pub watch: Option<Arc<dyn Recoveries>>,
    /// A recovery that is not tried again: its image is a violation, and the last of its cell.
    pub ended: Option<EndedAt>,
}

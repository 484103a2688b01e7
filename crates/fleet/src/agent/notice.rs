//! An agent's requests to its machine, its notices, and the orders that it follows.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use lab::record::EnvironmentFile;
use runner::{Execution, Task};

use crate::runs::RunCard;

/// The machine of an agent.
pub trait Machine {
    /// Prepares itself for a run: engines, drivers, a look at the disk.
    ///
    /// # Errors
    /// Why it cannot take part, in words.
    fn prepare(&mut self, run: &RunCard) -> Result<EnvironmentFile, String>;

    /// Executes a block; `None` if it was stopped.
    ///
    /// # Errors
    /// Why it cannot be executed here at the moment, in words. A failure within a trial is an outcome.
    fn execute(&mut self, run: &str, tasks: &[Task]) -> Result<Option<Vec<Execution>>, String>;

    /// Forgets a run that has ended.
    fn forget(&mut self, run: &str);
}

/// Something that an agent has to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// It takes part in a run.
    Joined {
        /// The run.
        run: String,
        /// Its group.
        group: String,
    },
    /// It cannot take part in a run.
    Refused {
        /// The run.
        run: String,
        /// Why.
        why: String,
    },
    /// A run has ended, or was removed.
    Left(String),
    /// It leaves a run that gives trouble.
    Gave {
        /// The run.
        run: String,
        /// The trouble.
        why: String,
    },
    /// A run cannot be read.
    Unreadable(String),
    /// A block was carried out and its outcomes are stored.
    Done {
        /// The block.
        block: String,
        /// How often it had been delivered.
        attempt: u64,
    },
    /// A block was carried out, and another agent was first.
    Late(String),
    /// The machine cannot carry blocks out at the moment.
    Trouble(String),
}

/// Orders that an agent follows.
#[derive(Clone, Debug, Default)]
pub struct Orders {
    /// To stop at once.
    pub cancelled: Arc<AtomicBool>,
    /// To stop after the block that it carries out.
    pub draining: Arc<AtomicBool>,
}

impl Orders {
    pub(super) fn is_end(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed) || self.draining.load(Ordering::Relaxed)
    }
}

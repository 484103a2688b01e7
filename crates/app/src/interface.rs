//! Notices and questions of a use case while it runs.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use engine::build::BuildEvent;
use runner::Observer;

use crate::error::{Error, Result};

/// Receives the notices of builds.
pub type BuildObserver<'a> = Box<dyn FnMut(&BuildEvent<'_>) + Send + 'a>;

/// The person who started a use case, through the program that they use.
pub trait Interface: Sync {
    /// Says one or more lines that are neither the result nor an error: a warning, or what happens now.
    fn say(&self, lines: &str);

    /// Returns a way to say something that outlives the use case.
    fn voice(&self) -> Arc<dyn Fn(&str) + Send + Sync>;

    /// Reports an error that does not end the use case.
    fn report(&self, error: &Error);

    /// Returns whether somebody can answer a question.
    fn can_ask(&self) -> bool;

    /// Asks a question to be answered by yes or no. An interruption counts as no.
    ///
    /// # Errors
    /// The question or its answer got lost.
    fn confirm(&self, question: &str) -> Result<bool>;

    /// Returns the flag that becomes true when the use case is to stop. Before the first call, a signal ends the process
    /// at once.
    ///
    /// # Errors
    /// Signals cannot be watched for.
    fn interrupted(&self) -> Result<Arc<AtomicBool>>;

    /// Returns a display of the trials of a run. It is removed when dropped.
    fn show_run(&self) -> Box<dyn Observer>;

    /// Returns a display of engines that are built, `jobs` at a time. Each is expected to take as many seconds as
    /// `expected_s` has for it, 0 for those that exist.
    fn show_builds(&self, expected_s: Vec<f64>, jobs: usize) -> BuildObserver<'_>;

    /// Returns a display of a task. It is removed when dropped.
    fn show_task(&self) -> Box<dyn Task>;
}

/// The display of a task.
pub trait Task: Send {
    /// Shows how far the task is, in a line now and then.
    fn now_and_then(&self, line: &str);

    /// Shows that a step begins or has ended.
    fn step(&self, line: &str);

    /// Shows a line, such as a warning.
    fn line(&self, line: &str);

    /// Shows what is being done.
    fn update(&self, message: String);
}

/// Says nothing and asks nothing.
#[cfg(test)]
pub(crate) struct Silent;

#[cfg(test)]
impl Interface for Silent {
    fn say(&self, _lines: &str) {}

    fn voice(&self) -> Arc<dyn Fn(&str) + Send + Sync> {
        Arc::new(|_| {})
    }

    fn report(&self, _error: &Error) {}

    fn can_ask(&self) -> bool {
        false
    }

    fn confirm(&self, _question: &str) -> Result<bool> {
        Ok(false)
    }

    fn interrupted(&self) -> Result<Arc<AtomicBool>> {
        Ok(Arc::default())
    }

    fn show_run(&self) -> Box<dyn Observer> {
        struct Nothing;
        impl Observer for Nothing {
            fn event(&mut self, _event: runner::Event<'_>) {}
        }
        Box::new(Nothing)
    }

    fn show_builds(&self, _expected_s: Vec<f64>, _jobs: usize) -> BuildObserver<'_> {
        Box::new(|_| {})
    }

    fn show_task(&self) -> Box<dyn Task> {
        unimplemented!("no test shows a task")
    }
}

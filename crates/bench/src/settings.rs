//! Typed access to the settings of a trial.

use lab::level::{Level, Settings};

use crate::error::TrialError;

/// The settings of one trial, read by name.
pub(crate) struct Reader<'a>(pub(crate) &'a Settings);

impl Reader<'_> {
    /// A whole number that must be given and not negative.
    pub(crate) fn count(&self, name: &str) -> Result<usize, TrialError> {
        self.0
            .get(name)
            .and_then(Level::as_int)
            .and_then(|value| usize::try_from(value).ok())
            .ok_or_else(|| {
                TrialError::setting(name, self.0.get(name), "a whole number, not negative")
            })
    }

    /// A truth value that must be given.
    pub(crate) fn flag(&self, name: &str) -> Result<bool, TrialError> {
        self.0
            .get(name)
            .and_then(Level::as_bool)
            .ok_or_else(|| TrialError::setting(name, self.0.get(name), "true or false"))
    }
}

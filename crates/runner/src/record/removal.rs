//! Removing the folder of a run, with what belongs to a run and nothing else.

use std::ffi::OsString;
use std::fs;

use super::{ARTIFACTS, ENVIRONMENT, OUTCOMES, PLAN, RunFolder, files, locked};
use crate::error::{Context, RunError};

/// How an attempt to remove a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Removal {
    /// The folder is gone.
    Removed,
    /// The folder contains this file, which does not belong to a run; nothing was removed.
    HasOther(String),
}

impl RunFolder {
    /// Removes the folder, unless it contains anything but a record, artifacts and files with the names in `written`.
    ///
    /// # Errors
    /// When another process works on the run, or a file cannot be removed. The plan goes last.
    pub fn remove(&self, written: &[&str]) -> Result<Removal, RunError> {
        if let Some(name) = self.other(written)? {
            return Ok(Removal::HasOther(name.to_string_lossy().into_owned()));
        }
        let record = files::open_to_write(&self.path.join(OUTCOMES))?;
        if !locked(&record) {
            return Err(RunError::InUse(self.path.clone()));
        }
        let artifacts = self.path.join(ARTIFACTS);
        if artifacts.symlink_metadata().is_ok() {
            fs::remove_dir_all(&artifacts).context("remove", &artifacts)?;
        }
        for name in written.iter().chain([&ENVIRONMENT, &OUTCOMES, &PLAN]) {
            let path = self.path.join(name);
            if path.symlink_metadata().is_ok() {
                fs::remove_file(&path).context("remove", &path)?;
            }
        }
        fs::remove_dir(&self.path).context("remove", &self.path)?;
        Ok(Removal::Removed)
    }

    /// Returns an entry of the folder that does not belong to a run.
    fn other(&self, written: &[&str]) -> Result<Option<OsString>, RunError> {
        let own = [PLAN, ENVIRONMENT, OUTCOMES, ARTIFACTS];
        let is_own = |name: &OsString| own.iter().chain(written).any(|own| name == own);
        for entry in fs::read_dir(&self.path).context("read", &self.path)? {
            let name = entry.context("read", &self.path)?.file_name();
            if !is_own(&name) {
                return Ok(Some(name));
            }
        }
        Ok(None)
    }
}

//! The runs that this user began on this machine: a file outside of any run's folder with the hash of each
//! plan. A folder that came from somebody else, or whose plan was changed, is not among them.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use lab::record::{EnvironmentFile, RunPlan};
use sha2::{Digest, Sha256};

use super::{ENVIRONMENT, PLAN, RunFolder, files, json_text};
use crate::error::{Context, RunError};

/// The file that lists them.
#[derive(Clone, Debug)]
pub struct OwnRuns {
    path: PathBuf,
}

impl OwnRuns {
    /// Those listed below this directory, which need not exist yet.
    pub fn below(directory: &Path) -> OwnRuns {
        OwnRuns { path: directory.join("own-runs") }
    }

    /// Adds a run that is about to begin.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn add(&self, plan: &RunPlan, environment: &EnvironmentFile) -> Result<(), RunError> {
        let path = &self.path;
        self.append(&fingerprint(&json_text(plan, path)?, &json_text(environment, path)?))
    }

    /// Adds the run in a folder: the user trusts it.
    ///
    /// # Errors
    /// When a file cannot be read or written.
    pub fn adopt(&self, folder: &RunFolder) -> Result<(), RunError> {
        self.append(&fingerprint_of(folder)?)
    }

    /// Whether the run in a folder is one of them, with plan and environment as they were.
    ///
    /// # Errors
    /// When a file cannot be read.
    pub fn contain(&self, folder: &RunFolder) -> Result<bool, RunError> {
        let listed = match fs::read_to_string(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            read => read.context("read", &self.path)?,
        };
        let fingerprint = fingerprint_of(folder)?;
        Ok(listed.lines().any(|line| line == fingerprint))
    }

    fn append(&self, line: &str) -> Result<(), RunError> {
        if let Some(directory) = self.path.parent() {
            fs::create_dir_all(directory).context("create", directory)?;
        }
        let mut file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&self.path)
            .context("open", &self.path)?;
        let line = format!("{line}\n");
        file.write_all(line.as_bytes()).context("write", &self.path)
    }
}

fn fingerprint_of(folder: &RunFolder) -> Result<String, RunError> {
    let [plan, environment] = [PLAN, ENVIRONMENT].map(|name| files::read(&folder.path.join(name)));
    Ok(fingerprint(&plan?, &environment?))
}

/// The hash of both files, each by its own hash, so that no byte can move from one to the other.
fn fingerprint(plan: &[u8], environment: &[u8]) -> String {
    let mut both = Sha256::new();
    both.update(Sha256::digest(plan));
    both.update(Sha256::digest(environment));
    let hex = both.finalize().into_iter().map(|byte| format!("{byte:02x}"));
    hex.collect()
}

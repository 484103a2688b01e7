//! The tiers that earlier runs have measured, each in a file of its own in the user's cache.
//!
//! ```text
//! tiers/9f0c….json    what was found, with its whole key
//! ```
//!
//! A file is written elsewhere and moved, so that it is whole or not there, however many processes write it
//! at once: all of them have the same to say.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use lab::tier::{Findings, TierKey};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::error::{Context, RunError};

/// The tiers in the user's cache.
#[derive(Clone, Debug)]
pub struct TierCache {
    folder: PathBuf,
}

/// A file of the cache.
#[derive(Serialize, Deserialize)]
struct Entry {
    key: TierKey,
    findings: Findings,
}

impl TierCache {
    /// The one in this directory of the user's, which need not exist yet.
    pub fn at(root: &Path) -> TierCache {
        TierCache { folder: root.join("tiers") }
    }

    /// Returns the findings for a key. A file that is damaged or of another key counts as missing, so that it is
    /// measured again and replaced.
    pub fn find(&self, key: &TierKey) -> Option<Findings> {
        let text = fs::read(self.file(key)).ok()?;
        let entry: Entry = serde_json::from_slice(&text).ok()?;
        (entry.key == *key).then_some(entry.findings)
    }

    /// Keeps what was found for a key.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn keep(&self, key: &TierKey, findings: &Findings) -> Result<(), RunError> {
        if self.find(key).as_ref() == Some(findings) {
            return Ok(());
        }
        let entry = Entry { key: key.clone(), findings: findings.clone() };
        let (folder, path) = (&self.folder, self.file(key));
        fs::create_dir_all(folder).context("create", folder)?;
        let mut file =
            tempfile::NamedTempFile::new_in(folder).context("create a file in", folder)?;
        let text = serde_json::to_vec(&entry).map_err(std::io::Error::from);
        let written = text.and_then(|text| file.write_all(&text));
        written.context("write", file.path())?;
        file.as_file().sync_all().context("sync", file.path())?;
        let moved = file.persist(&path).map_err(|failed| failed.error);
        moved.context("rename to", &path)?;
        Ok(())
    }

    fn file(&self, key: &TierKey) -> PathBuf {
        let text = serde_json::to_vec(key).expect("a key is plain data");
        let digest = Sha256::digest(&text);
        let name: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        self.folder.join(format!("{name}.json"))
    }
}

//! Schedules that were played before: what came of them is a property of the engine, of the journal mode and of the
//! extent, so that each engine plays them once, whatever else is tried with it.
//!
//! ```text
//! schedules/9f0c….json    what came of them, with its whole key, in the user's cache
//! ```

use std::io::Write;
use std::path::PathBuf;

use crash::schedule::Extent;
use engine::build::{Cache, sha256};
use engine::{Library, Origin, Source};
use lab::tier::METHOD;
use serde::{Deserialize, Serialize};

use super::schedules::Summary;

/// What the outcome depends on.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Key {
    method: u32,
    /// The SHA-256 of the library.
    engine: String,
    journal_mode: String,
    extent: Extent,
}

/// The place of an outcome in the user's cache.
pub(super) struct Known {
    key: Key,
    file: PathBuf,
}

#[derive(Serialize, Deserialize)]
struct Entry {
    key: Key,
    summary: Summary,
}

impl Known {
    /// The place for an engine; none where the user has no cache, or the engine cannot be told from others.
    pub(super) fn of(library: &Library, journal_mode: &str, extent: Extent) -> Option<Known> {
        let key = Key {
            method: METHOD,
            engine: sha256(&bytes(library)?),
            journal_mode: journal_mode.to_owned(),
            // How many are played at a time changes nothing.
            extent: Extent { threads: 1, ..extent },
        };
        let folder = Cache::of_user().ok()?.root().join("schedules");
        let name = sha256(&serde_json::to_vec(&key).ok()?);
        Some(Known { file: folder.join(format!("{name}.json")), key })
    }

    /// What came of them; none where they were not played, or where the file is damaged or of another key.
    pub(super) fn find(&self) -> Option<Summary> {
        let entry: Entry = serde_json::from_slice(&std::fs::read(&self.file).ok()?).ok()?;
        (entry.key == self.key).then_some(entry.summary)
    }

    /// Keeps what came of them. Where that is not possible, they are played again next time, and nothing else is lost.
    pub(super) fn keep(&self, summary: &Summary) {
        let entry = Entry { key: self.key.clone(), summary: summary.clone() };
        let _ = self.write(&entry);
    }

    fn write(&self, entry: &Entry) -> std::io::Result<()> {
        let folder = self.file.parent().unwrap_or(&self.file);
        std::fs::create_dir_all(folder)?;
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(&serde_json::to_vec(entry)?)?;
        file.persist(&self.file)?;
        Ok(())
    }
}

fn bytes(library: &Library) -> Option<Vec<u8>> {
    match &library.identity().origin {
        Origin::Embedded => Source::Embedded.bytes().ok()?.map(|bytes| bytes.to_vec()),
        Origin::System(path) | Origin::File(path) => std::fs::read(path).ok(),
    }
}

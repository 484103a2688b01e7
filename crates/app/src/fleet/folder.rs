//! The folder of a run over a fleet: the choices that were made, and a folder for the run of each group.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use fleet::{RunCard, Signer};
use lab::fleet::Group;
use lab::seed::Seed;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::files::write_in_run;

/// The file with the choices.
pub(crate) const FLEET_FILE: &str = "fleet.json";

/// Version of the file.
const FORMAT: u32 = 1;

/// The choices that were made when the run began.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Chosen {
    /// Version of the file.
    format: u32,
    /// The address of the server, without credentials.
    pub(super) server: String,
    /// The run.
    pub(super) card: RunCard,
    /// The seed that chooses the blocks which a second agent re-runs. Agents do not know it.
    #[serde(default)]
    pub(super) rerun_seed: Seed,
    /// Why groups have no whole answer, by name.
    #[serde(default)]
    pub(super) failed: BTreeMap<String, String>,
}

/// The folder.
pub(super) struct FleetFolder {
    pub(super) path: PathBuf,
    pub(super) chosen: Chosen,
}

/// Returns whether a folder belongs to a run over a fleet.
pub fn is_fleet(folder: &Path) -> bool {
    folder.join(FLEET_FILE).is_file()
}

impl FleetFolder {
    /// Makes the folder of a new run.
    pub(super) fn create(path: &Path, server: String, card: RunCard) -> Result<Self> {
        // A new key is the random number that is at hand.
        let rerun_seed = Seed::default().child(&Signer::default().key());
        let folder = FleetFolder {
            path: path.to_owned(),
            chosen: Chosen { format: FORMAT, server, card, rerun_seed, failed: BTreeMap::new() },
        };
        fs::create_dir_all(folder.path.join("groups")).map_err(|error| {
            Error::unusable(format!("cannot create {}: {error}", path.display()))
        })?;
        folder.write()?;
        Ok(folder)
    }

    /// Writes the choices, which change when agents join.
    pub(super) fn write(&self) -> Result<()> {
        let text = serde_json::to_string_pretty(&self.chosen).map_err(Error::unusable)?;
        write_in_run(&self.path.join(FLEET_FILE), &text)
    }

    /// Opens the folder of a run.
    pub(super) fn open(path: &Path) -> Result<Self> {
        let file = path.join(FLEET_FILE);
        let damaged =
            |why: String| Error::unusable(format!("{} is damaged: {why}", file.display()));
        let text = fs::read_to_string(&file).map_err(|error| Error::reading(&file, error))?;
        let chosen: Chosen =
            serde_json::from_str(&text).map_err(|error| damaged(error.to_string()))?;
        chosen.card.check().map_err(damaged)?;
        match chosen.format {
            FORMAT => Ok(FleetFolder { path: path.to_owned(), chosen }),
            other => Err(damaged(format!("it has format {other}, not {FORMAT}"))),
        }
    }

    /// Returns the folder of a group's run.
    pub(super) fn of_group(&self, group: &Group) -> PathBuf {
        self.path.join("groups").join(&group.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_whose_groups_lead_elsewhere_is_not_opened() {
        let directory = tempfile::tempdir().unwrap();
        let write = |group: &str| {
            let file = serde_json::json!({
                "format": 1, "server": "nats://127.0.0.1:4222",
                "card": {
                    "run": "r", "version": "1.0.0", "per": "any", "on": null, "agents": [],
                    "plan": {
                        "format": 2, "id": "r", "created": "", "pragmark": "", "seed": 1, "scale": "quick",
                        "engine": "default", "quick": true, "trial_limit_s": 1.0, "experiments": []
                    },
                    "groups": [{ "name": group, "about": "all", "agents": [] }],
                    "patience_s": 60.0, "probe_s": 0.0, "finished": false
                }
            });
            fs::write(directory.path().join(FLEET_FILE), file.to_string()).unwrap();
        };
        write("all");
        FleetFolder::open(directory.path()).unwrap();
        write("../../..");
        let failure = FleetFolder::open(directory.path()).err().unwrap().words();
        assert!(failure.contains("no name of a group"), "{failure}");
    }
}

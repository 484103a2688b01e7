//! Safety tiers that need not be measured: tiers of the built-in engine come with the program, and earlier runs have
//! measured others.
//!
//! A tier is a property of the engine, of the settings and of the method ([`TierKey`]), so no run measures
//! one again. The plan of a run lists the tiers that it has taken.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use lab::level::overlaid;
use lab::record::{EngineRecord, Purpose, RunPlan, TrialRecord};
use lab::tier::{Findings, KnownTier, Origin, TierKey, TierPlan, TierSet, TierTable};
use lab::trial::Outcome;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::error::{Context, Result};
use crate::record::RunFolder;

/// The tiers of the built-in engine, as [`write`] writes them: `pragmark crash --write-known` makes this file.
const BUILT_IN: &[u8] = include_bytes!("built_in.json.gz");

/// Returns the tiers that come with the program.
///
/// # Panics
/// When the embedded file is not a table of tiers; a test reads it.
pub fn built_in() -> &'static TierTable {
    static TABLE: LazyLock<TierTable> = LazyLock::new(|| {
        let table = serde_json::from_reader(GzDecoder::new(BUILT_IN));
        table.expect("built_in.json.gz is a table of tiers")
    });
    &TABLE
}

/// Writes a table of tiers as compressed JSON. The same table gives the same bytes.
///
/// # Errors
/// It cannot be written.
pub fn write(table: &TierTable, out: &mut dyn Write) -> io::Result<()> {
    let mut compressed = GzEncoder::new(out, Compression::best());
    serde_json::to_writer(&mut compressed, table)?;
    compressed.finish()?;
    Ok(())
}

/// Adds the known tiers to a plan, from the program and from `cache`, which earlier runs have filled.
pub fn add_known(plan: &mut RunPlan, engines: &[EngineRecord], cache: Option<&TierCache>) {
    if let Some(tiers) = &mut plan.tiers {
        tiers.known = known_of(tiers, engines, cache);
    }
}

fn known_of(
    tiers: &TierPlan,
    engines: &[EngineRecord],
    cache: Option<&TierCache>,
) -> Vec<KnownTier> {
    let known = |set: &TierSet| {
        let (origin, findings) = find(&key(set, engines)?, cache)?;
        Some(KnownTier {
            set: set.clone(),
            origin,
            in_force: overlaid(&built_in().defaults, &set.settings),
            findings,
        })
    };
    tiers.sets.iter().filter_map(known).collect()
}

/// Returns the key of a tier; `None` if its engine was not examined or cannot be distinguished from others.
fn key(set: &TierSet, engines: &[EngineRecord]) -> Option<TierKey> {
    let engine = engines.iter().find(|engine| engine.name == set.engine)?;
    built_in().key(set, engine)
}

fn find(key: &TierKey, cache: Option<&TierCache>) -> Option<(Origin, Findings)> {
    match built_in().find(key) {
        Some(findings) => Some((Origin::Program, findings.clone())),
        None => Some((Origin::Cache, cache?.find(key)?)),
    }
}

/// Keeps the tiers that a run has measured for later ones.
///
/// # Errors
/// The record of the run cannot be read, or the cache not be written.
pub fn keep_measured(folder: &RunFolder, cache: &TierCache) -> Result<()> {
    let Some(tiers) = &folder.plan()?.tiers else { return Ok(()) };
    let engines = folder.environment()?.engines;
    let mut measured = Vec::new();
    folder.each_trial(|record| measured.extend(measured_tier(record, tiers)))?;
    for (set, findings) in measured {
        if let Some(key) = key(&set, &engines) {
            cache.keep(&key, &findings)?;
        }
    }
    Ok(())
}

/// Returns the set and the findings of a trial that has measured a tier.
fn measured_tier(record: TrialRecord, tiers: &TierPlan) -> Option<(TierSet, Findings)> {
    let (Purpose::Tier, Outcome::Measured(measured)) = (record.purpose, record.outcome) else {
        return None;
    };
    let set = tiers.sets.iter().find(|set| set.to_string() == record.variant)?;
    let findings = Findings { safety: measured.safety, schedules: measured.schedules };
    Some((set.clone(), findings))
}

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
    /// Returns the cache in this directory of the user's, which need not exist yet.
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
    pub fn keep(&self, key: &TierKey, findings: &Findings) -> Result<()> {
        if self.find(key).as_ref() == Some(findings) {
            return Ok(());
        }
        let entry = Entry { key: key.clone(), findings: findings.clone() };
        let (folder, path) = (&self.folder, self.file(key));
        fs::create_dir_all(folder).context("create", folder)?;
        let mut file =
            tempfile::NamedTempFile::new_in(folder).context("create a file in", folder)?;
        let text = serde_json::to_vec(&entry).map_err(std::io::Error::from);
        text.and_then(|text| file.write_all(&text)).context("write", file.path())?;
        file.as_file().sync_all().context("sync", file.path())?;
        file.persist(&path).map_err(|failed| failed.error).context("rename to", &path)?;
        Ok(())
    }

    fn file(&self, key: &TierKey) -> PathBuf {
        let text = serde_json::to_vec(key).expect("a key is plain data");
        let name: String = Sha256::digest(&text).iter().map(|byte| format!("{byte:02x}")).collect();
        self.folder.join(format!("{name}.json"))
    }
}

#[cfg(test)]
mod tests;

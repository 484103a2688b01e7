//! Whether measured directories can hold what variants in WAL mode need: trials to run ahead of a run.
//!
//! In WAL mode the connections to a database share memory through a mapped file, which network and
//! some shared file systems cannot do (<https://sqlite.org/wal.html>, section 5). Whether one can is
//! seen by doing it: a database of one row in WAL mode. A connection that locks the file exclusively
//! needs no shared memory, so variants that do are left out.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::{Request, plan};
use crate::catalogue::Catalogue;
use crate::design::Variant;
use crate::experiment::{self, Problems};
use crate::level::Level;
use crate::record::RunPlan;

/// A database of one row in WAL mode; the other variant is there because a comparison has two.
const PILOT: &str = r#"
id       = "shared-memory"
question = "Can this directory hold a database in WAL mode?"
workload = "quotes"
base     = { rows = 1 }

[factors]
journal_mode = ["wal", "delete"]

[design]
kind      = "one-at-a-time"
baseline = { journal_mode = "wal" }
"#;

/// Pilots of a database in WAL mode, and of one with a rollback journal after it, in each directory of the
/// run on which some variant needs shared memory.
///
/// # Errors
/// The catalogue lacks the workload of the pilots.
pub fn shared_memory_pilots(
    request: &Request,
    run: &RunPlan,
    catalogue: &Catalogue,
) -> Result<RunPlan, Problems> {
    let planned = run.experiments.iter();
    let directories: BTreeSet<PathBuf> = planned
        .filter(|planned| planned.variants.iter().any(needs_shared_memory))
        .map(|planned| planned.directory.clone())
        .collect();
    let pilots = Request {
        experiments: vec![experiment::parse("shared-memory", PILOT, catalogue)?],
        directories: directories.into_iter().collect(),
        ..request.clone()
    };
    Ok(plan(pilots, catalogue))
}

fn needs_shared_memory(variant: &Variant) -> bool {
    let held = |name: &str| variant.settings.get(name).and_then(Level::as_text);
    held("journal_mode") == Some("wal") && held("locking_mode") != Some("exclusive")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::level::Settings;

    #[test]
    fn only_a_shared_log_needs_shared_memory() {
        let needs = |over: &[(&str, &str)]| {
            let settings = over.iter();
            needs_shared_memory(&Variant {
                label: String::new(),
                name: None,
                answer: None,
                levels: Settings::new(),
                settings: settings
                    .map(|(name, level)| ((*name).to_owned(), Level::from(*level)))
                    .collect(),
            })
        };
        assert!(needs(&[("journal_mode", "wal")]));
        assert!(needs(&[("journal_mode", "wal"), ("locking_mode", "normal")]));
        assert!(!needs(&[("journal_mode", "wal"), ("locking_mode", "exclusive")]));
        assert!(!needs(&[("journal_mode", "delete")]));
        assert!(!needs(&[]));
    }
}

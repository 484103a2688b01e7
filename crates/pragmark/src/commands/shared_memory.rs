//! Ahead of a run that uses the write-ahead log: whether the measured directories can hold one.
//!
//! In WAL mode the connections to a database share memory through a mapped file, which network and
//! some shared file systems cannot do (<https://sqlite.org/wal.html>, section 5). Whether one can is
//! seen by doing it: a database of one row in WAL mode. A connection that locks the file exclusively
//! needs no shared memory, so variants that do are not looked at.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use lab::catalogue::Catalogue;
use lab::design::Variant;
use lab::level::Level;
use lab::plan::{Request, plan};
use lab::record::{EngineRecord, RunPlan};
use runner::{Driver, Servers, run_pilots};

use crate::failure::Failure;

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

/// Refuses the run where a directory cannot hold what a variant asks. `Ok(false)` means that it was
/// interrupted.
pub fn is_there(
    request: &Request,
    run: &RunPlan,
    engines: &[EngineRecord],
    driver: &Driver,
    interrupted: &AtomicBool,
    catalogue: &Catalogue,
) -> Result<bool, Failure> {
    let directories = directories(run);
    if directories.is_empty() {
        return Ok(true);
    }
    let pilot = lab::experiment::parse("shared-memory", PILOT, catalogue)
        .map_err(|problems| Failure::usage(problems.to_string()))?;
    let pilots = plan(
        Request {
            experiments: vec![pilot],
            directories: directories.into_iter().collect(),
            ..request.clone()
        },
        catalogue,
    );
    for planned in &pilots.experiments {
        let Some(outcomes) = run_pilots(
            &pilots,
            engines,
            planned,
            driver,
            &mut Servers::installed(),
            interrupted,
        )?
        else {
            return Ok(false);
        };
        let problem_of = |index: usize| outcomes[index].outcome.problem();
        // Where a rollback journal fails too, shared memory is not what is missing: the trials say.
        if let (Some(problem), None) = (problem_of(0), problem_of(1)) {
            return Err(refusal(&planned.directory, &problem));
        }
    }
    Ok(true)
}

fn refusal(directory: &std::path::Path, problem: &str) -> Failure {
    Failure::unusable(format!(
        "the directory {} cannot hold a database in WAL mode ({problem}), most often because its file system cannot share memory between connections, as across a network",
        directory.display()
    ))
    .hint("choose a directory on a local disk by --dir, or leave journal_mode=wal out, or lock exclusively (locking_mode=exclusive)")
}

/// The directories on which some variant needs shared memory.
fn directories(run: &RunPlan) -> BTreeSet<PathBuf> {
    run.experiments
        .iter()
        .filter(|planned| planned.variants.iter().any(needs_shared_memory))
        .map(|planned| planned.directory.clone())
        .collect()
}

fn needs_shared_memory(variant: &Variant) -> bool {
    let held = |name: &str| variant.settings.get(name).and_then(Level::as_text);
    held("journal_mode") == Some("wal") && held("locking_mode") != Some("exclusive")
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab::level::Settings;

    #[test]
    fn only_a_shared_log_needs_shared_memory() {
        let variant = |over: &[(&str, &str)]| Variant {
            label: String::new(),
            name: None,
            answer: None,
            levels: Settings::new(),
            settings: over
                .iter()
                .map(|(name, level)| ((*name).to_owned(), Level::from(*level)))
                .collect(),
        };
        assert!(needs_shared_memory(&variant(&[("journal_mode", "wal")])));
        assert!(needs_shared_memory(&variant(&[
            ("journal_mode", "wal"),
            ("locking_mode", "normal")
        ])));
        assert!(!needs_shared_memory(&variant(&[
            ("journal_mode", "wal"),
            ("locking_mode", "exclusive")
        ])));
        assert!(!needs_shared_memory(&variant(&[(
            "journal_mode",
            "delete"
        )])));
        assert!(!needs_shared_memory(&variant(&[])));
    }

    #[test]
    fn the_pilot_is_a_valid_experiment_with_the_log_first() {
        let catalogue = bench::catalogue();
        let pilot = lab::experiment::parse("shared-memory", PILOT, &catalogue).unwrap();
        let variants = lab::design::variants(&pilot, lab::experiment::Scale::Quick, &catalogue);
        assert_eq!(variants.len(), 2);
        assert!(needs_shared_memory(&variants[0]) && !needs_shared_memory(&variants[1]));
    }
}

//! A sample of the mutants, and of the images of settings that lose nothing. The whole set is a command:
//! see docs/method.md.

use crash::schedule::Extent;
use engine::{Library, Source};
use lab::tier::Loss;
use pragmark_proofs::{Crashes, Instrument, Mutants, Worse, look_for_alarms, noticed_by};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// In memory where the system has a place for that.
fn folder() -> tempfile::TempDir {
    let memory = PathBuf::from("/dev/shm");
    let parent = if memory.is_dir() { memory } else { std::env::temp_dir() };
    tempfile::tempdir_in(parent).unwrap()
}

#[test]
fn crashes_notice_a_missing_sync_a_missing_directory_sync_and_a_missing_check() {
    let (mutants, folder) = (Mutants::new().unwrap(), folder());
    let sound = Source::Path(mutants.write(None, folder.path()).unwrap());
    let mut crashes = Crashes::new(sound, 100, 1, 2);
    for (id, corrupts) in [
        ("wal-sync-before-checkpoint", true),
        ("journal-delete-directory-sync", false),
        ("super-journal-missing", true),
    ] {
        let worse = noticed(&mutants, &mut crashes, folder.path(), id);
        assert!(
            worse.iter().any(|worse| match worse.mutant.loss() {
                Some(Loss::Corruption) => corrupts,
                Some(Loss::LastTransaction | Loss::RecentTransactions) => !corrupts,
                Some(Loss::Nothing) | None => false,
            }),
            "{id}: {worse:?}"
        );
    }
}

/// The cells in which a mutant fares worse under the first of its settings.
fn noticed(mutants: &Mutants, crashes: &mut Crashes, folder: &Path, id: &str) -> Vec<Worse> {
    let mut all = mutants.mutations().iter();
    let mut mutation = all.find(|mutation| mutation.id == id).unwrap().clone();
    mutation.settings.truncate(1);
    let mutant = Source::Path(mutants.write(Some(id), folder).unwrap());
    crashes.noticed(&mutation, &mutant).unwrap()
}

/// With the images of `--quick`.
#[test]
fn a_quick_look_notices_faults_that_show_with_company_in_long_logs_or_in_few_images() {
    let (mutants, folder) = (Mutants::new().unwrap(), folder());
    let sound = Source::Path(mutants.write(None, folder.path()).unwrap());
    let mut crashes = Crashes::new(sound, 600, 1, 2);
    for id in ["second-checkpoint-sync", "extra-means-normal", "log-of-several-regions"] {
        let worse = noticed(&mutants, &mut crashes, folder.path(), id);
        let corrupts = |worse: &Worse| worse.mutant.loss() == Some(Loss::Corruption);
        let loses = |worse: &Worse| worse.mutant.loss() > Some(Loss::Nothing);
        let shows = if id == "log-of-several-regions" {
            worse.iter().any(loses)
        } else {
            worse.iter().any(corrupts)
        };
        assert!(shows, "{id}: {worse:?}");
    }
}

#[test]
fn schedules_notice_missing_locks_and_missing_second_looks() {
    let (mutants, folder) = (Mutants::new().unwrap(), folder());
    let extent = Extent { all_up_to: 600, sample: 600, seed: 1, threads: 1 };
    let go_on = AtomicBool::new(false);
    for id in ["wal-write-lock", "exclusive-lock-waits-for-readers", "checkpoint-log-restarted"] {
        let mutation = mutants.mutations().iter().find(|mutation| mutation.id == id).unwrap();
        assert_eq!(mutation.found_by, Instrument::Schedule);
        let mutant: Arc<Library> = Arc::new(mutants.load(Some(id), folder.path()).unwrap());
        let explored = noticed_by(mutation, &mutant, folder.path(), extent, &go_on).unwrap();
        assert!(explored.is_some(), "{id}");
    }
}

#[test]
fn settings_that_lose_nothing_raise_no_alarm() {
    let seen = look_for_alarms(&Source::Embedded, 2_000, 7, 2, &AtomicBool::new(false)).unwrap();
    assert!(seen.images >= 2_000);
    let alarms: Vec<String> = seen
        .alarms
        .iter()
        .map(|cell| format!("{} under {}: {}", cell.variant, cell.model, cell.safety.whole()))
        .collect();
    assert!(alarms.is_empty(), "{}", alarms.join("\n"));
}

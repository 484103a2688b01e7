//! Judges observed calls: whether everything that a commit needs was on the medium before it was acknowledged, and each
//! journal before the pages that it protects.

use super::WORK;
use std::collections::BTreeSet;

/// The names of the files in the folder of the databases.
pub(super) type Names = BTreeSet<String>;

/// Writes and names that no sync has followed yet.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    unsynced: Names,
    /// Journals and logs that were written although no sync of the folder has followed their creation.
    unnamed: Names,
    /// The names that the last sync of the folder found.
    named: Names,
    /// The first fault.
    pub(super) fault: Option<String>,
}

impl Ledger {
    /// A file was written.
    pub(super) fn wrote(&mut self, name: &str, present: &Names) {
        let Some(suffix) = WORK.iter().find_map(|work| name.strip_prefix(work.name)) else {
            return;
        };
        match suffix {
            "" => self.check_protection(name, present),
            "-journal" | "-wal" if !self.named.contains(name) => {
                self.unnamed.insert(name.to_owned());
            }
            "-journal" | "-wal" => {}
            _ => return,
        }
        self.unsynced.insert(name.to_owned());
    }

    /// A database is written: its journal, or the log from which pages are copied, has to be on the medium.
    fn check_protection(&mut self, name: &str, present: &Names) {
        for journal in ["-journal", "-wal"].map(|suffix| format!("{name}{suffix}")) {
            if present.contains(&journal) && self.unsynced.contains(&journal) {
                self.note(format!("wrote `{name}` before it synced `{journal}`"));
            } else if present.contains(&journal) && self.unnamed.contains(&journal) {
                self.note(format!("wrote `{name}` before it synced the folder with `{journal}`"));
            }
        }
    }

    /// A file was synced.
    pub(super) fn synced(&mut self, name: &str) {
        self.unsynced.remove(name);
    }

    /// The folder was synced.
    pub(super) fn synced_folder(&mut self, present: Names) {
        self.named = present;
        self.unnamed.clear();
    }

    /// A commit was acknowledged.
    pub(super) fn acknowledged(&mut self, present: &Names) {
        for names in [&mut self.unsynced, &mut self.unnamed] {
            names.retain(|name| present.contains(name));
        }
        let deleted = self.named.difference(present).find(|name| {
            WORK.iter().any(|work| work.synchronous == "extra" && name.starts_with(work.name))
        });
        let unsynced = self.unsynced.first().map(|name| format!("`{name}`"));
        let unnamed = || self.unnamed.first().map(|name| format!("the folder with `{name}`"));
        let deletion = || deleted.map(|name| format!("the deletion of `{name}`"));
        if let Some(missing) = unsynced.or_else(unnamed).or_else(deletion) {
            self.note(format!("acknowledged a commit before it synced {missing}"));
        }
        self.named.retain(|name| present.contains(name));
    }

    /// Keeps a fault unless there is one already.
    pub(super) fn note(&mut self, fault: String) {
        self.fault.get_or_insert(fault);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Names {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    /// A commit of the rollback journal up to the deletion of the journal, without the steps left out.
    fn fault_of(database: &str, left_out: &[usize]) -> Option<String> {
        let journal = format!("{database}-journal");
        let (during, after) = (names(&[database, &journal]), names(&[database]));
        let mut ledger = Ledger::default();
        let mut step = |number: usize, step: &dyn Fn(&mut Ledger)| {
            if !left_out.contains(&number) {
                step(&mut ledger);
            }
        };
        step(0, &|it| it.wrote(&journal, &during));
        step(1, &|it| it.synced(&journal));
        step(2, &|it| it.synced_folder(during.clone()));
        step(3, &|it| it.wrote(database, &during));
        step(4, &|it| it.synced(database));
        step(5, &|it| it.synced_folder(after.clone()));
        step(6, &|it| it.acknowledged(&after));
        ledger.fault
    }

    #[test]
    fn a_commit_is_faultless_if_each_part_is_synced_in_its_turn() {
        assert_eq!(fault_of("delete", &[]), None);
        assert_eq!(fault_of("delete", &[5]), None, "FULL does not sync the deletion");
        assert_eq!(fault_of("extra", &[]), None);
    }

    #[test]
    fn each_missing_sync_is_named() {
        for (left_out, fault) in [
            (1, "wrote `extra` before it synced `extra-journal`"),
            (2, "wrote `extra` before it synced the folder with `extra-journal`"),
            (4, "acknowledged a commit before it synced `extra`"),
            (5, "acknowledged a commit before it synced the deletion of `extra-journal`"),
        ] {
            assert_eq!(fault_of("extra", &[left_out]).as_deref(), Some(fault));
        }
    }

    #[test]
    fn a_write_after_the_sync_counts_and_other_files_do_not() {
        let present = names(&["wal", "wal-wal", "wal-shm", "scratch"]);
        let mut ledger = Ledger::default();
        ledger.wrote("wal-wal", &present);
        ledger.synced("wal-wal");
        ledger.synced_folder(present.clone());
        ledger.wrote("wal-shm", &present);
        ledger.wrote("scratch", &present);
        ledger.acknowledged(&present);
        assert_eq!(ledger.fault, None);
        ledger.wrote("wal-wal", &present);
        ledger.acknowledged(&present);
        assert!(ledger.fault.unwrap().ends_with("synced `wal-wal`"));
    }
}

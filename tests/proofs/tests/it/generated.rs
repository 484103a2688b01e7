//! Mutants that are computed from the text of SQLite.

use engine::Source;
use lab::tier::Loss;
use pragmark_proofs::{Amalgamation, Crashes, Kind, Workload, selected, settings, unnoticed};
use std::collections::HashSet;

#[test]
fn mutants_are_computed_compile_together_and_are_noticed_where_only_one_situation_shows_them() {
    let folder = tempfile::tempdir().unwrap();
    let source = std::fs::read_to_string(env!("PRAGMARK_AMALGAMATION_FILE")).unwrap();
    let all = Amalgamation::of(&source, folder.path()).unwrap();
    let mutants = &all.mutants;

    let names: HashSet<&str> = mutants.iter().map(|mutant| mutant.name.as_str()).collect();
    assert_eq!(names.len(), mutants.len());
    for kind in [Kind::Negated, Kind::Never, Kind::Uncalled, Kind::Swapped] {
        let of_kind = mutants.iter().filter(|mutant| mutant.kind == kind);
        assert!(of_kind.count() > 50, "{kind:?}");
    }
    // Code that is not compiled, and ways of locking that nobody asked for, would be detected by nobody.
    for other in ["afpLock-1-negated", "dotlockLock-1-negated", "syncJournal-99-never"] {
        assert!(!names.contains(other), "{other}");
    }

    for reason in unnoticed().unwrap() {
        for name in &reason.mutants {
            assert!(names.contains(name.as_str()), "unnoticed.toml: {name} is no mutant");
        }
    }

    let sync = "walFrames-8-uncalled";
    let number = 1 + mutants.iter().position(|mutant| mutant.name == sync).unwrap();
    let line = source.lines().nth(mutants[number - 1].line - 1).unwrap();
    assert!(line.contains("sqlite3OsSync(w.pFd"), "{line}");
    let library = std::fs::read(all.compile(folder.path(), "-O0", false).unwrap()).unwrap();
    let is_noticed = |number: usize, variant: &str, workload: Workload| {
        let engine = folder.path().join(format!("{number}.so"));
        // A library that is loaded already must not be written.
        if !engine.exists() {
            std::fs::write(&engine, selected(&library, number).unwrap()).unwrap();
        }
        let engine = Source::Path(engine);
        let crashes = Crashes::new(engine.clone(), 50, 1, 1);
        let cells = crashes.measure(&engine, settings(variant).unwrap(), workload);
        // A workload that the engine does not carry out is a sign as well.
        cells.map_or(true, |cells| {
            cells.iter().any(|cell| cell.safety.worst() > Some(Loss::Nothing))
        })
    };
    for (name, variant, workload) in [
        (sync, "wal/full", Workload::Reuse),
        // Free lists of several trunk pages.
        ("allocateBtreePage-4-uncalled", "wal/full", Workload::BuiltIn),
        ("allocateBtreePage-27-never", "delete/extra", Workload::BuiltIn),
        ("allocateBtreePage-28-never", "wal/full", Workload::BuiltIn),
        // A lock that is kept by a page in use.
        ("allocateBtreePage-39-never", "delete/extra", Workload::BuiltIn),
        // The same pages spilled and rolled back again and again.
        ("walCleanupHash-1-negated", "wal/full", Workload::BuiltIn),
        ("walCleanupHash-2-never", "wal/full", Workload::BuiltIn),
        // Changes of the journal mode beside a writer.
        ("sqlite3PagerSetJournalMode-6-uncalled", "persist/full", Workload::BuiltIn),
        ("sqlite3PagerSetJournalMode-7-never", "truncate/full", Workload::BuiltIn),
        // A write that damages other pages of its sector.
        ("pagerStress-1-never", "delete/extra/normal/psow-off", Workload::BuiltIn),
    ] {
        let number = 1 + mutants.iter().position(|mutant| mutant.name == name).unwrap();
        assert!(!is_noticed(0, variant, workload), "false alarm: {variant}");
        assert!(is_noticed(number, variant, workload), "{name}");
    }
}

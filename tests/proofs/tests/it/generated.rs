//! Mutants that are computed from the text of SQLite.

use engine::Source;
use lab::tier::Loss;
use pragmark_proofs::{Amalgamation, Crashes, Kind, Workload, selected, settings, unnoticed};
use std::collections::HashSet;

#[test]
fn mutants_are_computed_compile_together_and_a_removed_sync_is_detected() {
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
    let losses = [0, number].map(|number| {
        let engine = folder.path().join(format!("{number}.so"));
        std::fs::write(&engine, selected(&library, number).unwrap()).unwrap();
        let engine = Source::Path(engine);
        let crashes = Crashes::new(engine.clone(), 50, 1, 1);
        let cells = crashes.measure(&engine, settings("wal/full").unwrap(), Workload::Reuse);
        cells.unwrap().iter().filter_map(|cell| cell.safety.worst()).max()
    });
    assert_eq!(losses[0], Some(Loss::Nothing));
    assert!(losses[1] > Some(Loss::Nothing), "{losses:?}");
}

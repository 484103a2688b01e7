//! Operating-system layers that lie (`lies.c`), each below the sound engine, judged by their calls.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use crash::syncs::check;
use lab::record::SyncCheck;
use pragmark_proofs::Mutants;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// Layers that sync: by calls of their own, and by each write (`O_DSYNC`).
const HONEST: [&str; 2] = ["honest", "synced-writes"];

/// Layers whose calls show the lie.
const SEEN: [&str; 20] = [
    "nothing", "no-folder", "folder-before-change", "scratch-outside", "scratch-inside",
    "folder-for-file", "other-database", "write-after", "stops", "every-second",
    "honest-if-traced", "range", "msync", "journals-only", "databases-only", "before-write",
    "late-thread", "late-process", "failing", "mixed",
];

/// Layers that write without calls that can be observed, which is named.
const NOT_OBSERVED: [&str; 2] = ["mapped-writes", "io-uring"];

fn judged(folder: &Path, engine: &Path, lie: &str) -> SyncCheck {
    let program = folder.join(format!("with-{lie}"));
    let own = env!("CARGO_BIN_EXE_pragmark-proofs");
    let layer = folder.join("lies.so");
    let script =
        format!("#!/bin/sh\nLIE={lie} LD_PRELOAD='{}' exec '{own}' \"$@\"\n", layer.display());
    std::fs::write(&program, script).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    check(&program, &engine.display().to_string())
}

#[test]
fn layers_that_lie_are_caught_or_named_as_not_observed_and_the_honest_one_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let compiled = Command::new("cc")
        .args(["-w", "-O1", "-shared", "-fPIC", "-pthread", "-o"])
        .arg(folder.path().join("lies.so"))
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/lies.c"))
        .status();
    assert!(compiled.unwrap().success());
    let engine = Mutants::new().unwrap().write(None, folder.path()).unwrap();
    let judged = |lie: &'static str| judged(folder.path(), &engine, lie);
    for honest in HONEST.map(judged) {
        assert!(
            matches!(honest, SyncCheck::Counted { requested, reached } if requested > 0 && reached >= requested),
            "{honest:?}"
        );
    }
    let caught = |verdict: &SyncCheck| match verdict {
        SyncCheck::Counted { requested, reached } => reached < requested,
        SyncCheck::Faulty { .. } => true,
        SyncCheck::NotChecked { .. } => false,
    };
    let verdicts = SEEN.map(|lie| (lie, judged(lie)));
    verdicts.iter().for_each(|verdict| println!("{verdict:?}"));
    let missed: Vec<_> = verdicts.iter().filter(|(_, verdict)| !caught(verdict)).collect();
    assert!(missed.is_empty(), "{missed:?}");
    for lie in NOT_OBSERVED {
        let verdict = judged(lie);
        assert!(
            matches!(&verdict, SyncCheck::NotChecked { why } if why.contains("not seen")),
            "{lie}: {verdict:?}"
        );
    }
}

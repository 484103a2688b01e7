//! The table of mutations fits the SQLite that pragmark is built with, and mutants are what they say.

use engine::{Connection, OpenFlags};
use pragmark_proofs::{Instrument, Mutants, mutations, patch};
use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

#[test]
fn every_mutation_has_its_place_in_this_version_of_sqlite() {
    let source = std::fs::read_to_string(env!("PRAGMARK_AMALGAMATION_FILE")).unwrap();
    let (_, problems) = patch::apply(&source, &mutations());
    let texts: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert!(problems.is_empty(), "{}", texts.join("\n"));
}

#[test]
fn the_table_names_each_mutation_once_and_says_what_has_to_notice_it() {
    let mutations = mutations();
    let names: HashSet<&str> = mutations.iter().map(|mutation| mutation.id.as_str()).collect();
    assert_eq!(names.len(), mutations.len());
    for mutation in &mutations {
        assert!(!mutation.settings.is_empty(), "{}", mutation.id);
        assert!(!mutation.removes.is_empty() && !mutation.why.is_empty(), "{}", mutation.id);
        assert!(mutation.equivalent.is_none() || mutation.beyond.is_none(), "{}", mutation.id);
    }
    let to_be_found = mutations
        .iter()
        .filter(|mutation| mutation.equivalent.is_none() && mutation.beyond.is_none())
        .filter(|mutation| mutation.found_by == Instrument::Crash);
    assert!(to_be_found.count() >= 20);
}

/// What a transaction writes to the disk with an engine: syncs that the engine was asked for.
fn syncs(engine: engine::Library) -> u64 {
    let engine = Arc::new(engine);
    let folder = tempfile::tempdir().unwrap();
    let counting = engine::vfs::CountingVfs::register(&engine, None).unwrap();
    let database = folder.path().join("db");
    let connection =
        Connection::open(&engine, &database, OpenFlags::default(), Some(counting.name())).unwrap();
    connection
        .execute("PRAGMA synchronous = full; CREATE TABLE t(x); INSERT INTO t VALUES (1)")
        .unwrap();
    counting.counts().syncs()
}

#[test]
fn a_mutant_lacks_the_sync_that_it_says_and_the_sound_engine_does_not() {
    let (mutants, folder) = (Mutants::new().unwrap(), tempfile::tempdir().unwrap());
    let load = |id| mutants.load(id, folder.path()).unwrap();
    let stock = engine::Library::load(&engine::Source::Embedded).unwrap();
    let whole = syncs(stock);
    assert_eq!(syncs(load(None)), whole);
    assert_eq!(syncs(load(Some("wal-commit-sync"))), whole);
    // Two transactions, with one sync of the database each.
    assert_eq!(syncs(load(Some("database-sync-at-commit"))), whole - 2);
    assert_eq!(syncs(load(Some("journal-sync-before-count"))), whole - 2);
}

#[test]
fn a_mutation_that_does_not_exist_is_named() {
    let mutants = Mutants::new().unwrap();
    let error = mutants.write(Some("absent"), Path::new(".")).unwrap_err();
    assert!(error.to_string().contains("absent"), "{error}");
}

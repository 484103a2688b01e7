//! The whole way, from a recorded workload to verdicts: what is sound is found sound, what is not is
//! caught, and a witness convinces a stock shell.

use engine::Source;
use lab::seed::Seed;
use lab::tier::{Counts, Loss};
use pragmark_crash::{
    Cell, CrashError, CrashSettings, Harness, JournalMode, Matrix, Model, Plan, RareEvent,
    Recording, Script, Synchronous, Violation, measure, write_witnesses,
};
use std::path::Path;

fn variant(journal_mode: JournalMode, synchronous: Synchronous) -> CrashSettings {
    CrashSettings::new(journal_mode, synchronous)
}

fn plan(variants: Vec<CrashSettings>, models: &[Model], images: usize) -> Plan {
    Plan { threads: 2, ..Plan::new(variants, models.to_vec(), images) }
}

fn measured(plan: &Plan) -> Matrix {
    measure(plan).expect("measures")
}

const TO_TORN: [Model; 5] =
    [Model::Kill, Model::Ordered, Model::Ext4Ordered, Model::Reorder, Model::Torn];

#[test]
fn settings_that_are_documented_as_safe_show_no_violation() {
    let variants = vec![
        variant(JournalMode::Delete, Synchronous::Extra),
        variant(JournalMode::Truncate, Synchronous::Full),
        variant(JournalMode::Persist, Synchronous::Full),
        variant(JournalMode::Wal, Synchronous::Full),
    ];
    let matrix = measured(&plan(variants, &TO_TORN, 400));
    assert_eq!(matrix.cells.len(), 20);
    for cell in &matrix.cells {
        let whole = cell.safety.whole();
        assert!(
            matches!(whole.counts(), Some(counts) if counts.images > 100),
            "{} {}: {whole}",
            cell.variant,
            cell.model,
        );
        assert_eq!(whole.loss(), Some(Loss::Nothing), "{} {}: {whole}", cell.variant, cell.model);
        assert!(cell.counts.as_ref().is_some_and(|counts| counts.second_crashes > 0));
    }
    assert!(matrix.largest_database < 200_000);
}

#[test]
fn without_syncs_reordering_corrupts_and_lying_devices_corrupt_what_is_safe() {
    let variants = vec![
        variant(JournalMode::Delete, Synchronous::Off),
        variant(JournalMode::Wal, Synchronous::Off),
        variant(JournalMode::Delete, Synchronous::Extra),
        variant(JournalMode::Wal, Synchronous::Full),
    ];
    let matrix = measured(&plan(variants, &[Model::Reorder, Model::LyingReorder], 300));
    for cell in &matrix.cells {
        let unsafe_variant = cell.variant.synchronous == Synchronous::Off;
        let caught = cell.safety.ordinary.loss() == Some(Loss::Corruption);
        let must = unsafe_variant || cell.model == Model::LyingReorder;
        assert_eq!(caught, must, "{} {}: {}", cell.variant, cell.model, cell.safety.ordinary);
    }
}

#[test]
fn commits_that_were_not_synced_are_lost_but_nothing_is_corrupted() {
    let lossy = measured(&plan(
        vec![variant(JournalMode::Wal, Synchronous::Normal)],
        &[Model::Kill, Model::Ordered, Model::Reorder, Model::LyingFifo],
        300,
    ));
    let ordinary: Vec<_> = lossy.cells.iter().map(|it| &it.safety.ordinary).collect();
    assert_eq!(ordinary[0].loss(), Some(Loss::Nothing));
    for losses in &ordinary[1..] {
        assert_eq!(losses.loss(), Some(Loss::RecentTransactions), "{losses}");
    }
}

#[test]
fn a_transaction_that_is_killed_without_a_journal_leaves_what_was_never_committed() {
    let matrix =
        measured(&plan(vec![variant(JournalMode::Off, Synchronous::Full)], &[Model::Kill], 100));
    let ordinary = &matrix.cells[0].safety.ordinary;
    assert_eq!(ordinary.loss(), Some(Loss::Corruption));
}

#[test]
fn the_same_seed_gives_the_same_table_on_any_number_of_threads() {
    let table = |seed, threads| {
        let variants = vec![
            variant(JournalMode::Delete, Synchronous::Normal),
            variant(JournalMode::Wal, Synchronous::Normal),
        ];
        let mut plan = plan(variants, &[Model::Reorder, Model::LyingReorder], 150);
        plan.seed = Seed(seed);
        plan.threads = threads;
        let cells = measured(&plan).cells;
        serde_json::to_string(&cells).expect("JSON")
    };
    let first = table(1, 1);
    assert_eq!(first, table(1, 2));
    assert_eq!(first, table(1, 4));
    assert_ne!(first, table(2, 2));
}

#[test]
fn a_witness_is_small_and_convinces_a_stock_shell() {
    let matrix = measured(&plan(
        vec![
            variant(JournalMode::Delete, Synchronous::Off),
            variant(JournalMode::Off, Synchronous::Off),
        ],
        &[Model::Kill, Model::Reorder, Model::LyingReorder],
        400,
    ));
    let folder = tempfile::tempdir().expect("a folder");
    let written = write_witnesses(&matrix, None, folder.path()).expect("writes");
    assert!(written.len() >= 4, "{}", written.len());
    let reorder = matrix.cells.iter().find(|cell| cell.model == Model::Reorder);
    let witness = reorder.and_then(Cell::witness).expect("a witness");
    assert!(witness.faults <= 2, "{} faults", witness.faults);
    if !testing::has_sqlite_shell() {
        return;
    }
    for entry in std::fs::read_dir(folder.path()).expect("lists") {
        let place = entry.expect("an entry").path();
        let output = std::process::Command::new(place.join("show.sh")).output().expect("runs");
        assert!(
            output.status.success(),
            "{}: {}{}",
            place.display(),
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
    }
}

/// VACUUM cuts the file after it deleted the journal. Without a sync of the directory in between, the cut
/// can last and the deletion not, and the journal then restores less than was cut off.
#[test]
fn a_journal_that_comes_back_over_a_file_that_was_cut_corrupts() {
    let matrix = measured(&plan(
        vec![
            variant(JournalMode::Delete, Synchronous::Full),
            variant(JournalMode::Delete, Synchronous::Extra),
        ],
        &[Model::Reorder],
        500,
    ));
    let witness = matrix.cells[0].witness().expect("a witness");
    assert!(
        matches!(&witness.violation, Some(Violation::Corrupt { message, .. }) if message.contains("Freelist")),
        "{:?}",
        witness.violation
    );
    assert_eq!(witness.faults, 1);
    assert_eq!(matrix.cells[1].safety.worst(), Some(Loss::Nothing));
}

/// Both findings that are worse than documented come from what few applications do.
#[test]
fn what_is_worse_than_documented_is_attributed_to_its_occasion() {
    let matrix = measured(&plan(
        vec![
            variant(JournalMode::Delete, Synchronous::Full),
            variant(JournalMode::Wal, Synchronous::Normal),
            variant(JournalMode::Delete, Synchronous::Off),
        ],
        &[Model::Torn],
        6_000,
    ));
    let cells = &matrix.cells;
    for (cell, event, ordinary) in [
        (&cells[0], RareEvent::Shrinking, Loss::LastTransaction),
        (&cells[1], RareEvent::ModeChange, Loss::RecentTransactions),
    ] {
        let counts = cell.safety.ordinary.counts().expect("measured");
        assert_eq!(counts.loss(), ordinary);
        assert!(counts.images > 2_000, "{counts:?}");
        let [on] = &cell.safety.worse_occasions().collect::<Vec<_>>()[..] else {
            panic!("{:?}", cell.safety.occasions);
        };
        assert_eq!(on.occasion, event.to_string());
        assert!(on.counts.images < counts.images / 2, "{:?}", on.counts);
        assert!(on.cause.is_some() && on.witness.is_some());
        let witness = &cell.witnesses[&Some(event)];
        assert!(witness.violation.is_some() && witness.events.contains(event));
        // Ordinary commits have a witness of their own: of a loss.
        let ordinary = &cell.witnesses[&None];
        assert!(ordinary.violation.is_none() && ordinary.lost > 0);
    }
    let without_syncs = &cells[2].safety;
    assert_eq!(without_syncs.ordinary.loss(), Some(Loss::Corruption));
    assert_eq!(without_syncs.worse_occasions().count(), 0);
    assert!(cells[2].witness().expect("a witness").events.is_empty());
}

/// How many commits are lost decides a tier, so those of a rare occasion must not count for ordinary
/// commits, and what ordinary commits and occasions lose must be all that is lost.
#[test]
fn counts_of_ordinary_commits_and_of_occasions_make_up_the_whole() {
    let variants = vec![
        variant(JournalMode::Delete, Synchronous::Full),
        variant(JournalMode::Delete, Synchronous::Off),
        variant(JournalMode::Wal, Synchronous::Normal),
    ];
    let matrix = measured(&plan(variants, &[Model::Reorder, Model::Torn], 800));
    for cell in &matrix.cells {
        let counts = cell.counts.as_ref().expect("measured");
        let events = counts.events.values().copied();
        let all = events.fold(counts.ordinary, Counts::plus);
        assert_eq!(all.most, counts.most_lost, "{} {}", cell.variant, cell.model);
        assert!(all.images >= counts.images && all.corrupt >= counts.violations());
        assert!(counts.ordinary.images > 0 && counts.ordinary.corrupt <= counts.violations());
    }
}

#[test]
fn the_acts_that_shrink_a_file_or_change_its_mode_are_marked() {
    let events = |text: &str| -> Vec<RareEvent> {
        let recording = recorded(text).expect("records");
        recording.marked.iter().map(|marked| marked.event).collect()
    };
    let rows = "CREATE TABLE t(x); INSERT INTO t VALUES (randomblob(9000)); DELETE FROM t;";
    assert_eq!(events(rows), []);
    let whole = format!("{rows} PRAGMA wal_checkpoint;");
    let vacuum = format!("{whole} VACUUM; PRAGMA wal_checkpoint; INSERT INTO t VALUES (1);");
    assert_eq!(events(&vacuum), [RareEvent::Shrinking]);
    let changes = format!("{rows} PRAGMA journal_mode = delete; INSERT INTO t VALUES (1);");
    assert_eq!(events(&changes), [RareEvent::ModeChange]);
}

fn recorded(text: &str) -> Result<Recording, CrashError> {
    let mut bench = Harness::new(&Source::Embedded).expect("loads");
    let script = Script::parse(&bench.library, Path::new("my.sql"), text)?;
    let variant = variant(JournalMode::Wal, Synchronous::Full);
    Recording::make(&mut bench, &variant, &script, None, Seed(1))
}

#[test]
fn a_script_is_split_where_its_statements_end() {
    let recording = recorded(
        "-- a comment; with a semicolon\n\
         CREATE TABLE t(x); CREATE TABLE log(x);\n\
         CREATE TRIGGER r AFTER INSERT ON t BEGIN INSERT INTO log VALUES (';'); END;\n\
         BEGIN; INSERT INTO t VALUES (1); INSERT INTO t VALUES (2); COMMIT;\n\
         INSERT INTO t VALUES (3)",
    )
    .expect("records");
    // Nothing, two tables, a trigger, and two transactions.
    assert_eq!(recording.commits.len(), 6);
    assert_eq!(recording.databases, ["main.db"]);
}

#[test]
fn a_content_that_recurs_later_is_no_proof_that_nothing_is_lost() {
    let toggles = "UPDATE t SET x = 1 - x;".repeat(6);
    let text = format!("CREATE TABLE t(x); INSERT INTO t VALUES (0); {toggles}");
    let recording = recorded(&text).expect("records");
    // Nothing, a table, 0, and then 1 and 0 in turn.
    assert_eq!(recording.commits.len(), 9);
    assert_eq!(recording.held(8, 8), 8);
    assert_eq!(recording.held(8, 5), 6, "the one under way may be there");
    assert_eq!(recording.held(8, 4), 4);
    assert_eq!(recording.held(7, 8), 7);
}

#[test]
fn mistakes_in_a_script_are_named_with_file_and_line() {
    let message = |text: &str| recorded(text).expect_err("a mistake").to_string();
    assert_eq!(
        message("CREATE TABLE t(x);\n\n  INSRT INTO t VALUES (1);\n"),
        "my.sql:3: near \"INSRT\": syntax error"
    );
    let unfinished = message("CREATE TABLE t(x);\nINSERT INTO t VALUES ('a;\n");
    assert!(unfinished.starts_with("my.sql:2: "), "{unfinished}");
    // Witnesses are written under the names of databases, and only into their own folder.
    for name in ["/home/me/app.db", "../app.db", "data/app.db"] {
        let elsewhere = message(&format!("ATTACH '{name}' AS a; CREATE TABLE a.t(x);"));
        assert!(elsewhere.contains("plain name"), "{elsewhere}");
    }
    let nothing = message("SELECT 1;");
    assert!(nothing.contains("commits no change"), "{nothing}");
}

#[test]
fn every_commit_of_the_workload_leaves_another_content() {
    let mut bench = Harness::new(&Source::Embedded).expect("loads");
    for journal_mode in JournalMode::ALL {
        let variant = variant(*journal_mode, Synchronous::Full);
        let script = Script::built_in(&variant);
        let recording =
            Recording::make(&mut bench, &variant, &script, None, Seed(1)).expect("records");
        assert!(recording.commits.len() > 25, "{variant}");
        assert_eq!(recording.databases, ["main.db", "aux.db"]);
        for (number, commit) in recording.commits.iter().enumerate() {
            let same = recording.commits[..number]
                .iter()
                .position(|other| other.contents == commit.contents);
            assert_eq!(same, None, "{variant}: commit {number}");
        }
    }
}

#[test]
fn attached_databases_are_torn_apart_only_where_nothing_ties_them() {
    let matrix = measured(&plan(
        vec![
            variant(JournalMode::Wal, Synchronous::Full),
            variant(JournalMode::Delete, Synchronous::Extra),
        ],
        &[Model::Kill],
        100,
    ));
    let splits = |number: usize| {
        let counts = matrix.cells[number].counts.as_ref().expect("measured");
        (counts.split_unpromised, counts.split)
    };
    assert!(splits(0).0 > 0);
    assert_eq!(splits(0).1, 0);
    assert_eq!(splits(1), (0, 0));
    let violation = matrix.cells[1].witness().and_then(|witness| witness.violation.clone());
    assert!(!matches!(violation, Some(Violation::Split { .. })));
}

/// Where an image was seen on an occasion first, it still counts for ordinary commits, and proves it.
#[test]
fn whatever_is_counted_as_corrupt_has_a_witness() {
    for seed in 1..=6 {
        let variants = [JournalMode::Delete, JournalMode::Wal];
        let variants = variants.map(|mode| variant(mode, Synchronous::Off)).to_vec();
        let plan = Plan { seed: Seed(seed), ..plan(variants, Model::ALL, 40) };
        for cell in measured(&plan).cells {
            let safety = &cell.safety;
            let ordinary = (safety.ordinary.counts().unwrap(), &safety.witness);
            let rare = safety.occasions.iter().map(|on| (on.counts, &on.witness));
            for (counts, witness) in rare.chain([ordinary]) {
                let shown = counts.corrupt == 0 || witness.is_some();
                assert!(shown, "{} {} seed {seed}: {counts:?}", cell.variant, cell.model);
            }
        }
    }
}

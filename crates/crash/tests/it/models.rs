//! The storage models on traces of a few steps: which states they allow, and which they must not.

use engine::vfs::{Call, FileId, FileKind, SyncKind};
use lab::seed::Seed;
use pragmark_crash::{Candidate, File, Model, Step, Trace, visit};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::convert::Infallible;
use std::path::PathBuf;

/// More than the traces here have states, where they are counted.
const ALL: usize = 1_000_000;

/// Visits states without ending early.
fn visit_all(
    trace: &Trace,
    model: Model,
    budget: usize,
    seed: Seed,
    mut look: impl FnMut(Candidate<'_>),
) {
    let visited = visit(trace, model, budget, seed, |candidate| {
        look(candidate);
        Ok::<(), Infallible>(())
    });
    visited.unwrap();
}

/// All states; of models with damage, of which there is no end, many.
fn states(trace: &Trace, model: Model) -> BTreeSet<Vec<File>> {
    let budget = match model {
        Model::Torn | Model::NonPowersafeOverwrite => 5_000,
        _ => ALL,
    };
    let mut states = BTreeSet::new();
    visit_all(trace, model, budget, Seed(1), |candidate| {
        states.insert(candidate.files);
    });
    states
}

/// What the file called `a` may hold.
fn contents(trace: &Trace, model: Model) -> BTreeSet<Vec<u8>> {
    let named = states(trace, model).into_iter().flatten();
    named.filter(|(name, _)| name == "a").map(|(_, bytes)| bytes.to_vec()).collect()
}

fn open(file: u64, name: &str) -> Call {
    Call::Open {
        file: FileId(file),
        kind: FileKind::Database,
        name: Some(PathBuf::from(name)),
        flags: 0,
        characteristics: 0,
        sector_size: 4096,
    }
}

fn write(file: u64, offset: u64, fill: u8, length: usize) -> Call {
    Call::Write {
        file: FileId(file),
        kind: FileKind::Database,
        offset,
        bytes: vec![fill; length].into(),
    }
}

fn truncate(file: u64, size: u64) -> Call {
    Call::Truncate { file: FileId(file), kind: FileKind::Database, size }
}

fn sync(file: u64, with_directory: bool) -> Call {
    Call::Sync {
        file: FileId(file),
        kind: FileKind::Database,
        sync: SyncKind { full: false, data_only: false },
        with_directory,
    }
}

fn delete(name: &str, with_directory: bool) -> Call {
    Call::Delete { kind: FileKind::Database, name: PathBuf::from(name), with_directory }
}

fn old(length: usize) -> Vec<File> {
    vec![("a".to_owned(), vec![b'o'; length].into())]
}

#[test]
fn a_sector_holds_a_prefix_of_its_writes() {
    let calls =
        [open(1, "a"), write(1, 0, b'1', 100), write(1, 50, b'2', 100), write(1, 0, b'3', 10)];
    let trace = Trace::new(&old(4096), &calls);
    let mut allowed = BTreeSet::new();
    for writes in 0..=3 {
        allowed.extend(contents(&Trace::new(&old(4096), &calls[..=writes]), Model::Kill));
    }
    assert_eq!(allowed.len(), 4);
    assert_eq!(contents(&trace, Model::Reorder), allowed);
    assert_eq!(contents(&trace, Model::Ext4Ordered), allowed);
}

#[test]
fn sectors_are_independent_of_one_another() {
    let calls = [open(1, "a"), write(1, 0, b'n', 8192)];
    let trace = Trace::new(&old(8192), &calls);
    assert_eq!(contents(&trace, Model::Ordered).len(), 2);
    assert_eq!(contents(&trace, Model::Reorder).len(), 4);
    assert_eq!(contents(&trace, Model::Ext4Ordered).len(), 4);
}

#[test]
fn a_visit_says_whether_it_was_to_all_states() {
    let calls: Vec<Call> = [open(1, "a")]
        .into_iter()
        .chain((0..14).map(|sector| write(1, sector * 4096, b'n', 4096)))
        .collect();
    let trace = Trace::new(&old(14 * 4096), &calls);
    let visited = |model, budget| {
        let look = |_: Candidate<'_>| Ok::<(), Infallible>(());
        visit(&trace, model, budget, Seed(1), look).unwrap()
    };
    let states = |model, budget| (visited(model, budget).states, visited(model, budget).all);
    assert_eq!(states(Model::Kill, 15), (15, true), "one state a write");
    assert_eq!(states(Model::Kill, 4), (4, false), "at even distances");
    assert_eq!(states(Model::Reorder, 500), (500, false));
    assert_eq!(states(Model::Reorder, 1 << 17), (1 << 14, true));
    assert!(!visited(Model::Torn, 1 << 17).all, "there is no end of damage");
}

#[test]
fn data_past_a_pending_truncation_is_visible_only_if_the_truncation_persisted() {
    let calls = [open(1, "a"), truncate(1, 0), write(1, 0, b'n', 4096)];
    let trace = Trace::new(&old(8192), &calls);
    let allowed: BTreeSet<Vec<u8>> =
        [vec![b'o'; 8192], vec![], vec![0; 4096], vec![b'n'; 4096]].into();
    assert_eq!(contents(&trace, Model::Reorder), allowed);
    let appended_is_there: BTreeSet<Vec<u8>> = [vec![b'o'; 8192], vec![], vec![b'n'; 4096]].into();
    assert_eq!(contents(&trace, Model::Ext4Ordered), appended_is_there);
}

#[test]
fn what_was_there_before_a_truncation_does_not_come_back_when_the_file_grows() {
    let calls = [open(1, "a"), truncate(1, 100), write(1, 8000, b'n', 192)];
    let trace = Trace::new(&old(8192), &calls);
    for content in contents(&trace, Model::Reorder) {
        match content.len() {
            100 => {}
            8192 if content[7999] == b'o' => assert_eq!(content, vec![b'o'; 8192]),
            8192 => assert!(content[100..8000].iter().all(|byte| *byte == 0)),
            other => panic!("a size of {other}"),
        }
    }
}

#[test]
fn a_sync_covers_one_file_and_no_directory_entry() {
    let calls =
        [open(1, "a"), open(2, "b"), write(1, 0, b'1', 10), write(2, 0, b'2', 10), sync(1, false)];
    let last = |model| {
        let trace = Trace::new(&[], &calls);
        let end = trace.steps.len();
        let mut found = BTreeSet::new();
        visit_all(&trace, model, ALL, Seed(1), |candidate| {
            if candidate.cut == end {
                found.insert(candidate.files);
            }
        });
        found
    };
    let a = ("a".to_owned(), vec![b'1'; 10].into());
    let b = |bytes: &[u8]| ("b".to_owned(), bytes.to_vec().into());
    let reorder: BTreeSet<Vec<File>> = [
        vec![],
        vec![a.clone()],
        vec![b(b"")],
        vec![b(&[0; 10])],
        vec![b(&[b'2'; 10])],
        vec![a.clone(), b(b"")],
        vec![a.clone(), b(&[0; 10])],
        vec![a.clone(), b(&[b'2'; 10])],
    ]
    .into();
    assert_eq!(last(Model::Reorder), reorder);
    // Any sync commits all metadata, and appended data is there before its size.
    let ext4: BTreeSet<Vec<File>> = [vec![a, b(&[b'2'; 10])]].into();
    assert_eq!(last(Model::Ext4Ordered), ext4);
}

#[test]
fn a_deleted_name_may_come_back_until_the_directory_is_synced() {
    let deleted = |with_directory| {
        let calls = [open(1, "a"), delete("a", with_directory), open(2, "b")];
        let trace = Trace::new(&old(3), &calls);
        let (end, mut found) = (trace.steps.len(), false);
        visit_all(&trace, Model::Reorder, ALL, Seed(1), |candidate| {
            found |= candidate.cut == end && candidate.files.iter().any(|(name, _)| name == "a");
        });
        found
    };
    assert!(deleted(false));
    assert!(!deleted(true));
}

#[test]
fn a_lying_device_loses_what_was_synced_but_no_more_than_its_memory_holds() {
    let mut calls = vec![open(1, "a")];
    for number in 0..100 {
        calls.push(write(1, number * 4096, b'n', 4096));
        calls.push(sync(1, true));
    }
    let trace = Trace::new(&old(0), &calls);
    let end = trace.steps.len();
    let fewest = |model| {
        let mut fewest = usize::MAX;
        visit_all(&trace, model, 20_000, Seed(1), |candidate| {
            if candidate.cut == end {
                let bytes = candidate.files[0].1.to_vec();
                let there = bytes.chunks(4096).filter(|sector| sector[0] == b'n');
                fewest = fewest.min(there.count());
            }
        });
        fewest
    };
    assert_eq!(fewest(Model::LyingFifo), 36);
    assert!((36..80).contains(&fewest(Model::LyingReorder)));
    assert_eq!(fewest(Model::Ordered), 100);
    assert_eq!(fewest(Model::Reorder), 100);
}

#[test]
fn torn_sectors_and_garbage_stay_within_what_was_written() {
    let calls = [open(1, "a"), write(1, 256, b'n', 512), write(1, 4096, b'g', 512)];
    let trace = Trace::new(&old(1024), &calls);
    let (mut torn, mut garbage) = (false, false);
    for (name, bytes) in states(&trace, Model::Torn).into_iter().flatten() {
        assert_eq!(name, "a");
        let bytes = bytes.to_vec();
        assert!(bytes[..256].iter().all(|byte| *byte == b'o'));
        assert!(bytes[768..1024].iter().all(|byte| *byte == b'o'));
        let new = bytes[256..512].iter().filter(|byte| **byte == b'n').count();
        torn |= new > 0 && new < 256;
        if bytes.len() > 4096 {
            assert!(bytes[1024..4096].iter().all(|byte| *byte == 0), "a hole");
            garbage |= bytes[4096..].iter().any(|byte| *byte != 0 && *byte != b'g');
        }
    }
    assert!(torn && garbage);
}

#[test]
fn a_write_under_way_destroys_the_sector_around_it_where_overwrites_are_not_safe() {
    let calls = [open(1, "a"), write(1, 0, b'n', 10)];
    let trace = Trace::new(&old(8192), &calls);
    let all = contents(&trace, Model::NonPowersafeOverwrite);
    assert!(all.iter().any(|bytes| bytes[10..4096].iter().any(|byte| *byte != b'o')));
    assert!(all.iter().all(|bytes| bytes[4096..].iter().all(|byte| *byte == b'o')));
}

/// One of a few calls on one of two files, which are open throughout.
fn any_call() -> impl Strategy<Value = Call> {
    let file = 1..=2_u64;
    prop_oneof![
        4 => (file.clone(), 0..4_u64, any::<u8>(), 1..3_usize)
            .prop_map(|(file, at, fill, length)| write(file, at * 512, fill, length * 512)),
        1 => (file.clone(), 0..4_u64).prop_map(|(file, size)| truncate(file, size * 512)),
        1 => (file, any::<bool>()).prop_map(|(file, directory)| sync(file, directory)),
    ]
}

fn any_trace() -> impl Strategy<Value = Trace> {
    proptest::collection::vec(any_call(), 0..6).prop_map(|mut calls| {
        calls.splice(0..0, [open(1, "a"), open(2, "b")]);
        Trace::new(&old(1024), &calls)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn worse_models_allow_all_that_kinder_ones_do(trace in any_trace()) {
        let kill = states(&trace, Model::Kill);
        prop_assert_eq!(&kill, &states(&trace, Model::Ordered));
        let ext4 = states(&trace, Model::Ext4Ordered);
        prop_assert!(kill.is_subset(&ext4));
        let reorder = states(&trace, Model::Reorder);
        prop_assert!(ext4.is_subset(&reorder));
    }

    #[test]
    fn finer_sectors_allow_all_that_coarser_ones_do(trace in any_trace()) {
        // Enough for enumeration, too little for damage in addition.
        prop_assume!(trace.steps.len() < 6);
        let reorder = states(&trace, Model::Reorder);
        let mut torn = BTreeSet::new();
        visit_all(&trace, Model::Torn, 20_000, Seed(1), |candidate| {
            torn.insert(candidate.files);
        });
        prop_assert!(reorder.is_subset(&torn));
    }

    #[test]
    fn everything_synced_is_there(trace in any_trace()) {
        let mut steps = trace.clone();
        steps.steps.extend([
            Step::Sync { inode: pragmark_crash::Inode(0) },
            Step::Sync { inode: pragmark_crash::Inode(1) },
            Step::SyncDirectory { directory: String::new() },
        ]);
        let end = steps.steps.len();
        let complete = pragmark_crash::prefix_files(&steps, end);
        for model in [Model::Ordered, Model::Ext4Ordered, Model::Reorder, Model::Torn] {
            visit_all(&steps, model, 500, Seed(3), |candidate| {
                if candidate.cut == end {
                    assert_eq!(candidate.files, complete, "{model}");
                }
            });
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_states(trace in any_trace(), seed in any::<u64>()) {
        for model in Model::ALL {
            let draw = || {
                let mut drawn = Vec::new();
                visit_all(&trace, *model, 50, Seed(seed), |candidate| {
                    drawn.push((candidate.cut, candidate.files, candidate.faults));
                });
                drawn
            };
            prop_assert_eq!(draw(), draw());
        }
    }
}

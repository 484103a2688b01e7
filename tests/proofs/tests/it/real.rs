//! A real file system under SQLite, on a disk that loses power.

use lab::seed::Seed;
use lab::tier::Loss;
use pragmark_proofs::blocks::{FILE_SYSTEMS, Left, cut_power};
use pragmark_proofs::settings;

/// Nothing where the system does not permit it.
fn left(name: &str, cuts: usize) -> Option<Left> {
    let settings = settings(name).unwrap();
    let left = cut_power(&FILE_SYSTEMS[0], &settings, cuts, Seed(1));
    left.inspect_err(|why| testing::skip(format!("power cuts of a real file system: {why}"))).ok()
}

#[test]
fn a_power_cut_under_ext4_takes_what_was_not_synced_and_nothing_else() {
    let Some(full) = left("wal/full", 12) else {
        return;
    };
    assert_eq!(full.counts.images + full.unmountable, 12);
    assert_eq!(full.counts.loss(), Loss::Nothing, "{full:?}");
    let Some(off) = left("wal/off", 16) else {
        return;
    };
    assert!(off.counts.losing > 0, "{off:?}");
    assert!(off.flushes < full.flushes, "{off:?}, {full:?}");
}

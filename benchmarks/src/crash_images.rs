//! Crash images judged per second, by one thread.

use std::time::Instant;

use crash::{CrashSettings, JournalMode, Model, Plan, Synchronous, measure};

use crate::Failure;

/// Judges crash images of a sound variant of each kind of journal, where most recoveries give bytes that were
/// examined before, and of one without syncs, where few do.
pub fn run(images: usize) -> Result<(), Failure> {
    for (journal_mode, synchronous) in [
        (JournalMode::Delete, Synchronous::Extra),
        (JournalMode::Wal, Synchronous::Full),
        (JournalMode::Delete, Synchronous::Off),
        (JournalMode::Wal, Synchronous::Off),
    ] {
        let variant = CrashSettings::new(journal_mode, synchronous);
        let plan = Plan::new(vec![variant], Model::ALL.to_vec(), images);
        let begun = Instant::now();
        let matrix = measure(&plan)?;
        let took_s = begun.elapsed().as_secs_f64();
        println!(
            "{variant}: {:.0} images/s, {:.0} recoveries/s on one thread ({} images of databases up to {} \
             KiB; to reach: 10000 images/s)",
            matrix.images as f64 / took_s,
            matrix.recoveries as f64 / took_s,
            matrix.images,
            matrix.largest_database / 1024
        );
    }
    Ok(())
}

//! A plain file of as many bytes as the database would have, written in order.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::path::Path;
use std::time::Instant;

use lab::seed::Seed;
use lab::trial::Measured;

use super::Parameters;
use crate::error::TrialError;
use crate::measure::Windows;
use crate::trial::Trial;
use crate::workload::common::{Stopwatch, expect, set, set_peak_memory};

/// Bytes in one write call.
const BLOCK: usize = 64 * 1024;

/// Blocks of different random bytes, written over and over: file systems that compress or share
/// equal blocks look at less than these 4 MiB at a time.
const BLOCKS: usize = 64;

/// Writes the file and, where `synced`, waits until the device has it.
pub(super) fn write(
    trial: &mut Trial<'_>,
    parameters: &Parameters,
    synced: bool,
) -> Result<Measured, TrialError> {
    (trial.phase)("generate");
    let bytes = bytes(trial.seed);
    let total = parameters.rows.saturating_mul(parameters.bytes_per_row);
    let path = trial.directory.join("limit.bin");
    let mut windows = Windows::new(total, BLOCK, None);

    (trial.phase)("load");
    let watch = Stopwatch::start()?;
    windows.start(watch.started());
    let mut file = create(&path)?;
    for block in blocks(&bytes, total) {
        file.write_all(block).map_err(TrialError::io("write", &path))?;
        windows.tick(block.len(), Instant::now());
    }
    if synced {
        file.sync_all().map_err(TrialError::io("sync", &path))?;
    }
    let elapsed = watch.stop()?;
    let mut measured = elapsed.measured(parameters.rows);
    set(&mut measured, "mib_per_s", elapsed.mib_per_s(total as f64));
    set_peak_memory(&mut measured);
    let per_row = parameters.bytes_per_row as f64;
    let rates = windows.rates().into_iter();
    measured.windows = rates.map(|bytes| bytes / per_row).collect();

    (trial.phase)("verify");
    check(&mut file, &path, &bytes, total)?;
    Ok(measured)
}

/// Contents of the blocks.
fn bytes(seed: Seed) -> Vec<u8> {
    let mut generator = seed.child("file").generator();
    (0..BLOCK * BLOCKS / 8).flat_map(|_| generator.next_u64().to_ne_bytes()).collect()
}

/// Returns the blocks of a file of `total` bytes; the last may be shorter.
fn blocks(bytes: &[u8], total: usize) -> impl Iterator<Item = &[u8]> {
    (0..total.div_ceil(BLOCK)).map(move |number| {
        let from = number % BLOCKS * BLOCK;
        let length = BLOCK.min(total - number * BLOCK);
        &bytes[from..from + length]
    })
}

/// Checks the size of the file and every byte in it.
fn check(file: &mut File, path: &Path, bytes: &[u8], total: usize) -> Result<(), TrialError> {
    let length = file.metadata().map_err(TrialError::io("look at", path))?.len();
    expect("the size of the file", length, total as u64)?;
    file.rewind().map_err(TrialError::io("read", path))?;
    let mut found = vec![0; BLOCK];
    let mut wrong = 0;
    for block in blocks(bytes, total) {
        let found = &mut found[..block.len()];
        file.read_exact(found).map_err(TrialError::io("read", path))?;
        wrong += usize::from(found != block);
    }
    expect("the count of wrong blocks in the file", wrong, 0)
}

fn create(path: &Path) -> Result<File, TrialError> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .open(path)
        .map_err(TrialError::io("create", path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_short_or_has_a_wrong_byte_fails() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("f");
        let bytes = bytes(Seed(1));
        let total = 3 * BLOCK + 17;
        let mut file = create(&path).unwrap();
        for block in blocks(&bytes, total) {
            file.write_all(block).unwrap();
        }
        assert!(check(&mut file, &path, &bytes, total).is_ok());
        let size = check(&mut file, &path, &bytes, total + 1).unwrap_err();
        assert!(size.to_string().contains("the size of the file"), "{size}");
        file.seek(std::io::SeekFrom::Start(BLOCK as u64 + 5)).unwrap();
        file.write_all(&[bytes[BLOCK + 5] ^ 1]).unwrap();
        let content = check(&mut file, &path, &bytes, total).unwrap_err();
        assert!(content.to_string().contains("wrong blocks"), "{content}");
    }

    #[test]
    fn blocks_make_up_the_total() {
        let bytes = bytes(Seed(1));
        for total in [1, BLOCK - 1, BLOCK, BLOCK + 1, BLOCK * (BLOCKS + 2)] {
            let length: usize = blocks(&bytes, total).map(<[u8]>::len).sum();
            assert_eq!(length, total);
        }
    }
}

//! Bounds of any way of storing rows, without SQLite: generating the data, writing as many bytes to
//! a plain file, and keeping the rows in the containers of a programming language.
//!
//! Experiments show these figures next to their variants, so that a reader sees how far the fastest
//! way of inserting is from what the machine can do.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::{File, OpenOptions};
use std::hint::black_box;
use std::io::{Read, Seek, Write};
use std::path::Path;
use std::time::Instant;

use crate::generate::Values;
use crate::parameters::{Bytes, Rows};
use crate::workload::prelude::*;

/// The workload `upper-bounds`.
pub(super) struct UpperBounds;

choice! {
    /// Work instead of inserting.
    enum Kind {
        /// Generate the integers.
        Generate = "generate",
        /// Write as many bytes to a file as a database has; the kernel may still hold them in memory.
        File = "file",
        /// Write them and sync the file.
        FileFsync = "file-fsync",
        /// Put the integers into a vector.
        Vec = "vec",
        /// Put them into a B-tree map.
        BTree = "btree",
        /// Put them into a hash map.
        Hash = "hash",
    }
}

parameters! {
    /// The parameters of one trial.
    struct Parameters {
        /// What is done instead of inserting.
        kind: Kind = Kind::Generate;
        /// Rows to generate, write or keep.
        rows: Rows = 100_000, 1..;
        /// Integers to generate.
        values: Values = Values::Int32;
        /// Bytes written to the file per row; SQLite's file takes 13 for a 32-bit integer with its rowid.
        bytes_per_row: Bytes = 13, 1..;
    }
}

impl Declared for UpperBounds {
    const NAME: &'static str = "upper-bounds";
    const ABOUT: &'static str = "Does without SQLite the minimum that any insert has to do: generates the data, writes the bytes, or keeps the rows in memory.";
    const COUNTS: bool = false;
    type Parameters = Parameters;

    fn run(trial: &mut Trial<'_>, parameters: &Parameters) -> Result<Measured> {
        let in_memory = |trial: &mut Trial<'_>, fill| keep(trial, parameters, fill);
        match parameters.kind {
            Kind::Generate => generate(trial, parameters),
            Kind::File => write(trial, parameters, false),
            Kind::FileFsync => write(trial, parameters, true),
            Kind::Vec => in_memory(trial, vec),
            Kind::BTree => in_memory(trial, btree),
            Kind::Hash => in_memory(trial, hash),
        }
    }
}

/// Makes the integers, within the measured time.
fn generate(trial: &mut Trial<'_>, parameters: &Parameters) -> Result<Measured> {
    (trial.phase)("generate");
    let watch = Stopwatch::start()?;
    let data = black_box(parameters.values.generate(parameters.rows, trial.seed)?);
    let elapsed = watch.stop()?;
    let mut measured = elapsed.measured(parameters.rows);
    set_peak_memory(&mut measured);

    (trial.phase)("verify");
    check_generated(&data, parameters, trial.seed)?;
    Ok(measured)
}

/// The integers must be those that a trial of `bulk-insert` would get.
fn check_generated(data: &[i64], parameters: &Parameters, seed: Seed) -> Result<()> {
    expect("the count of integers", data.len(), parameters.rows)?;
    let again = parameters.values.generate(parameters.rows, seed)?;
    let differing = data.iter().zip(again.iter()).filter(|(a, b)| a != b).count();
    expect("the count of integers that differ when generated again", differing, 0)
}

/// Bytes in one write call.
const BLOCK: usize = 64 * 1024;

/// Blocks of different random bytes, written over and over: file systems that compress or share
/// equal blocks look at less than these 4 MiB at a time.
const BLOCKS: usize = 64;

/// Writes the file and, where `synced`, waits until the device has it.
fn write(trial: &mut Trial<'_>, parameters: &Parameters, synced: bool) -> Result<Measured> {
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
    measured.windows = windows.rates.into_iter().map(|bytes| bytes / per_row).collect();

    (trial.phase)("verify");
    check_file(&mut file, &path, &bytes, total)?;
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
fn check_file(file: &mut File, path: &Path, bytes: &[u8], total: usize) -> Result<()> {
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

fn create(path: &Path) -> Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .open(path)
        .map_err(TrialError::io("create", path))
}

/// A container that was filled.
enum Filled {
    Vec(Vec<i64>),
    BTree(BTreeMap<i64, usize>),
    Hash(HashMap<i64, usize>),
}

/// Puts the rows into the container, within the measured time.
fn keep(
    trial: &mut Trial<'_>,
    parameters: &Parameters,
    fill: fn(&[i64], &mut Windows) -> Filled,
) -> Result<Measured> {
    (trial.phase)("generate");
    let generating = Instant::now();
    let data = parameters.values.generate(parameters.rows, trial.seed)?;
    let generate_s = generating.elapsed().as_secs_f64();
    let mut windows = Windows::new(data.len(), 1, None);

    (trial.phase)("load");
    let watch = Stopwatch::start()?;
    windows.start(watch.started());
    let filled = black_box(fill(&data, &mut windows));
    let elapsed = watch.stop()?;
    let mut measured = elapsed.measured(parameters.rows);
    set(&mut measured, "generate_s", generate_s);
    set_peak_memory(&mut measured);
    measured.windows = windows.rates;

    (trial.phase)("verify");
    check_container(&filled, &data)?;
    Ok(measured)
}

/// Fills a `Vec` with the values in order of arrival. All containers grow as they go: an application seldom
/// knows the count beforehand.
fn vec(data: &[i64], windows: &mut Windows) -> Filled {
    let mut rows = Vec::new();
    each_row(data, windows, |_, value| rows.push(value));
    Filled::Vec(rows)
}

/// Fills a `BTreeMap` from the value to the number of the last row that has it.
fn btree(data: &[i64], windows: &mut Windows) -> Filled {
    let mut rows = BTreeMap::new();
    each_row(data, windows, |row, value| {
        rows.insert(value, row);
    });
    Filled::BTree(rows)
}

/// Fills a `HashMap` in the same way, with the standard library's hash function.
fn hash(data: &[i64], windows: &mut Windows) -> Filled {
    let mut rows = HashMap::new();
    each_row(data, windows, |row, value| {
        rows.insert(value, row);
    });
    Filled::Hash(rows)
}

#[inline]
fn each_row(data: &[i64], windows: &mut Windows, mut insert: impl FnMut(usize, i64)) {
    let step = windows.step;
    for (window, rows) in data.chunks(step).enumerate() {
        for (index, value) in rows.iter().enumerate() {
            insert(window * step + index, *value);
        }
        windows.tick(rows.len(), Instant::now());
    }
}

/// Checks the length, and that every value is there with the last row that has it.
fn check_container(filled: &Filled, data: &[i64]) -> Result<()> {
    let (length, wanted) = match filled {
        Filled::Vec(rows) => (rows.len(), data.len()),
        Filled::BTree(rows) => (rows.len(), distinct(data)),
        Filled::Hash(rows) => (rows.len(), distinct(data)),
    };
    expect("the length of the container", length, wanted)?;
    let holds = |row: usize, value: i64| match filled {
        Filled::Vec(rows) => rows[row] == value,
        Filled::BTree(rows) => rows.get(&value).is_some_and(|last| *last >= row),
        Filled::Hash(rows) => rows.get(&value).is_some_and(|last| *last >= row),
    };
    let missing = data.iter().enumerate().filter(|(row, value)| !holds(*row, **value)).count();
    expect("the count of rows missing in the container", missing, 0)
}

fn distinct(data: &[i64]) -> usize {
    data.iter().collect::<BTreeSet<_>>().len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameters::Choice;
    use crate::workload::common::tests::run;

    #[test]
    fn every_kind_gives_a_rate_and_files_a_throughput() {
        for (kind, name, _) in Kind::ALL {
            let measured =
                run("upper-bounds", &[("kind", (*name).into()), ("rows", 70_001.into())])
                    .unwrap_or_else(|error| panic!("{name}: {error}"));
            let metrics = &measured.metrics;
            let rows = metrics["rows_per_s"] * metrics["seconds"];
            assert!((rows - 70_001.0).abs() < 0.01, "{name} {rows}");
            let written = matches!(kind, Kind::File | Kind::FileFsync);
            assert_eq!(metrics.contains_key("mib_per_s"), written, "{name}");
        }
    }

    #[test]
    fn the_throughput_of_a_file_counts_its_bytes() {
        let settings =
            [("kind", "file".into()), ("rows", 1_000.into()), ("bytes_per_row", 1_048.into())];
        let metrics = run("upper-bounds", &settings).unwrap().metrics;
        let mib = metrics["mib_per_s"] * metrics["seconds"];
        assert!((mib - 1_048_000.0 / 1_048_576.0).abs() < 1e-6, "{mib}");
    }

    #[test]
    fn integers_of_another_seed_or_count_are_a_wrong_result() {
        let parameters =
            Parameters { kind: Kind::Generate, rows: 50, values: Values::Int32, bytes_per_row: 13 };
        let data = Values::Int32.generate(50, Seed(1)).unwrap();
        assert!(check_generated(&data, &parameters, Seed(1)).is_ok());
        assert!(check_generated(&data, &parameters, Seed(2)).is_err());
        assert!(check_generated(&data[..49], &parameters, Seed(1)).is_err());
    }

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
        assert!(check_file(&mut file, &path, &bytes, total).is_ok());
        let size = check_file(&mut file, &path, &bytes, total + 1).unwrap_err();
        assert!(size.to_string().contains("the size of the file"), "{size}");
        file.seek(std::io::SeekFrom::Start(BLOCK as u64 + 5)).unwrap();
        file.write_all(&[bytes[BLOCK + 5] ^ 1]).unwrap();
        let content = check_file(&mut file, &path, &bytes, total).unwrap_err();
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

    type Fill = fn(&[i64], &mut Windows) -> Filled;

    const CONTAINERS: [(&str, Fill); 3] = [("vec", vec), ("btree", btree), ("hash", hash)];

    fn filled(fill: Fill, data: &[i64]) -> Filled {
        fill(data, &mut Windows::new(data.len(), 1, None))
    }

    #[test]
    fn maps_keep_each_value_once_and_vectors_every_row() {
        let data = [5, 7, 5, -1];
        for (container, fill) in CONTAINERS {
            let kept = filled(fill, &data);
            assert!(check_container(&kept, &data).is_ok(), "{container:?}");
            let length = match kept {
                Filled::Vec(rows) => rows.len(),
                Filled::BTree(rows) => rows.len(),
                Filled::Hash(rows) => rows.len(),
            };
            assert_eq!(length, if container == "vec" { 4 } else { 3 });
        }
    }

    #[test]
    fn a_container_with_other_rows_is_a_wrong_result() {
        for (container, fill) in CONTAINERS {
            let kept = filled(fill, &[1, 2, 3]);
            assert!(check_container(&kept, &[1, 2, 4]).is_err(), "{container:?}");
            assert!(check_container(&kept, &[1, 2]).is_err(), "{container:?}");
        }
    }
}

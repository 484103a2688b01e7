//! Bounds of any way of storing rows, without SQLite: generating the data, writing as many bytes to
//! a plain file, and keeping the rows in the containers of a programming language.
//!
//! Experiments show these figures next to their variants, so that a reader sees how far the fastest
//! way of inserting is from what the machine can do.

mod file;
mod memory;

use std::hint::black_box;

use lab::seed::Seed;
use lab::trial::Measured;

use super::common::{Stopwatch, expect, set_peak_memory};
use super::{Declared, Trial};
use crate::error::TrialError;
use crate::generate::Values;
use crate::parameters::{Bytes, Rows};

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

    fn run(trial: &mut Trial<'_>, parameters: &Parameters) -> Result<Measured, TrialError> {
        let keep = |trial: &mut Trial<'_>, fill| memory::keep(trial, parameters, fill);
        match parameters.kind {
            Kind::Generate => generate(trial, parameters),
            Kind::File => file::write(trial, parameters, false),
            Kind::FileFsync => file::write(trial, parameters, true),
            Kind::Vec => keep(trial, memory::vec),
            Kind::BTree => keep(trial, memory::btree),
            Kind::Hash => keep(trial, memory::hash),
        }
    }
}

/// Makes the integers, within the measured time.
fn generate(trial: &mut Trial<'_>, parameters: &Parameters) -> Result<Measured, TrialError> {
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
fn check_generated(data: &[i64], parameters: &Parameters, seed: Seed) -> Result<(), TrialError> {
    expect("the count of integers", data.len(), parameters.rows)?;
    let again = parameters.values.generate(parameters.rows, seed)?;
    let differing = data.iter().zip(again.iter()).filter(|(a, b)| a != b).count();
    expect("the count of integers that differ when generated again", differing, 0)
}

#[cfg(test)]
mod tests {
    use super::super::common::tests::run;
    use super::*;
    use crate::parameters::Choice;

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
}

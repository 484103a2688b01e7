//! What bounds any way of storing rows, without SQLite: making the data, writing as many bytes to
//! a plain file, and keeping the rows in the containers of a programming language.
//!
//! An experiment shows these figures beside its variants, so that a reader sees how far the fastest
//! way of inserting is from what the machine can do.

mod file;
mod memory;

use std::hint::black_box;

use lab::catalogue::WorkloadInfo;
use lab::level::Settings;
use lab::seed::Seed;
use lab::trial::Measured;

use super::common::{
    Stopwatch, by_name, expect, from, names, parameter, refuse_counting, set_peak_memory,
};
use super::{Trial, Workload};
use crate::error::TrialError;
use crate::generate::Values;
use crate::settings::Reader;
use memory::Container;

/// The workload `limits`.
pub(super) struct UpperBounds;

/// What is done instead of inserting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// The integers are generated and nothing else.
    Generate,
    /// Bytes are written to a file, which the kernel may still hold in memory.
    File,
    /// The same, then the file is synced.
    FileFsync,
    /// The integers are kept in a container.
    Kept(Container),
}

const KINDS: &[(&str, Kind)] = &[
    ("generate", Kind::Generate),
    ("file", Kind::File),
    ("file-fsync", Kind::FileFsync),
    ("vec", Kind::Kept(Container::Vec)),
    ("btree", Kind::Kept(Container::BTree)),
    ("hash", Kind::Kept(Container::Hash)),
];

struct Parameters {
    kind: Kind,
    rows: usize,
    values: Values,
    bytes_per_row: usize,
}

impl Parameters {
    fn read(settings: &Settings) -> Result<Parameters, TrialError> {
        let reader = Reader(settings);
        Ok(Parameters {
            kind: reader.name("kind", |name| by_name(KINDS, name))?,
            rows: reader.count("rows")?,
            values: reader.name("values", Values::parse)?,
            bytes_per_row: reader.count("bytes_per_row")?,
        })
    }
}

impl Workload for UpperBounds {
    fn info(&self) -> WorkloadInfo {
        WorkloadInfo {
            name: "upper-bounds".to_owned(),
            about: "does without SQLite what any way of inserting must do at least: makes the data, writes the bytes, or keeps the rows in memory".to_owned(),
            parameters: vec![
                parameter(
                    "kind",
                    names(KINDS),
                    "generate".into(),
                    "generate the integers; write as many bytes as a database has to a file (file-fsync: and sync it); or put the integers into a vector, a B-tree map or a hash map",
                ),
                parameter("rows", from(1), 100_000.into(), "rows"),
                parameter(
                    "values",
                    names(Values::NAMES),
                    "int32".into(),
                    "which integers: as for bulk-insert",
                ),
                parameter(
                    "bytes_per_row",
                    from(1),
                    13.into(),
                    "bytes written to the file for each row; 13 is what SQLite's file takes for a 32-bit integer with its rowid",
                ),
            ],
            phases: Vec::new(),
            counts: false,
        }
    }

    fn run(&self, trial: &mut Trial<'_>) -> Result<Measured, TrialError> {
        refuse_counting(
            trial,
            "a limit does not use SQLite's file system: nothing can be counted",
        )?;
        let parameters = Parameters::read(trial.settings)?;
        match parameters.kind {
            Kind::Generate => generate(trial, &parameters),
            Kind::File => file::write(trial, &parameters, false),
            Kind::FileFsync => file::write(trial, &parameters, true),
            Kind::Kept(container) => memory::keep(trial, &parameters, container),
        }
    }
}

/// Makes the integers, within the measured time.
fn generate(trial: &mut Trial<'_>, parameters: &Parameters) -> Result<Measured, TrialError> {
    (trial.phase)("generate");
    let watch = Stopwatch::start()?;
    let data = black_box(parameters.values.generate(parameters.rows, trial.seed));
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
    let again = parameters.values.generate(parameters.rows, seed);
    let differing = data
        .iter()
        .zip(again.iter())
        .filter(|(a, b)| a != b)
        .count();
    expect(
        "the count of integers that differ when generated again",
        differing,
        0,
    )
}

#[cfg(test)]
mod tests {
    use super::super::common::tests::run;
    use super::*;

    #[test]
    fn every_kind_gives_a_rate_and_files_a_throughput() {
        for (name, kind) in KINDS {
            let measured = run(
                "upper-bounds",
                &[("kind", (*name).into()), ("rows", 70_001.into())],
            )
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
        let settings = [
            ("kind", "file".into()),
            ("rows", 1_000.into()),
            ("bytes_per_row", 1_048.into()),
        ];
        let metrics = run("upper-bounds", &settings).unwrap().metrics;
        let mib = metrics["mib_per_s"] * metrics["seconds"];
        assert!((mib - 1_048_000.0 / 1_048_576.0).abs() < 1e-6, "{mib}");
    }

    #[test]
    fn integers_of_another_seed_or_count_are_a_wrong_result() {
        let parameters = Parameters {
            kind: Kind::Generate,
            rows: 50,
            values: Values::Int32,
            bytes_per_row: 13,
        };
        let data = Values::Int32.generate(50, Seed(1));
        assert!(check_generated(&data, &parameters, Seed(1)).is_ok());
        assert!(check_generated(&data, &parameters, Seed(2)).is_err());
        assert!(check_generated(&data[..49], &parameters, Seed(1)).is_err());
    }
}

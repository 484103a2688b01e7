//! The native driver: one specification in, messages out.

use std::io::{self, Read, Write};
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

use engine::build::{Provenance, sha256};
use engine::vfs::CountingVfs;
use engine::{Library, Origin, Source};
use lab::record::{EngineRecord, ProvenanceRecord};
use lab::seed::Seed;
use lab::target;
use lab::trial::{EngineMark, Measured, Message, Outcome, PROTOCOL, TrialSpec};

use crate::error::{Result, TrialError};
use crate::platform::die_with_the_parent;
use crate::target::sqlite;
use crate::trial::{Trial, load_library};
use crate::workload;

/// Runs the trial that `input` specifies and writes its messages to `output`.
///
/// # Errors
/// Only when messages cannot be written; whatever goes wrong in the trial is its outcome.
pub fn drive(mut input: impl Read, mut output: impl Write) -> io::Result<()> {
    die_with_the_parent();
    let mut text = String::new();
    input.read_to_string(&mut text)?;
    let outcome = match serde_json::from_str::<TrialSpec>(&text) {
        Ok(spec) => run(&spec, &mut |phase| {
            // A parent that is gone is noticed when the outcome is written.
            let _ = send(&mut output, &Message::Phase(phase.to_owned()));
        }),
        Err(error) => Outcome::failed(format!("the specification cannot be read: {error}")),
    };
    send(&mut output, &Message::Outcome(outcome))
}

/// Describes a library by what it reports itself.
///
/// # Errors
/// When it cannot be loaded.
pub fn describe_engine(name: &str) -> Result<EngineRecord> {
    let library = Library::load(&Source::from_str(name)?)?;
    let identity = library.identity();
    let path = match &identity.origin {
        Origin::Embedded => None,
        Origin::System(path) | Origin::File(path) => Some(path.clone()),
    };
    let provenance = match &path {
        Some(path) => provenance(path)?,
        None => None,
    };
    // The SHA-256 of a library. The loader may find one elsewhere than in a file of this path, as it does with
    // the libraries of macOS.
    Ok(EngineRecord {
        name: name.to_owned(),
        problem: None,
        sha256: path.as_deref().and_then(|library| Some(sha256(&std::fs::read(library).ok()?))),
        path,
        version: identity.version.clone(),
        source_id: identity.source_id.clone(),
        compile_options: identity.compile_options.clone(),
        provenance,
        syncs: None,
    })
}

/// Returns how a library was made, if pragmark keeps it.
fn provenance(library: &Path) -> Result<Option<ProvenanceRecord>> {
    let provenance =
        Provenance::read(library).map_err(|error| TrialError::CannotRun(error.to_string()))?;
    Ok(provenance.map(|provenance| {
        let compiled = provenance.compiled.as_ref();
        ProvenanceRecord {
            compiler: compiled.map(|compiled| compiled.compiler_version.clone()),
            arguments: compiled.map_or(Vec::new(), |compiled| compiled.arguments.clone()),
            profile_guided: compiled.is_some_and(|compiled| compiled.profile_guided),
            source: provenance.source,
            sha256: provenance.sha256,
            created: provenance.created,
        }
    }))
}

fn run(spec: &TrialSpec, phase: &mut dyn FnMut(&str)) -> Outcome {
    match measure(spec, phase) {
        Ok(measured) => Outcome::Measured(Box::new(measured)),
        Err(error) => error.outcome(),
    }
}

fn measure(spec: &TrialSpec, phase: &mut dyn FnMut(&str)) -> Result<Measured> {
    if spec.protocol != PROTOCOL {
        let why =
            format!("this driver speaks version {PROTOCOL} of the protocol, not {}", spec.protocol);
        return Err(TrialError::CannotRun(why));
    }
    let workload = workload::find(&spec.workload).ok_or_else(|| {
        TrialError::CannotRun(format!("this driver has no workload `{}`", spec.workload))
    })?;
    let library = load_library(&spec.engine, &spec.settings)?;
    let identity = library.identity();
    let engine =
        EngineMark { version: identity.version.clone(), source_id: identity.source_id.clone() };
    let mut trial = Trial {
        settings: &spec.settings,
        library: Arc::clone(&library),
        directory: &spec.directory,
        seed: Seed(spec.seed),
        counter: spec
            .counting
            .then(|| CountingVfs::register(&library, None).map(Arc::new))
            .transpose()?,
        postgres: spec.postgres.as_deref(),
        artifacts: spec.artifacts.as_deref(),
        tests_open: spec.tests_open,
        phase,
    };
    let mut measured = workload.run(&mut trial)?;
    if spec.counting {
        sqlite::add_counts_for_each(&mut measured.metrics);
    }
    // Only a workload that counts what SQLite does to files is sure to have had a connection, and no
    // PRAGMA holds for another target.
    let had_connections = workload.info().counts || !measured.connections.is_empty();
    if had_connections && target::is_sqlite(&spec.settings) {
        sqlite::prove(&spec.settings, &measured.connections)?;
    }
    Ok(Measured { engine, ..measured })
}

fn send(output: &mut impl Write, message: &Message) -> io::Result<()> {
    serde_json::to_writer(&mut *output, message)?;
    output.write_all(b"\n")?;
    output.flush()
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab::level::Settings;

    fn outcome(spec: &TrialSpec) -> Outcome {
        run(spec, &mut |_| {})
    }

    fn spec(directory: &std::path::Path, over: &[(&str, lab::level::Level)]) -> TrialSpec {
        let catalogue = crate::catalogue();
        let workload = catalogue.workload("bulk-insert").unwrap();
        let mut settings: Settings = catalogue.defaults(workload);
        settings.insert("rows".to_owned(), 1_003.into());
        settings.extend(over.iter().map(|(name, level)| ((*name).to_owned(), level.clone())));
        TrialSpec {
            protocol: PROTOCOL,
            workload: "bulk-insert".to_owned(),
            settings,
            engine: "default".to_owned(),
            directory: directory.to_owned(),
            seed: 7,
            counting: false,
            binding: None,
            postgres: None,
            confined: false,
            tests_open: false,
            artifacts: None,
        }
    }

    fn measured(over: &[(&str, lab::level::Level)]) -> Measured {
        let directory = tempfile::tempdir().unwrap();
        match outcome(&spec(directory.path(), over)) {
            Outcome::Measured(measured) => *measured,
            other => panic!("{other:?}"),
        }
    }

    fn problem(over: &[(&str, lab::level::Level)]) -> String {
        let directory = tempfile::tempdir().unwrap();
        outcome(&spec(directory.path(), over)).problem().expect("a problem")
    }

    #[test]
    fn runner_and_engine_mean_the_same_confinement() {
        assert_eq!(lab::trial::CONFINED_TO, engine::CONFINED);
    }

    #[test]
    fn every_way_of_inserting_gives_verified_rows() {
        for statement in ["reused", "prepared-each-time"] {
            for rows_per_statement in [1, 5, 20] {
                for rows_per_txn in [0, 1, 10] {
                    for index in ["none", "before", "after", "before-sorted"] {
                        let measured = measured(&[
                            ("statement", statement.into()),
                            ("rows_per_statement", rows_per_statement.into()),
                            ("rows_per_txn", rows_per_txn.into()),
                            ("index", index.into()),
                            ("synchronous", "off".into()),
                            ("values", "int64".into()),
                        ]);
                        assert!(measured.metrics["rows_per_s"] > 0.0);
                        assert_eq!(measured.latency.is_some(), rows_per_txn > 0);
                        assert_eq!(
                            measured.metrics.contains_key("seconds.index"),
                            index == "after"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn the_settings_of_an_variant_are_read_back_from_its_connection() {
        let measured = measured(&[
            ("journal_mode", "wal".into()),
            ("synchronous", "normal".into()),
            ("page_size", 8192.into()),
        ]);
        let pragmas = &measured.connections[0].pragmas;
        assert_eq!(
            (
                pragmas["journal_mode"].as_str(),
                pragmas["synchronous"].as_str(),
                pragmas["page_size"].as_str()
            ),
            ("wal", "normal", "8192")
        );
        assert!(measured.metrics["wal_bytes"] > 0.0);
        assert!(!measured.engine.source_id.is_empty());
    }

    #[test]
    fn a_pragma_that_does_not_take_effect_fails_the_trial_and_is_named() {
        let problem = problem(&[("mmap_size", i64::MAX.into())]);
        assert!(problem.contains("mmap_size"), "{problem}");
    }

    #[test]
    fn a_counting_trial_says_what_each_row_costs_in_pages_and_bytes() {
        let directory = tempfile::tempdir().unwrap();
        let counting = TrialSpec { counting: true, ..spec(directory.path(), &[]) };
        let Outcome::Measured(measured) = outcome(&counting) else {
            panic!("measured");
        };
        let metrics = &measured.metrics;
        for (each, all) in
            [("pages_per_row", "pages_written"), ("bytes_written_per_row", "bytes_written")]
        {
            assert!(metrics[all] > 0.0);
            assert!((metrics[each] * 1_003.0 / metrics[all] - 1.0).abs() < 1e-9);
        }
    }

    #[test]
    fn connections_without_and_with_a_mutex_are_read_back_as_such() {
        for mutex in ["no", "full"] {
            let measured = measured(&[("open_mutex", mutex.into())]);
            assert_eq!(measured.connections[0].pragmas["open_mutex"], mutex);
        }
    }

    #[test]
    fn a_time_limit_ends_the_work_and_what_was_done_is_verified() {
        let measured = measured(&[
            ("rows", 50_000_000.into()),
            ("rows_per_txn", 100.into()),
            ("stop_after_ms", 30.into()),
            ("synchronous", "off".into()),
            ("values", "ones".into()),
        ]);
        assert!(measured.metrics["seconds"] >= 0.03);
        assert!(measured.metrics["rows_per_s"] * measured.metrics["seconds"] < 50_000_000.0);
    }

    #[test]
    fn an_unknown_workload_protocol_or_engine_is_an_outcome_with_the_reason() {
        let directory = tempfile::tempdir().unwrap();
        let good = spec(directory.path(), &[]);
        let unknown = TrialSpec { workload: "juggling".to_owned(), ..good.clone() };
        assert!(outcome(&unknown).problem().unwrap().contains("juggling"));
        let newer = TrialSpec { protocol: PROTOCOL + 1, ..good.clone() };
        assert!(outcome(&newer).problem().unwrap().contains("version"));
        let missing = TrialSpec { engine: "/no/such/library.so".to_owned(), ..good };
        assert!(outcome(&missing).problem().unwrap().contains("/no/such/library.so"));
    }

    #[test]
    fn junk_instead_of_a_specification_is_answered_in_the_protocol() {
        let mut output = Vec::new();
        drive("junk".as_bytes(), &mut output).unwrap();
        let message: Message = serde_json::from_slice(&output).unwrap();
        assert!(matches!(message, Message::Outcome(Outcome::Failed { .. })));
    }
}

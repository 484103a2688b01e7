//! What crashes can destroy under the settings of a variant: the crash laboratory as a workload.
//!
//! The work is recorded, crashed and recovered in memory, so it says nothing of the disk at hand and
//! its time is of no interest but to plan with. The settings are first applied to a file of the
//! trial's own and read back, and what SQLite answers there is what is tried: levels that the variant
//! leaves to the engine are the engine's own.

mod found;
mod passes;
mod schedules;

use std::path::Path;
use std::time::Duration;

use crash::{CrashSettings, Model, Plan};
use engine::{Origin, Source};
use lab::catalogue::{Accepts, Parameter, WorkloadInfo};
use lab::level::{Level, Settings};
use lab::tier::{ModelSafety, Safety, Schedules, Tier, WORKLOAD};
use lab::trial::{Measured, ReadBack};

use self::schedules::Extent;
use super::common::{Stopwatch, close, from, parameter, refuse_counting, set};
use super::{Trial, Workload};
use crate::error::TrialError;
use crate::settings::Reader;
use crate::target::sqlite;

/// The workload `crash`.
pub(super) struct Crash;

/// Images under each model where nothing else is asked for.
const IMAGES: i64 = 2_000;

/// Schedules of each scenario where nothing else is asked for.
const SCHEDULES: i64 = 20;

/// The part of a time limit that schedules take.
const SCHEDULES_SHARE: f64 = 0.2;

/// Of so many images the recovery is crashed as well.
const SECOND_CRASH_EVERY: u64 = 16;

/// The settings that the crash laboratory can try.
const TRIED: [&str; 4] = ["journal_mode", "synchronous", "locking_mode", "page_size"];

/// Settings that a crash trial may name besides those, as long as they have this level: it is what
/// they are without being named.
const UNCHANGED: [(&str, Level); 2] = [
    ("fullfsync", Level::Bool(false)),
    ("checkpoint_fullfsync", Level::Bool(false)),
];

impl Workload for Crash {
    fn info(&self) -> WorkloadInfo {
        WorkloadInfo {
            name: WORKLOAD.to_owned(),
            about: "tries what crashes can destroy: a workload is recorded, storage models say what of it a crash leaves, the engine recovers that (docs/tiers.md)"
                .to_owned(),
            parameters: parameters(),
            phases: Vec::new(),
            counts: false,
        }
    }

    fn run(&self, trial: &mut Trial<'_>) -> Result<Measured, TrialError> {
        refuse_counting(trial, "crashes are tried in memory, not on files")?;
        check_settings(trial.settings)?;
        let reader = Reader(trial.settings);
        let (images, stop_after_ms) = (reader.count("images")?, reader.count("stop_after_ms")?);
        let for_schedules = (stop_after_ms as f64 * SCHEDULES_SHARE) as usize;
        let stop_after_ms = stop_after_ms - for_schedules;
        let extent = Extent {
            each: reader.count("schedules")?,
            limit: (stop_after_ms > 0).then(|| Duration::from_millis(for_schedules as u64)),
            seed: trial.seed,
        };
        (trial.phase)("read the settings back");
        let mut measured = Measured::default();
        let path = trial.directory.join("settings.db");
        close(sqlite::open(trial, &path)?, Some(&path), &mut measured)?;
        let variant = variant(&measured.connections, reader.flag("psow")?)?;
        let plan = Plan {
            variants: vec![variant],
            models: Model::ALL.to_vec(),
            images: images.max(1),
            second_crash_every: SECOND_CRASH_EVERY,
            seed: trial.seed,
            engine: source(&trial.library.identity().origin),
            script: None,
            threads: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
        };
        (trial.phase)("play schedules of two connections");
        let schedules = schedules::play(&trial.library, &variant, trial.directory, &extent);
        (trial.phase)("crash and recover");
        let watch = Stopwatch::start()?;
        let (found, judged) = passes::measure(plan, stop_after_ms)?;
        let elapsed = watch.stop()?;
        let connections = measured.connections;
        let mut measured = figures(elapsed.times(), &found);
        set(
            &mut measured,
            "images_per_s",
            judged as f64 / elapsed.seconds,
        );
        set_schedules(&mut measured, &schedules);
        measured.tables = found::witnesses(&found).into_iter().collect();
        measured.safety = found;
        measured.schedules = Some(schedules);
        measured.connections = connections;
        check_result(&measured)?;
        Ok(measured)
    }
}

fn parameters() -> Vec<Parameter> {
    vec![
        parameter(
            "images",
            Accepts::Int {
                min: 1,
                max: 100_000_000,
            },
            IMAGES.into(),
            "images to look at under each storage model; models with fewer states have fewer",
        ),
        parameter(
            "schedules",
            Accepts::Int {
                min: 0,
                max: 100_000_000,
            },
            SCHEDULES.into(),
            "schedules of two connections to play of each scenario of the journal mode; 0 for none",
        ),
        parameter(
            "psow",
            Accepts::Bool,
            true.into(),
            "whether SQLite is told that overwriting is powersafe, as it assumes unless psow=0 is in the URI of the database",
        ),
        parameter(
            "stop_after_ms",
            from(0),
            0.into(),
            "begin with few images and schedules and take more as long as this time is not passed; 0 for all of them at once",
        ),
    ]
}

/// Refuses settings that would be left out of account.
fn check_settings(settings: &Settings) -> Result<(), TrialError> {
    for (name, level) in settings {
        let own = parameters().iter().any(|parameter| parameter.name == *name);
        let tried = TRIED.contains(&name.as_str());
        let unchanged = UNCHANGED
            .iter()
            .any(|(known, usual)| known == name && usual == level)
            || sqlite::connection_settings()
                .iter()
                .any(|known| known.name == *name && known.default.as_ref() == Some(level));
        if !own && !tried && !unchanged {
            return Err(TrialError::CannotRun(format!(
                "crashes are tried with {}; `{name} = {level}` would be left out of account",
                TRIED.join(", ")
            )));
        }
    }
    Ok(())
}

/// The variant as SQLite answers it.
fn variant(
    connections: &[ReadBack],
    powersafe_overwrite: bool,
) -> Result<CrashSettings, TrialError> {
    let answer = |name: &str| -> Result<&str, TrialError> {
        let pragmas = connections.first().map(|connection| &connection.pragmas);
        pragmas
            .and_then(|pragmas| pragmas.get(name))
            .map(String::as_str)
            .ok_or_else(|| {
                TrialError::CannotRun(format!("this engine does not answer PRAGMA {name}"))
            })
    };
    let unknown = |error: &dyn std::fmt::Display| TrialError::CannotRun(error.to_string());
    Ok(CrashSettings {
        journal_mode: answer("journal_mode")?
            .parse()
            .map_err(|error| unknown(&error))?,
        synchronous: answer("synchronous")?
            .parse()
            .map_err(|error| unknown(&error))?,
        locking_mode: answer("locking_mode")?
            .parse()
            .map_err(|error| unknown(&error))?,
        page_size: answer("page_size")?
            .parse()
            .map_err(|error| unknown(&error))?,
        powersafe_overwrite,
    })
}

/// The library of the trial, to be loaded again by each thread.
fn source(origin: &Origin) -> Source {
    match origin {
        Origin::Embedded => Source::Embedded,
        Origin::System(path) | Origin::File(path) => Source::Path(path.clone()),
    }
}

/// What was counted under the models inside SQLite's assumptions about hardware.
fn figures(mut measured: Measured, found: &[ModelSafety]) -> Measured {
    let safety = Safety::of(found.to_vec());
    let inside = safety.models.iter().filter(|model| model.assumed);
    let (mut bad, mut losing, mut most) = (0, 0, 0);
    for model in inside {
        match model.tier {
            Tier::CanCorrupt { bad: more, .. } => bad += more,
            Tier::LosesCommits {
                losing: more,
                most: lost,
                ..
            } => {
                losing += more;
                most = most.max(lost);
            }
            Tier::NoViolation { .. }
            | Tier::CorruptsUncrashed { .. }
            | Tier::NotMeasured { .. } => {}
        }
    }
    let images: u64 = safety.models.iter().map(|model| model.tier.images()).sum();
    for (metric, value) in [
        ("images", images),
        ("bad_images", bad),
        ("losing_images", losing),
        ("lost_commits", most),
    ] {
        set(&mut measured, metric, value as f64);
    }
    measured
}

/// Schedules count as figures only where they were played.
fn set_schedules(measured: &mut Measured, schedules: &Schedules) {
    if let Schedules::Played { played, wrong, .. } = schedules {
        set(measured, "schedules", *played as f64);
        set(measured, "wrong_schedules", *wrong as f64);
    }
}

/// A trial that looked at nothing is no measurement, and a tier without a witness no proof.
fn check_result(measured: &Measured) -> Result<(), TrialError> {
    if let Some(Tier::NotMeasured { why }) = all_unmeasured(measured) {
        return Err(TrialError::CannotRun(why));
    }
    for model in &measured.safety {
        if matches!(model.tier, Tier::CanCorrupt { .. }) && model.witness.is_none() {
            return Err(TrialError::WrongResult {
                what: format!("the witness of corruption under {}", model.model),
                found: "none".to_owned(),
                wanted: "an image".to_owned(),
            });
        }
    }
    Ok(())
}

/// The reason why no model at all was measured.
fn all_unmeasured(measured: &Measured) -> Option<Tier> {
    let none = measured
        .safety
        .iter()
        .all(|model| model.tier.class().is_none());
    let first = measured.safety.first().map(|model| model.tier.clone());
    none.then(|| first.unwrap_or_else(|| Tier::not_measured("no storage model was tried")))
}

/// The path of a library as a command takes it.
fn engine_name(source: &Source) -> String {
    let quoted = |path: &Path| match path.to_str() {
        Some(plain) if !plain.contains(|c: char| c.is_whitespace() || "'\"\\$`".contains(c)) => {
            plain.to_owned()
        }
        _ => format!("'{}'", path.display().to_string().replace('\'', r"'\''")),
    };
    match source {
        Source::Path(path) => quoted(path),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::common::tests::{problem, run};
    use super::*;
    use lab::tier::Class;

    fn tried(over: &[(&str, Level)]) -> Measured {
        let few = [("images", Level::Int(150))];
        let settings: Vec<(&str, Level)> = few.iter().chain(over).cloned().collect();
        run(WORKLOAD, &settings).unwrap()
    }

    #[test]
    fn without_a_journal_and_syncs_databases_are_corrupted_and_there_is_a_witness() {
        let measured = tried(&[
            ("journal_mode", "off".into()),
            ("synchronous", "off".into()),
        ]);
        let safety = Safety::of(measured.safety.clone());
        assert_eq!(safety.tier.class(), Some(Class::CanCorrupt));
        assert!(measured.metrics["bad_images"] > 0.0);
        assert_eq!(measured.safety.len(), Model::ALL.len());
        let witnesses = &measured.tables[0];
        assert!(!witnesses.rows.is_empty());
        let commands = witnesses.rows.iter().map(|row| row.last().unwrap());
        for command in commands {
            assert!(
                command.starts_with("pragmark crash --journal-mode off --synchronous off"),
                "{command}"
            );
        }
    }

    #[test]
    fn what_the_variant_leaves_open_is_what_the_engine_has() {
        let measured = tried(&[]);
        let pragmas = &measured.connections[0].pragmas;
        assert_eq!(
            (&pragmas["journal_mode"][..], &pragmas["synchronous"][..]),
            ("delete", "full")
        );
        let kill = measured.safety.iter().find(|model| model.model == "kill");
        assert_eq!(kill.unwrap().tier.class(), Some(Class::NoViolation));
    }

    #[test]
    fn schedules_are_played_where_two_connections_can_meet() {
        let told = |over: &[(&str, Level)]| tried(over).schedules.unwrap();
        let Schedules::Played { played, wrong, .. } = told(&[("journal_mode", "wal".into())])
        else {
            panic!("not played");
        };
        assert!(played >= 100 && wrong == 0, "{wrong} of {played}");
        for (over, reason) in [
            (("journal_mode", "off"), "no scenario"),
            (("locking_mode", "exclusive"), "no second connection"),
        ] {
            let schedules = told(&[(over.0, over.1.into())]);
            assert!(
                matches!(&schedules, Schedules::NotMeasured { why } if why.contains(reason)),
                "{schedules:?}"
            );
        }
    }

    #[test]
    fn what_sqlite_is_told_of_overwriting_changes_what_it_promises() {
        let destroyed = |psow: bool| {
            let settings = [
                ("journal_mode", Level::from("wal")),
                ("synchronous", "full".into()),
                ("psow", psow.into()),
            ];
            let mut models = tried(&settings).safety.into_iter();
            models
                .find(|model| model.model == "non-powersafe-overwrite")
                .unwrap()
        };
        assert!(!destroyed(true).assumed && destroyed(false).assumed);
        assert_eq!(destroyed(false).tier.class(), Some(Class::NoViolation));
    }

    #[test]
    fn the_same_seed_gives_the_same_findings() {
        let settings = [
            ("journal_mode", "wal".into()),
            ("synchronous", "normal".into()),
        ];
        assert_eq!(tried(&settings).safety, tried(&settings).safety);
    }

    #[test]
    fn with_a_time_limit_more_images_are_taken_than_at_first() {
        let settings = [
            ("images", Level::Int(100_000_000)),
            ("stop_after_ms", Level::Int(1)),
        ];
        let measured = run(WORKLOAD, &settings).unwrap();
        assert!(measured.metrics["images"] > 0.0);
        assert!(measured.metrics["images"] < 100_000.0);
    }

    #[test]
    fn settings_that_would_be_left_out_of_account_are_refused() {
        let why = problem(WORKLOAD, &[("cache_size", Level::Int(10))]);
        assert!(why.contains("`cache_size = 10` would be left out"), "{why}");
        let why = problem(WORKLOAD, &[("fullfsync", Level::Bool(true))]);
        assert!(why.contains("fullfsync"), "{why}");
        let why = problem(WORKLOAD, &[("transaction", "immediate".into())]);
        assert!(why.contains("transaction"), "{why}");
    }
}

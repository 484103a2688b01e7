//! Losses in crashes under the settings of a variant: the crash laboratory as a workload.
//!
//! The work is recorded, crashed and recovered in memory, so it says nothing of the disk at hand and
//! its time is of no interest but to plan with. The settings are first applied to a file of the
//! trial's own and read back, and what SQLite answers there is what is tried: levels that the variant
//! leaves to the engine are the engine's own.

mod findings;
mod kill;
mod meetings;
mod own;
pub use own::crash_script;
mod schedules;
mod settings;
mod traffic;

use crash::Plan;
use engine::{Origin, Source};
use lab::tier::{Counts, Loss, ModelSafety, OnOccasion, Schedules, WORKLOAD};

use self::findings::Trailed;
pub(super) use self::kill::Kill;
pub(super) use self::meetings::Meetings;
use self::own::Own;
use self::settings::Parameters;
use super::replay::stand_in;
use crate::workload::prelude::*;

/// The workload `crash`.
pub(super) struct Crash;

impl Declared for Crash {
    const NAME: &'static str = WORKLOAD;
    const METRIC: &'static str = "images_per_s";
    const ABOUT: &'static str = "tries what crashes can destroy: a workload is recorded, storage models say what of it a crash leaves, the engine recovers that (docs/crash.md)";
    const MEASURES: Measures = Measures::CrashImages;
    const COUNTS: bool = false;
    type Parameters = Parameters;

    fn run(trial: &mut Trial<'_>, parameters: &Parameters) -> Result<Measured> {
        stand_in(&trial.library, &parameters.stand_in)?;
        if trial.library.encrypts() {
            let why = "storage models cannot read the pages of an engine that encrypts them";
            return Err(TrialError::CannotRun(why.to_owned()));
        }
        let (mut variant, connections) = settings::read_back::<Parameters>(trial, parameters.psow)?;
        let own = Own::read(trial, parameters, &mut variant)?;
        let models = parameters.models()?;
        let trailed = Trailed::begin(trial.directory, &models)?;
        let plan = Plan {
            image_bytes: (parameters.image_mb > 0).then_some((parameters.image_mb as u64) << 20),
            second_crash_every: parameters.second_crash_every as u64,
            seed: trial.seed,
            engine: source(&trial.library.identity().origin),
            stand_ins: parameters.stand_in.clone(),
            script: own.as_ref().map(|own| own.script.clone()),
            initial: own.as_ref().and_then(|own| own.initial.clone()),
            threads: parameters.threads(),
            isolation: trailed.isolation.clone(),
            ..Plan::new(vec![variant], models, parameters.images)
        };
        (trial.phase)("play schedules of two connections");
        let each = parameters.schedules;
        let schedules = schedules::run(&trial.library, &variant, trial.directory, each, trial.seed);
        (trial.phase)("crash and recover");
        let watch = Stopwatch::start()?;
        let found = findings::measure(&plan, own.as_ref(), trial.artifacts)?;
        let elapsed = watch.stop()?;
        let mut measured = figures(elapsed.times(), &found.safety);
        let images_per_s = found.judged as f64 / elapsed.seconds;
        set(&mut measured, "images_per_s", images_per_s);
        set_schedules(&mut measured, &schedules);
        let about = own.and_then(|own| own.about(found.own.as_ref(), &variant));
        measured.tables = about.into_iter().chain(own::witnesses(&found.safety)).collect();
        measured.safety = found.safety;
        measured.artifacts = found.artifacts;
        measured.schedules = found.damage.or((each > 0).then_some(schedules));
        measured.connections = connections;
        check_result(&measured)?;
        Ok(measured)
    }
}

/// The library of the trial, to be loaded again by each thread.
fn source(origin: &Origin) -> Source {
    match origin {
        Origin::Embedded => Source::Embedded,
        Origin::System(path) | Origin::File(path) => Source::Path(path.clone()),
    }
}

/// Returns the counts under the models inside SQLite's assumptions about hardware, rare occasions
/// included.
fn figures(mut measured: Measured, found: &[ModelSafety]) -> Measured {
    let inside = found.iter().filter(|model| model.assumed);
    let counts = inside.filter_map(|model| model.whole().counts());
    let all = counts.reduce(Counts::plus).unwrap_or_default();
    let judged = found.iter().filter_map(|model| model.whole().counts());
    let images: u64 = judged.map(|counts| counts.images).sum();
    for (metric, value) in [
        ("images", images),
        ("bad_images", all.corrupt),
        ("losing_images", all.losing),
        ("lost_commits", all.most),
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
fn check_result(measured: &Measured) -> Result<()> {
    if let Some(Schedules::Alone { .. }) = measured.schedules {
        return Ok(());
    }
    if let Some(why) = why_unmeasured(measured) {
        return Err(TrialError::CannotRun(why));
    }
    for model in &measured.safety {
        let corrupts = model.ordinary.loss() == Some(Loss::Corruption) && model.witness.is_none();
        let rarely = |on: &OnOccasion| on.counts.corrupt > 0 && on.witness.is_none();
        if corrupts || model.occasions.iter().any(rarely) {
            let what = format!("the witness of corruption under {}", model.model);
            return Err(TrialError::wrong(what, "none", "an image"));
        }
    }
    Ok(())
}

/// The reason why no model at all was measured; `None` if one was.
fn why_unmeasured(measured: &Measured) -> Option<String> {
    if measured.safety.iter().any(|model| model.worst().is_some()) {
        return None;
    }
    let why = measured.safety.first().and_then(|model| model.ordinary.why_not());
    Some(why.unwrap_or("no storage model was tried").to_owned())
}

#[cfg(test)]
mod tests;

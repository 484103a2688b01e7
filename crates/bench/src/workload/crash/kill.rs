//! Processes that are killed while they write, as a workload: an accident that really happens, on the file
//! system that is measured.

use crash::kill::{self, COMMAND, Outcome};
use crash::{CrashSettings, Model, documented};
use lab::tier::{Accident, Counts, KILL, Losses, ModelSafety};
use lab::trial::Artifact;

use super::settings;
use crate::workload::prelude::*;

/// The workload `kill`.
pub(in super::super) struct Kill;

parameters! {
    /// The parameters of one trial.
    #[derive(Clone, Copy, Debug)]
    struct Parameters {
        /// Processes to kill while they write.
        kills: usize = 100, 1..;
    }
}

impl Declared for Kill {
    const NAME: &'static str = KILL;
    const ABOUT: &'static str = "kills processes while they write, at random moments, and checks what they leave (docs/crash.md)";
    const MEASURES: Measures = Measures::Kills;
    const COUNTS: bool = false;
    type Parameters = Parameters;

    fn run(trial: &mut Trial<'_>, parameters: &Parameters) -> Result<Measured> {
        let (variant, connections) = settings::read_back::<Parameters>(trial, true)?;
        let program = std::env::current_exe()
            .map_err(|error| TrialError::CannotRun(format!("cannot find this program: {error}")))?;
        let plan = kill::Plan {
            program,
            arguments: vec![COMMAND.into()],
            engine: super::source(&trial.library.identity().origin),
            settings: variant,
            kills: parameters.kills as u64,
            seed: trial.seed.0,
            folder: trial.directory.to_owned(),
            keep: trial.artifacts.map(Into::into),
        };
        (trial.phase)("write and kill");
        let outcome = kill::run(&plan).map_err(TrialError::because)?;
        let mut measured = Measured { connections, ..Measured::default() };
        record(&outcome, &variant, &mut measured);
        Ok(measured)
    }
}

fn record(outcome: &Outcome, variant: &CrashSettings, measured: &mut Measured) {
    for (metric, count) in [
        ("kills", outcome.kills),
        ("unfinished_kills", outcome.unfinished),
        ("checked_databases", outcome.checked),
        ("acknowledged_commits", outcome.acknowledged),
    ] {
        set(measured, metric, count as f64);
    }
    let losing = outcome.findings.iter().filter(|finding| finding.damage.is_loss()).count() as u64;
    let bad = outcome.findings.len() as u64 - losing;
    let lost = outcome.findings.iter();
    let most = lost.filter_map(|finding| finding.damage.lost()).max();
    // What shows the worse of both.
    let mut damages = outcome.findings.iter().filter(|finding| !finding.damage.is_loss());
    let first = damages.next().or(outcome.findings.first());
    measured.safety = vec![ModelSafety {
        ordinary: Losses::of(Counts::of(outcome.kills, bad, losing, most.unwrap_or_default())),
        adds_up: true,
        documented: documented(variant, Model::Kill),
        witness: first.map(|finding| format!("kill {}: {}", finding.kill, finding.damage)),
        ..ModelSafety::not_measured("killed process", Accident::Process, true, "")
    }];
    let kept = outcome.findings.iter().filter_map(|finding| {
        let name = finding.kept.as_ref()?.file_name()?;
        Some(Artifact {
            path: name.into(),
            about: format!("the database after kill {}: {}", finding.kill, finding.damage),
        })
    });
    measured.artifacts = kept.collect();
}

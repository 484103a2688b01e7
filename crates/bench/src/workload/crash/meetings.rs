//! Two connections at the same instant, as a workload: every scenario of the journal mode of a variant.

use std::num::NonZero;
use std::sync::atomic::AtomicBool;

use accidents::schedule::{Explored, Extent, explore_all};
use lab::catalogue::{Parameter, WorkloadInfo};
use lab::tier::{ModelSafety, SCHEDULES, Schedules, Tier, WrongSchedule};
use lab::trial::{DataTable, Measured};

use super::super::common::{from, parameter, refuse_counting, set};
use super::super::{Trial, Workload};
use super::again::engine_name;
use super::settings;
use crate::error::TrialError;
use crate::settings::Reader;

/// The workload `schedules`.
pub(in super::super) struct Meetings;

/// Default number of schedules of each scenario.
const EACH: i64 = 20_000;

fn parameters() -> Vec<Parameter> {
    vec![parameter(
        "schedules",
        from(1),
        EACH.into(),
        "schedules to play of each scenario at most",
    )]
}

impl Workload for Meetings {
    fn info(&self) -> WorkloadInfo {
        WorkloadInfo {
            name: SCHEDULES.to_owned(),
            about: "lets two connections meet at every instant, which finds damage that needs no crash (docs/crash-safety.md)"
                .to_owned(),
            parameters: parameters(),
            phases: Vec::new(),
            counts: false,
        }
    }

    fn run(&self, trial: &mut Trial<'_>) -> Result<Measured, TrialError> {
        refuse_counting(trial, "schedules are not timed")?;
        settings::check(trial.settings, &parameters())?;
        let given = settings::with_defaults(trial.settings, &parameters());
        let (variant, connections) = settings::read_back(trial, true)?;
        let extent = Extent {
            limit: Reader(&given).count("schedules")? as u64,
            seed: trial.seed.0,
            threads: std::thread::available_parallelism().map_or(1, NonZero::get),
        };
        (trial.phase)("play schedules of two connections");
        let mode = variant.journal_mode.name();
        let explored = explore_all(
            &trial.library,
            trial.directory,
            extent,
            |_, of| of == mode,
            &AtomicBool::new(false),
            |_| {},
        )
        .map_err(|error| TrialError::CannotRun(error.to_string()))?;
        if explored.is_empty() {
            let why = format!("there is no scenario for journal_mode={mode}");
            return Err(TrialError::CannotRun(why));
        }
        let mut measured = Measured {
            connections,
            tables: vec![table(&explored)],
            ..Measured::default()
        };
        let engine = engine_name(&super::source(&trial.library.identity().origin));
        record(&explored, &engine, &mut measured);
        Ok(measured)
    }
}

fn record(explored: &[Explored], engine: &str, measured: &mut Measured) {
    let played = explored.iter().map(|scenario| scenario.played).sum();
    let wrong = explored.iter().map(|scenario| scenario.wrong).sum();
    let first = explored
        .iter()
        .find_map(|scenario| scenario.findings.first());
    let first = first.map(|finding| WrongSchedule {
        again: format!(
            "pragmark crash --schedule {} --engine {engine}",
            finding.schedule
        ),
        what: finding.what.join("; "),
        schedule: finding.schedule.clone(),
    });
    measured.safety = vec![ModelSafety {
        model: "two connections".to_owned(),
        assumed: true,
        tier: Tier::of_counts(played, wrong, 0, 0),
        adds_up: false,
        documented: None,
        witness: first.as_ref().map(|first| first.what.clone()),
        again: first.as_ref().map(|first| first.again.clone()),
        narrowed: None,
        cause: None,
    }];
    let schedules = Schedules::Played {
        played,
        wrong,
        first,
    };
    super::set_schedules(measured, &schedules);
    set(measured, "scenarios", explored.len() as f64);
    measured.schedules = Some(schedules);
}

fn table(explored: &[Explored]) -> DataTable {
    let rows = explored.iter().map(|scenario| {
        vec![
            format!("{}/{}", scenario.scenario, scenario.journal_mode),
            scenario.what.to_owned(),
            scenario.calls.to_string(),
            scenario.played.to_string(),
            scenario.wrong.to_string(),
            scenario.verdict(),
        ]
    });
    DataTable {
        title: "scenarios of two connections".to_owned(),
        columns: ["scenario", "what", "calls", "schedules", "wrong", "verdict"]
            .map(str::to_owned)
            .into(),
        rows: rows.collect(),
    }
}

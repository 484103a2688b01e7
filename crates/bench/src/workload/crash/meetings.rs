//! Two connections at the same instant, as a workload: every scenario of the journal mode of a variant.

use crash::schedule::{Extent, Scenario, ScenarioResult, explore_all};
use lab::tier::{SCHEDULES, Schedules};

use super::schedules::wrong_schedule;
use super::settings;
use crate::workload::prelude::*;

/// The workload `schedules`.
pub(in super::super) struct Meetings;

parameters! {
    /// The parameters of one trial.
    #[derive(Clone, Copy, Debug)]
    struct Parameters {
        /// Maximum number of schedules per scenario.
        schedules: usize = 20_000, 1..;
    }
}

impl Declared for Meetings {
    const NAME: &'static str = SCHEDULES;
    const ABOUT: &'static str = "lets two connections meet at every instant, which finds damage that needs no crash (docs/crash.md)";
    const MEASURES: Measures = Measures::Schedules;
    const COUNTS: bool = false;
    type Parameters = Parameters;

    fn run(trial: &mut Trial<'_>, parameters: &Parameters) -> Result<Measured> {
        if trial.library.encrypts() {
            let why = "schedules cannot read the pages of an engine that encrypts them";
            return Err(TrialError::CannotRun(why.to_owned()));
        }
        let (variant, connections) = settings::read_back::<Parameters>(trial, true)?;
        let extent = Extent {
            all_up_to: parameters.schedules as u64,
            sample: parameters.schedules as u64,
            seed: trial.seed.0,
            threads: settings::processors(),
        };
        (trial.phase)("play schedules of two connections");
        let mode = variant.journal_mode.name();
        let is_of_mode = |_: &Scenario, of: &str| of == mode;
        let explored = explore_all(&trial.library, trial.directory, extent, is_of_mode)
            .map_err(TrialError::because)?;
        if explored.is_empty() {
            let why = format!("there is no scenario for journal_mode={mode}");
            return Err(TrialError::CannotRun(why));
        }
        let mut measured =
            Measured { connections, tables: vec![table(&explored)], ..Measured::default() };
        let played = explored.iter().map(|scenario| scenario.played).sum();
        let wrong = explored.iter().map(|scenario| scenario.wrong).sum();
        let first = explored.iter().find_map(|scenario| scenario.findings.first());
        let first = first.map(|finding| wrong_schedule(finding, &trial.library));
        let schedules = Schedules::Played { played, wrong, first };
        super::set_schedules(&mut measured, &schedules);
        set(&mut measured, "scenarios", explored.len() as f64);
        measured.schedules = Some(schedules);
        Ok(measured)
    }
}

fn table(explored: &[ScenarioResult]) -> DataTable {
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
    let columns = ["scenario", "what", "calls", "schedules", "wrong", "verdict"];
    DataTable::new("scenarios of two connections", &columns, rows)
}

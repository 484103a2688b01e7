//! Trials out of the table of an export, to compare them with others.

use std::collections::BTreeMap;

use lab::design::Role;
use lab::environment::Covariates;
use lab::metric::METRICS;
use lab::record::{Purpose, TrialRecord};
use lab::runs::RunDigest;
use lab::trial::{Measured, Outcome};

use super::cells::plain;
use super::trials;

/// All roles.
const ROLES: [Role; 5] =
    [Role::Baseline, Role::AaCheck, Role::Variant, Role::UpperBound, Role::Counting];

/// The run in a table of trials, narrow or wide, as [`super::TrialsCsv`] writes it. `name` stands for its id. It has figures
/// alone: no machine, engines, settings or statements.
///
/// # Errors
/// It is no such table; or it leaves open which trials were compared with one another.
pub fn run_of_trials_csv(name: &str, text: &str) -> Result<RunDigest, String> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let head = reader.headers().map_err(|error| error.to_string())?.clone();
    let (mut metrics, mut trials) = (Vec::new(), Vec::new());
    for (place, row) in (0..).zip(reader.records()) {
        let cells = row.map_err(|error| error.to_string())?;
        let row = Row { head: &head, cells: &cells };
        let trial = row.trial(place)?;
        let metric = plain(row.cell("metric")?).to_owned();
        if !metrics.iter().any(|(key, _)| *key == trial.experiment) {
            metrics.push((trial.experiment.clone(), metric));
        }
        trials.push(trial);
    }
    if !head.iter().any(|name| name == "block") {
        check_blocks(&trials)?;
    }
    RunDigest::of_trials(name, &metrics, trials)
}

/// Refuses rounds with several blocks where the table does not say which trial was in which.
fn check_blocks(trials: &[TrialRecord]) -> Result<(), String> {
    let mut baselines: BTreeMap<(&str, u32), usize> = BTreeMap::new();
    let is_timed =
        |trial: &&TrialRecord| trial.purpose == Purpose::Rounds && trial.role == Role::Baseline;
    for it in trials.iter().filter(is_timed) {
        *baselines.entry((&it.experiment, it.round)).or_default() += 1;
    }
    let several = baselines.iter().find(|(_, count)| **count > 1);
    several.map_or(Ok(()), |((experiment, _), _)| {
        Err(format!(
            "{experiment} has several blocks in a round, and the table has no column `block`; export it with --wide"
        ))
    })
}

/// One row.
struct Row<'a> {
    head: &'a csv::StringRecord,
    cells: &'a csv::StringRecord,
}

impl<'a> Row<'a> {
    /// The cell of a column that the table may lack.
    fn optional(&self, column: &str) -> Option<&'a str> {
        let place = self.head.iter().position(|name| name == column)?;
        self.cells.get(place)
    }

    fn cell(&self, column: &str) -> Result<&'a str, String> {
        let missing = || format!("it is no table of trials: there is no column `{column}`");
        self.optional(column).ok_or_else(missing)
    }

    /// The number in a column, or the one for a table without it.
    fn number(&self, column: &str, without: u32) -> Result<u32, String> {
        let Some(text) = self.optional(column) else {
            return Ok(without);
        };
        text.parse().map_err(|_| format!("`{text}` in the column `{column}` is no number"))
    }

    /// The trial; `place` is its position where the table has none.
    fn trial(&self, place: u32) -> Result<TrialRecord, String> {
        self.cell("round")?;
        Ok(TrialRecord {
            purpose: purpose_of(self.cell("purpose")?)?,
            experiment: plain(self.cell("experiment")?).to_owned(),
            round: self.number("round", 0)?,
            block: self.number("block", 0)?,
            position: self.number("position", place)?,
            variant: plain(self.cell("variant")?).to_owned(),
            role: role_of(self.cell("role")?)?,
            agent: None,
            started: String::new(),
            wall_s: 0.0,
            covariates: Covariates::default(),
            outcome: self.outcome()?,
        })
    }

    fn outcome(&self) -> Result<Outcome, String> {
        let why = plain(self.optional("problem").unwrap_or_default());
        outcome(self.cell("outcome")?, why, || {
            Ok(Measured { metrics: self.metrics()?, ..Measured::default() })
        })
    }

    /// The figures: that of the experiment's metric, and in a wide table all others.
    fn metrics(&self) -> Result<BTreeMap<String, f64>, String> {
        let figure = |name: &str, text: &str| {
            let value = text.parse::<f64>().ok().filter(|value| value.is_finite());
            let value = value.ok_or_else(|| format!("`{text}` is no figure of {name}"))?;
            Ok((name.to_owned(), value))
        };
        let own = (plain(self.cell("metric")?), self.cell("figure")?);
        let known = METRICS.iter();
        let known = known.filter_map(|metric| Some((metric.name, self.optional(metric.name)?)));
        let more = plain(self.optional("more").unwrap_or_default());
        let more = more.split(';').filter_map(|entry| entry.split_once('='));
        let all = std::iter::once(own).chain(known).chain(more);
        let filled = all.filter(|(_, text)| !text.is_empty());
        filled.map(|(name, text)| figure(name, text)).collect()
    }
}

fn unknown(column: &str, text: &str) -> String {
    format!("`{text}` in the column `{column}` is not known")
}

/// The purpose with this name in a table.
pub(super) fn purpose_of(name: &str) -> Result<Purpose, String> {
    let known = Purpose::ALL.into_iter();
    let mut known = known.filter(|it| trials::purpose(*it) == name);
    known.next().ok_or_else(|| unknown("purpose", name))
}

/// The role with this name in a table.
pub(super) fn role_of(name: &str) -> Result<Role, String> {
    let known = ROLES.into_iter().find(|it| trials::role(*it) == name);
    known.ok_or_else(|| unknown("role", name))
}

/// The outcome with this name and this problem.
pub(super) fn outcome(
    name: &str,
    problem: &str,
    measured: impl FnOnce() -> Result<Measured, String>,
) -> Result<Outcome, String> {
    let why = problem.to_owned();
    Ok(match name {
        "measured" => Outcome::Measured(Box::new(measured()?)),
        "skipped" => Outcome::Skipped { why },
        "failed" => Outcome::Failed { why },
        "timed_out" => Outcome::TimedOut {
            limit_s: trials::time_limit(problem)
                .ok_or_else(|| format!("`{problem}` in the column `problem` is no time limit"))?,
        },
        other => return Err(unknown("outcome", other)),
    })
}

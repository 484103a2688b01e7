//! Runs out of exports, to compare them with others: a CSV table of trials, or the tables of a database.

use std::collections::{BTreeMap, HashMap};

use lab::comparison::{OfTables, RunDigest};
use lab::design::Role;
use lab::environment::Covariates;
use lab::metric::METRICS;
use lab::record::{Purpose, TrialRecord};
use lab::trial::{Measured, Outcome};
use serde::de::DeserializeOwned;

use super::columns::{Datum, plain, time_limit};
use super::tables::{ENVIRONMENT, EXPERIMENT, FIGURE, RUN, TABLES, TRIAL, TableRow};

/// Reads the run in a table of trials, narrow or wide, as [`super::TrialsCsv`] writes it. `name` stands for its id. It has figures
/// alone: no machine, engines, settings or statements.
///
/// # Errors
/// It is not such a table, or it leaves open which trials were compared with one another.
pub fn run_of_trials_csv(name: &str, text: &str) -> Result<RunDigest, String> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let head = reader.headers().map_err(|error| error.to_string())?.clone();
    let (mut metrics, mut trials) = (Vec::new(), Vec::new());
    for (place, row) in (0..).zip(reader.records()) {
        let cells = row.map_err(|error| error.to_string())?;
        let row = CsvRow { head: &head, cells: &cells };
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

/// Refuses rounds with several blocks if the table does not say which trial was in which.
fn check_blocks(trials: &[TrialRecord]) -> Result<(), String> {
    let mut baselines: BTreeMap<(&str, u32), usize> = BTreeMap::new();
    let is_timed =
        |trial: &&TrialRecord| trial.purpose == Purpose::Rounds && trial.role == Role::Baseline;
    for trial in trials.iter().filter(is_timed) {
        *baselines.entry((&trial.experiment, trial.round)).or_default() += 1;
    }
    let several = baselines.iter().find(|(_, count)| **count > 1);
    several.map_or(Ok(()), |((experiment, _), _)| {
        Err(format!(
            "{experiment} has several blocks in a round, and the table has no column `block`; export it with --wide"
        ))
    })
}

/// One row.
struct CsvRow<'a> {
    head: &'a csv::StringRecord,
    cells: &'a csv::StringRecord,
}

impl<'a> CsvRow<'a> {
    /// Returns the cell of a column that the table may lack.
    fn optional(&self, column: &str) -> Option<&'a str> {
        let place = self.head.iter().position(|name| name == column)?;
        self.cells.get(place)
    }

    fn cell(&self, column: &str) -> Result<&'a str, String> {
        let missing = || format!("it is not a table of trials: there is no column `{column}`");
        self.optional(column).ok_or_else(missing)
    }

    /// Returns the number in a column, or `without` for a table without it.
    fn number(&self, column: &str, without: u32) -> Result<u32, String> {
        let Some(text) = self.optional(column) else { return Ok(without) };
        text.parse().map_err(|_| format!("`{text}` in the column `{column}` is not a number"))
    }

    /// Returns the trial; `place` is its position if the table has none.
    fn trial(&self, place: u32) -> Result<TrialRecord, String> {
        self.cell("round")?;
        Ok(TrialRecord {
            purpose: named("purpose", self.cell("purpose")?)?,
            experiment: plain(self.cell("experiment")?).to_owned(),
            round: self.number("round", 0)?,
            block: self.number("block", 0)?,
            position: self.number("position", place)?,
            variant: plain(self.cell("variant")?).to_owned(),
            role: named("role", self.cell("role")?)?,
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

    /// Returns the figure in the experiment's metric, and in a wide table all others.
    fn metrics(&self) -> Result<BTreeMap<String, f64>, String> {
        let figure = |name: &str, text: &str| {
            let value = text.parse::<f64>().ok().filter(|value| value.is_finite());
            let value = value.ok_or_else(|| format!("`{text}` is not a figure of {name}"))?;
            Ok((name.to_owned(), value))
        };
        let own = (plain(self.cell("metric")?), self.cell("figure")?);
        let known = METRICS.iter();
        let known = known.filter_map(|metric| Some((metric.name, self.optional(metric.name)?)));
        let more = plain(self.optional("more").unwrap_or_default());
        let more = more.split(';').filter_map(|entry| entry.split_once('='));
        let all = std::iter::once(own).chain(known).chain(more);
        all.filter(|(_, text)| !text.is_empty()).map(|(name, text)| figure(name, text)).collect()
    }
}

fn unknown(column: &str, text: &str) -> String {
    format!("`{text}` in the column `{column}` is not known")
}

/// Returns the purpose or the role with this name in a table.
fn named<T: DeserializeOwned>(column: &str, name: &str) -> Result<T, String> {
    serde_json::from_value(name.into()).map_err(|_| unknown(column, name))
}

/// Returns the outcome with this name and this problem.
fn outcome(
    name: &str,
    problem: &str,
    measured: impl FnOnce() -> Result<Measured, String>,
) -> Result<Outcome, String> {
    let why = problem.to_owned();
    Ok(match name {
        "measured" => Outcome::Measured(Box::new(measured()?)),
        "skipped" => Outcome::Skipped { why },
        "failed" => Outcome::failed(why),
        "timed_out" => Outcome::TimedOut {
            limit_s: time_limit(problem)
                .ok_or_else(|| format!("`{problem}` in the column `problem` is no time limit"))?,
        },
        other => return Err(unknown("outcome", other)),
    })
}

/// Tables that make a run, in the order in which [`RunOfTables::add`] needs their rows.
pub const NEEDED_TABLES: [usize; 5] = [RUN, ENVIRONMENT, EXPERIMENT, TRIAL, FIGURE];

/// A run that is built of the rows that [`super::run_rows`] and [`super::trial_rows`] make. It has figures,
/// machine and engines; the settings of its variants, their statements and disturbed blocks are in no table.
#[derive(Default)]
pub struct RunOfTables {
    id: String,
    created: String,
    known: OfTables,
    /// The metric and the workload of each experiment.
    experiments: Vec<(String, [String; 2])>,
    trials: Vec<TrialRecord>,
    /// The place of each trial by its number.
    places: HashMap<i64, usize>,
}

/// A row with the number of its table.
struct TableCells<'a> {
    table: usize,
    cells: &'a [Datum],
}

impl TableCells<'_> {
    fn cell(&self, column: &str) -> Result<&Datum, String> {
        let form = &TABLES[self.table];
        let place = form.columns.iter().position(|known| known.0 == column);
        let cell = place.and_then(|place| self.cells.get(place));
        cell.ok_or_else(|| format!("a row of the table {} has no {column}", form.name))
    }

    /// Returns a text, empty if there is none.
    fn text(&self, column: &str) -> Result<String, String> {
        match self.cell(column)? {
            Datum::Text(text) => Ok(text.clone()),
            Datum::None => Ok(String::new()),
            other => Err(self.wrong(column, other)),
        }
    }

    fn integer(&self, column: &str) -> Result<i64, String> {
        match self.cell(column)? {
            Datum::Integer(number) => Ok(*number),
            other => Err(self.wrong(column, other)),
        }
    }

    fn small(&self, column: &str) -> Result<u32, String> {
        let number = self.integer(column)?;
        u32::try_from(number).map_err(|_| self.wrong(column, &Datum::Integer(number)))
    }

    /// Returns a finite number.
    fn real(&self, column: &str) -> Result<f64, String> {
        match self.cell(column)? {
            Datum::Real(number) if number.is_finite() => Ok(*number),
            Datum::Integer(number) => Ok(*number as f64),
            other => Err(self.wrong(column, other)),
        }
    }

    fn wrong(&self, column: &str, datum: &Datum) -> String {
        let table = TABLES[self.table].name;
        format!("{datum:?} in the column {column} of the table {table} is not what it should be")
    }
}

impl RunOfTables {
    /// Adds a row of one of [`NEEDED_TABLES`]; figures after the trials that have them.
    ///
    /// # Errors
    /// A cell has another type than its column.
    pub fn add(&mut self, (table, cells): &TableRow) -> Result<(), String> {
        let row = TableCells { table: *table, cells };
        match *table {
            RUN => {
                self.id = row.text("run")?;
                self.created = row.text("created")?;
                self.known.is_complete = row.integer("complete")? != 0;
            }
            ENVIRONMENT => {
                let fact = (row.text("name")?, row.text("value")?);
                self.known.facts.push(fact);
            }
            EXPERIMENT => {
                let about = [row.text("metric")?, row.text("workload")?];
                self.experiments.push((row.text("experiment")?, about));
            }
            TRIAL => self.add_trial(&row)?,
            FIGURE => self.add_figure(&row)?,
            _ => {}
        }
        Ok(())
    }

    fn add_trial(&mut self, row: &TableCells<'_>) -> Result<(), String> {
        self.places.insert(row.integer("trial")?, self.trials.len());
        let (purpose, role) = (row.text("purpose")?, row.text("role")?);
        self.trials.push(TrialRecord {
            agent: None,
            purpose: named("purpose", &purpose)?,
            experiment: row.text("experiment")?,
            round: row.small("round")?,
            block: row.small("block")?,
            position: row.small("position")?,
            variant: row.text("variant")?,
            role: named("role", &role)?,
            started: row.text("started")?,
            wall_s: row.real("wall_s")?,
            covariates: Covariates::default(),
            outcome: outcome(&row.text("outcome")?, &row.text("problem")?, || {
                Ok(Measured::default())
            })?,
        });
        Ok(())
    }

    fn add_figure(&mut self, row: &TableCells<'_>) -> Result<(), String> {
        let number = row.integer("trial")?;
        let place = self.places.get(&number);
        let trial = place.and_then(|place| self.trials.get_mut(*place));
        let trial = trial.ok_or_else(|| format!("there is no trial {number}"))?;
        if let Outcome::Measured(measured) = &mut trial.outcome {
            let figure = row.real("value")?;
            measured.metrics.insert(row.text("metric")?, figure);
        }
        Ok(())
    }

    /// Returns the run.
    ///
    /// # Errors
    /// As [`RunDigest::of_trials`].
    pub fn finish(self) -> Result<RunDigest, String> {
        let metrics = self.experiments.iter();
        let metrics = metrics.map(|(key, [metric, _])| (key.clone(), metric.clone()));
        let metrics: Vec<(String, String)> = metrics.collect();
        let mut run = RunDigest::of_trials(&self.id, &metrics, self.trials)?;
        run.plan.created = self.created;
        let workloads: BTreeMap<String, String> =
            self.experiments.into_iter().map(|(key, [_, workload])| (key, workload)).collect();
        for experiment in &mut run.experiments {
            let workload = workloads.get(&experiment.key);
            experiment.workload = workload.cloned().unwrap_or_default();
        }
        run.of_tables = Some(self.known);
        Ok(run)
    }
}

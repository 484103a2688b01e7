//! Runs out of the tables of an export, to compare them with others.

use std::collections::{BTreeMap, HashMap};

use lab::environment::Covariates;
use lab::record::TrialRecord;
use lab::runs::{OfTables, RunDigest};
use lab::trial::{Measured, Outcome};

use super::read_trials::{outcome, purpose_of, role_of};
use super::tables::{ENVIRONMENT, EXPERIMENT, FIGURE, RUN, TABLES, TRIAL};
use super::{Datum, TableRow};

/// The tables of which a run is made, in the order in which [`RunOfTables::add`] needs their rows.
pub const NEEDED_TABLES: [usize; 5] = [RUN, ENVIRONMENT, EXPERIMENT, TRIAL, FIGURE];

/// A run of which rows are added one by one: those that [`super::run_rows`] and [`super::trial_rows`] make. It has figures,
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

/// A row with the names of its columns.
struct Row<'a> {
    table: usize,
    cells: &'a [Datum],
}

impl Row<'_> {
    fn cell(&self, column: &str) -> Result<&Datum, String> {
        let form = &TABLES[self.table];
        let place = form.columns.iter().position(|known| known.0 == column);
        let cell = place.and_then(|place| self.cells.get(place));
        cell.ok_or_else(|| format!("a row of the table {} has no {column}", form.name))
    }

    /// A text; an empty one where there is none.
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

    /// A finite number.
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
    /// A cell is not what its column says.
    pub fn add(&mut self, (table, cells): &TableRow) -> Result<(), String> {
        let row = Row { table: *table, cells };
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

    fn add_trial(&mut self, row: &Row<'_>) -> Result<(), String> {
        self.places.insert(row.integer("trial")?, self.trials.len());
        let (purpose, role) = (row.text("purpose")?, row.text("role")?);
        self.trials.push(TrialRecord {
            agent: None,
            purpose: purpose_of(&purpose)?,
            experiment: row.text("experiment")?,
            round: row.small("round")?,
            block: row.small("block")?,
            position: row.small("position")?,
            variant: row.text("variant")?,
            role: role_of(&role)?,
            started: row.text("started")?,
            wall_s: row.real("wall_s")?,
            covariates: Covariates::default(),
            outcome: outcome(&row.text("outcome")?, &row.text("problem")?, || {
                Ok(Measured::default())
            })?,
        });
        Ok(())
    }

    fn add_figure(&mut self, row: &Row<'_>) -> Result<(), String> {
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

    /// The run.
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

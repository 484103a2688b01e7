//! A run as tables for databases and notebooks: one row for each thing, with every digit and the texts as they are.
//!
//! Figures are in the base unit of their metric. `docs/lists/tables.md` describes the columns; a test compares both.

use lab::analysis::{ExperimentAnalysis, VariantAnalysis};
use lab::claims::Judged;
use lab::comparison::RunDigest;
use lab::record::TrialRecord;
use lab::text::word;
use lab::trial::Outcome;
use tuning::Analysis;

use super::csv_tables::ended;

/// Type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A whole number.
    Integer,
    /// A number.
    Real,
    /// A text.
    Text,
    /// Yes or no.
    Boolean,
}

/// A value in a row.
#[derive(Clone, Debug, PartialEq)]
pub enum Datum {
    /// There is none.
    None,
    /// A whole number; of yes or no, 1 or 0.
    Integer(i64),
    /// A number.
    Real(f64),
    /// A text.
    Text(String),
}

/// A table.
#[derive(Clone, Copy, Debug)]
pub struct TableForm {
    /// Its name.
    pub name: &'static str,
    /// The names and kinds of its columns.
    pub columns: &'static [(&'static str, Kind)],
}

/// A row of the table with this index among [`TABLES`].
pub type TableRow = (usize, Vec<Datum>);

pub(super) const RUN: usize = 0;
pub(super) const ENVIRONMENT: usize = 1;
pub(super) const EXPERIMENT: usize = 2;
pub(super) const TRIAL: usize = 3;
pub(super) const FIGURE: usize = 4;
const ESTIMATE: usize = 5;
const CLAIM: usize = 6;

use Kind::{Boolean, Integer, Real, Text};

/// All tables.
pub const TABLES: [TableForm; 7] = [
    TableForm {
        name: "run",
        columns: &[
            ("run", Text),
            ("created", Text),
            ("pragmark", Text),
            ("scale", Text),
            ("seed", Text),
            ("engine", Text),
            ("complete", Boolean),
        ],
    },
    TableForm { name: "environment", columns: &[("run", Text), ("name", Text), ("value", Text)] },
    TableForm {
        name: "experiment",
        columns: &[
            ("run", Text),
            ("experiment", Text),
            ("question", Text),
            ("workload", Text),
            ("directory", Text),
            ("metric", Text),
            ("rounds", Integer),
            ("dropped_blocks", Integer),
            ("preliminary", Boolean),
        ],
    },
    TableForm {
        name: "trial",
        columns: &[
            ("run", Text),
            ("trial", Integer),
            ("experiment", Text),
            ("purpose", Text),
            ("round", Integer),
            ("block", Integer),
            ("position", Integer),
            ("variant", Text),
            ("role", Text),
            ("started", Text),
            ("wall_s", Real),
            ("disturbed", Boolean),
            ("outcome", Text),
            ("problem", Text),
        ],
    },
    TableForm {
        name: "figure",
        columns: &[("run", Text), ("trial", Integer), ("metric", Text), ("value", Real)],
    },
    TableForm {
        name: "estimate",
        columns: &[
            ("run", Text),
            ("experiment", Text),
            ("variant", Text),
            ("metric", Text),
            ("baseline", Boolean),
            ("median", Real),
            ("min", Real),
            ("max", Real),
            ("sd", Real),
            ("trials", Integer),
            ("ratio", Real),
            ("low", Real),
            ("high", Real),
            ("level", Real),
            ("detectable", Real),
            ("preliminary", Boolean),
            ("groups", Text),
        ],
    },
    TableForm {
        name: "claim",
        columns: &[
            ("run", Text),
            ("experiment", Text),
            ("claim", Text),
            ("says", Text),
            ("verdict", Text),
            ("figure", Real),
            ("low", Real),
            ("high", Real),
            ("bound_low", Real),
            ("bound_high", Real),
            ("published", Real),
            ("why", Text),
        ],
    },
];

impl From<&str> for Datum {
    fn from(text: &str) -> Datum {
        Datum::Text(text.to_owned())
    }
}

impl From<&String> for Datum {
    fn from(text: &String) -> Datum {
        Datum::Text(text.clone())
    }
}

impl From<bool> for Datum {
    fn from(value: bool) -> Datum {
        Datum::Integer(value.into())
    }
}

impl From<Option<f64>> for Datum {
    fn from(value: Option<f64>) -> Datum {
        value.map_or(Datum::None, Datum::Real)
    }
}

fn integer(value: impl TryInto<i64>) -> Datum {
    value.try_into().map_or(Datum::None, Datum::Integer)
}

fn optional(text: &str) -> Datum {
    if text.is_empty() { Datum::None } else { text.into() }
}

/// Returns the rows of a trial, the `number`th of its run, from 0.
pub fn trial_rows(run: &str, number: u64, record: &TrialRecord) -> Vec<TableRow> {
    let (outcome, problem) = ended(&record.outcome);
    let trial = [
        ("run", run.into()),
        ("trial", integer(number)),
        ("experiment", (&record.experiment).into()),
        ("purpose", word(record.purpose).as_str().into()),
        ("round", integer(record.round)),
        ("block", integer(record.block)),
        ("position", integer(record.position)),
        ("variant", (&record.variant).into()),
        ("role", word(record.role).as_str().into()),
        ("started", (&record.started).into()),
        ("wall_s", Datum::Real(record.wall_s)),
        ("disturbed", record.covariates.disturbance().is_some().into()),
        ("outcome", outcome.into()),
        ("problem", optional(&problem)),
    ];
    let mut rows = vec![row(TRIAL, trial)];
    if let Outcome::Measured(measured) = &record.outcome {
        rows.extend(measured.metrics.iter().map(|(metric, value)| {
            let value = Datum::Real(*value);
            let trial = integer(number);
            let (run, metric) = (run.into(), metric.into());
            row(FIGURE, [("run", run), ("trial", trial), ("metric", metric), ("value", value)])
        }));
    }
    rows
}

/// Returns the rows of a run without its trials.
pub fn run_rows(analysis: &Analysis) -> Vec<TableRow> {
    let (plan, run) = (&analysis.plan, analysis.plan.id.as_str());
    let of_run = [
        ("run", run.into()),
        ("created", (&plan.created).into()),
        ("pragmark", (&plan.pragmark).into()),
        ("scale", plan.scale.to_string().as_str().into()),
        ("seed", plan.seed.0.to_string().as_str().into()),
        ("engine", (&plan.engine).into()),
        ("complete", analysis.is_complete().into()),
    ];
    let mut rows = vec![row(RUN, of_run)];
    rows.extend(RunDigest::from(analysis.clone()).facts().into_iter().map(|(name, value)| {
        let (name, value) = (Datum::Text(name), Datum::Text(value));
        row(ENVIRONMENT, [("run", run.into()), ("name", name), ("value", value)])
    }));
    for experiment in &analysis.experiments {
        let of_experiment = [
            ("run", run.into()),
            ("experiment", (&experiment.key).into()),
            ("question", (&experiment.question).into()),
            ("workload", (&experiment.workload).into()),
            ("directory", experiment.directory.to_string_lossy().as_ref().into()),
            ("metric", (&experiment.metric).into()),
            ("rounds", integer(experiment.rounds)),
            ("dropped_blocks", integer(experiment.dropped_blocks)),
            ("preliminary", experiment.preliminary.into()),
        ];
        rows.push(row(EXPERIMENT, of_experiment));
        for variant in &experiment.variants {
            rows.extend(estimate_rows(run, experiment, variant));
        }
        rows.extend(experiment.claims.iter().map(|judged| claim_row(run, experiment, judged)));
    }
    rows
}

/// Returns a row for each metric; only the experiment's own metric has a ratio to the baseline.
fn estimate_rows(
    run: &str,
    experiment: &ExperimentAnalysis,
    variant: &VariantAnalysis,
) -> Vec<TableRow> {
    let rows = variant.summaries.iter().map(|(metric, summary)| {
        let is_own = *metric == experiment.metric;
        let effect = variant.effect.as_ref().filter(|_| is_own);
        let estimate = effect.map(|effect| &effect.estimate);
        let interval = estimate.map(|estimate| estimate.interval);
        let preliminary = estimate.map(|estimate| estimate.preliminary);
        let row_of_metric = [
            ("run", run.into()),
            ("experiment", (&experiment.key).into()),
            ("variant", (&variant.label).into()),
            ("metric", metric.into()),
            ("baseline", variant.baseline.into()),
            ("median", Datum::Real(summary.median)),
            ("min", Datum::Real(summary.range.low)),
            ("max", Datum::Real(summary.range.high)),
            ("sd", summary.sd.into()),
            ("trials", integer(summary.n)),
            ("ratio", estimate.map(|estimate| estimate.centre).into()),
            ("low", finite(interval.map(|interval| interval.low))),
            ("high", finite(interval.map(|interval| interval.high))),
            ("level", estimate.map(|estimate| estimate.level).into()),
            ("detectable", estimate.map(|estimate| estimate.detectable).into()),
            ("preliminary", preliminary.map_or(Datum::None, Datum::from)),
            ("groups", optional(if is_own { &variant.groups } else { "" })),
        ];
        row(ESTIMATE, row_of_metric)
    });
    rows.collect()
}

fn claim_row(run: &str, experiment: &ExperimentAnalysis, judged: &Judged) -> TableRow {
    let of_claim = [
        ("run", run.into()),
        ("experiment", (&experiment.key).into()),
        ("claim", (&judged.claim.id).into()),
        ("says", (&judged.claim.says).into()),
        ("verdict", judged.verdict.to_string().as_str().into()),
        ("figure", judged.figure.into()),
        ("low", finite(judged.interval.map(|interval| interval.low))),
        ("high", finite(judged.interval.map(|interval| interval.high))),
        ("bound_low", judged.bounds.low.into()),
        ("bound_high", judged.bounds.high.into()),
        ("published", judged.claim.published.into()),
        ("why", optional(judged.why.as_deref().unwrap_or_default())),
    ];
    row(CLAIM, of_claim)
}

/// Makes a row of cells with the names of their columns, which must be the columns of the table in its order.
fn row<const N: usize>(table: usize, cells: [(&str, Datum); N]) -> TableRow {
    let names = TABLES[table].columns.iter().map(|(name, _)| *name);
    debug_assert!(names.eq(cells.iter().map(|(name, _)| *name)), "{}", TABLES[table].name);
    (table, cells.map(|(_, datum)| datum).into())
}

/// Returns the end of an interval; none if it is not bounded.
fn finite(end: Option<f64>) -> Datum {
    end.filter(|end| end.is_finite()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documentation_has_every_column_of_every_table() {
        let text = include_str!("../../../../docs/lists/tables.md");
        for table in TABLES {
            let heading = format!("| **{}** |", table.name);
            let start = text.find(&heading).unwrap_or_else(|| panic!("{heading}"));
            let rest = &text[start + heading.len()..];
            let ends = [rest.find("| **"), rest.find("\n\n")];
            let end = ends.into_iter().flatten().min().unwrap_or(rest.len());
            let documented = rest[..end].lines().filter_map(|line| {
                let cells: Vec<&str> = line.split('|').map(str::trim).collect();
                cells.get(2).map(|cell| cell.trim_matches('`').to_owned())
            });
            let documented: Vec<String> =
                documented.filter(|documented| !documented.is_empty()).collect();
            let names: Vec<&str> = table.columns.iter().map(|(name, _)| *name).collect();
            assert_eq!(documented[documented.len() - names.len()..], names);
        }
    }
}

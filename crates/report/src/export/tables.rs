//! A run as tables for databases and notebooks: one row for each thing, with every digit and the texts as they are.
//!
//! Figures are in the base unit of their metric. `docs/data.md` describes the columns; a test compares both.

use lab::analysis::{ExperimentAnalysis, VariantAnalysis};
use lab::claims::Judged;
use lab::record::TrialRecord;
use lab::runs::RunDigest;
use lab::trial::Outcome;
use tuning::Analysis;

use super::trials::{ended, purpose, role};

/// What a column contains.
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

/// The rows of a trial, which has this number among those of its run, from 0.
pub fn trial_rows(run: &str, number: u64, record: &TrialRecord) -> Vec<TableRow> {
    let (outcome, problem) = ended(&record.outcome);
    let trial = vec![
        run.into(),
        integer(number),
        (&record.experiment).into(),
        purpose(record.purpose).into(),
        integer(record.round),
        integer(record.block),
        integer(record.position),
        (&record.variant).into(),
        role(record.role).into(),
        (&record.started).into(),
        Datum::Real(record.wall_s),
        record.covariates.disturbance().is_some().into(),
        outcome.into(),
        optional(&problem),
    ];
    let figures = match &record.outcome {
        Outcome::Measured(measured) => Some(&measured.metrics),
        _ => None,
    };
    let figures = figures.into_iter().flatten().map(|(metric, value)| {
        let row = vec![run.into(), integer(number), metric.into(), Datum::Real(*value)];
        (FIGURE, row)
    });
    std::iter::once((TRIAL, trial)).chain(figures).collect()
}

/// The rows of a run but for its trials.
pub fn run_rows(analysis: &Analysis) -> Vec<TableRow> {
    let (plan, run) = (&analysis.plan, analysis.plan.id.as_str());
    let row = vec![
        run.into(),
        (&plan.created).into(),
        (&plan.pragmark).into(),
        plan.scale.to_string().as_str().into(),
        plan.seed.0.to_string().as_str().into(),
        (&plan.engine).into(),
        analysis.is_complete().into(),
    ];
    let facts = RunDigest::from(analysis.clone()).facts();
    let facts = facts.into_iter().map(|(name, value)| {
        let row = vec![run.into(), Datum::Text(name), Datum::Text(value)];
        (ENVIRONMENT, row)
    });
    let experiments = analysis.experiments.iter();
    let experiments = experiments.flat_map(|experiment| experiment_rows(run, experiment));
    let rows = std::iter::once((RUN, row));
    rows.chain(facts).chain(experiments).collect()
}

fn experiment_rows(run: &str, experiment: &ExperimentAnalysis) -> Vec<TableRow> {
    let row = vec![
        run.into(),
        (&experiment.key).into(),
        (&experiment.question).into(),
        (&experiment.workload).into(),
        experiment.directory.to_string_lossy().as_ref().into(),
        (&experiment.metric).into(),
        integer(experiment.rounds),
        integer(experiment.dropped_blocks),
        experiment.preliminary.into(),
    ];
    let variants = experiment.variants.iter();
    let estimates = variants.flat_map(|variant| estimate_rows(run, experiment, variant));
    let claims = experiment.claims.iter();
    let claims = claims.map(|judged| (CLAIM, claim_row(run, experiment, judged)));
    let rows = std::iter::once((EXPERIMENT, row));
    rows.chain(estimates).chain(claims).collect()
}

/// A row for each metric; the ratio to the baseline is that of the experiment's own.
fn estimate_rows(
    run: &str,
    experiment: &ExperimentAnalysis,
    variant: &VariantAnalysis,
) -> Vec<TableRow> {
    let summaries = variant.summaries.iter();
    let rows = summaries.map(|(metric, it)| {
        let is_own = *metric == experiment.metric;
        let effect = variant.effect.as_ref().filter(|_| is_own);
        let estimate = effect.map(|effect| &effect.estimate);
        let row = vec![
            run.into(),
            (&experiment.key).into(),
            (&variant.label).into(),
            metric.into(),
            variant.baseline.into(),
            Datum::Real(it.median),
            Datum::Real(it.range.low),
            Datum::Real(it.range.high),
            it.sd.into(),
            integer(it.n),
            estimate.map(|estimate| estimate.centre).into(),
            estimate.and_then(|estimate| finite(estimate.interval.low)).into(),
            estimate.and_then(|estimate| finite(estimate.interval.high)).into(),
            estimate.map(|estimate| estimate.level).into(),
            estimate.map(|estimate| estimate.detectable).into(),
            estimate.map_or(Datum::None, |it| it.preliminary.into()),
            optional(if is_own { &variant.groups } else { "" }),
        ];
        (ESTIMATE, row)
    });
    rows.collect()
}

/// The end of an interval; none where it has no end there.
fn finite(value: f64) -> Option<f64> {
    Some(value).filter(|it| it.is_finite())
}

fn claim_row(run: &str, experiment: &ExperimentAnalysis, judged: &Judged) -> Vec<Datum> {
    vec![
        run.into(),
        (&experiment.key).into(),
        (&judged.claim.id).into(),
        (&judged.claim.says).into(),
        judged.verdict.to_string().as_str().into(),
        judged.figure.into(),
        judged.interval.and_then(|interval| finite(interval.low)).into(),
        judged.interval.and_then(|interval| finite(interval.high)).into(),
        judged.bounds.low.into(),
        judged.bounds.high.into(),
        judged.claim.published.into(),
        optional(judged.why.as_deref().unwrap_or_default()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documentation_has_every_column_of_every_table() {
        let text = include_str!("../../../../docs/data.md");
        for table in TABLES {
            let heading = format!("| **{}** |", table.name);
            let start = text.find(&heading).unwrap_or_else(|| panic!("{heading}"));
            let rest = &text[start + heading.len()..];
            let end = rest.find("| **").unwrap_or(rest.len());
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

//! CSV tables of an analysis: variants, metrics and claims; and of trials, a row each, written as they come.

use std::collections::HashMap;
use std::io::Write;

use lab::analysis::ExperimentAnalysis;
use lab::metric::METRICS;
use lab::record::{RunPlan, TrialRecord};
use tuning::Analysis;

use super::columns::{
    Column, Columns, TrialRow, VariantRow, claim_columns, more, number, trial_columns,
    variant_columns,
};
use crate::words::{UPPER_BOUND, upper_bound_problem};
use crate::{Error, Result};

/// Writes a whole table into memory.
fn table<R>(
    name: &'static str,
    all: impl IntoIterator<Item = Column<R>>,
    columns: Columns,
    rows: impl Iterator<Item = R>,
) -> Result<String> {
    let failed = Error::csv(name);
    let all: Vec<Column<R>> = all.into_iter().filter(|column| column.is_among(columns)).collect();
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(all.iter().map(|column| column.name)).map_err(&failed)?;
    for row in rows {
        writer.write_record(all.iter().map(|column| column.cell(&row))).map_err(&failed)?;
    }
    let bytes = writer.into_inner().map_err(|error| failed(error.into_error().into()))?;
    // Every cell came from a `String`, and CSV adds ASCII only.
    Ok(String::from_utf8(bytes).expect("text stays text"))
}

/// Returns the variants of a run as CSV, each with its role: `baseline`, `variant`, or `limit` for what bounds the
/// variants and is neither ranked nor compared.
///
/// The columns: median, smallest and largest figure, standard deviation, 95th and 99th percentile over trials and their
/// number in the metric of the experiment (base unit), the ratio to the baseline with its interval at confidence `level`
/// (0 to 1), the detectable difference as a fraction, the rank from 1 and the groups of ranks; then the safety tier, the
/// loss and its counts of images for each accident, and whether the variant belongs to the Pareto set.
///
/// # Errors
/// When the table cannot be built.
pub fn variants_csv(analysis: &Analysis, columns: Columns) -> Result<String> {
    let rows = analysis.experiments.iter().flat_map(|experiment| {
        let variants = experiment.variants.iter().zip(ranks(experiment)).map(|(variant, rank)| {
            VariantRow { rank, ..VariantRow::of_variant(experiment, variant, &experiment.metric) }
        });
        let bounds = experiment.upper_bounds.iter().map(|bound| VariantRow {
            experiment,
            name: &bound.name,
            role: UPPER_BOUND,
            metric: &experiment.metric,
            summary: bound.summary.as_ref(),
            rank: None,
            problem: upper_bound_problem(bound).unwrap_or_default(),
            variant: None,
        });
        variants.chain(bounds)
    });
    table("variants", variant_columns(), columns, rows)
}

/// Returns the rank of each variant from 1; none for variants without a measurement.
fn ranks(experiment: &ExperimentAnalysis) -> Vec<Option<usize>> {
    let mut ranks = vec![None; experiment.variants.len()];
    let ranking = experiment.ranking.iter();
    let measured = ranking.filter(|variant| !experiment.variants[**variant].groups.is_empty());
    for (rank, variant) in (1..).zip(measured) {
        ranks[*variant] = Some(rank);
    }
    ranks
}

/// Returns every metric of every variant of a run as CSV, in its base unit: median, smallest and largest figure,
/// standard deviation, 95th and 99th percentile over trials, and their number.
///
/// # Errors
/// When the table cannot be built.
pub fn metrics_csv(analysis: &Analysis, columns: Columns) -> Result<String> {
    const NAMES: [&str; 11] = [
        "experiment", "variant", "role", "metric", "median", "min", "max", "sd", "p95", "p99", "n",
    ];
    let all = variant_columns().into_iter().filter(|column| NAMES.contains(&column.name));
    let all = all.map(|column| {
        let is_wide = ["min", "max"].contains(&column.name);
        Column { csv: Some(if is_wide { Columns::Wide } else { Columns::Narrow }), ..column }
    });
    let rows = analysis.experiments.iter().flat_map(|experiment| {
        experiment.variants.iter().flat_map(move |variant| {
            let metrics = variant.summaries.keys();
            metrics.map(move |metric| VariantRow::of_variant(experiment, variant, metric))
        })
    });
    table("metrics", all, columns, rows)
}

/// Returns the claims of a run as CSV: verdict, measured figure with its interval at error rate `alpha` (0 to 1), the
/// bounds that confirm, and the published figure or the expected one with its origin. If a claim does not apply,
/// `would_be` is the verdict on its figure. If `unit` names a metric, figures are in its base unit; otherwise they are
/// ratios, or for a spread a ratio less one.
///
/// # Errors
/// When the table cannot be built.
pub fn claims_csv(analysis: &Analysis, columns: Columns) -> Result<String> {
    let rows = analysis
        .experiments
        .iter()
        .flat_map(|experiment| experiment.claims.iter().map(move |judged| (experiment, judged)));
    table("claims", claim_columns(), columns, rows)
}

/// Writes trials as CSV: the trial, its outcome, and its figure in the metric of its experiment.
/// The wide table also has one column for each metric of [`METRICS`], and a last column `more` with every
/// other figure as `name=value;name=value` (metrics of one phase, such as `seconds.index`).
pub struct TrialsCsv<W: Write> {
    writer: csv::Writer<W>,
    /// The metric of each experiment.
    metrics: HashMap<String, String>,
    columns: Columns,
    headed: bool,
}

impl<W: Write> TrialsCsv<W> {
    /// Makes an export of the trials of a run to this writer. The header is written with the first trial, or at the end.
    pub fn new(writer: W, plan: &RunPlan, columns: Columns) -> TrialsCsv<W> {
        let metrics = plan.experiments.iter();
        let metrics =
            metrics.map(|planned| (planned.key.clone(), planned.experiment.metric.clone()));
        let writer = csv::Writer::from_writer(writer);
        TrialsCsv { writer, metrics: metrics.collect(), columns, headed: false }
    }

    /// Writes one trial.
    ///
    /// # Errors
    /// When the writer fails.
    pub fn write(&mut self, record: &TrialRecord) -> Result<()> {
        self.head()?;
        let metric = self.metrics.get(&record.experiment).map_or("", String::as_str);
        let row = TrialRow { record, number: 0, metric };
        let head = trial_columns().into_iter().filter(|column| column.is_among(self.columns));
        let mut cells: Vec<String> = head.map(|column| column.cell(&row)).collect();
        if self.columns == Columns::Wide {
            cells.extend(METRICS.iter().map(|metric| number(row.figure(metric.name))));
            cells.push(more(record));
        }
        self.writer.write_record(&cells).map_err(Error::csv("trials"))
    }

    /// Writes what is still held back and returns the writer. An export without trials has its header, too.
    ///
    /// # Errors
    /// When the writer fails.
    pub fn finish(mut self) -> Result<W> {
        self.head()?;
        let failed = Error::csv("trials");
        self.writer.into_inner().map_err(|error| failed(error.into_error().into()))
    }

    fn head(&mut self) -> Result<()> {
        if std::mem::replace(&mut self.headed, true) {
            return Ok(());
        }
        let head = trial_columns().into_iter().filter(|column| column.is_among(self.columns));
        let mut names: Vec<&str> = head.map(|column| column.name).collect();
        if self.columns == Columns::Wide {
            names.extend(METRICS.iter().map(|metric| metric.name));
            names.push("more");
        }
        self.writer.write_record(names).map_err(Error::csv("trials"))
    }
}

#[cfg(test)]
mod tests {
    use super::super::columns::{narrow, wide};
    use super::*;

    #[test]
    fn a_narrow_table_has_some_columns_in_the_order_of_all() {
        let all = || [narrow("a", |row: &u8| row.to_string().into()), wide("b", |_| "".into())];
        let written = |columns| table("numbers", all(), columns, [7].into_iter()).unwrap();
        assert_eq!(written(Columns::Narrow), "a\n7\n");
        assert_eq!(written(Columns::Wide), "a,b\n7,\n");
    }
}

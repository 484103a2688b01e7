//! CSV tables of an analysis: variants, metrics and claims.
//!
//! A table is a list of columns, and each column has its name next to its cell: a header can neither lack a cell nor stand
//! over another one.
//!
//! One row a trial, written as the trials come.

use std::collections::HashMap;
use std::io::Write;

use lab::analysis::{ExperimentAnalysis, Summary, VariantAnalysis};
use lab::claims::{Judged, Verdict};
use lab::metric::METRICS;
use lab::record::{RunPlan, TrialRecord};
use lab::stats::Estimate;
use lab::text::{one_line, word};
use lab::tier::{Accident, Counts, Losses, Tier, Uncrashed};
use lab::trial::{Measured, Outcome};
use tuning::Analysis;

use crate::words::{UPPER_BOUND, upper_bound_problem};
use crate::{Error, Result};

/// Columns of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Columns {
    /// Those that most readers want.
    Narrow,
    /// All of them.
    Wide,
}

/// A column of a table with rows `R`.
pub(super) struct Column<R> {
    pub(super) name: &'static str,
    /// Whether the narrow table has it.
    is_narrow: bool,
    cell: fn(&R) -> String,
}

impl<R> Column<R> {
    /// Returns whether a table has this column.
    pub(super) fn is_among(&self, columns: Columns) -> bool {
        self.is_narrow || columns == Columns::Wide
    }

    /// Returns the cell of a row.
    pub(super) fn cell(&self, row: &R) -> String {
        (self.cell)(row)
    }
}

/// Makes a column that the narrow table has, too.
pub(super) fn narrow<R>(name: &'static str, cell: fn(&R) -> String) -> Column<R> {
    Column { name, is_narrow: true, cell }
}

/// Makes a column of the wide table.
pub(super) fn wide<R>(name: &'static str, cell: fn(&R) -> String) -> Column<R> {
    Column { name, is_narrow: false, cell }
}

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

/// Writes a number in the shortest form that reads back as the same; empty if there is none or it is not finite.
pub(super) fn number(value: Option<f64>) -> String {
    value.filter(|value| value.is_finite()).map(|value| value.to_string()).unwrap_or_default()
}

const FORMULAS: [char; 8] = ['=', '+', '-', '@', '＝', '＋', '－', '＠'];

/// Writes a text in one line. Spreadsheets take text that begins with one of these characters for a formula
/// (<https://owasp.org/www-community/attacks/CSV_Injection>); an apostrophe before it keeps it a text.
pub(super) fn text(cell: &str) -> String {
    let line = one_line(cell);
    if line.trim_start().starts_with(FORMULAS) { format!("'{line}") } else { line.into_owned() }
}

/// Returns the text of a cell, without the apostrophe that [`text`] put before it.
pub(super) fn plain(cell: &str) -> &str {
    cell.strip_prefix('\'').filter(|rest| rest.trim_start().starts_with(FORMULAS)).unwrap_or(cell)
}

/// A variant with its figures in one metric, or an upper bound.
struct VariantRow<'a> {
    experiment: &'a ExperimentAnalysis,
    name: &'a str,
    role: &'static str,
    metric: &'a str,
    summary: Option<&'a Summary>,
    rank: Option<usize>,
    problem: String,
    /// None for an upper bound, which has figures of its own and no comparison with a variant.
    variant: Option<&'a VariantAnalysis>,
}

impl<'a> VariantRow<'a> {
    fn of_variant(
        experiment: &'a ExperimentAnalysis,
        variant: &'a VariantAnalysis,
        metric: &'a str,
    ) -> VariantRow<'a> {
        let unmeasured = || "not measured in this run".to_owned();
        VariantRow {
            experiment,
            name: &variant.label,
            role: if variant.baseline { "baseline" } else { "variant" },
            metric,
            summary: variant.summaries.get(metric),
            rank: None,
            problem: match &variant.problem {
                None if variant.unmeasured() => unmeasured(),
                problem => problem.clone().unwrap_or_default(),
            },
            variant: Some(variant),
        }
    }

    fn figure(&self, figure: fn(&Summary) -> f64) -> String {
        number(self.summary.map(figure))
    }

    /// Returns a cell that only a variant has.
    fn own(&self, cell: fn(&VariantAnalysis) -> String) -> String {
        self.variant.map(cell).unwrap_or_default()
    }

    /// Returns a figure of the comparison with the baseline.
    fn estimate(&self, figure: fn(&Estimate) -> f64) -> String {
        number(self.variant.and_then(VariantAnalysis::estimate).map(figure))
    }

    fn tier(&self) -> Option<&Tier> {
        Some(&self.variant?.safety.as_ref()?.tier)
    }

    /// Returns the loss in an accident, as the record of a run names it.
    fn loss(&self, accident: Accident) -> String {
        let losses = self.tier().map(|tier| tier.losses(accident));
        match losses.map(Losses::counts) {
            None => String::new(),
            Some(None) => "not_measured".to_owned(),
            Some(Some(counts)) => word(counts.loss()),
        }
    }

    /// Returns a count of crash images of an accident.
    fn images(&self, accident: Accident, count: fn(Counts) -> u64) -> String {
        let counts = self.tier().and_then(|tier| tier.losses(accident).counts());
        counts.map(|counts| count(counts).to_string()).unwrap_or_default()
    }

    /// Returns whether the variant belongs to the Pareto set of speed and safety; empty if no tiers were measured.
    fn pareto(&self) -> String {
        let best = &self.experiment.best_at_tiers;
        self.variant.filter(|_| !best.is_empty()).map_or(String::new(), |variant| {
            let label = |index: usize| &self.experiment.variants[index].label;
            best.iter().any(|best| best.pareto && *label(best.variant) == variant.label).to_string()
        })
    }
}

fn variant_columns<'a>() -> Vec<Column<VariantRow<'a>>> {
    figure_columns().into_iter().chain(tier_columns()).collect()
}

fn figure_columns<'a>() -> [Column<VariantRow<'a>>; 26] {
    [
        narrow("experiment", |row| text(&row.experiment.key)),
        narrow("variant", |row| text(row.name)),
        narrow("role", |row| row.role.to_owned()),
        narrow("metric", |row| text(row.metric)),
        narrow("rank", |row| row.rank.map(|rank| rank.to_string()).unwrap_or_default()),
        narrow("groups", |row| row.own(|variant| variant.groups.clone())),
        narrow("median", |row| row.figure(|summary| summary.median)),
        wide("min", |row| row.figure(|summary| summary.range.low)),
        wide("max", |row| row.figure(|summary| summary.range.high)),
        wide("sd", |row| number(row.summary.and_then(|summary| summary.sd))),
        wide("p95", |row| row.figure(|summary| summary.p95)),
        wide("p99", |row| row.figure(|summary| summary.p99)),
        narrow("n", |row| row.summary.map(|summary| summary.n.to_string()).unwrap_or_default()),
        narrow("ratio", |row| row.estimate(|estimate| estimate.centre)),
        narrow("low", |row| row.estimate(|estimate| estimate.interval.low)),
        narrow("high", |row| row.estimate(|estimate| estimate.interval.high)),
        narrow("level", |row| row.estimate(|estimate| estimate.level)),
        wide("q_value", |row| {
            row.own(|variant| number(variant.effect.as_ref().map(|effect| effect.q_value)))
        }),
        wide("detectable", |row| row.estimate(|estimate| estimate.detectable)),
        narrow("preliminary", |row| {
            let estimate = row.variant.and_then(VariantAnalysis::estimate);
            estimate.map(|estimate| estimate.preliminary.to_string()).unwrap_or_default()
        }),
        wide("measured", |row| row.own(|variant| variant.trials.measured.to_string())),
        wide("skipped", |row| row.own(|variant| variant.trials.skipped.to_string())),
        wide("failed", |row| row.own(|variant| variant.trials.failed.to_string())),
        wide("timed_out", |row| row.own(|variant| variant.trials.timed_out.to_string())),
        narrow("problem", |row| text(&row.problem)),
        wide("sqlite", |row| {
            row.own(|variant| {
                variant.engine.as_ref().map(|engine| text(&engine.version)).unwrap_or_default()
            })
        }),
    ]
}

fn tier_columns<'a>() -> [Column<VariantRow<'a>>; 14] {
    use Accident::{Power, Process};

    [
        narrow("process_dies", |row| row.loss(Process)),
        wide("process_dies_images", |row| row.images(Process, |counts| counts.images)),
        wide("process_dies_corrupt", |row| row.images(Process, |counts| counts.corrupt)),
        wide("process_dies_losing", |row| row.images(Process, |counts| counts.losing)),
        wide("process_dies_most", |row| row.images(Process, |counts| counts.most)),
        narrow("power_cut", |row| row.loss(Power)),
        wide("power_cut_images", |row| row.images(Power, |counts| counts.images)),
        wide("power_cut_corrupt", |row| row.images(Power, |counts| counts.corrupt)),
        wide("power_cut_losing", |row| row.images(Power, |counts| counts.losing)),
        wide("power_cut_most", |row| row.images(Power, |counts| counts.most)),
        wide("rare_occasions", |row| {
            let rare = row.tier().into_iter().flat_map(|tier| &tier.occasions);
            let rare: Vec<String> = rare.map(|rare| rare.words(|n| n.to_string())).collect();
            text(&rare.join("; "))
        }),
        wide("uncrashed", |row| {
            let uncrashed = row.tier().and_then(|tier| tier.uncrashed.as_ref());
            let shown = uncrashed.map(|uncrashed| match uncrashed {
                Uncrashed::Met { schedule, .. } => text(schedule),
                Uncrashed::Alone { what } => text(what),
            });
            shown.unwrap_or_default()
        }),
        wide("tier_problem", |row| text(row.tier().and_then(Tier::why_not).unwrap_or_default())),
        wide("pareto", VariantRow::pareto),
    ]
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
    let all =
        all.map(|column| Column { is_narrow: !["min", "max"].contains(&column.name), ..column });
    let rows = analysis.experiments.iter().flat_map(|experiment| {
        experiment.variants.iter().flat_map(move |variant| {
            let metrics = variant.summaries.keys();
            metrics.map(move |metric| VariantRow::of_variant(experiment, variant, metric))
        })
    });
    table("metrics", all, columns, rows)
}

/// A claim of an experiment.
struct ClaimRow<'a> {
    experiment: &'a ExperimentAnalysis,
    judged: &'a Judged,
}

fn claim_columns<'a>() -> [Column<ClaimRow<'a>>; 21] {
    [
        narrow("experiment", |row| text(&row.experiment.key)),
        wide("source", |row| optional(row.experiment.source.as_ref())),
        narrow("claim", |row| text(&row.judged.claim.id)),
        narrow("says", |row| text(&row.judged.claim.says)),
        narrow("verdict", |row| verdict_word(row.judged.verdict)),
        narrow("would_be", |row| row.judged.would_be.map(verdict_word).unwrap_or_default()),
        wide("measure", |row| text(&row.judged.measure)),
        wide("unit", |row| optional(row.judged.unit.as_ref())),
        narrow("figure", |row| number(row.judged.figure)),
        narrow("low", |row| number(row.judged.interval.map(|interval| interval.low))),
        narrow("high", |row| number(row.judged.interval.map(|interval| interval.high))),
        wide("alpha", |row| number(row.judged.interval.map(|_| row.judged.alpha))),
        narrow("bound_low", |row| number(row.judged.bounds.low)),
        narrow("bound_high", |row| number(row.judged.bounds.high)),
        wide("bound_because", |row| optional(row.judged.claim.bound_because.as_ref())),
        narrow("published", |row| number(row.judged.claim.published)),
        narrow("expected", |row| number(row.judged.claim.expected.map(|expected| expected.figure))),
        narrow("origin", |row| {
            let expected = row.judged.claim.expected;
            expected.map(|expected| expected.origin.to_string()).unwrap_or_default()
        }),
        wide("rounds", |row| row.judged.rounds.to_string()),
        narrow("preliminary", |row| row.judged.preliminary.to_string()),
        narrow("why", |row| optional(row.judged.why.as_ref())),
    ]
}

fn optional(cell: Option<&String>) -> String {
    text(cell.map_or("", String::as_str))
}

fn verdict_word(verdict: Verdict) -> String {
    verdict.to_string().replace(' ', "_")
}

/// Returns the claims of a run as CSV: verdict, measured figure with its interval at error rate `alpha` (0 to 1), the
/// bounds that confirm, and the published figure or the expected one with its origin. If a claim does not apply,
/// `would_be` is the verdict on its figure. If `unit` names a metric, figures are in its base unit; otherwise they are
/// ratios, or for a spread a ratio less one.
///
/// # Errors
/// When the table cannot be built.
pub fn claims_csv(analysis: &Analysis, columns: Columns) -> Result<String> {
    let rows = analysis.experiments.iter().flat_map(|experiment| {
        experiment.claims.iter().map(move |judged| ClaimRow { experiment, judged })
    });
    table("claims", claim_columns(), columns, rows)
}

/// A trial, and the metric of its experiment.
struct TrialRow<'a> {
    record: &'a TrialRecord,
    metric: &'a str,
}

impl TrialRow<'_> {
    fn figure(&self, metric: &str) -> String {
        let measured = measured(&self.record.outcome);
        number(measured.and_then(|measured| measured.metrics.get(metric).copied()))
    }
}

/// Returns the columns before the metrics.
fn columns<'a>() -> [Column<TrialRow<'a>>; 14] {
    [
        narrow("experiment", |row| text(&row.record.experiment)),
        narrow("purpose", |row| word(row.record.purpose)),
        narrow("round", |row| row.record.round.to_string()),
        wide("block", |row| row.record.block.to_string()),
        wide("position", |row| row.record.position.to_string()),
        narrow("variant", |row| text(&row.record.variant)),
        narrow("role", |row| word(row.record.role)),
        wide("started", |row| text(&row.record.started)),
        wide("wall_s", |row| number(Some(row.record.wall_s))),
        wide("fsync_p50_ns", |row| {
            number(row.record.covariates.fsync_p50_ns.map(|median| median as f64))
        }),
        narrow("outcome", |row| ended(&row.record.outcome).0.to_owned()),
        narrow("problem", |row| text(&ended(&row.record.outcome).1)),
        narrow("metric", |row| text(row.metric)),
        narrow("figure", |row| row.figure(row.metric)),
    ]
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
        let row = TrialRow { record, metric };
        let head = columns().into_iter().filter(|column| column.is_among(self.columns));
        let mut cells: Vec<String> = head.map(|column| column.cell(&row)).collect();
        if self.columns == Columns::Wide {
            cells.extend(METRICS.iter().map(|metric| row.figure(metric.name)));
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
        let head = columns().into_iter().filter(|column| column.is_among(self.columns));
        let mut names: Vec<&str> = head.map(|column| column.name).collect();
        if self.columns == Columns::Wide {
            names.extend(METRICS.iter().map(|metric| metric.name));
            names.push("more");
        }
        self.writer.write_record(names).map_err(Error::csv("trials"))
    }
}

/// Returns the figures of a trial that have no column of their own.
fn more(record: &TrialRecord) -> String {
    let known = |name: &str| METRICS.iter().any(|metric| metric.name == name);
    let figures = measured(&record.outcome).into_iter().flat_map(|measured| &measured.metrics);
    let more = figures.filter(|(name, _)| !known(name));
    let more: Vec<String> = more.map(|(name, value)| format!("{name}={value}")).collect();
    text(&more.join(";"))
}

fn measured(outcome: &Outcome) -> Option<&Measured> {
    match outcome {
        Outcome::Measured(measured) => Some(measured),
        _ => None,
    }
}

/// Returns the outcome as the record names it, and the reason for a missing measurement.
pub(super) fn ended(outcome: &Outcome) -> (&'static str, String) {
    match outcome {
        Outcome::Measured(_) => ("measured", String::new()),
        Outcome::Skipped { why } => ("skipped", why.clone()),
        Outcome::Failed { why, .. } => ("failed", why.clone()),
        Outcome::TimedOut { limit_s } => ("timed_out", format!("{TIME_LIMIT}{limit_s} s")),
    }
}

/// Beginning of the problem of a trial that was stopped at its time limit.
const TIME_LIMIT: &str = "time limit of ";

/// Returns the limit in seconds in the problem of such a trial.
pub(super) fn time_limit(problem: &str) -> Option<f64> {
    problem.strip_prefix(TIME_LIMIT)?.strip_suffix(" s")?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_no_formula_and_numbers_stay_numbers() {
        for formula in ["=1+1", "+1", "-1", "@SUM(A1)", " =1", "\t=1", "\r\n-1", "＝1"] {
            assert_eq!(text(formula), format!("'{}", one_line(formula)));
            assert_eq!(plain(&text(formula)), one_line(formula));
        }
        assert_eq!(text("cache_size=-8000"), "cache_size=-8000");
        assert_eq!(plain("'a' or b"), "'a' or b");
        assert_eq!(text("a\u{1b}\nb"), "a\u{fffd} b");
        assert_eq!(number(Some(-3.5)), "-3.5");
        assert_eq!(number(Some(f64::INFINITY)) + &number(None), "");
    }

    #[test]
    fn a_narrow_table_has_some_columns_in_the_order_of_all() {
        let all = || [narrow("a", |row: &u8| row.to_string()), wide("b", |_| String::new())];
        let written = |columns| table("numbers", all(), columns, [7].into_iter()).unwrap();
        assert_eq!(written(Columns::Narrow), "a\n7\n");
        assert_eq!(written(Columns::Wide), "a,b\n7,\n");
    }
}

//! The columns of exports: what a trial, a variant and a claim have in CSV tables and in the tables of a database.
//!
//! A table is a list of columns, and each column has its name next to its cell: a header can neither lack a cell nor stand
//! over another one.

use lab::analysis::{ExperimentAnalysis, Summary, VariantAnalysis};
use lab::claims::{Judged, Verdict};
use lab::metric::METRICS;
use lab::record::TrialRecord;
use lab::stats::Estimate;
use lab::text::{one_line, word};
use lab::tier::{Accident, Counts, Losses, Tier, Uncrashed};
use lab::trial::{Measured, Outcome};

use Kind::{Boolean, Integer, Real, Text};

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

impl From<&str> for Datum {
    fn from(text: &str) -> Datum {
        Datum::Text(text.to_owned())
    }
}

impl From<String> for Datum {
    fn from(text: String) -> Datum {
        Datum::Text(text)
    }
}

impl From<bool> for Datum {
    fn from(value: bool) -> Datum {
        Datum::Integer(value.into())
    }
}

impl From<f64> for Datum {
    fn from(value: f64) -> Datum {
        Datum::Real(value)
    }
}

impl<T: Into<Datum>> From<Option<T>> for Datum {
    fn from(value: Option<T>) -> Datum {
        value.map_or(Datum::None, Into::into)
    }
}

/// Returns a whole number; none if it is too large for a database.
pub(super) fn integer(value: impl TryInto<i64>) -> Datum {
    value.try_into().map_or(Datum::None, Datum::Integer)
}

/// Columns of a CSV table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Columns {
    /// Those that most readers want.
    Narrow,
    /// All of them.
    Wide,
}

/// A column of tables with rows `R`.
pub(super) struct Column<R> {
    pub(super) name: &'static str,
    /// The smallest CSV table that has it, if any does.
    pub(super) csv: Option<Columns>,
    /// Its kind in the table of a database, if that has it.
    pub(super) kind: Option<Kind>,
    pub(super) datum: fn(&R) -> Datum,
}

impl<R> Column<R> {
    /// Returns whether a CSV table has this column.
    pub(super) fn is_among(&self, columns: Columns) -> bool {
        self.csv.is_some_and(|least| least == Columns::Narrow || columns == Columns::Wide)
    }

    /// Returns the cell of a row in a CSV table.
    pub(super) fn cell(&self, row: &R) -> String {
        match ((self.datum)(row), self.kind) {
            (Datum::None, _) => String::new(),
            (Datum::Integer(value), Some(Boolean)) => (value != 0).to_string(),
            (Datum::Integer(value), _) => value.to_string(),
            (Datum::Real(value), _) => number(Some(value)),
            (Datum::Text(value), _) => text(&value),
        }
    }
}

/// Makes a column that the narrow CSV table has, too.
pub(super) fn narrow<R>(name: &'static str, datum: fn(&R) -> Datum) -> Column<R> {
    Column { name, csv: Some(Columns::Narrow), kind: None, datum }
}

/// Makes a column of the wide CSV table.
pub(super) fn wide<R>(name: &'static str, datum: fn(&R) -> Datum) -> Column<R> {
    Column { name, csv: Some(Columns::Wide), kind: None, datum }
}

/// Adds a column to the table of a database.
fn both<R>(kind: Kind, column: Column<R>) -> Column<R> {
    Column { kind: Some(kind), ..column }
}

/// Makes a column of the table of a database alone.
pub(super) fn stored<R>(name: &'static str, kind: Kind, datum: fn(&R) -> Datum) -> Column<R> {
    Column { name, csv: None, kind: Some(kind), datum }
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

fn optional(text: &str) -> Datum {
    Some(text).filter(|text| !text.is_empty()).into()
}

/// Returns the end of an interval; none if it is not bounded.
fn finite(end: Option<f64>) -> Datum {
    end.filter(|end| end.is_finite()).into()
}

/// A variant with its figures in one metric, or an upper bound.
pub(super) struct VariantRow<'a> {
    pub(super) experiment: &'a ExperimentAnalysis,
    pub(super) name: &'a str,
    pub(super) role: &'static str,
    pub(super) metric: &'a str,
    pub(super) summary: Option<&'a Summary>,
    pub(super) rank: Option<usize>,
    pub(super) problem: String,
    /// None for an upper bound, which has figures of its own and no comparison with a variant.
    pub(super) variant: Option<&'a VariantAnalysis>,
}

impl<'a> VariantRow<'a> {
    pub(super) fn of_variant(
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

    fn figure(&self, figure: fn(&Summary) -> f64) -> Datum {
        self.summary.map(figure).into()
    }

    /// Returns a cell that only a variant has.
    fn own(&self, cell: fn(&VariantAnalysis) -> Datum) -> Datum {
        self.variant.map(cell).into()
    }

    fn is_own_metric(&self) -> bool {
        self.metric == self.experiment.metric
    }

    /// Returns the comparison with the baseline, which is in the metric of the experiment.
    fn estimate(&self) -> Option<&Estimate> {
        self.variant.filter(|_| self.is_own_metric()).and_then(VariantAnalysis::estimate)
    }

    fn tier(&self) -> Option<&Tier> {
        Some(&self.variant?.safety.as_ref()?.tier)
    }

    /// Returns the loss in an accident, as the record of a run names it.
    fn loss(&self, accident: Accident) -> Datum {
        let losses = self.tier().map(|tier| tier.losses(accident));
        let counts = losses.map(Losses::counts);
        counts
            .map(|counts| counts.map_or("not_measured".into(), |counts| word(counts.loss())))
            .into()
    }

    /// Returns a count of crash images of an accident.
    fn images(&self, accident: Accident, count: fn(Counts) -> u64) -> Datum {
        let counts = self.tier().and_then(|tier| tier.losses(accident).counts());
        counts.map(|counts| integer(count(counts))).into()
    }

    /// Returns whether the variant belongs to the Pareto set of speed and safety; empty if no tiers were measured.
    fn pareto(&self) -> Datum {
        let best = &self.experiment.best_at_tiers;
        let belongs = |variant: &VariantAnalysis| {
            let label = |index: usize| &self.experiment.variants[index].label;
            best.iter().any(|best| best.pareto && *label(best.variant) == variant.label).to_string()
        };
        self.variant.filter(|_| !best.is_empty()).map(belongs).into()
    }
}

/// The columns of a variant; in a database, a row is its figures in one metric.
pub(super) fn variant_columns<'a>() -> Vec<Column<VariantRow<'a>>> {
    figure_columns().into_iter().chain(tier_columns()).collect()
}

fn figure_columns<'a>() -> [Column<VariantRow<'a>>; 29] {
    [
        both(Text, narrow("experiment", |row| row.experiment.key.as_str().into())),
        both(Text, narrow("variant", |row| row.name.into())),
        narrow("role", |row| row.role.into()),
        both(Text, narrow("metric", |row| row.metric.into())),
        stored("baseline", Boolean, |row| row.variant.map(|variant| variant.baseline).into()),
        narrow("rank", |row| row.rank.map(integer).into()),
        narrow("groups", |row| row.own(|variant| variant.groups.as_str().into())),
        both(Real, narrow("median", |row| row.figure(|summary| summary.median))),
        both(Real, wide("min", |row| row.figure(|summary| summary.range.low))),
        both(Real, wide("max", |row| row.figure(|summary| summary.range.high))),
        both(Real, wide("sd", |row| row.summary.and_then(|summary| summary.sd).into())),
        wide("p95", |row| row.figure(|summary| summary.p95)),
        wide("p99", |row| row.figure(|summary| summary.p99)),
        narrow("n", |row| row.summary.map(|summary| integer(summary.n)).into()),
        stored("trials", Integer, |row| row.summary.map(|summary| integer(summary.n)).into()),
        both(Real, narrow("ratio", |row| row.estimate().map(|estimate| estimate.centre).into())),
        both(Real, narrow("low", |row| finite(row.estimate().map(|of| of.interval.low)))),
        both(Real, narrow("high", |row| finite(row.estimate().map(|of| of.interval.high)))),
        both(Real, narrow("level", |row| row.estimate().map(|estimate| estimate.level).into())),
        wide("q_value", |row| {
            row.own(|variant| variant.effect.as_ref().map(|effect| effect.q_value).into())
        }),
        both(Real, wide("detectable", |row| row.estimate().map(|of| of.detectable).into())),
        both(Boolean, narrow("preliminary", |row| row.estimate().map(|of| of.preliminary).into())),
        stored("groups", Text, |row| {
            let own = row.variant.filter(|_| row.is_own_metric());
            optional(own.map_or("", |variant| &variant.groups))
        }),
        wide("measured", |row| row.own(|variant| integer(variant.trials.measured))),
        wide("skipped", |row| row.own(|variant| integer(variant.trials.skipped))),
        wide("failed", |row| row.own(|variant| integer(variant.trials.failed))),
        wide("timed_out", |row| row.own(|variant| integer(variant.trials.timed_out))),
        narrow("problem", |row| row.problem.as_str().into()),
        wide("sqlite", |row| {
            row.own(|variant| variant.engine.as_ref().map(|engine| engine.version.as_str()).into())
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
            rare.join("; ").into()
        }),
        wide("uncrashed", |row| {
            let uncrashed = row.tier().and_then(|tier| tier.uncrashed.as_ref());
            let shown = uncrashed.map(|uncrashed| match uncrashed {
                Uncrashed::Met { schedule, .. } => schedule.as_str(),
                Uncrashed::Alone { what } => what,
            });
            shown.into()
        }),
        wide("tier_problem", |row| row.tier().and_then(Tier::why_not).into()),
        wide("pareto", VariantRow::pareto),
    ]
}

/// An experiment, and a claim of it.
pub(super) type Claim<'a> = (&'a ExperimentAnalysis, &'a Judged);

pub(super) fn claim_columns<'a>() -> [Column<Claim<'a>>; 22] {
    [
        both(Text, narrow("experiment", |(experiment, _)| experiment.key.as_str().into())),
        wide("source", |(experiment, _)| experiment.source.as_deref().into()),
        both(Text, narrow("claim", |(_, judged)| judged.claim.id.as_str().into())),
        both(Text, narrow("says", |(_, judged)| judged.claim.says.as_str().into())),
        narrow("verdict", |(_, judged)| verdict_word(judged.verdict)),
        stored("verdict", Text, |(_, judged)| judged.verdict.to_string().into()),
        narrow("would_be", |(_, judged)| judged.would_be.map(verdict_word).into()),
        wide("measure", |(_, judged)| judged.measure.as_str().into()),
        wide("unit", |(_, judged)| judged.unit.as_deref().into()),
        both(Real, narrow("figure", |(_, judged)| judged.figure.into())),
        both(
            Real,
            narrow("low", |(_, judged)| finite(judged.interval.map(|interval| interval.low))),
        ),
        both(
            Real,
            narrow("high", |(_, judged)| finite(judged.interval.map(|interval| interval.high))),
        ),
        wide("alpha", |(_, judged)| judged.interval.map(|_| judged.alpha).into()),
        both(Real, narrow("bound_low", |(_, judged)| judged.bounds.low.into())),
        both(Real, narrow("bound_high", |(_, judged)| judged.bounds.high.into())),
        wide("bound_because", |(_, judged)| judged.claim.bound_because.as_deref().into()),
        both(Real, narrow("published", |(_, judged)| judged.claim.published.into())),
        narrow("expected", |(_, judged)| judged.claim.expected.map(|of| of.figure).into()),
        narrow("origin", |(_, judged)| {
            judged.claim.expected.map(|expected| expected.origin.to_string()).into()
        }),
        wide("rounds", |(_, judged)| integer(judged.rounds)),
        narrow("preliminary", |(_, judged)| judged.preliminary.to_string().into()),
        both(
            Text,
            narrow("why", |(_, judged)| optional(judged.why.as_deref().unwrap_or_default())),
        ),
    ]
}

fn verdict_word(verdict: Verdict) -> Datum {
    verdict.to_string().replace(' ', "_").into()
}

/// A trial, its number in its run, and the metric of its experiment. CSV tables have no number, and databases have figures
/// in a table of their own.
pub(super) struct TrialRow<'a> {
    pub(super) record: &'a TrialRecord,
    pub(super) number: u64,
    pub(super) metric: &'a str,
}

impl TrialRow<'_> {
    pub(super) fn figure(&self, metric: &str) -> Option<f64> {
        measured(&self.record.outcome)?.metrics.get(metric).copied()
    }
}

/// Returns the columns before the metrics.
pub(super) fn trial_columns<'a>() -> [Column<TrialRow<'a>>; 16] {
    [
        stored("trial", Integer, |row| integer(row.number)),
        both(Text, narrow("experiment", |row| row.record.experiment.as_str().into())),
        both(Text, narrow("purpose", |row| word(row.record.purpose).into())),
        both(Integer, narrow("round", |row| integer(row.record.round))),
        both(Integer, wide("block", |row| integer(row.record.block))),
        both(Integer, wide("position", |row| integer(row.record.position))),
        both(Text, narrow("variant", |row| row.record.variant.as_str().into())),
        both(Text, narrow("role", |row| word(row.record.role).into())),
        both(Text, wide("started", |row| row.record.started.as_str().into())),
        both(Real, wide("wall_s", |row| row.record.wall_s.into())),
        wide("fsync_p50_ns", |row| row.record.covariates.fsync_p50_ns.map(integer).into()),
        stored("disturbed", Boolean, |row| row.record.covariates.disturbance().is_some().into()),
        both(Text, narrow("outcome", |row| ended(&row.record.outcome).0.into())),
        both(Text, narrow("problem", |row| optional(&ended(&row.record.outcome).1))),
        narrow("metric", |row| row.metric.into()),
        narrow("figure", |row| row.figure(row.metric).into()),
    ]
}

/// Returns the figures of a trial that have no column of their own.
pub(super) fn more(record: &TrialRecord) -> String {
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
}

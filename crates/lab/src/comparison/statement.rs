//! One statement on both sides: its counters, its plan and its answer.

use std::cmp::Ordering;

use serde::Serialize;

use super::answer::AnswerChange;
use super::figure::{Change, Figure, is_work};
use super::plans::PlanChange;
use super::rows::DifferingRows;
use crate::trial::{Measured, StatementRecord};

/// Metrics by which one statement is compared.
pub(crate) const OF_STATEMENT: [&str; 6] =
    ["executions", "rows_per_call", "vm_steps", "scan_steps", "sorts", "auto_index_rows"];

/// One statement on both sides.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StatementComparison {
    /// Its name.
    pub name: String,
    /// Its text on the base.
    pub sql: String,
    /// Its text on the new side if that differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub new_sql: Option<String>,
    /// Its plan if that changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<PlanChange>,
    /// Its counters, per execution, except `executions` itself.
    pub figures: Vec<Figure>,
    /// Its answers.
    pub answer: AnswerChange,
    /// The rows that differ, if its answers do and their rows were kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows: Option<DifferingRows>,
    /// VM steps of all executions together that the new side needs more than the base; fewer if negative. None where VM
    /// steps do not repeat exactly.
    pub more_steps: Option<f64>,
}

/// Severity of a change of a statement, the gravest last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The same plan and the same counters.
    Same,
    /// Less work, and no counter that grew.
    Less,
    /// Counters changed in both directions, or another plan with the same counters.
    Mixed,
    /// More work.
    More,
    /// A table that was searched is read whole, and that is more work.
    Scan,
    /// Another answer.
    Answer,
}

impl StatementComparison {
    pub(super) fn of(
        [base, new]: [&StatementRecord; 2],
        same_version: bool,
        [base_trials, new_trials]: [&[&Measured]; 2],
    ) -> StatementComparison {
        let figures = OF_STATEMENT.map(|metric| {
            let name = format!("{metric}.{}", base.name);
            Figure::of(metric, &name, base_trials, new_trials)
        });
        let figures: Vec<Figure> = figures.into();
        StatementComparison {
            name: base.name.clone(),
            sql: base.sql.clone(),
            new_sql: (new.sql != base.sql).then(|| new.sql.clone()),
            plan: PlanChange::between(&base.plan, &new.plan, same_version),
            more_steps: more_steps(&figures),
            figures,
            answer: answer_change([base_trials, new_trials], &base.name, |trial| &trial.statements),
            rows: None,
        }
    }

    /// Returns its counter of this metric.
    pub fn figure(&self, metric: &str) -> Option<&Figure> {
        self.figures.iter().find(|figure| figure.metric == metric)
    }

    /// Returns whether it reads a table whole that was searched, and needs more work for it.
    pub fn has_new_scan(&self) -> bool {
        let scans = self.plan.as_ref().is_some_and(|plan| !plan.scans.is_empty());
        let is_worse = self.work().any(|figure| figure.change == Change::Worse);
        scans && is_worse && self.more_steps.is_none_or(|steps| steps > 0.0)
    }

    /// Returns how grave its change is. Changes of less than 0.1 % are none.
    pub fn severity(&self) -> Severity {
        let any = |change: Change| {
            let mut work = self.work();
            work.any(|figure| figure.change == change && !figure.is_negligible())
        };
        let more = self.more_steps.is_some_and(|steps| steps > 0.0);
        match (any(Change::Worse), any(Change::Better)) {
            _ if matches!(self.answer, AnswerChange::Other { .. }) => Severity::Answer,
            (true, _) if self.has_new_scan() => Severity::Scan,
            (true, _) if more => Severity::More,
            (true, false) => Severity::More,
            (true, true) => Severity::Mixed,
            (false, true) => Severity::Less,
            (false, false) if self.plan.is_some() => Severity::Mixed,
            (false, false) => Severity::Same,
        }
    }

    /// Returns whether one of its counters does not repeat exactly.
    pub fn is_inexact(&self) -> bool {
        self.figures.iter().any(|figure| figure.change == Change::NotExact)
    }

    /// Returns the counters that say how much work it is.
    fn work(&self) -> impl Iterator<Item = &Figure> {
        self.figures.iter().filter(|figure| is_work(&figure.metric))
    }

    /// Orders other answers first, then statements by how much their work grew.
    pub(super) fn in_order_of_concern(&self, other: &StatementComparison) -> Ordering {
        let answer = |statement: &StatementComparison| statement.severity() == Severity::Answer;
        let steps = |statement: &StatementComparison| statement.more_steps.unwrap_or(0.0);
        answer(other)
            .cmp(&answer(self))
            .then(steps(other).total_cmp(&steps(self)))
            .then(other.severity().cmp(&self.severity()))
            .then(self.name.cmp(&other.name))
    }
}

fn more_steps(figures: &[Figure]) -> Option<f64> {
    let of = |metric: &str| figures.iter().find(|figure| figure.metric == metric);
    let (executions, steps) = (of("executions")?, of("vm_steps")?);
    let base = executions.base.exact()? * steps.base.exact()?;
    let new = executions.new.exact()? * steps.new.exact()?;
    // Means of whole numbers: a remainder of the division is not a step.
    Some((new - base).round())
}

/// Compares the statements of this name in the trials of both sides.
pub(super) fn answer_change(
    [base, new]: [&[&Measured]; 2],
    name: &str,
    of: fn(&Measured) -> &[StatementRecord],
) -> AnswerChange {
    fn version<'a>(trials: &[&'a Measured]) -> &'a str {
        trials.first().map_or("", |trial| &trial.engine.version)
    }
    let (one, other) = (named(base, name, of), named(new, name, of));
    AnswerChange::between(&one, &other, [version(base), version(new)])
}

fn named<'a>(
    trials: &[&'a Measured],
    name: &str,
    of: fn(&Measured) -> &[StatementRecord],
) -> Vec<&'a StatementRecord> {
    trials.iter().flat_map(|trial| of(trial)).filter(|record| record.name == name).collect()
}

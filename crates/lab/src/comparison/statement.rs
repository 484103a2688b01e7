//! One statement on both sides: its counters, its plan and its answer.

use std::cmp::Ordering;

use serde::Serialize;

use super::figure::{Change, Figure, is_work};
use super::plans::PlanChange;
use crate::trial::{Answer, Measured, StatementRecord};

/// Metrics by which one statement is compared.
pub(super) const OF_STATEMENT: [&str; 6] =
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
    /// VM steps of all executions together that the new side needs more than the base; fewer if negative. None where VM
    /// steps do not repeat exactly.
    pub more_steps: Option<f64>,
}

/// Whether both sides answered the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerChange {
    /// The same rows, in any order.
    Same,
    /// As many rows; their content depends on chance or on the present time.
    SameNumber,
    /// Other rows.
    Other {
        /// Rows of the base.
        base: u64,
        /// Rows of the new side.
        new: u64,
    },
    /// Not compared.
    NotCompared {
        /// Why not.
        why: &'static str,
    },
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
            answer: answer_change(&base.name, base_trials, new_trials),
        }
    }

    /// Returns its counter of this metric.
    pub fn figure(&self, metric: &str) -> Option<&Figure> {
        self.figures.iter().find(|figure| figure.metric == metric)
    }

    /// Returns how grave its change is.
    pub fn severity(&self) -> Severity {
        let any = |change: Change| self.work().any(|figure| figure.change == change);
        let scans = self.plan.as_ref().is_some_and(|plan| !plan.scans.is_empty());
        let more = self.more_steps.is_some_and(|steps| steps > 0.0);
        match (any(Change::Worse), any(Change::Better)) {
            _ if matches!(self.answer, AnswerChange::Other { .. }) => Severity::Answer,
            (true, _) if scans && self.more_steps.is_none_or(|steps| steps > 0.0) => Severity::Scan,
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

fn answer_change(name: &str, base: &[&Measured], new: &[&Measured]) -> AnswerChange {
    let not = |why| AnswerChange::NotCompared { why };
    let (Some(base), Some(new)) = (answered(name, base), answered(name, new)) else {
        return not("its answer was not read");
    };
    let executions = base[0].answers().rev().map(|answer| answer.executions).find(|executions| {
        base.iter().chain(&new).all(|statement| answer_over(statement, *executions).is_some())
    });
    let Some(executions) = executions else {
        return not("the sides executed it a different number of times");
    };
    let (Some(base), Some(new)) = (repeated(&base, executions), repeated(&new, executions)) else {
        return not("a side does not repeat its own answer");
    };
    match (&base.checksum, &new.checksum) {
        _ if base.rows != new.rows => AnswerChange::Other { base: base.rows, new: new.rows },
        (Some(one), Some(other)) if one == other => AnswerChange::Same,
        (Some(_), Some(_)) => AnswerChange::Other { base: base.rows, new: new.rows },
        _ => AnswerChange::SameNumber,
    }
}

/// Returns the statement in each trial of a side, if all read its answer.
fn answered<'a>(name: &str, trials: &[&'a Measured]) -> Option<Vec<&'a StatementRecord>> {
    let of = |trial: &&'a Measured| {
        let mut statements = trial.statements.iter();
        statements.find(|statement| statement.name == name && statement.answer.is_some())
    };
    trials.iter().map(of).collect::<Option<Vec<_>>>().filter(|trials| !trials.is_empty())
}

/// Returns the answer to this number of executions.
fn answer_over(statement: &StatementRecord, executions: u64) -> Option<&Answer> {
    statement.answers().find(|answer| answer.executions == executions)
}

/// Returns the answer of a side to this number of executions, if all of its trials have the same.
fn repeated<'a>(side: &[&'a StatementRecord], executions: u64) -> Option<&'a Answer> {
    let first = answer_over(side.first()?, executions);
    first.filter(|_| side.iter().all(|statement| answer_over(statement, executions) == first))
}

//! Exact comparisons: what is counted and not timed, such as instructions of SQLite's virtual machine, pages, syncs and
//! query plans.
//!
//! Counters are the same in every repetition and on every machine, so one trial shows a change for certain. Whether that
//! holds for a workload is not assumed: each side is repeated, and a counter that differs between repetitions is no
//! verdict.

mod count;
mod plans;
mod statement;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::trial::{Measured, Outcome, StatementRecord};

pub use count::{Change, Count, Figure};
pub use plans::{PlanChange, same_plan};
pub use statement::{AnswerChange, Statement, Weight};

/// What the whole work is compared by; further metrics of the same families, such as `syncs.wal`, are compared, too.
const FAMILIES: [&str; 18] = [
    "executions",
    "rows_per_call",
    "vm_steps",
    "scan_steps",
    "sorts",
    "auto_index_rows",
    "syncs",
    "writes",
    "bytes_written",
    "reads",
    "bytes_read",
    "truncates",
    "deletes",
    "cache_misses",
    "cache_spills",
    "pages_written",
    "db_bytes",
    "wal_bytes",
];

/// What one statement is compared by.
const OF_STATEMENT: [&str; 6] =
    ["executions", "rows_per_call", "vm_steps", "scan_steps", "sorts", "auto_index_rows"];

/// One of the two sides that are compared: its repetitions.
#[derive(Clone, Debug)]
pub struct Side {
    /// Its name for people.
    pub name: String,
    /// Its trials: the same work on the same data with the same seed.
    pub trials: Vec<Outcome>,
}

/// What is known of a side besides its counters.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SideFacts {
    /// Its name for people.
    pub name: String,
    /// Version of the SQLite library; empty without a measured trial.
    pub version: String,
    /// Repetitions that were measured.
    pub repetitions: usize,
    /// Why a repetition was not measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// Two sides compared by what was counted.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Comparison {
    /// What the other side is compared with.
    pub base: SideFacts,
    /// What is compared.
    pub new: SideFacts,
    /// Counters of the whole work that either side has.
    pub totals: Vec<Figure>,
    /// The statements of both sides: other answers first, then those whose work grew most, and last those whose work shrank
    /// most.
    pub statements: Vec<Statement>,
    /// Names of the statements that only the base has.
    pub only_base: Vec<String>,
    /// Names of the statements that only the new side has.
    pub only_new: Vec<String>,
}

impl Comparison {
    /// Compares two sides. Without a measured trial on both, only the problem is known.
    pub fn of(base: &Side, new: &Side) -> Comparison {
        let (base_trials, new_trials) = (measured(base), measured(new));
        let mut comparison = Comparison {
            base: facts(base, &base_trials),
            new: facts(new, &new_trials),
            ..Comparison::default()
        };
        if let (Some(first), Some(second)) = (base_trials.first(), new_trials.first()) {
            comparison.totals = totals(&base_trials, &new_trials);
            let texts = [first, second].map(|trial| by_name(&trial.statements));
            comparison.add_statements(texts, &base_trials, &new_trials);
        }
        comparison
    }

    fn add_statements(
        &mut self,
        [base, new]: [BTreeMap<&str, &StatementRecord>; 2],
        base_trials: &[&Measured],
        new_trials: &[&Measured],
    ) {
        let only = |these: &BTreeMap<&str, _>, those: &BTreeMap<&str, _>| {
            let names = these.keys().filter(|name| !those.contains_key(*name));
            names.map(|name| (*name).to_owned()).collect()
        };
        self.only_base = only(&base, &new);
        self.only_new = only(&new, &base);
        let same_version = self.base.version == self.new.version;
        let both = base.iter().filter_map(|(name, it)| Some((it, new.get(name)?)));
        let compared = both
            .map(|(base, new)| Statement::of([base, new], same_version, [base_trials, new_trials]));
        self.statements = compared.collect();
        self.statements.sort_by(Statement::in_order_of_concern);
    }

    /// Whether both sides have a measured trial, so that there is something to compare.
    pub fn is_complete(&self) -> bool {
        self.base.repetitions > 0 && self.new.repetitions > 0
    }

    /// The figure of the whole work of this name.
    pub fn total(&self, metric: &str) -> Option<&Figure> {
        self.totals.iter().find(|figure| figure.metric == metric)
    }
}

/// Whether a metric is one of those that are counted, of the whole work or of a statement.
pub fn is_exact(metric: &str) -> bool {
    let family = metric.split('.').next().unwrap_or_default();
    FAMILIES.contains(&family)
}

fn measured<'a>(side: &'a Side) -> Vec<&'a Measured> {
    let of = |outcome: &'a Outcome| match outcome {
        Outcome::Measured(measured) => Some(&**measured),
        _ => None,
    };
    side.trials.iter().filter_map(of).collect()
}

fn facts(side: &Side, trials: &[&Measured]) -> SideFacts {
    let version = trials.first().map(|first| first.engine.version.clone());
    SideFacts {
        name: side.name.clone(),
        version: version.unwrap_or_default(),
        repetitions: trials.len(),
        problem: side.trials.iter().find_map(Outcome::problem),
    }
}

fn by_name(statements: &[StatementRecord]) -> BTreeMap<&str, &StatementRecord> {
    let named = statements.iter().map(|statement| (statement.name.as_str(), statement));
    named.collect()
}

/// The counters of the whole work, in the order of [`FAMILIES`]; those of files also by kind of file.
fn totals(base: &[&Measured], new: &[&Measured]) -> Vec<Figure> {
    let mut figures = Vec::new();
    for family in FAMILIES {
        let is_of_all = |name: &&String| {
            if OF_STATEMENT.contains(&family) {
                *name == family
            } else {
                name.split('.').next() == Some(family)
            }
        };
        let all = [base, new].into_iter().flatten();
        let names = all.flat_map(|trial| trial.metrics.keys()).filter(is_of_all);
        let names: BTreeSet<&String> = names.collect();
        figures.extend(names.into_iter().map(|name| Figure::of(name, name, base, new)));
    }
    figures
}

#[cfg(test)]
mod tests;

//! Exact comparisons: counters instead of time, such as instructions of SQLite's virtual machine, pages, syncs and query
//! plans.
//!
//! Counters are the same in every repetition and on every machine, so one trial shows a change for certain. That a
//! workload repeats is not assumed: each side is repeated, and a counter that differs between repetitions gives no verdict.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::answer::AnswerChange;
use super::figure::{Count, Figure};
use super::rows::DifferingRows;
use super::statement::{OF_STATEMENT, StatementComparison, answer_change};
use crate::trial::{Measured, Outcome, StatementRecord, stand_ins};

/// Families of metrics by which the whole work is compared: `syncs` and also `syncs.wal`.
const FAMILIES: [&str; 18] = [
    "executions", "rows_per_call", "vm_steps", "scan_steps", "sorts", "auto_index_rows", "syncs",
    "writes", "bytes_written", "reads", "bytes_read", "truncates", "deletes", "cache_misses",
    "cache_spills", "pages_written", "db_bytes", "wal_bytes",
];

/// One of the two sides that are compared.
#[derive(Clone, Debug)]
pub struct Side {
    /// Its name for people.
    pub name: String,
    /// Its repetitions: the same work on the same data with the same seed.
    pub trials: Vec<Outcome>,
}

impl Side {
    /// Gives its only statement the name of the other side's only one: they are two forms of it.
    pub fn name_as_in(&mut self, other: &Side) {
        let only = |side: &Side| {
            let statements = measured(side).into_iter().map(|trial| &trial.statements[..]);
            let mut names = statements.map(|all| match all {
                [only] => Some(only.name.clone()),
                _ => None,
            });
            names.next().flatten()
        };
        let Some((own, other)) = only(self).zip(only(other)) else { return };
        for trial in &mut self.trials {
            let Outcome::Measured(trial) = trial else { continue };
            let metrics = std::mem::take(&mut trial.metrics).into_iter().map(|(name, value)| {
                let of_statement = name.strip_suffix(&own).filter(|start| start.ends_with('.'));
                (of_statement.map_or(name.clone(), |start| format!("{start}{other}")), value)
            });
            trial.metrics = metrics.collect();
            trial.statements.iter_mut().for_each(|only| only.name.clone_from(&other));
        }
    }
}

/// Facts about a side besides its counters.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SideFacts {
    /// Its name for people.
    pub name: String,
    /// Version of the SQLite library; empty without a measured trial.
    pub version: String,
    /// Repetitions that were measured.
    pub repetitions: usize,
    /// Stand-ins for collations and functions that a recorded application has.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stand_ins: Vec<String>,
    /// Why a repetition was not measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// Two sides compared by counters.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ExactComparison {
    /// The side that the other is compared with.
    pub base: SideFacts,
    /// The other side.
    pub new: SideFacts,
    /// Counters of the whole work that either side has.
    pub totals: Vec<Figure>,
    /// The statements of both sides: other answers first, then those whose work grew most, and last those whose work shrank
    /// most.
    pub statements: Vec<StatementComparison>,
    /// Whether the tables that were written have the same contents afterwards, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub written: BTreeMap<String, AnswerChange>,
    /// Rows of the tables that have other contents, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub written_rows: BTreeMap<String, DifferingRows>,
    /// Names of statements.
    #[serde(flatten)]
    pub unmatched: Unmatched,
}

/// Names of what only one side has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Unmatched {
    /// Only the base has these.
    pub only_base: Vec<String>,
    /// Only the new side has these.
    pub only_new: Vec<String>,
}

impl Unmatched {
    fn of<V>(base: &BTreeMap<&str, V>, new: &BTreeMap<&str, V>) -> Unmatched {
        let only = |these: &BTreeMap<&str, V>, those: &BTreeMap<&str, V>| {
            let names = these.keys().filter(|name| !those.contains_key(*name));
            names.map(|name| (*name).to_owned()).collect()
        };
        Unmatched { only_base: only(base, new), only_new: only(new, base) }
    }
}

impl ExactComparison {
    /// Compares two sides. Without a measured trial on both, only the problem is known.
    pub fn of(base: &Side, new: &Side) -> ExactComparison {
        let trials = [measured(base), measured(new)];
        let [base, new] = [(base, &trials[0]), (new, &trials[1])].map(|(side, trials)| SideFacts {
            name: side.name.clone(),
            version: trials.first().map(|first| first.engine.version.clone()).unwrap_or_default(),
            repetitions: trials.len(),
            stand_ins: trials.first().map_or(Vec::new(), |first| stand_ins(&first.tables)),
            problem: side.trials.iter().find_map(Outcome::problem),
        });
        let mut comparison = ExactComparison { base, new, ..ExactComparison::default() };
        let [base, new] = &trials;
        if let (Some(first), Some(second)) = (base.first(), new.first()) {
            comparison.totals = totals(base, new);
            let [one, other] = [first, second].map(|trial| by_name(&trial.statements));
            comparison.unmatched = Unmatched::of(&one, &other);
            let same_version = comparison.base.version == comparison.new.version;
            let both =
                one.iter().filter_map(|(name, statement)| Some([*statement, *other.get(name)?]));
            let compared =
                both.map(|sides| StatementComparison::of(sides, same_version, [base, new]));
            comparison.statements = compared.collect();
            comparison.written = written([base, new], &comparison.unmatched);
            comparison.leave_out_unmatched();
            comparison.statements.sort_by(StatementComparison::in_order_of_concern);
        }
        comparison
    }

    /// Restricts the totals to statements that both sides have. Counters of files cannot be divided by statement, so the base's
    /// becomes missing.
    fn leave_out_unmatched(&mut self) {
        if self.unmatched == Unmatched::default() {
            return;
        }
        let statements = &self.statements;
        for total in &mut self.totals {
            let is_by_statement = OF_STATEMENT.contains(&total.metric.as_str());
            let mean = |side: fn(&Figure) -> Count| {
                let (mut all, mut executions) = (0.0, 0.0);
                for statement in statements {
                    let times = side(statement.figure("executions")?).exact()?;
                    all += side(statement.figure(&total.metric)?).exact()? * times;
                    executions += times;
                }
                (executions > 0.0).then(|| Count::Exact(all / executions))
            };
            let count = |side| mean(side).unwrap_or(Count::Missing);
            let [base, new] = if total.metric == "executions" || !is_by_statement {
                [Count::Missing, total.new]
            } else {
                [count(|figure| figure.base), count(|figure| figure.new)]
            };
            *total = Figure::between(&total.metric, base, new);
        }
    }

    /// Returns whether an answer, or the contents of a table, differ.
    pub fn has_other_answers(&self) -> bool {
        let statements = self.statements.iter().map(|statement| &statement.answer);
        let mut all = statements.chain(self.written.values());
        all.any(|change| change.difference().is_some())
    }

    /// Adds the rows that differ, from trials which kept rows.
    pub fn add_rows(&mut self, base: &Outcome, new: &Outcome) {
        let (Outcome::Measured(base), Outcome::Measured(new)) = (base, new) else { return };
        let between = |of: fn(&Measured) -> &[StatementRecord], name: &str| {
            let rows = |trial| Some(&of(trial).iter().find(|record| record.name == name)?.rows);
            DifferingRows::between(rows(base)?, rows(new)?)
        };
        for statement in &mut self.statements {
            if statement.answer.difference().is_some() {
                statement.rows = between(|trial| &trial.statements, &statement.name);
            }
        }
        for (name, _) in self.written.iter().filter(|(_, change)| change.difference().is_some()) {
            let rows = between(|trial| &trial.written, name);
            self.written_rows.extend(rows.map(|rows| (name.clone(), rows)));
        }
    }

    /// Returns the rows that differ, with the names of statements and tables.
    pub fn rows(&self) -> impl Iterator<Item = (String, &DifferingRows)> {
        let of_statements = self
            .statements
            .iter()
            .filter_map(|statement| Some((statement.name.clone(), statement.rows.as_ref()?)));
        let of_tables = self.written_rows.iter();
        of_statements.chain(of_tables.map(|(name, rows)| (format!("table {name}"), rows)))
    }

    /// Returns whether both sides have a measured trial.
    pub fn is_complete(&self) -> bool {
        self.base.repetitions > 0 && self.new.repetitions > 0
    }

    /// Returns the counter of the whole work with this name.
    pub fn total(&self, metric: &str) -> Option<&Figure> {
        self.totals.iter().find(|figure| figure.metric == metric)
    }
}

/// Returns whether a metric is a counter, of the whole work or of a statement.
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

fn by_name(statements: &[StatementRecord]) -> BTreeMap<&str, &StatementRecord> {
    statements.iter().map(|statement| (statement.name.as_str(), statement)).collect()
}

/// Compares the contents of the tables that either side wrote. A table that one side alone wrote differs, unless the sides have other
/// statements.
fn written(sides: [&[&Measured]; 2], unmatched: &Unmatched) -> BTreeMap<String, AnswerChange> {
    let writes = |side: usize, name: &str| {
        let mut tables = sides[side].iter().flat_map(|trial| &trial.written);
        tables.any(|table| table.name == name)
    };
    let tables = sides.iter().flat_map(|side| side.iter().flat_map(|trial| &trial.written));
    let change = |table: &StatementRecord| {
        let name = &table.name;
        let change = match [writes(0, name), writes(1, name)] {
            [true, true] => answer_change(sides, name, |trial| &trial.written),
            [is_of_base, _] => {
                let writer = if is_of_base { "base" } else { "new side" };
                AnswerChange::Other {
                    words: format!("only the {writer} wrote it"),
                    is_untested: false,
                }
            }
        };
        let same_statements = *unmatched == Unmatched::default();
        match change.difference() {
            Some(_) if !same_statements => {
                AnswerChange::NotCompared { why: "statements were added or removed" }
            }
            _ => change,
        }
    };
    tables.map(|table| (table.name.clone(), change(table))).collect()
}

/// Returns the counters of the whole work, in the order of [`FAMILIES`]; counters of files also by kind of file.
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
mod tests {
    //! Comparisons of made-up trials.

    use super::*;
    use crate::comparison::{Change, Severity};
    use crate::trial::{Answer, EngineMark};

    /// A trial with one statement.
    struct Made {
        version: &'static str,
        steps: f64,
        sorts: f64,
        plan: &'static str,
        rows: u64,
        checksum: Option<&'static str>,
    }

    const USUAL: Made = Made {
        version: "3.54.1",
        steps: 10.0,
        sorts: 0.0,
        plan: "SEARCH t USING INDEX i (a=?)",
        rows: 3,
        checksum: Some("c"),
    };

    fn trial(made: &Made) -> Outcome {
        let metrics = [
            ("executions.q", 20.0),
            ("vm_steps.q", made.steps),
            ("sorts.q", made.sorts),
            ("vm_steps", made.steps),
            ("syncs", 4.0),
            ("syncs.wal", 1.0),
            ("p50_us.q", 3.5),
        ];
        Outcome::Measured(Box::new(Measured {
            metrics: metrics.map(|(name, value)| (name.to_owned(), value)).into(),
            engine: EngineMark { version: made.version.to_owned(), source_id: String::new() },
            statements: vec![StatementRecord {
                name: "q".to_owned(),
                sql: "SELECT 1".to_owned(),
                plan: vec![made.plan.to_owned()],
                answer: Some(Answer {
                    executions: 20,
                    rows: made.rows,
                    checksum: made.checksum.map(str::to_owned),
                    ..Answer::default()
                }),
                ..StatementRecord::default()
            }],
            ..Measured::default()
        }))
    }

    fn side(name: &str, trials: &[Made]) -> Side {
        Side { name: name.to_owned(), trials: trials.iter().map(trial).collect() }
    }

    fn compared(new: [Made; 2]) -> ExactComparison {
        ExactComparison::of(&side("base", &[USUAL, USUAL]), &side("new", &new))
    }

    fn twice(made: impl Fn() -> Made) -> ExactComparison {
        compared([made(), made()])
    }

    #[test]
    fn identical_sides_have_no_change_and_times_are_not_compared() {
        let same = twice(|| USUAL);
        assert!(same.is_complete());
        assert_eq!(same.statements[0].severity(), Severity::Same);
        assert_eq!(same.statements[0].answer, AnswerChange::Same);
        assert!(same.totals.iter().all(|total| total.change == Change::Same));
        let names: Vec<&str> = same.totals.iter().map(|total| total.metric.as_str()).collect();
        assert_eq!(names, ["vm_steps", "syncs", "syncs.wal"]);
    }

    #[test]
    fn a_search_that_became_a_scan_with_more_steps_is_graver_than_more_steps() {
        let scan = twice(|| Made { steps: 500.0, plan: "SCAN t", ..USUAL });
        let more = twice(|| Made { steps: 11.0, ..USUAL });
        assert_eq!(scan.statements[0].severity(), Severity::Scan);
        assert_eq!(scan.statements[0].more_steps, Some(9_800.0));
        assert_eq!(more.statements[0].severity(), Severity::More);
        assert!(Severity::Scan > Severity::More);
        let ratio = scan.total("vm_steps").unwrap().ratio();
        assert_eq!(ratio, Some(50.0));
    }

    #[test]
    fn fewer_steps_are_less_work_and_both_directions_are_mixed() {
        let less = twice(|| Made { steps: 9.0, ..USUAL });
        assert_eq!(less.statements[0].severity(), Severity::Less);
        let mixed = twice(|| Made { steps: 9.0, sorts: 1.0, ..USUAL });
        assert_eq!(mixed.statements[0].severity(), Severity::Mixed);
    }

    #[test]
    fn another_answer_is_gravest_and_one_that_depends_on_chance_is_compared_by_rows() {
        let other = twice(|| Made { checksum: Some("d"), steps: 1.0, ..USUAL });
        assert_eq!(other.statements[0].severity(), Severity::Answer);
        let number = twice(|| Made { checksum: None, ..USUAL });
        assert_eq!(number.statements[0].answer, AnswerChange::SameNumber);
        let fewer = twice(|| Made { rows: 2, ..USUAL });
        let difference = fewer.statements[0].answer.difference();
        assert_eq!(difference.as_deref(), Some("2 rows of 20 executions instead of 3"));
    }

    #[test]
    fn what_does_not_repeat_is_no_verdict_however_different_it_is() {
        let varies = compared([Made { steps: 900.0, ..USUAL }, Made { steps: 901.0, ..USUAL }]);
        let statement = &varies.statements[0];
        assert_eq!(statement.severity(), Severity::Same);
        assert!(statement.is_inexact() && statement.more_steps.is_none());
        let figure = statement.figure("vm_steps").unwrap();
        assert_eq!((figure.change, figure.ratio()), (Change::NotExact, None));
        let (low, high) = (900.0, 901.0);
        assert_eq!(figure.new, Count::Varies { low, high });
    }

    #[test]
    fn one_repetition_proves_nothing() {
        let once = ExactComparison::of(&side("base", &[USUAL]), &side("new", &[USUAL]));
        assert_eq!(once.totals[0].change, Change::NotExact);
    }

    #[test]
    fn plans_are_compared_by_meaning_between_versions() {
        let old =
            || Made { version: "3.35.4", plan: "SEARCH TABLE t USING INDEX i (a=?)", ..USUAL };
        assert_eq!(twice(old).statements[0].plan, None);
        let renamed = twice(|| Made { plan: "SEARCH TABLE t USING INDEX i (a=?)", ..USUAL });
        assert_eq!(renamed.statements[0].severity(), Severity::Mixed);
    }

    #[test]
    fn a_side_that_failed_says_why_and_nothing_is_compared() {
        let failed =
            Side { name: "new".to_owned(), trials: vec![Outcome::failed("no such table: t")] };
        let comparison = ExactComparison::of(&side("base", &[USUAL, USUAL]), &failed);
        assert!(!comparison.is_complete() && comparison.statements.is_empty());
        let problem = comparison.new.problem.unwrap();
        assert_eq!(problem, "failed: no such table: t");
    }

    #[test]
    fn a_statement_of_one_side_alone_is_listed_and_left_out_of_the_whole() {
        let side = |names: &[(&str, f64)]| {
            let mut side = side("side", &[USUAL, USUAL]);
            for trial in &mut side.trials {
                let Outcome::Measured(measured) = trial else { unreachable!() };
                let usual = measured.statements.remove(0);
                for (name, steps) in names {
                    let statement = StatementRecord { name: (*name).to_owned(), ..usual.clone() };
                    measured.statements.push(statement);
                    measured.metrics.insert(format!("executions.{name}"), 20.0);
                    measured.metrics.insert(format!("vm_steps.{name}"), *steps);
                }
                let mean = names.iter().map(|(_, steps)| steps).sum::<f64>() / names.len() as f64;
                measured.metrics.insert("vm_steps".to_owned(), mean);
            }
            side
        };
        let comparison = ExactComparison::of(
            &side(&[("both", 10.0), ("removed", 1.0)]),
            &side(&[("both", 10.0), ("added", 900.0)]),
        );
        assert_eq!(comparison.unmatched.only_base, ["removed"]);
        assert_eq!(comparison.unmatched.only_new, ["added"]);
        assert_eq!(comparison.total("vm_steps").unwrap().ratio(), Some(1.0));
        assert_eq!(comparison.total("syncs").unwrap().change, Change::Missing);
    }

    #[test]
    fn a_change_of_less_than_a_thousandth_is_no_change_of_work() {
        let steps = |steps| side("side", &[Made { steps, ..USUAL }, Made { steps, ..USUAL }]);
        let compared = ExactComparison::of(&steps(10_000.0), &steps(10_009.0));
        assert_eq!(compared.statements[0].severity(), Severity::Same);
        let compared = ExactComparison::of(&steps(10_000.0), &steps(10_020.0));
        assert_eq!(compared.statements[0].severity(), Severity::More);
    }
}

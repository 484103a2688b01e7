//! Checks and the gate that they make; checks of counters are certain, without any noise.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::bounds::{Budget, Limit};
use super::config::{Answers, Guard, Scans};
use crate::comparison::{
    AnswerChange, Change, Count, ExactComparison, Figure, OF_STATEMENT, StatementComparison,
    Unmatched, is_exact,
};
use crate::stats::Interval;
use crate::text::grouped;

/// One thing that is checked.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Check {
    /// A metric, `plan`, `answer` or `safety`.
    pub subject: String,
    /// The statement; none for the whole work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub statement: Option<String>,
    /// The bound in words.
    pub allowed: String,
    /// The new figure divided by the base figure, if it is a ratio.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ratio: Option<f64>,
    /// The figure of the new side, if it is limited by itself; in the unit of the metric.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub figure: Option<f64>,
    /// The interval of the ratio or of the figure, if it was measured in time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<Interval>,
    /// The smallest difference that the blocks would have shown, as a fraction; of what is undecided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detectable: Option<f64>,
    /// Whether further blocks would have followed, so that a longer time would decide more.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub open: bool,
    /// The ratio or the figure of each block, if it was measured in time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub blocks: Vec<f64>,
    /// The result.
    pub status: Status,
    /// The result in words.
    pub words: String,
}

impl Check {
    /// Returns the name by which a budget names it.
    pub fn name(&self) -> String {
        match &self.statement {
            Some(statement) => format!("{}.{statement}", self.subject),
            None => self.subject.clone(),
        }
    }

    /// Makes a check of a metric, which may end in the name of a statement, or of another subject, without any figure.
    pub(super) fn of(name: &str, allowed: &str, status: Status, words: String) -> Check {
        let (subject, statement) = match name.split_once('.') {
            Some((subject, statement)) => (subject, Some(statement.to_owned())),
            None => (name, None),
        };
        Check {
            subject: subject.to_owned(),
            statement,
            allowed: allowed.to_owned(),
            ratio: None,
            figure: None,
            interval: None,
            detectable: None,
            open: false,
            blocks: Vec::new(),
            status,
            words,
        }
    }
}

/// Result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Within its bound.
    Passed,
    /// It could not be decided.
    Undecided,
    /// Beyond its bound.
    Failed,
}

/// All checks.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Gate {
    /// The checks; those that failed first.
    pub checks: Vec<Check>,
}

impl Gate {
    /// Makes the gate of these checks.
    pub fn of(mut checks: Vec<Check>) -> Gate {
        checks.sort_by_key(|check| std::cmp::Reverse(check.status));
        Gate { checks }
    }

    /// Lets nothing that failed count where these tables may have a part in it, because the base makes other data for them each time it
    /// is built.
    pub fn of_random_data(checks: &mut [Check], comparison: &ExactComparison, tables: &[String]) {
        let named = |text: &str| {
            let lower = text.to_lowercase();
            let is_part = |c: char| !(c.is_alphanumeric() || c == '_');
            let words: BTreeSet<&str> = lower.split(is_part).collect();
            tables.iter().any(|table| table.split(is_part).all(|part| words.contains(part)))
        };
        let is_random = |check: &Check| {
            let statement = check.statement.as_deref()?;
            let own = comparison.statements.iter().find(|own| own.name == statement)?;
            Some(named(&own.sql) || own.new_sql.as_deref().is_some_and(named))
        };
        for check in checks.iter_mut().filter(|check| check.status == Status::Failed) {
            if tables.is_empty() || is_random(check) == Some(false) {
                continue;
            }
            check.status = Status::Undecided;
            check.words += &format!(
                "; but `build` wrote other rows into {} the second time: give its random numbers a fixed seed, and its times a fixed value",
                tables.join(", ")
            );
        }
    }

    /// Returns the gravest status; passed without any check.
    pub fn status(&self) -> Status {
        self.checks.iter().map(|check| check.status).max().unwrap_or(Status::Passed)
    }
}

/// Returns the checks of an exact comparison: plans, answers, and every budget and limit of a counter. A usual budget of a counter
/// that neither side has is left out; one that the file names is undecided.
pub fn counters(guard: &Guard, comparison: &ExactComparison) -> Vec<Check> {
    let mut checks = Vec::new();
    for it in &comparison.statements {
        checks.extend(scan(guard.scans, it));
    }
    for (name, budget) in &guard.budgets {
        let check = budgeted(name, *budget, comparison);
        let is_left_out = |check: &Check| check.ratio.is_none() && guard.has_usual_budgets();
        let unmatched = comparison.unmatched != Unmatched::default();
        checks.extend(check.filter(|check| !(unmatched && is_left_out(check))));
        if name == STEPS {
            checks.extend(grown(*budget, guard, comparison));
        }
    }
    for (name, limit) in &guard.limits {
        checks.extend(limited(name, limit, comparison));
    }
    checks.extend(uncounted(guard, &checks));
    if guard.scans == Scans::Refused && !checks.iter().any(|check| check.subject == PLAN) {
        checks.push(passed(
            PLAN,
            "no new SCAN",
            "no statement scans a table that it searched before",
        ));
    }
    checks.extend(answers(guard.answers, comparison));
    checks
}

/// Returns the checks of the new side by itself. A limit that names no statement holds for each statement, unless its metric is counted
/// for the whole work. Without a limit of these, no statement may scan more than 1,000 rows or build an automatic index.
pub fn alone(guard: &Guard, comparison: &ExactComparison) -> Vec<Check> {
    let named = |metric: &str| guard.limits.keys().any(|name| name == metric);
    let usual = [("scan_steps", "<= 1000"), ("auto_index_rows", "<= 0")];
    let usual = usual.into_iter().filter(|(metric, _)| !named(metric));
    let usual = usual.filter_map(|(metric, bound)| Some((metric.to_owned(), bound.parse().ok()?)));
    let all: Vec<(String, Limit)> = guard
        .limits
        .iter()
        .map(|(name, limit)| (name.clone(), limit.clone()))
        .chain(usual)
        .collect();
    let mut checks = Vec::new();
    for (name, limit) in &all {
        if !OF_STATEMENT.contains(&name.as_str()) {
            checks.extend(
                limited(name, limit, comparison).map(|check| of_one_side(check, "as a whole")),
            );
            continue;
        }
        let of = |statement: &StatementComparison| {
            let own = format!("{name}.{}", statement.name);
            // A statement with a limit of its own is judged by that.
            let is_general = !guard.limits.contains_key(&own);
            let check = is_general.then(|| limited(&own, limit, comparison)).flatten()?;
            Some(of_one_side(check, "in an execution"))
        };
        let judged: Vec<Check> = comparison.statements.iter().filter_map(of).collect();
        let (beyond, within): (Vec<Check>, Vec<Check>) =
            judged.into_iter().partition(|check| check.status != Status::Passed);
        if beyond.is_empty() && !within.is_empty() {
            let words = match within.len() {
                1 => "1 statement is within it".to_owned(),
                count => format!("{count} statements are within it"),
            };
            checks.push(passed(name, &limit.to_string(), &words));
        }
        checks.extend(beyond);
    }
    let is_open = |check: &Check| {
        check.statement.is_some() || !checks.iter().any(|other| other.subject == check.subject)
    };
    let limits = Guard { budgets: BTreeMap::new(), ..guard.clone() };
    let open: Vec<Check> = uncounted(&limits, &checks).into_iter().filter(is_open).collect();
    let untimed = guard.limits.iter().filter(|(name, _)| !is_exact(name)).map(|(name, limit)| {
        let words = "without a base nothing is timed".to_owned();
        Check::of(name, &limit.to_string(), Status::Undecided, words)
    });
    let untimed: Vec<Check> = untimed.collect();
    checks.into_iter().chain(open).chain(untimed).collect()
}

/// Says what a check is about that has no other side to name; why one is undecided stays.
fn of_one_side(check: Check, words: &str) -> Check {
    let words = if check.status == Status::Undecided { check.words } else { words.to_owned() };
    Check { words, ..check }
}

/// Returns undecided checks for budgets and limits of counters that the file names and the work does not count.
fn uncounted(guard: &Guard, checks: &[Check]) -> Vec<Check> {
    let budgets = guard.budgets.iter().map(|(name, budget)| (name, budget.to_string()));
    let limits = guard.limits.iter().map(|(name, limit)| (name, limit.to_string()));
    let is_judged = |name: &str, allowed: &str| {
        checks.iter().any(|check| check.name() == name && check.allowed == allowed)
    };
    let named = budgets.filter(|_| !guard.has_usual_budgets()).chain(limits);
    let open = named.filter(|(name, allowed)| is_exact(name) && !is_judged(name, allowed));
    open.map(|(name, allowed)| {
        let words = if name.contains('.') {
            "there is no such statement or kind of file; `pragmark compare` shows the names"
        } else {
            "the work does not count it"
        };
        Check::of(name, &allowed, Status::Undecided, words.to_owned())
    })
    .collect()
}

/// The metric of VM steps.
const STEPS: &str = "vm_steps";
/// From this many VM steps more in an execution on, a statement by itself is beyond a budget.
const MORE_STEPS: f64 = 1_000.0;

const PLAN: &str = "plan";
const ANSWER: &str = "answer";

fn passed(subject: &str, allowed: &str, words: &str) -> Check {
    Check::of(subject, allowed, Status::Passed, words.to_owned())
}

/// Checks a statement that reads a table whole which the base searches, and does more work for it.
fn scan(scans: Scans, it: &StatementComparison) -> Option<Check> {
    let plan = it.plan.as_ref()?;
    (scans == Scans::Refused && it.has_new_scan()).then(|| Check {
        statement: Some(it.name.clone()),
        status: Status::Failed,
        ratio: it.figure("vm_steps").and_then(Figure::ratio).filter(|ratio| ratio.is_finite()),
        ..passed(
            PLAN,
            "no new SCAN",
            &format!("was: {}; is: {}", nodes(&plan.base), nodes(&plan.new)),
        )
    })
}

fn nodes(plan: &[String]) -> String {
    let nodes: Vec<&str> = plan.iter().map(|node| node.trim()).collect();
    nodes.join(", ")
}

/// Checks the answers of statements and the contents of tables that were written.
fn answers(answers: Answers, comparison: &ExactComparison) -> Vec<Check> {
    if answers == Answers::Any {
        return Vec::new();
    }
    let statements = comparison.statements.iter();
    let statements = statements.map(|statement| (statement.name.clone(), &statement.answer));
    let tables = comparison.written.iter().map(|(name, change)| (format!("table {name}"), change));
    let (mut failed, mut same, mut notes) = (Vec::new(), [0, 0], Vec::new());
    let (mut by_number, mut not_compared) = (0, 0);
    for (number, (name, change)) in
        statements.map(|change| (0, change)).chain(tables.map(|change| (1, change)))
    {
        match (change.difference(), change) {
            (Some(words), _) => failed.push(Check {
                statement: Some(name),
                status: Status::Failed,
                ..passed(ANSWER, "the same", &words)
            }),
            (_, AnswerChange::NotCompared { .. }) => not_compared += 1,
            (_, AnswerChange::SameNumber) => by_number += 1,
            (_, change) => {
                same[number] += 1;
                if let AnswerChange::Open { what } = change {
                    notes.push(format!("; {name}: {what}"));
                }
            }
        }
    }
    if !failed.is_empty() || same == [0, 0] && by_number == 0 {
        return failed;
    }
    let counted = |number: usize, words: [&str; 2]| match number {
        0 => None,
        1 => Some(format!("1 {}", words[0])),
        _ => Some(format!("{number} {}", words[1])),
    };
    let words = [
        counted(same[0], ["statement answers the same", "statements answer the same"]),
        counted(same[1], ["written table is the same", "written tables are the same"]),
    ];
    let words = words.into_iter().flatten().collect::<Vec<_>>().join(", ");
    let by_chance = "by chance or time: only columns and number of rows are compared";
    for (count, how) in [(by_number, by_chance), (not_compared, "not compared")] {
        notes.extend((count > 0).then(|| format!("; {count} {how}")));
    }
    let words = format!("{words}{}", notes.concat());
    vec![passed(ANSWER, "the same", words.trim_start_matches("; "))]
}

/// Checks a budget, if its metric was counted.
fn budgeted(name: &str, budget: Budget, comparison: &ExactComparison) -> Option<Check> {
    let figure = counted(name, comparison)?;
    let ratio = figure.ratio();
    let status = match (figure.change, ratio) {
        (Change::NotExact | Change::Missing, _) | (_, None) => Status::Undecided,
        (_, Some(ratio)) if budget.allows(ratio) => Status::Passed,
        _ => Status::Failed,
    };
    Some(Check {
        ratio: ratio.filter(|ratio| ratio.is_finite()),
        ..bounded(name, &budget.to_string(), status, figure)
    })
}

/// Returns the statements that are beyond the budget of VM steps for the whole work: a mean hides one behind the others. Few steps
/// more are no reason.
fn grown(budget: Budget, guard: &Guard, comparison: &ExactComparison) -> Vec<Check> {
    let grown = |statement: &StatementComparison| {
        let own = format!("{STEPS}.{}", statement.name);
        let figure = statement.figure(STEPS)?;
        let more = figure.new.exact()? - figure.base.exact()?;
        let is_judged = !guard.budgets.contains_key(&own) && more >= MORE_STEPS;
        is_judged.then(|| budgeted(&own, budget, comparison)).flatten()
    };
    let all = comparison.statements.iter().filter_map(grown);
    all.filter(|check| check.status == Status::Failed).collect()
}

/// Checks a limit, if its metric was counted.
fn limited(name: &str, limit: &Limit, comparison: &ExactComparison) -> Option<Check> {
    let figure = counted(name, comparison)?;
    let bound = limit.of_metric(name).ok()?;
    let new = figure.new.exact();
    let status = match new {
        None => Status::Undecided,
        Some(value) if bound.allows(value) => Status::Passed,
        Some(_) => Status::Failed,
    };
    Some(Check { figure: new, ..bounded(name, &limit.to_string(), status, figure) })
}

/// Returns the counter of the whole work or of a statement.
fn counted<'a>(name: &str, comparison: &'a ExactComparison) -> Option<&'a Figure> {
    if let Some(figure) = comparison.total(name) {
        return Some(figure);
    }
    let (metric, statement) = name.split_once('.')?;
    comparison.statements.iter().find(|other| other.name == statement)?.figure(metric)
}

fn bounded(name: &str, allowed: &str, status: Status, figure: &Figure) -> Check {
    let count = |count: Count| match count {
        Count::Exact(value) | Count::Once(value) => written(value),
        Count::Varies { low, high } => format!("{} to {}", written(low), written(high)),
        Count::Missing => "not counted".to_owned(),
    };
    let doubt = match figure.change {
        Change::NotExact => ", which does not repeat exactly",
        _ => "",
    };
    let words = format!("{} → {}{doubt}", count(figure.base), count(figure.new));
    Check::of(name, allowed, status, words)
}

/// Writes a whole number as it is, a mean with one decimal.
fn written(value: f64) -> String {
    grouped(&match value.fract() {
        0.0 => format!("{value}"),
        _ => format!("{value:.1}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::Side;
    use crate::trial::{Answer, Measured, Outcome, StatementRecord};

    /// A side whose only statement needs so many steps.
    fn side(steps: &[f64], plan: &str, rows: u64) -> Side {
        let trial = |steps: &f64| {
            let metrics = [("vm_steps", *steps), ("vm_steps.q", *steps), ("executions.q", 5.0)];
            Outcome::Measured(Box::new(Measured {
                metrics: metrics.map(|(name, value)| (name.to_owned(), value)).into(),
                statements: vec![StatementRecord {
                    name: "q".to_owned(),
                    plan: vec![plan.to_owned()],
                    answer: Some(Answer { executions: 5, rows, ..Answer::default() }),
                    ..StatementRecord::default()
                }],
                ..Measured::default()
            }))
        };
        Side { name: String::new(), trials: steps.iter().map(trial).collect() }
    }

    const SEARCH: &str = "SEARCH t USING INDEX i (a=?)";

    /// The checks against a base of ten steps, by subject and statement.
    fn checks(file: &str, new: &Side) -> Vec<Check> {
        let guard = Guard::parse(file).unwrap();
        let base = side(&[10.0, 10.0], SEARCH, 3);
        counters(&guard, &ExactComparison::of(&base, new))
    }

    fn status(checks: &[Check], subject: &str) -> Option<Status> {
        checks.iter().find(|check| check.subject == subject).map(|check| check.status)
    }

    const FILE: &str = "work = { scripts = \"q.sql\" }";

    #[test]
    fn nothing_changed_passes_every_check() {
        let all = checks(FILE, &side(&[10.0, 10.0], SEARCH, 3));
        let subjects: Vec<&str> = all.iter().map(|it| it.subject.as_str()).collect();
        assert_eq!(subjects, ["vm_steps", "plan", "answer"]);
        assert!(all.iter().all(|it| it.status == Status::Passed));
    }

    #[test]
    fn a_new_scan_fails_with_its_statement_and_both_plans() {
        let all = checks(FILE, &side(&[900.0, 900.0], "SCAN t", 3));
        let plan = all.iter().find(|it| it.subject == "plan").unwrap();
        assert_eq!((plan.status, plan.statement.as_deref()), (Status::Failed, Some("q")));
        assert!(plan.words.contains(SEARCH) && plan.words.contains("SCAN t"));
        assert_eq!(status(&all, "vm_steps"), Some(Status::Failed));
        let allowed = format!("scans = \"allowed\"\n{FILE}\nbudgets = {{}}");
        assert_eq!(status(&checks(&allowed, &side(&[900.0, 900.0], "SCAN t", 3)), "plan"), None);
    }

    #[test]
    fn fewer_steps_by_a_scan_are_no_failure() {
        let other = checks(FILE, &side(&[5.0, 5.0], "SCAN t", 4));
        assert_eq!(status(&other, "plan"), Some(Status::Passed));
        let all = checks(FILE, &side(&[5.0, 5.0], "SCAN t", 3));
        assert!(all.iter().all(|it| it.status == Status::Passed), "{all:?}");
    }

    #[test]
    fn without_a_base_every_statement_keeps_the_limits() {
        let checks = |file: &str, steps: f64| {
            let new = side(&[steps, steps], SEARCH, 3);
            alone(&Guard::parse(file).unwrap(), &ExactComparison::of(&new, &new))
        };
        let file = format!("{FILE}\n[limits]\nvm_steps = \"<= 20\"");
        let status = |steps| status(&checks(&file, steps), "vm_steps");
        assert_eq!(status(20.0), Some(Status::Passed));
        assert_eq!(status(21.0), Some(Status::Failed));
        let beyond = checks(&file, 21.0);
        let check = beyond.iter().find(|check| check.status == Status::Failed).unwrap();
        assert_eq!(check.statement.as_deref(), Some("q"));
    }

    #[test]
    fn limits_judge_the_new_side_alone_and_what_is_not_counted_is_undecided() {
        let file = format!(
            "{FILE}\n[limits]\n\"vm_steps.q\" = \"<= 10\"\nvm_steps = \"<= 9\"\nsyncs = \"<= 4\""
        );
        let all = checks(&file, &side(&[10.0, 10.0], SEARCH, 3));
        let of = |name: &str| all.iter().rfind(|it| it.name() == name).unwrap();
        assert_eq!(of("vm_steps.q").status, Status::Passed);
        assert_eq!(of("vm_steps").status, Status::Failed);
        assert_eq!(of("vm_steps").figure, Some(10.0));
        assert_eq!(of("syncs").status, Status::Undecided);
        // The usual budget of syncs, which no file names, is left out.
        assert_eq!(all.iter().filter(|it| it.name() == "syncs").count(), 1);
        let unknown = Guard::parse(&file.replace("vm_steps.q", "vm_steps.r")).unwrap();
        let base = side(&[10.0, 10.0], SEARCH, 3);
        let comparison = ExactComparison::of(&base, &base);
        let all = counters(&unknown, &comparison);
        let check = all.iter().find(|check| check.name() == "vm_steps.r").unwrap();
        assert_eq!(check.status, Status::Undecided);
        assert!(check.words.contains("no such statement"), "{}", check.words);
    }

    #[test]
    fn another_answer_fails_unless_any_is_allowed() {
        let other = side(&[10.0, 10.0], SEARCH, 4);
        assert_eq!(status(&checks(FILE, &other), "answer"), Some(Status::Failed));
        let any = format!("answers = \"any\"\n{FILE}");
        assert_eq!(status(&checks(&any, &other), "answer"), None);
    }

    #[test]
    fn budgets_are_judged_for_the_whole_and_for_statements_and_never_by_what_does_not_repeat() {
        let file = format!(
            "{FILE}\n[budgets]\n\"vm_steps.q\" = \"<= 1.2\"\nvm_steps = \"<= 1.05\"\np99_us = \"<= 1\""
        );
        let all = checks(&file, &side(&[11.0, 11.0], SEARCH, 3));
        let vm_steps = all.iter().filter(|it| it.subject == "vm_steps");
        let statuses: Vec<_> =
            vm_steps.map(|step| (step.statement.as_deref(), step.status)).collect();
        assert_eq!(statuses, [(None, Status::Failed), (Some("q"), Status::Passed)]);
        assert_eq!(status(&all, "p99_us"), None);
        let varies = checks(&file, &side(&[900.0, 901.0], SEARCH, 3));
        assert_eq!(status(&varies, "vm_steps"), Some(Status::Undecided));
        let named = |file: &str, steps: f64| {
            let all = checks(file, &side(&[steps, steps], SEARCH, 3));
            all.iter().any(|it| it.statement.is_some() && it.status == Status::Failed)
        };
        let whole = format!("{FILE}\n[budgets]\nvm_steps = \"<= 1.05\"");
        assert!(named(&whole, 1_010.0), "a statement that needs 1,000 steps more");
        assert!(!named(&whole, 1_009.0));
        assert!(
            !named(&format!("{whole}\n\"vm_steps.q\" = \"<= 900\""), 1_010.0),
            "its own budget"
        );
    }
}

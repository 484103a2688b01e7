//! Comparisons of made-up trials.

use super::*;
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
            }),
        }],
        ..Measured::default()
    }))
}

fn side(name: &str, trials: &[Made]) -> Side {
    Side { name: name.to_owned(), trials: trials.iter().map(trial).collect() }
}

fn compared(new: [Made; 2]) -> Comparison {
    Comparison::of(&side("base", &[USUAL, USUAL]), &side("new", &new))
}

fn twice(made: impl Fn() -> Made) -> Comparison {
    compared([made(), made()])
}

#[test]
fn identical_sides_have_no_change_and_times_are_not_compared() {
    let same = twice(|| USUAL);
    assert!(same.is_complete());
    assert_eq!(same.statements[0].weight(), Weight::Same);
    assert_eq!(same.statements[0].answer, AnswerChange::Same);
    assert!(same.totals.iter().all(|total| total.change == Change::Same));
    let names: Vec<&str> = same.totals.iter().map(|total| total.metric.as_str()).collect();
    assert_eq!(names, ["vm_steps", "syncs", "syncs.wal"]);
}

#[test]
fn a_search_that_became_a_scan_with_more_steps_is_graver_than_more_steps() {
    let scan = twice(|| Made { steps: 500.0, plan: "SCAN t", ..USUAL });
    let more = twice(|| Made { steps: 11.0, ..USUAL });
    assert_eq!(scan.statements[0].weight(), Weight::Scan);
    assert_eq!(scan.statements[0].more_steps, Some(9_800.0));
    assert_eq!(more.statements[0].weight(), Weight::More);
    assert!(Weight::Scan > Weight::More);
    let ratio = scan.total("vm_steps").unwrap().ratio();
    assert_eq!(ratio, Some(50.0));
}

#[test]
fn fewer_steps_are_less_work_and_both_directions_are_mixed() {
    let less = twice(|| Made { steps: 9.0, ..USUAL });
    assert_eq!(less.statements[0].weight(), Weight::Less);
    let mixed = twice(|| Made { steps: 9.0, sorts: 1.0, ..USUAL });
    assert_eq!(mixed.statements[0].weight(), Weight::Mixed);
}

#[test]
fn another_answer_is_gravest_and_one_that_depends_on_chance_is_compared_by_rows() {
    let other = twice(|| Made { checksum: Some("d"), steps: 1.0, ..USUAL });
    assert_eq!(other.statements[0].weight(), Weight::Answer);
    let number = twice(|| Made { checksum: None, ..USUAL });
    assert_eq!(number.statements[0].answer, AnswerChange::SameNumber);
    let fewer = twice(|| Made { rows: 2, ..USUAL });
    let answer = &fewer.statements[0].answer;
    assert_eq!(*answer, AnswerChange::Other { base: 3, new: 2 });
}

#[test]
fn what_does_not_repeat_is_no_verdict_however_different_it_is() {
    let varies = compared([Made { steps: 900.0, ..USUAL }, Made { steps: 901.0, ..USUAL }]);
    let statement = &varies.statements[0];
    assert_eq!(statement.weight(), Weight::Same);
    assert!(statement.is_inexact() && statement.more_steps.is_none());
    let figure = statement.figure("vm_steps").unwrap();
    assert_eq!((figure.change, figure.ratio()), (Change::NotExact, None));
    let (low, high) = (900.0, 901.0);
    assert_eq!(figure.new, Count::Varies { low, high });
}

#[test]
fn one_repetition_proves_nothing() {
    let once = Comparison::of(&side("base", &[USUAL]), &side("new", &[USUAL]));
    assert_eq!(once.totals[0].change, Change::NotExact);
}

#[test]
fn plans_are_compared_by_meaning_between_versions() {
    let old = || Made { version: "3.35.4", plan: "SEARCH TABLE t USING INDEX i (a=?)", ..USUAL };
    assert_eq!(twice(old).statements[0].plan, None);
    let renamed = twice(|| Made { plan: "SEARCH TABLE t USING INDEX i (a=?)", ..USUAL });
    assert_eq!(renamed.statements[0].weight(), Weight::Mixed);
}

#[test]
fn a_side_that_failed_says_why_and_nothing_is_compared() {
    let failed = Side {
        name: "new".to_owned(),
        trials: vec![Outcome::Failed { why: "no such table: t".to_owned() }],
    };
    let comparison = Comparison::of(&side("base", &[USUAL, USUAL]), &failed);
    assert!(!comparison.is_complete() && comparison.statements.is_empty());
    let problem = comparison.new.problem.unwrap();
    assert_eq!(problem, "failed: no such table: t");
}

#[test]
fn statements_of_one_side_alone_are_listed() {
    let mut new = side("new", &[USUAL, USUAL]);
    for trial in &mut new.trials {
        let Outcome::Measured(measured) = trial else { unreachable!() };
        measured.statements[0].name = "r".to_owned();
    }
    let comparison = Comparison::of(&side("base", &[USUAL, USUAL]), &new);
    assert_eq!(comparison.only_base, ["q"]);
    assert_eq!(comparison.only_new, ["r"]);
    assert!(comparison.statements.is_empty());
}

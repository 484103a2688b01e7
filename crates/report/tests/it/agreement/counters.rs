//! No sentence of a comparison by counters, and none of guard's gate, says more than the two sides show: checked on sides that were
//! never measured, against what was put into them.

use std::collections::BTreeMap;

use lab::comparison::{ExactComparison, Side};
use lab::guard::{Gate, Guard, Status, counters};
use lab::trial::{Answer, Measured, Outcome, StatementRecord};
use pragmark_report as report;
use proptest::prelude::*;
use report::document::{Block, Document, Kind};
use report::render;

use super::cases;

/// Plans of a statement, of which the last scans a table that the others search.
const PLANS: [&str; 3] = ["SEARCH t USING INDEX a (x=?)", "SEARCH t USING INDEX b (y=?)", "SCAN t"];

/// VM steps of an execution.
const STEPS: [f64; 4] = [10.0, 12.0, 400.0, 90_000.0];

/// A statement on one side.
#[derive(Clone, Copy, Debug)]
struct OneSide {
    is_there: bool,
    plan: usize,
    steps: usize,
    /// Whether its steps are the same in both repetitions.
    repeats: bool,
    /// Its rows; `None` if its answer was not read.
    answer: Option<u8>,
}

fn one_side() -> impl Strategy<Value = OneSide> {
    let choices =
        (0..10_u8, 0..PLANS.len(), 0..STEPS.len(), 0..10_u8, proptest::option::of(0..3_u8));
    choices.prop_map(|(there, plan, steps, repeats, answer)| OneSide {
        is_there: there > 0,
        plan,
        steps,
        repeats: repeats > 0,
        answer,
    })
}

/// Statements of two sides, often the same on both.
fn both() -> impl Strategy<Value = Vec<[OneSide; 2]>> {
    let statement = (one_side(), one_side(), any::<bool>());
    let statement = statement.prop_map(|(base, new, same)| [base, if same { base } else { new }]);
    proptest::collection::vec(statement, 1..7)
}

fn name(number: usize) -> String {
    format!("statement_{number}")
}

fn trial(statements: &[OneSide], repetition: usize) -> Outcome {
    let mut metrics = BTreeMap::new();
    let mut records = Vec::new();
    let there = statements.iter().enumerate().filter(|(_, statement)| statement.is_there);
    for (number, statement) in there {
        let wobble = if statement.repeats { 0.0 } else { repetition as f64 };
        metrics.insert(format!("vm_steps.{}", name(number)), STEPS[statement.steps] + wobble);
        metrics.insert(format!("executions.{}", name(number)), 10.0);
        records.push(StatementRecord {
            name: name(number),
            sql: format!("SELECT {number}"),
            plan: vec![PLANS[statement.plan].to_owned()],
            answer: statement.answer.map(|rows| Answer {
                executions: 10,
                rows: u64::from(rows),
                checksum: Some(rows.to_string()),
                ..Answer::default()
            }),
            ..StatementRecord::default()
        });
    }
    let of_all: Vec<f64> = (metrics.iter())
        .filter_map(|(name, steps)| name.starts_with("vm_steps.").then_some(*steps))
        .collect();
    let mean = of_all.iter().sum::<f64>() / of_all.len().max(1) as f64;
    metrics.insert("vm_steps".to_owned(), mean);
    metrics.insert("executions".to_owned(), 10.0 * of_all.len() as f64);
    Outcome::Measured(Box::new(Measured { metrics, statements: records, ..Measured::default() }))
}

fn compared(statements: &[[OneSide; 2]]) -> ExactComparison {
    let side = |role: usize, side: &str| {
        let own: Vec<OneSide> = statements.iter().map(|both| both[role]).collect();
        Side { name: side.to_owned(), trials: (0..2).map(|number| trial(&own, number)).collect() }
    };
    ExactComparison::of(&side(0, "base: old"), &side(1, "new: young"))
}

/// The items of the highlights, as text.
fn highlights(document: &Document) -> Vec<String> {
    let sections = document.sections.iter().filter(|section| section.kind == Kind::Highlights);
    let blocks = sections.flat_map(|section| &section.blocks);
    let lists = blocks.filter_map(|block| match block {
        Block::List(list) => Some(&list.items),
        _ => None,
    });
    lists.flatten().map(|item| item.text.plain()).collect()
}

/// The highlight of this severity that names a statement.
fn says(highlights: &[String], words: &str, statement: &str) -> bool {
    highlights.iter().any(|item| item.contains(words) && item.contains(statement))
}

/// What the highlights say of the statements and these do not show.
fn faults(statements: &[[OneSide; 2]], highlights: &[String]) -> Vec<String> {
    let mut faults = Vec::new();
    let both =
        statements.iter().enumerate().filter(|(_, [base, new])| base.is_there && new.is_there);
    let (mut unchanged, mut common) = (0, 0);
    for (number, [base, new]) in both {
        common += 1;
        let statement = name(number);
        let is_exact = base.repeats && new.repeats;
        let differs = matches!((base.answer, new.answer), (Some(one), Some(other)) if one != other);
        let scans = new.plan == 2 && base.plan != 2;
        let more = is_exact && STEPS[new.steps] > STEPS[base.steps];
        let less = is_exact && STEPS[new.steps] < STEPS[base.steps];
        let same = !differs && base.plan == new.plan && !more && !less;
        unchanged += usize::from(same);
        let expected = [
            ("answered differently", differs),
            ("a table that it searched before", !differs && scans && more),
            (" more work", !differs && more && !scans),
            (" less work", !differs && less),
            (" another plan, or counters", !differs && !more && !less && !same),
        ];
        for (words, is_so) in expected {
            // A sentence names five at most.
            let said = says(highlights, words, &statement);
            if said != is_so && !(is_so && highlights.iter().any(|item| item.contains(" others"))) {
                faults.push(format!("{statement}: {words}: {said}, not {is_so}"));
            }
        }
    }
    let verb = if unchanged == 1 { "has" } else { "have" };
    let words = format!("{unchanged} of {common} statements {verb} the same plan");
    if (unchanged > 0) != highlights.iter().any(|item| item.starts_with(&words)) {
        faults.push(format!("not: {words}"));
    }
    faults
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn no_comparison_by_counters_says_more_than_its_sides(statements in both()) {
        let comparison = compared(&statements);
        prop_assume!(comparison.is_complete());
        let document = report::exact(std::slice::from_ref(&comparison));
        let highlights = highlights(&document);
        let faults = faults(&statements, &highlights);
        prop_assert!(faults.is_empty(), "{}\n{}", faults.join("\n"), highlights.join("\n"));
    }

    #[test]
    fn the_gate_its_page_and_its_test_cases_have_one_result(statements in both()) {
        let comparison = compared(&statements);
        prop_assume!(comparison.is_complete());
        let guard = Guard::parse("work = { scripts = \"q.sql\" }\n").unwrap();
        let gate = Gate::of(counters(&guard, &comparison));
        let is_of = |status: Status| gate.checks.iter().filter(move |check| check.status == status);
        let document = report::guarded(&gate, &comparison);
        let result = match gate.status() {
            Status::Passed => "passed",
            Status::Failed => "failed",
            Status::Undecided => "undecided",
        };
        prop_assert_eq!(is_of(Status::Failed).count() > 0, result == "failed");
        let junit = report::junit(&gate);
        prop_assert_eq!(junit.matches("<failure ").count(), is_of(Status::Failed).count());
        prop_assert_eq!(junit.matches("<skipped ").count(), is_of(Status::Undecided).count());
        let forms = [
            render::terminal(&document, report::Style { width: 100, colour: false }),
            render::markdown(&document),
            render::html(&document).unwrap(),
        ];
        for form in &forms {
            let title = format!("Guard: {result}");
            prop_assert!(form.contains(&title), "no {title}: {form}");
        }
        let failed = forms[1].matches("✗ failed").count();
        prop_assert_eq!(failed, is_of(Status::Failed).count(), "{}", forms[1]);
        // Answers that differ fail, and nothing else is said of the same statement's answer.
        for (number, [base, new]) in statements.iter().enumerate() {
            let differs = matches!((base.answer, new.answer), (Some(one), Some(other)) if one != other);
            let differs = differs && base.is_there && new.is_there;
            let statement = Some(name(number));
            let fails = is_of(Status::Failed).any(|check| check.statement == statement && check.subject.contains("answer"));
            prop_assert_eq!(differs, fails, "{}: {}", name(number), forms[0]);
        }
        // The number of statements that answer the same is the number of those whose answers were read and are equal.
        let same = statements.iter().filter(|[base, new]| {
            base.is_there && new.is_there && base.answer.is_some() && base.answer == new.answer
        });
        let same = same.count();
        let says = |words: &str| gate.checks.iter().any(|check| check.words.starts_with(words));
        for number in 1..8 {
            let noun = if number == 1 { "statement answers the same" } else { "statements answer the same" };
            if says(&format!("{number} {noun}")) {
                prop_assert_eq!(number, same, "{}", forms[0]);
            }
        }
    }
}

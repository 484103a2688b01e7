//! Comparisons, the gate of guard and the history as readers see them, kept as snapshots.

use std::collections::BTreeMap;

use crate::made_up;
use lab::comparison::{
    AnswerChange, ExactComparison, History, Run, RunComparison, RunDigest, Side,
};
use lab::guard::{Gate, Guard, Timed, counters};
use lab::trial::{Answer, Measured, Outcome, StatementRecord};
use pragmark_report as report;
use report::document::Document;
use report::render;
use serde::Serialize;

const STYLE: report::Style = report::Style { width: 100, colour: false };

/// A side whose query searches or scans a table of 900 rows.
fn side(name: &str, plan: &str, steps: f64) -> Side {
    let metrics = [
        ("executions", 10.0),
        ("vm_steps", steps),
        ("vm_steps.find_user", steps),
        ("executions.find_user", 10.0),
        ("syncs", 4.0),
    ];
    let measured = Measured {
        metrics: metrics.map(|(name, value)| (name.to_owned(), value)).into(),
        statements: vec![StatementRecord {
            name: "find_user".to_owned(),
            sql: "SELECT * FROM users WHERE email = :email".to_owned(),
            plan: vec![plan.to_owned()],
            answer: Some(Answer {
                executions: 10,
                rows: 10,
                checksum: Some("a".to_owned()),
                ..Answer::default()
            }),
            ..StatementRecord::default()
        }],
        ..Measured::default()
    };
    let trial = Outcome::Measured(Box::new(measured));
    Side { name: name.to_owned(), trials: vec![trial; 2] }
}

fn comparison() -> ExactComparison {
    let base = side("base: main", "SEARCH users USING INDEX email (email=?)", 12.0);
    ExactComparison::of(&base, &side("new: feature", "SCAN users", 1_812.0))
}

/// The gate of that comparison, with a budget and a limit of time.
fn gate() -> Gate {
    let guard = Guard::parse(
        "work = { scripts = \"q.sql\" }\n[budgets]\nvm_steps = \"<= 1.1\"\nthroughput = \">= 0.9\"\n[limits]\np99_ms = \"<= 20\"\nsyncs = \"<= 4\"\npages_written = \"<= 4\"\n",
    )
    .unwrap();
    let mut checks = counters(&guard, &comparison());
    let figures = |rate: f64, latency: f64| -> BTreeMap<String, f64> {
        [("txns_per_s".to_owned(), rate), ("p99_us".to_owned(), latency)].into()
    };
    for mut timed in Timed::of(&guard) {
        for block in 0..14 {
            let wobble = 1.0 + 0.01 * f64::from(block % 3);
            timed.add(&figures(900.0 * wobble, 9_000.0), &figures(600.0, 11_000.0 * wobble));
        }
        checks.push(timed.check());
    }
    Gate::of(checks)
}

/// The made-up run, and the same a day later on another machine with one variant less.
fn digests() -> [RunDigest; 2] {
    let base = RunDigest::from(made_up::analysis().clone());
    let mut new = base.clone();
    new.plan.id = "later".to_owned();
    new.plan.created = "2099-01-02T00:00:00Z".to_owned();
    new.environment.machine.cpu.model = Some("another CPU".to_owned());
    new.experiments[0].variants.pop();
    [base, new]
}

/// The made-up runs with two of their experiments.
fn small_digests() -> [RunDigest; 2] {
    digests().map(|mut run| {
        let few = ["insert-index-timing", "checkpoint-size"];
        run.experiments.retain(|experiment| few.contains(&experiment.key.as_str()));
        run
    })
}

/// A document in all three forms, and its data.
fn assert_snapshots(name: &str, document: &Document, data: &impl Serialize) {
    let forms = [
        ("terminal", render::terminal(document, STYLE)),
        ("markdown", render::markdown(document)),
        ("page", page_text(document)),
        ("json", serde_json::to_string_pretty(data).unwrap()),
    ];
    for (form, text) in forms {
        insta::assert_snapshot!(format!("{name}_{form}"), text);
    }
}

/// The text of a document, without the figures of the page.
fn page_text(document: &Document) -> String {
    let page = render::html(document).unwrap();
    let main = page.split("<main").nth(1).unwrap_or(&page);
    main.split("</main>").next().unwrap_or_default().to_owned()
}

#[test]
fn the_gate_of_guard_says_what_failed_and_why() {
    let document = report::guarded(&gate(), &comparison());
    assert_snapshots("guard", &document, &gate());
    insta::assert_snapshot!("guard_junit", report::junit(&gate()));
}

#[test]
fn two_sides_are_compared_by_their_counters() {
    let comparisons = [comparison()];
    assert_snapshots("exact", &report::exact(&comparisons), &comparisons);
}

#[test]
fn counters_that_do_not_repeat_are_not_said_to_be_unchanged() {
    let plan = "SEARCH users USING INDEX email (email=?)";
    let [mut base, new] = ["base", "new"].map(|name| side(name, plan, 12.0));
    let Outcome::Measured(measured) = &mut base.trials[1] else { unreachable!() };
    measured.metrics.insert("vm_steps.find_user".to_owned(), 13.0);
    let text = render::markdown(&report::exact(&[ExactComparison::of(&base, &new)]));
    assert!(text.contains("has counters that differ between repetitions"), "{text}");
    assert!(text.contains("unchanged counters, as far as counters repeat."), "{text}");
}

#[test]
fn bounds_have_separators() {
    let guard = "work = { scripts = \"q.sql\" }\n[limits]\nvm_steps = \"<= 1500\"\n";
    let gate = Gate::of(counters(&Guard::parse(guard).unwrap(), &comparison()));
    let text = render::terminal(&report::guarded(&gate, &comparison()), STYLE);
    assert!(text.contains("allowed is <= 1,500"), "{text}");
}

#[test]
fn names_within_what_differs_are_code_on_the_page() {
    let mut comparison = comparison();
    let words = || "10 rows as before, with other values of `email`".to_owned();
    comparison.statements[0].answer = AnswerChange::Other { words: words(), is_untested: false };
    let open = AnswerChange::Open { what: words() };
    comparison.written =
        [("a".to_owned(), AnswerChange::Other { words: words(), is_untested: false })].into();
    comparison.written.insert("b".to_owned(), open);
    let page = page_text(&report::exact(&[comparison]));
    assert_eq!(page.matches("values of <code>email</code>").count(), 3, "{page}");
    assert!(!page.contains('`'), "{page}");
}

#[test]
fn two_runs_are_compared_by_what_can_be_compared() {
    let [base, new] = small_digests();
    let comparisons = [RunComparison::of(&base, &new)];
    let unreadable = [("old".to_owned(), "format 1 is not known".to_owned())];
    let settle = ["pragmark measure q.sql --engine a --engine b".to_owned()];
    let document = report::runs(&comparisons, &settle, &unreadable);
    assert_snapshots("runs", &document, &comparisons);
}

#[test]
fn runs_without_a_ratio_in_common_are_not_said_to_be_the_same() {
    let [base, mut new] = small_digests();
    for variant in new.experiments.iter_mut().flat_map(|experiment| &mut experiment.variants) {
        variant.log_ratios.clear();
    }
    let document = report::runs(&[RunComparison::of(&base, &new)], &[], &[]);
    let text = render::markdown(&document);
    assert!(text.contains("has enough rounds in both runs to be compared"), "{text}");
    assert!(!text.contains("changed detectably"), "{text}");
}

/// Twelve runs; from the seventh on, all medians are half as large, on another machine.
fn halved([base, new]: [RunDigest; 2]) -> History {
    let runs = (0..12).map(|number| {
        let mut run = if number < 6 { base.clone() } else { new.clone() };
        run.plan.id = format!("run-{number:02}");
        run.plan.created = format!("2099-01-{:02}T00:00:00Z", number + 1);
        for variant in run.experiments.iter_mut().flat_map(|experiment| &mut experiment.variants) {
            let factor = if number < 6 { 1.0 } else { 0.5 };
            let wobble = 1.0 + 0.004 * f64::from(number * 7 % 5);
            for summary in variant.summaries.values_mut() {
                summary.median *= factor * wobble;
            }
        }
        Run::of(&run)
    });
    History::of(runs.collect())
}

#[test]
fn changes_between_the_same_two_runs_are_one_item_for_each_experiment() {
    let document = report::history(&halved(digests()), &[]);
    let text = render::terminal(&document, STYLE);
    let items = text.split("Changes of level are found").next().unwrap();
    let items = items.replace("\n  ", " ");
    let items: Vec<&str> = items.lines().filter(|line| line.starts_with(['▲', '▼'])).collect();
    let of = |experiment: &str| {
        let of = items.iter().filter(|item| item[4..].starts_with(experiment));
        of.copied().collect::<Vec<_>>()
    };
    let [item] = of("journal-and-sync")[..] else {
        panic!("{items:#?}");
    };
    let start = "of 20 variants, ×0.501 (journal_mode=delete synchronous=extra,";
    assert!(item.contains(start), "{item}");
    assert!(item.contains(" and 17 more), between run-05 and run-06"), "{item}");
}

#[test]
fn the_history_names_changes_and_draws_charts() {
    let history = halved(small_digests());
    let unreadable = [("old".to_owned(), "format 1 is not known".to_owned())];
    let document = report::history(&history, &unreadable);
    assert_snapshots("history", &document, &history);
    let page = page_text(&document);
    let charts = page.matches("class=\"curve course\"").count();
    assert!(charts > 5, "{charts}");
    assert_eq!(page.matches("class=\"dots\"").count(), charts);
    assert!(page.contains("another CPU"), "marks say what changed");
}

/// The page of a thousand runs, each with ten variants.
#[test]
fn the_page_of_a_thousand_runs_is_below_two_megabytes() {
    let base = RunDigest::from(made_up::analysis().clone());
    let runs = (0..1_000).map(|number| {
        let mut run = base.clone();
        run.plan.id = format!("20261120-101500-{number:04}");
        run.plan.created = format!("2099-01-01T00:{:02}:{:02}Z", number / 60, number % 60);
        Run::of(&run)
    });
    let history = History::of(runs.collect());
    let page = render::html(&report::history(&history, &[])).unwrap();
    assert!(page.len() < 2_000_000, "{}", page.len());
    assert!(page.contains("more charts without a change of level"));
}

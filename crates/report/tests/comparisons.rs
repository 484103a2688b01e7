//! Comparisons, the gate of guard and the history as readers see them, kept as snapshots.

mod made_up;

use std::collections::BTreeMap;

use lab::exact::{Comparison, Side};
use lab::guard::{Gate, Guard, Timed, counters};
use lab::history::{History, Run};
use lab::runs::{RunComparison, RunDigest};
use lab::trial::{Answer, Measured, Outcome, StatementRecord};
use pragmark_report as report;
use report::document::Document;
use report::render;

const STYLE: report::Style = report::Style {
    width: 100,
    colour: false,
};

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
            }),
        }],
        ..Measured::default()
    };
    let trial = Outcome::Measured(Box::new(measured));
    Side {
        name: name.to_owned(),
        trials: vec![trial; 2],
    }
}

fn comparison() -> Comparison {
    let base = side(
        "base: main",
        "SEARCH users USING INDEX email (email=?)",
        12.0,
    );
    Comparison::of(&base, &side("new: feature", "SCAN users", 1_812.0))
}

/// The gate of that comparison, with a budget and a limit of time.
fn gate() -> Gate {
    let guard = Guard::parse(
        "work = { scripts = \"q.sql\" }\n[budgets]\nvm_steps = \"<= 1.1\"\nthroughput = \">= 0.9\"\n[limits]\np99_ms = \"<= 20\"\nsyncs = \"<= 4\"\npages_written = \"<= 4\"\n",
    )
    .unwrap();
    let mut checks = counters(&guard, &comparison());
    let figures = |rate: f64, latency: f64| -> BTreeMap<String, f64> {
        [
            ("txns_per_s".to_owned(), rate),
            ("p99_us".to_owned(), latency),
        ]
        .into()
    };
    for mut timed in Timed::of(&guard) {
        for block in 0..14 {
            let wobble = 1.0 + 0.01 * f64::from(block % 3);
            timed
                .add(
                    &figures(900.0 * wobble, 9_000.0),
                    &figures(600.0, 11_000.0 * wobble),
                )
                .unwrap();
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

/// The text of a document, without the figures of the page.
fn page_text(document: &Document) -> String {
    let page = render::html(document).unwrap();
    let main = page.split("<main").nth(1).unwrap_or(&page);
    main.split("</main>").next().unwrap_or_default().to_owned()
}

#[test]
fn the_gate_of_guard_says_what_failed_and_why() {
    let document = report::guarded(&gate(), &comparison());
    insta::assert_snapshot!("guard_terminal", render::terminal(&document, STYLE));
    insta::assert_snapshot!("guard_markdown", render::markdown(&document));
    insta::assert_snapshot!("guard_page", page_text(&document));
    insta::assert_snapshot!("guard_junit", report::junit(&gate()));
    let json = serde_json::to_string_pretty(&gate()).unwrap();
    insta::assert_snapshot!("guard_json", json);
}

#[test]
fn two_runs_are_compared_by_what_can_be_compared() {
    let [base, new] = digests();
    let comparisons = [RunComparison::of(&base, &new)];
    let unreadable = [("old".to_owned(), "format 1 is not known".to_owned())];
    let settle = ["pragmark measure q.sql --engine a --engine b".to_owned()];
    let document = report::runs(&comparisons, &settle, &unreadable);
    insta::assert_snapshot!("runs_terminal", render::terminal(&document, STYLE));
    insta::assert_snapshot!("runs_markdown", render::markdown(&document));
}

#[test]
fn the_history_names_changes_and_draws_charts() {
    let [base, new] = digests();
    let runs = (0..12).map(|number| {
        let mut run = if number < 6 {
            base.clone()
        } else {
            new.clone()
        };
        run.plan.id = format!("run-{number:02}");
        run.plan.created = format!("2099-01-{:02}T00:00:00Z", number + 1);
        for variant in run.experiments.iter_mut().flat_map(|it| &mut it.variants) {
            let factor = if number < 6 { 1.0 } else { 0.5 };
            let wobble = 1.0 + 0.004 * f64::from(number * 7 % 5);
            for summary in variant.summaries.values_mut() {
                summary.median *= factor * wobble;
            }
        }
        Run::of(&run)
    });
    let history = History::of(runs.collect());
    let document = report::history(&history, &[]);
    let text = render::terminal(&document, STYLE);
    assert!(text.contains("between run-05 and run-06"), "{text}");
    insta::assert_snapshot!("history_terminal", text);
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

//! JUnit XML by the rules of a published schema: that of Jenkins' xunit plugin, `junit-10.xsd`. They are written down here
//! because the schema is not part of this repository.

use lab::comparison::{ExactComparison, Side};
use lab::guard::{Gate, Guard, counters};
use lab::trial::{Answer, Measured, Outcome, StatementRecord};
use pragmark_report as report;
use roxmltree::{Document, Node};

/// A side of which one statement has a name that is hostile to XML.
fn side(plan: &str, steps: f64) -> Side {
    let name = "<a b=\"1\">&\u{1b}]]>";
    let metrics = [("vm_steps".to_owned(), steps), (format!("vm_steps.{name}"), steps)];
    let measured = Measured {
        metrics: metrics.into(),
        statements: vec![StatementRecord {
            name: name.to_owned(),
            sql: "SELECT 1".to_owned(),
            plan: vec![plan.to_owned()],
            answer: Some(Answer {
                executions: 1,
                rows: 1,
                checksum: Some("a".to_owned()),
                ..Answer::default()
            }),
            ..StatementRecord::default()
        }],
        ..Measured::default()
    };
    let trial = Outcome::Measured(Box::new(measured));
    Side { name: "side".to_owned(), trials: vec![trial; 2] }
}

/// One check that failed, one that passed and one that is undecided, at least.
fn gate() -> Gate {
    let guard = "work = { scripts = \"q.sql\" }\n[budgets]\nvm_steps = \"<= 1.1\"\npages_written = \"<= 1\"\n";
    let guard = Guard::parse(guard).unwrap();
    let sides = [side("SEARCH t", 9.0), side("SCAN t", 900.0)];
    Gate::of(counters(&guard, &ExactComparison::of(&sides[0], &sides[1])))
}

/// Checks the attributes of an element: all that are required, and no other than these.
fn has(element: Node<'_, '_>, required: &[&str], optional: &[&str]) {
    let names: Vec<&str> = element.attributes().map(|attribute| attribute.name()).collect();
    let name = element.tag_name().name();
    for wanted in required {
        assert!(names.contains(wanted), "{name} has no {wanted}");
    }
    let known = |it: &&&str| !required.contains(*it) && !optional.contains(*it);
    assert_eq!(names.iter().find(known), None, "in {name}");
}

fn elements<'a, 'b>(parent: Node<'a, 'b>) -> Vec<Node<'a, 'b>> {
    parent.children().filter(Node::is_element).collect()
}

#[test]
fn junit_xml_keeps_to_the_schema_and_counts_its_test_cases() {
    let (gate, counts) = (gate(), ["tests", "failures", "skipped"]);
    let xml = report::junit(&gate);
    let document = Document::parse(&xml).unwrap();
    let root = document.root_element();
    assert_eq!(root.tag_name().name(), "testsuites");
    has(root, &[], &["name", "time", "tests", "failures", "errors"]);
    let [suite] = elements(root)[..] else {
        panic!("one suite");
    };
    let optional = ["skipped", "group", "time", "timestamp", "hostname", "id", "package"];
    has(suite, &["name", "tests", "failures", "errors"], &optional);
    let mut counted = [0; 3];
    for case in elements(suite) {
        assert_eq!(case.tag_name().name(), "testcase");
        has(case, &["name"], &["time", "classname", "group"]);
        counted[0] += 1;
        for result in elements(case) {
            let name = result.tag_name().name();
            let place = ["failure", "skipped"].iter().position(|it| *it == name);
            counted[place.expect(name) + 1] += 1;
            has(result, &[], &["type", "message"]);
        }
    }
    let stated = counts.map(|name| suite.attribute(name).unwrap().parse::<i32>().unwrap());
    assert_eq!(stated, counted);
    assert!(counted.iter().all(|count| *count > 0), "{counted:?}");
    let named = |case: &Node<'_, '_>| case.attribute("name").unwrap().contains("<a b=\"1\">&");
    assert!(elements(suite).iter().any(named), "{xml}");
}

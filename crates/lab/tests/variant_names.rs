//! Labels and answers of an experiment file, from the file to the variants of a plan.

mod common;

use common::{catalogue, columns, read};
use lab::catalogue::{Accepts, Catalogue};
use lab::design::{Variant, variants};
use lab::experiment::{Scale, parse};
use pragmark_lab as lab;

const LABELS: &str = r#"[labels.columns]
1 = "one column"
8 = "eight columns"
[[variants]]
levels = { columns = 4 }
label = "four at once"
answer = "Use four columns."
"#;

fn named(text: &str) -> Vec<Variant> {
    variants(&read(text).unwrap(), Scale::Default, &catalogue())
}

/// The only problem of a file must contain all `parts`.
fn has_one_problem(names: &str, parts: &[&str]) {
    let problems = read(&columns(names)).expect_err(names).to_string();
    assert_eq!(problems.lines().count(), 1, "{problems}");
    for part in parts {
        assert!(problems.contains(part), "`{part}` is not in: {problems}");
    }
}

#[test]
fn variants_take_their_own_label_or_the_words_for_their_levels() {
    let variants = named(&columns(LABELS));
    let names: Vec<&str> = variants.iter().map(Variant::name_or_label).collect();
    let expected = ["one column", "columns=2", "four at once", "eight columns"];
    assert_eq!(names, expected);
    assert_eq!(variants[2].label, "columns=4", "the identity stays");
    assert_eq!(variants[2].answer.as_deref(), Some("Use four columns."));
    assert_eq!(variants[1].name, None);
}

#[test]
fn words_of_several_factors_make_one_name() {
    let text = r#"id = "x"
question = "?"
workload = "bulk-insert"
factors = { journal_mode = ["delete", "wal"], synchronous = ["off", "full"] }
design = { kind = "factorial", baseline = { journal_mode = "delete", synchronous = "full" } }
labels = { journal_mode = { wal = "write-ahead log" } }
variants = [{ levels = {}, label = "as SQLite starts" }]
"#;
    let variants = named(text);
    let names: Vec<&str> = variants.iter().map(Variant::name_or_label).collect();
    let expected = [
        "as SQLite starts",
        "journal_mode=delete synchronous=off",
        "write-ahead log, synchronous=off",
        "write-ahead log, synchronous=full",
    ];
    assert_eq!(names, expected);
}

/// The small catalogue, with a parameter that names the target.
fn with_targets() -> Catalogue {
    let mut catalogue = catalogue();
    let mut target = catalogue.workloads[0].parameters[1].clone();
    target.name = "target".to_owned();
    target.accepts = Accepts::choice(&["sqlite", "postgres", "files"]);
    target.default = None;
    catalogue.workloads[0].parameters.push(target);
    catalogue
}

#[test]
fn only_variants_of_sqlite_are_labelled_with_pragmas() {
    let text = r#"id = "x"
question = "?"
workload = "bulk-insert"
factors = { journal_mode = ["delete", "wal"], target = ["sqlite", "postgres"] }
design = { kind = "factorial", baseline = { journal_mode = "delete", target = "sqlite" } }
"#;
    let catalogue = with_targets();
    let experiment = parse("my.toml", text, &catalogue).unwrap();
    let variants = variants(&experiment, Scale::Default, &catalogue);
    let labels: Vec<&str> = variants.iter().map(|it| it.label.as_str()).collect();
    let once =
        ["journal_mode=delete target=sqlite", "target=postgres", "journal_mode=wal target=sqlite"];
    assert_eq!(labels, once, "and no variant is measured twice");
}

#[test]
fn a_name_for_nothing_is_an_error_with_the_nearest_name() {
    has_one_problem("[labels.colums]\n1 = \"one\"\n", &["my.toml:9:", "not a factor", "`columns`"]);
    has_one_problem(
        "[labels.columns]\n1 = \"one\"\n3 = \"three\"\n",
        &["my.toml:11:", "`3` is not a level of `columns`"],
    );
    has_one_problem(
        "[[variants]]\nlevels = { columns = 3 }\nlabel = \"three\"\n",
        &["my.toml:10:", "3 is not a level of `columns`"],
    );
    has_one_problem(
        "[[variants]]\nlevels = { columns = 2 }\n",
        &["my.toml:9:", "`label` or an `answer`"],
    );
    let twice = "[[variants]]\nlevels = { columns = 2 }\nlabel = \"two\"\n".repeat(2);
    has_one_problem(&twice, &["my.toml:13:", "`columns=2` is named twice"]);
}

//! Experiment files: what is read, and how what is wrong is pointed out.

mod common;

use common::{catalogue, columns, read};
use lab::design::variants;
use lab::experiment::{Scale, experiment_schema};
use pragmark_lab as lab;

/// Every problem of the file, one a line.
fn problems(text: &str) -> String {
    read(text).expect_err("a file with problems").to_string()
}

/// The only problem of a file must contain all `parts`.
fn has_one_problem(text: &str, parts: &[&str]) {
    let problems = problems(text);
    assert_eq!(problems.lines().count(), 1, "{problems}");
    for part in parts {
        assert!(problems.contains(part), "`{part}` is not in: {problems}");
    }
}

#[test]
fn a_valid_file_gives_its_variants() {
    let experiment = read(&columns("")).unwrap();
    let variants = variants(&experiment, Scale::Default, &catalogue());
    let labels: Vec<&str> = variants.iter().map(|variant| variant.label.as_str()).collect();
    assert_eq!(labels, ["columns=1", "columns=2", "columns=4", "columns=8"]);
    assert_eq!(variants[0].settings["rows"], 10.into());
}

#[test]
fn scale_and_adjustments_lie_on_top_of_the_base() {
    let text = r#"id = "x"
question = "?"
workload = "bulk-insert"
base = { rows = 20, index = "after" }
scale = { quick = { rows = 30 } }
factors = { journal_mode = ["delete", "wal"], synchronous = ["off", "full"] }
design = { kind = "factorial", baseline = { journal_mode = "delete", synchronous = "full" } }
exclude = [{ levels = { journal_mode = "wal", synchronous = "off" }, because = "not asked" }]
adjust = [{ for = { synchronous = "off" }, scale = { quick = { rows = 40 } } }]
"#;
    let experiment = read(text).unwrap();
    let rows = |scale| -> Vec<(String, String)> {
        let variants = variants(&experiment, scale, &catalogue());
        variants
            .into_iter()
            .map(|variant| (variant.label, variant.settings["rows"].to_string()))
            .collect()
    };
    let expected = |full: &str, off: &str| {
        vec![
            ("journal_mode=delete synchronous=full".to_owned(), full.to_owned()),
            ("journal_mode=delete synchronous=off".to_owned(), off.to_owned()),
            ("journal_mode=wal synchronous=full".to_owned(), full.to_owned()),
        ]
    };
    assert_eq!(rows(Scale::Quick), expected("30", "40"));
    assert_eq!(rows(Scale::Default), expected("20", "20"));
}

#[test]
fn a_key_of_the_earlier_vocabulary_is_named_with_its_new_name() {
    for (old, new) in [("reference", "baseline"), ("arms", "variants")] {
        let problem = format!("unknown key `{old}`");
        has_one_problem(
            &columns(&format!("{old} = {{}}")),
            &["my.toml:9:", &problem, &format!("`{new}`")],
        );
    }
}

#[test]
fn a_misspelt_key_is_named_with_its_line_and_the_nearest() {
    has_one_problem(
        &columns("baselin = {}"),
        &["my.toml:9:", "unknown key `baselin`", "`baseline`"],
    );
    has_one_problem(
        &columns("").replace("question", "qestion"),
        &["my.toml:2:", "`qestion`", "`question`"],
    );
    let claim = "[[claims]]\nid = \"a\"\nsays = \"b\"\nratio = { off = { columns = 2 }, to = { columns = 1 } }\nat_least = 1\n";
    has_one_problem(&columns(claim), &["my.toml:12:", "unknown key `off`", "`of`"]);
}

#[test]
fn a_misspelt_file_system_is_named_with_the_nearest() {
    let claim = "[[claims]]\nid = \"a\"\nsays = \"b\"\nratio = { of = { columns = 2 }, to = { columns = 1 } }\nat_least = 1\nfile_systems = [\"btfrs\"]\n";
    has_one_problem(&columns(claim), &["unknown file system", "`btrfs`"]);
}

#[test]
fn a_misspelt_pragma_parameter_or_workload_is_named_with_the_nearest() {
    has_one_problem(
        &columns("").replace("workload =", "base = { jurnal_mode = \"wal\" }\nworkload ="),
        &["my.toml:3:", "`jurnal_mode`", "did you mean `journal_mode`?"],
    );
    has_one_problem(
        &columns("").replace("bulk-insert", "bulk-inserts"),
        &["my.toml:3:", "unknown workload `bulk-inserts`", "`bulk-insert`"],
    );
    has_one_problem(
        &columns("").replace("question", "metric = \"row_per_s\"\nquestion"),
        &["my.toml:2:", "unknown metric", "`rows_per_s`"],
    );
}

#[test]
fn a_condition_must_be_a_factor_and_is_given_once() {
    let with = |conditions: &str| {
        columns("").replace("[factors]", &format!("conditions = {conditions}\n[factors]"))
    };
    assert_eq!(read(&with("[\"columns\"]")).unwrap().conditions, ["columns"]);
    has_one_problem(
        &with("[\"colums\"]"),
        &["my.toml:4:", "the condition `colums` is not a factor", "did you mean `columns`?"],
    );
    has_one_problem(
        &with("[\"columns\", \"columns\"]"),
        &["my.toml:4:", "`columns` is given twice"],
    );
}

#[test]
fn an_impossible_level_is_named_with_what_is_possible() {
    has_one_problem(
        &columns("").replace("[1, 2, 4, 8]", "[1, 2, 4, 17]"),
        &["my.toml:5:", "`columns` cannot be 17", "1 to 16"],
    );
    let misspelt =
        columns("").replace("workload =", "base = { journal_mode = \"wall\" }\nworkload =");
    has_one_problem(
        &misspelt,
        &["my.toml:3:", "cannot be \"wall\"", "delete, wal, off", "did you mean `wal`?"],
    );
    has_one_problem(&columns("").replace("[1, 2, 4, 8]", "[1, 2, 2]"), &["given twice"]);
    has_one_problem(&columns("").replace("[1, 2, 4, 8]", "[1, true]"), &["cannot be true"]);
}

#[test]
fn text_that_is_not_toml_or_of_a_wrong_type_is_named_with_its_line() {
    has_one_problem("id = \"x\"\nquestion = \n", &["my.toml:2:"]);
    has_one_problem(&columns("").replace("\"How many columns?\"", "7"), &["my.toml:2:", "string"]);
}

#[test]
fn a_baseline_must_give_one_of_the_levels_of_every_factor() {
    has_one_problem(
        &columns("").replace("{ columns = 1 }", "{}"),
        &["my.toml:8:", "no level for the factor `columns`"],
    );
    has_one_problem(
        &columns("").replace("{ columns = 1 }", "{ columns = 3 }"),
        &["my.toml:8:", "3 is not a level of `columns`", "1, 2, 4, 8"],
    );
}

#[test]
fn a_scale_may_keep_some_of_the_levels_only() {
    let experiment = read(&columns("[levels.quick]\ncolumns = [1, 4]")).unwrap();
    let labels = |scale| -> Vec<String> {
        let variants = variants(&experiment, scale, &catalogue());
        variants.into_iter().map(|variant| variant.label).collect()
    };
    assert_eq!(labels(Scale::Quick), ["columns=1", "columns=4"]);
    assert_eq!(labels(Scale::Default).len(), 4);
    assert_eq!(labels(Scale::Paper).len(), 4);
}

#[test]
fn levels_that_a_scale_keeps_must_exist_and_have_the_baseline() {
    has_one_problem(
        &columns("[levels.quick]\ncolumns = [1, 3]"),
        &["my.toml:10:", "3 is not a level of `columns`", "1, 2, 4, 8"],
    );
    has_one_problem(
        &columns("[levels.quick]\ncolumn = [1]"),
        &["`column` is not a factor", "`columns`"],
    );
    has_one_problem(
        &columns("[levels.quick]\ncolumns = [2, 4]"),
        &["my.toml:10:", "scale quick must keep the level 1"],
    );
}

#[test]
fn claims_are_checked_for_variants_bounds_and_form() {
    let claim = |body: &str| columns(&format!("[[claims]]\nid = \"a\"\nsays = \"b\"\n{body}\n"));
    has_one_problem(
        &claim("ratio = { of = { columns = 3 }, to = { columns = 1 } }\nat_least = 1"),
        &["my.toml:12:", "3 is not a level"],
    );
    has_one_problem(
        &claim("ratio = { of = { columns = 2 }, to = { columns = 1 } }"),
        &["needs `at_least`, `at_most` or `between`"],
    );
    has_one_problem(&claim("at_least = 2"), &["exactly one of ratio"]);
    has_one_problem(
        &claim("equal = { of = { columns = 2 }, to = { columns = 1 } }"),
        &["`within`"],
    );
    has_one_problem(
        &claim("argmax = { over = \"column\", is = [2] }"),
        &["`column` is not a factor"],
    );
    has_one_problem(
        &claim("ratio = { of = { columns = 2 }, to = { columns = 2 } }\nat_least = 1"),
        &["both variants of the claim are the same"],
    );
    has_one_problem(
        &claim(
            "ratio = { of = { columns = 2 }, to = { columns = 1 }, metric = \"seconds.lod\" }\nat_least = 1",
        ),
        &["no phase `lod`", "`load`"],
    );
    let two_figures = |to: &str, metric: &str| {
        claim(&format!(
            "ratio = {{ of = {{ columns = 2 }}, to = {{ columns = {to} }}, to_metric = \"{metric}\" }}\nat_least = 1"
        ))
    };
    assert!(read(&two_figures("2", "rows_per_s.load")).is_ok());
    has_one_problem(
        &two_figures("1", "rows_per_s.load"),
        &["two metrics of the same trials", "must be the same"],
    );
    has_one_problem(
        &two_figures("2", "seconds"),
        &["`seconds` and `rows_per_s` have different units"],
    );
    has_one_problem(&two_figures("2", "rows_per_s.lod"), &["no phase `lod`"]);
}

#[test]
fn all_problems_are_told_at_once_in_the_order_of_lines() {
    let text =
        columns("").replace("[1, 2, 4, 8]", "[1, 99]").replace("columns\"\nq", "Columns\"\nq");
    let problems = problems(&text);
    let lines: Vec<&str> = problems.lines().collect();
    assert_eq!(lines.len(), 2, "{problems}");
    assert!(lines[0].starts_with("my.toml:1:") && lines[1].starts_with("my.toml:5:"), "{problems}");
}

#[test]
fn the_published_schema_is_the_one_in_the_docs_and_accepts_what_is_valid() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/experiment.schema.json");
    let schema = experiment_schema();
    if std::env::var_os("PRAGMARK_WRITE_DOCS").is_some() {
        std::fs::write(path, format!("{schema:#}\n")).unwrap();
    }
    let published: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    assert_eq!(&published, schema, "write it again with PRAGMARK_WRITE_DOCS=1 cargo test");

    let valid = serde_json::to_value(read(&columns("")).unwrap()).unwrap();
    assert!(jsonschema::is_valid(schema, &valid));
    let mut wrong = valid.clone();
    wrong["design"]["kind"] = "sometimes".into();
    assert!(!jsonschema::is_valid(schema, &wrong));
}

#[test]
fn a_combination_that_can_never_be_run_is_refused_with_the_reason() {
    let text = r#"id = "x"
question = "?"
workload = "bulk-insert"
scale = { quick = { columns = 8 }, paper = { columns = 16 } }
factors = { journal_mode = ["delete", "wal"], synchronous = ["off", "full"] }
[design]
kind = "factorial"
baseline = { journal_mode = "delete", synchronous = "full" }
"#;
    has_one_problem(
        text,
        &[
            "my.toml:6:",
            "`journal_mode=wal synchronous=full` and 1 more",
            "no room for 16 columns",
            "`exclude`",
        ],
    );
    let excluded = format!(
        "{text}\n[[exclude]]\nlevels = {{ journal_mode = \"wal\" }}\nbecause = \"no room\"\n"
    );
    assert!(read(&excluded).is_ok());
}

/// A factorial of two factors.
fn crossed(factors: &str, baseline: &str) -> String {
    format!(
        "id = \"x\"\nquestion = \"?\"\nworkload = \"bulk-insert\"\nfactors = {{ {factors} }}\n\
         design = {{ kind = \"factorial\", baseline = {{ {baseline} }} }}\n"
    )
}

#[test]
fn one_misspelt_factor_is_one_problem_however_often_it_is_used() {
    let (modes, syncs) = ("[\"wal\", \"delete\"]", "[\"off\", \"full\"]");
    let right = "journal_mode = \"wal\", synchronous = \"off\"";
    let misspelt = "jurnal_mode = \"wal\", synchronous = \"off\"";
    let nearest = ["`jurnal_mode`", "`journal_mode`"];
    let both = |name: &str| format!("{name} = {modes}, synchronous = {syncs}");
    for (factors, baseline) in [
        (both("jurnal_mode"), misspelt),
        (both("jurnal_mode"), right),
        (both("journal_mode"), misspelt),
    ] {
        has_one_problem(&crossed(&factors, baseline), &nearest);
        let condition = "conditions = [\"jurnal_mode\"]\n";
        let conditioned =
            crossed(&factors, baseline).replace("factors", &format!("{condition}factors"));
        has_one_problem(&conditioned, &nearest);
    }
    let level =
        crossed(&both("journal_mode").replace("wal", "wall"), &right.replace("wal", "wall"));
    has_one_problem(&level, &["\"wall\"", "`wal`"]);
}

#[test]
fn designs_beyond_the_limits_are_refused_at_once() {
    let levels = |count: usize| {
        let levels: Vec<String> = (1..=count).map(|level| level.to_string()).collect();
        format!("[{}]", levels.join(", "))
    };
    let begin = std::time::Instant::now();
    let two = format!("rows = {}, columns = {}", levels(500), levels(400));
    has_one_problem(&crossed(&two, "rows = 1, columns = 1"), &["200000 variants", "at most 10000"]);
    let one = format!("rows = {}", levels(40_000));
    let problems = problems(&crossed(&one, "rows = 1"));
    assert!(problems.contains("40000 variants") && problems.contains("at most 10000 levels"));
    let rounds = columns("stopping = { max_rounds = 4_000_000_000 }");
    has_one_problem(&rounds, &["max_rounds", "at most 10000"]);
    let most = format!("rows = {}, columns = {}", levels(100), levels(8));
    read(&crossed(&most, "rows = 1, columns = 1")).unwrap();
    let unknown: String = (0..5_000).map(|key| format!("key{key} = 1\n")).collect();
    let many = self::problems(&(unknown + &columns("")));
    assert_eq!(many.lines().count(), 100);
    assert!(begin.elapsed().as_secs() < 20, "{:?}", begin.elapsed());
}

//! What is wrong with the numbers of a claim is said with the line.

use crate::common::{columns, read};
use crate::lab::claims::Claim;
use crate::world::{RATIO, claim};

/// The problems of an experiment whose one claim reads so.
fn refused(body: &str) -> String {
    let text = columns(&claim("a", body));
    let problems = read(&text).expect_err(body).to_string();
    // The lines before the claim's own are those of the experiment.
    let before = text.lines().position(|line| line.starts_with("says")).unwrap() + 1;
    let line: usize = problems
        .strip_prefix("my.toml:")
        .and_then(|rest| rest.split(':').next()?.parse().ok())
        .expect("a line");
    assert!(line > before, "{problems}");
    problems
}

#[test]
fn bounds_that_are_no_numbers_are_refused() {
    for number in ["nan", "inf", "-inf"] {
        for bound in [
            format!("{RATIO}\nat_least = {number}"),
            format!("{RATIO}\nat_most = {number}"),
            format!("{RATIO}\nbetween = [1.0, {number}]"),
            format!("{RATIO}\nat_least = 1.1\npublished = {number}"),
            format!(
                "{RATIO}\nat_least = 1.1\nexpected = {{ figure = {number}, origin = \"inferred\" }}"
            ),
            format!("ordering = {{ over = \"columns\" }}\ntolerance = {number}"),
            format!(
                "equal = {{ of = {{ columns = 4 }}, to = {{ columns = 1 }} }}\nwithin = {number}"
            ),
        ] {
            let problems = refused(&bound);
            assert!(problems.contains("must be a finite number"), "{problems}");
        }
    }
    let line = refused(&format!("{RATIO}\nat_least = nan"));
    assert!(line.starts_with("my.toml:13: `at_least`"), "{line}");
}

#[test]
fn a_bound_that_is_null_in_a_record_is_refused_with_its_line() {
    let record = |bound: &str| {
        let ratio = r#""ratio": {"of": {"columns": 4}, "to": {"columns": 1}}"#;
        let text = format!("{{\n\"id\": \"a\", \"says\": \"it\", {ratio},\n{bound}}}");
        serde_json::from_str::<Claim>(&text)
    };
    assert!(record("\"at_least\": 1.5").is_ok());
    for key in ["at_least", "at_most", "between", "within", "tolerance", "published"] {
        let problem = record(&format!("\"{key}\": null")).unwrap_err().to_string();
        assert!(problem.contains("null") && problem.contains("line 3"), "{problem}");
    }
}

#[test]
fn bounds_that_allow_one_verdict_only_are_refused() {
    for (bound, which) in [
        ("at_least = 0", "refutes"),
        ("between = [2.0, 1.0]", "confirms"),
        ("at_least = 3.0\nat_most = 2.0", "confirms"),
        ("at_most = -1", "confirms"),
    ] {
        let problems = refused(&format!("{RATIO}\n{bound}"));
        assert!(problems.contains(&format!("no figure {which}")), "{problems}");
    }
    let spread = refused("spread = { over = \"columns\" }\nat_least = 0.0");
    assert!(spread.contains("no figure refutes"), "{spread}");
    let share = refused("value = { of = { columns = 2 }, metric = \"overlap\" }\nat_most = 1");
    assert!(share.contains("no figure refutes"), "{share}");
    let both = refused(&format!("{RATIO}\nat_least = 1.1\nbetween = [1.0, 2.0]"));
    assert!(both.contains("either `between`"), "{both}");
    let tolerance = refused(&format!("{RATIO}\nat_least = 1.1\ntolerance = 0.1"));
    assert!(tolerance.contains("takes no `tolerance`"), "{tolerance}");
}

#[test]
fn what_fails_the_trial_is_no_claim() {
    let text = |setting: &str, metric: &str| {
        let body = format!(
            "value = {{ of = {{ columns = 2 }}, metric = \"read_back.{metric}\" }}\nbetween = [1, 1]\nexact = true"
        );
        columns(&claim("a", &body))
            .replace("[factors]", &format!("base = {{ {setting} }}\n[factors]"))
    };
    for (setting, metric) in [
        ("synchronous = \"normal\"", "synchronous"),
        ("journal_mode = \"wal\"", "journal_mode_wal"),
    ] {
        let problems = read(&text(setting, metric)).expect_err(metric).to_string();
        assert!(problems.contains("list it in `checks`"), "{problems}");
        // What nobody sets can read back as anything; the small workload reads nothing back.
        let unset = read(&text("rows = 10", metric)).expect_err(metric);
        assert!(!unset.to_string().contains("list it in `checks`"), "{unset}");
    }
}

#[test]
fn remarks_on_figures_are_checked() {
    let ratio = format!("{RATIO}\nat_least = 1.1");
    let expected = "expected = { figure = 1.2, origin = \"prototype\" }";
    assert!(read(&columns(&claim("a", &format!("{ratio}\n{expected}")))).is_ok());
    let both = refused(&format!("{ratio}\npublished = 1.3\n{expected}"));
    assert!(both.contains("either `published` or `expected`"), "{both}");
    assert!(refused(&format!("{ratio}\nbound_because = \" \"")).contains("empty reason"));
    let never = "not_at = { quick = \"a\", default = \"b\", paper = \"c\" }";
    assert!(refused(&format!("{ratio}\n{never}")).contains("judged at no scale"));
    let origin = refused(&format!("{ratio}\nexpected = {{ figure = 1.2, origin = \"hearsay\" }}"));
    assert!(origin.contains("hearsay"), "{origin}");
}

#[test]
fn claims_and_checks_share_their_names() {
    let claims = claim("a", &format!("{RATIO}\nat_least = 1.1"));
    let check = |id: &str| format!("{claims}\n[[checks]]\nid = \"{id}\"\nsays = \"it holds\"\n");
    assert!(read(&columns(&check("b"))).is_ok());
    let twice = read(&columns(&check("a"))).expect_err("a name twice").to_string();
    assert!(twice.contains("`a` is given twice"), "{twice}");
}

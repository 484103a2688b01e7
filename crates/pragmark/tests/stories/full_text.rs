//! Full-text search on documents of one's own.

use crate::laboratory::Laboratory;

/// Two tokenizers asked for one word.
const OWN: &str = r#"
id = "own"
question = "Which tokenizer finds more?"
workload = "fts-query"
metric = "seconds"
base = { queries = "own", query = "connect", repeat = 1, synchronous = "off" }
factors = { tokenizer = ["unicode61", "porter", "no-such-tokenizer"] }
[design]
kind = "one-at-a-time"
reference = { tokenizer = "unicode61" }
stopping = { rounds = 2, max_rounds = 2 }
[[claims]]
id = "own-1"
says = "porter finds at least twice as many rows"
ratio = { of = { tokenizer = "porter" }, to = { tokenizer = "unicode61" }, metric = "results.own" }
at_least = 2.0
exact = true
"#;

const TEXT: &str = "id,subject,body\n\
    1,one,please connect\n\
    2,two,\"it connected, \"\"well\"\"\"\n\
    3,three,connections\n";

#[test]
fn ones_own_text_is_searched_and_an_unknown_tokenizer_skipped_by_name() {
    let laboratory = Laboratory::new();
    laboratory.write("own.toml", OWN);
    laboratory.write("mails.csv", TEXT);
    laboratory
        .pragmark(&[
            "run",
            "own.toml",
            "--text",
            "mails.csv",
            "--columns",
            "subject,body",
            "--out",
            "run",
        ])
        .exits(0)
        .complains(&["3 documents", "subject, body"])
        .says(&["own-1", "confirmed", "no-such-tokenizer"]);
    let trials = laboratory.trials("run");
    let results: Vec<f64> = trials
        .iter()
        .filter_map(|trial| trial["outcome"]["measured"]["metrics"]["results.own"].as_f64())
        .collect();
    assert!(
        results.contains(&1.0) && results.contains(&3.0),
        "{results:?}"
    );
    let skipped = trials
        .iter()
        .filter_map(|trial| trial["outcome"]["skipped"]["why"].as_str());
    assert!(skipped.clone().count() > 0);
    for why in skipped {
        assert!(why.contains("no-such-tokenizer"), "{why}");
    }
}

#[test]
fn a_mistake_in_ones_own_text_is_named_before_anything_is_begun() {
    let laboratory = Laboratory::new();
    laboratory.write("own.toml", OWN);
    laboratory.write("mails.csv", TEXT);
    laboratory.write("empty.jsonl", "");
    std::fs::write(laboratory.path().join("latin.csv"), b"body\nok\nna\xefve\n").unwrap();
    let run = |text: &str, columns: &str| {
        laboratory.pragmark(&[
            "run",
            "own.toml",
            "--out",
            "run",
            "--text",
            text,
            "--columns",
            columns,
        ])
    };
    run("mails.csv", "title")
        .exits(3)
        .complains(&["mails.csv", "`title`", "id, subject, body"]);
    run("latin.csv", "body")
        .exits(3)
        .complains(&["latin.csv, row 2", "UTF-8"]);
    run("empty.jsonl", "body")
        .exits(3)
        .complains(&["empty.jsonl"]);
    run("missing.csv", "body")
        .exits(3)
        .complains(&["missing.csv"]);
    laboratory
        .pragmark(&["run", "small.toml", "--text", "mails.csv", "--out", "run"])
        .exits(2)
        .complains(&["`small`", "--text"]);
    assert!(!laboratory.path().join("run").exists());
}

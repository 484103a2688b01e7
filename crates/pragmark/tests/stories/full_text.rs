//! Full-text search on documents of one's own.

use std::path::Path;
use std::process::Command;

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
baseline = { tokenizer = "unicode61" }
stopping = { rounds = 2, max_rounds = 2 }
[[claims]]
id = "own-1"
says = "porter finds at least twice as many rows"
ratio = { of = { tokenizer = "porter" }, to = { tokenizer = "unicode61" }, metric = "results.own" }
at_least = 2.0
exact = true
"#;

const TEXT: &str = "id, subject, body\n\
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
            "run", "own.toml", "--text", "mails.csv", "--columns", "subject, body", "--out", "run",
        ])
        .exits(0)
        .complains(&["3 documents", "subject, body"])
        .complains(&["own uses all 3 documents at the scale default"])
        .says(&["own-1", "confirmed", "no-such-tokenizer"]);
    let trials = laboratory.trials("run");
    let results: Vec<f64> = trials
        .iter()
        .filter_map(|trial| trial["outcome"]["measured"]["metrics"]["results.own"].as_f64())
        .collect();
    assert!(results.contains(&1.0) && results.contains(&3.0), "{results:?}");
    let skipped = trials.iter().filter_map(|trial| trial["outcome"]["skipped"]["why"].as_str());
    assert!(skipped.clone().count() > 0);
    for why in skipped {
        assert!(why.contains("no-such-tokenizer"), "{why}");
    }
}

/// What the library's experiment on tokenizers makes of a text in which no published query is to be found.
#[test]
fn queries_are_drawn_from_ones_own_text_and_published_claims_are_not_judged() {
    let laboratory = Laboratory::new();
    let letter = |n: usize| format!("Rechnung {n}x,Bestellung{} fehlt seit Kündigung\n", n / 3);
    let letters: String = (0..120).map(letter).collect();
    laboratory.write("briefe.csv", &format!("Betreff,Inhalt\n{letters}"));
    let run = ["run", "fts-queries", "--quick", "--text", "briefe.csv", "--probe", "0"];
    laboratory
        .pragmark(&[&run[..], &["--out", "run"]].concat())
        .exits(0)
        .complains(&["The queries are drawn from the documents", "Classes without queries", "cjk"])
        .complains(&["The published claims (10) are about other documents and are not judged"]);
    let page = laboratory.read("run/report.html");
    assert!(page.contains("are not judged") && !page.contains("fts-30"));
    assert!(!page.contains("machine learning") && page.contains("bestellung"));
    for trial in laboratory.trials("run") {
        let metrics = &trial["outcome"]["measured"]["metrics"];
        assert!(metrics["answered"].as_f64().unwrap() > 20.0, "{trial}");
        for class in ["like-rare", "glob-medium", "regexp"] {
            assert!(metrics[format!("results.{class}")].as_f64().unwrap() > 0.0);
        }
    }
}

#[test]
fn ones_own_queries_run_on_ones_own_text() {
    let laboratory = Laboratory::new();
    laboratory.write("own.toml", &OWN.replace("queries = \"own\", query = \"connect\", ", ""));
    laboratory.write("mails.csv", TEXT);
    laboratory.write("queries.txt", "# mine\nconnect\nsubject LIKE %t%\n");
    let own = ["--text", "mails.csv", "--queries", "queries.txt", "--out", "run"];
    laboratory
        .pragmark(&[&["run", "own.toml"][..], &own].concat())
        .exits(0)
        .complains(&["The queries are your own: 2"])
        .says(&["own-1"]);
    laboratory
        .pragmark(&[&["run", "fts-limit"][..], &own].concat())
        .exits(2)
        .complains(&["`fts-limit` compares classes of queries"]);
    laboratory.write("queries.txt", "title LIKE %t%\n");
    laboratory
        .pragmark(&[&["run", "own.toml"][..], &own].concat())
        .exits(3)
        .complains(&["queries.txt: line 1: there is no column `title`"]);
}

#[test]
fn a_mistake_in_ones_own_text_is_named_before_anything_is_begun() {
    let laboratory = Laboratory::new();
    laboratory.write("own.toml", OWN);
    laboratory.write("mails.csv", TEXT);
    laboratory.write("empty.jsonl", "");
    std::fs::write(laboratory.path().join("latin.csv"), b"body\nok\nna\xefve\n").unwrap();
    let run = |text: &str, columns: &str| {
        laboratory
            .pragmark(&["run", "own.toml", "--out", "run", "--text", text, "--columns", columns])
    };
    run("mails.csv", "title").exits(3).complains(&["mails.csv", "`title`", "id, subject, body"]);
    run("latin.csv", "body").exits(3).complains(&["latin.csv, row 2", "UTF-8"]);
    run("mails.csv", "body,body").exits(3).complains(&["mails.csv", "`body`", "--columns"]);
    run("empty.jsonl", "body").exits(3).complains(&["empty.jsonl"]);
    run("missing.csv", "body").exits(3).complains(&["missing.csv"]);
    laboratory
        .pragmark(&["run", "small.toml", "--text", "mails.csv", "--out", "run"])
        .exits(2)
        .complains(&["`small`", "--text"]);
    let updates = ["run", "fts-updates", "--text", "mails.csv", "--out", "run"];
    laboratory
        .pragmark(&updates)
        .exits(2)
        .complains(&["`fts-updates` takes generated documents only"]);
    assert!(!laboratory.path().join("run").exists());
}

#[test]
fn a_run_asks_for_no_more_documents_than_there_are_and_says_how_many_it_uses() {
    let laboratory = Laboratory::new();
    // A forecast by the rows of the scale would refuse the run.
    let scales = "scale = { quick = { rows = 2 }, paper = { rows = 500_000_000 } }\nfactors =";
    laboratory.write("own.toml", &OWN.replace("factors =", scales));
    laboratory.write("mails.csv", TEXT);
    for (scale, used) in [("quick", "the first 2 of 3 documents"), ("paper", "all 3 documents")] {
        let own = ["run", "own.toml", "--text", "mails.csv", "--yes"];
        let told = format!("own uses {used} at the scale {scale}");
        laboratory
            .pragmark(&[&own[..], &["--scale", scale, "--out", scale]].concat())
            .exits(0)
            .complains(&[&told]);
        let page = laboratory.read(&format!("{scale}/report.html"));
        assert!(page.contains(&format!("not generated: {used} in ")));
    }
}

#[test]
fn a_run_whose_trials_would_be_stopped_is_refused_with_the_limit_that_they_need() {
    let laboratory = Laboratory::new();
    let scale = "scale = { quick = { rows = 1_000 }, paper = { rows = 500_000 } }\nfactors =";
    laboratory.write("own.toml", &OWN.replace("factors =", scale));
    laboratory
        .pragmark(&[
            "run", "own.toml", "--scale", "paper", "--trial-limit", "5s", "--yes", "--out", "run",
        ])
        .exits(2)
        .complains(&["trial of own", "stopped after 5s", "--trial-limit"]);
    assert!(!laboratory.path().join("run").exists());
}

/// A tokenizer in C, as it comes with a loadable extension.
const CHARACTERS: &str = include_str!("characters.c");

#[test]
fn a_tokenizer_from_an_extension_finds_words_of_chinese_that_have_no_spaces() {
    if !Path::new("/usr/include/sqlite3ext.h").exists() {
        testing::skip("/usr/include/sqlite3ext.h is not installed (Debian: libsqlite3-dev)");
        return;
    }
    let laboratory = Laboratory::new();
    laboratory.write("characters.c", CHARACTERS);
    let compiled = Command::new("cc")
        .args(["-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"])
        .args(["-o", "characters.so", "characters.c"])
        .current_dir(laboratory.path())
        .output()
        .unwrap();
    let complaint = String::from_utf8_lossy(&compiled.stderr);
    assert!(compiled.status.success(), "{complaint}");
    let extension = laboratory.path().join("characters.so");
    let experiment = OWN
        .replace(
            r#"query = "connect""#,
            &format!(r#"query = "数据", extension = "{}""#, extension.display()),
        )
        .replace("no-such-tokenizer", "characters");
    laboratory.write("own.toml", experiment.split("[[claims]]").next().unwrap());
    laboratory.write("notes.csv", "body\n我爱数据库\n数字\ndata\n");
    let own = ["run", "own.toml", "--text", "notes.csv", "--out", "run"];
    laboratory.pragmark(&[&own[..], &["--columns", "body"]].concat()).exits(0);
    let found = |tokenizer: &str| -> Vec<f64> {
        (laboratory.trials("run").iter())
            .filter(|trial| trial["variant"] == format!("tokenizer={tokenizer}"))
            .filter_map(|trial| trial["outcome"]["measured"]["metrics"]["results.own"].as_f64())
            .collect()
    };
    // A run of characters without a space is one word to the tokenizers of FTS5 itself.
    assert_eq!(found("unicode61"), [0.0; 4]);
    assert_eq!(found("characters"), [1.0; 2]);
}

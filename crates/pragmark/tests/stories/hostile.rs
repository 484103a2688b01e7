//! Files and folders from somebody else: their text stays text, what is too large is refused at once, and a
//! run of theirs is not resumed unasked.

use lab::text::is_active;

use crate::laboratory::{Answer, Laboratory, SMALL};

/// Every text of an experiment, with what terminals, browsers, spreadsheets or compilers would act on.
const HOSTILE: &str = r#"
id = "hostile"
question = "Which?\nimport os; os.system('id')\u001b[31m\u001b]0;t\u0007</script><img src=x onerror=alert(1)>]]>`tick`|\u202e\u0000 coding: utf_7 \\"
note = "a\n# b\u001b[2J"
source = "\u001b[31m=1+1"
workload = "bulk-insert"
base = { rows = 200 }
factors = { journal_mode = ["delete", "wal"], synchronous = ["off", "full"] }
labels = { journal_mode = { wal = "=HYPERLINK(\"http://x\")\u001b[31m\n|<b>" } }
[design]
kind = "factorial"
baseline = { journal_mode = "delete", synchronous = "full" }
stopping = { rounds = 2, max_rounds = 2 }
[[variants]]
levels = { journal_mode = "wal", synchronous = "full" }
label = "@SUM(1)\u202e\u0007</script>"
answer = "do\n# this\u001b[1m `now"
[[upper_bounds]]
name = "-1+1\u001b[31m\n</td>"
says = "x\u001b[31m"
workload = "upper-bounds"
[[claims]]
id = "+c\u001b[31m"
says = "=cmd|' /C calc'!A0\n</script>"
ratio = { of = { synchronous = "off" }, to = { synchronous = "full" } }
at_least = 1
"#;

/// Fails where an output holds a character that acts.
#[track_caller]
fn assert_inactive(text: &str) {
    let acts = |c: &char| is_active(*c) && !"\n\t".contains(*c);
    assert_eq!(text.chars().find(acts), None, "{text:?}");
}

#[test]
fn text_of_a_file_is_text_in_every_output() {
    let laboratory = Laboratory::new();
    laboratory.write("hostile.toml", HOSTILE);
    let run = laboratory.pragmark(&["run", "hostile.toml", "--out", "run"]).exits(0);
    let shown = laboratory.pragmark(&["show", "hostile.toml"]).exits(0);
    for answer in [&run, &shown] {
        assert_inactive(&answer.stdout());
        assert_inactive(&answer.stderr());
    }
    assert_inactive(&laboratory.read("run/report.html"));
    for arguments in [
        &["report", "run"][..],
        &["report", "run", "--format", "markdown"],
        &["report", "run", "--format", "csv"],
        &["report", "run", "--format", "csv", "--wide"],
        &["report", "run", "--format", "variants-csv"],
        &["report", "run", "--format", "claims-csv"],
        &["report", "run", "--format", "json"],
        &["settings", "run"],
        &["settings", "run", "--for", "python"],
    ] {
        let answer = laboratory.pragmark(arguments).exits(0);
        assert_inactive(&answer.stdout());
    }
    laboratory.pragmark(&["report", "run", "--format", "claims-csv"]).says(&["'+c", "'=cmd"]);
    let python = laboratory.pragmark(&["settings", "run", "--for", "python"]);
    let mut lines = python.stdout().lines().map(str::to_owned).collect::<Vec<_>>();
    lines.retain(|line| line.contains("os.system"));
    assert!(!lines.is_empty() && lines.iter().all(|line| line.starts_with("# ")));
}

#[test]
fn what_is_no_file_or_too_large_is_refused_at_once_with_the_limit() {
    let laboratory = Laboratory::new();
    let refused = |file: &str, parts: &[&str]| {
        laboratory.pragmark(&["show", file]).exits(2).complains(parts);
    };
    refused("/dev/zero", &["/dev/zero", "not a regular file"]);
    let pipe = laboratory.path().join("pipe.toml");
    let (kind, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU);
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, kind, mode, 0).unwrap();
    refused("pipe.toml", &["pipe.toml", "not a regular file"]);
    laboratory.write("large.toml", &"# nothing\n".repeat(100_000));
    refused("large.toml", &["large.toml", "larger than 256 KiB"]);

    let design =
        "design = { kind = \"factorial\", baseline = { rows = 1, rows_per_statement = 1 } }";
    let levels = |most: usize| format!("{:?}", (1..=most).collect::<Vec<_>>());
    let factors =
        format!("factors = {{ rows = {}, rows_per_statement = {} }}", levels(500), levels(400));
    let head = "id = \"x\"\nquestion = \"?\"\nworkload = \"bulk-insert\"";
    laboratory.write("many.toml", &format!("{head}\n{factors}\n{design}\n"));
    refused("many.toml", &["200000 variants", "at most 10000"]);
    laboratory
        .write("rows.toml", &SMALL.replace("rows = 2_000", "rows = 9_000_000_000_000_000_000"));
    refused("rows.toml", &["`rows` cannot be 9000000000000000000", "to 1000000000000"]);
}

/// A run that somebody with another cache directory began.
fn run_of_another() -> Laboratory {
    let laboratory = Laboratory::new();
    let cache = laboratory.path().join("cache of another");
    let cache = [("PRAGMARK_CACHE", cache.to_str().unwrap())];
    laboratory.pragmark_with_variables(&cache, &["run", "small.toml", "--out", "run"]).exits(0);
    laboratory
}

fn resume(laboratory: &Laboratory, more: &[&str]) -> Answer {
    laboratory.pragmark(&[&["run", "--resume", "run"], more].concat())
}

#[test]
fn a_run_of_another_names_what_it_would_load_and_is_resumed_when_trusted() {
    let laboratory = run_of_another();
    let plan = laboratory.read("run/run.json");
    let hostile = plan.replace("\"engine\": \"default\"", "\"engine\": \"/tmp/evil.so\"");
    assert_ne!(plan, hostile);
    laboratory.write("run/run.json", &hostile);
    let directory = laboratory.path().canonicalize().unwrap();
    resume(&laboratory, &[]).exits(2).complains(&[
        "not begun by you",
        "loads: /tmp/evil.so, default",
        directory.to_str().unwrap(),
        "--trust",
    ]);
    laboratory.write("run/run.json", &plan);
    resume(&laboratory, &[]).exits(2).complains(&["loads: default"]);
    resume(&laboratory, &["--trust"]).exits(0);
    // From then on it is known, until its plan is changed.
    resume(&laboratory, &[]).exits(0);
    laboratory.write("run/run.json", &plan.replace("\"quick\": false", "\"quick\": true"));
    resume(&laboratory, &[]).exits(2).complains(&["its plan was changed"]);
    laboratory
        .pragmark(&["run", "small.toml", "--trust"])
        .exits(2)
        .complains(&["cannot be used with '--trust'"]);
}

#[test]
fn a_page_that_is_a_link_is_replaced_and_what_it_leads_to_left_alone() {
    let laboratory = run_of_another();
    laboratory.write("precious", "mine");
    let page = laboratory.path().join("run/report.html");
    std::fs::remove_file(&page).unwrap();
    std::os::unix::fs::symlink(laboratory.path().join("precious"), &page).unwrap();
    resume(&laboratory, &["--trust"]).exits(0);
    assert_eq!(laboratory.read("precious"), "mine");
    assert!(laboratory.read("run/report.html").contains("</html>"));
}

#[test]
fn a_record_that_is_damaged_or_foreign_is_refused_without_a_hint_at_itself() {
    let laboratory = Laboratory::new();
    laboratory.pragmark(&["run", "small.toml", "--out", "run"]).exits(0);
    let record = laboratory.read("run/outcomes.jsonl");
    let last = record.lines().last().unwrap();
    let lines = record.lines().count();
    let other_run = record.replacen("\"run\":\"", "\"run\":\"other-", 1);
    for (hostile, part) in [
        (String::new(), "first line".to_owned()),
        (format!("{record}{{}}\n"), format!("line {}", lines + 1)),
        (format!("{record}{last}\n"), "twice".to_owned()),
        (other_run, "belongs to the run other-".to_owned()),
        (
            format!("{record}{}\n", last.replace("\"small\"", "\"elsewhere\"")),
            "no experiment `elsewhere`".to_owned(),
        ),
    ] {
        laboratory.write("run/outcomes.jsonl", &hostile);
        let answer = resume(&laboratory, &[]).exits(3);
        let answer = answer.complains(&["outcomes.jsonl", &part, "start a new run"]);
        assert!(!answer.stderr().contains("--resume"), "{}", answer.stderr());
        assert_eq!(laboratory.read("run/outcomes.jsonl"), hostile);
        laboratory.pragmark(&["report", "run"]).exits(3);
    }
    laboratory.write("run/outcomes.jsonl", &record);
    let plan = laboratory.read("run/run.json");
    let version = format!("\"pragmark\": \"{}\"", env!("CARGO_PKG_VERSION"));
    let older = plan.replace(&version, "\"pragmark\": \"0.0.1\"");
    assert_ne!(plan, older);
    laboratory.write("run/run.json", &older);
    resume(&laboratory, &["--trust"]).exits(3).complains(&["begun by pragmark 0.0.1"]);
}

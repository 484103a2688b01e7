//! What a new user meets: the quick start, an experiment of one's own, the page, the list of runs, completions.

use std::os::unix::fs::PermissionsExt;

use crate::laboratory::{Answer, Laboratory};

#[test]
fn without_a_command_a_quick_start_is_printed_and_every_line_of_it_is_a_valid_command() {
    let laboratory = Laboratory::new();
    let start = laboratory.pragmark(&[]).exits(0).stdout();
    let lines: Vec<&str> =
        start.lines().filter_map(|line| line.strip_prefix("  pragmark ")).collect();
    assert!(lines.len() >= 8, "{start}");
    for line in lines {
        let command = line.split("  ").next().unwrap();
        let words: Vec<&str> = command.split(' ').collect();
        let help = laboratory.pragmark(&[words[0], "--help"]).exits(0);
        for option in words.iter().take_while(|word| **word != "--").skip(1) {
            let is_known = !option.starts_with('-') || help.stdout().contains(option);
            assert!(is_known, "{line}: {option}");
        }
    }
    for line in start.lines() {
        assert!(line.chars().count() <= 110, "{line}");
    }
}

#[test]
fn a_new_experiment_is_checked_and_run_as_it_is_and_overwrites_nothing() {
    let laboratory = Laboratory::new();
    laboratory
        .pragmark(&["new", "experiment", "my-question"])
        .exits(0)
        .says(&["pragmark run --quick my-question.toml"]);
    laboratory
        .pragmark(&["show", "my-question.toml"])
        .exits(0)
        .says(&["Which settings make our transactions fastest?", "my-question-1"]);
    laboratory
        .pragmark(&["run", "--quick", "my-question.toml", "--out", "run", "--time-limit", "20s"])
        .exits(0)
        .says(&["journal_mode=wal"]);
    laboratory
        .pragmark(&["new", "experiment", "my-question"])
        .exits(3)
        .complains(&["cannot create my-question.toml"]);
    laboratory
        .pragmark(&["new", "experiment", "My Question"])
        .exits(2)
        .complains(&["lower-case letters, digits and hyphens"]);
    assert!(!laboratory.path().join("My Question.toml").exists());
}

/// The laboratory with these runs in pragmark-runs.
fn with_runs(names: &[&str]) -> Laboratory {
    let laboratory = Laboratory::new();
    for name in names {
        let out = format!("pragmark-runs/{name}");
        laboratory.pragmark(&["run", "small.toml", "--out", &out]).exits(0);
    }
    laboratory
}

/// Makes a run seem to be planned at this time.
fn date(laboratory: &Laboratory, name: &str, created: &str) {
    let file = format!("pragmark-runs/{name}/run.json");
    let mut plan: serde_json::Value = serde_json::from_str(&laboratory.read(&file)).unwrap();
    plan["created"] = created.into();
    laboratory.write(&file, &plan.to_string());
}

#[test]
fn a_binding_has_the_usual_settings_until_there_is_a_run() {
    let laboratory = Laboratory::new();
    let settings =
        |more: &[&str]| laboratory.pragmark(&[&["settings", "--for", "django"][..], more].concat());
    settings(&[]).exits(0).says(&[
        "Nothing was measured here",
        "PRAGMA journal_mode = wal",
        "PRAGMA synchronous = full",
        "pragmark tune",
    ]);
    settings(&["--may-lose", "recent"]).exits(0).says(&["PRAGMA synchronous = normal"]);
    settings(&["--may-lose", "anything"]).exits(3).complains(&["no folder pragmark-runs"]);
    laboratory.pragmark(&["settings"]).exits(3).complains(&["no folder pragmark-runs"]);
}

#[test]
fn runs_are_listed_the_latest_first_with_question_answer_age_and_size() {
    let laboratory = Laboratory::new();
    laboratory
        .pragmark(&["runs"])
        .exits(3)
        .complains(&["no folder pragmark-runs", "`pragmark run`"]);
    let laboratory = with_runs(&["a", "b"]);
    date(&laboratory, "b", "2026-01-01T00:00:00.000Z");
    let list = laboratory.pragmark(&["runs"]).exits(0).says(&[
        "How many rows should one INSERT carry?",
        "days ago",
        "minute",
        "KiB",
    ]);
    let list = list.stdout();
    assert!(list.find("runs/a") < list.find("runs/b"), "{list}");
    let report = laboratory.pragmark(&["report", "pragmark-runs/a"]).stdout();
    let answer = list.lines().nth(2).unwrap().trim();
    let beginning: String = answer.chars().take(20).collect();
    assert!(report.contains(&beginning), "{answer}\n{report}");

    laboratory.write("pragmark-runs/b/run.json", "{}");
    laboratory.pragmark(&["runs"]).exits(0).says(&["cannot be read"]);
}

fn folders(laboratory: &Laboratory) -> Vec<String> {
    let entries = std::fs::read_dir(laboratory.path().join("pragmark-runs")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

#[test]
fn old_runs_are_removed_and_nothing_else() {
    let laboratory = with_runs(&["new", "old", "older", "precious"]);
    date(&laboratory, "old", "2026-01-02T00:00:00.000Z");
    date(&laboratory, "older", "2026-01-01T00:00:00.000Z");
    date(&laboratory, "precious", "2025-01-01T00:00:00.000Z");
    laboratory.write("pragmark-runs/precious/notes.txt", "mine");
    let prune = |arguments: &[&str]| -> Answer {
        laboratory.pragmark(&[&["runs", "prune"], arguments].concat())
    };
    prune(&[]).exits(2).complains(&["--keep", "--older-than"]);
    prune(&["--keep", "1"]).exits(2).complains(&["--yes"]);
    prune(&["--yes", "."]).exits(2).complains(&["--keep", "--older-than"]);
    prune(&["--older-than", "3", "--yes"]).exits(2).complains(&["needs a unit, such as 30d"]);
    prune(&["--older-than", "10d", "--keep", "9"]).exits(0).says(&["nothing to remove"]);
    prune(&["--older-than", "10d", "--dry-run"])
        .exits(0)
        .says(&["runs/old ", "runs/older ", "3 runs"]);
    assert_eq!(folders(&laboratory), ["new", "old", "older", "precious"]);
    prune(&["--keep", "2", "--yes"])
        .exits(0)
        .says(&["removed 1 run"])
        .complains(&["precious", "notes.txt"]);
    assert_eq!(folders(&laboratory), ["new", "old", "precious"]);
    prune(&["--older-than", "10d", "--yes"]).exits(0);
    assert_eq!(folders(&laboratory), ["new", "precious"]);
    assert_eq!(laboratory.read("pragmark-runs/precious/notes.txt"), "mine");
    laboratory.read("pragmark-runs/precious/run.json");
}

#[test]
fn a_run_in_use_is_not_removed_nor_anything_that_a_link_names() {
    let laboratory = with_runs(&["a", "b"]);
    laboratory.write("precious", "mine");
    let page = laboratory.path().join("pragmark-runs/b/report.html");
    std::fs::remove_file(&page).unwrap();
    std::os::unix::fs::symlink(laboratory.path().join("precious"), &page).unwrap();
    let record = laboratory.path().join("pragmark-runs/a/outcomes.jsonl");
    let record = std::fs::File::open(record).unwrap();
    record.lock().unwrap();
    laboratory.pragmark(&["runs", "prune", "--keep", "0", "--yes"]).exits(3).complains(&["in use"]);
    assert_eq!(folders(&laboratory), ["a"]);
    assert_eq!(laboratory.read("precious"), "mine");
}

#[test]
fn the_page_of_the_latest_run_is_opened() {
    let laboratory = with_runs(&["a", "b"]);
    date(&laboratory, "b", "2026-01-01T00:00:00.000Z");
    let bin = laboratory.path().join("bin");
    std::fs::create_dir(&bin).unwrap();
    laboratory.write("bin/xdg-open", "#!/bin/sh\necho \"$1\" >> \"$OPENED\"\n");
    let executable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(bin.join("xdg-open"), executable).unwrap();
    let path = format!("{}:/usr/bin:/bin", bin.display());
    let opened = laboratory.path().join("opened");
    let variables = [("PATH", path.as_str()), ("OPENED", opened.to_str().unwrap())];
    let open = |arguments: &[&str]| laboratory.pragmark_with_variables(&variables, arguments);
    // The page is made again from the record.
    std::fs::remove_file(laboratory.path().join("pragmark-runs/a/report.html")).unwrap();
    open(&["report", "--open"]).exits(0).says(&["pragmark-runs/a/report.html"]);
    open(&["report", "--open", "pragmark-runs/b"]).exits(0);
    let pages = laboratory.read("opened");
    let pages: Vec<&str> = pages.lines().collect();
    assert!(pages[0].ends_with("pragmark-runs/a/report.html"), "{pages:?}");
    assert!(pages[1].ends_with("pragmark-runs/b/report.html"), "{pages:?}");
    assert!(std::fs::read_to_string(pages[0]).unwrap().contains("</html>"));

    let nothing = [("PATH", "/nonexistent")];
    laboratory
        .pragmark_with_variables(&nothing, &["report", "--open"])
        .exits(3)
        .complains(&["cannot start a browser", "open this file yourself"]);
}

#[test]
fn completions_are_installed_where_the_shell_looks_for_them() {
    let laboratory = Laboratory::new();
    let config = laboratory.path().join("config");
    let install = |shell: &str, arguments: &[&str]| {
        let variables = [("SHELL", shell), ("XDG_CONFIG_HOME", config.to_str().unwrap())];
        laboratory
            .pragmark_with_variables(&variables, &[&["--install-completions"], arguments].concat())
    };
    install("/bin/bash", &[]).exits(0).says(&["data/bash-completion/completions/pragmark"]);
    let printed = laboratory.pragmark(&["--generate", "bash"]).exits(0).stdout();
    let installed = laboratory.read("data/bash-completion/completions/pragmark");
    assert_eq!(installed, printed);
    install("/bin/bash", &["fish"]).exits(0);
    laboratory.read("config/fish/completions/pragmark.fish");
    install("/bin/bash", &["zsh"]).exits(0).says(&["fpath=(", "data/zsh/site-functions"]);
    laboratory.read("data/zsh/site-functions/_pragmark");
    install("/bin/none", &[]).exits(2).complains(&["SHELL"]);
    install("/bin/bash", &["elvish"]).exits(2).complains(&["pragmark --generate elvish"]);
}

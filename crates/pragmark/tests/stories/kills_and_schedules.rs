//! Accidents that really happen: killed processes, and two connections at the same instant.

use std::fs;

use rustix::process::{Pid, Signal, kill_process};

use crate::laboratory::{Laboratory, wait_until};

#[test]
fn killed_writers_lose_nothing_that_was_acknowledged_and_leave_nothing_behind() {
    let laboratory = Laboratory::new();
    let answer = laboratory.pragmark(&["crash", "--kill", "48", "--seed", "3"]).exits(0).says(&[
        "journal_mode=delete", "journal_mode=truncate", "journal_mode=persist", "journal_mode=wal",
        "no violation",
    ]);
    // Kills show what the death of a process takes.
    assert!(!answer.stdout().contains("No safety tier was measured"), "{}", answer.stdout());
    assert!(laboratory.left_over().is_empty());
}

/// A program that writes nothing, but says that it did.
#[cfg(unix)]
fn liar(laboratory: &Laboratory) -> std::path::PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let path = laboratory.path().join("liar");
    laboratory.write(
        "liar",
        "#!/bin/sh\ncat >/dev/null\nprintf 'ready\\nat none\\n0\\n1\\n2\\n'\nexec sleep 60\n",
    );
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

#[test]
#[cfg(unix)]
fn a_writer_that_acknowledges_what_it_did_not_write_is_found_out() {
    let laboratory = Laboratory::new();
    let kept = laboratory.path().join("kept");
    let plan = ::crash::kill::Plan {
        program: liar(&laboratory),
        arguments: Vec::new(),
        engine: ::engine::Source::Embedded,
        settings: ::crash::CrashSettings::new(
            ::crash::JournalMode::Delete,
            ::crash::Synchronous::Full,
        ),
        kills: 4,
        seed: 1,
        folder: laboratory.path().join("work"),
        keep: Some(kept.clone()),
    };
    let outcome = ::crash::kill::run(&plan).unwrap();
    assert!(!outcome.findings.is_empty());
    for finding in &outcome.findings {
        assert!(finding.damage.is_loss(), "{}", finding.damage);
        assert!(finding.kept.as_ref().unwrap().starts_with(&kept));
    }
    assert!(outcome.verdict().starts_with("loses recent commits"), "{}", outcome.verdict());
}

#[test]
fn kills_stop_at_ctrl_c_with_what_there_is_and_nothing_left_behind() {
    let laboratory = Laboratory::new();
    let child = laboratory.start(&["crash", "--kill", "1000000", "--out", "kills"]);
    wait_until(|| !laboratory.trials("kills").is_empty());
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    crate::laboratory::Answer(output)
        .exits(130)
        .says(&["no violation"])
        .complains(&["pragmark run --resume kills"]);
    assert!(laboratory.left_over().is_empty());
}

#[test]
fn schedules_are_explored_and_played_again() {
    let laboratory = Laboratory::new();
    laboratory
        .pragmark(&["crash", "--schedules", "20", "--set", "journal_mode=wal,persist"])
        .exits(0)
        .says(&[
            "checkpoint-and-restart/wal",
            "recovery-of-a-journal/persist",
            "0 of",
            "schedules went wrong",
        ]);
    laboratory
        .pragmark(&["crash", "--schedule", "checkpoint-and-restart/wal@9,30"])
        .exits(0)
        .says(&["second: Write", "nothing went wrong"]);
    laboratory
        .pragmark(&["crash", "--schedule", "checkpoint-and-restart/wal"])
        .exits(2)
        .complains(&["checkpoint-and-restart/wal@9,30"]);
}

#[test]
fn what_came_of_accidents_is_data_as_well() {
    let laboratory = Laboratory::new();
    let json = |arguments: &[&str]| -> serde_json::Value {
        let answer = laboratory.pragmark(&[arguments, &["--format", "json"]].concat());
        let analysis: serde_json::Value = serde_json::from_str(&answer.exits(0).stdout()).unwrap();
        assert_eq!(analysis["plan"]["seed"], 1);
        analysis["experiments"][0]["variants"][0].clone()
    };
    let kills = json(&["crash", "--kill", "6", "--set", "journal_mode=wal,off"]);
    assert_eq!(kills["levels"]["journal_mode"], "wal");
    assert_eq!(kills["counts"]["kills"], 3.0);
    let ordinary = &kills["safety"]["models"][0]["ordinary"];
    assert_eq!(ordinary["measured"]["images"], 3);
    let schedules = json(&["crash", "--schedules", "5", "--set", "journal_mode=wal"]);
    let played = &schedules["safety"]["schedules"]["played"];
    assert_eq!((&played["wrong"], &played["first"]), (&0.into(), &serde_json::Value::Null));
    let first = &schedules["tables"][0]["rows"][0];
    assert_eq!((&first[3], &first[4]), (&"5".into(), &"0".into()));
    laboratory
        .pragmark(&["crash", "--schedules", "5", "--format", "markdown"])
        .exits(0)
        .says(&["writer-and-writer/delete", "no violation in 5 schedules of more"]);
    laboratory
        .pragmark(&["crash", "--kill", "4", "--format", "markdown"])
        .exits(0)
        .says(&["`journal_mode=persist` | no violation | 1 |"]);
    laboratory
        .pragmark(&["crash", "--kill", "4", "--engine", "default", "--engine", "system"])
        .exits(2)
        .complains(&["one engine at a time"]);
}

#[test]
fn an_engine_that_is_none_is_named() {
    let laboratory = Laboratory::new();
    for accident in [["--kill", "1"], ["--schedules", "1"]] {
        let arguments = [&["crash", "--engine", "absent.so"][..], &accident].concat();
        laboratory.pragmark(&arguments).exits(3).complains(&["absent.so"]);
    }
}

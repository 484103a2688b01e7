//! Versions of SQLite that are much older than the built-in one.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;

use crate::laboratory::Laboratory;

/// The oldest version that can be built is crashed as the newest is. It is compiled without optimisation, to save time.
#[test]
fn an_old_engine_is_crashed_killed_and_met_like_a_new_one() {
    let laboratory = Laboratory::new();
    laboratory.write("cc", "#!/bin/sh\nexec cc \"$@\" -O0\n");
    let compiler = laboratory.path().join("cc");
    std::fs::set_permissions(&compiler, Permissions::from_mode(0o755)).unwrap();
    let compiler = compiler.display().to_string();
    let pragmark =
        |arguments: &[&str]| laboratory.pragmark_with_variables(&[("CC", &compiler)], arguments);
    let full = ["--set", "journal_mode=delete,wal", "--set", "synchronous=full"];
    let old = [&["crash", "--engine", "3.17.0"], &full[..]].concat();
    let quick = ["--quick", "--images", "200", "--out", "crashes"];
    pragmark(&[&old[..], &quick].concat())
        .exits(0)
        .says(&["journal_mode=delete", "journal_mode=wal"]);
    let outcomes = laboratory.trials("crashes");
    for trial in &outcomes {
        let measured = &trial["outcome"]["measured"];
        assert_eq!(measured["engine"]["version"], "3.17.0");
        for model in measured["safety"].as_array().unwrap() {
            let corrupt = model["ordinary"]["measured"]["corrupt"].as_u64();
            let is_sound = model["assumed"] == false || corrupt == Some(0);
            assert!(is_sound, "{}: {model}", trial["variant"]);
        }
    }
    assert_eq!(outcomes.len(), 2);
    pragmark(&[&old[..], &["--kill", "10", "--out", "kills"]].concat()).exits(0);
    let schedules = ["crash", "--engine", "3.17.0", "--schedules", "20"];
    pragmark(&[&schedules[..], &["--out", "schedules"]].concat()).exits(0);
    let unreadable = "no such table";
    for run in ["kills", "schedules"] {
        let record = laboratory.read(&format!("{run}/outcomes.jsonl"));
        assert!(!record.contains(unreadable), "{record}");
        for trial in laboratory.trials(run) {
            assert!(trial["outcome"]["measured"].is_object(), "{trial}");
        }
    }
}

//! The page for new users, executed.

use std::process::Command;

use crate::laboratory::{Laboratory, answer_of};

const PAGE: &str = include_str!("../../../../docs/start.md");

#[test]
fn every_command_of_the_first_page_works_in_its_order() {
    let laboratory = Laboratory::new();
    let folder = std::path::Path::new(env!("CARGO_BIN_EXE_pragmark")).parent().unwrap();
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    let mut printed = Vec::new();
    for block in PAGE.split("```sh\n").skip(1) {
        let script = block.split("```").next().unwrap();
        let mut shell = Command::new("sh");
        shell.args(["-ec", script]).current_dir(laboratory.path());
        shell.env("PATH", &path).env("PRAGMARK_CACHE", laboratory.path().join("cache"));
        printed.push(answer_of(&mut shell).exits(0).stdout());
    }
    let [_, query, index, write, pasted, runs] = &printed[..] else {
        panic!("another number of steps: {printed:?}");
    };
    assert!(query.contains("CREATE INDEX people_by_email"), "{query}");
    assert!(index.contains("Use index people(email)"), "{index}");
    assert!(!index.contains("deserve a look"), "the scan has its index: {index}");
    assert!(write.contains("journal_mode=wal"), "{write}");
    assert!(
        // What is recommended depends on the figures; the ladder is printed in any case.
        pasted.contains("execute") || pasted.contains("To lose no acknowledged transaction"),
        "{pasted}"
    );
    assert!(runs.contains("./index") && runs.contains("./write"), "{runs}");
    assert!(laboratory.left_over().is_empty());
}

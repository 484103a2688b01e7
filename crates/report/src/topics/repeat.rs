//! How to repeat a run.

use std::path::Path;

use lab::analysis::Analysis;
use lab::record::RunPlan;

use crate::document::{Block, Code, Kind, Section, Sentence};

/// The command, and what makes its answers the same.
pub(super) fn sections(analysis: &Analysis) -> Vec<Section> {
    let plan = &analysis.plan;
    let planned = Sentence::from("Planned ")
        .words(format!("{} by pragmark {} as ", plan.created, plan.pragmark))
        .and_code(&plan.id)
        .words(". The same seed gives the same data and the same order of trials; the plan with its claims and bounds was written to ")
        .and_code("run.json")
        .words(" before the first trial.");
    vec![Section::new(
        "repeat",
        Kind::Background,
        "To repeat this run",
        vec![
            Block::Code(Code {
                language: "sh",
                text: command(plan),
            }),
            Block::small(planned),
        ],
    )]
}

/// The command that plans the same run again.
fn command(plan: &RunPlan) -> String {
    let mut ids: Vec<&str> = Vec::new();
    for planned in &plan.experiments {
        if !ids.contains(&planned.experiment.id.as_str()) {
            ids.push(&planned.experiment.id);
        }
    }
    let mut words = vec!["pragmark run".to_owned()];
    words.extend(ids.into_iter().map(str::to_owned));
    words.push(format!("--scale {} --seed {}", plan.scale, plan.seed.0));
    if plan.quick {
        words.push("--quick".to_owned());
    }
    if let Some(budget_s) = plan.budget_s {
        words.push(format!("--time-limit {budget_s}s"));
    }
    let mut directories: Vec<&Path> = Vec::new();
    for planned in &plan.experiments {
        if !directories.contains(&planned.directory.as_path()) {
            directories.push(&planned.directory);
        }
    }
    for directory in directories {
        words.push(format!("--dir {}", quoted(&directory.to_string_lossy())));
    }
    if plan.engine != "default" {
        words.push(format!("--engine {}", quoted(&plan.engine)));
    }
    if plan.postgres_given {
        // Its address may hold a password, so that the plan does not keep it.
        words.push("--postgres URI".to_owned());
    }
    words.join(" ")
}

/// A word that a POSIX shell takes as it is.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_for_a_shell_are_quoted_when_they_must_be() {
        assert_eq!(quoted("/usr/lib/libsqlite3.so"), "/usr/lib/libsqlite3.so");
        assert_eq!(quoted("it's here"), r"'it'\''s here'");
    }
}

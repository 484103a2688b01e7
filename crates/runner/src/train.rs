//! Exercising a library that writes a profile of what it does: trials whose figures nobody wants.
//!
//! Each runs in a process of its own, as any trial does, because a profile is written when the process
//! ends.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use lab::level::Settings;
use lab::trial::{Outcome, PROTOCOL, TrialSpec};

use crate::executor::{End, Execution, Executor, Task};
use crate::local::Local;
use crate::process::Driver;
use crate::stamp::run_id;

/// Time for one trial with a library that counts all it does, in seconds.
const LIMIT_S: f64 = 300.0;

/// Runs each workload once with the library. What the library cannot do is left out, as long as it can
/// do something.
///
/// # Errors
/// The reason why no workload ran.
pub fn train(
    driver: &Driver,
    exercises: &[(String, Settings)],
    library: &Path,
    cancelled: &AtomicBool,
) -> Result<(), String> {
    let directory = tempfile::Builder::new()
        .prefix("pragmark-training-")
        .tempdir()
        .map_err(|error| format!("cannot create a temporary directory: {error}"))?;
    let tasks = exercises
        .iter()
        .map(|(workload, settings)| task(workload, settings, library, directory.path()));
    let tasks: Vec<Task> = tasks.collect();
    let mut executions: Vec<Execution> = Vec::new();
    let end = Local::new(driver, &run_id(), &[], cancelled).execute(&tasks, &mut executions);
    if end.map_err(|error| error.to_string())? == End::Cancelled {
        return Err("stopped".to_owned());
    }
    let mut done = 0;
    let mut last = None;
    for ((workload, _), execution) in exercises.iter().zip(executions) {
        match execution.outcome {
            Outcome::Measured(_) => done += 1,
            Outcome::Skipped { why } => last = Some(why),
            other => {
                return Err(format!("{workload} {}", other.problem().unwrap_or_default()));
            }
        }
    }
    match (done, last) {
        (0, why) => Err(why.unwrap_or_else(|| "there was nothing to train it with".to_owned())),
        _ => Ok(()),
    }
}

fn task(workload: &str, settings: &Settings, library: &Path, directory: &Path) -> Task {
    Task {
        block: workload.to_owned(),
        position: 0,
        spec: TrialSpec {
            protocol: PROTOCOL,
            workload: workload.to_owned(),
            settings: settings.clone(),
            engine: library.display().to_string(),
            directory: directory.to_owned(),
            seed: 1,
            ..TrialSpec::default()
        },
        limit_s: LIMIT_S,
        probe_fsync: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn train_with(script: &str) -> Result<(), String> {
        let driver = Driver {
            program: "/bin/sh".into(),
            arguments: vec!["-c".into(), script.into()],
            bindings: None,
        };
        let exercises = ["first", "second"].map(|name| (name.to_owned(), Settings::new()));
        let never = AtomicBool::new(false);
        train(&driver, &exercises, Path::new("/lib.so"), &never)
    }

    #[test]
    fn what_the_library_cannot_do_is_left_out_as_long_as_it_can_do_something() {
        let skipped = r#"echo '{"outcome":{"skipped":{"why":"no such thing"}}}'"#;
        let measured = r#"echo '{"outcome":{"measured":{"metrics":{},"engine":{"version":"","source_id":""}}}}'"#;
        let one = format!("read -r spec; case $spec in *first*) {skipped};; *) {measured};; esac");
        assert_eq!(train_with(&one), Ok(()));
        assert_eq!(train_with(skipped), Err("no such thing".to_owned()));
    }

    #[test]
    fn a_failure_names_the_workload() {
        let failed = r#"echo '{"outcome":{"failed":{"why":"a wrong sum"}}}'"#;
        let why = train_with(failed).unwrap_err();
        assert!(why.contains("first") && why.contains("a wrong sum"), "{why}");
    }
}

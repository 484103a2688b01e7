//! Exercising a library that writes a profile of what it does: trials whose figures nobody wants.
//!
//! Each runs in a process of its own, as any trial does, because a profile is written when the process
//! ends.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use lab::level::Settings;
use lab::trial::{Outcome, PROTOCOL, TrialSpec};

use crate::process::{Driver, run_trial};

/// Time for one trial with a library that counts all it does.
const LIMIT: Duration = Duration::from_secs(300);

/// Runs each workload once with the library. What the library cannot do is left out, as long as it can
/// do something.
///
/// # Errors
/// What went wrong, in words.
pub fn train(
    driver: &Driver,
    exercises: &[(String, Settings)],
    library: &Path,
    cancelled: &AtomicBool,
) -> Result<(), String> {
    let mut done = 0;
    let mut last = None;
    for (workload, settings) in exercises {
        match exercise(driver, workload, settings, library, cancelled)? {
            Outcome::Measured(_) => done += 1,
            Outcome::Skipped { why } => last = Some(why),
            other => {
                return Err(format!(
                    "{workload} {}",
                    other.problem().unwrap_or_default()
                ));
            }
        }
    }
    match (done, last) {
        (0, why) => Err(why.unwrap_or_else(|| "there was nothing to train it with".to_owned())),
        _ => Ok(()),
    }
}

fn exercise(
    driver: &Driver,
    workload: &str,
    settings: &Settings,
    library: &Path,
    cancelled: &AtomicBool,
) -> Result<Outcome, String> {
    let directory = tempfile::Builder::new()
        .prefix("pragmark-training-")
        .tempdir()
        .map_err(|error| format!("cannot create a temporary directory: {error}"))?;
    let spec = TrialSpec {
        protocol: PROTOCOL,
        workload: workload.to_owned(),
        settings: settings.clone(),
        engine: library.display().to_string(),
        directory: directory.path().to_owned(),
        seed: 1,
        counting: false,
        binding: None,
        postgres: None,
    };
    run_trial(driver, &spec, LIMIT, cancelled, &mut |_| {})
        .map_err(|error| error.to_string())?
        .ok_or_else(|| "stopped".to_owned())
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
    fn a_failure_is_told_with_the_workload() {
        let failed = r#"echo '{"outcome":{"failed":{"why":"a wrong sum"}}}'"#;
        let why = train_with(failed).unwrap_err();
        assert!(
            why.contains("first") && why.contains("a wrong sum"),
            "{why}"
        );
    }
}

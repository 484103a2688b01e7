//! One trial in a process of its own.
//!
//! The process gets one JSON specification on standard input and answers with JSON lines on
//! standard output. It has its own process group, so that Ctrl-C on a terminal reaches only
//! pragmark, and so that whatever the driver started is stopped with it.

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use ::process::{Group, Process, described};
use lab::trial::{CONFINED_TO, Message, Outcome, TrialSpec};
use tempfile::TempDir;

use crate::error::Result;

/// How often a running trial looks whether it has been cancelled.
const CANCEL_POLL: Duration = Duration::from_millis(50);

/// Time in which a driver must end that has given its outcome or closed its output.
const GRACE: Duration = Duration::from_secs(5);

/// Characters quoted from a line that is not a message.
const QUOTED: usize = 200;

/// A program that runs trials.
#[derive(Clone, Debug)]
pub struct Driver {
    /// The executable.
    pub program: PathBuf,
    /// Arguments ahead of the specification.
    pub arguments: Vec<OsString>,
    /// The programs for trials that are to be done through another binding; where there are none,
    /// this program gets those trials too.
    pub bindings: Option<Arc<dyn Bindings>>,
}

/// The drivers in other languages.
///
/// The runner knows nothing of languages and PRAGMAs; who does, prepares and judges these trials.
pub trait Bindings: fmt::Debug + Send + Sync {
    /// Returns everything that is needed to start the driver that the specification names, or the outcome where it
    /// cannot be.
    ///
    /// # Errors
    /// The outcome of the trial: as a rule skipped, with what to install.
    fn prepare(&self, spec: &TrialSpec) -> Result<Prepared, Outcome>;

    /// Returns the outcome after checking the settings and the engine that the driver reported.
    fn judge(&self, spec: &TrialSpec, outcome: Outcome) -> Outcome;
}

/// A driver in another language, ready to run one trial.
#[derive(Debug)]
pub struct Prepared {
    /// The executable.
    pub program: PathBuf,
    /// Arguments ahead of the specification.
    pub arguments: Vec<OsString>,
    /// Environment variables to be set.
    pub environment: Vec<(OsString, OsString)>,
    /// The specification, completed.
    pub spec: TrialSpec,
    /// A directory that must exist until the trial has ended.
    pub keep: Option<TempDir>,
}

/// The driver of a trial, and when it is ended.
pub struct TrialRun<'a> {
    /// The driver.
    pub driver: &'a Driver,
    /// How long the trial may take.
    pub limit: Duration,
    /// Set when it should be cancelled.
    pub cancelled: &'a AtomicBool,
    /// Told of each phase.
    pub on_phase: &'a mut dyn FnMut(&str),
}

impl TrialRun<'_> {
    /// Runs one trial and returns its outcome; `None` when it was cancelled.
    ///
    /// A driver that dies, hangs past `limit`, or prints what is not a message, is an outcome with the
    /// cause and the end of its error output.
    ///
    /// # Errors
    /// Only when the driver cannot be started at all.
    pub fn run(&mut self, spec: &TrialSpec) -> Result<Option<Outcome>> {
        let driver = self.driver;
        let Some(bindings) = driver.bindings.as_deref().filter(|_| spec.binding.is_some()) else {
            let process = start(&driver.program, &driver.arguments, &confinement(spec))?;
            return Ok(self.converse(process, spec));
        };
        let prepared = match bindings.prepare(spec) {
            Ok(prepared) => prepared,
            Err(outcome) => return Ok(Some(outcome)),
        };
        // A binding that cannot be started says nothing against the others.
        let outcome = match start(
            &prepared.program,
            &prepared.arguments,
            &[prepared.environment, confinement(spec)].concat(),
        ) {
            Ok(process) => self.converse(process, &prepared.spec),
            Err(error) => Some(failed(error.to_string(), "")),
        };
        Ok(outcome.map(|outcome| bindings.judge(spec, outcome)))
    }

    /// Sends the specification to a driver and reads its messages; `None` if the trial was cancelled.
    fn converse(&mut self, mut process: Process, spec: &TrialSpec) -> Option<Outcome> {
        let lines = process.lines();
        process.send(&serde_json::to_string(spec).unwrap_or_default());
        let heard = self.listen(&lines);
        let is_ending = matches!(heard, Reply::Outcome(_) | Reply::Silence);
        let status = process.end(if is_ending { GRACE } else { Duration::ZERO });
        match heard {
            Reply::Cancelled => None,
            Reply::Outcome(outcome) => Some(outcome),
            Reply::TimedOut => Some(Outcome::TimedOut { limit_s: self.limit.as_secs_f64() }),
            Reply::Junk(line) => Some(failed(
                format!("the driver printed a line that is no message: {line}"),
                &process.errors(),
            )),
            Reply::Silence => Some(failed(
                format!(
                    "the driver ended without an outcome ({})",
                    status.map(described).unwrap_or_default()
                ),
                &process.errors(),
            )),
        }
    }

    /// Listens until the outcome, the time limit, or the cancellation.
    fn listen(&mut self, lines: &Receiver<String>) -> Reply {
        let deadline = Instant::now() + self.limit;
        loop {
            if self.cancelled.load(Ordering::Relaxed) {
                return Reply::Cancelled;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Reply::TimedOut;
            }
            match lines.recv_timeout(left.min(CANCEL_POLL)) {
                Ok(line) => match serde_json::from_str(&line) {
                    Ok(Message::Outcome(outcome)) => return Reply::Outcome(outcome),
                    Ok(Message::Phase(phase)) => (self.on_phase)(&phase),
                    Err(_) => return Reply::Junk(line.trim_end().chars().take(QUOTED).collect()),
                },
                Err(RecvTimeoutError::Disconnected) => return Reply::Silence,
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }
}

/// Returns the environment variable by which a trial is confined to its directory, if it is to be.
fn confinement(spec: &TrialSpec) -> Vec<(OsString, OsString)> {
    if spec.confined {
        vec![(CONFINED_TO.into(), spec.directory.clone().into())]
    } else {
        Vec::new()
    }
}

enum Reply {
    Outcome(Outcome),
    Junk(String),
    Silence,
    TimedOut,
    Cancelled,
}

fn start(
    program: &Path,
    arguments: &[OsString],
    environment: &[(OsString, OsString)],
) -> Result<Process> {
    let mut command = Command::new(program);
    command
        .args(arguments)
        .envs(environment.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    Ok(Process::start(&mut command, Group::Own)?)
}

fn failed(why: String, stderr: &str) -> Outcome {
    let why = if stderr.is_empty() { why } else { format!("{why}; it said: {stderr}") };
    Outcome::failed(why)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Driver {
        Driver {
            program: "/bin/sh".into(),
            arguments: vec!["-c".into(), script.into()],
            bindings: None,
        }
    }

    fn spec() -> TrialSpec {
        TrialSpec {
            protocol: lab::trial::PROTOCOL,
            workload: "none".to_owned(),
            settings: Default::default(),
            engine: "default".to_owned(),
            directory: "/tmp".into(),
            seed: 1,
            counting: false,
            binding: None,
            postgres: None,
            confined: false,
            tests_open: false,
            artifacts: None,
        }
    }

    fn outcome_of(script: &str, limit: Duration) -> Outcome {
        run_trial(&shell(script), &spec(), limit, &AtomicBool::new(false), &mut |_| {})
            .unwrap()
            .unwrap()
    }

    fn run_trial(
        driver: &Driver,
        spec: &TrialSpec,
        limit: Duration,
        cancelled: &AtomicBool,
        on_phase: &mut dyn FnMut(&str),
    ) -> Result<Option<Outcome>> {
        TrialRun { driver, limit, cancelled, on_phase }.run(spec)
    }

    fn why(outcome: &Outcome) -> String {
        outcome.problem().unwrap()
    }

    #[test]
    fn the_specification_goes_in_and_the_outcome_comes_out() {
        let script = r#"read spec; case "$spec" in *'"workload":"none"'*) echo '{"phase":"load"}'; echo '{"outcome":{"skipped":{"why":"as told"}}}';; esac"#;
        let mut phases = Vec::new();
        let outcome = run_trial(
            &shell(script),
            &spec(),
            Duration::from_secs(10),
            &AtomicBool::new(false),
            &mut |phase| phases.push(phase.to_owned()),
        );
        assert_eq!(outcome.unwrap().unwrap(), Outcome::Skipped { why: "as told".to_owned() });
        assert_eq!(phases, ["load"]);
    }

    #[test]
    fn a_driver_that_dies_is_a_failure_with_its_exit_and_its_last_words() {
        let outcome = outcome_of("echo 'no such table' >&2; exit 3", Duration::from_secs(10));
        assert!(
            why(&outcome).contains("exit code 3") && why(&outcome).contains("no such table"),
            "{outcome:?}"
        );
        let outcome = outcome_of("kill -SEGV $$", Duration::from_secs(10));
        assert!(why(&outcome).contains("signal 11"), "{outcome:?}");
    }

    #[test]
    fn a_driver_that_prints_junk_is_a_failure_that_quotes_it() {
        let outcome = outcome_of("echo hello", Duration::from_secs(10));
        assert!(why(&outcome).contains("hello"), "{outcome:?}");
    }

    #[test]
    fn a_driver_that_hangs_is_stopped_at_its_limit() {
        let outcome = outcome_of("sleep 100 & wait", Duration::from_millis(300));
        assert_eq!(outcome, Outcome::TimedOut { limit_s: 0.3 });
    }

    #[test]
    fn cancelling_ends_a_trial_without_an_outcome() {
        let cancelled = AtomicBool::new(true);
        let outcome = run_trial(
            &shell("sleep 100"),
            &spec(),
            Duration::from_secs(60),
            &cancelled,
            &mut |_| {},
        );
        assert!(outcome.unwrap().is_none());
    }

    /// Bindings of which one is a shell script and the others are not there.
    #[derive(Debug)]
    struct Scripts(&'static str);

    impl Bindings for Scripts {
        fn prepare(&self, spec: &TrialSpec) -> Result<Prepared, Outcome> {
            let program = match spec.binding.as_ref().unwrap().driver.as_str() {
                "script" => "/bin/sh".into(),
                "gone" => "/no/such/program".into(),
                other => {
                    let why = format!("install {other}");
                    return Err(Outcome::Skipped { why });
                }
            };
            Ok(Prepared {
                program,
                arguments: vec!["-c".into(), self.0.into()],
                environment: vec![("PUT_IN_FRONT".into(), "yes".into())],
                spec: spec.clone(),
                keep: None,
            })
        }

        fn judge(&self, _: &TrialSpec, outcome: Outcome) -> Outcome {
            match outcome {
                Outcome::Skipped { why } => Outcome::Skipped { why: format!("{why}, judged") },
                other => other,
            }
        }
    }

    fn through(driver: &str, script: &'static str) -> Outcome {
        let bindings: Arc<dyn Bindings> = Arc::new(Scripts(script));
        let native = Driver {
            bindings: Some(bindings),
            ..shell("echo '{\"outcome\":{\"skipped\":{\"why\":\"native\"}}}'")
        };
        let spec = TrialSpec {
            binding: (driver != lab::trial::NATIVE).then(|| lab::trial::BindingSpec {
                driver: driver.to_owned(),
                ..Default::default()
            }),
            ..spec()
        };
        let limit = Duration::from_secs(10);
        run_trial(&native, &spec, limit, &AtomicBool::new(false), &mut |_| {}).unwrap().unwrap()
    }

    #[test]
    fn a_trial_goes_to_the_binding_that_it_names_and_the_others_to_the_native_driver() {
        let script = r#"echo "{\"outcome\":{\"skipped\":{\"why\":\"script $PUT_IN_FRONT\"}}}""#;
        let why = |driver| through(driver, script).problem().unwrap();
        assert_eq!(why("script"), "skipped: script yes, judged");
        assert_eq!(why("native"), "skipped: native");
        assert_eq!(why("python"), "skipped: install python");
    }

    #[test]
    fn a_binding_that_cannot_be_started_dies_or_prints_junk_is_a_failure_with_its_words() {
        let why = |driver, script| through(driver, script).problem().unwrap();
        assert!(why("gone", "").contains("/no/such/program"));
        let died = why("script", "echo 'no module named apsw' >&2; exit 1");
        assert!(died.contains("no module named apsw"), "{died}");
        assert!(why("script", "echo Traceback").contains("Traceback"));
    }

    #[test]
    fn a_missing_driver_is_an_error_that_names_it() {
        let driver =
            Driver { program: "/no/such/driver".into(), arguments: vec![], bindings: None };
        let error = run_trial(
            &driver,
            &spec(),
            Duration::from_secs(1),
            &AtomicBool::new(false),
            &mut |_| {},
        );
        assert!(error.unwrap_err().to_string().contains("/no/such/driver"));
    }
}

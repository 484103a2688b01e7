//! One trial in a process of its own.
//!
//! The process gets one JSON specification on standard input and answers with JSON lines on
//! standard output. It has its own process group, so that Ctrl-C on a terminal reaches only
//! pragmark, and so that whatever the driver started is stopped with it.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fmt;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use lab::trial::{Message, Outcome, TrialSpec};
use rustix::process::{Pid, Signal, kill_process_group};
use tempfile::TempDir;

use crate::error::RunError;

/// How often a running trial looks whether it has been cancelled.
const CANCEL_POLL: Duration = Duration::from_millis(50);

/// Time in which a driver that has given its outcome must end.
const GRACE: Duration = Duration::from_secs(5);

/// Characters of a driver's error output that are kept, its last ones.
const STDERR_KEPT: usize = 2_000;

/// Time in which the error output of a driver that has been stopped must end. What the driver started and
/// let leave its process group may keep it open for as long as it likes.
const STDERR_GRACE: Duration = Duration::from_secs(2);

/// A program that runs trials.
#[derive(Clone, Debug)]
pub struct Driver {
    /// The executable.
    pub program: PathBuf,
    /// What comes before the specification.
    pub arguments: Vec<OsString>,
    /// The programs for trials that are to be done through another binding; where there are none,
    /// this program gets those trials too.
    pub bindings: Option<Arc<dyn Bindings>>,
}

/// The drivers in other languages.
///
/// The runner knows nothing of languages and PRAGMAs; who does, prepares and judges these trials.
pub trait Bindings: fmt::Debug + Send + Sync {
    /// Everything that is needed to start the driver that the specification names, or the outcome
    /// where it cannot be.
    ///
    /// # Errors
    /// The outcome of the trial: as a rule skipped, with what to install.
    fn prepare(&self, spec: &TrialSpec) -> Result<Prepared, Outcome>;

    /// What the outcome comes to when what the driver says of settings and engine has been checked.
    fn judge(&self, spec: &TrialSpec, outcome: Outcome) -> Outcome;
}

/// A driver in another language, ready to run one trial.
#[derive(Debug)]
pub struct Prepared {
    /// The executable.
    pub program: PathBuf,
    /// What comes before the specification.
    pub arguments: Vec<OsString>,
    /// Environment variables to be set.
    pub environment: Vec<(OsString, OsString)>,
    /// The specification, completed.
    pub spec: TrialSpec,
    /// What must stay until the trial has ended.
    pub keep: Option<TempDir>,
}

/// What the process of a trial says while it runs.
enum Line {
    Message(Message),
    Junk(String),
    End,
}

/// Runs one trial and returns its outcome; `None` when it was cancelled.
///
/// A driver that dies, hangs past `limit`, or prints what is not a message, is an outcome with the
/// cause and the end of its error output.
///
/// # Errors
/// Only when the driver cannot be started at all.
pub fn run_trial(
    driver: &Driver,
    spec: &TrialSpec,
    limit: Duration,
    cancelled: &AtomicBool,
    on_phase: &mut dyn FnMut(&str),
) -> Result<Option<Outcome>, RunError> {
    let Some(bindings) = driver
        .bindings
        .as_deref()
        .filter(|_| spec.binding.is_some())
    else {
        let child = start(&driver.program, &driver.arguments, &[])?;
        return Ok(converse(child, spec, limit, cancelled, on_phase));
    };
    let prepared = match bindings.prepare(spec) {
        Ok(prepared) => prepared,
        Err(outcome) => return Ok(Some(outcome)),
    };
    // A binding that cannot be started says nothing against the others.
    let outcome = match start(
        &prepared.program,
        &prepared.arguments,
        &prepared.environment,
    ) {
        Ok(child) => converse(child, &prepared.spec, limit, cancelled, on_phase),
        Err(error) => Some(failed(error.to_string(), "")),
    };
    Ok(outcome.map(|outcome| bindings.judge(spec, outcome)))
}

/// Gives the specification to a driver and hears it out; none when the trial was cancelled.
fn converse(
    mut child: Child,
    spec: &TrialSpec,
    limit: Duration,
    cancelled: &AtomicBool,
    on_phase: &mut dyn FnMut(&str),
) -> Option<Outcome> {
    let stderr = LastWords::collect(&mut child);
    let lines = read_lines(&mut child);
    send(&mut child, spec);
    let heard = listen(&lines, limit, cancelled, on_phase);
    let status = end(&mut child, matches!(heard, Heard::Outcome(_)));
    match heard {
        Heard::Cancelled => None,
        Heard::Outcome(outcome) => Some(outcome),
        Heard::TimedOut => Some(Outcome::TimedOut {
            limit_s: limit.as_secs_f64(),
        }),
        Heard::Junk(line) => Some(failed(
            format!("the driver printed a line that is no message: {line}"),
            &stderr.text(),
        )),
        Heard::Silence => Some(failed(
            format!("the driver ended without an outcome ({})", describe(status)),
            &stderr.text(),
        )),
    }
}

enum Heard {
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
) -> Result<Child, RunError> {
    Command::new(program)
        .args(arguments)
        .envs(environment.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .map_err(|source| RunError::Driver {
            program: program.to_owned(),
            source,
        })
}

fn send(child: &mut Child, spec: &TrialSpec) {
    let Some(mut stdin) = child.stdin.take() else {
        return;
    };
    let text = serde_json::to_string(spec).unwrap_or_default();
    // A driver that dies before it has read its specification is noticed by its silence.
    let _ = stdin.write_all(text.as_bytes());
}

fn read_lines(child: &mut Child) -> Receiver<Line> {
    let (sender, lines) = channel();
    if let Some(stdout) = child.stdout.take() {
        thread::spawn(move || forward_lines(BufReader::new(stdout), &sender));
    }
    lines
}

fn forward_lines(stdout: impl BufRead, sender: &Sender<Line>) {
    for line in stdout.split(b'\n').map_while(Result::ok) {
        let text = String::from_utf8_lossy(&line);
        let line = match serde_json::from_str(&text) {
            Ok(message) => Line::Message(message),
            Err(_) => Line::Junk(text.chars().take(200).collect()),
        };
        if sender.send(line).is_err() {
            return;
        }
    }
    let _ = sender.send(Line::End);
}

/// The end of a driver's error output, which a thread collects for as long as there is some.
struct LastWords {
    kept: Arc<Mutex<VecDeque<u8>>>,
    /// Hears from the thread, or loses it, when the output has ended.
    ended: Receiver<()>,
}

impl LastWords {
    fn collect(child: &mut Child) -> LastWords {
        let (sender, ended) = channel();
        let words = LastWords {
            kept: Arc::default(),
            ended,
        };
        if let Some(stderr) = child.stderr.take() {
            let kept = Arc::clone(&words.kept);
            thread::spawn(move || {
                keep_last(stderr, &kept);
                let _ = sender.send(());
            });
        }
        words
    }

    /// What was said to the end, or what there is of it when the end does not come in time.
    fn text(&self) -> String {
        let _ = self.ended.recv_timeout(STDERR_GRACE);
        let mut kept = self
            .kept
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        String::from_utf8_lossy(kept.make_contiguous())
            .trim()
            .to_owned()
    }
}

fn keep_last(mut stderr: impl Read, kept: &Mutex<VecDeque<u8>>) {
    let mut chunk = [0; 1_024];
    loop {
        let read = match stderr.read(&mut chunk) {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Ok(0) | Err(_) => return,
            Ok(read) => read,
        };
        let mut kept = kept.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        kept.extend(&chunk[..read]);
        let excess = kept.len().saturating_sub(STDERR_KEPT);
        kept.drain(..excess);
    }
}

fn listen(
    lines: &Receiver<Line>,
    limit: Duration,
    cancelled: &AtomicBool,
    on_phase: &mut dyn FnMut(&str),
) -> Heard {
    let deadline = Instant::now() + limit;
    loop {
        if cancelled.load(Ordering::Relaxed) {
            return Heard::Cancelled;
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Heard::TimedOut;
        }
        match lines.recv_timeout(left.min(CANCEL_POLL)) {
            Ok(Line::Message(Message::Outcome(outcome))) => return Heard::Outcome(outcome),
            Ok(Line::Message(Message::Phase(phase))) => on_phase(&phase),
            Ok(Line::Junk(line)) => return Heard::Junk(line),
            Ok(Line::End) | Err(RecvTimeoutError::Disconnected) => return Heard::Silence,
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

/// Waits for the process where it said it was done, then stops it and all it started.
fn end(child: &mut Child, done: bool) -> Option<ExitStatus> {
    let deadline = Instant::now() + GRACE;
    let mut pause = Duration::from_micros(50);
    while done && Instant::now() < deadline {
        if let Ok(Some(_)) = child.try_wait() {
            break;
        }
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(5));
    }
    let before = child.try_wait().ok().flatten();
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        // There is no such group any more when all its processes have ended.
        let _ = kill_process_group(group, Signal::KILL);
    }
    before.or_else(|| child.wait().ok())
}

fn describe(status: Option<ExitStatus>) -> String {
    match status {
        Some(status) => match (status.code(), status.signal()) {
            (Some(code), _) => format!("exit code {code}"),
            (None, Some(signal)) => format!("killed by signal {signal}"),
            (None, None) => "no exit code".to_owned(),
        },
        None => "its end could not be observed".to_owned(),
    }
}

fn failed(why: String, stderr: &str) -> Outcome {
    let why = if stderr.is_empty() {
        why
    } else {
        format!("{why}; it said: {stderr}")
    };
    Outcome::Failed { why }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::kill_process;

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
        }
    }

    fn outcome_of(script: &str, limit: Duration) -> Outcome {
        run_trial(
            &shell(script),
            &spec(),
            limit,
            &AtomicBool::new(false),
            &mut |_| {},
        )
        .unwrap()
        .unwrap()
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
        assert_eq!(
            outcome.unwrap().unwrap(),
            Outcome::Skipped {
                why: "as told".to_owned()
            }
        );
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
    fn a_driver_that_hangs_is_stopped_at_its_limit_with_all_it_started() {
        let directory = tempfile::tempdir().unwrap();
        let pid_file = directory.path().join("pid");
        let script = format!("sleep 100 & echo $! > {}; wait", pid_file.display());
        let outcome = outcome_of(&script, Duration::from_millis(300));
        assert_eq!(outcome, Outcome::TimedOut { limit_s: 0.3 });
        let grandchild = std::fs::read_to_string(pid_file).unwrap();
        assert!(
            is_gone(grandchild.trim()),
            "the sleeping grandchild {grandchild} lives"
        );
    }

    #[test]
    fn what_leaves_the_process_group_and_keeps_the_pipe_open_holds_nothing_up() {
        // Other systems have no program `setsid`.
        if !cfg!(target_os = "linux") {
            return;
        }
        let directory = tempfile::tempdir().unwrap();
        let pid_file = directory.path().join("pid");
        let script = format!(
            "setsid sh -c 'echo $$ > {pid}; exec sleep 100' > /dev/null &
            while [ ! -s {pid} ]; do sleep 0.01; done
            echo 'no such table' >&2; exit 3",
            pid = pid_file.display()
        );
        let begin = Instant::now();
        let outcome = outcome_of(&script, Duration::from_secs(60));
        let elapsed = begin.elapsed();
        let grandchild = std::fs::read_to_string(pid_file).unwrap();
        let grandchild = grandchild.trim().parse().ok().and_then(Pid::from_raw);
        // It is no child of this process and ends by itself where it cannot be killed.
        let _ = kill_process(grandchild.unwrap(), Signal::KILL);
        assert!(
            why(&outcome).contains("exit code 3") && why(&outcome).contains("no such table"),
            "{outcome:?}"
        );
        assert!(elapsed < Duration::from_secs(50), "{elapsed:?}");
    }

    #[test]
    fn only_the_last_words_of_a_driver_are_kept() {
        let script = "i=0; while [ $i -lt 1000 ]; do echo word-$i; i=$((i+1)); done >&2; exit 3";
        let outcome = outcome_of(script, Duration::from_secs(60));
        let why = why(&outcome);
        assert!(why.ends_with("word-999") && why.len() < 2_200, "{why}");
    }

    /// A killed process may stay for a moment until its new parent has collected it.
    fn is_gone(pid: &str) -> bool {
        (0..100).any(|_| {
            let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            let gone = state.is_empty() || state.contains(") Z ");
            if !gone {
                thread::sleep(Duration::from_millis(10));
            }
            gone
        })
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
                Outcome::Skipped { why } => Outcome::Skipped {
                    why: format!("{why}, judged"),
                },
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
        run_trial(&native, &spec, limit, &AtomicBool::new(false), &mut |_| {})
            .unwrap()
            .unwrap()
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
        let driver = Driver {
            program: "/no/such/driver".into(),
            arguments: vec![],
            bindings: None,
        };
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

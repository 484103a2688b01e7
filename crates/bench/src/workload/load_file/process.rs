//! A process from its start to its end: its time, its CPU time, its memory, and its words where it fails.

use std::fs::File;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::error::TrialError;
use crate::measure::{CpuTime, peak_memory_bytes_of};

/// How often the memory of the process is looked at; what it takes in its last moment is not seen.
const LOOK: Duration = Duration::from_millis(5);

/// The file that keeps what the process says about its errors: a pipe could fill up.
const ERRORS: &str = "errors.txt";

/// Characters of its words that are kept, the last ones.
const KEPT: usize = 1_000;

/// What a process took.
pub(super) struct Took {
    /// From its start to its end, wall-clock.
    pub(super) seconds: f64,
    /// Its CPU time, with that of processes that it started and waited for.
    pub(super) cpu: CpuTime,
    /// Its largest resident set, in bytes, where the system says it.
    pub(super) peak_memory: Option<f64>,
}

/// What a process prints in answer to a question.
///
/// # Errors
/// Why there is no answer: it cannot be started, or its own words.
pub(super) fn answer(command: &mut Command) -> Result<String, String> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned());
    }
    Err(problem(
        output.status,
        &String::from_utf8_lossy(&output.stderr),
    ))
}

/// Runs a process to its end.
///
/// # Errors
/// It cannot be started, or fails; with its words.
pub(super) fn timed(command: &mut Command, directory: &Path) -> Result<Took, TrialError> {
    let path = directory.join(ERRORS);
    let io = |doing: &'static str| {
        let path = path.clone();
        move |source| TrialError::Io {
            doing,
            path,
            source,
        }
    };
    let errors = File::create(&path).map_err(io("write"))?;
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(errors);
    let spoken = spoken(command);
    let failed = |why: String| TrialError::Worker {
        who: spoken.clone(),
        why,
    };
    let before = CpuTime::of_children()?;

    let start = Instant::now();
    let child = command.spawn().map_err(|error| failed(error.to_string()))?;
    let (ended, seconds, peak_memory) = watched(child, start);
    let cpu = CpuTime::of_children()?.since(before);

    let status = ended.map_err(|error| failed(error.to_string()))?;
    if status.success() {
        return Ok(Took {
            seconds,
            cpu,
            peak_memory,
        });
    }
    let words = std::fs::read(&path).map_err(io("read"))?;
    Err(failed(problem(status, &String::from_utf8_lossy(&words))))
}

/// A command in words.
fn spoken(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<String> = words.map(|word| word.display().to_string()).collect();
    words.join(" ")
}

/// Waits for the end; the clock is read as soon as it has come.
fn watched(mut child: Child, start: Instant) -> (std::io::Result<ExitStatus>, f64, Option<f64>) {
    let ended = AtomicBool::new(false);
    let process = child.id().to_string();
    thread::scope(|scope| {
        let memory = scope.spawn(|| peak_memory_until(&ended, &process));
        let status = child.wait();
        let seconds = start.elapsed().as_secs_f64();
        ended.store(true, Ordering::Relaxed);
        (status, seconds, memory.join().ok().flatten())
    })
}

/// The largest resident set that was seen. The last look counts, not the largest figure: a process that
/// becomes another program begins anew.
fn peak_memory_until(ended: &AtomicBool, process: &str) -> Option<f64> {
    let mut peak = None;
    loop {
        let seen = peak_memory_bytes_of(process);
        // After its end another process may have its number.
        if ended.load(Ordering::Relaxed) {
            return peak;
        }
        peak = seen.or(peak);
        thread::sleep(LOOK);
    }
}

fn problem(status: ExitStatus, words: &str) -> String {
    let words = words.trim();
    let skip = words.chars().count().saturating_sub(KEPT);
    let words: String = words.chars().skip(skip).collect();
    format!("{status}: {words}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn time_and_memory_are_those_of_the_process() {
        let directory = tempfile::tempdir().unwrap();
        let took = timed(&mut shell("sleep 0.05"), directory.path()).unwrap();
        assert!(took.seconds >= 0.05);
        assert!(took.cpu.user >= 0.0 && took.cpu.system >= 0.0);
        if cfg!(target_os = "linux") {
            assert!(took.peak_memory.unwrap() > 100_000.0);
        }
    }

    #[test]
    fn a_process_that_fails_is_named_with_its_words() {
        let directory = tempfile::tempdir().unwrap();
        let error = timed(
            &mut shell("echo no such column >&2; exit 4"),
            directory.path(),
        );
        let error = error.err().unwrap().to_string();
        for part in ["sh -c", "4", "no such column"] {
            assert!(error.contains(part), "{error}");
        }
        let missing = answer(&mut Command::new("/no/such/tool")).unwrap_err();
        assert!(missing.contains("No such file"), "{missing}");
        assert_eq!(answer(&mut shell("echo 1.2")).unwrap(), "1.2");
    }
}

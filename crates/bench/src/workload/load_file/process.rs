//! A process from its start to its end: its time, its CPU time, its memory, and its messages where it
//! fails.

use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use ::process::{Group, Limits, Process, command_line};

use crate::error::{Result, TrialError};
use crate::measure::{CpuTime, peak_memory_bytes_of};

/// The interval at which the memory of the process is read; what it takes after the last reading is
/// missed.
const LOOK: Duration = Duration::from_millis(5);

/// Resources that a process used.
pub(super) struct Took {
    /// From its start to its end, wall-clock.
    pub(super) seconds: f64,
    /// Its CPU time, including processes that it started and waited for.
    pub(super) cpu: CpuTime,
    /// Its largest resident set, in bytes, where the system reports it.
    pub(super) peak_memory: Option<f64>,
}

/// Returns the output of a process that answers a question. It belongs to the group of the trial, with which it
/// ends.
///
/// # Errors
/// The reason why the process cannot be started, or its own messages.
pub(super) fn answer(command: &mut Command) -> Result<String, String> {
    let answer = ::process::run(command, Group::Shared, &Limits::default());
    let answer = answer.map_err(|error| error.to_string())?;
    if answer.end.is_success() {
        Ok(answer.text().trim().to_owned())
    } else {
        Err(format!("{}: {}", answer.end, answer.errors))
    }
}

/// Runs a process of the trial's group to its end.
///
/// # Errors
/// It cannot be started, or fails; with its messages.
pub(super) fn timed(command: &mut Command) -> Result<Took> {
    let failed = |who: &Command, why: String| TrialError::worker(command_line(who), why);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let before = CpuTime::of_children()?;

    let start = Instant::now();
    let process = Process::start(command, Group::Shared);
    let mut process = process.map_err(|error| failed(command, error.to_string()))?;
    // Waits for the end; the clock is read as soon as it has come.
    let ended = AtomicBool::new(false);
    let id = process.id().to_string();
    let (status, seconds, peak_memory) = thread::scope(|scope| {
        let memory = scope.spawn(|| peak_memory_until(&ended, &id));
        let status = process.wait();
        let seconds = start.elapsed().as_secs_f64();
        ended.store(true, Ordering::Relaxed);
        (status, seconds, memory.join().ok().flatten())
    });
    let cpu = CpuTime::of_children()?.since(before);

    let status = status.map_err(|error| failed(command, error.to_string()))?;
    if status.success() {
        return Ok(Took { seconds, cpu, peak_memory });
    }
    let status = ::process::described(status);
    let why = format!("ended with {status}: {}", process.errors());
    Err(failed(command, why))
}

/// Returns the largest resident set that was seen. The last look counts, not the largest figure: a process that becomes
/// another program begins anew.
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
        let took = timed(&mut shell("sleep 0.05")).unwrap();
        assert!(took.seconds >= 0.05);
        assert!(took.cpu.user >= 0.0 && took.cpu.system >= 0.0);
        if cfg!(target_os = "linux") {
            assert!(took.peak_memory.unwrap() > 100_000.0);
        }
    }

    #[test]
    fn a_process_that_fails_is_named_with_its_words() {
        let error = timed(&mut shell("echo no such column >&2; exit 4"));
        let error = error.err().unwrap().to_string();
        for part in ["sh -c", "4", "no such column"] {
            assert!(error.contains(part), "{error}");
        }
        let missing = answer(&mut Command::new("/no/such/tool")).unwrap_err();
        assert!(missing.contains("No such file"), "{missing}");
        assert_eq!(answer(&mut shell("echo 1.2")).unwrap(), "1.2");
    }
}

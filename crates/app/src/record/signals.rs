//! Signals for a program that is recorded, and of this process.
//!
//! Ctrl-C, and whoever signals a process group, reaches the program without help: it is in the group of `pragmark record`.
//! A signal to `pragmark record` alone has to be passed on. Which of the two a signal was, the system does not say, so
//! a process in the same group, the listener, does nothing but note its signals.

use std::ffi::c_int;
use std::io::{BufRead, Write};
use std::process::{ChildStdin, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;
use std::thread;
use std::time::Duration;

use process::{Group, Limits, Process};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};

use crate::error::{Error, Result};
use crate::signals::ignored_signals;

/// The signals with which people and supervisors end programs, or ask them for something.
const SIGNALS: [c_int; 6] = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2];

/// The hidden command that is the listener.
const LISTENER: &str = "signal-listener";

/// How long a signal to a group takes at most to reach all of its processes.
const SPREADING: Duration = Duration::from_millis(20);

/// The signals that have reached this process.
pub(super) struct Signals {
    /// Whether any has.
    any: Arc<AtomicBool>,
    each: Vec<(c_int, Arc<AtomicBool>)>,
}

impl Signals {
    /// Watches for all signals that this process does not ignore.
    pub(super) fn watch() -> Result<Signals> {
        let is_ignored = ignored_signals();
        let mut signals = Signals { any: Arc::default(), each: Vec::new() };
        signals.add(|signal| !is_ignored(signal))?;
        Ok(signals)
    }

    /// Watches for the others too, once the program runs: a new program ignores what this process ignores, as it would
    /// without being recorded, but not what this process watches for.
    fn watch_ignored(&mut self) -> Result<()> {
        let known: Vec<c_int> = self.each.iter().map(|(signal, _)| *signal).collect();
        self.add(|signal| !known.contains(&signal))
    }

    fn add(&mut self, wanted: impl Fn(c_int) -> bool) -> Result<()> {
        for signal in SIGNALS.into_iter().filter(|signal| wanted(*signal)) {
            self.each.push((signal, watched(signal, Arc::default())?));
            watched(signal, Arc::clone(&self.any))?;
        }
        Ok(())
    }

    /// Those that have arrived since the last call.
    fn arrived(&self) -> Vec<c_int> {
        let arrived = self.each.iter().filter(|(_, flag)| flag.swap(false, Ordering::Relaxed));
        arrived.map(|(signal, _)| *signal).collect()
    }

    /// Waits for a signal that asks to end.
    pub(super) fn wait(&self) {
        while !self.arrived().iter().any(|signal| [SIGINT, SIGTERM, SIGHUP].contains(signal)) {
            thread::sleep(Duration::from_millis(50));
        }
    }
}

/// A flag that becomes true when a signal arrives.
fn watched(signal: c_int, flag: Arc<AtomicBool>) -> Result<Arc<AtomicBool>> {
    signal_hook::flag::register(signal, Arc::clone(&flag))
        .map(|_| flag)
        .map_err(|error| Error::unusable(format!("cannot watch for signals: {error}")))
}

/// Runs a program to its end, and passes on the signals that reach this process alone.
pub(super) fn run(command: &mut Command, signals: &mut Signals) -> Result<ExitStatus> {
    let mut listener = Listener::start()?;
    let mut process = Process::start(command, Group::Shared).map_err(not_started)?;
    signals.watch_ignored()?;
    loop {
        let ended = process.wait_within(&Limits::cancelled(&signals.any));
        if let Some(status) = ended.map_err(Error::unusable)? {
            return Ok(status);
        }
        signals.any.store(false, Ordering::Relaxed);
        thread::sleep(SPREADING);
        for signal in signals.arrived() {
            if !listener.got(signal) {
                process.signal(signal);
            }
        }
    }
}

fn not_started(error: process::ProcessError) -> Error {
    let missing = error.is_missing_program();
    Error::unusable(error).hint_if(
        missing.then_some("check the spelling; write the program as in a shell, after `--`"),
    )
}

/// A process of this group that notes its signals; it ends with this process.
struct Listener {
    /// Killed when this is dropped.
    _process: Process,
    questions: ChildStdin,
    answers: Receiver<String>,
}

impl Listener {
    fn start() -> Result<Listener> {
        let program = std::env::current_exe().map_err(Error::unusable)?;
        let mut command = Command::new(program);
        command.arg(LISTENER).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = Process::start(&mut command, Group::Shared).map_err(Error::unusable)?;
        let answers = process.lines();
        match (process.take_input(), answers.recv()) {
            (Some(questions), Ok(_)) => Ok(Listener { _process: process, questions, answers }),
            _ => Err(Error::unusable("cannot watch for signals of the process group")),
        }
    }

    /// Whether a signal has reached the listener too since the last question.
    fn got(&mut self, signal: c_int) -> bool {
        let asks = writeln!(self.questions, "{signal}");
        asks.is_ok() && self.answers.recv().is_ok_and(|answer| answer.trim() == "true")
    }
}

/// Acts as the listener: for each line with the number of a signal, writes whether it has arrived.
///
/// # Errors
/// Signals cannot be watched for, or the answers cannot be written.
pub fn listen(input: impl BufRead, mut out: impl Write) -> Result<()> {
    let mut flags = Vec::new();
    for signal in SIGNALS {
        flags.push((signal, watched(signal, Arc::default())?));
    }
    writeln!(out, "ready").map_err(Error::unusable)?;
    for line in input.lines() {
        let line = line.map_err(Error::unusable)?;
        let of = flags.iter().find(|(signal, _)| signal.to_string() == line);
        let got = of.is_some_and(|(_, flag)| flag.swap(false, Ordering::Relaxed));
        writeln!(out, "{got}").map_err(Error::unusable)?;
    }
    Ok(())
}

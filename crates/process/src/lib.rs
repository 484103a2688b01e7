#![forbid(unsafe_code)]
//! The one way to start another program, watch it, limit its time and end it.
//!
//! [`run`] runs a command to its end and keeps what it wrote. [`Process`] is for a conversation, or for a
//! program that stays. Both end a program together with the processes that it started and left in its
//! group ([`Group::Own`]).
//!
//! Commands are described by [`std::process::Command`]. Crates that wait with a time limit install a
//! handler for `SIGCHLD`, and those that wrap process groups add neither limits nor captured output, so
//! this crate uses only the standard library and `rustix`.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use std::{fmt, thread};

use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid,
};

// Here, because all crates that need Unix depend on this one, except `recorder`.
#[cfg(not(any(target_os = "linux", target_os = "macos")))]
compile_error!("pragmark supports Linux only; it compiles for macOS, too, but for no other system");

/// The longest pause between two checks whether a process has ended.
const POLL: Duration = Duration::from_millis(10);

/// Environment variables that no other program gets.
const SECRETS: [&str; 1] = ["NATS_PASSWORD"];

/// Why a program could not be run. How it ended is an [`End`], not an error.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    /// It could not be started.
    #[error("cannot start {}: {}", .0.display(), .1)]
    Start(PathBuf, io::Error),
    /// There was no file for its output, or the file could not be read.
    #[error("cannot keep the output of {}: {}", .0.display(), .1)]
    Output(PathBuf, io::Error),
    /// Its end could not be observed.
    #[error("cannot wait for {}: {}", .0.display(), .1)]
    Wait(PathBuf, io::Error),
}

impl ProcessError {
    /// Returns whether the program does not exist.
    pub fn is_missing_program(&self) -> bool {
        matches!(self, ProcessError::Start(_, source) if source.kind() == io::ErrorKind::NotFound)
    }
}

/// The process group of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// A group of its own: Ctrl-C on a terminal does not reach it, and what it started ends with it.
    Own,
    /// This process's group: whoever ends this process and its group ends the program too.
    Shared,
}

/// When a program is ended before it ends by itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits<'a> {
    /// After this time.
    pub time: Option<Duration>,
    /// When this becomes true.
    pub cancelled: Option<&'a AtomicBool>,
}

impl<'a> Limits<'a> {
    /// Ends it after this time.
    pub fn time(time: Duration) -> Limits<'static> {
        Limits { time: Some(time), cancelled: None }
    }

    /// Ends it when the flag becomes true.
    pub fn cancelled(cancelled: &'a AtomicBool) -> Limits<'a> {
        Limits { time: None, cancelled: Some(cancelled) }
    }

    /// Returns why a process that has run since `start` has to end now, if it has to.
    fn exceeded(&self, start: Instant) -> Option<End> {
        if self.cancelled.is_some_and(|cancelled| cancelled.load(Ordering::Relaxed)) {
            return Some(End::Cancelled);
        }
        let limit = self.time?;
        (start.elapsed() >= limit).then_some(End::TimedOut(limit))
    }
}

/// How a program ended; reads as a predicate (`ended with exit code 3`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// By itself, or by a signal that did not come from here.
    Exited(ExitStatus),
    /// It was killed at its time limit.
    TimedOut(Duration),
    /// It was killed because it was cancelled.
    Cancelled,
}

impl End {
    /// Returns whether it ended by itself and reported success.
    pub fn is_success(&self) -> bool {
        matches!(self, End::Exited(status) if status.success())
    }
}

impl fmt::Display for End {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            End::Exited(status) => write!(formatter, "ended with {}", described(*status)),
            End::TimedOut(limit) => {
                write!(formatter, "was not done after {} s", limit.as_secs_f64())
            }
            End::Cancelled => formatter.write_str("was stopped"),
        }
    }
}

/// Describes a status: `exit code 3`, `signal 11`.
pub fn described(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => "no exit code".to_owned(),
    }
}

/// Returns a command as a person would type it.
pub fn command_line(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(quoted).collect::<Vec<_>>().join(" ")
}

fn quoted(word: &OsStr) -> String {
    let word = word.to_string_lossy();
    if word.contains(|c: char| c.is_whitespace() || "'\"\\$`".contains(c)) {
        format!("'{}'", word.replace('\'', r"'\''"))
    } else {
        word.into_owned()
    }
}

/// A running program; dropping it kills it, and its group where it has one of its own.
#[derive(Debug)]
pub struct Process {
    child: Child,
    /// The program.
    pub program: PathBuf,
    group: Group,
    start: Instant,
    errors: Option<Tail>,
    status: Option<ExitStatus>,
}

impl Process {
    /// Starts a command, without the secrets of this process's environment; of error output that goes to a pipe, the end is kept.
    ///
    /// # Errors
    /// [`ProcessError::Start`].
    pub fn start(command: &mut Command, group: Group) -> Result<Process, ProcessError> {
        if group == Group::Own {
            command.process_group(0);
        }
        for secret in SECRETS {
            command.env_remove(secret);
        }
        let program = PathBuf::from(command.get_program());
        let start = Instant::now();
        let mut child =
            command.spawn().map_err(|source| ProcessError::Start(program.clone(), source))?;
        Ok(Process {
            errors: child.stderr.take().map(Tail::collect),
            child,
            program,
            group,
            start,
            status: None,
        })
    }

    /// Returns the writing end of its standard input, once, where that is a pipe; its input ends when this is dropped.
    pub fn take_input(&mut self) -> Option<ChildStdin> {
        self.child.stdin.take()
    }

    /// Returns the reading end of its standard output, once, where that is a pipe.
    pub fn take_output(&mut self) -> Option<ChildStdout> {
        self.child.stdout.take()
    }

    /// Writes all of its standard input. A process may end before it has read everything; its end shows that, so a
    /// failed write is not an error.
    pub fn send(&mut self, text: &str) {
        if let Some(mut input) = self.take_input() {
            let _ = input.write_all(text.as_bytes());
        }
    }

    /// Its standard output by lines, as they come. Only the last may lack its line feed.
    pub fn lines(&mut self) -> Receiver<String> {
        let (sender, lines) = channel();
        if let Some(output) = self.take_output() {
            thread::spawn(move || {
                let mut output = BufReader::new(output);
                let mut line = Vec::new();
                while output.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
                    let text = String::from_utf8_lossy(&line).into_owned();
                    if sender.send(text).is_err() {
                        return;
                    }
                    line.clear();
                }
            });
        }
        lines
    }

    /// Returns the end of its error output, complete once it has ended. A process that left the group and keeps the
    /// pipe open delays the answer only briefly.
    pub fn errors(&self) -> String {
        self.errors.as_ref().map(Tail::text).unwrap_or_default()
    }

    /// Its status where it has ended.
    ///
    /// # Errors
    /// [`ProcessError::Wait`].
    pub fn try_wait(&mut self) -> Result<Option<ExitStatus>, ProcessError> {
        if self.has_ended(WaitIdOptions::NOHANG)? { self.collect().map(Some) } else { Ok(None) }
    }

    /// Waits until it ends by itself.
    ///
    /// # Errors
    /// [`ProcessError::Wait`].
    pub fn wait(&mut self) -> Result<ExitStatus, ProcessError> {
        self.has_ended(WaitIdOptions::empty())?;
        self.collect()
    }

    /// Waits until it ends; `None` where a limit, counted from its start, came first. It still runs then.
    ///
    /// # Errors
    /// [`ProcessError::Wait`].
    pub fn wait_within(&mut self, limits: &Limits<'_>) -> Result<Option<ExitStatus>, ProcessError> {
        Ok(match self.until(limits, self.start)? {
            End::Exited(status) => Some(status),
            End::TimedOut(_) | End::Cancelled => None,
        })
    }

    /// Waits until it ends, or kills it when a limit, counted from its start, is exceeded.
    ///
    /// # Errors
    /// [`ProcessError::Wait`].
    pub fn finish(&mut self, limits: &Limits<'_>) -> Result<End, ProcessError> {
        let end = self.until(limits, self.start)?;
        if !matches!(end, End::Exited(_)) {
            self.kill();
        }
        Ok(end)
    }

    /// Gives it this time from now to end by itself, then kills it. Returns its status.
    pub fn end(&mut self, grace: Duration) -> Option<ExitStatus> {
        let _ = self.until(&Limits::time(grace), Instant::now());
        self.kill()
    }

    /// Sends it a signal by its number, unless it has ended.
    pub fn signal(&self, number: i32) {
        if let (None, Some(signal)) = (self.status, Signal::from_named_raw(number)) {
            // It has not been waited for, so its number is still its own.
            let _ = kill_process(Pid::from_child(&self.child), signal);
        }
    }

    /// Kills it, where it still runs, with its group where that is its own. Returns its status.
    pub fn kill(&mut self) -> Option<ExitStatus> {
        if self.status.is_none() {
            let _ = self.child.kill();
        }
        self.collect().ok()
    }

    /// Waits for the end, or until a limit is exceeded.
    fn until(&mut self, limits: &Limits<'_>, start: Instant) -> Result<End, ProcessError> {
        let mut pause = Duration::from_micros(50);
        loop {
            if let Some(status) = self.try_wait()? {
                return Ok(End::Exited(status));
            }
            if let Some(end) = limits.exceeded(start) {
                return Ok(end);
            }
            thread::sleep(pause);
            pause = (pause * 2).min(POLL);
        }
    }

    /// Returns whether it has ended, without collecting its status: until then neither its number nor its group's can
    /// be given to another process.
    fn has_ended(&self, options: WaitIdOptions) -> Result<bool, ProcessError> {
        if self.status.is_some() {
            return Ok(true);
        }
        let id = WaitId::Pid(Pid::from_child(&self.child));
        let options = options | WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        let ended = rustix::io::retry_on_intr(|| waitid(id.clone(), options));
        ended.map(|status| status.is_some()).map_err(|error| self.cannot_wait(error.into()))
    }

    /// Ends what is left of the group, and collects the status.
    fn collect(&mut self) -> Result<ExitStatus, ProcessError> {
        if let Some(status) = self.status {
            return Ok(status);
        }
        if self.group == Group::Own {
            // Fails where no process of the group is left.
            let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
        }
        let status = self.child.wait().map_err(|source| self.cannot_wait(source))?;
        Ok(*self.status.insert(status))
    }

    fn cannot_wait(&self, source: io::Error) -> ProcessError {
        ProcessError::Wait(self.program.clone(), source)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The result of a command.
#[derive(Debug)]
pub struct Finished {
    /// How it ended.
    pub end: End,
    /// All of its standard output.
    pub output: Vec<u8>,
    /// The end of its error output.
    pub errors: String,
    /// How long it ran.
    pub took: Duration,
}

impl Finished {
    /// Its standard output as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.output).into_owned()
    }

    /// Returns the ends of its standard output and of its error output: some programs complain on the one, some on the
    /// other.
    pub fn messages(&self) -> String {
        let output = end_of(io::Cursor::new(&self.output)).unwrap_or_default();
        format!("{output}\n{}", self.errors).trim().to_owned()
    }
}

/// Runs a command to its end without input, or kills it when a limit is exceeded.
///
/// # Errors
/// When it cannot be started, or its output cannot be kept.
pub fn run(
    command: &mut Command,
    group: Group,
    limits: &Limits<'_>,
) -> Result<Finished, ProcessError> {
    let program = PathBuf::from(command.get_program());
    let output = |source| ProcessError::Output(program.clone(), source);
    // Files rather than pipes: a program that writes much, or leaves a process behind, blocks nothing.
    let (standard, to_standard) = file().map_err(output)?;
    let (errors, to_errors) = file().map_err(output)?;
    command.stdin(Stdio::null()).stdout(to_standard).stderr(to_errors);
    let mut process = Process::start(command, group)?;
    let end = process.finish(limits)?;
    let took = process.start.elapsed();
    Ok(Finished {
        end,
        output: content(standard).map_err(output)?,
        errors: end_of(errors).map_err(output)?,
        took,
    })
}

/// Returns a file without a name, to be read here and written by another process.
fn file() -> io::Result<(File, File)> {
    let file = tempfile::tempfile()?;
    let other = file.try_clone()?;
    Ok((file, other))
}

fn content(mut file: File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Bytes of a program's messages that are kept, the last ones.
pub(crate) const KEPT: usize = 2_000;

/// How long error output may go on after the end of its process: processes that left the group may keep
/// the pipe open for as long as they like.
const GRACE: Duration = Duration::from_secs(2);

/// The end of a pipe's content, collected by a thread.
#[derive(Debug)]
pub(crate) struct Tail {
    kept: Arc<Mutex<VecDeque<u8>>>,
    /// Disconnected at the end of the content.
    open: Receiver<()>,
}

impl Tail {
    pub(crate) fn collect(pipe: ChildStderr) -> Tail {
        let (sender, open) = channel();
        let kept = Arc::default();
        let tail = Tail { kept: Arc::clone(&kept), open };
        thread::spawn(move || {
            keep_last(pipe, &kept);
            drop(sender);
        });
        tail
    }

    pub(crate) fn text(&self) -> String {
        let _ = self.open.recv_timeout(GRACE);
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        trimmed(kept.make_contiguous())
    }
}

fn keep_last(mut pipe: impl Read, kept: &Mutex<VecDeque<u8>>) {
    let mut chunk = [0; 1_024];
    loop {
        let read = match pipe.read(&mut chunk) {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Ok(0) | Err(_) => return,
            Ok(read) => read,
        };
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend(&chunk[..read]);
        let excess = kept.len().saturating_sub(KEPT);
        kept.drain(..excess);
    }
}

/// Returns the end of a file, such as a log.
///
/// # Errors
/// When it cannot be read.
pub fn end_of(mut file: impl Read + Seek) -> io::Result<String> {
    let length = file.seek(SeekFrom::End(0))?;
    file.seek(SeekFrom::Start(length.saturating_sub(KEPT as u64)))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(trimmed(&bytes))
}

fn trimmed(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim().to_owned()
}

#[cfg(test)]
mod tests;

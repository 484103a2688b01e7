//! Worker processes, and the JSON lines between them and the trial. The first line to a worker is its specification.

use std::io::{self, BufRead, BufReader, Write};
use std::process::{ChildStdin, ChildStdout, Command, Stdio};

use process::{Group, Process, described};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::platform::die_with_the_parent;

/// A process that runs a hidden subcommand of pragmark. It is killed when it is dropped, dies with the trial's process
/// (where the kernel supports this), and belongs to the process group that the parent of the trial kills.
pub(crate) struct ChildWorker {
    process: Process,
    input: ChildStdin,
}

impl ChildWorker {
    /// Starts a process and sends its specification; returns it with its output.
    pub(crate) fn start(
        subcommand: &str,
        spec: &impl Serialize,
    ) -> io::Result<(ChildWorker, BufReader<ChildStdout>)> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg(subcommand).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = Process::start(&mut command, Group::Shared).map_err(io::Error::other)?;
        let pipes = process.take_input().zip(process.take_output());
        let (input, output) = pipes.ok_or_else(|| io::Error::other("its pipes are missing"))?;
        let mut child = ChildWorker { process, input };
        child.send(spec)?;
        Ok((child, BufReader::new(output)))
    }

    /// Sends a message.
    pub(crate) fn send(&mut self, message: &impl Serialize) -> io::Result<()> {
        write_message(&mut self.input, message)
    }

    /// Kills the process and describes how it ended.
    pub(crate) fn kill(&mut self) -> String {
        self.process.kill().map(described).unwrap_or_default()
    }
}

/// The worker's side of the exchange.
pub(crate) struct Channel<I, O> {
    input: I,
    output: O,
}

impl<I: BufRead, O: Write> Channel<I, O> {
    /// Receives the messages of `input` and sends messages to `output`.
    pub(crate) fn new(input: I, output: O) -> Channel<I, O> {
        Channel { input, output }
    }

    /// Receives the next message.
    pub(crate) fn receive<T: DeserializeOwned>(&mut self) -> io::Result<T> {
        read_message(&mut self.input)
    }

    /// Sends a message.
    pub(crate) fn send(&mut self, message: &impl Serialize) -> io::Result<()> {
        write_message(&mut self.output, message)
    }
}

/// Reads a message; fails at the end of the input.
pub(crate) fn read_message<T: DeserializeOwned>(input: &mut impl BufRead) -> io::Result<T> {
    let mut line = String::new();
    input.read_line(&mut line)?;
    Ok(serde_json::from_str(&line)?)
}

/// Writes a message as a line.
pub(crate) fn write_message(output: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    output.write_all(&line)?;
    output.flush()
}

/// Asks the kernel to end this process with its parent. Returns whether the parent is still there: it may have died before
/// the kernel was asked.
pub(crate) fn follow_parent(parent: u32) -> bool {
    die_with_the_parent();
    let found = rustix::process::getppid().map(|pid| pid.as_raw_nonzero().get());
    found.and_then(|pid| u32::try_from(pid).ok()) == Some(parent)
}

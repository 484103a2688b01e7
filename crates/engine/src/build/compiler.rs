//! The C compiler: its version, its target and the flags it knows.

use super::error::{self, BuildError, Result};
use crate::options::WHERE_SUPPORTED;
use process::{Finished, command_line};
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

const WHAT: &str = "the C compiler";

/// A C compiler in the manner of gcc.
#[derive(Debug, Clone)]
pub(super) struct Compiler {
    program: OsString,
    /// Words of the command that come before all arguments, such as the compiler after `ccache`.
    leading: Vec<OsString>,
    /// The first line of its version message.
    pub(super) version: String,
    /// The machine it compiles for, such as `x86_64-linux-gnu`.
    pub(super) target: String,
    /// The flags of [`WHERE_SUPPORTED`] that it knows.
    pub(super) supported: Vec<&'static str>,
}

impl Compiler {
    /// Asks the compiler of this command for its version and flags; `work` is a directory for what it
    /// writes.
    ///
    /// # Errors
    /// It is not there, or does not answer as a compiler does.
    pub(super) fn ask(command: &str, work: &Path, cancelled: &AtomicBool) -> Result<Compiler> {
        let mut words = command.split_whitespace().map(OsString::from);
        let mut compiler = Compiler {
            program: words.next().unwrap_or_else(|| "cc".into()),
            leading: words.collect(),
            version: String::new(),
            target: String::new(),
            supported: Vec::new(),
        };
        let first_line =
            |answer: Finished| answer.messages().lines().next().unwrap_or("").to_owned();
        let answer = compiler.run(vec!["--version".into()], cancelled)?;
        compiler.version = first_line(answer);
        let answer = compiler.run(vec!["-dumpmachine".into()], cancelled)?;
        compiler.target = first_line(answer);
        for flag in WHERE_SUPPORTED {
            if compiler.knows(flag, work, cancelled)? {
                compiler.supported.push(flag);
            }
        }
        Ok(compiler)
    }

    /// One for tests that never runs.
    #[cfg(test)]
    pub(super) fn made_up() -> Compiler {
        Compiler {
            program: "cc".into(),
            leading: Vec::new(),
            version: "a compiler 1.0".to_owned(),
            target: "a-machine".to_owned(),
            supported: Vec::new(),
        }
    }

    /// Returns the command as it was given.
    pub(super) fn command(&self) -> String {
        command_line(&self.start(Vec::new()))
    }

    /// Runs the compiler with these arguments and returns how long it took.
    ///
    /// # Errors
    /// It is not there, fails, or was stopped.
    pub(super) fn compile(
        &self,
        arguments: Vec<OsString>,
        cancelled: &AtomicBool,
    ) -> Result<Duration> {
        self.run(arguments, cancelled).map(|finished| finished.took)
    }

    fn knows(&self, flag: &str, work: &Path, cancelled: &AtomicBool) -> Result<bool> {
        let mut arguments: Vec<OsString> =
            ["-Werror", flag, "-x", "c", "-c", "/dev/null", "-o"].map(OsString::from).into();
        arguments.push(work.join("probe.o").into());
        match self.run(arguments, cancelled) {
            Ok(_) => Ok(true),
            Err(BuildError::Compiler(_)) => Ok(false),
            Err(other) => Err(other),
        }
    }

    fn run(&self, arguments: Vec<OsString>, cancelled: &AtomicBool) -> Result<Finished> {
        let mut command = self.start(arguments);
        let finished = error::run(&mut command, WHAT, cancelled)?;
        if finished.end.is_success() {
            Ok(finished)
        } else {
            let (command, said) = (command_line(&command), finished.messages());
            let end = finished.end;
            Err(BuildError::Compiler(format!("the C compiler {end}\ncommand: {command}\n{said}")))
        }
    }

    fn start(&self, arguments: Vec<OsString>) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.leading).args(arguments);
        // Messages that bug reports and searches understand.
        command.env("LC_ALL", "C");
        command
    }
}

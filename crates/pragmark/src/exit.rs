//! Exit codes, and how errors are shown.

use std::process::ExitCode;

use app::{Error, Kind};

/// The exit codes: documented in the help and the manual page, and stable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// The command succeeded.
    Success,
    /// The run finished, but some trials failed or timed out.
    TrialsFailed,
    /// The command line, an experiment file or SQL is invalid.
    Mistake,
    /// A file, directory, engine or driver could not be used; also when every trial was skipped.
    Unusable,
    /// `guard`: a check failed.
    BeyondBudget,
    /// `guard`: no check failed, but one could not be decided.
    Undecided,
    /// Stopped by Ctrl-C or a termination signal; completed trials are kept.
    Interrupted,
    /// The exit code of a program that was recorded.
    Program(u8),
}

/// The exit codes as text for `--help` and the manual page.
pub const EXIT_CODES: &str = "\
Exit codes:
  0    the command succeeded
  1    the run finished, but some trials failed or timed out
  2    the command line, an experiment file or SQL is invalid; nothing was measured
  3    a file, directory, engine or driver could not be used; also when every trial was skipped
  4    `guard`: a check failed: a budget, a limit, a plan, an answer or safety
  5    `guard`: no check failed, but one could not be decided within the time limit
  130  stopped by Ctrl-C or a termination signal; completed trials are kept
`record` and `watch` end with the exit code of the program, or 3 if nothing was recorded.";

impl Exit {
    /// Returns the code.
    pub fn code(self) -> u8 {
        match self {
            Exit::Success => 0,
            Exit::TrialsFailed => 1,
            Exit::Mistake => 2,
            Exit::Unusable => 3,
            Exit::BeyondBudget => 4,
            Exit::Undecided => 5,
            Exit::Interrupted => 130,
            Exit::Program(code) => code,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        exit.code().into()
    }
}

/// Prints an error and returns the exit code.
pub fn report(error: &Error) -> Exit {
    tell!("error: {}", error.message);
    if let Some(hint) = error.advice() {
        tell!("hint: {hint}");
    }
    match error.kind {
        Kind::Mistake => Exit::Mistake,
        Kind::Unusable => Exit::Unusable,
        Kind::Interrupted => Exit::Interrupted,
    }
}

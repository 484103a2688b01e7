//! Exit codes and the wording of failures.

use std::fmt::Display;
use std::process::ExitCode;

/// The exit codes: documented in the help and the manual page, and stable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// The command succeeded.
    Success,
    /// The run finished, but some trials failed or timed out.
    TrialsFailed,
    /// The command line, an experiment file or SQL is invalid; nothing was measured.
    Usage,
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
`record` ends with the exit code of the program, or 3 if nothing was recorded.";

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(match exit {
            Exit::Success => 0,
            Exit::TrialsFailed => 1,
            Exit::Usage => 2,
            Exit::Unusable => 3,
            Exit::BeyondBudget => 4,
            Exit::Undecided => 5,
            Exit::Interrupted => 130,
            Exit::Program(code) => code,
        })
    }
}

/// Why a command failed, and what to do about it.
#[derive(Debug)]
pub struct Failure {
    exit: Exit,
    message: String,
    hint: Option<String>,
}

impl Failure {
    /// Invalid input.
    pub fn usage(message: impl Display) -> Failure {
        Failure::new(Exit::Usage, message)
    }

    /// A file, directory, engine or driver that could not be used.
    pub fn unusable(message: impl Display) -> Failure {
        Failure::new(Exit::Unusable, message)
    }

    /// A command that was stopped by a signal.
    pub fn interrupted(message: impl Display) -> Failure {
        Failure::new(Exit::Interrupted, message)
    }

    fn new(exit: Exit, message: impl Display) -> Failure {
        Failure { exit, message: message.to_string(), hint: None }
    }

    /// Message and hint in one line, for records.
    pub fn words(&self) -> String {
        match &self.hint {
            Some(hint) => format!("{} ({hint})", self.message),
            None => self.message.clone(),
        }
    }

    /// Adds a hint.
    pub fn hint(self, hint: impl Display) -> Failure {
        self.hint_if(Some(hint))
    }

    /// Adds a hint where there is one.
    pub fn hint_if(self, hint: Option<impl Display>) -> Failure {
        let hint = hint.map(|hint| hint.to_string());
        Failure { hint, ..self }
    }

    /// Prints the failure and returns the exit code.
    pub fn report(&self) -> Exit {
        tell!("error: {}", self.message);
        if let Some(hint) = &self.hint {
            tell!("hint: {hint}");
        }
        self.exit
    }
}

impl From<runner::RunError> for Failure {
    fn from(error: runner::RunError) -> Failure {
        use runner::RunError;
        let hint = match &error {
            RunError::NoRun(_) => {
                Some("use the folder that `pragmark run` printed; it contains run.json")
            }
            RunError::Exists(_) => Some(
                "choose another folder with --out; `pragmark run --resume FOLDER` goes on with a run",
            ),
            RunError::Damaged { .. } => {
                Some("put the file back as it was, or start a new run; nothing was changed")
            }
            RunError::InUse(_) => Some("wait until the other pragmark process ends"),
            RunError::OtherFormat { found, known, .. } if found < known => Some(
                "run the experiments again with this version, or use the version that recorded the run",
            ),
            RunError::OtherFormat { .. } => Some("install a newer version of pragmark to read it"),
            _ => None,
        };
        Failure::unusable(error).hint_if(hint)
    }
}

impl From<runner::machine::MachineError> for Failure {
    fn from(error: runner::machine::MachineError) -> Failure {
        Failure::unusable(error).hint("choose another directory with --dir")
    }
}

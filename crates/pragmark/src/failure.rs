//! Exit codes and the wording of failures.

use std::fmt::Display;
use std::process::ExitCode;

/// How pragmark ends; documented in its help and manual page, and not changed without notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Everything asked for was done.
    Success = 0,
    /// The run was carried out, but some trials failed or timed out.
    TrialsFailed = 1,
    /// The command line or an experiment file is wrong; nothing was begun.
    Usage = 2,
    /// A file, directory, engine or driver could not be used.
    Unusable = 3,
    /// Stopped by Ctrl-C or a termination signal; what was measured is kept.
    Interrupted = 130,
}

/// The exit codes in words, for `--help` and the manual page.
pub const EXIT_CODES: &str = "\
Exit codes:
  0    everything asked for was done
  1    the run was carried out, but some trials failed or timed out
  2    the command line or an experiment file is wrong; nothing was begun
  3    a file, directory, engine or driver could not be used
  130  stopped by Ctrl-C or a termination signal; what was measured is kept";

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit as u8)
    }
}

/// Why a command could not be carried out, and what to do about it.
#[derive(Debug)]
pub struct Failure {
    exit: Exit,
    message: String,
    hint: Option<String>,
}

impl Failure {
    /// Wrong input.
    pub fn usage(message: impl Display) -> Failure {
        Failure {
            exit: Exit::Usage,
            message: message.to_string(),
            hint: None,
        }
    }

    /// Something that could not be used.
    pub fn unusable(message: impl Display) -> Failure {
        Failure {
            exit: Exit::Unusable,
            message: message.to_string(),
            hint: None,
        }
    }

    /// Something that was stopped by a signal.
    pub fn interrupted(message: impl Display) -> Failure {
        Failure {
            exit: Exit::Interrupted,
            message: message.to_string(),
            hint: None,
        }
    }

    /// Message and advice in one, for records.
    pub fn words(&self) -> String {
        match &self.hint {
            Some(hint) => format!("{} ({hint})", self.message),
            None => self.message.clone(),
        }
    }

    /// The same with advice.
    pub fn hint(self, hint: impl Display) -> Failure {
        Failure {
            hint: Some(hint.to_string()),
            ..self
        }
    }

    /// Prints the failure and says how to exit.
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
                Some("give the folder that `pragmark run` printed; it holds run.json")
            }
            RunError::Exists(_) => {
                Some("choose another folder with --out, or go on with that run by --resume")
            }
            RunError::InUse(_) => Some("wait for the other pragmark to end"),
            RunError::OlderFormat { .. } => Some(
                "run the experiments again with this version, or read the run with the one that recorded it",
            ),
            RunError::NewerFormat { .. } => Some("install a newer pragmark to read it"),
            _ => None,
        };
        Failure {
            hint: hint.map(str::to_owned),
            ..Failure::unusable(error)
        }
    }
}

impl From<runner::machine::MachineError> for Failure {
    fn from(error: runner::machine::MachineError) -> Failure {
        Failure::unusable(error).hint("name another directory with --dir")
    }
}

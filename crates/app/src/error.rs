//! Why a use case failed, whose mistake it is, and what to do about it.

use std::fmt::Display;
use std::path::Path;

use bench::TrialError;
use drivers::DriverError;
use engine::build::{BuildError, CRATE, OPTION_SETS, RELEASES};
use fleet::FleetError;
use lab::experiment::nearest;
use runner::RunError;
use runner::machine::MachineError;

/// The result of a use case.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Whose mistake an error is. The exit code follows from it, the same in every command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The user's: the command line, an experiment file or SQL is invalid.
    Mistake,
    /// Nobody's: a file, directory, engine or driver could not be used.
    Unusable,
    /// None: a signal stopped the use case.
    Interrupted,
}

/// Why a use case failed.
#[derive(Debug)]
pub struct Error {
    /// Whose mistake it is.
    pub kind: Kind,
    /// The message: the thing that went wrong, and where.
    pub message: String,
    hint: Option<String>,
}

impl Error {
    /// Makes the error of a mistake of the user's.
    pub fn mistake(message: impl Display) -> Error {
        Error::new(Kind::Mistake, message)
    }

    /// Makes the error of a file, directory, engine or driver that could not be used.
    pub fn unusable(message: impl Display) -> Error {
        Error::new(Kind::Unusable, message)
    }

    /// Makes the error of a use case that a signal stopped.
    pub fn interrupted(message: impl Display) -> Error {
        Error::new(Kind::Interrupted, message)
    }

    fn new(kind: Kind, message: impl Display) -> Error {
        Error { kind, message: message.to_string(), hint: None }
    }

    /// Makes the error of a file or folder that cannot be read.
    pub fn reading(path: &Path, why: impl Display) -> Error {
        Error::unusable(format!("cannot read {}: {why}", path.display()))
    }

    /// Makes the error of a file or folder that cannot be written.
    pub fn writing(path: &Path, why: impl Display) -> Error {
        Error::unusable(format!("cannot write {}: {why}", path.display()))
    }

    /// Adds a hint.
    pub fn hint(self, hint: impl Display) -> Error {
        self.hint_if(Some(hint))
    }

    /// Adds a hint if there is one.
    pub fn hint_if(self, hint: Option<impl Display>) -> Error {
        let hint = hint.map(|hint| hint.to_string());
        Error { hint, ..self }
    }

    /// Returns what to do about it, if that is known.
    pub fn advice(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// Returns message and hint in one line, for records.
    pub fn words(&self) -> String {
        match &self.hint {
            Some(hint) => format!("{} ({hint})", self.message),
            None => self.message.clone(),
        }
    }
}

impl From<RunError> for Error {
    fn from(error: RunError) -> Error {
        let hint = match &error {
            RunError::NoRun(_) => {
                Some("use the folder that `pragmark run` printed; it contains run.json")
            }
            RunError::Exists(_) => Some(
                "choose another folder with --out; `pragmark run --resume FOLDER` continues a run",
            ),
            RunError::Damaged(..) => {
                Some("put the file back as it was, or start a new run; nothing was changed")
            }
            RunError::InUse(_) => Some("wait until the other pragmark process ends"),
            RunError::OtherFormat { found, known, .. } if found < known => Some(
                "run the experiments again with this version, or use the version that recorded the run",
            ),
            RunError::OtherFormat { .. } => Some("install a newer version of pragmark to read it"),
            _ => None,
        };
        Error::unusable(error).hint_if(hint)
    }
}

impl From<MachineError> for Error {
    fn from(error: MachineError) -> Error {
        Error::unusable(error).hint("choose another directory with --dir")
    }
}

impl From<TrialError> for Error {
    fn from(error: TrialError) -> Error {
        if error.is_mistake() { Error::mistake(error) } else { Error::unusable(error) }
    }
}

impl From<DriverError> for Error {
    fn from(error: DriverError) -> Error {
        match error {
            DriverError::Unknown(..) => {
                Error::mistake(error).hint("`pragmark driver list` shows which drivers are ready")
            }
            other => Error::unusable(other),
        }
    }
}

impl From<BuildError> for Error {
    fn from(error: BuildError) -> Error {
        let hint = hint_for_build(&error);
        let failure = match &error {
            BuildError::EmptyName
            | BuildError::UnknownVersion(_)
            | BuildError::UnknownSet(_)
            | BuildError::CompiledAlready(_)
            | BuildError::NotAName(_)
            | BuildError::NameTaken(_) => Error::mistake(error),
            BuildError::Cancelled => Error::interrupted(error),
            _ => Error::unusable(error),
        };
        failure.hint_if(hint)
    }
}

fn hint_for_build(error: &BuildError) -> Option<String> {
    Some(match error {
        BuildError::UnknownVersion(given) => {
            // Digits are alike by chance: only another version of the same minor version is meant.
            let minor = given.rsplit_once('.')?.0;
            let versions = RELEASES.iter().map(|release| release.version);
            let related =
                versions.filter(|name| name.rsplit_once('.').is_some_and(|name| name.0 == minor));
            format!("did you mean `{}`?", nearest(given, related)?)
        }
        BuildError::UnknownSet(given) => {
            let sets = OPTION_SETS.iter().map(|set| set.name);
            format!("did you mean `{}`?", nearest(given, sets)?)
        }
        BuildError::Unknown(given) => match nearest(given, ["default", "system"]) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "see `pragmark engine list`; name a library of your own by its path".to_owned(),
        },
        BuildError::NameTaken(name) => {
            format!("remove the other with `pragmark engine remove {name}`, or choose another name")
        }
        BuildError::NoCache(_) => "set PRAGMARK_CACHE to a directory for engines".to_owned(),
        BuildError::Program("cargo", _) => {
            "cargo fetches the source of SQLite; install Rust from https://rustup.rs, or set CARGO to its path"
                .to_owned()
        }
        BuildError::Program(..) => {
            "install it with `apt install build-essential`, `dnf install gcc` or `xcode-select --install`, or set CC to its path"
                .to_owned()
        }
        BuildError::Fetch(_) => format!(
            "the crate registry must be reachable the first time; run `cargo fetch` in a project that depends on {CRATE} for details"
        ),
        BuildError::ProfileNeedsGcc(_) => "set CC=gcc".to_owned(),
        BuildError::BadProvenance(path, _) => {
            format!("remove the directory of {}", path.display())
        }
        _ => return None,
    })
}

impl From<FleetError> for Error {
    fn from(error: FleetError) -> Error {
        let hint = match &error {
            FleetError::PasswordInAddress => Some(
                "set NATS_CREDS, NATS_NKEY, or NATS_USER with NATS_PASSWORD in the environment",
            ),
            FleetError::NoServer(_, why) if why.contains("CaUsedAsEndEntity") => Some(
                "the server shows the certificate of an authority itself: have the authority sign one for the server; examples/fleet/README.md has the commands",
            ),
            FleetError::NoServer(_, why) if why.contains("not valid for name") => Some(
                "use an address that the certificate names, or make one that names this address",
            ),
            FleetError::NoServer(_, why) if why.contains("certificate") => {
                Some("NATS_CA=FILE names the certificate of your own authority")
            }
            FleetError::NoServer(..) => Some(
                "start it with `nats-server -c server.conf`; docs/fleet.md has a configuration",
            ),
            FleetError::Rejected(..) => Some(
                "set NATS_CREDS, NATS_NKEY, or NATS_USER with NATS_PASSWORD in the environment",
            ),
            FleetError::NotPermitted(..) => Some(
                "start an agent with the --name of its user, or give the user the permissions of its role; examples/fleet/server.conf has them",
            ),
            FleetError::NoJetStream(_) => {
                Some("add `jetstream { }` to its configuration; docs/fleet.md has one")
            }
            FleetError::Refused(_, why) if why.contains("insufficient") => Some(
                "its storage is full: raise max_file_store in its configuration, or remove runs with `pragmark fleet purge`",
            ),
            FleetError::CacheTooSmall { .. } => Some("start the agent with a larger --cache-limit"),
            FleetError::NameTaken(_) => Some("give each agent a name of its own with --name"),
            FleetError::NoRun(_) => Some("`pragmark fleet status` lists the runs"),
            _ => None,
        };
        let failure = match &error {
            FleetError::Address(_) | FleetError::PasswordInAddress | FleetError::NoKey(_) => {
                Error::mistake(error)
            }
            FleetError::Cancelled => Error::interrupted(error),
            _ => Error::unusable(error),
        };
        failure.hint_if(hint)
    }
}

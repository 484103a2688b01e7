//! Errors between a machine and the server.

use std::path::PathBuf;

/// The result of work with the server of a fleet.
pub type Result<T, E = FleetError> = std::result::Result<T, E>;

/// Why something could not be done with the fleet.
#[derive(Debug, thiserror::Error)]
pub enum FleetError {
    /// The address of the server is not valid.
    #[error("{0} is not the address of a NATS server, such as nats://host:4222")]
    Address(String),
    /// The address holds a password, which other users of the machine could read in the list of processes.
    #[error(
        "the address of the server contains a password, which every user of this machine can see"
    )]
    PasswordInAddress,
    /// No server answers.
    #[error("no NATS server answers at {0}: {1}")]
    NoServer(String, String),
    /// The server lets nobody in with these credentials.
    #[error("the NATS server at {0} rejects these credentials: {1}")]
    Rejected(String, String),
    /// The server has no JetStream.
    #[error("the NATS server at {0} has no JetStream")]
    NoJetStream(String),
    /// The server refused a request.
    #[error("the NATS server cannot {0}: {1}")]
    Refused(&'static str, String),
    /// The stream does not exist: the run was removed, or nobody has begun one yet.
    #[error("the NATS server cannot {0}: nothing there takes it; the run may have been removed")]
    NoStream(&'static str),
    /// A message holds something else than it should, or comes from another version.
    #[error("{0} is damaged: {1}")]
    Damaged(String, String),
    /// The run is not on the server.
    #[error("the server has no run {0}")]
    NoRun(String),
    /// A file that holds credentials, or an object, could not be used.
    #[error("cannot {doing} {}: {source}", path.display())]
    Io {
        /// The attempted action, such as `read`.
        doing: &'static str,
        /// On which path.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// An object has another hash than it is named by.
    #[error("the object {0} has another content than its hash says")]
    WrongHash(String),
    /// A key that signs, or that is trusted, is not valid.
    #[error("{0}")]
    NoKey(String),
    /// The objects of a run do not fit into the cache of the agent.
    #[error(
        "the run needs {bytes} bytes of files with {name}, and the cache of this agent may have {limit}"
    )]
    CacheTooSmall {
        /// The object that did not fit.
        name: String,
        /// The bytes needed with it.
        bytes: u64,
        /// The limit of the cache.
        limit: u64,
    },
    /// The runtime of the client could not be started.
    #[error("cannot start the threads that talk to the server: {0}")]
    Runtime(std::io::Error),
    /// Another agent has the same name.
    #[error("another agent with the name {0} is present")]
    NameTaken(String),
    /// It was stopped meanwhile.
    #[error("stopped")]
    Cancelled,
}

impl FleetError {
    /// Returns a message that does not hold what it should.
    pub(crate) fn damaged(what: &str, why: impl std::fmt::Display) -> FleetError {
        FleetError::Damaged(what.to_owned(), why.to_string())
    }
}

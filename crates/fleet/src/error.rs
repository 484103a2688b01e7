//! Errors between a machine and the server.

use std::path::Path;

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
    /// The server gives no answer on JetStream, as to a user who may not ask.
    #[error("the NATS server at {0} does not answer this user on JetStream: {1}")]
    NotPermitted(String, String),
    /// The server refused a request.
    #[error("the NATS server cannot {0}: {1}")]
    Refused(&'static str, String),
    /// Nothing on the server takes messages of a kind: a run that was removed (the attempted operation).
    #[error("the NATS server cannot {0}: nothing there takes it; the run may have been removed")]
    NoStream(&'static str),
    /// A message does not hold what it should.
    #[error("{0}")]
    Damaged(String),
    /// A file, an object or the threads of the client cannot be had.
    #[error("{0}")]
    Failed(String),
    /// The run is not on the server.
    #[error("the server has no run {0}")]
    NoRun(String),
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
        FleetError::Damaged(format!("{what} is damaged: {why}"))
    }

    /// Adds the operation and the path to an error of the system.
    pub(crate) fn io(doing: &str, path: &Path) -> impl Fn(std::io::Error) -> FleetError {
        let doing = format!("cannot {doing} {}", path.display());
        move |source| FleetError::Failed(format!("{doing}: {source}"))
    }
}

//! PostgreSQL servers for trials that drive one.
//!
//! Unless the user names a server, each measured directory gets a private cluster, created for its first
//! trial and used by all of them: on the disk that is measured, closed to other users (its Unix socket is
//! private), and removed with the run, however that ends. Trials get its address in their specification;
//! what they do with it does not concern the runner.

mod cluster;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use lab::target;
use lab::trial::{Outcome, TrialSpec};

use self::cluster::Cluster;
use crate::error::RunError;
use crate::machine::find_program;

/// The servers of a run, which end with this value.
#[derive(Debug, Default)]
pub(crate) struct Servers {
    /// The connection URI of a server of the user's, which is neither started nor stopped; otherwise there are private
    /// clusters of the PostgreSQL that is installed here.
    pub(crate) given: Option<String>,
    clusters: HashMap<PathBuf, Cluster>,
    /// By directory: why no server can be started there. To find out again may take a minute for each
    /// trial.
    refusals: HashMap<PathBuf, Outcome>,
}

/// Why a server is not available.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ServerError {
    /// No PostgreSQL is installed.
    #[error("there is no PostgreSQL server on this machine: it {0}; or name one with --postgres")]
    NotInstalled(&'static str),
    /// PostgreSQL refuses to run as root, and there is no other user to be.
    #[error(
        "PostgreSQL does not run as root, and there is neither a user `postgres` nor a user `nobody`; run pragmark as another user"
    )]
    NoAccount,
    /// The user as which the server runs cannot enter the measured directory.
    #[error("PostgreSQL does not run as root, and the user `{}`, as which it would run, may not enter {}; run pragmark as another user, choose another --dir, or name a server with --postgres", .0, .1.display())]
    Closed(String, PathBuf),
    /// A program of PostgreSQL's failed or took too long: how it ended, and the end of its output.
    #[error("{program} {how}: {said}")]
    Program { program: &'static str, how: String, said: String },
    /// A program of PostgreSQL's could not be run.
    #[error(transparent)]
    Process(#[from] process::ProcessError),
    /// A file or directory could not be used.
    #[error(transparent)]
    Directory(#[from] RunError),
    /// The run was stopped meanwhile.
    #[error("the run was stopped")]
    Cancelled,
}

impl ServerError {
    /// Returns the outcome of a trial without a server for this reason; `None` if the run was stopped.
    pub(crate) fn outcome(&self) -> Option<Outcome> {
        let why = self.to_string();
        match self {
            ServerError::Cancelled => None,
            ServerError::NotInstalled(_) | ServerError::NoAccount | ServerError::Closed(..) => {
                Some(Outcome::Skipped { why })
            }
            ServerError::Program { .. } | ServerError::Process(_) | ServerError::Directory(_) => {
                Some(Outcome::failed(why))
            }
        }
    }
}

impl Servers {
    /// Gives a trial in `directory` its server, where its target is one.
    ///
    /// # Errors
    /// The outcome that the trial has instead; `None` if the run was stopped.
    pub(crate) fn provide(
        &mut self,
        spec: &mut TrialSpec,
        directory: &Path,
        run: &str,
        cancelled: &AtomicBool,
    ) -> Result<(), Option<Outcome>> {
        if !target::is_postgres(&spec.settings) {
            return Ok(());
        }
        // An earlier attempt showed that no server can be started.
        if let Some(refusal) = self.refusals.get(directory) {
            return Err(Some(refusal.clone()));
        }
        let uri = self.uri(directory, run, cancelled);
        spec.postgres = Some(uri.map_err(|error| self.refused(directory, &error))?);
        Ok(())
    }

    /// Returns the outcome for this reason, which is remembered where a program will fail again.
    fn refused(&mut self, directory: &Path, error: &ServerError) -> Option<Outcome> {
        let outcome = error.outcome()?;
        if matches!(error, ServerError::Program { .. }) {
            self.refusals.insert(directory.to_owned(), outcome.clone());
        }
        Some(outcome)
    }

    /// Returns the connection URI of the server for trials in `directory`, which is started where it does not run:
    /// before the first trial, and after it has died.
    fn uri(
        &mut self,
        directory: &Path,
        run: &str,
        cancelled: &AtomicBool,
    ) -> Result<String, ServerError> {
        if let Some(uri) = &self.given {
            return Ok(uri.clone());
        }
        if let Some(cluster) = self.clusters.get(directory)
            && cluster.is_alive()
        {
            return Ok(cluster.uri());
        }
        // What is left of a dead one makes way first.
        self.clusters.remove(directory);
        let initdb = find_program("PostgreSQL server").map_err(ServerError::NotInstalled)?;
        let programs = initdb.parent().unwrap_or(Path::new("/"));
        let cluster = Cluster::start(programs, directory, run, cancelled)?;
        let uri = cluster.uri();
        self.clusters.insert(directory.to_owned(), cluster);
        Ok(uri)
    }

    /// Returns the outcome of a trial in `directory` that failed, with what its server said last where that is gone.
    pub(crate) fn explained(&self, directory: &Path, outcome: Outcome) -> Outcome {
        match (outcome, self.clusters.get(directory)) {
            (Outcome::Failed { why, .. }, Some(cluster)) if !cluster.is_alive() => {
                Outcome::failed(format!(
                    "{why}; the PostgreSQL server has ended; the end of its log: {}",
                    cluster.last_words()
                ))
            }
            (outcome, _) => outcome,
        }
    }

    /// Stops and removes every private cluster.
    pub(crate) fn stop(&mut self) {
        self.clusters.clear();
    }
}

#[cfg(test)]
mod tests;

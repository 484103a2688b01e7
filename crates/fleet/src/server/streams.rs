//! The streams: how they are made, completed and removed.

use std::time::Duration;

use async_nats::jetstream::stream::{Config, DiscardPolicy, RetentionPolicy};

use super::{Server, Unanswered, unless_missing};
use crate::error::Result;
use crate::subjects::{RUNS, WORK};

/// How long the server recognises a message that is sent again.
const DUPLICATES: Duration = Duration::from_secs(120);

impl Server {
    /// Makes the streams that all runs share, where they are missing.
    ///
    /// # Errors
    /// When the server refuses, for example for lack of storage.
    pub fn make_streams(&self) -> Result<()> {
        for config in [work(), runs()] {
            self.make_stream(config)?;
        }
        self.make_presence()?;
        self.make_objects()
    }

    /// Makes the stream of a run's outcomes. Nothing in it can be changed or deleted, but the whole.
    pub(crate) fn make_results(&self, run: &str) -> Result<()> {
        self.make_stream(Config {
            name: crate::subjects::results_stream(run),
            subjects: vec![crate::subjects::all_results(run)],
            deny_delete: true,
            deny_purge: true,
            ..once()
        })
    }

    fn make_stream(&self, config: Config) -> Result<()> {
        self.patiently("make a stream", async || {
            self.jetstream.get_or_create_stream(config.clone()).await?;
            Ok(())
        })
    }

    /// Makes sure that the outcomes of a run can be stored.
    ///
    /// # Errors
    /// [`FleetError::NoStream`] when the run was removed.
    pub(crate) fn check_results(&self, run: &str) -> Result<()> {
        let name = crate::subjects::results_stream(run);
        self.patiently("keep the outcomes of the run", async || {
            let stream = unless_missing(self.jetstream.get_stream(&name).await)?;
            stream.map(drop).ok_or(Unanswered::Missing)
        })
    }

    /// Removes what a stream holds under a subject.
    ///
    /// # Errors
    /// As for [`Server::patiently`].
    pub(crate) fn clear(&self, stream: &str, subject: &str) -> Result<()> {
        self.patiently("remove messages", async || {
            self.stream(stream).await?.purge().filter(subject).await?;
            Ok(())
        })
    }

    /// Removes a stream with all that it holds.
    ///
    /// # Errors
    /// As for [`Server::patiently`].
    pub(crate) fn remove_stream(&self, name: &str) -> Result<()> {
        self.patiently("remove a stream", async || {
            unless_missing(self.jetstream.delete_stream(name).await).map(drop)
        })
    }
}

/// One message for each subject, which nothing replaces.
fn once() -> Config {
    Config {
        max_messages_per_subject: 1,
        discard: DiscardPolicy::New,
        discard_new_per_subject: true,
        duplicate_window: DUPLICATES,
        ..Config::default()
    }
}

/// Blocks that wait: each is kept until an agent has stored its outcome.
fn work() -> Config {
    Config {
        name: WORK.to_owned(),
        subjects: vec!["pragmark.work.>".to_owned()],
        retention: RetentionPolicy::WorkQueue,
        ..once()
    }
}

fn runs() -> Config {
    Config {
        name: RUNS.to_owned(),
        subjects: vec!["pragmark.runs.>".to_owned()],
        max_messages_per_subject: 1,
        ..Config::default()
    }
}

//! The key-value bucket of the agents that are present and the runs that are recorded. The server forgets an entry that
//! nobody renews.

use std::collections::BTreeSet;
use std::time::Duration;

use async_nats::jetstream::kv::{Config, Entry, Operation, Store};
use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream};

use super::{ANSWER, Answer, Server, Stored, refused_or_silent, words_of};
use crate::error::FleetError;
use crate::subjects::AGENTS;

/// How long the server keeps an entry after it was put.
const PRESENT: Duration = Duration::from_secs(30);

/// Entries that are requested at once.
const AT_ONCE: usize = 32;

impl Server {
    /// Makes the bucket, if it is missing.
    pub(super) fn make_presence(&self) -> Result<(), FleetError> {
        self.patiently("make the bucket of agents", || async {
            if self.jetstream.get_key_value(AGENTS).await.is_ok() {
                return Answer::Yes(());
            }
            let config =
                Config { bucket: AGENTS.to_owned(), max_age: PRESENT, ..Config::default() };
            match self.jetstream.create_key_value(config).await {
                Ok(_) => Answer::Yes(()),
                Err(error) => refused_or_silent(&words_of(&error)),
            }
        })
    }

    /// Puts an entry.
    ///
    /// # Errors
    /// As for [`Server::patiently`].
    pub(crate) fn put(&self, key: &str, payload: Vec<u8>) -> Result<(), FleetError> {
        let payload = Bytes::from(payload);
        self.ask("store an entry", |bucket| {
            let payload = payload.clone();
            async move { bucket.put(key, payload).await.map(drop).map_err(words) }
        })
    }

    /// Returns the entry of a key, unless it was withdrawn or is too old.
    ///
    /// # Errors
    /// As for [`Server::patiently`].
    pub(crate) fn entry(&self, key: &str) -> Result<Option<Stored>, FleetError> {
        self.ask("read an entry", |bucket| async move {
            Ok(bucket.entry(key).await.map_err(words)?.and_then(stored))
        })
    }

    /// Returns the entries whose keys begin with `prefix`, by key.
    ///
    /// # Errors
    /// As for [`Server::patiently`].
    pub(crate) fn entries(&self, prefix: &str) -> Result<Vec<Stored>, FleetError> {
        self.ask("read entries", |bucket| async move {
            // An entry that is renewed meanwhile is listed twice.
            let keys: BTreeSet<String> =
                bucket.keys().await.map_err(words)?.try_collect().await.map_err(words)?;
            let keys = keys.into_iter().filter(|key| key.starts_with(prefix));
            let entries = stream::iter(keys).map(|key| bucket.entry(key)).buffered(AT_ONCE);
            let entries: Vec<Option<Entry>> = entries.try_collect().await.map_err(words)?;
            Ok(entries.into_iter().flatten().filter_map(stored).collect())
        })
    }

    /// Withdraws an entry.
    ///
    /// # Errors
    /// As for [`Server::patiently`].
    pub(crate) fn withdraw(&self, key: &str) -> Result<(), FleetError> {
        self.ask(
            "withdraw an entry",
            |bucket| async move { bucket.purge(key).await.map_err(words) },
        )
    }

    /// Asks the bucket until there is an answer. A server that has no bucket yet holds nothing.
    fn ask<T: Default, F: Future<Output = Result<T, String>>>(
        &self,
        doing: &'static str,
        ask: impl Fn(Store) -> F,
    ) -> Result<T, FleetError> {
        self.patiently(doing, || async {
            let answer = async {
                let bucket = self.jetstream.get_key_value(AGENTS).await.map_err(words)?;
                ask(bucket).await
            };
            match tokio::time::timeout(ANSWER, answer).await {
                Ok(Ok(answer)) => Answer::Yes(answer),
                Ok(Err(words)) if words.contains("stream not found") => Answer::Yes(T::default()),
                Ok(Err(words)) => refused_or_silent(&words),
                Err(_) => Answer::Silence,
            }
        })
    }
}

fn words(error: impl std::error::Error) -> String {
    words_of(&error)
}

/// Returns an entry as a message that the server holds, unless it marks one that was withdrawn.
fn stored(entry: Entry) -> Option<Stored> {
    (entry.operation == Operation::Put).then(|| Stored {
        subject: entry.key,
        sequence: entry.revision,
        payload: entry.value,
        stored_s: entry.created.unix_timestamp(),
    })
}

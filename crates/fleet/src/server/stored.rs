//! Messages that the server holds: one, the latest, or all under a subject.

use std::collections::BTreeSet;
use std::time::Duration;

use async_nats::jetstream::ErrorCode;
use async_nats::jetstream::consumer::pull;
use async_nats::jetstream::kv::{Config, Entry, Operation, Store};
use async_nats::jetstream::message::StreamMessage;
use async_nats::jetstream::stream::{LastRawMessageError, LastRawMessageErrorKind, Stream};
use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream};

use crate::error::Result;
use crate::server::{ANSWER, Server, Unanswered};
use crate::subjects::AGENTS;

impl Server {
    /// Returns the first message of a stream from a sequence number on under a subject, which may have wildcards.
    ///
    /// # Errors
    /// As for [`Server::patiently`].
    pub(crate) fn first(&self, stream: &str, subject: &str, from: u64) -> Result<Option<Stored>> {
        self.patiently("look for a message", async || {
            let stream = self.stream(stream).await?;
            message_of(stream.get_first_raw_message_by_subject(subject, from).await)
        })
    }

    /// Returns the latest message under a subject.
    ///
    /// # Errors
    /// As for [`Server::patiently`].
    pub(crate) fn latest(&self, stream: &str, subject: &str) -> Result<Option<Stored>> {
        self.patiently("look for a message", async || {
            message_of(self.stream(stream).await?.get_last_raw_message_by_subject(subject).await)
        })
    }

    /// Returns every message of a stream under a subject, which may have wildcards, in the order in which they were
    /// stored. It takes few requests however many messages there are.
    ///
    /// # Errors
    /// As for [`Server::patiently`].
    pub(crate) fn all(&self, stream: &str, subject: &str) -> Result<Vec<Stored>> {
        self.patiently("read messages", async || {
            let stream = self.stream(stream).await?;
            in_time(read(&stream, subject)).await
        })
    }
}

/// Waits for an answer for as long as one may take; a stream that does not exist holds nothing.
async fn in_time<T: Default>(
    answer: impl Future<Output = Result<T, Unanswered>>,
) -> Result<T, Unanswered> {
    match tokio::time::timeout(ANSWER, answer).await {
        Ok(Err(Unanswered::Refused(why))) if why.contains("stream not found") => Ok(T::default()),
        Ok(answer) => answer,
        Err(_) => Err(Unanswered::Silent),
    }
}

/// Reads every message under a subject, by a consumer that ends with it.
async fn read(stream: &Stream<()>, subject: &str) -> Result<Vec<Stored>, Unanswered> {
    let config = pull::OrderedConfig {
        filter_subject: subject.to_owned(),
        ..pull::OrderedConfig::default()
    };
    let consumer = stream.create_consumer(config).await?;
    let mut all = Vec::new();
    if consumer.cached_info().num_pending == 0 {
        return Ok(all);
    }
    let mut messages = consumer.messages().await?;
    while let Some(message) = messages.next().await {
        let message = message?;
        let info = message.info().map_err(|error| Unanswered::of(&error.to_string()))?;
        let is_last = info.pending == 0;
        all.push(Stored {
            subject: message.subject.to_string(),
            sequence: info.stream_sequence,
            stored_s: info.published.unix_timestamp(),
            payload: message.payload.clone(),
        });
        if is_last {
            break;
        }
    }
    Ok(all)
}

/// A message that the server holds.
#[derive(Debug)]
pub(crate) struct Stored {
    pub(crate) subject: String,
    pub(crate) sequence: u64,
    pub(crate) payload: Bytes,
    /// When the server stored it, in seconds since 1970 by its own clock.
    pub(crate) stored_s: i64,
}

impl Stored {
    fn of(message: StreamMessage) -> Stored {
        Stored {
            subject: message.subject.to_string(),
            sequence: message.sequence,
            payload: message.payload,
            stored_s: message.time.unix_timestamp(),
        }
    }

    /// Returns the last part of its subject.
    pub(crate) fn name(&self) -> &str {
        self.subject.rsplit('.').next().unwrap_or_default()
    }
}

/// Returns a message that was asked for; `None` if there is no such message, or no such stream.
fn message_of(
    answer: Result<StreamMessage, LastRawMessageError>,
) -> Result<Option<Stored>, Unanswered> {
    use LastRawMessageErrorKind::{JetStream, NoMessageFound};
    const MISSING: [ErrorCode; 2] = [ErrorCode::NO_MESSAGE_FOUND, ErrorCode::STREAM_NOT_FOUND];
    match answer.map_err(|error| error.kind()) {
        Ok(message) => Ok(Some(Stored::of(message))),
        Err(NoMessageFound) => Ok(None),
        Err(JetStream(error)) if MISSING.contains(&error.error_code()) => Ok(None),
        Err(JetStream(error)) => Err(Unanswered::of(&error.to_string())),
        Err(_) => Err(Unanswered::Silent),
    }
}

/// How long the server keeps an entry after it was put.
const PRESENT: Duration = Duration::from_secs(30);

/// Entries that are requested at once.
const AT_ONCE: usize = 32;

impl Server {
    /// Makes the bucket, if it is missing.
    pub(super) fn make_presence(&self) -> Result<()> {
        self.patiently("make the bucket of agents", async || {
            if self.jetstream.get_key_value(AGENTS).await.is_err() {
                let bucket = AGENTS.to_owned();
                let config = Config { bucket, max_age: PRESENT, ..Config::default() };
                self.jetstream.create_key_value(config).await?;
            }
            Ok(())
        })
    }

    /// Puts an entry.
    ///
    /// # Errors
    /// As for [`Server::patiently`].
    pub(crate) fn put(&self, key: &str, payload: Vec<u8>) -> Result<()> {
        let payload = Bytes::from(payload);
        self.ask("store an entry", async |bucket| {
            bucket.put(key, payload.clone()).await?;
            Ok(())
        })
    }

    /// Returns the entry of a key, unless it was withdrawn or is too old.
    ///
    /// # Errors
    /// As for [`Server::patiently`].
    pub(crate) fn entry(&self, key: &str) -> Result<Option<Stored>> {
        self.ask("read an entry", async |bucket| Ok(bucket.entry(key).await?.and_then(stored)))
    }

    /// Returns the entries whose keys begin with `prefix`, by key.
    ///
    /// # Errors
    /// As for [`Server::patiently`].
    pub(crate) fn entries(&self, prefix: &str) -> Result<Vec<Stored>> {
        self.ask("read entries", async |bucket| {
            // An entry that is renewed meanwhile is listed twice.
            let keys: BTreeSet<String> = bucket.keys().await?.try_collect().await?;
            let keys = keys.into_iter().filter(|key| key.starts_with(prefix));
            let entries = stream::iter(keys).map(|key| bucket.entry(key)).buffered(AT_ONCE);
            let entries: Vec<Option<Entry>> = entries.try_collect().await?;
            Ok(entries.into_iter().flatten().filter_map(stored).collect())
        })
    }

    /// Withdraws an entry.
    ///
    /// # Errors
    /// As for [`Server::patiently`].
    pub(crate) fn withdraw(&self, key: &str) -> Result<()> {
        self.ask("withdraw an entry", async |bucket| Ok(bucket.purge(key).await?))
    }

    /// Asks the bucket until there is an answer. A server that has no bucket yet holds nothing.
    fn ask<T: Default>(
        &self,
        doing: &'static str,
        ask: impl AsyncFn(&Store) -> Result<T, Unanswered>,
    ) -> Result<T> {
        self.patiently(doing, async || {
            in_time(async { ask(&self.jetstream.get_key_value(AGENTS).await?).await }).await
        })
    }
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

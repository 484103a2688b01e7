//! Messages that the server holds: one, the latest, or all under a subject.

use async_nats::jetstream::ErrorCode;
use async_nats::jetstream::consumer::pull;
use async_nats::jetstream::stream::{LastRawMessageErrorKind, RawMessageErrorKind, Stream};
use bytes::Bytes;
use futures_util::StreamExt;

use super::{ANSWER, Answer, Server, refused_or_silent, words_of};
use crate::error::FleetError;

impl Server {
    /// The first message of a stream from a sequence number on under a subject, which may have wildcards.
    ///
    /// # Errors
    /// As for [`Server::patiently`].
    pub(crate) fn first(
        &self,
        stream: &str,
        subject: &str,
        from: u64,
    ) -> Result<Option<Stored>, FleetError> {
        self.patiently("look for a message", || async {
            let stream = match self.stream(stream).await {
                Ok(stream) => stream,
                Err(_) => return Answer::Silence,
            };
            match stream.get_first_raw_message_by_subject(subject, from).await {
                Ok(message) => Answer::Yes(Some(Stored::of(message))),
                Err(error) => match error.kind() {
                    RawMessageErrorKind::NoMessageFound => Answer::Yes(None),
                    RawMessageErrorKind::JetStream(error) => missing_or_refused(&error),
                    _ => Answer::Silence,
                },
            }
        })
    }

    /// The latest message under a subject.
    ///
    /// # Errors
    /// As for [`Server::patiently`].
    pub(crate) fn latest(&self, stream: &str, subject: &str) -> Result<Option<Stored>, FleetError> {
        self.patiently("look for a message", || async {
            let stream = match self.stream(stream).await {
                Ok(stream) => stream,
                Err(_) => return Answer::Silence,
            };
            match stream.get_last_raw_message_by_subject(subject).await {
                Ok(message) => Answer::Yes(Some(Stored::of(message))),
                Err(error) => match error.kind() {
                    LastRawMessageErrorKind::NoMessageFound => Answer::Yes(None),
                    LastRawMessageErrorKind::JetStream(error) => missing_or_refused(&error),
                    _ => Answer::Silence,
                },
            }
        })
    }

    /// Every message of a stream under a subject, which may have wildcards, in the order in which they were stored.
    ///
    /// # Errors
    /// As for [`Server::patiently`].
    pub(crate) fn all(&self, stream: &str, subject: &str) -> Result<Vec<Stored>, FleetError> {
        let mut all = Vec::new();
        let mut from = 1;
        while let Some(stored) = self.first(stream, subject, from)? {
            from = stored.sequence + 1;
            all.push(stored);
        }
        Ok(all)
    }

    /// As [`Server::all`], by few requests however many messages there are.
    ///
    /// # Errors
    /// As for [`Server::patiently`].
    pub(crate) fn read_all(&self, stream: &str, subject: &str) -> Result<Vec<Stored>, FleetError> {
        self.patiently("read messages", || async {
            let stream = match self.stream(stream).await {
                Ok(stream) => stream,
                Err(_) => return Answer::Silence,
            };
            match tokio::time::timeout(ANSWER, read(&stream, subject)).await {
                Ok(Ok(all)) => Answer::Yes(all),
                Ok(Err(words)) if words.contains("stream not found") => Answer::Yes(Vec::new()),
                Ok(Err(words)) => refused_or_silent(&words),
                Err(_) => Answer::Silence,
            }
        })
    }
}

/// Every message under a subject, by a consumer that ends with it.
async fn read(stream: &Stream<()>, subject: &str) -> Result<Vec<Stored>, String> {
    let config = pull::OrderedConfig {
        filter_subject: subject.to_owned(),
        ..pull::OrderedConfig::default()
    };
    let consumer = stream.create_consumer(config).await;
    let consumer = consumer.map_err(|error| words_of(&error))?;
    let mut all = Vec::new();
    if consumer.cached_info().num_pending == 0 {
        return Ok(all);
    }
    let messages = consumer.messages().await;
    let mut messages = messages.map_err(|error| words_of(&error))?;
    while let Some(message) = messages.next().await {
        let message = message.map_err(|error| words_of(&error))?;
        let info = message.info().map_err(|error| error.to_string())?;
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
    fn of(message: async_nats::jetstream::message::StreamMessage) -> Stored {
        Stored {
            subject: message.subject.to_string(),
            sequence: message.sequence,
            payload: message.payload,
            stored_s: message.time.unix_timestamp(),
        }
    }

    /// The last part of its subject.
    pub(crate) fn name(&self) -> &str {
        self.subject.rsplit('.').next().unwrap_or_default()
    }
}

fn missing_or_refused(error: &async_nats::jetstream::Error) -> Answer<Option<Stored>> {
    match error.error_code() {
        ErrorCode::NO_MESSAGE_FOUND | ErrorCode::STREAM_NOT_FOUND => Answer::Yes(None),
        _ => refused_or_silent(&error.to_string()),
    }
}

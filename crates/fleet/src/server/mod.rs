//! The connection to the server, for code that waits for its answers.
//!
//! The client works on threads of its own, so that it answers the server while trials keep this process waiting. A
//! server that does not answer is waited for: what was stored before comes back with it.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use async_nats::jetstream::stream::{
    Config, DiscardPolicy, LastRawMessageErrorKind, RawMessageErrorKind, RetentionPolicy, Stream,
};
use async_nats::jetstream::{Context, ErrorCode, context::PublishErrorKind};
use async_nats::{Client, ConnectErrorKind};
use bytes::Bytes;
use futures_util::FutureExt;
use tokio::runtime::Runtime;

use crate::address::{Access, Address};
use crate::error::FleetError;
use crate::link::{Links, Waiting};
use crate::subjects::{AGENTS, RUNS, WORK, drain};

/// How long the server may take to let a program in.
const CONNECT: Duration = Duration::from_secs(10);

/// How long one answer may take before it is asked for again.
const ANSWER: Duration = Duration::from_secs(5);

/// The pause before a server that did not answer is asked again.
const PAUSE: Duration = Duration::from_millis(300);

/// How long a stream may be missing while the server starts.
const GONE: Duration = Duration::from_secs(15);

/// How long an agent counts as present after its last sign.
pub(crate) const PRESENT: Duration = Duration::from_secs(30);

/// How long the server recognises a message that is sent again.
const DUPLICATES: Duration = Duration::from_secs(120);

/// A connection to the server.
pub struct Server {
    pub(crate) runtime: Runtime,
    pub(crate) client: Client,
    pub(crate) jetstream: Context,
    address: Address,
    cancelled: Arc<AtomicBool>,
}

/// How a request ended that may be repeated.
pub(crate) enum Answer<T> {
    /// It was answered.
    Yes(T),
    /// It was refused, for good.
    No(String),
    /// There was no answer.
    Silence,
    /// No stream took it: the server is just starting, or the stream is gone.
    Missing,
}

impl Server {
    /// Connects as `name`; `waiting` is called when the connection is lost, when it is there again, and when this user may
    /// not do something. What waits for the server ends once `cancelled`.
    ///
    /// # Errors
    /// When there is no server, it lets nobody in, or has no JetStream.
    pub fn connect(
        address: &Address,
        access: &Access,
        name: &str,
        waiting: Waiting,
        cancelled: Arc<AtomicBool>,
    ) -> Result<Server, FleetError> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .map_err(FleetError::Runtime)?;
        let links = Links::new(waiting);
        let options = access
            .options(address)?
            .name(format!("pragmark {name}"))
            .custom_inbox_prefix(format!("_INBOX_{}", crate::subjects::token(name)))
            .connection_timeout(CONNECT)
            .request_timeout(Some(ANSWER))
            .max_reconnects(None)
            .reconnect_delay_callback(|_| PAUSE)
            .event_callback(move |event| {
                links.event(&event);
                std::future::ready(())
            });
        let connected = runtime.block_on(options.connect(address.to_string()));
        let client = connected.map_err(|error| no_connection(address, &error))?;
        // It starts a task, which needs the runtime.
        let jetstream = runtime.block_on(async { async_nats::jetstream::new(client.clone()) });
        let server = Server {
            runtime,
            client,
            jetstream,
            address: address.clone(),
            cancelled,
        };
        server.check_jetstream()?;
        Ok(server)
    }

    /// The address, without credentials.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Whether it was stopped.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    fn check_jetstream(&self) -> Result<(), FleetError> {
        match self.runtime.block_on(self.jetstream.query_account()) {
            Ok(_) => Ok(()),
            Err(_) => Err(FleetError::NoJetStream(self.address.to_string())),
        }
    }

    /// Makes the streams that all runs share, where they are missing.
    ///
    /// # Errors
    /// When the server refuses, for example for lack of storage.
    pub fn make_streams(&self) -> Result<(), FleetError> {
        for config in [work(), runs(), agents()] {
            self.make_stream(config)?;
        }
        self.make_objects()
    }

    /// Makes the stream of a run's outcomes. Nothing in it can be changed or deleted, but the whole.
    pub(crate) fn make_results(&self, run: &str) -> Result<(), FleetError> {
        self.make_stream(Config {
            name: crate::subjects::results_stream(run),
            subjects: vec![crate::subjects::all_results(run)],
            deny_delete: true,
            deny_purge: true,
            ..once()
        })
    }

    fn make_stream(&self, config: Config) -> Result<(), FleetError> {
        self.patiently("make a stream", || {
            let config = config.clone();
            async {
                match self.jetstream.get_or_create_stream(config).await {
                    Ok(_) => Answer::Yes(()),
                    Err(error) => refused_or_silent(&error.to_string()),
                }
            }
        })
    }

    /// A stream by its name, without asking for it.
    pub(crate) async fn stream(&self, name: &str) -> Result<Stream<()>, String> {
        let stream = self.jetstream.get_stream_no_info(name).await;
        stream.map_err(|error| error.to_string())
    }

    /// Asks until there is an answer.
    ///
    /// # Errors
    /// When the server refuses, or it was cancelled.
    pub(crate) fn patiently<T, F: Future<Output = Answer<T>>>(
        &self,
        doing: &'static str,
        ask: impl Fn() -> F,
    ) -> Result<T, FleetError> {
        let mut missing_since: Option<Instant> = None;
        loop {
            let answer = self.runtime.block_on(ask());
            let since = match answer {
                Answer::Missing => Some(missing_since.unwrap_or_else(Instant::now)),
                _ => None,
            };
            missing_since = since;
            let is_gone = since.is_some_and(|since| since.elapsed() > GONE);
            match answer {
                Answer::Yes(value) => return Ok(value),
                Answer::No(why) => return Err(FleetError::Refused { doing, why }),
                _ if self.is_cancelled() => return Err(FleetError::Cancelled),
                Answer::Missing if is_gone => return Err(FleetError::NoStream { doing }),
                Answer::Missing | Answer::Silence => std::thread::sleep(PAUSE),
            }
        }
    }

    /// Stores a message; false where there is one under its subject already.
    ///
    /// # Errors
    /// As for [`Server::patiently`].
    pub(crate) fn store(
        &self,
        doing: &'static str,
        subject: &str,
        id: Option<&str>,
        payload: &[u8],
    ) -> Result<bool, FleetError> {
        let payload = Bytes::copy_from_slice(payload);
        self.patiently(doing, || {
            let mut message =
                async_nats::jetstream::message::PublishMessage::build().payload(payload.clone());
            if let Some(id) = id {
                message = message.message_id(id);
            }
            self.send(subject, message)
        })
    }

    async fn send(
        &self,
        subject: &str,
        message: async_nats::jetstream::message::PublishMessage,
    ) -> Answer<bool> {
        let sent = self
            .jetstream
            .send_publish(subject.to_owned(), message)
            .await;
        let acknowledged = match sent {
            Ok(sent) => sent.await,
            Err(error) => Err(error),
        };
        match acknowledged {
            Ok(_) => Answer::Yes(true),
            Err(error) if is_taken(&error.to_string()) => Answer::Yes(false),
            Err(error) => match error.kind() {
                PublishErrorKind::MaxPayloadExceeded => Answer::No(error.to_string()),
                PublishErrorKind::StreamNotFound => Answer::Missing,
                PublishErrorKind::Other => refused_or_silent(&words_of(&error)),
                _ => Answer::Silence,
            },
        }
    }

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

    /// Removes what a stream holds under a subject.
    ///
    /// # Errors
    /// As for [`Server::patiently`].
    pub(crate) fn clear(&self, stream: &str, subject: &str) -> Result<(), FleetError> {
        self.patiently("remove messages", || async {
            let stream = match self.stream(stream).await {
                Ok(stream) => stream,
                Err(_) => return Answer::Silence,
            };
            match stream.purge().filter(subject).await {
                Ok(_) => Answer::Yes(()),
                Err(error) => refused_or_silent(&words_of(&error)),
            }
        })
    }

    /// Removes a stream with all that it holds.
    ///
    /// # Errors
    /// As for [`Server::patiently`].
    pub(crate) fn remove_stream(&self, name: &str) -> Result<(), FleetError> {
        self.patiently("remove a stream", || async {
            match self.jetstream.delete_stream(name).await {
                Ok(_) => Answer::Yes(()),
                Err(error) if words_of(&error).contains("not found") => Answer::Yes(()),
                Err(error) => refused_or_silent(&words_of(&error)),
            }
        })
    }

    /// Takes part in what is published under a subject, as long as the server allows it.
    pub(crate) fn listen(&self, subject: String) -> Option<async_nats::Subscriber> {
        self.runtime.block_on(self.client.subscribe(subject)).ok()
    }

    /// Asks an agent to end after the block that it carries out.
    ///
    /// # Errors
    /// When the connection is closed.
    pub fn ask_to_end(&self, agent: &str) -> Result<(), FleetError> {
        let refused = |why: String| FleetError::Refused {
            doing: "pass a message on",
            why,
        };
        self.runtime.block_on(async {
            let sent = self.client.publish(drain(agent), Bytes::new()).await;
            sent.map_err(|error| refused(error.to_string()))?;
            let flushed = self.client.flush().await;
            flushed.map_err(|error| refused(error.to_string()))
        })
    }

    /// Does something in the background, until it ends or the connection is dropped.
    pub(crate) fn spawn(
        &self,
        task: impl Future<Output = ()> + Send + 'static,
    ) -> tokio::task::JoinHandle<()> {
        self.runtime.spawn(task.map(|_| ()))
    }
}

/// A message that the server holds.
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

fn agents() -> Config {
    Config {
        name: AGENTS.to_owned(),
        subjects: vec![
            "pragmark.agents.>".to_owned(),
            "pragmark.progress.>".to_owned(),
        ],
        max_messages_per_subject: 1,
        max_age: PRESENT,
        duplicate_window: PRESENT,
        ..Config::default()
    }
}

fn no_connection(address: &Address, error: &async_nats::ConnectError) -> FleetError {
    let (address, why) = (address.to_string(), words_of(error));
    match error.kind() {
        ConnectErrorKind::Authentication | ConnectErrorKind::AuthorizationViolation => {
            FleetError::Rejected { address, why }
        }
        _ => FleetError::NoServer { address, why },
    }
}

/// What an error and its causes say, each once.
pub(crate) fn words_of(error: &dyn std::error::Error) -> String {
    let mut words = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let more = cause.to_string();
        if !words.contains(&more) {
            words = format!("{words}: {more}");
        }
        source = cause.source();
    }
    words
}

/// Whether the server said that a subject has its message already.
fn is_taken(words: &str) -> bool {
    words.contains("10077") || words.contains("maximum messages per subject exceeded")
}

/// JetStream says why it refuses; no answer at all, or one of a server that is just starting, is asked for again.
pub(crate) fn refused_or_silent<T>(words: &str) -> Answer<T> {
    let silent = [
        "timed out",
        "no responders",
        "broken pipe",
        "didn't receive ack",
        "10008",
        "10039",
    ];
    match silent.iter().any(|it| words.contains(it)) {
        true => Answer::Silence,
        false => Answer::No(words.to_owned()),
    }
}

fn missing_or_refused(error: &async_nats::jetstream::Error) -> Answer<Option<Stored>> {
    match error.error_code() {
        ErrorCode::NO_MESSAGE_FOUND | ErrorCode::STREAM_NOT_FOUND => Answer::Yes(None),
        _ => refused_or_silent(&error.to_string()),
    }
}

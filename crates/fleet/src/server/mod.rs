//! The connection to the server, for code that waits for its answers.
//!
//! The client works on threads of its own, so that it answers the server while trials keep this process waiting. A
//! server that does not answer is waited for: what was stored before comes back with it.

mod entries;
mod stored;
mod streams;

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use async_nats::jetstream::stream::Stream;
use async_nats::jetstream::{Context, context::PublishErrorKind};
use async_nats::{Client, ConnectErrorKind};
use bytes::Bytes;
use futures_util::FutureExt;
use tokio::runtime::Runtime;

pub(crate) use self::stored::Stored;
use crate::address::{Access, Address};
use crate::error::FleetError;
use crate::link::{Links, Waiting};
use crate::subjects::drain;

/// How long the server may take to let a program in.
const CONNECT: Duration = Duration::from_secs(10);

/// How long one answer may take before it is asked for again.
const ANSWER: Duration = Duration::from_secs(5);

/// The pause before a server that did not answer is asked again.
const PAUSE: Duration = Duration::from_millis(300);

/// How long a stream may be missing while the server starts.
const GONE: Duration = Duration::from_secs(15);

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
    /// not do something. Requests that wait for the server end once `cancelled`.
    ///
    /// # Errors
    /// When no server answers, it rejects the credentials, or has no JetStream.
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
        let server = Server { runtime, client, jetstream, address: address.clone(), cancelled };
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

    /// Waits.
    ///
    /// # Errors
    /// When it was cancelled.
    pub(crate) fn pause(&self, pause: Duration) -> Result<(), FleetError> {
        std::thread::sleep(pause);
        if self.is_cancelled() { Err(FleetError::Cancelled) } else { Ok(()) }
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
        let sent = self.jetstream.send_publish(subject.to_owned(), message).await;
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

    /// Takes part in what is published under a subject, as long as the server allows it.
    pub(crate) fn listen(&self, subject: String) -> Option<async_nats::Subscriber> {
        self.runtime.block_on(self.client.subscribe(subject)).ok()
    }

    /// Asks an agent to end after the block that it carries out.
    ///
    /// # Errors
    /// When the connection is closed.
    pub fn ask_to_end(&self, agent: &str) -> Result<(), FleetError> {
        let refused = |why: String| FleetError::Refused { doing: "pass a message on", why };
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

fn no_connection(address: &Address, error: &async_nats::ConnectError) -> FleetError {
    let (address, why) = (address.to_string(), words_of(error));
    match error.kind() {
        ConnectErrorKind::Authentication | ConnectErrorKind::AuthorizationViolation => {
            FleetError::Rejected { address, why }
        }
        _ => FleetError::NoServer { address, why },
    }
}

/// Returns the messages of an error and its causes, each once.
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
    let silent =
        ["timed out", "no responders", "broken pipe", "didn't receive ack", "10008", "10039"];
    if silent.iter().any(|phrase| words.contains(phrase)) {
        Answer::Silence
    } else {
        Answer::No(words.to_owned())
    }
}

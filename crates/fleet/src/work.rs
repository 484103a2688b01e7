//! The blocks that wait for an agent.

use std::time::Duration;

use async_nats::jetstream::consumer::{AckPolicy, pull};
use futures_util::TryStreamExt;

use crate::error::FleetError;
use crate::server::{Answer, Server, refused_or_silent, words_of};
use crate::subjects::{WORK, consumer, group_work, run_work};

/// The waiting work of a group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Queue {
    /// Blocks that no agent has taken.
    pub waiting: u64,
    /// Blocks that agents carry out.
    pub taken: usize,
    /// Blocks among those that were delivered more than once.
    pub redelivered: usize,
}

/// Lets the agents of a group take its blocks. A block is given to another agent when nothing was heard of it for
/// `patience`.
///
/// # Errors
/// When the server refuses.
pub fn register_group(
    server: &Server,
    run: &str,
    group: &str,
    patience: Duration,
) -> Result<(), FleetError> {
    let config = pull::Config {
        durable_name: Some(consumer(run, group)),
        ack_policy: AckPolicy::Explicit,
        ack_wait: patience,
        filter_subject: group_work(run, group),
        ..pull::Config::default()
    };
    server.patiently("prepare the work of a group", || {
        let config = config.clone();
        async {
            let stream = match server.stream(WORK).await {
                Ok(stream) => stream,
                Err(_) => return Answer::Silence,
            };
            match stream.create_consumer(config).await {
                Ok(_) => Answer::Yes(()),
                Err(error) => refused_or_silent(&words_of(&error)),
            }
        }
    })
}

/// Ends what [`register_group`] began for all groups of a run; what has ended already is none the worse.
pub(crate) fn forget_groups(server: &Server, run: &str) -> Result<(), FleetError> {
    let below = run_work(run);
    let below = below.trim_end_matches('>');
    server.patiently("end the work of a run", || async {
        let stream = match server.stream(WORK).await {
            Ok(stream) => stream,
            Err(_) => return Answer::Silence,
        };
        let mut consumers = stream.consumers();
        loop {
            let consumer = match consumers.try_next().await {
                Ok(Some(consumer)) => consumer,
                Ok(None) => return Answer::Yes(()),
                Err(error) => return refused_or_silent(&words_of(&error)),
            };
            if !consumer.config.filter_subject.starts_with(below) {
                continue;
            }
            match stream.delete_consumer(&consumer.name).await {
                Ok(_) => {}
                Err(error) if words_of(&error).contains("not found") => {}
                Err(error) => return refused_or_silent(&words_of(&error)),
            }
        }
    })
}

/// Returns the waiting work of a group, unless its work has ended.
///
/// # Errors
/// When the server refuses.
pub fn queue(server: &Server, run: &str, group: &str) -> Result<Option<Queue>, FleetError> {
    let name = consumer(run, group);
    server.patiently("look at the work of a group", || async {
        let stream = match server.stream(WORK).await {
            Ok(stream) => stream,
            Err(_) => return Answer::Silence,
        };
        match stream.consumer_info(&name).await {
            Ok(info) => Answer::Yes(Some(Queue {
                waiting: info.num_pending,
                taken: info.num_ack_pending,
                redelivered: info.num_redelivered,
            })),
            Err(error) if words_of(&error).contains("not found") => Answer::Yes(None),
            Err(error) => refused_or_silent(&words_of(&error)),
        }
    })
}

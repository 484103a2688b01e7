//! The blocks that wait for an agent.

use std::time::Duration;

use async_nats::jetstream::consumer::{AckPolicy, pull};
use futures_util::TryStreamExt;

use crate::error::Result;
use crate::server::{Server, unless_missing};
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
pub fn register_group(server: &Server, run: &str, group: &str, patience: Duration) -> Result<()> {
    let config = pull::Config {
        durable_name: Some(consumer(run, group)),
        ack_policy: AckPolicy::Explicit,
        ack_wait: patience,
        filter_subject: group_work(run, group),
        ..pull::Config::default()
    };
    server.patiently("prepare the work of a group", async || {
        server.stream(WORK).await?.create_consumer(config.clone()).await?;
        Ok(())
    })
}

/// Ends what [`register_group`] began for all groups of a run. Ending it twice does no harm.
pub(crate) fn forget_groups(server: &Server, run: &str) -> Result<()> {
    let below = run_work(run);
    let below = below.trim_end_matches('>');
    server.patiently("end the work of a run", async || {
        let stream = server.stream(WORK).await?;
        let mut consumers = stream.consumers();
        while let Some(consumer) = consumers.try_next().await? {
            if consumer.config.filter_subject.starts_with(below) {
                unless_missing(stream.delete_consumer(&consumer.name).await)?;
            }
        }
        Ok(())
    })
}

/// Returns the waiting work of a group, unless its work has ended.
///
/// # Errors
/// When the server refuses.
pub fn queue(server: &Server, run: &str, group: &str) -> Result<Option<Queue>> {
    let name = consumer(run, group);
    server.patiently("look at the work of a group", async || {
        let info = unless_missing(server.stream(WORK).await?.consumer_info(&name).await)?;
        Ok(info.map(|info| Queue {
            waiting: info.num_pending,
            taken: info.num_ack_pending,
            redelivered: info.num_redelivered,
        }))
    })
}

//! The server of a fleet: connections to it, and what is asked of it apart from carrying out runs.

use std::sync::Arc;

use fleet::{
    Access, Address, ConnectionEvent, PresentAgent, Queue, RunCard, Server, Unreadable,
    has_coordinator, list, present, progress_of, queue,
};
use lab::fleet::Progress;

use crate::error::{Error, Result};
use crate::interface::Interface;

/// A server, and how to get access to it.
#[derive(Clone, Default)]
pub struct ServerRequest {
    /// The address; none if the folder of the run names it.
    pub address: Option<String>,
    /// The credentials.
    pub access: Access,
}

/// The agents and runs of a fleet.
pub struct Status {
    /// The agents that are present.
    pub agents: Vec<PresentAgent>,
    /// The runs.
    pub runs: Vec<Result<RunStatus, Unreadable>>,
}

/// A run on the server.
pub struct RunStatus {
    /// The run.
    pub card: RunCard,
    /// The progress of its groups; none without a coordinator.
    pub progress: Option<Vec<Progress>>,
    /// The waiting work of each group, in the order of the groups; empty for a run that is not carried out.
    pub queues: Vec<Option<Queue>>,
}

/// Returns the agents and the runs of a fleet.
///
/// # Errors
/// The server cannot be used.
pub fn status(request: &ServerRequest, ui: &dyn Interface) -> Result<Status> {
    let server = connect(request, "status", ui)?;
    server.make_streams()?;
    let agents = present(&server)?;
    let mut runs = Vec::new();
    for card in list(&server)? {
        runs.push(match card {
            Ok(card) => Ok(status_of(&server, card)?),
            Err(unreadable) => Err(unreadable),
        });
    }
    Ok(Status { agents, runs })
}

fn status_of(server: &Server, card: RunCard) -> Result<RunStatus> {
    if card.finished || !card.is_open {
        return Ok(RunStatus { card, progress: None, queues: Vec::new() });
    }
    let progress = progress_of(server, &card.run)?;
    let queues = card.groups.iter().map(|group| queue(server, &card.run, &group.name));
    let queues = queues.collect::<Result<_, _>>()?;
    Ok(RunStatus { card, progress, queues })
}

/// Asks agents to end after their block, all by default. Returns their names.
///
/// # Errors
/// An agent is not present, or the server cannot be used.
pub fn drain(request: &ServerRequest, names: &[String], ui: &dyn Interface) -> Result<Vec<String>> {
    let server = connect(request, "drain", ui)?;
    server.make_streams()?;
    let all: Vec<String> = present(&server)?.into_iter().map(|agent| agent.card.agent).collect();
    if let Some(unknown) = names.iter().find(|name| !all.contains(name)) {
        return Err(Error::mistake(format!("no agent {unknown} is present"))
            .hint(format!("present are: {}", all.join(", "))));
    }
    let meant = if names.is_empty() { all } else { names.to_vec() };
    for name in &meant {
        server.ask_to_end(name)?;
    }
    Ok(meant)
}

/// Removes a run from the server. With `force`, even if another process records it.
///
/// # Errors
/// There is no such run, another process records it, or the server cannot be used.
pub fn purge(request: &ServerRequest, run: &str, force: bool, ui: &dyn Interface) -> Result<()> {
    let server = connect(request, "purge", ui)?;
    server.make_streams()?;
    if !force && has_coordinator(&server, run)? {
        return Err(recorded(run).hint("stop it first, or add --force"));
    }
    if let Some(other) = fleet::purge(&server, run)? {
        tell!(
            ui,
            "warning: the files of {run} stay on the server, because the run {other} cannot be read and may need them"
        );
    }
    Ok(())
}

/// Makes the error of a run that another process records.
pub(super) fn recorded(run: &str) -> Error {
    Error::unusable(format!("another `pragmark run` records what agents measure for {run}"))
}

/// Connects to a server, and says when it does not answer.
pub(crate) fn connect(request: &ServerRequest, name: &str, ui: &dyn Interface) -> Result<Server> {
    let address: Address = request.address.as_deref().unwrap_or_default().parse()?;
    let say = ui.voice();
    let waiting = move |link| match link {
        ConnectionEvent::Back => say("the NATS server answers again"),
        ConnectionEvent::Lost => say("the NATS server does not answer; waiting for it"),
        ConnectionEvent::Refused(words) => say(&format!("warning: the NATS server says: {words}")),
    };
    Ok(Server::connect(&address, &request.access, name, Arc::new(waiting), ui.interrupted()?)?)
}

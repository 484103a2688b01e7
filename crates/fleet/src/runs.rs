//! The runs of a fleet: which agents are to take part in each.

use lab::fleet::{Candidate, Group, Per};
use lab::record::RunPlan;
use serde::{Deserialize, Serialize};

use crate::error::FleetError;
use crate::server::Server;
use crate::subjects::{RUNS, WORK, results_stream, run, run_work};
use crate::wire::{decode, encode};

/// A run as agents see it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunCard {
    /// Its name.
    pub run: String,
    /// The version of pragmark that planned it.
    pub version: String,
    /// What was planned, before any machine was looked at.
    pub plan: RunPlan,
    /// For what each full answer is.
    pub per: Per,
    /// Which agents were chosen; none for all.
    pub on: Option<String>,
    /// The agents that were chosen, with their labels.
    pub agents: Vec<Candidate>,
    /// The groups with their agents.
    pub groups: Vec<Group>,
    /// Seconds after which a block is given to another agent when its own gives no sign.
    pub patience_s: f64,
    /// Seconds for which each agent probes its noise.
    pub probe_s: f64,
    /// Whether it has ended.
    pub finished: bool,
}

impl RunCard {
    /// The group of an agent.
    pub fn group_of(&self, agent: &str) -> Option<&Group> {
        self.groups
            .iter()
            .find(|group| group.agents.contains(agent))
    }
}

/// Publishes a run, or what has changed of it.
///
/// # Errors
/// When the server refuses.
pub fn publish(server: &Server, card: &RunCard) -> Result<(), FleetError> {
    server.make_results(&card.run)?;
    let subject = run(&card.run);
    server.store("store a run", &subject, None, &encode(card)?)?;
    Ok(())
}

/// The runs on the server, the oldest first.
///
/// # Errors
/// When the server refuses, or a run is damaged.
pub fn list(server: &Server) -> Result<Vec<RunCard>, FleetError> {
    let stored = server.all(RUNS, "pragmark.runs.>")?;
    stored
        .iter()
        .map(|it| decode(&it.payload, &format!("the run {}", it.name())))
        .collect()
}

/// A run by its name.
///
/// # Errors
/// When the server refuses, has no such run, or it is damaged.
pub fn find(server: &Server, name: &str) -> Result<RunCard, FleetError> {
    match server.latest(RUNS, &run(name))? {
        Some(stored) => decode(&stored.payload, &format!("the run {name}")),
        None => Err(FleetError::NoRun(name.to_owned())),
    }
}

/// Marks a run as ended, and removes the work that nobody needs any more. Its outcomes stay.
///
/// # Errors
/// When the server refuses.
pub fn finish(server: &Server, card: &RunCard) -> Result<(), FleetError> {
    publish(
        server,
        &RunCard {
            finished: true,
            ..card.clone()
        },
    )?;
    server.clear(WORK, &run_work(&card.run))?;
    for group in &card.groups {
        crate::work::forget_group(server, &card.run, &group.name)?;
    }
    Ok(())
}

/// Removes a run with its outcomes from the server.
///
/// # Errors
/// When the server refuses, or has no such run.
pub fn purge(server: &Server, name: &str) -> Result<(), FleetError> {
    let card = find(server, name)?;
    finish(server, &card)?;
    server.remove_stream(&results_stream(name))?;
    server.clear(RUNS, &run(name))
}

//! The runs of a fleet: which agents are to take part in each.

use std::collections::{BTreeSet, HashSet};

use lab::fleet::{Candidate, Group, Per, Progress};
use lab::record::RunPlan;
use serde::{Deserialize, Serialize};

use crate::error::FleetError;
use crate::objects::Object;
use crate::server::Server;
use crate::subjects::{AGENTS, RUNS, WORK, progress, results_stream, run, run_work};
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
    /// The files that it needs.
    #[serde(default)]
    pub objects: Vec<Object>,
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

/// Says how far a run is. It is forgotten after 30 seconds, so that what was said is of a coordinator that runs.
///
/// # Errors
/// When the server refuses.
pub fn publish_progress(server: &Server, name: &str, all: &[Progress]) -> Result<(), FleetError> {
    server.store("store progress", &progress(name), None, &encode(&all)?)?;
    Ok(())
}

/// How far a run is, by group; none where no coordinator has said so of late.
///
/// # Errors
/// When the server refuses, or it is damaged.
pub fn progress_of(server: &Server, name: &str) -> Result<Option<Vec<Progress>>, FleetError> {
    let stored = server.latest(AGENTS, &progress(name))?;
    let decoded = stored.map(|it| decode(&it.payload, &format!("the progress of {name}")));
    decoded.transpose()
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
    server.clear(RUNS, &run(name))?;
    server.remove_objects(&of_no_run(&card.objects, &list(server)?))
}

/// The hashes of objects that none of the runs needs.
fn of_no_run(objects: &[Object], runs: &[RunCard]) -> Vec<String> {
    let needed: HashSet<&str> = runs
        .iter()
        .flat_map(|card| &card.objects)
        .map(|it| it.sha256.as_str())
        .collect();
    let hashes = objects.iter().map(|it| it.sha256.as_str());
    let unneeded: BTreeSet<&str> = hashes.filter(|it| !needed.contains(it)).collect();
    unneeded.into_iter().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::objects::Content;

    fn object(sha256: &str) -> Object {
        Object {
            name: "x".to_owned(),
            file: "x".to_owned(),
            sha256: sha256.to_owned(),
            bytes: 1,
            content: Content::Data,
            signature: None,
        }
    }

    #[test]
    fn what_another_run_needs_stays() {
        let plan = serde_json::json!({
            "format": 2, "id": "x", "created": "", "pragmark": "", "seed": 1, "scale": "quick",
            "engine": "default", "quick": true, "trial_limit_s": 1.0, "experiments": []
        });
        let other = RunCard {
            run: "other".to_owned(),
            version: String::new(),
            plan: serde_json::from_value(plan).unwrap(),
            per: Per::Any,
            on: None,
            agents: Vec::new(),
            groups: Vec::new(),
            patience_s: 1.0,
            probe_s: 0.0,
            objects: vec![object("b")],
            finished: true,
        };
        let own = ["a", "b", "a"].map(object);
        assert_eq!(of_no_run(&own, &[other]), ["a"]);
    }
}

//! The runs of a fleet: which agents are to take part in each.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::time::Duration;

use lab::fleet::{Candidate, Group, Per, Progress};
use lab::record::{LONGEST_S, RunPlan, is_name};
use serde::{Deserialize, Serialize};

use crate::error::{FleetError, Result};
use crate::members::Members;
use crate::objects::Object;
use crate::server::{Server, Stored};
use crate::subjects::{RUNS, WORK, progress, results_stream, run, run_work};
use crate::wire::{decode, encode};

/// The subjects of all runs.
pub(crate) const ALL: &str = "pragmark.runs.>";

/// How often a coordinator says how far its run is.
pub const SAY: Duration = Duration::from_secs(5);

/// A run as agents see it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunCard {
    /// Its name.
    pub run: String,
    /// The version of pragmark that planned it.
    pub version: String,
    /// The plan, made before any machine was examined.
    pub plan: RunPlan,
    /// For what each full answer is.
    pub per: Per,
    /// Which agents were chosen; `None` for all.
    pub on: Option<String>,
    /// The agents that were chosen, with their labels.
    pub agents: Vec<Candidate>,
    /// The groups with their agents.
    pub groups: Vec<Group>,
    /// The processes of agents whose outcomes count, by the names of the groups.
    #[serde(default)]
    pub members: BTreeMap<String, Members>,
    /// Seconds after which a block is given to another agent when its own gives no sign.
    pub patience_s: f64,
    /// Seconds for which each agent probes its noise.
    pub probe_s: f64,
    /// The share of blocks that a second agent carries out as well, from 0 to 1.
    #[serde(default)]
    pub recheck: f64,
    /// The files that it needs.
    #[serde(default)]
    pub objects: Vec<Object>,
    /// Whether agents can take part: what it needs is on the server.
    #[serde(default = "always")]
    pub is_open: bool,
    /// Whether it has ended.
    pub finished: bool,
}

fn always() -> bool {
    true
}

/// A run that this version of pragmark cannot read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// Its name, as far as it is known.
    pub run: String,
    /// Why it cannot be read.
    pub why: String,
}

/// The fields of a run in every version.
#[derive(Deserialize)]
struct Header {
    version: String,
    #[serde(default)]
    objects: Vec<ObjectHeader>,
}

/// The fields of an object in every version.
#[derive(Deserialize)]
struct ObjectHeader {
    sha256: String,
}

impl RunCard {
    /// Reads a run that is stored under its subject.
    ///
    /// # Errors
    /// It is damaged, of another version, or has names that could lead elsewhere.
    pub(crate) fn read(stored: &Stored) -> Result<RunCard> {
        let what = format!("the run {}", stored.name());
        let card: RunCard = match decode(&stored.payload, &what) {
            Ok(card) => card,
            Err(damage) => return Err(of_another_version(stored, &what).unwrap_or(damage)),
        };
        match card.check_below(&stored.subject) {
            Ok(()) => Ok(card),
            Err(why) => Err(FleetError::damaged(&what, why)),
        }
    }

    /// Checks a run as one that arrives from a server is checked, for one that comes out of a file.
    ///
    /// # Errors
    /// The damage.
    pub fn check(&self) -> Result<(), String> {
        self.check_below(&run(&self.run))
    }

    /// Whether its names can be parts of paths and its times are times: a run that is read may come from anywhere.
    fn check_below(&self, subject: &str) -> Result<(), String> {
        self.plan.check()?;
        if run(&self.run) != subject || self.plan.id != self.run {
            return Err(format!("it calls itself {} and {}", self.run, self.plan.id));
        }
        if let Some(group) = self.groups.iter().find(|group| !is_name(&group.name)) {
            return Err(format!("`{}` is no name of a group", group.name));
        }
        let is_time = |seconds: f64| (0.0..=LONGEST_S).contains(&seconds);
        if !is_time(self.patience_s) || !is_time(self.probe_s) {
            let (patience_s, probe_s) = (self.patience_s, self.probe_s);
            return Err(format!("{patience_s} s or {probe_s} s is no time"));
        }
        self.objects.iter().try_for_each(|object| object.check().map_err(|error| error.to_string()))
    }

    /// Returns the group to which a process of an agent belongs, by its public key.
    pub fn group_of(&self, instance: &str) -> Option<&str> {
        let mut members = self.members.iter();
        let (group, _) = members.find(|(_, members)| members.contains_key(instance))?;
        Some(group)
    }

    /// Returns the processes whose outcomes count in a group.
    pub fn members_of(&self, group: &str) -> Members {
        self.members.get(group).cloned().unwrap_or_default()
    }
}

/// Publishes a run, or what has changed of it.
///
/// # Errors
/// When the server refuses.
pub fn publish(server: &Server, card: &RunCard) -> Result<()> {
    server.make_results(&card.run)?;
    let subject = run(&card.run);
    server.store("store a run", &subject, None, &encode(card)?)?;
    Ok(())
}

fn of_another_version(stored: &Stored, what: &str) -> Option<FleetError> {
    let header: Header = decode(&stored.payload, what).ok()?;
    let why = format!("it is a run of pragmark {}", header.version);
    Some(FleetError::damaged(what, why))
}

/// Returns the runs on the server, the oldest first. One that cannot be read does not hide the others.
///
/// # Errors
/// When the server refuses.
pub fn list(server: &Server) -> Result<Vec<Result<RunCard, Unreadable>>> {
    let stored = server.all(RUNS, ALL)?;
    let read = |stored: &Stored| {
        RunCard::read(stored)
            .map_err(|error| Unreadable { run: stored.name().to_owned(), why: error.to_string() })
    };
    Ok(stored.iter().map(read).collect())
}

/// Returns a run by its name.
///
/// # Errors
/// When the server refuses, has no such run, or it is damaged.
pub fn find(server: &Server, name: &str) -> Result<RunCard> {
    match server.latest(RUNS, &run(name))? {
        Some(stored) => RunCard::read(&stored),
        None => Err(FleetError::NoRun(name.to_owned())),
    }
}

/// Says how far a run is. It is forgotten after 30 seconds, so that what was said is of a coordinator that runs.
///
/// # Errors
/// When the server refuses.
pub fn publish_progress(server: &Server, name: &str, all: &[Progress]) -> Result<()> {
    server.put(&progress(name), encode(&all)?)
}

/// Returns whether somebody records what agents measure for a run. A process that was killed is noticed by its silence,
/// which takes some seconds.
///
/// # Errors
/// When the server refuses, or it was cancelled.
pub fn has_coordinator(server: &Server, name: &str) -> Result<bool> {
    server.is_renewed(SAY + SAY / 2, || {
        Ok(server.entry(&progress(name))?.map(|stored| stored.sequence))
    })
}

/// Takes back what was said of the progress of a run, whose coordinator ends.
///
/// # Errors
/// When the server refuses.
pub fn withdraw_progress(server: &Server, name: &str) -> Result<()> {
    server.withdraw(&progress(name))
}

/// Returns the progress of a run by group; `None` if no coordinator has reported it recently.
///
/// # Errors
/// When the server refuses, or it is damaged.
pub fn progress_of(server: &Server, name: &str) -> Result<Option<Vec<Progress>>> {
    let stored = server.entry(&progress(name))?;
    stored.map(|stored| decode(&stored.payload, &format!("the progress of {name}"))).transpose()
}

/// Marks a run as ended, and removes the work that nobody needs any more. Its outcomes stay.
///
/// # Errors
/// When the server refuses.
pub fn finish(server: &Server, card: &RunCard) -> Result<()> {
    publish(server, &RunCard { finished: true, ..card.clone() })?;
    end_work(server, &card.run)
}

/// Removes the work of a run that waits, and lets nobody wait for more of it.
fn end_work(server: &Server, name: &str) -> Result<()> {
    server.clear(WORK, &run_work(name))?;
    crate::work::forget_groups(server, name)
}

/// Removes a run with its outcomes from the server, and the files that no other run needs; none of them where a run that cannot
/// be read may need them: its name is the answer then. What the run itself says goes last, so that what failed can be done again.
///
/// # Errors
/// When the server refuses, or has no such run.
pub fn purge(server: &Server, name: &str) -> Result<Option<String>> {
    let Some(stored) = server.latest(RUNS, &run(name))? else {
        return Err(FleetError::NoRun(name.to_owned()));
    };
    match RunCard::read(&stored) {
        Ok(card) => finish(server, &card)?,
        Err(_) => end_work(server, name)?,
    }
    server.remove_stream(&results_stream(name))?;
    let all = server.all(RUNS, ALL)?;
    let (own, others): (Vec<&Stored>, Vec<&Stored>) =
        all.iter().partition(|other| other.subject == stored.subject);
    let needed: Result<Vec<Vec<String>>, &Stored> = others.into_iter().map(hashes).collect();
    let unreadable = match needed {
        Ok(needed) => {
            let own = own.into_iter().chain([&stored]).filter_map(|stored| hashes(stored).ok());
            server.remove_objects(&of_no_run(own.flatten(), &needed.concat()))?;
            None
        }
        Err(unreadable) => Some(unreadable.name().to_owned()),
    };
    if let Some(latest) = server.latest(RUNS, &run(name))? {
        server.remove_leftovers(latest.stored_s)?;
    }
    server.clear(RUNS, &run(name))?;
    Ok(unreadable)
}

/// Returns the hashes of the files that a run needs, whatever version planned it.
fn hashes(stored: &Stored) -> Result<Vec<String>, &Stored> {
    let header: Header = decode(&stored.payload, "a run").map_err(|_| stored)?;
    Ok(header.objects.into_iter().map(|object| object.sha256).collect())
}

/// Returns the hashes that no run needs.
fn of_no_run(own: impl Iterator<Item = String>, needed: &[String]) -> Vec<String> {
    let needed: HashSet<&String> = needed.iter().collect();
    let unneeded: BTreeSet<String> = own.filter(|hash| !needed.contains(hash)).collect();
    unneeded.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn card() -> Value {
        let hash = "0a".repeat(32);
        json!({
            "run": "r-1", "version": "1.0.0", "per": "any", "on": null, "agents": [],
            "plan": {
                "format": 2, "id": "r-1", "created": "", "pragmark": "", "seed": 1, "scale": "quick",
                "engine": "default", "quick": true, "trial_limit_s": 1.0, "experiments": []
            },
            "groups": [{ "name": "g", "about": "all", "agents": [] }],
            "patience_s": 60.0, "probe_s": 0.0, "finished": false,
            "objects": [{
                "name": "x", "file": "x.db", "sha256": hash, "bytes": 1, "content": "data", "signature": null
            }]
        })
    }

    fn stored(card: &Value) -> Stored {
        Stored {
            subject: "pragmark.runs.r-1".to_owned(),
            sequence: 1,
            payload: encode(card).unwrap().into(),
            stored_s: 0,
        }
    }

    #[test]
    fn a_run_whose_names_lead_elsewhere_is_not_read() {
        let read = |card: &Value| RunCard::read(&stored(card)).map(|it| it.run);
        assert_eq!(read(&card()).unwrap(), "r-1");
        for (place, text) in [
            ("/run", json!("/home/u")),
            ("/plan/id", json!("../r-1")),
            ("/plan/id", json!("r-2")),
            ("/groups/0/name", json!("../../..")),
            ("/objects/0/sha256", json!("/home/u/.ssh")),
            ("/objects/0/file", json!("../authorized_keys")),
            ("/patience_s", json!(-1.0)),
            ("/probe_s", json!(1e300)),
        ] {
            let mut card = card();
            *card.pointer_mut(place).unwrap() = text.clone();
            let error = read(&card).unwrap_err().to_string();
            assert!(error.contains("the run r-1 is damaged"), "{place}: {error}");
        }
    }

    #[test]
    fn a_run_of_another_version_is_named_with_it_and_its_files_are_known() {
        let mut card = card();
        card["version"] = json!("9.9.9");
        card["plan"] = json!({ "unknown": true });
        let stored = stored(&card);
        let error = RunCard::read(&stored).unwrap_err().to_string();
        assert!(error.contains("pragmark 9.9.9"), "{error}");
        assert_eq!(hashes(&stored).ok().unwrap(), ["0a".repeat(32)]);
    }

    #[test]
    fn what_another_run_needs_stays() {
        let own = ["a", "b", "a"].map(str::to_owned);
        let needed = ["b".to_owned()];
        assert_eq!(of_no_run(own.into_iter(), &needed), ["a"]);
    }
}

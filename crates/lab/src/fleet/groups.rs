//! Groups of machines: the chosen agents share a run by groups, and each group gets a full answer.
//!
//! Progress of a run over a fleet, and agents that delay it.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::labels::Labels;
use crate::environment::{Environment, Volume, VolumeKind};

/// The label by which a user assigns a machine to a class.
pub const CLASS: &str = "class";

/// Scope of a full answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Per {
    /// All machines are alike and share the blocks.
    Any,
    /// Every class of machines gets its own full answer.
    #[default]
    Class,
    /// Every machine does.
    Host,
}

/// A machine that can take part in a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Candidate {
    /// Name of its agent.
    pub agent: String,
    /// Its labels.
    pub labels: Labels,
}

/// Machines that share the blocks of one run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group {
    /// Its name, which can be part of a path.
    pub name: String,
    /// The common property of its machines, for people.
    pub about: String,
    /// Which machines belong to it.
    #[serde(default)]
    pub kind: Kind,
    /// The agents, by name.
    pub agents: BTreeSet<String>,
}

/// Kind of machines that share blocks: figures of different kinds of disks are never averaged.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Kind {
    /// The scope of the full answer.
    about: String,
    /// The kind of disk; empty where each machine answers by itself.
    disk: String,
}

impl Kind {
    /// Returns the kind of a machine.
    pub fn of(candidate: &Candidate, per: Per) -> Kind {
        let disk = || candidate.labels.get("disk").cloned();
        Kind {
            about: about(candidate, per),
            disk: match per {
                Per::Host => String::new(),
                Per::Any | Per::Class => disk().unwrap_or_else(|| Disk::Unknown.to_string()),
            },
        }
    }
}

/// Returns the groups of these machines, by name. Machines that would share blocks but have different kinds of disks are different groups.
pub fn groups(candidates: &[Candidate], per: Per) -> Vec<Group> {
    let mut members: BTreeMap<Kind, BTreeSet<String>> = BTreeMap::new();
    for candidate in candidates {
        members.entry(Kind::of(candidate, per)).or_default().insert(candidate.agent.clone());
    }
    let mut disks: BTreeMap<String, usize> = BTreeMap::new();
    for kind in members.keys() {
        *disks.entry(kind.about.clone()).or_default() += 1;
    }
    let mut names = BTreeSet::new();
    let group = |(kind, agents): (Kind, BTreeSet<String>)| {
        let about = match disks[&kind.about] {
            1 => kind.about.clone(),
            _ => format!("{}, {}", kind.about, kind.disk),
        };
        Group { name: free_name(&about, &mut names), about, kind, agents }
    };
    members.into_iter().map(group).collect()
}

/// Returns the common property of the machines of its group.
fn about(candidate: &Candidate, per: Per) -> String {
    match per {
        Per::Any => "all machines".to_owned(),
        Per::Host => candidate.agent.clone(),
        Per::Class => class(&candidate.labels),
    }
}

/// Returns the class of a machine: its label `class`, otherwise processor, kind of disk and file system.
pub fn class(labels: &Labels) -> String {
    let of = |name: &str| labels.get(name).map_or("unknown", String::as_str);
    match labels.get(CLASS) {
        Some(class) => class.clone(),
        None => format!("{}, {}, {}", of("cpu"), of("disk"), of("fs")),
    }
}

/// Returns the labels that every machine has by itself, for the directory that it measures.
pub fn own_labels(machine: &Environment, volume: Option<&Volume>) -> Labels {
    let unknown = || "unknown".to_owned();
    let mut labels = Labels::new();
    let mut set = |name: &str, value: Option<String>| {
        labels.insert(name.to_owned(), value.unwrap_or_else(unknown));
    };
    set("cpu", machine.cpu.model.clone());
    set("arch", machine.system.architecture.clone());
    set("kernel", machine.system.kernel.clone());
    set("disk", volume.map(|volume| Disk::of(volume).to_string()));
    set("fs", volume.and_then(|volume| volume.file_system.clone()));
    labels
}

/// Kind of storage that a machine measures. Figures of different kinds are never averaged.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
#[derive(strum::Display)]
#[strum(serialize_all = "lowercase")]
pub enum Disk {
    /// It does not say that it rotates.
    #[strum(to_string = "solid-state")]
    Solid,
    /// It says that it rotates.
    Rotating,
    /// A disk of a virtual machine that does not say what is underneath.
    Virtual,
    /// Main memory.
    Memory,
    /// Across a network.
    Network,
    /// Nothing is known.
    #[default]
    Unknown,
}

impl Disk {
    /// Returns the kind of a volume.
    pub fn of(volume: &Volume) -> Disk {
        match (volume.kind, volume.rotational) {
            (VolumeKind::Memory, _) => Disk::Memory,
            (VolumeKind::Network, _) => Disk::Network,
            (_, Some(false)) => Disk::Solid,
            // It says that it rotates where its host says nothing.
            _ if volume.is_virtual => Disk::Virtual,
            (_, Some(true)) => Disk::Rotating,
            (_, None) => Disk::Unknown,
        }
    }
}

/// Returns a name of small letters, digits and hyphens that no other group has.
fn free_name(about: &str, taken: &mut BTreeSet<String>) -> String {
    const LONGEST: usize = 40;
    let plain: String = name_of(about).chars().take(LONGEST).collect();
    let numbered = (2..).map(|number| format!("{plain}-{number}"));
    let name = std::iter::once(plain.clone())
        .chain(numbered)
        .find(|name| !taken.contains(name))
        .unwrap_or(plain);
    taken.insert(name.clone());
    name
}

/// Turns text into a name of small letters, digits and hyphens.
pub fn name_of(text: &str) -> String {
    let plain = |c: char| match c.to_ascii_lowercase() {
        c if c.is_ascii_alphanumeric() => c,
        _ => ' ',
    };
    let words: String = text.chars().map(plain).collect();
    let name = words.split_whitespace().collect::<Vec<_>>().join("-");
    if name.is_empty() { "unnamed".to_owned() } else { name }
}

/// A block on a straggler takes this many times as long as usual.
const STRAGGLES: f64 = 3.0;

/// A shorter block delays no one.
const SHORT_S: f64 = 10.0;

/// Progress of the run of a group.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// The group.
    pub group: String,
    /// Trials that are recorded.
    pub trials: u64,
    /// The fewest trials that its experiments need; there are more where the stopping rule asks for them.
    pub least: u64,
    /// Trials recorded in each second, on average since this coordinator began; none before the first.
    pub per_s: Option<f64>,
}

impl Progress {
    /// Returns the seconds until the fewest trials are recorded; none if the rate is unknown or they are recorded.
    pub fn left_s(&self) -> Option<f64> {
        let left = self.least.checked_sub(self.trials).filter(|left| *left > 0)?;
        let per_s = self.per_s.filter(|per_s| *per_s > 0.0)?;
        Some(left as f64 / per_s)
    }
}

/// Pace of an agent.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pace {
    /// Seconds for which it has carried its block out; none while it has none.
    pub busy_s: Option<f64>,
    /// Seconds that its last block took.
    pub last_s: Option<f64>,
}

/// Returns the indices of agents whose block takes more than three times as long as the last block of the usual agent
/// took. One agent alone is never said to straggle.
pub fn stragglers(agents: &[Pace]) -> Vec<usize> {
    let mut last: Vec<f64> = agents.iter().filter_map(|agent| agent.last_s).collect();
    last.sort_by(f64::total_cmp);
    let Some(usual_s) = last.get(last.len() / 2).filter(|_| agents.len() > 1) else {
        return Vec::new();
    };
    let limit_s = (STRAGGLES * usual_s).max(SHORT_S);
    let straggles = |pace: &Pace| pace.busy_s.is_some_and(|busy_s| busy_s > limit_s);
    agents.iter().enumerate().filter(|(_, it)| straggles(it)).map(|(index, _)| index).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(agent: &str, labels: &[(&str, &str)]) -> Candidate {
        let labels = labels.iter();
        Candidate {
            agent: agent.to_owned(),
            labels: labels.map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect(),
        }
    }

    fn machines() -> [Candidate; 4] {
        [
            candidate("a", &[("cpu", "Xeon"), ("disk", "solid-state"), ("fs", "ext4")]),
            candidate("b", &[("cpu", "Xeon"), ("disk", "rotating"), ("fs", "ext4")]),
            candidate("c", &[("cpu", "Xeon"), ("disk", "solid-state"), ("fs", "ext4")]),
            candidate("d", &[("cpu", "Pi"), ("class", "Edge!")]),
        ]
    }

    #[test]
    fn machines_are_grouped_by_what_the_answer_is_for() {
        let names = |per| -> Vec<(String, usize)> {
            let groups = groups(&machines(), per).into_iter();
            groups.map(|group| (group.name, group.agents.len())).collect()
        };
        let named = |name: &str, agents| (name.to_owned(), agents);
        assert_eq!(
            names(Per::Any),
            [
                named("all-machines-rotating", 1),
                named("all-machines-solid-state", 2),
                named("all-machines-unknown", 1)
            ]
        );
        let alike: Vec<Candidate> = [0, 2].map(|it: usize| machines()[it].clone()).into();
        assert_eq!(groups(&alike, Per::Any)[0].name, "all-machines");
        assert_eq!(
            names(Per::Class),
            [named("edge", 1), named("xeon-rotating-ext4", 1), named("xeon-solid-state-ext4", 2)]
        );
        assert_eq!(names(Per::Host), ["a", "b", "c", "d"].map(|it| named(it, 1)));
    }

    #[test]
    fn a_class_with_two_kinds_of_disks_is_two_groups() {
        let both = ["rotating", "solid-state"].map(|disk| {
            let labels = [("class", "edge"), ("disk", disk)];
            candidate(disk, &labels)
        });
        let all = groups(&both, Per::Class);
        let abouts: Vec<&str> = all.iter().map(|it| it.about.as_str()).collect();
        assert_eq!(abouts, ["edge, rotating", "edge, solid-state"]);
        for (group, machine) in all.iter().zip(&both) {
            assert_eq!(group.kind, Kind::of(machine, Per::Class));
        }
        assert_eq!(groups(&both, Per::Host).len(), 2);
    }

    #[test]
    fn groups_whose_names_would_be_the_same_are_numbered() {
        let both = [candidate("x", &[("class", "A b")]), candidate("y", &[("class", "a_B")])];
        let names: Vec<String> =
            groups(&both, Per::Class).into_iter().map(|group| group.name).collect();
        assert_eq!(names, ["a-b", "a-b-2"]);
        assert_eq!(name_of("…"), "unnamed");
    }

    #[test]
    fn the_time_to_go_follows_from_the_rate() {
        let progress =
            |trials, per_s| Progress { trials, least: 100, per_s, ..Progress::default() };
        assert_eq!(progress(40, Some(2.0)).left_s(), Some(30.0));
        for unknown in [progress(40, None), progress(40, Some(0.0)), progress(100, Some(2.0))] {
            assert_eq!(unknown.left_s(), None);
        }
    }

    #[test]
    fn who_takes_three_times_as_long_as_usual_straggles() {
        let pace = |busy_s, last_s| Pace { busy_s, last_s };
        let usual = pace(Some(5.0), Some(6.0));
        let all = [usual, pace(Some(19.0), Some(6.0)), usual, pace(Some(17.0), None)];
        assert_eq!(stragglers(&all), [1]);
        let short = [pace(Some(9.0), Some(1.0)), pace(None, Some(1.0))];
        assert!(stragglers(&short).is_empty());
        assert!(stragglers(&all[1..2]).is_empty(), "with whom to compare it?");
    }
}

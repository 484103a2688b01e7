//! Differences between the circumstances of two runs, and doubts that weaken their comparison.

use std::collections::BTreeSet;

use serde::Serialize;

use super::digest::{MEMORY, MIB, RunDigest};
use crate::level::Settings;

/// A circumstance that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The circumstance.
    pub what: String,
    /// Its value in the base.
    pub base: String,
    /// Its value in the new run.
    pub new: String,
}

/// A reason to doubt a comparison.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Doubt {
    /// The runs are of different machines or disks.
    OtherMachine,
    /// Of a run only the trials are known.
    TrialsAlone {
        /// The run.
        run: String,
    },
    /// Of a run the settings of its variants, their statements and disturbed blocks are not known.
    TablesAlone {
        /// The run.
        run: String,
    },
    /// A run was stopped before its end.
    Unfinished {
        /// The run.
        run: String,
    },
    /// The A/A check of an experiment saw a difference that is none.
    AaCheck {
        /// The run.
        run: String,
        /// The experiment.
        experiment: String,
    },
    /// An experiment has too few rounds for the exact method.
    Preliminary {
        /// The run.
        run: String,
        /// The experiment.
        experiment: String,
    },
}

/// Facts by which a machine is recognised.
const OF_MACHINE: [&str; 5] = ["CPU", "logical CPUs", MEMORY, "architecture", "disk"];

/// Returns everything that differs, or nothing if only the trials of a run are known.
pub(super) fn differences(base: &RunDigest, new: &RunDigest) -> Vec<Difference> {
    if base.has_facts() && new.has_facts() {
        differences_of(&base.facts(), &new.facts())
    } else {
        Vec::new()
    }
}

/// Stands for a fact that a run does not have.
const UNKNOWN: &str = "–";

impl Difference {
    /// Returns whether both runs have a value.
    fn is_known(&self) -> bool {
        self.base != UNKNOWN && self.new != UNKNOWN
    }

    /// Returns whether it changes by itself: a kernel takes a little more or less of the memory.
    fn is_slight(&self) -> bool {
        const SHARE: f64 = 0.05;
        let amount = |text: &str| text.strip_suffix(MIB)?.parse::<f64>().ok();
        let both = amount(&self.base).zip(amount(&self.new));
        self.what == MEMORY
            && both.is_some_and(|(one, other)| (one - other).abs() <= SHARE * one.max(other))
    }
}

/// Returns the differences between facts that both runs have.
pub(super) fn known_differences(
    one: &[(String, String)],
    other: &[(String, String)],
) -> Vec<Difference> {
    let mut all = differences_of(one, other);
    all.retain(Difference::is_known);
    all
}

/// Returns all differences between facts by name.
fn differences_of(one: &[(String, String)], other: &[(String, String)]) -> Vec<Difference> {
    let names: BTreeSet<&String> = one.iter().chain(other).map(|(name, _)| name).collect();
    let of = |facts: &[(String, String)], name: &String| {
        let value = facts.iter().find(|(it, _)| it == name);
        value.map_or(UNKNOWN.to_owned(), |(_, value)| value.clone())
    };
    let all = names.into_iter().map(|name| Difference {
        what: name.clone(),
        base: of(one, name),
        new: of(other, name),
    });
    all.filter(|difference| difference.base != difference.new && !difference.is_slight()).collect()
}

/// Returns the doubts about a comparison.
pub(super) fn doubts(base: &RunDigest, new: &RunDigest) -> Vec<Doubt> {
    let mut doubts = Vec::new();
    let of_machine = |difference: &Difference| {
        difference.is_known() && OF_MACHINE.iter().any(|name| difference.what.starts_with(name))
    };
    if differences(base, new).iter().any(of_machine) {
        doubts.push(Doubt::OtherMachine);
    }
    for (run, other) in [(base, new), (new, base)] {
        let name = || run.plan.id.clone();
        doubts.extend(match (run.trials_alone, &run.of_tables) {
            (true, None) => Some(Doubt::TrialsAlone { run: name() }),
            (true, Some(_)) => Some(Doubt::TablesAlone { run: name() }),
            (false, _) => None,
        });
        if run.has_facts() && !run.is_complete() {
            doubts.push(Doubt::Unfinished { run: name() });
        }
        let compared = run.experiments.iter();
        for experiment in compared.filter(|experiment| other.counterpart(experiment).is_some()) {
            let key = || experiment.key.clone();
            if experiment.aa_check_alarm() {
                doubts.push(Doubt::AaCheck { run: name(), experiment: key() });
            }
            if experiment.is_preliminary() {
                doubts.push(Doubt::Preliminary { run: name(), experiment: key() });
            }
        }
    }
    doubts
}

/// Returns the settings that differ.
pub(super) fn settings(base: &Settings, new: &Settings) -> Vec<Difference> {
    let [base, new] = [base, new].map(|settings| {
        settings.iter().map(|(name, level)| (name.clone(), level.to_string())).collect::<Vec<_>>()
    });
    differences_of(&base, &new)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    use crate::environment::Volume;

    use crate::analysis::Collector;
    use crate::record::{EnvironmentFile, RunPlan};

    /// A run on a machine with so much memory, in directories on these disks.
    fn run(mib: u64, disks: &[(&str, &str)]) -> RunDigest {
        let mut environment = EnvironmentFile::default();
        environment.machine.memory.total_bytes = Some(mib << 20);
        let volume = |(path, model): &(&str, &str)| Volume {
            path: PathBuf::from(path),
            model: Some((*model).to_owned()),
            ..Volume::default()
        };
        environment.machine.volumes = disks.iter().map(volume).collect();
        RunDigest::from(Collector::new(RunPlan::default(), environment).finish())
    }

    fn is_other_machine(base: &RunDigest, new: &RunDigest) -> bool {
        doubts(base, new).contains(&Doubt::OtherMachine)
    }

    #[test]
    fn a_little_memory_and_a_directory_more_make_no_other_machine() {
        let base = run(16_000, &[("/a", "X")]);
        let updated = run(15_990, &[("/a", "X")]);
        assert!(!is_other_machine(&base, &updated));
        assert!(differences(&base, &updated).is_empty());
        let both = run(16_000, &[("/a", "X"), ("/b", "Y")]);
        let with_c = run(16_000, &[("/a", "X"), ("/c", "Y")]);
        assert!(!is_other_machine(&base, &both));
        assert!(!is_other_machine(&both, &with_c));
        assert!(!differences(&both, &with_c).is_empty());
    }

    #[test]
    fn half_the_memory_and_another_disk_do() {
        let base = run(16_000, &[("/a", "X")]);
        assert!(is_other_machine(&base, &run(8_000, &[("/a", "X")])));
        assert!(is_other_machine(&base, &run(16_000, &[("/a", "Z")])));
    }
}

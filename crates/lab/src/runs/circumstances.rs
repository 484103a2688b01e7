//! What differs between the circumstances of two runs, and what weakens their comparison.

use std::collections::BTreeSet;
use std::fmt::Display;

use serde::Serialize;

use super::{RunDigest, counterpart};
use crate::environment::Volume;
use crate::level::Settings;

/// Something that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// What it is.
    pub what: String,
    /// What it is in the base.
    pub base: String,
    /// What it is in the new run.
    pub new: String,
}

/// What weakens a comparison.
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

/// What a machine is recognised by.
const OF_MACHINE: [&str; 5] = ["CPU", "logical CPUs", MEMORY, "architecture", "disk"];
const MEMORY: &str = "memory";
/// The unit of memory.
const MIB: &str = " MiB";

/// Everything that differs; nothing where of a run only the trials are known.
pub(super) fn differences(base: &RunDigest, new: &RunDigest) -> Vec<Difference> {
    if !(base.has_facts() && new.has_facts()) {
        return Vec::new();
    }
    differences_of(&facts(base), &facts(new))
}

/// What stands for a fact of which a run says nothing.
const UNKNOWN: &str = "–";

impl Difference {
    /// Whether both runs say something of it.
    fn is_known(&self) -> bool {
        self.base != UNKNOWN && self.new != UNKNOWN
    }

    /// Whether nothing differs but what changes by itself: a kernel takes a little more or less of the memory for itself.
    fn is_slight(&self) -> bool {
        const SHARE: f64 = 0.05;
        let amount = |text: &str| text.strip_suffix(MIB)?.parse::<f64>().ok();
        let both = amount(&self.base).zip(amount(&self.new));
        self.what == MEMORY
            && both.is_some_and(|(one, other)| (one - other).abs() <= SHARE * one.max(other))
    }
}

/// What differs between facts that both runs have.
pub(crate) fn known_differences(
    one: &[(String, String)],
    other: &[(String, String)],
) -> Vec<Difference> {
    let mut all = differences_of(one, other);
    all.retain(Difference::is_known);
    all
}

/// Everything that differs between facts by name.
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

/// What is known of machine, engines and plan, by name.
pub(crate) fn facts(run: &RunDigest) -> Vec<(String, String)> {
    if let Some(tables) = &run.of_tables {
        return tables.facts.clone();
    }
    let (machine, plan) = (&run.environment.machine, &run.plan);
    let mut facts = Vec::new();
    let mut add = |name: &str, value: Option<String>| {
        facts.extend(value.map(|value| (name.to_owned(), value)));
    };
    add("operating system", machine.system.operating_system.clone());
    add("kernel", machine.system.kernel.clone());
    add("architecture", machine.system.architecture.clone());
    add("CPU", machine.cpu.model.clone());
    add("logical CPUs", text(machine.cpu.logical_cpus));
    add("usable CPUs", text(machine.cpu.usable_cpus));
    add("governor", machine.cpu.governor.clone());
    add("turbo", text(machine.cpu.turbo));
    add(MEMORY, machine.memory.total_bytes.map(|bytes| format!("{}{MIB}", bytes >> 20)));
    add("version of pragmark", Some(plan.pragmark.clone()));
    add("scale", Some(plan.scale.to_string()));
    add("seed", Some(plan.seed.0.to_string()));
    for volume in &machine.volumes {
        let several = machine.volumes.len() > 1;
        let of = |name: &str| {
            if several { format!("{name} of {}", volume.path.display()) } else { name.to_owned() }
        };
        add(&of("file system"), volume.file_system.clone());
        add(&of("mount options"), volume.mount_options.as_ref().map(|options| options.join(",")));
        add(&of("disk"), disk(volume));
    }
    for engine in &run.environment.engines {
        add(&format!("engine {}", engine.name), Some(engine.version.clone()));
        add(&format!("source of engine {}", engine.name), Some(engine.source_id.clone()));
        let options = engine.compile_options.join(" ");
        add(&format!("compile options of engine {}", engine.name), Some(options));
    }
    add("engine of the run", Some(plan.engine.clone()));
    facts
}

fn text(value: Option<impl Display>) -> Option<String> {
    value.map(|value| value.to_string())
}

fn disk(volume: &Volume) -> Option<String> {
    volume.model.clone().or_else(|| volume.device.clone())
}

/// What weakens the comparison.
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
        for experiment in compared.filter(|experiment| counterpart(experiment, other).is_some()) {
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

/// Settings that differ.
pub(super) fn settings(base: &Settings, new: &Settings) -> Vec<Difference> {
    let names: BTreeSet<&String> = base.keys().chain(new.keys()).collect();
    let of = |settings: &Settings, name: &String| {
        settings.get(name).map_or(UNKNOWN.to_owned(), ToString::to_string)
    };
    let all = names.into_iter().map(|name| Difference {
        what: name.clone(),
        base: of(base, name),
        new: of(new, name),
    });
    all.filter(|difference| difference.base != difference.new).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

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

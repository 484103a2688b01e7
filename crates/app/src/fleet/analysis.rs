//! The analysis of a run over a fleet: of each group, and of the whole.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use fleet::{MachineReport, RunCard};
use lab::analysis::{ExperimentAnalysis, TrialCounts, VariantAnalysis};
use lab::comparison::{
    Attributes, FleetAnalysis, GroupAnswer, Machine, MachineCollector, Ratio, summarise,
};
use lab::fleet::{Disk, Group, Per, class};
use lab::record::{EnvironmentFile, TrialRecord};
use report::document::Document;
use runner::RunFolder;
use serde::de::DeserializeOwned;

use super::carry_out::{MACHINES, RERUNS};
use super::folder::FleetFolder;
use crate::error::{Error, Result};
use crate::files::write_in_run;
use crate::report::{self as of_run, PAGE};

/// A run over a fleet as a whole.
pub struct Whole {
    /// All groups in one document.
    pub document: Document,
    /// The timed trials of all groups.
    pub trials: TrialCounts,
    /// Whether a group has no whole answer.
    pub is_incomplete: bool,
}

/// Analyses each group, writes its page, and then all together.
pub(super) fn analyse(folder: &FleetFolder) -> Result<Whole> {
    let card = &folder.chosen.card;
    let (mut machines, mut answers, mut pages) = (Vec::new(), Vec::new(), Vec::new());
    let mut trials = TrialCounts::default();
    for group in &card.groups {
        if folder.of_group(group).join("run.json").is_file() {
            let mut of_group = group_of(folder, group)?;
            of_group.answer.failed = folder.chosen.failed.get(&group.name).cloned();
            machines.extend(of_group.machines);
            answers.push(of_group.answer);
            let place = format!("groups/{}/{}", group.name, PAGE);
            pages.push((group.name.clone(), place));
            trials.measured += of_group.trials.measured;
            trials.skipped += of_group.trials.skipped;
            trials.failed += of_group.trials.failed;
            trials.timed_out += of_group.trials.timed_out;
        } else if let Some(why) = folder.chosen.failed.get(&group.name) {
            answers.push(GroupAnswer {
                class: class_of(folder, group),
                failed: Some(why.clone()),
                ..GroupAnswer::default()
            });
        }
    }
    let analysis: FleetAnalysis = summarise(&card.plan, machines, &answers);
    Ok(Whole {
        is_incomplete: !analysis.unanswered.is_empty(),
        document: report::fleet(&analysis, &card.run, &pages),
        trials,
    })
}

/// The share of one group in the whole.
struct OfGroup {
    machines: Vec<Machine>,
    answer: GroupAnswer,
    trials: TrialCounts,
}

fn group_of(folder: &FleetFolder, group: &Group) -> Result<OfGroup> {
    let own = folder.of_group(group);
    let analysis = of_run::analyse(&own)?;
    write_in_run(&own.join(PAGE), &of_run::page(&analysis)?)?;
    let run = RunFolder::open(&own)?;
    let mut collector = MachineCollector::new(&analysis.plan);
    run.each_trial(|record| collector.add(&record, false))?;
    let reruns: Vec<TrialRecord> = of_group_file(&own.join(RERUNS))?;
    reruns.iter().for_each(|record| collector.add(record, true));
    let reports: Vec<MachineReport> = of_group_file(&own.join(MACHINES))?;
    let ready = reports.into_iter();
    let reported: HashMap<String, EnvironmentFile> =
        ready.filter_map(|report| Some((report.agent, report.machine.ok()?))).collect();
    let class = class_of(folder, group);
    let machines = collector.finish(|agent| attributes(&class, reported.get(agent)));
    let experiments = analysis.experiments.iter();
    let is_alone = folder.chosen.card.per == Per::Host;
    let answer = GroupAnswer {
        class,
        failed: None,
        claims: experiments.clone().map(|experiment| experiment.claims.clone()).collect(),
        ratios: if is_alone { Vec::new() } else { experiments.map(ratios).collect() },
    };
    Ok(OfGroup { answer, trials: analysis.trials, machines })
}

/// Returns the ratios of the variants of an experiment to its baseline.
fn ratios(experiment: &ExperimentAnalysis) -> Vec<Option<Ratio>> {
    let ratio = |variant: &VariantAnalysis| {
        let estimate = &variant.effect.as_ref()?.estimate;
        Some(Ratio { ratio: estimate.centre, interval: estimate.interval })
    };
    experiment.variants.iter().map(ratio).collect()
}

/// Returns what a file in the folder of a group holds: nothing before the group has ended.
fn of_group_file<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>> {
    if !path.is_file() {
        return Ok(Vec::new());
    }
    let text = fs::read_to_string(path).map_err(|error| Error::reading(path, error))?;
    serde_json::from_str(&text).map_err(|error| Error::reading(path, error))
}

/// Returns the class of a group. For a group of one machine, that is the class of the machine.
fn class_of(folder: &FleetFolder, group: &Group) -> String {
    let RunCard { agents, per, .. } = &folder.chosen.card;
    let mut own = agents.iter().filter(|_| *per == Per::Host);
    let own = own.find(|candidate| group.agents.contains(&candidate.agent));
    own.map_or_else(|| group.about.clone(), |candidate| class(&candidate.labels))
}

fn attributes(class: &str, reported: Option<&EnvironmentFile>) -> Attributes {
    let machine = reported.map(|file| &file.machine);
    let volume = machine.and_then(|machine| machine.volumes.first());
    Attributes {
        class: class.to_owned(),
        disk: volume.map_or(Disk::Unknown, Disk::of),
        fsync_ns: volume.and_then(|volume| volume.fsync_median_ns()),
        cpu: machine.and_then(|machine| machine.cpu.model.clone()),
        file_system: volume.and_then(|volume| volume.file_system.clone()),
        kernel: machine.and_then(|machine| machine.system.kernel.clone()),
    }
}

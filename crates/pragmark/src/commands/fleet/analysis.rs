//! The end of a run over a fleet: the page of each group, and the page of the whole.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use ::fleet::{MachineReport, RunCard};
use lab::analysis::{ExperimentAnalysis, TrialCounts, VariantAnalysis};
use lab::fleet::{
    Attributes, Disk, FleetAnalysis, Group, GroupAnswer, GroupRatio, Machine, MachineCollector,
    Per, class, summarise,
};
use lab::record::EnvironmentFile;
use runner::{End, RunFolder};

use super::carry_out::MACHINES;
use super::folder::{FILE, FleetFolder};
use crate::cli::{ReportArgs, ReportFormat};
use crate::commands::{output, report as of_run};
use crate::failure::{Exit, Failure};
use crate::shell;

/// Whether a folder is that of a run over a fleet.
pub fn is_fleet(folder: &Path) -> bool {
    folder.join(FILE).is_file()
}

/// Prints the report of a run over a fleet in the form asked for.
pub fn report(args: &ReportArgs) -> Result<Exit, Failure> {
    let folder = FleetFolder::open(&args.run)?;
    let whole = analyse(&folder)?;
    let text = match args.format {
        ReportFormat::Terminal => {
            ::report::render::terminal(&whole.document, of_run::terminal_style())
        }
        ReportFormat::Html => html(&whole)?,
        ReportFormat::Markdown => ::report::render::markdown(&whole.document),
    };
    output::write_text(args.out.as_deref(), &text)
}

/// Writes the pages of a run, prints its summary and says how it ended.
pub(super) fn conclude(folder: &FleetFolder, end: End) -> Result<Exit, Failure> {
    let whole = analyse(folder)?;
    let page = folder.path.join(of_run::PAGE);
    output::write_in_run(&page, &html(&whole)?)?;
    let summary = ::report::render::terminal(&whole.document, of_run::terminal_style());
    output::write_text(None, &format!("{summary}\nreport: {}\n", page.display()))?;
    if end == End::Cancelled {
        tell!(
            "stopped; what was measured is kept\nhint: go on with `pragmark run --resume {}`",
            shell::path(&folder.path)
        );
        return Ok(Exit::Interrupted);
    }
    if whole.is_incomplete {
        tell!(
            "not every group has an answer\nhint: go on with `pragmark run --resume {}`, or remove the run from the server with `pragmark fleet purge`",
            shell::path(&folder.path)
        );
        return Ok(Exit::Unusable);
    }
    let trials = whole.trials;
    Ok(match (trials.failed + trials.timed_out, trials.measured) {
        (0, 0) => Exit::Unusable,
        (0, _) => Exit::Success,
        _ => Exit::TrialsFailed,
    })
}

/// What there is to say of a whole run.
struct Whole {
    document: ::report::document::Document,
    /// The timed trials of all groups.
    trials: TrialCounts,
    /// Whether a group has no whole answer.
    is_incomplete: bool,
}

fn html(whole: &Whole) -> Result<String, Failure> {
    ::report::render::html(&whole.document)
        .map_err(|error| Failure::unusable(format!("cannot make the page: {error}")))
}

/// Analyses each group, writes its page, and then all together.
fn analyse(folder: &FleetFolder) -> Result<Whole, Failure> {
    let card = &folder.chosen.card;
    let (mut machines, mut answers, mut pages) = (Vec::new(), Vec::new(), Vec::new());
    let mut trials = TrialCounts::default();
    for group in &card.groups {
        if folder.of_group(group).join("run.json").is_file() {
            let mut of_group = group_of(folder, group)?;
            of_group.answer.failed = folder.chosen.failed.get(&group.name).cloned();
            machines.extend(of_group.machines);
            answers.push(of_group.answer);
            let place = format!("groups/{}/{}", group.name, of_run::PAGE);
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
        document: ::report::fleet(&analysis, &card.run, &pages),
        trials,
    })
}

/// What one group adds to the whole.
struct OfGroup {
    machines: Vec<Machine>,
    answer: GroupAnswer,
    trials: TrialCounts,
}

fn group_of(folder: &FleetFolder, group: &Group) -> Result<OfGroup, Failure> {
    let own = folder.of_group(group);
    let analysis = of_run::analyse(&own)?;
    output::write_in_run(&own.join(of_run::PAGE), &of_run::page(&analysis)?)?;
    let run = RunFolder::open(&own)?;
    let mut collector = MachineCollector::new(&analysis.plan);
    run.each_trial(|record| collector.add(&record))?;
    let reported = reported(&own)?;
    let about = |agent: &str| attributes(folder, group, agent, reported.get(agent));
    let machines = collector.finish(about);
    let experiments = analysis.experiments.iter();
    let is_alone = folder.chosen.card.per == Per::Host;
    let answer = GroupAnswer {
        class: class_of(folder, group),
        failed: None,
        claims: experiments.clone().map(|it| it.claims.clone()).collect(),
        ratios: match is_alone {
            true => Vec::new(),
            false => experiments.map(ratios).collect(),
        },
    };
    Ok(OfGroup { answer, trials: analysis.trials, machines })
}

/// The ratios of the variants of an experiment to its baseline.
fn ratios(experiment: &ExperimentAnalysis) -> Vec<Option<GroupRatio>> {
    let ratio = |variant: &VariantAnalysis| {
        let estimate = &variant.effect.as_ref()?.estimate;
        Some(GroupRatio { ratio: estimate.centre, interval: estimate.interval })
    };
    experiment.variants.iter().map(ratio).collect()
}

/// What the machines of a group said of themselves; none before the group has ended.
fn reported(own: &Path) -> Result<HashMap<String, EnvironmentFile>, Failure> {
    let path = own.join(MACHINES);
    if !path.is_file() {
        return Ok(HashMap::new());
    }
    let unusable = |error: &dyn std::fmt::Display| {
        Failure::unusable(format!("cannot read {}: {error}", path.display()))
    };
    let text = fs::read_to_string(&path).map_err(|error| unusable(&error))?;
    let reports: Vec<MachineReport> =
        serde_json::from_str(&text).map_err(|error| unusable(&error))?;
    let ready = reports.into_iter();
    Ok(ready.filter_map(|it| Some((it.agent, it.machine.ok()?))).collect())
}

/// The class of a group: that of its machine where it is alone.
fn class_of(folder: &FleetFolder, group: &Group) -> String {
    let RunCard { agents, per, .. } = &folder.chosen.card;
    let mut own = agents.iter().filter(|_| *per == Per::Host);
    let own = own.find(|it| group.agents.contains(&it.agent));
    own.map_or_else(|| group.about.clone(), |it| class(&it.labels))
}

fn attributes(
    folder: &FleetFolder,
    group: &Group,
    agent: &str,
    reported: Option<&EnvironmentFile>,
) -> Attributes {
    let agents = &folder.chosen.card.agents;
    let labels = agents.iter().find(|it| it.agent == agent).map(|it| &it.labels);
    let class = match folder.chosen.card.per {
        Per::Host => labels.map_or_else(|| group.about.clone(), class),
        _ => group.about.clone(),
    };
    let machine = reported.map(|it| &it.machine);
    let volume = machine.and_then(|it| it.volumes.first());
    Attributes {
        class,
        disk: volume.map_or(Disk::Unknown, Disk::of),
        fsync_ns: volume.and_then(|it| it.fsync_median_ns()),
        cpu: machine.and_then(|it| it.cpu.model.clone()),
        file_system: volume.and_then(|it| it.file_system.clone()),
        kernel: machine.and_then(|it| it.system.kernel.clone()),
    }
}

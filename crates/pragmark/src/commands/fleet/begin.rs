//! The beginning of a run over a fleet: planned, resumed from its folder, or adopted from the server.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use ::fleet::{
    FleetError, Object, PresentAgent, RunCard, Server, find, has_coordinator, publish,
    register_group,
};
use lab::fleet::{Candidate, Group, Listed, Per, groups};
use lab::plan::plan;
use lab::record::RunPlan;
use runner::RunFolder;

use super::choice::choose;
use super::folder::FleetFolder;
use super::objects::Sent;
use super::{analysis, connect, plural, recorded};
use crate::cli::RunArgs;
use crate::commands::{own_text, run};
use crate::failure::Failure;
use crate::shell;

/// Plans a run, chooses its agents, and publishes it.
pub(super) fn begin(
    args: &RunArgs,
    interrupted: &Arc<AtomicBool>,
) -> Result<(Server, FleetFolder), Failure> {
    let plan = planned(args)?;
    let path = run::folder_of(args.out.as_deref(), &plan);
    RunFolder::check_free(&path)?;
    let server = connected(args, None, &plan.id, interrupted)?;
    server.make_streams()?;
    let options = &args.fleet;
    let agents = choose(&server, options.on.as_ref(), (options.agents, options.wait), interrupted)?;
    let sent = Sent::of_plan(args, &plan, interrupted)?;
    let card = card(args, plan, &agents, sent.objects());
    let folder = match opened(&server, &card, &sent, &path) {
        Ok(folder) => folder,
        Err(failure) => return Err(withdrawn(&server, &card.run, failure)),
    };
    announce(&folder, &agents);
    Ok((server, folder))
}

/// Publishes a run and its files: first that there will be such a run, so that nobody removes its files as those of no run.
fn opened(
    server: &Server,
    card: &RunCard,
    sent: &Sent,
    path: &Path,
) -> Result<FleetFolder, Failure> {
    publish(server, card)?;
    sent.publish(server)?;
    let card = RunCard { is_open: true, ..card.clone() };
    publish_all(server, &card)?;
    FleetFolder::create(path, server.address().to_string(), card)
}

/// The failure to begin a run, of which nothing is left on the server.
fn withdrawn(server: &Server, run: &str, failure: Failure) -> Failure {
    match ::fleet::purge(server, run) {
        Ok(_) | Err(FleetError::NoRun(_)) => failure,
        Err(error) => {
            tell!("warning: {run} is still on the server: {error}");
            failure
        }
    }
}

/// Goes on with the run in a folder, on the server that it names or on the one that is given.
pub(super) fn resume(
    args: &RunArgs,
    path: &Path,
    interrupted: &Arc<AtomicBool>,
) -> Result<(Server, FleetFolder), Failure> {
    let folder = FleetFolder::open(path)?;
    let card = &folder.chosen.card;
    run::check_version(&card.plan)?;
    let server = connected(args, Some(&folder.chosen.server), &card.run, interrupted)?;
    server.make_streams()?;
    publish_all(&server, card)?;
    Ok((server, folder))
}

/// Goes on with a run of which only the server knows.
pub(super) fn adopt(
    args: &RunArgs,
    name: &str,
    interrupted: &Arc<AtomicBool>,
) -> Result<(Server, FleetFolder), Failure> {
    let server = connected(args, None, name, interrupted)?;
    server.make_streams()?;
    let card = find(&server, name)?;
    run::check_version(&card.plan)?;
    if !card.is_open {
        return Err(Failure::unusable(format!(
            "the run {name} has not begun: its files are not all on the server"
        ))
        .hint("pragmark fleet purge removes it"));
    }
    if has_coordinator(&server, name)? {
        return Err(recorded(name).hint("stop it first, or follow it with `pragmark fleet status`"));
    }
    let card = RunCard { finished: false, ..card };
    let path = run::folder_of(args.out.as_deref(), &card.plan);
    if path.exists() && analysis::is_fleet(&path) {
        return Err(Failure::usage(format!(
            "the run {name} has a folder already: {}",
            path.display()
        ))
        .hint(format!("pragmark run --resume {}", shell::path(&path))));
    }
    RunFolder::check_free(&path)?;
    publish_all(&server, &card)?;
    let folder = FleetFolder::create(&path, server.address().to_string(), card)?;
    tell!("record: {}", path.display());
    Ok((server, folder))
}

fn connected(
    args: &RunArgs,
    known: Option<&str>,
    name: &str,
    interrupted: &Arc<AtomicBool>,
) -> Result<Server, Failure> {
    let given = args.fleet.fleet.as_deref();
    let server = given.or(known).unwrap_or_default();
    connect(server, &args.fleet.access, name, interrupted)
}

/// The plan, before any machine is looked at. Each agent measures in its own directory.
fn planned(args: &RunArgs) -> Result<RunPlan, Failure> {
    let catalogue = drivers::catalogue(args.drivers.as_deref())?;
    let is_tour = args.experiments.is_empty() && args.source.is_none();
    let mut experiments = run::chosen(args, None, is_tour, &catalogue)?;
    let scale = run::scale(args, is_tour);
    own_text::apply(args, &mut experiments, scale, &catalogue)?;
    let mut request = run::request(args, is_tour, experiments, scale)?;
    request.directories = vec![PathBuf::from(".")];
    Ok(plan(request, &catalogue))
}

fn card(args: &RunArgs, plan: RunPlan, agents: &[PresentAgent], objects: Vec<Object>) -> RunCard {
    let options = &args.fleet;
    let per = Per::from(options.per);
    let candidates: Vec<Candidate> = agents.iter().map(PresentAgent::candidate).collect();
    RunCard {
        run: plan.id.clone(),
        version: plan.pragmark.clone(),
        per,
        on: options.on.as_ref().map(ToString::to_string),
        groups: groups(&candidates, per),
        agents: candidates,
        patience_s: options.patience,
        probe_s: args.probe,
        objects,
        is_open: false,
        finished: false,
        plan,
    }
}

/// Publishes a run so that its agents take part, and lets them take blocks.
fn publish_all(server: &Server, card: &RunCard) -> Result<(), Failure> {
    publish(server, card)?;
    let patience = Duration::from_secs_f64(card.patience_s);
    for group in &card.groups {
        register_group(server, &card.run, &group.name, patience)?;
    }
    Ok(())
}

fn announce(folder: &FleetFolder, agents: &[PresentAgent]) {
    let card = &folder.chosen.card;
    tell!(
        "pragmark {}: run {} on {} in {}, scale {}, seed {}, {} trials or more in each group",
        card.version,
        card.run,
        plural(agents.len(), "agent"),
        plural(card.groups.len(), "group"),
        card.plan.scale,
        card.plan.seed.0,
        card.plan.fewest_trials()
    );
    for group in &card.groups {
        tell!("  {}: {}", group.about, members(group, agents));
    }
    tell!("record: {}", folder.path.display());
}

/// The agents of a group: by name, the first ones with their labels.
fn members(group: &Group, agents: &[PresentAgent]) -> String {
    const SHOWN: usize = 8;
    let names: Vec<&str> = group.agents.iter().take(SHOWN).map(String::as_str).collect();
    let more = match group.agents.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let first = agents.iter().find(|it| group.agents.contains(&it.card.agent));
    let labels = first.map_or(String::new(), |it| format!(" ({})", Listed(&it.card.labels)));
    format!("{}{more}{labels}", names.join(", "))
}

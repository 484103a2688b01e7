//! The beginning of a run over a fleet: planned, resumed from its folder, or adopted from the server.

use std::path::{Path, PathBuf};
use std::time::Duration;

use fleet::{
    FleetError, Members, Object, PresentAgent, RunCard, Server, find, has_coordinator, publish,
    register_group,
};
use lab::fleet::{Candidate, Group, Listed, groups};
use lab::plan::plan;
use lab::record::RunPlan;
use runner::RunFolder;

use super::FleetRequest;
use super::choice::choose;
use super::folder::FleetFolder;
use super::folder::is_fleet;
use super::objects::Sent;
use super::server::{ServerRequest, connect, recorded};
use crate::error::{Error, Result};
use crate::interface::Interface;
use crate::run::check_version;
use crate::run::plan::{folder_of, request};
use crate::words::{plural, shell_path};

/// Plans a run, chooses its agents, and publishes it.
pub(super) fn begin(request: &FleetRequest, ui: &dyn Interface) -> Result<(Server, FleetFolder)> {
    let plan = planned(request, ui)?;
    let path = folder_of(request.run.out.as_deref(), &plan);
    RunFolder::check_free(&path)?;
    let server = connect(&request.server, &plan.id, ui)?;
    server.make_streams()?;
    let agents = choose(&server, request, ui)?;
    let sent = Sent::of_plan(request, &plan, ui)?;
    let card = card(request, plan, &agents, sent.objects());
    let folder = match opened(&server, &card, &sent, &path, ui) {
        Ok(folder) => folder,
        Err(error) => return Err(withdrawn(&server, &card.run, error, ui)),
    };
    announce(&folder, &agents, ui);
    Ok((server, folder))
}

/// Publishes a run and its files: first that there will be such a run, so that nobody removes its files as those of no run.
fn opened(
    server: &Server,
    card: &RunCard,
    sent: &Sent,
    path: &Path,
    ui: &dyn Interface,
) -> Result<FleetFolder> {
    publish(server, card)?;
    sent.publish(server, ui)?;
    let card = RunCard { is_open: true, ..card.clone() };
    publish_all(server, &card)?;
    FleetFolder::create(path, server.address.to_string(), card)
}

/// Removes a run that could not be begun from the server, and returns the error.
fn withdrawn(server: &Server, run: &str, failure: Error, ui: &dyn Interface) -> Error {
    match fleet::purge(server, run) {
        Ok(_) | Err(FleetError::NoRun(_)) => failure,
        Err(error) => {
            tell!(ui, "warning: {run} is still on the server: {error}");
            failure
        }
    }
}

/// Goes on with the run in a folder, on the given server or the one that the folder names.
pub(super) fn resume(
    path: &Path,
    server: &ServerRequest,
    ui: &dyn Interface,
) -> Result<(Server, FleetFolder)> {
    let mut folder = FleetFolder::open(path)?;
    let card = &mut folder.chosen.card;
    check_version(&card.plan)?;
    let address = server.address.clone().unwrap_or_else(|| folder.chosen.server.clone());
    let server = ServerRequest { address: Some(address), ..server.clone() };
    let server = connect(&server, &card.run, ui)?;
    server.make_streams()?;
    // Agents that came after the folder was written: their outcomes count as before.
    match find(&server, &card.run) {
        Ok(known) => card.members = known.members,
        // A server with other storage knows none.
        Err(FleetError::NoRun(_)) => {}
        Err(error) => return Err(error.into()),
    }
    publish_all(&server, card)?;
    Ok((server, folder))
}

/// Goes on with a run that only the server knows.
pub(super) fn adopt(
    name: &str,
    server: &ServerRequest,
    out: Option<&Path>,
    ui: &dyn Interface,
) -> Result<(Server, FleetFolder)> {
    let server = connect(server, name, ui)?;
    server.make_streams()?;
    let card = find(&server, name)?;
    check_version(&card.plan)?;
    if !card.is_open {
        return Err(Error::unusable(format!(
            "the run {name} has not begun: its files are not all on the server"
        ))
        .hint("pragmark fleet purge removes it"));
    }
    if has_coordinator(&server, name)? {
        return Err(recorded(name).hint("stop it first, or follow it with `pragmark fleet status`"));
    }
    let card = RunCard { finished: false, ..card };
    let path = folder_of(out, &card.plan);
    if path.exists() && is_fleet(&path) {
        let folder = path.display();
        return Err(Error::mistake(format!("the run {name} has a folder already: {folder}"))
            .hint(format!("pragmark run --resume {}", shell_path(&path))));
    }
    RunFolder::check_free(&path)?;
    publish_all(&server, &card)?;
    let folder = FleetFolder::create(&path, server.address.to_string(), card)?;
    tell!(ui, "record: {}", path.display());
    Ok((server, folder))
}

/// Plans the run before any machine is examined. Each agent measures in its own directory.
fn planned(fleet: &FleetRequest, ui: &dyn Interface) -> Result<RunPlan> {
    let catalogue = drivers::catalogue(fleet.run.drivers.as_deref())?;
    let mut request = request(&fleet.run, &catalogue, ui)?;
    request.directories = vec![PathBuf::from(".")];
    Ok(plan(request, &catalogue))
}

fn card(
    request: &FleetRequest,
    plan: RunPlan,
    agents: &[PresentAgent],
    objects: Vec<Object>,
) -> RunCard {
    let candidates: Vec<Candidate> = agents.iter().map(PresentAgent::candidate).collect();
    let groups = groups(&candidates, request.per);
    RunCard {
        run: plan.id.clone(),
        members: groups
            .iter()
            .map(|group| (group.name.clone(), members_of(group, agents)))
            .collect(),
        version: plan.pragmark.clone(),
        per: request.per,
        on: request.on.as_ref().map(ToString::to_string),
        groups,
        agents: candidates,
        patience_s: request.patience_s,
        probe_s: request.run.probe_s,
        recheck: request.recheck,
        objects,
        is_open: false,
        finished: false,
        plan,
    }
}

/// Returns the processes of the agents that a group begins with.
fn members_of(group: &Group, agents: &[PresentAgent]) -> Members {
    let cards = agents.iter().map(|agent| &agent.card);
    let own = cards.filter(|card| group.agents.contains(&card.agent));
    own.map(|card| (card.instance.clone(), card.agent.clone())).collect()
}

/// Publishes a run so that its agents take part, and lets them take blocks.
fn publish_all(server: &Server, card: &RunCard) -> Result<()> {
    publish(server, card)?;
    let patience = Duration::from_secs_f64(card.patience_s);
    for group in &card.groups {
        register_group(server, &card.run, &group.name, patience)?;
    }
    Ok(())
}

fn announce(folder: &FleetFolder, agents: &[PresentAgent], ui: &dyn Interface) {
    let card = &folder.chosen.card;
    tell!(
        ui,
        "pragmark {}: run {} on {} in {}, scale {}, seed {}, {} trials or more in each group",
        card.version,
        card.run,
        plural(agents.len() as u64, "agent", "agents"),
        plural(card.groups.len() as u64, "group", "groups"),
        card.plan.scale,
        card.plan.seed.0,
        card.plan.fewest_trials()
    );
    for group in &card.groups {
        tell!(ui, "  {}: {}", group.about, members(group, agents));
    }
    tell!(ui, "record: {}", folder.path.display());
}

/// Returns the agents of a group by name, the first ones with their labels.
fn members(group: &Group, agents: &[PresentAgent]) -> String {
    const SHOWN: usize = 8;
    let names: Vec<&str> = group.agents.iter().take(SHOWN).map(String::as_str).collect();
    let more = match group.agents.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let first = agents.iter().find(|agent| group.agents.contains(&agent.card.agent));
    let labels = first.map_or(String::new(), |agent| format!(" ({})", Listed(&agent.card.labels)));
    format!("{}{more}{labels}", names.join(", "))
}

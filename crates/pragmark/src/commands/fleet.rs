//! `pragmark fleet`: the agents and runs of a fleet.

use std::fmt::Write;

use app::Result;
use app::agent::AgentRequest;
use app::fleet::server::{self, RunStatus, ServerRequest};
use app::words::{humanly, plural};
use fleet::{Card, PresentAgent};
use lab::fleet::{Listed, Pace, Progress, stragglers};

use crate::exit::Exit;
use crate::output;
use crate::terminal::Terminal;

/// Carries out blocks of runs until stopped.
pub fn agent(request: &AgentRequest) -> Result<Exit> {
    app::agent::agent(request, &Terminal::lines()).map(|()| Exit::Success)
}

/// Asks agents to end after their block.
pub fn drain(server: &ServerRequest, agents: &[String]) -> Result<Exit> {
    let asked = server::drain(server, agents, &Terminal::lines())?;
    tell!("asked to end after their block: {}", asked.join(", "));
    Ok(Exit::Success)
}

/// Removes a run from the server.
pub fn purge(server: &ServerRequest, run: &str, force: bool) -> Result<Exit> {
    server::purge(server, run, force, &Terminal::lines())?;
    tell!("{run} is removed from the server; its folder is as it was");
    Ok(Exit::Success)
}

/// Prints agents and runs.
pub fn status(server: &ServerRequest) -> Result<Exit> {
    let status = server::status(server, &Terminal::lines())?;
    let mut text = agents(&status.agents);
    for status in &status.runs {
        match status {
            Ok(status) => text += &run(status),
            Err(unreadable) => {
                let _ =
                    writeln!(text, "Run {}: cannot be read: {}", unreadable.run, unreadable.why);
            }
        }
    }
    output::display(&text)
}

fn agents(agents: &[PresentAgent]) -> String {
    let mut text = format!("Agents: {}\n", agents.len());
    let paces: Vec<Pace> = agents.iter().map(pace).collect();
    let late = stragglers(&paces);
    for (index, agent) in agents.iter().enumerate() {
        let card = &agent.card;
        let straggles = if late.contains(&index) { ", much longer than usual" } else { "" };
        let _ = writeln!(
            text,
            "  {:<20} {}{straggles}; {}; {}",
            card.agent,
            doing(agent),
            done(agent),
            Listed(&card.labels)
        );
        if agent.unreadable.is_none() {
            let _ = writeln!(text, "  {:<20} {}", "", offers(card));
        }
    }
    text
}

/// Returns what runs can use of an agent.
fn offers(card: &Card) -> String {
    let listed = |names: &[String]| match names {
        [] => "none".to_owned(),
        names => names.join(", "),
    };
    let builds = if card.can_build { ", and builds others" } else { "" };
    format!(
        "engines for {}: {}{builds}; drivers: {}",
        card.target,
        listed(&card.engines),
        listed(&card.drivers)
    )
}

fn pace(agent: &PresentAgent) -> Pace {
    let doing = &agent.card.doing;
    let busy_s = (agent.card.clock_s - doing.since_s).max(0) as f64;
    Pace { busy_s: doing.block.is_some().then_some(busy_s), last_s: doing.last_s }
}

fn doing(agent: &PresentAgent) -> String {
    let doing = &agent.card.doing;
    let seconds = (agent.card.clock_s - doing.since_s).max(0);
    if let Some(why) = &agent.unreadable {
        return format!("takes no part: {}, {why}", agent.card.version);
    }
    let does = match (&doing.block, &doing.trouble) {
        (Some((run, block)), _) => format!("{block} of {run} for {seconds} s"),
        (None, Some(trouble)) => format!("in trouble: {trouble}"),
        (None, None) => "waiting".to_owned(),
    };
    if doing.draining { format!("{does}, ends after its block") } else { does }
}

/// Returns what an agent has done since it began.
fn done(agent: &PresentAgent) -> String {
    let doing = &agent.card.doing;
    let minutes = (agent.card.clock_s - doing.began_s).max(1) as f64 / 60.0;
    format!("{} blocks done, {:.1} a minute", doing.done, doing.done as f64 / minutes)
}

fn run(run: &RunStatus) -> String {
    let RunStatus { card, progress, queues } = run;
    if card.finished {
        return format!("Run {}: ended\n", card.run);
    }
    if !card.is_open {
        return format!("Run {}: its files are on their way\n", card.run);
    }
    let mut text = format!("Run {}\n", card.run);
    if progress.is_none() {
        text.push_str("  no coordinator is present, so nobody records what agents measure; continue with `pragmark run --resume FOLDER`\n");
    }
    for (group, queue) in card.groups.iter().zip(queues) {
        let mut progress = progress.iter().flatten();
        let own = progress.find(|progress| progress.group == group.name);
        let far = own.map_or_else(String::new, |progress| format!("{}; ", far(progress)));
        let waits = match queue {
            Some(queue) => format!(
                "{} blocks wait, {} are carried out, {} of them delivered again",
                queue.waiting, queue.taken, queue.redelivered
            ),
            None => "nothing waits".to_owned(),
        };
        let agents = plural(group.agents.len() as u64, "agent", "agents");
        let _ = writeln!(text, "  {:<20} {agents}; {far}{waits}", group.name);
    }
    text
}

/// Returns how far a group is, how fast, and how long it needs at least.
fn far(progress: &Progress) -> String {
    let recorded = format!("{} trials of {} or more", progress.trials, progress.least);
    let rate = progress.per_s.map(|per_s| format!(", {:.0} a minute", per_s * 60.0));
    let left = progress.left_s().map(|left_s| format!(", {} to go at least", humanly(left_s)));
    [Some(recorded), rate, left].into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_says_rate_and_time_to_go_where_they_are_known() {
        let known = Progress { group: "g".to_owned(), trials: 60, least: 180, per_s: Some(2.0) };
        assert_eq!(
            far(&known),
            "60 trials of 180 or more, 120 a minute, about 60 s to go at least"
        );
        let unknown = Progress { per_s: None, ..known };
        assert_eq!(far(&unknown), "60 trials of 180 or more");
    }
}

//! `pragmark fleet status` and `drain`: who is there, what is done, what waits.

use std::fmt::Write;

use ::fleet::{Card, PresentAgent, RunCard, Server, list, present, progress_of, queue};
use lab::fleet::{Listed, Pace, Progress, stragglers};

use super::plural;
use crate::commands::output;
use crate::failure::{Exit, Failure};
use crate::progress::humanly;

/// Prints agents and runs.
pub(super) fn show(server: &Server) -> Result<Exit, Failure> {
    server.make_streams()?;
    let mut text = agents(&present(server)?);
    for card in list(server)? {
        match card {
            Ok(card) => text.push_str(&run(server, &card)?),
            Err(it) => {
                let _ = writeln!(text, "Run {}: cannot be read: {}", it.run, it.why);
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
        let straggles = match late.contains(&index) {
            true => ", much longer than usual",
            false => "",
        };
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

/// What runs can use of it.
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
    match doing.draining {
        true => format!("{does}, ends after its block"),
        false => does,
    }
}

/// What it has done since it began.
fn done(agent: &PresentAgent) -> String {
    let doing = &agent.card.doing;
    let minutes = (agent.card.clock_s - doing.began_s).max(1) as f64 / 60.0;
    format!("{} blocks done, {:.1} a minute", doing.done, doing.done as f64 / minutes)
}

fn run(server: &Server, card: &RunCard) -> Result<String, Failure> {
    if card.finished {
        return Ok(format!("Run {}: ended\n", card.run));
    }
    if !card.is_open {
        return Ok(format!("Run {}: its files are on their way\n", card.run));
    }
    let mut text = format!("Run {}\n", card.run);
    let progress = progress_of(server, &card.run)?;
    if progress.is_none() {
        text.push_str("  no coordinator is present, so nobody records what agents measure; go on with `pragmark run --resume FOLDER`\n");
    }
    for group in &card.groups {
        let progress = progress.iter().flatten();
        let far = progress
            .into_iter()
            .find(|it| it.group == group.name)
            .map(|it| format!("{}; ", far(it)));
        let waits = match queue(server, &card.run, &group.name)? {
            Some(queue) => format!(
                "{} blocks wait, {} are carried out, {} of them delivered again",
                queue.waiting, queue.taken, queue.redelivered
            ),
            None => "nothing waits".to_owned(),
        };
        let _ = writeln!(
            text,
            "  {:<20} {}; {}{waits}",
            group.name,
            plural(group.agents.len(), "agent"),
            far.unwrap_or_default()
        );
    }
    Ok(text)
}

/// How far a group is, how fast, and how long it needs at least.
fn far(progress: &Progress) -> String {
    let recorded = format!("{} trials of {} or more", progress.trials, progress.least);
    let rate = progress.per_s.map(|per_s| format!(", {:.0} a minute", per_s * 60.0));
    let left = progress.left_s().map(|left_s| format!(", {} to go at least", humanly(left_s)));
    [Some(recorded), rate, left].into_iter().flatten().collect()
}

/// Asks agents to end after their block.
pub(super) fn drain(server: &Server, names: &[String]) -> Result<Exit, Failure> {
    server.make_streams()?;
    let all: Vec<String> = present(server)?.into_iter().map(|it| it.card.agent).collect();
    if let Some(unknown) = names.iter().find(|name| !all.contains(name)) {
        return Err(Failure::usage(format!("no agent {unknown} is present"))
            .hint(format!("present are: {}", all.join(", "))));
    }
    let meant = if names.is_empty() { &all } else { names };
    for name in meant {
        server.ask_to_end(name)?;
    }
    tell!("asked to end after their block: {}", meant.join(", "));
    Ok(Exit::Success)
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

//! `pragmark fleet status` and `drain`: who is there, what is done, what waits.

use std::fmt::Write;

use ::fleet::{Present, RunCard, Server, list, present, queue};
use lab::fleet::Listed;

use crate::commands::output;
use crate::failure::{Exit, Failure};

/// Prints agents and runs.
pub(super) fn show(server: &Server) -> Result<Exit, Failure> {
    server.make_streams()?;
    let mut text = agents(&present(server)?);
    for card in list(server)? {
        text.push_str(&run(server, &card)?);
    }
    output::display(&text)
}

fn agents(agents: &[Present]) -> String {
    let mut text = format!("Agents: {}\n", agents.len());
    for agent in agents {
        let card = &agent.card;
        let _ = writeln!(
            text,
            "  {:<20} {}; {} blocks done; {}",
            card.agent,
            doing(agent),
            card.doing.done,
            Listed(&card.labels)
        );
    }
    text
}

fn doing(agent: &Present) -> String {
    let doing = &agent.card.doing;
    let seconds = (agent.card.clock_s - doing.since_s).max(0);
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

fn run(server: &Server, card: &RunCard) -> Result<String, Failure> {
    if card.finished {
        return Ok(format!("Run {}: ended\n", card.run));
    }
    let mut text = format!("Run {}\n", card.run);
    for group in &card.groups {
        let waits = match queue(server, &card.run, &group.name)? {
            Some(queue) => format!(
                "{} blocks wait, {} are carried out, {} of them delivered again",
                queue.waiting, queue.taken, queue.redelivered
            ),
            None => "nothing waits".to_owned(),
        };
        let _ = writeln!(
            text,
            "  {:<20} {} agents; {waits}",
            group.name,
            group.agents.len()
        );
    }
    Ok(text)
}

/// Asks agents to end after their block.
pub(super) fn drain(server: &Server, names: &[String]) -> Result<Exit, Failure> {
    server.make_streams()?;
    let all: Vec<String> = present(server)?
        .into_iter()
        .map(|it| it.card.agent)
        .collect();
    if let Some(unknown) = names.iter().find(|name| !all.contains(name)) {
        return Err(Failure::usage(format!("no agent {unknown} is present"))
            .hint(format!("present are: {}", all.join(", "))));
    }
    let meant = if names.is_empty() { &all } else { names };
    for name in meant {
        server.ask_to_end(name)?;
    }
    tell!("{} agents end after their block", meant.len());
    Ok(Exit::Success)
}

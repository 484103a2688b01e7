//! Which agents take part in a run.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use fleet::{PresentAgent, Server, present};
use lab::fleet::{Expression, Listed};

use super::FleetRequest;
use crate::VERSION;
use crate::error::{Error, Result};
use crate::interface::Interface;

/// How long to wait for more agents once there are enough: they start at about the same time.
const SETTLE: Duration = Duration::from_secs(3);

/// The largest difference of clocks, in seconds.
const CLOCK_S: i64 = 300;

/// Waits until enough agents can take part, and returns them.
pub(super) fn choose(
    server: &Server,
    request: &FleetRequest,
    ui: &dyn Interface,
) -> Result<Vec<PresentAgent>> {
    let (on, least) = (request.on.as_ref(), request.agents);
    let (began, interrupted) = (Instant::now(), ui.interrupted()?);
    let mut enough_since = None;
    let mut said = false;
    loop {
        let all = present(server)?;
        let chosen: Vec<PresentAgent> = usable(&all, on).collect();
        let is_enough = chosen.len() >= least.max(1);
        let since = *enough_since.get_or_insert_with(Instant::now);
        if !is_enough {
            enough_since = None;
        } else if since.elapsed() >= SETTLE {
            for agent in &all {
                if let Some(why) = why_not(agent) {
                    tell!(ui, "warning: {} takes no part: {why}", agent.card.agent);
                }
            }
            return Ok(chosen);
        }
        if interrupted.load(Ordering::Relaxed) {
            return Err(Error::interrupted("stopped while waiting for agents"));
        }
        if began.elapsed().as_secs_f64() > request.wait_s {
            return Err(too_few(&all, on, least));
        }
        if !is_enough && !said && began.elapsed() > SETTLE {
            said = true;
            tell!(ui, "waiting for agents: {} of {least} can take part", chosen.len());
        }
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// Returns the agents that can take part.
pub(super) fn usable<'a>(
    all: &'a [PresentAgent],
    on: Option<&'a Expression>,
) -> impl Iterator<Item = PresentAgent> + 'a {
    let can = |agent: &&PresentAgent| why_not(agent).is_none();
    let meant = move |agent: &&PresentAgent| on.is_none_or(|on| on.holds(&agent.card.labels));
    all.iter().filter(can).filter(meant).cloned()
}

/// Returns why an agent cannot take part in a run of this version.
pub(super) fn why_not(agent: &PresentAgent) -> Option<String> {
    let card = &agent.card;
    if card.version != VERSION {
        return Some(format!("it is pragmark {}, and this is {VERSION}", card.version));
    }
    if let Some(why) = &agent.unreadable {
        return Some(why.clone());
    }
    if card.doing.draining {
        return Some("it ends after its block".to_owned());
    }
    let ahead_s = agent.clock_ahead_s;
    (ahead_s.abs() > CLOCK_S).then(|| {
        let direction = if ahead_s > 0 { "ahead of" } else { "behind" };
        let minutes = ahead_s.abs() / 60;
        format!("its clock is {minutes} min {direction} the server's")
    })
}

fn too_few(all: &[PresentAgent], on: Option<&Expression>, least: usize) -> Error {
    if all.is_empty() {
        return Error::unusable("the fleet has no agents")
            .hint("start one on each machine: pragmark fleet agent SERVER --dir DIR");
    }
    let matching = usable(all, on).count();
    let reasons =
        all.iter().filter_map(|agent| Some(format!("  {}: {}", agent.card.agent, why_not(agent)?)));
    let reasons: Vec<String> = reasons.collect();
    let labels: BTreeSet<String> = all
        .iter()
        .map(|agent| format!("  {}: {}", agent.card.agent, Listed(&agent.card.labels)))
        .collect();
    let labels: Vec<String> = labels.into_iter().collect();
    let unusable = if reasons.is_empty() {
        String::new()
    } else {
        format!("\nagents that take no part:\n{}", reasons.join("\n"))
    };
    Error::unusable(format!(
        "{matching} of the {} agents can take part and match --on, and {} are needed{unusable}",
        all.len(),
        least.max(1)
    ))
    .hint(format!("the agents have these labels:\n{}", labels.join("\n")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use fleet::{Activity, Card};

    fn agent(name: &str, version: &str, clock_ahead_s: i64) -> PresentAgent {
        let labels = [("disk".to_owned(), "nvme".to_owned())];
        PresentAgent {
            card: Card {
                agent: name.to_owned(),
                instance: String::new(),
                version: version.to_owned(),
                labels: labels.into(),
                machine: Default::default(),
                engines: Vec::new(),
                can_build: false,
                target: String::new(),
                drivers: Vec::new(),
                doing: Activity::default(),
                clock_s: 0,
            },
            clock_ahead_s,
            unreadable: None,
        }
    }

    #[test]
    fn agents_of_another_version_or_with_a_wrong_clock_take_no_part() {
        let all = [agent("a", VERSION, 4), agent("b", "9.9.9", 0), agent("c", VERSION, -7200)];
        let names: Vec<String> = usable(&all, None).map(|agent| agent.card.agent).collect();
        assert_eq!(names, ["a"]);
        let failure = too_few(&all[1..], None, 1).words();
        assert!(failure.contains("9.9.9") && failure.contains(VERSION), "{failure}");
        assert!(failure.contains("120 min behind"), "{failure}");
    }

    #[test]
    fn an_expression_that_matches_nobody_is_answered_with_the_labels() {
        let all = [agent("a", VERSION, 0)];
        let on: Expression = "disk=hdd".parse().unwrap();
        let failure = too_few(&all, Some(&on), 1).words();
        assert!(failure.contains("0 of the 1 agents"), "{failure}");
        assert!(failure.contains("disk=nvme"), "{failure}");
    }
}

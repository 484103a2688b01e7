//! Agents, coordinator and server are killed at random, and nothing is lost or counted twice.
//!
//! `PRAGMARK_CHAOS_BLOCKS=1000` asks for a long run by hand, in which each agent is killed at least ten times and server
//! and coordinator five times.

use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::world::{Running, World, each_once, essence, words, world};

/// Blocks of the run; with more, more is killed.
fn blocks() -> u32 {
    let given = std::env::var("PRAGMARK_CHAOS_BLOCKS");
    given.ok().and_then(|text| text.parse().ok()).unwrap_or(60)
}

/// What is to be killed how often.
struct Kills {
    agents: [u32; 3],
    server: u32,
    coordinator: u32,
}

#[test]
fn kills_of_agents_coordinator_and_server_lose_nothing_and_repeat_nothing() {
    let Some(mut world) = world() else { return };
    let blocks = blocks();
    world.experiment(blocks, 15);
    world.start_server();
    let folder = "fleet/groups/all-machines";
    let mut kills = match blocks {
        1_000.. => Kills {
            agents: [10; 3],
            server: 5,
            coordinator: 5,
        },
        _ => Kills {
            agents: [1; 3],
            server: 1,
            coordinator: 1,
        },
    };
    let names = ["a", "b", "c"];
    let mut agents: Vec<Running> = names.iter().map(|name| world.agent(name, &[])).collect();
    let address = world.address();
    let more = ["--per", "any", "--agents", "3", "--out", "fleet"];
    let mut coordinator = world.start("run.log", &world.run_arguments(&address, &more));
    world.until("the run begins", || !world.trials(folder).is_empty());
    let total: u32 = kills.agents.iter().sum::<u32>() + kills.server + kills.coordinator;
    for step in 0..total {
        let wanted = (u64::from(blocks) * 3 * u64::from(step + 1) / u64::from(total + 2)) as usize;
        wait_for_trials(&mut world, folder, wanted, &mut coordinator);
        let victim = next_victim(step, &mut kills);
        match victim {
            3 => {
                world.kill_server();
                std::thread::sleep(Duration::from_millis(300));
                world.start_server();
            }
            4 => {
                coordinator.kill();
                coordinator = world.start("run.log", &["run", "--resume", "fleet"]);
            }
            agent => {
                let again = world.agent(names[agent], &[]);
                std::mem::replace(&mut agents[agent], again).kill();
            }
        }
    }
    let code = coordinator.exit_code();
    assert_eq!(code, 0, "{}", world.log("run.log"));
    let all = 3 * blocks as usize;
    let fleet = each_once(&world.trials(folder), all);
    world.experiment(blocks, 0);
    world.run_locally();
    let local = each_once(&world.trials("local"), all);
    assert_eq!(
        fleet, local,
        "in the order of the design, with the same figures"
    );
}

/// The next thing to kill, in turn: an agent by its index, 3 for the server, 4 for the coordinator.
fn next_victim(step: u32, kills: &mut Kills) -> usize {
    let mut left = [
        kills.agents[0],
        kills.agents[1],
        kills.agents[2],
        kills.server,
        kills.coordinator,
    ];
    let first = (step as usize * 2) % left.len();
    let order = (0..left.len()).map(|it| (first + it) % left.len());
    let victim = order.into_iter().find(|it| left[*it] > 0).unwrap();
    left[victim] -= 1;
    kills.agents.copy_from_slice(&left[..3]);
    (kills.server, kills.coordinator) = (left[3], left[4]);
    victim
}

fn wait_for_trials(world: &mut World, folder: &str, wanted: usize, coordinator: &mut Running) {
    let begin = Instant::now();
    while world.trials(folder).len() < wanted {
        assert!(
            begin.elapsed() < Duration::from_secs(120),
            "{}",
            world.log("run.log")
        );
        assert!(
            coordinator.runs() || world.trials(folder).len() >= wanted,
            "{}",
            world.log("run.log")
        );
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_run_of_which_only_the_server_knows_is_adopted() {
    let Some(mut world) = world() else { return };
    world.experiment(12, 20);
    world.start_server();
    let _agent = world.agent("a", &[]);
    let address = world.address();
    let more = ["--per", "any", "--out", "fleet"];
    let mut coordinator = world.start("run.log", &world.run_arguments(&address, &more));
    let folder = "fleet/groups/all-machines";
    world.until("some trials", || world.trials(folder).len() >= 9);
    coordinator.kill();
    let before: Vec<String> = world.trials(folder).iter().map(essence).collect();
    let text = std::fs::read_to_string(world.path().join("fleet/fleet.json")).unwrap();
    let chosen: serde_json::Value = serde_json::from_str(&text).unwrap();
    let run = chosen["card"]["run"].as_str().unwrap();
    let adopt = [
        "run", "--fleet", &address, "--adopt", run, "--out", "adopted",
    ];
    let ended = world.pragmark(&adopt);
    assert_eq!(ended.status.code(), Some(0), "{}", words(&ended));
    let after = world.trials("adopted/groups/all-machines");
    let after = each_once(&after, 36);
    assert_eq!(
        after[..before.len()],
        before,
        "what was measured before is kept"
    );
}

#[test]
fn an_agent_that_comes_back_late_is_recognised_and_its_block_counted_once() {
    let Some(mut world) = world() else { return };
    world.experiment(6, 100);
    world.start_server();
    let address = world.address();
    let slow = world.agent("slow", &[]);
    let more = ["--per", "any", "--out", "fleet", "--patience", "1s"];
    let mut coordinator = world.start("run.log", &world.run_arguments(&address, &more));
    let folder = "fleet/groups/all-machines";
    world.until("the slow agent works", || !world.trials(folder).is_empty());
    slow.signal(Signal::STOP);
    let _quick = world.agent("quick", &[]);
    world.until("the quick agent joins", || {
        world.log("quick.log").contains("rounds-waits")
    });
    world.until("the rest", || world.trials(folder).len() >= 15);
    slow.signal(Signal::CONT);
    assert_eq!(coordinator.exit_code(), 0, "{}", world.log("run.log"));
    each_once(&world.trials(folder), 18);
}

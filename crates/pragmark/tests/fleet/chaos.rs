//! Agents, coordinator and server are killed at random over a bad network, and nothing is lost or counted twice.
//!
//! `PRAGMARK_CHAOS_BLOCKS=1000` asks for a long run by hand, in which each agent is killed at least ten times and server
//! and coordinator five times.

use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::weather::Weather;
use crate::world::{Running, World, each_once, essence, estimates, words, world};

/// The folder of the only group.
const FOLDER: &str = "fleet/groups/all-machines";

/// The agents.
const NAMES: [&str; 3] = ["a", "b", "c"];

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

impl Kills {
    /// For a run of so many blocks.
    fn during(blocks: u32) -> Kills {
        let (agents, others) = if blocks < 1_000 { (1, 1) } else { (10, 5) };
        Kills { agents: [agents; 3], server: others, coordinator: others }
    }

    fn total(&self) -> u32 {
        self.agents.iter().sum::<u32>() + self.server + self.coordinator
    }
}

/// The processes of a run.
struct Processes {
    agents: Vec<Running>,
    coordinator: Running,
}

#[test]
fn kills_and_a_bad_network_lose_nothing_and_repeat_nothing() {
    let Some(world) = world() else { return };
    let weather = Weather::before(world.port);
    let mut world = world.reached_through(weather.port);
    let blocks = blocks();
    world.experiment(blocks, 15);
    world.start_server();
    let began = Instant::now();
    let mut processes = begin(&world);
    kill_in_turn(&mut world, &mut processes, blocks);
    let code = processes.coordinator.exit_code();
    assert_eq!(code, 0, "{}", world.log("run.log"));
    let said = world.log("run.log");
    assert!(said.contains("does not answer; waiting for it"), "{said}");
    let (twice, late) = weather.seen();
    println!(
        "{blocks} blocks in {:.0} s; {twice} messages came twice, {late} were late",
        began.elapsed().as_secs_f64()
    );
    assert!(twice >= 10 && late >= 3, "{twice} twice, {late} late");
    drop(processes);
    is_as_if_one_machine_had_measured(&world, blocks);
}

fn begin(world: &World) -> Processes {
    let agents = NAMES.iter().map(|name| world.agent(name, &[])).collect();
    let address = world.address();
    let more = ["--per", "any", "--agents", "3", "--out", "fleet", "--recheck", "20"];
    let coordinator = world.start("run.log", &world.run_arguments(&address, &more));
    world.until("the run begins", || !world.trials(FOLDER).is_empty());
    Processes { agents, coordinator }
}

/// Kills one after the other at equal distances of the run, and starts each again.
fn kill_in_turn(world: &mut World, processes: &mut Processes, blocks: u32) {
    let mut kills = Kills::during(blocks);
    let total = kills.total();
    for step in 0..total {
        let wanted = (u64::from(blocks) * 3 * u64::from(step + 1) / u64::from(total + 2)) as usize;
        wait_for_trials(world, wanted, &mut processes.coordinator);
        match next_victim(step, &mut kills) {
            3 => {
                world.kill_server();
                std::thread::sleep(Duration::from_millis(300));
                world.start_server();
            }
            4 => {
                processes.coordinator.kill();
                processes.coordinator = world.start("run.log", &["run", "--resume", "fleet"]);
            }
            agent => {
                processes.agents[agent].kill();
                processes.agents[agent] = world.agent(NAMES[agent], &[]);
            }
        }
    }
}

/// Every trial is there once, in the order of the design, and the estimates are those of a local run, to the byte.
fn is_as_if_one_machine_had_measured(world: &World, blocks: u32) {
    let all = 3 * blocks as usize;
    let fleet = each_once(&world.trials(FOLDER), all);
    let reruns = world.log(&format!("{FOLDER}/reruns.json"));
    let reruns: Vec<serde_json::Value> = serde_json::from_str(&reruns).unwrap();
    each_once(&reruns, 3);
    world.experiment(blocks, 0);
    world.run_locally();
    let local = each_once(&world.trials("local"), all);
    assert!(fleet == local, "other trials, or other figures");
    for folder in [FOLDER, "local"] {
        world.keep_undisturbed(folder, all);
    }
    assert_eq!(estimates(world, FOLDER), estimates(world, "local"));
}

/// The next thing to kill, in turn: an agent by its index, 3 for the server, 4 for the coordinator.
fn next_victim(step: u32, kills: &mut Kills) -> usize {
    let mut left =
        [kills.agents[0], kills.agents[1], kills.agents[2], kills.server, kills.coordinator];
    let first = (step as usize * 2) % left.len();
    let order = (0..left.len()).map(|it| (first + it) % left.len());
    let victim = order.into_iter().find(|it| left[*it] > 0).unwrap();
    left[victim] -= 1;
    kills.agents.copy_from_slice(&left[..3]);
    (kills.server, kills.coordinator) = (left[3], left[4]);
    victim
}

fn wait_for_trials(world: &World, wanted: usize, coordinator: &mut Running) {
    let begin = Instant::now();
    while world.trials(FOLDER).len() < wanted {
        assert!(begin.elapsed() < Duration::from_secs(120), "{}", world.log("run.log"));
        assert!(
            coordinator.runs() || world.trials(FOLDER).len() >= wanted,
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
    world.until("some trials", || world.trials(FOLDER).len() >= 9);
    coordinator.kill();
    let before: Vec<String> = world.trials(FOLDER).iter().map(essence).collect();
    let run = world.run_name();
    let run = run.as_str();
    let adopt = ["run", "--fleet", &address, "--adopt", run, "--out", "adopted"];
    let ended = world.pragmark(&adopt);
    assert_eq!(ended.status.code(), Some(0), "{}", words(&ended));
    let after = world.trials("adopted/groups/all-machines");
    let after = each_once(&after, 36);
    assert_eq!(after[..before.len()], before, "what was measured before is kept");
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
    world.until("the slow agent works", || !world.trials(FOLDER).is_empty());
    slow.signal(Signal::STOP);
    let _quick = world.agent("quick", &[]);
    world.until("the quick agent joins", || world.log("quick.log").contains("rounds-waits"));
    world.until("the rest", || world.trials(FOLDER).len() >= 15);
    slow.signal(Signal::CONT);
    assert_eq!(coordinator.exit_code(), 0, "{}", world.log("run.log"));
    each_once(&world.trials(FOLDER), 18);
}

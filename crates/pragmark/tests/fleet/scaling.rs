//! What a fleet costs a block, and what more agents bring. Trials wait, because the processors of one machine cannot time
//! those of eight agents at once.
//!
//! By hand, because it takes long: `cargo test -p pragmark --test fleet -- --ignored --nocapture scaling`.

use std::time::Instant;

use serde_json::Value;

use crate::world::{Running, world};

/// How long a trial waits, in milliseconds.
const WAIT_MS: u32 = 600;

/// Blocks for each agent.
const BLOCKS: u32 = 24;

/// The most seconds that a fleet may add to a block.
const OVERHEAD_S: f64 = 0.020;

/// The least share of the linear speed with eight agents.
const SHARE: f64 = 0.9;

/// How long blocks take.
#[derive(Clone, Copy)]
struct Blocks {
    /// Seconds from one block to the next.
    each_s: f64,
    /// Of these, the seconds in which no trial was carried out.
    between_s: f64,
}

#[test]
#[ignore = "takes three minutes"]
fn scaling_is_nearly_linear_and_a_block_costs_little_more_than_by_itself() {
    let (Some(alone), Some(one)) = (blocks(0), blocks(1)) else {
        return;
    };
    let Some(eight) = blocks(8) else { return };
    let overhead_s = one.between_s - alone.between_s;
    let share = one.each_s / (8.0 * eight.each_s);
    println!(
        "between the trials of a block: {:.1} ms by itself, {:.1} ms over a fleet; 8 agents at {share:.3} of the linear speed",
        alone.between_s * 1e3,
        one.between_s * 1e3
    );
    assert!(overhead_s <= OVERHEAD_S, "{overhead_s} s");
    assert!(share >= SHARE, "{share}");
}

/// The blocks of so many agents, none for a local run.
fn blocks(agents: usize) -> Option<Blocks> {
    let mut world = world()?;
    let blocks = BLOCKS * agents.max(1) as u32;
    world.experiment(blocks, WAIT_MS);
    world.start_server();
    let names: Vec<String> = (0..agents).map(|it| format!("agent-{it}")).collect();
    let _agents: Vec<Running> = names.iter().map(|name| world.agent(name, &[])).collect();
    let (address, count) = (world.address(), agents.to_string());
    let (arguments, folder) = match agents {
        0 => {
            let run = ["run", "waits.toml", "--drivers", "drivers", "--seed", "7"];
            let more = ["--probe", "0", "--no-tiers", "--out", "local"];
            ([&run[..], &more].concat(), "local")
        }
        _ => {
            let more = ["--per", "any", "--agents", &count, "--out", "fleet"];
            let arguments = world.run_arguments(&address, &more);
            (arguments, "fleet/groups/all-machines")
        }
    };
    let all = 3 * blocks as usize;
    let mut run = world.start("run.log", &arguments);
    world.until("the first block", || world.trials(folder).len() >= 3);
    let began = Instant::now();
    world.until("the last block", || world.trials(folder).len() >= all);
    let each_s = began.elapsed().as_secs_f64() / f64::from(blocks - 1);
    assert_eq!(run.exit_code(), 0, "{}", world.log("run.log"));
    let trials_s = seconds_of(&world.trials(folder)[3..all]) / f64::from(blocks - 1);
    Some(Blocks { each_s, between_s: each_s - trials_s })
}

/// The seconds of these trials together.
fn seconds_of(trials: &[Value]) -> f64 {
    let nanoseconds = |trial: &Value| trial["covariates"]["duration_ns"].as_f64().unwrap();
    trials.iter().map(nanoseconds).sum::<f64>() / 1e9
}

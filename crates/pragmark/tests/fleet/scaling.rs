//! What a fleet costs a block, and what more agents bring. Trials wait, because the processors of one machine cannot time
//! those of eight agents at once.
//!
//! By hand, because other work on the machine disturbs it: `cargo test -p pragmark --test fleet -- --ignored --nocapture scaling`.

use std::time::Instant;

use crate::world::{Running, world};

/// How long a trial waits, in milliseconds.
const WAIT_MS: u32 = 600;

/// Blocks for each agent.
const BLOCKS: u32 = 24;

/// The most seconds that a fleet may add to a block.
const OVERHEAD_S: f64 = 0.020;

/// The least share of the linear speed with eight agents.
const SHARE: f64 = 0.9;

#[test]
#[ignore = "needs an idle machine and takes three minutes"]
fn scaling_is_nearly_linear_and_a_block_costs_little_more_than_by_itself() {
    let (Some(alone_s), Some(one_s)) = (seconds_for_a_block(0), seconds_for_a_block(1)) else {
        return;
    };
    let eight_s = seconds_for_a_block(8).unwrap_or(f64::INFINITY);
    let overhead_s = one_s - alone_s;
    let share = one_s / (8.0 * eight_s);
    println!(
        "a block by itself {:.1} ms, over a fleet {:.1} ms; 8 agents at {share:.3} of the linear speed",
        alone_s * 1e3,
        one_s * 1e3
    );
    assert!(overhead_s <= OVERHEAD_S, "{overhead_s} s");
    assert!(share >= SHARE, "{share}");
}

/// Seconds from one block to the next with so many agents, none for a local run.
fn seconds_for_a_block(agents: usize) -> Option<f64> {
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
    let mut run = world.start("run.log", &arguments);
    world.until("the first block", || world.trials(folder).len() >= 3);
    let began = Instant::now();
    world.until("the last block", || {
        world.trials(folder).len() >= 3 * blocks as usize
    });
    let elapsed_s = began.elapsed().as_secs_f64();
    assert_eq!(run.exit_code(), 0, "{}", world.log("run.log"));
    Some(elapsed_s / f64::from(blocks - 1))
}

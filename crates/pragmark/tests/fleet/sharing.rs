//! Agents share a run, and what comes of it is what one machine would have measured.

use crate::world::{each_once, estimates, words, world};

/// Trials of a run of eight rounds: two variants and the baseline again.
const TRIALS: usize = 8 * 3;

#[test]
fn agents_share_the_blocks_and_the_record_is_that_of_one_machine() {
    let Some(mut world) = world() else { return };
    world.experiment(8, 20);
    world.start_server();
    let _agents = ["a", "b"].map(|name| world.agent(name, &[]));
    let address = world.address();
    let more = ["--per", "any", "--agents", "2", "--out", "fleet"];
    let ended = world.pragmark(&world.run_arguments(&address, &more));
    assert_eq!(ended.status.code(), Some(0), "{}", words(&ended));
    let trials = world.trials("fleet/groups/all-machines");
    let agents: std::collections::BTreeSet<String> =
        trials.iter().map(|trial| trial["agent"].to_string()).collect();
    assert_eq!(agents.len(), 2, "both took part: {agents:?}");
    for block in trials.chunk_by(|one, other| one["round"] == other["round"]) {
        assert!(block.iter().all(|trial| trial["agent"] == block[0]["agent"]));
    }

    world.run_locally();
    let folders = ["fleet/groups/all-machines", "local"];
    let [fleet, local] = folders.map(|folder| each_once(&world.trials(folder), TRIALS));
    assert_eq!(fleet, local);
    for folder in folders {
        world.keep_undisturbed(folder, TRIALS);
    }
    let [fleet, local] = folders.map(|folder| estimates(&world, folder));
    assert_eq!(fleet, local);
    let page = std::fs::read_to_string(world.path().join("fleet/report.html")).unwrap();
    assert!(page.contains("The machines"));
    assert!(!page.contains("127.0.0.1"), "no address in the page");
}

#[test]
fn every_class_has_a_full_answer_and_the_page_compares_them() {
    let Some(mut world) = world() else { return };
    world.experiment(4, 5);
    world.start_server();
    let _agents = [("a", "class=fast"), ("b", "class=slow"), ("c", "class=slow")]
        .map(|(name, label)| world.agent(name, &["--label", label]));
    let address = world.address();
    let more = ["--per", "class", "--agents", "3", "--out", "fleet"];
    let ended = world.pragmark(&world.run_arguments(&address, &more));
    assert_eq!(ended.status.code(), Some(0), "{}", words(&ended));
    for group in ["fast", "slow"] {
        let trials = world.trials(&format!("fleet/groups/{group}"));
        assert!(trials.len() >= 4 * 3, "{group}");
    }
    let said = words(&world.pragmark(&["report", "fleet", "--format", "markdown"]));
    for part in ["fast", "slow", "all classes", "The machines", "Ratio by class"] {
        assert!(said.to_lowercase().contains(&part.to_lowercase()), "{part}: {said}");
    }
    let status = words(&world.pragmark(&["fleet", "status", &address]));
    assert!(status.contains("Agents: 3") && status.contains("ended"), "{status}");
    let offers = format!("engines for {}-linux-gnu: default", std::env::consts::ARCH);
    assert!(status.contains(&offers), "{status}");
    assert!(status.contains("waiting"), "{status}");
}

#[test]
fn status_has_rates_and_the_time_to_go_as_long_as_a_coordinator_is_there() {
    let Some(mut world) = world() else { return };
    world.experiment(60, 100);
    world.start_server();
    let _agents = ["a", "b"].map(|name| world.agent(name, &[]));
    let address = world.address();
    let more = ["--per", "any", "--agents", "2", "--out", "fleet"];
    let mut run = world.start("run.log", &world.run_arguments(&address, &more));
    let status = || words(&world.pragmark(&["fleet", "status", &address]));
    world.until("the coordinator says how far it is", || {
        let said = status();
        let parts = ["trials of 180 or more, ", " a minute, ", " to go at least"];
        parts.iter().all(|part| said.contains(part))
    });
    run.kill();
    world.until("nobody records outcomes", || status().contains("no coordinator is present"));
}

#[test]
fn drained_agents_end_and_a_purged_run_is_gone() {
    let Some(mut world) = world() else { return };
    world.experiment(3, 5);
    world.start_server();
    let mut agent = world.agent("a", &[]);
    let address = world.address();
    let more = ["--per", "host", "--out", "fleet"];
    let ended = world.pragmark(&world.run_arguments(&address, &more));
    assert_eq!(ended.status.code(), Some(0), "{}", words(&ended));
    let drained = world.pragmark(&["fleet", "drain", &address, "a"]);
    assert_eq!(drained.status.code(), Some(0), "{}", words(&drained));
    assert_eq!(agent.exit_code(), 0);
    let run = world.run_name();
    let run = run.as_str();
    let purged = world.pragmark(&["fleet", "purge", &address, run]);
    assert_eq!(purged.status.code(), Some(0), "{}", words(&purged));
    let again = world.pragmark(&["fleet", "purge", &address, run]);
    assert_eq!(again.status.code(), Some(3));
    assert!(words(&again).contains("has no run"), "{}", words(&again));
}

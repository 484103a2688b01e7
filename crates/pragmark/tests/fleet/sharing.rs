//! Agents share a run, and what comes of it is what one machine would have measured.

use serde_json::Value;

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
fn every_class_has_a_full_answer_and_an_agent_with_invented_figures_is_named() {
    let Some(mut world) = world() else { return };
    world.experiment(20, 5);
    world.start_server();
    world.driver("liars", "waiting");
    let liar = world.path().join("liars/waiting/driver.sh");
    let invents = std::fs::read_to_string(&liar).unwrap().replace("print $2 *", "print 100 *");
    std::fs::write(&liar, invents).unwrap();
    let agents = [("a", "fast", "drivers"), ("b", "slow", "drivers"), ("c", "slow", "drivers")];
    let _agents =
        agents.into_iter().chain([("liar", "slow", "liars")]).map(|(name, class, own)| {
            world.agent(name, &["--label", &format!("class={class}"), "--drivers", own])
        });
    let _agents: Vec<_> = _agents.collect();
    let address = world.address();
    let more = ["--per", "class", "--agents", "4", "--out", "fleet", "--recheck", "50"];
    let ended = world.pragmark(&world.run_arguments(&address, &more));
    assert_eq!(ended.status.code(), Some(0), "{}", words(&ended));
    let [fast, slow] = ["fast", "slow"].map(|group| {
        let folder = format!("fleet/groups/{group}");
        let trials = world.trials(&folder);
        each_once(&trials, 20 * 3);
        let reruns: Vec<Value> =
            serde_json::from_str(&world.log(&format!("{folder}/reruns.json"))).unwrap();
        (trials, reruns)
    });
    assert!(fast.1.is_empty(), "nobody else can carry its blocks out");
    assert!(slow.1.len() >= 3, "{:?}", slow.1);
    for again in &slow.1 {
        let is_same = |trial: &&Value| {
            ["round", "block", "position", "variant"].iter().all(|name| trial[name] == again[name])
        };
        let first = slow.0.iter().find(is_same).unwrap();
        assert_ne!(first["agent"], again["agent"]);
    }
    let terminal = words(&ended);
    let terminal = terminal.split_whitespace().collect::<Vec<_>>().join(" ");
    let named = "the other machines of its kind measured other ratios of 1 variant";
    assert!(terminal.contains(&format!("liar: {named}")), "{terminal}");
    assert_eq!(terminal.matches(named).count(), 1, "{terminal}");
    assert!(terminal.contains("1 machine is not checked"), "{terminal}");
    let said = words(&world.pragmark(&["report", "fleet", "--format", "markdown"]));
    for part in ["fast", "slow", "all classes", "The machines", "Ratio by class"] {
        assert!(said.to_lowercase().contains(&part.to_lowercase()), "{part}: {said}");
    }
    let status = words(&world.pragmark(&["fleet", "status", &address]));
    assert!(status.contains("Agents: 4") && status.contains("ended"), "{status}");
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

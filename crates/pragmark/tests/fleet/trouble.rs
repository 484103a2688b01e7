//! Trouble with one agent, run or message stays there: the others go on.

use std::fs;

use crate::raw::publish;
use crate::world::{World, each_once, words, world};

/// The folder of the only group.
const FOLDER: &str = "fleet/groups/all-machines";

fn status(world: &World) -> String {
    words(&world.pragmark(&["fleet", "status", &world.address()]))
}

#[test]
fn a_class_whose_agents_refuse_is_named_and_can_be_measured_later() {
    let Some(mut world) = world() else { return };
    world.experiment(3, 5);
    world.start_server();
    world.driver("others", "other");
    let _fast = world.agent("a", &["--label", "class=fast"]);
    let lacks = ["--label", "class=slow", "--drivers", "others"];
    let mut slow = world.agent("b", &lacks);
    let address = world.address();
    let more = ["--agents", "2", "--out", "fleet"];
    let ended = world.pragmark(&world.run_arguments(&address, &more));
    let said = words(&ended);
    assert_eq!(ended.status.code(), Some(3), "{said}");
    assert!(said.contains("not every group has an answer"), "{said}");
    let page = fs::read_to_string(world.path().join("fleet/report.html")).unwrap();
    for part in
        ["not measured in full", "slow: the run has not ended", "nobody whom this agent trusts"]
    {
        assert!(page.contains(part), "{part}");
    }
    assert!(!status(&world).contains("ended\n"), "it can go on");

    slow.kill();
    let _slow = world.agent("b", &[&lacks[..], &["--accept-code"]].concat());
    let resumed = world.pragmark(&["run", "--resume", "fleet"]);
    assert_eq!(resumed.status.code(), Some(0), "{}", words(&resumed));
    assert!(world.log("b.log").contains("takes part in"), "as soon as the run goes on");
    assert!(!words(&resumed).contains("not measured in full"));
    assert_eq!(world.trials("fleet/groups/slow").len() % 3, 0);
    assert!(status(&world).contains(": ended"), "{}", status(&world));
}

#[test]
fn messages_that_nobody_can_read_hide_no_others() {
    let Some(mut world) = world() else { return };
    world.experiment(3, 5);
    world.start_server();
    world.connected("test").make_streams().unwrap();
    publish(&world, "$KV.PRAGMARK_AGENTS.agents.odd", b"no card");
    publish(&world, "pragmark.runs.odd", b"no run");
    let _agent = world.agent("a", &[]);
    let address = world.address();
    let more = ["--per", "any", "--out", "fleet"];
    let ended = world.pragmark(&world.run_arguments(&address, &more));
    let said = words(&ended);
    assert_eq!(ended.status.code(), Some(0), "{said}");
    assert!(said.contains("odd takes no part"), "{said}");
    let said = status(&world);
    assert!(said.contains("Run odd: cannot be read"), "{said}");
    let purge = |run: &str| world.pragmark(&["fleet", "purge", &address, run]);
    let said = words(&purge(&world.run_name()));
    assert!(said.contains("the run odd cannot be read"), "{said}");
    assert_eq!(purge("odd").status.code(), Some(0));
    assert!(!status(&world).contains("Run "), "{}", status(&world));
}

#[test]
fn a_run_that_is_recorded_is_neither_purged_nor_adopted_unasked() {
    let Some(mut world) = world() else { return };
    world.experiment(200, 100);
    world.start_server();
    let _agent = world.agent("a", &[]);
    let address = world.address();
    let more = ["--per", "any", "--out", "fleet"];
    let mut run = world.start("run.log", &world.run_arguments(&address, &more));
    world.until("the run begins", || !world.trials(FOLDER).is_empty());
    let name = world.run_name();
    let purge = ["fleet", "purge", &address, &name];
    let adopt = ["run", "--fleet", &address, "--adopt", &name, "--out", "other"];
    for refused in [world.pragmark(&purge), world.pragmark(&adopt)] {
        let said = words(&refused);
        assert_eq!(refused.status.code(), Some(3), "{said}");
        assert!(said.contains("another `pragmark run` records"), "{said}");
    }
    assert!(!world.path().join("other").exists());
    let _odd = world.agent("odd", &["--label", "disk=other"]);
    world.until("an agent with another kind of disk is noticed", || {
        world.log("run.log").contains("odd takes no part: no group")
    });
    let purged = world.pragmark(&[&purge[..], &["--force"]].concat());
    assert_eq!(purged.status.code(), Some(0), "{}", words(&purged));
    assert_eq!(run.exit_code(), 3, "{}", world.log("run.log"));
    let said = world.log("run.log");
    assert!(said.contains("the run may have been removed"), "{said}");
    world.until("the agent leaves the run", || {
        let log = world.log("a.log");
        log.contains("has ended") || log.contains("takes no part")
    });
    world.experiment(3, 5);
    let next = world.pragmark(&world.run_arguments(&address, &["--out", "next"]));
    assert_eq!(next.status.code(), Some(0), "{}", words(&next));
}

#[test]
fn a_second_agent_of_a_name_is_refused() {
    let Some(mut world) = world() else { return };
    world.start_server();
    let _first = world.agent("a", &[]);
    world.until("the first is there", || status(&world).contains("Agents: 1"));
    let address = world.address();
    let second = ["fleet", "agent", &address, "--name", "a", "--dir", "data-a"];
    let here = world.pragmark(&second);
    assert_eq!(here.status.code(), Some(3), "{}", words(&here));
    assert!(words(&here).contains("runs on this machine"), "{}", words(&here));
    let mut elsewhere = world.command(&second);
    let elsewhere = elsewhere.env("PRAGMARK_CACHE", world.path().join("cache-2"));
    let elsewhere = elsewhere.output().unwrap();
    assert_eq!(elsewhere.status.code(), Some(3), "{}", words(&elsewhere));
    let said = words(&elsewhere);
    assert!(said.contains("another agent with the name a is present"), "{said}");
}

#[test]
fn a_server_with_new_storage_gives_the_same_agents_new_runs() {
    let Some(mut world) = world() else { return };
    world.experiment(3, 5);
    world.start_server();
    let _agent = world.agent("a", &[]);
    let address = world.address();
    let run = |world: &World, out: &str| {
        let more = ["--per", "any", "--out", out];
        let ended = world.pragmark(&world.run_arguments(&address, &more));
        assert_eq!(ended.status.code(), Some(0), "{}", words(&ended));
    };
    run(&world, "fleet");
    world.kill_server();
    fs::remove_dir_all(world.path().join("jetstream")).unwrap();
    world.start_server();
    world.connected("test").make_streams().unwrap();
    run(&world, "again");
    each_once(&world.trials("again/groups/all-machines"), 9);
}

#[test]
fn a_resumed_run_without_agents_says_so() {
    let Some(mut world) = world() else { return };
    world.experiment(20, 50);
    world.start_server();
    let mut agent = world.agent("a", &[]);
    let address = world.address();
    let more = ["--per", "any", "--out", "fleet"];
    let mut run = world.start("run.log", &world.run_arguments(&address, &more));
    world.until("some trials", || world.trials(FOLDER).len() >= 3);
    run.kill();
    agent.kill();
    let _resumed = world.start("again.log", &["run", "--resume", "fleet"]);
    world.until("it says so", || {
        world.log("again.log").contains("no agent is present; waiting for one")
    });
}

//! Only members of a group are counted: processes that the coordinator has seen, on the machine that the run began with.

use rustix::process::Signal;

use crate::raw::{publish, stored};
use crate::world::{each_once, words, world};

#[test]
fn outcomes_that_no_member_has_signed_do_not_count() {
    let Some(mut world) = world() else { return };
    world.experiment(34, 5);
    world.start_server();
    // In one directory the trials of both groups are the same to the letter, so that outcomes of one fit the other.
    std::fs::create_dir(world.path().join("data-a")).unwrap();
    std::os::unix::fs::symlink("data-a", world.path().join("data-b")).unwrap();
    let a = world.agent("a", &["--label", "class=fast"]);
    let _b = world.agent("b", &["--label", "class=slow"]);
    let address = world.address();
    let more = ["--per", "class", "--agents", "2", "--out", "fleet"];
    let mut run = world.start("run.log", &world.run_arguments(&address, &more));
    world.until("a has begun", || !world.trials("fleet/groups/fast").is_empty());
    a.signal(Signal::STOP);
    world.until("b has ended", || world.trials("fleet/groups/slow").len() >= 34 * 3);
    let own = world.trials("fleet/groups/fast").len();
    let stream = format!("PRAGMARK_RESULTS_{}", world.run_name());
    let outcomes = stored(&world, &stream);
    let of_b: Vec<_> =
        outcomes.iter().filter(|(subject, _)| subject.contains(".slow.block.")).collect();
    assert!(of_b.len() >= 34, "{}", of_b.len());
    for (subject, payload) in of_b {
        publish(&world, &subject.replace(".slow.", ".fast."), payload);
    }
    world.until("they are noticed", || {
        world.log("run.log").contains("outcomes under the name b do not count")
    });
    assert_eq!(world.trials("fleet/groups/fast").len(), own, "none of them counts");
    a.signal(Signal::CONT);
    assert_eq!(run.exit_code(), 0, "{}", world.log("run.log"));
    let fast = world.trials("fleet/groups/fast");
    each_once(&fast, 34 * 3);
    assert!(fast.iter().all(|trial| trial["agent"] == "a"));
}

#[test]
fn an_agent_that_was_started_again_as_another_machine_leaves_its_group() {
    let Some(mut world) = world() else { return };
    world.experiment(20, 20);
    world.start_server();
    let mut first = world.agent("a", &["--label", "disk=small"]);
    let address = world.address();
    let more = ["--per", "host", "--out", "fleet"];
    let mut run = world.start("run.log", &world.run_arguments(&address, &more));
    world.until("it has begun", || world.trials("fleet/groups/a").len() >= 3);
    first.kill();
    let before = world.trials("fleet/groups/a").len();
    let mut other = world.agent("a", &["--label", "disk=large"]);
    world.until("it is noticed", || {
        let line = "started again with disk `large` instead of `small`";
        world.log("run.log").contains(line)
    });
    let carried_out = || words_of(&world.log("a.log")).matches("takes part in").count();
    assert_eq!(carried_out(), 1, "the second one takes no part");
    assert!(
        world.trials("fleet/groups/a").len() <= before + 3,
        "what was stored when it was killed"
    );
    other.kill();
    if let Some(mut late) = world.late_agent("a", &["--dir", "data-a", "--label", "disk=small"]) {
        world.until("its clock is noticed", || {
            world.log("run.log").contains("a takes no part: its clock is 1")
        });
        late.kill();
    }
    let _same = world.agent("a", &["--label", "disk=small"]);
    assert_eq!(run.exit_code(), 0, "{}", world.log("run.log"));
    each_once(&world.trials("fleet/groups/a"), 60);
    assert_eq!(carried_out(), 2);
    let status = words(&world.pragmark(&["fleet", "status", &address]));
    assert!(status.contains("ended"), "{status}");
}

/// The text without line breaks within sentences.
fn words_of(log: &str) -> String {
    log.split_whitespace().collect::<Vec<_>>().join(" ")
}

//! What cannot work says why, and loses nothing.

use crate::world::{words, world};

/// The exit code and the words of a run over a server.
fn run(world: &crate::world::World, address: &str, more: &[&str]) -> (Option<i32>, String) {
    let ended = world.pragmark(&world.run_arguments(address, more));
    (ended.status.code(), words(&ended))
}

#[test]
fn a_server_that_is_not_there_or_lets_nobody_in_is_named() {
    let Some(world) = world() else { return };
    world.experiment(3, 5);
    let address = world.address();
    let (code, said) = run(&world, &address, &["--out", "fleet"]);
    assert_eq!(code, Some(3));
    assert!(said.contains("no NATS server answers at"), "{said}");
    let (code, said) = run(
        &world,
        "nats://me:secret@127.0.0.1:4222",
        &["--out", "fleet"],
    );
    assert_eq!(code, Some(2));
    assert!(
        said.contains("contains a password") && !said.contains("secret"),
        "{said}"
    );
    assert!(!world.path().join("fleet").exists());

    let users = "authorization { users: [ { user: lab, password: hush } ] }";
    let mut world = world.configured(users);
    world.start_server();
    let (code, said) = run(&world, &address, &["--out", "fleet"]);
    assert_eq!(code, Some(3));
    assert!(said.contains("rejects these credentials"), "{said}");
    let (code, said) = run(
        &world,
        &address,
        &["--per", "any", "--out", "fleet", "--nats-user", "lab"],
    );
    assert_eq!(code, Some(2));
    assert!(said.contains("PRAGMARK_NATS_PASSWORD"), "{said}");
    let status = world
        .command(&["fleet", "status", &address, "--nats-user", "lab"])
        .env("PRAGMARK_NATS_PASSWORD", "hush")
        .output()
        .unwrap();
    assert_eq!(status.status.code(), Some(0), "{}", words(&status));
    assert!(!words(&status).contains("hush"));
}

#[test]
fn a_server_without_jetstream_or_with_too_little_storage_is_refused() {
    let Some(mut world) = world() else { return };
    world.experiment(3, 5);
    world =
        world.configured("accounts { A { users: [ { user: a, password: a } ] } }\nno_auth_user: a");
    world.start_server();
    let address = world.address();
    let (code, said) = run(&world, &address, &["--out", "fleet"]);
    assert_eq!(code, Some(3));
    assert!(said.contains("has no JetStream"), "{said}");
}

#[test]
fn labels_that_match_nobody_are_answered_with_those_that_there_are() {
    let Some(mut world) = world() else { return };
    world.experiment(3, 5);
    world.start_server();
    let _agent = world.agent("a", &["--label", "site=lab"]);
    let address = world.address();
    let more = ["--on", "site=attic", "--out", "fleet", "--wait", "4s"];
    let (code, said) = run(&world, &address, &more);
    assert_eq!(code, Some(3));
    assert!(
        said.contains("0 of the 1 agents") && said.contains("site=lab"),
        "{said}"
    );
    let (code, said) = run(&world, &address, &["--on", "site", "--out", "fleet"]);
    assert_eq!(code, Some(2));
    assert!(said.contains("no condition"), "{said}");
}

#[test]
fn a_group_whose_agents_all_refuse_says_why() {
    let Some(mut world) = world() else { return };
    world.experiment(3, 5);
    world.start_server();
    world.driver("others", "other");
    let _agent = world.agent("a", &["--drivers", "others"]);
    let address = world.address();
    let (code, said) = run(&world, &address, &["--out", "fleet"]);
    assert_eq!(code, Some(3));
    assert!(
        said.contains("uses the driver `waiting`, which is not here"),
        "{said}"
    );
}

#[test]
fn sql_of_somebody_else_is_refused_unless_it_is_accepted() {
    let Some(mut world) = world() else { return };
    let experiment = r#"
id       = "waits"
question = "Is it executed?"
workload = "sql"
base     = { sql = "SELECT 1" }

[factors]
cache_size = [-2000, -4000]

[design]
kind     = "one-at-a-time"
baseline = { cache_size = -2000 }
"#;
    std::fs::write(world.path().join("waits.toml"), experiment).unwrap();
    world.start_server();
    let _agent = world.agent("a", &[]);
    let address = world.address();
    let (code, said) = run(&world, &address, &["--out", "fleet"]);
    assert_eq!(code, Some(3), "{said}");
    assert!(
        said.contains("SQL or a file of somebody else") && said.contains("--accept-code"),
        "{said}"
    );
}

#[test]
fn an_agent_needs_no_more_than_the_documented_permissions() {
    let Some(world) = world() else { return };
    let example = include_str!("../../../../examples/fleet/server.conf");
    let start = example.find("authorization {").unwrap();
    let users = example[start..].replace("$2a$11$REPLACE", "hush");
    let mut world = world.configured(&users);
    world.experiment(3, 5);
    world.start_server();
    let address = world.address();
    let agent = [
        "agent",
        &address,
        "--name",
        "rack-7",
        "--drivers",
        "drivers",
        "--nats-user",
        "rack-7",
    ];
    let mut agent = world.command(&agent);
    let log = std::fs::File::create(world.path().join("agent.log")).unwrap();
    let _agent = world.started(agent.env("PRAGMARK_NATS_PASSWORD", "hush").stderr(log));
    let arguments = world.run_arguments(
        &address,
        &["--per", "any", "--out", "fleet", "--nats-user", "lab"],
    );
    let mut run = world.command(&arguments);
    let ended = run.env("PRAGMARK_NATS_PASSWORD", "hush").output().unwrap();
    let said = format!(
        "{}{}{}",
        words(&ended),
        world.log("agent.log"),
        world.log("server.log")
    );
    assert_eq!(ended.status.code(), Some(0), "{said}");
    assert_eq!(world.trials("fleet/groups/all-machines").len() % 3, 0);
    let log = world.log("server.log");
    assert!(!log.contains("Permissions Violation"), "{log}");
}

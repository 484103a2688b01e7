//! What cannot work says why, and loses nothing.

use crate::world::{each_once, words, world};

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
    let (code, said) = run(&world, "nats://me:secret@127.0.0.1:4222", &["--out", "fleet"]);
    assert_eq!(code, Some(2));
    assert!(said.contains("contains a password") && !said.contains("secret"), "{said}");
    assert!(!world.path().join("fleet").exists());

    let users = "authorization { users: [ { user: lab, password: hush } ] }";
    let mut world = world.configured(users);
    world.start_server();
    let (code, said) = run(&world, &address, &["--out", "fleet"]);
    assert_eq!(code, Some(3));
    assert!(said.contains("rejects these credentials"), "{said}");
    let (code, said) = {
        let arguments = world.run_arguments(&address, &["--per", "any", "--out", "fleet"]);
        let ended = world.command(&arguments).env("NATS_USER", "lab").output().unwrap();
        (ended.status.code(), words(&ended))
    };
    assert_eq!(code, Some(2));
    assert!(said.contains("NATS_PASSWORD"), "{said}");
    let status = world
        .command(&["fleet", "status", &address])
        .env("NATS_USER", "lab")
        .env("NATS_PASSWORD", "hush")
        .output()
        .unwrap();
    assert_eq!(status.status.code(), Some(0), "{}", words(&status));
    assert!(!words(&status).contains("hush"));
}

#[test]
fn a_server_without_jetstream_is_refused() {
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
fn a_server_with_too_little_storage_says_so_before_the_run_begins() {
    let Some(world) = world() else { return };
    let mut world = world.with_storage(200_000);
    world.experiment(3, 5);
    std::fs::write(world.path().join("drivers/waiting/large"), vec![7; 400_000]).unwrap();
    world.start_server();
    let _agent = world.agent("a", &[]);
    let address = world.address();
    let (code, said) = run(&world, &address, &["--out", "fleet"]);
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("cannot store an object") && said.contains("max_file_store"), "{said}");
    assert!(!world.path().join("fleet").exists());
}

#[test]
fn an_agent_with_a_full_disk_leaves_its_blocks_to_others() {
    let Some(mut world) = world() else { return };
    world.experiment(6, 5);
    let disk = world.path().join("data-full");
    std::fs::create_dir(&disk).unwrap();
    let Some(_mounted) = Mounted::tmpfs(&disk) else {
        testing::skip("this test needs the right to mount a file system");
        return;
    };
    std::fs::write(disk.join("filler"), vec![0; 5 << 20]).unwrap();
    world.start_server();
    // Otherwise the disks would be of different kinds.
    let alike = ["--label", "disk=small"];
    let _full = world.agent("full", &alike);
    let address = world.address();
    let more = ["--per", "any", "--out", "fleet"];
    let mut coordinator = world.start("run.log", &world.run_arguments(&address, &more));
    world.until("the agent is in trouble", || world.log("full.log").contains("the disk is full"));
    world.until("the coordinator says so", || {
        world.log("run.log").contains("full waits: the disk is full")
    });
    let _other = world.agent("other", &alike);
    assert_eq!(coordinator.exit_code(), 0, "{}", world.log("run.log"));
    let trials = world.trials("fleet/groups/all-machines");
    each_once(&trials, 18);
    assert!(trials.iter().all(|it| it["agent"] == "other"));
    world.until("the agent says so", || {
        let status = words(&world.pragmark(&["fleet", "status", &address]));
        status.contains("in trouble: the disk is full")
    });
}

/// A small file system in memory, unmounted when dropped.
struct Mounted<'a>(&'a std::path::Path);

impl Mounted<'_> {
    fn tmpfs(path: &std::path::Path) -> Option<Mounted<'_>> {
        let mut mount = std::process::Command::new("mount");
        let mount = mount.args(["-t", "tmpfs", "-o", "size=8m", "tmpfs"]).arg(path);
        let mounted = mount.output().is_ok_and(|it| it.status.success());
        mounted.then_some(Mounted(path))
    }
}

impl Drop for Mounted<'_> {
    fn drop(&mut self) {
        // The agent may still have it open.
        let mut umount = std::process::Command::new("umount");
        let _ = umount.arg("--lazy").arg(self.0).status();
    }
}

/// An agent that does nothing.
struct Idle;

impl ::fleet::Machine for Idle {
    fn prepare(&mut self, _: &::fleet::RunCard) -> Result<lab::record::EnvironmentFile, String> {
        Err("it is idle".to_owned())
    }

    fn execute(
        &mut self,
        _: &str,
        _: &[runner::Task],
    ) -> Result<Option<Vec<runner::Execution>>, String> {
        Err("it is idle".to_owned())
    }

    fn forget(&mut self, _: &str) {}
}

#[test]
fn an_agent_of_another_version_is_refused_with_both_versions() {
    let Some(mut world) = world() else { return };
    world.experiment(3, 5);
    world.start_server();
    let server = world.connected("old");
    server.make_streams().unwrap();
    let card = ::fleet::Card {
        agent: "old".to_owned(),
        instance: "1".to_owned(),
        version: "0.0.9".to_owned(),
        labels: Default::default(),
        machine: Default::default(),
        engines: Vec::new(),
        can_build: false,
        target: String::new(),
        drivers: Vec::new(),
        doing: Default::default(),
        clock_s: 0,
    };
    let orders = ::fleet::StopSignals::default();
    let (address, cancelled) = (world.address(), orders.cancelled.clone());
    std::thread::scope(|scope| {
        let signer = ::fleet::Signer::default();
        scope.spawn(move || ::fleet::serve(&server, card, &signer, &mut Idle, &orders, &|_| {}));
        let (code, said) = run(&world, &address, &["--out", "fleet", "--wait", "5s"]);
        cancelled.store(true, std::sync::atomic::Ordering::Relaxed);
        assert_eq!(code, Some(3), "{said}");
        let both = format!("old: it is pragmark 0.0.9, and this is {}", env!("CARGO_PKG_VERSION"));
        assert!(said.contains(&both), "{said}");
    });
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
    assert!(said.contains("0 of the 1 agents") && said.contains("site=lab"), "{said}");
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
    assert!(said.contains("sends the code waiting, and nobody whom this agent trusts"), "{said}");
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
    let agent = ["fleet", "agent", &address, "--name", "rack-7", "--accept-code"];
    let mut agent = world.command(&agent);
    let log = std::fs::File::create(world.path().join("agent.log")).unwrap();
    let _agent =
        world.started(agent.env("NATS_USER", "rack-7").env("NATS_PASSWORD", "hush").stderr(log));
    let arguments = world.run_arguments(&address, &["--per", "any", "--out", "fleet"]);
    let mut run = world.command(&arguments);
    let ended = run.env("NATS_USER", "lab").env("NATS_PASSWORD", "hush").output().unwrap();
    let said = format!("{}{}{}", words(&ended), world.log("agent.log"), world.log("server.log"));
    assert_eq!(ended.status.code(), Some(0), "{said}");
    assert_eq!(world.trials("fleet/groups/all-machines").len() % 3, 0);
    let sent = world.path().join("cache/agents/rack-7/objects");
    assert!(sent.is_dir(), "the driver has travelled");
    let log = world.log("server.log");
    assert!(!log.contains("Permissions Violation"), "{log}");
}

#[test]
fn an_agent_whose_clock_is_wrong_by_hours_takes_no_part_and_others_do() {
    let Some(mut world) = world() else { return };
    world.experiment(3, 5);
    world.start_server();
    let address = world.address();
    let Some(mut agent) = world.late_agent("late", &[]) else { return };
    let late = "late takes no part: its clock is";
    let (code, said) = run(&world, &address, &["--out", "fleet", "--wait", "6s"]);
    assert_eq!(code, Some(3), "{said}{}", world.log("late.log"));
    assert!(said.contains("late: its clock is 1"), "{said}");
    assert!(said.contains("min behind the server's"), "{said}");
    assert!(!world.path().join("fleet").exists());

    let _right = world.agent("right", &[]);
    let more = ["--per", "any", "--out", "fleet"];
    let (code, said) = run(&world, &address, &more);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains(late), "{said}");
    let trials = world.trials("fleet/groups/all-machines");
    each_once(&trials, 9);
    assert!(trials.iter().all(|it| it["agent"] == "right"));
    agent.kill();
}

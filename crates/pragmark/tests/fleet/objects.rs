//! Files travel by their hash, code only where it is accepted, and SQL stays in the directory of its trial.

use std::fs;
use std::path::PathBuf;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE;
use nkeys::KeyPair;
use rustix::process::Signal;

use crate::raw::publish;
use crate::world::{Running, World, words, world};

/// The folder of the only group.
const FOLDER: &str = "fleet/groups/all-machines";

/// Arguments of every run here.
const USUAL: [&str; 4] = ["--per", "any", "--out", "fleet"];

/// An experiment that executes SQL, with these settings in its base.
fn sql_experiment(world: &World, base: &str) {
    experiment(world, ("sql", "rows_per_s"), base);
}

/// An experiment of a workload that is compared by a metric, with these settings in its base.
pub fn experiment(world: &World, (workload, metric): (&str, &str), base: &str) {
    let text = format!(
        r#"
id       = "waits"
question = "Is it executed?"
workload = "{workload}"
base     = {{ {base} }}
metric   = "{metric}"

[factors]
cache_size = [-2000, -4000]

[design]
kind     = "one-at-a-time"
baseline = {{ cache_size = -2000 }}
stopping = {{ rounds = 3, max_rounds = 3 }}
"#
    );
    fs::write(world.path().join("waits.toml"), text).unwrap();
}

/// An agent that neither has the coordinator's drivers nor works in its directory.
pub fn foreign_agent(world: &World, more: &[&str]) -> Running {
    // A driver that an agent has left there when it was killed.
    let left = world.path().join("cache/agents/far/drivers/old");
    fs::create_dir_all(left).unwrap();
    let elsewhere = world.path().join("elsewhere");
    fs::create_dir_all(&elsewhere).unwrap();
    let address = world.address();
    let usual = ["fleet", "agent", &address, "--name", "far"];
    let log = fs::File::create(world.path().join("far.log")).unwrap();
    let mut agent = world.command(&[&usual[..], more].concat());
    world.started(agent.current_dir(elsewhere).stderr(log))
}

pub fn run(world: &World, more: &[&str]) -> (Option<i32>, String) {
    let address = world.address();
    let arguments = world.run_arguments(&address, &[&USUAL[..], more].concat());
    let ended = world.pragmark(&arguments);
    let log = world.log("far.log");
    (ended.status.code(), format!("{}{log}", words(&ended)))
}

/// The objects that the agent keeps.
pub fn kept(world: &World) -> Vec<PathBuf> {
    let folder = world.path().join("cache/agents/far/objects");
    let folders = fs::read_dir(folder).into_iter().flatten().flatten();
    let files = folders.flat_map(|it| fs::read_dir(it.path()).into_iter().flatten().flatten());
    files.map(|it| it.path()).collect()
}

/// A database with one table of a hundred rows.
fn database(world: &World, name: &str) {
    let sql = "CREATE TABLE t(x); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100) INSERT INTO t SELECT i FROM n";
    let library = engine::Library::load(&engine::Source::Embedded).unwrap();
    let path = world.path().join(name);
    let open = engine::Connection::open(&library.into(), &path, Default::default(), None);
    open.unwrap().execute(sql).unwrap();
}

#[test]
fn a_database_and_scripts_travel_to_agents_that_do_not_have_them() {
    let Some(mut world) = world() else { return };
    database(&world, "own.db");
    fs::write(world.path().join("count.sql"), "SELECT count(*) FROM t;\n").unwrap();
    sql_experiment(&world, r#"database = "own.db", scripts = "count.sql@2""#);
    world.start_server();
    let _agent = foreign_agent(&world, &[]);
    let (code, said) = run(&world, &[]);
    assert_eq!(code, Some(0), "{said}");
    for trial in world.trials(FOLDER) {
        assert!(trial["outcome"]["measured"].is_object(), "{trial}");
    }
    let names: Vec<PathBuf> = kept(&world);
    for name in ["own.db", "count.sql"] {
        assert!(names.iter().any(|it| it.ends_with(name)), "{names:?}");
    }
}

#[test]
fn sql_of_a_run_loads_no_code_and_reaches_no_other_file() {
    let Some(mut world) = world() else { return };
    let outside = world.path().join("outside.db");
    let attach = format!("ATTACH '{}' AS x; CREATE TABLE x.t(y);", outside.display());
    world.start_server();
    let _agent = foreign_agent(&world, &[]);
    for (sql, code, why) in [
        ("SELECT load_extension('x')", 1, "not authorized to use function"),
        (&attach, 2, "reach files that are no copies"),
    ] {
        sql_experiment(&world, &format!("sql = \"{sql}\""));
        let (ended, said) = run(&world, &[]);
        assert_eq!(ended, Some(code), "{said}");
        assert!(said.contains(why), "{said}");
        fs::remove_dir_all(world.path().join("fleet")).unwrap_or_default();
    }
    assert!(!outside.exists(), "nothing was written elsewhere");
}

#[test]
fn a_driver_is_executed_only_if_a_trusted_key_has_signed_it_or_all_code_is_accepted() {
    let Some(mut world) = world() else { return };
    world.experiment(3, 5);
    world.start_server();
    let key = KeyPair::new_user();
    fs::write(world.path().join("seed"), key.seed().unwrap()).unwrap();
    let (own, other) = (key.public_key(), KeyPair::new_user().public_key());
    let cases: [(&[&str], &[&str], bool); 4] = [
        (&[], &["--sign-with", "seed"], false),
        (&["--trust", &other], &["--sign-with", "seed"], false),
        (&["--trust", &own], &["--sign-with", "seed"], true),
        (&["--accept-code"], &[], true),
    ];
    for (agent, coordinator, is_accepted) in cases {
        let mut agent = foreign_agent(&world, agent);
        let (code, said) = run(&world, coordinator);
        match is_accepted {
            true => assert_eq!(code, Some(0), "{said}"),
            false => {
                assert_eq!(code, Some(3), "{said}");
                let why = "sends the code waiting, and nobody whom this agent trusts";
                assert!(said.contains(why) && said.contains("--trust"), "{said}");
            }
        }
        let drivers = world.path().join("cache/agents/far/drivers");
        let own = world.run_name();
        world.until("drivers of no run are removed", || {
            !drivers.join("old").exists() && !drivers.join(&own).exists()
        });
        agent.signal(Signal::TERM);
        agent.exit_code();
        fs::remove_dir_all(world.path().join("fleet")).unwrap();
    }
}

#[test]
fn a_library_is_loaded_only_where_code_is_accepted() {
    let Some(mut world) = world() else { return };
    let found = fs::read_dir("/usr/lib").into_iter().flatten().flatten();
    let mut found = found.map(|it| it.path().join("libsqlite3.so.0"));
    let Some(library) = found.find(|it| it.is_file()) else {
        testing::skip("there is no libsqlite3.so.0 below /usr/lib");
        return;
    };
    let copy = world.path().join("own-engine.so");
    fs::copy(library, &copy).unwrap();
    sql_experiment(&world, r#"sql = "SELECT 1""#);
    world.start_server();
    let engine = ["--engine", copy.to_str().unwrap()];
    let mut agent = foreign_agent(&world, &[]);
    let (code, said) = run(&world, &engine);
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("sends the code"), "{said}");
    agent.signal(Signal::TERM);
    agent.exit_code();
    fs::remove_dir_all(world.path().join("fleet")).unwrap();
    let _agent = foreign_agent(&world, &["--accept-code"]);
    let (code, said) = run(&world, &engine);
    assert_eq!(code, Some(0), "{said}");
    assert!(kept(&world).iter().any(|it| it.ends_with("own-engine.so")));
}

#[test]
fn files_that_do_not_fit_into_the_cache_are_refused_and_purged_runs_leave_none() {
    let Some(mut world) = world() else { return };
    database(&world, "own.db");
    sql_experiment(&world, r#"database = "own.db", sql = "SELECT count(*) FROM t""#);
    world.start_server();
    let _agent = foreign_agent(&world, &["--cache-limit", "1K"]);
    let (code, said) = run(&world, &[]);
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("the cache of this agent may have 1024"), "{said}");
    assert_eq!(kept(&world), Vec::<PathBuf>::new());

    let server = world.connected("test");
    let run = ::fleet::list(&server).unwrap().remove(0).unwrap();
    let fetch = || server.get_object(&run.objects[0], &world.path().join("fetched"));
    fetch().unwrap();
    let purged = world.pragmark(&["fleet", "purge", &world.address(), &run.run]);
    assert_eq!(purged.status.code(), Some(0), "{}", words(&purged));
    let error = fetch().unwrap_err().to_string();
    assert!(error.contains("cannot hand out an object"), "{error}");
}

#[test]
fn settings_that_no_workload_knows_open_no_file_of_the_agent() {
    let Some(mut world) = world() else { return };
    database(&world, "private.db");
    sql_experiment(&world, r#"sql = "SELECT 1""#);
    world.start_server();
    let _agent = foreign_agent(&world, &[]);
    let (code, said) = run(&world, &[]);
    assert_eq!(code, Some(0), "{said}");
    let server = world.connected("test");
    let own = ::fleet::list(&server).unwrap().remove(0).unwrap();
    let private = world.path().join("private.db").display().to_string();
    let forge = |name: &str, more: &[(&str, &str)]| {
        let mut card = own.clone();
        card.run = name.to_owned();
        card.plan.id = name.to_owned();
        card.finished = false;
        for variant in &mut card.plan.experiments[0].variants {
            let more = more.iter();
            let more = more.map(|(name, text)| ((*name).to_owned(), (*text).into()));
            variant.settings.extend(more);
        }
        ::fleet::publish(&server, &card).unwrap();
    };
    forge("one", &[("trace", "x"), ("database", &private)]);
    forge("two", &[("database", &private)]);
    forge("three", &[("cache_size", "1'; ATTACH 'x' AS x; --")]);
    for (name, why) in [
        ("one", "did not send the file"),
        ("two", "did not send the file"),
        ("three", "`cache_size` cannot be"),
    ] {
        world.until(name, || {
            let log = world.log("far.log");
            let refused = format!("takes no part in {name}: ");
            log.lines().any(|it| it.contains(&refused) && it.contains(why))
        });
    }
}

/// An object of ten letters, with its file.
fn ten(world: &World, letter: &str) -> (::fleet::Object, PathBuf) {
    let path = world.path().join(letter);
    fs::write(&path, letter.repeat(10)).unwrap();
    let content = ::fleet::Content::Data;
    let object = ::fleet::Object::of_file(letter, &path, letter, content, None);
    (object.unwrap(), path)
}

#[test]
fn a_file_that_changes_on_its_way_is_refused_and_no_other_content_has_its_hash() {
    let Some(mut world) = world() else { return };
    world.start_server();
    let server = world.connected("test");
    server.make_streams().unwrap();
    let (object, path) = ten(&world, "a");
    fs::write(&path, "b".repeat(10)).unwrap();
    let error = server.put_object(&object, &path).unwrap_err().to_string();
    assert!(error.contains("was changed meanwhile"), "{error}");
    let fetched = world.path().join("fetched");
    assert!(server.get_object(&object, &fetched).is_err());
    fs::write(&path, "a".repeat(10)).unwrap();
    server.put_object(&object, &path).unwrap();
    server.get_object(&object, &fetched).unwrap();
    assert_eq!(fs::read_to_string(&fetched).unwrap(), "aaaaaaaaaa");
}

#[test]
fn a_content_that_is_not_what_its_digest_says_is_refused_at_once() {
    let Some(mut world) = world() else { return };
    world.start_server();
    let server = world.connected("test");
    server.make_streams().unwrap();
    let (object, _) = ten(&world, "a");
    let digest: Vec<u8> = (0..32)
        .map(|it| u8::from_str_radix(&object.sha256[2 * it..2 * it + 2], 16).unwrap())
        .collect();
    let information = serde_json::json!({
        "name": object.sha256, "bucket": "PRAGMARK_OBJECTS", "nuid": "forged", "size": 10, "chunks": 1,
        "digest": format!("SHA-256={}", URL_SAFE.encode(digest))
    });
    let name = URL_SAFE.encode(&object.sha256);
    publish(&world, "$O.PRAGMARK_OBJECTS.C.forged", b"bbbbbbbbbb");
    let information = information.to_string();
    publish(&world, &format!("$O.PRAGMARK_OBJECTS.M.{name}"), information.as_bytes());
    let fetched = world.path().join("fetched");
    let error = server.get_object(&object, &fetched).unwrap_err().to_string();
    assert!(error.contains("another content"), "{error}");
}

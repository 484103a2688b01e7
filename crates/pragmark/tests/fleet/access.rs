//! Who gets in: TLS with an authority of one's own, nkeys and credentials; and no secret is written down.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use nkeys::KeyPair;
use serde_json::{Value, json};

use crate::world::{World, words, world};

/// The password of everybody.
const PASSWORD: &str = "hush-7041";

/// A run with an agent, both with these options.
fn run(world: &World, (name, file): (&str, &str)) -> (Option<i32>, String) {
    let address = world.address();
    let mut agent = world.command(&["fleet", "agent", &address, "--name", "a"]);
    let log = fs::File::create(world.path().join("a.log")).unwrap();
    agent.env(name, file).env("PRAGMARK_DRIVERS", "drivers").stderr(log);
    let _agent = world.started(&mut agent);
    let arguments = world.run_arguments(&address, &["--per", "any", "--out", "fleet"]);
    let ended = world.command(&arguments).env(name, file).output().unwrap();
    let said = format!("{}{}", words(&ended), world.log("a.log"));
    (ended.status.code(), said)
}

/// Calls openssl in the directory; false where it is not installed.
fn openssl(directory: &Path, arguments: &str) -> bool {
    let mut command = Command::new("openssl");
    let command = command.args(arguments.split(' ')).current_dir(directory);
    match command.output() {
        Ok(ended) => {
            assert!(ended.status.success(), "{}", words(&ended));
            true
        }
        Err(_) => false,
    }
}

/// An authority, and a certificate for this machine which it has signed.
fn certificates(directory: &Path) -> bool {
    let key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2";
    let own = "-subj /CN=lab -addext subjectAltName=IP:127.0.0.1";
    openssl(directory, &format!("req -x509 {key} -subj /CN=authority -keyout ca.key -out ca.crt"))
        && openssl(directory, &format!("req -new {key} {own} -keyout server.key -out server.csr"))
        && openssl(
            directory,
            "x509 -req -in server.csr -CA ca.crt -CAkey ca.key -copy_extensions copyall -days 2 -out server.crt",
        )
}

/// The configuration of a server that shows the certificate of this name.
fn tls(directory: &Path, name: &str) -> String {
    let file = |kind: &str| directory.join(format!("{name}.{kind}")).display().to_string();
    format!("tls {{ cert_file: \"{}\", key_file: \"{}\" }}", file("crt"), file("key"))
}

#[test]
fn tls_with_an_authority_of_its_own_is_used_and_checked() {
    let Some(world) = world() else { return };
    if !certificates(world.path()) {
        testing::skip("openssl is not installed");
        return;
    }
    let tls = tls(world.path(), "server");
    let mut world = world.configured(&tls).encrypted();
    world.experiment(3, 5);
    world.start_server();
    let status = |access: &[(&str, &str)]| {
        let mut command = world.command(&["fleet", "status", &world.address()]);
        let ended = command.envs(access.iter().copied()).output().unwrap();
        (ended.status.code(), words(&ended))
    };
    let (code, said) = status(&[]);
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("certificate") && said.contains("NATS_CA"), "{said}");
    let (code, said) = status(&[("NATS_CA", "none.crt")]);
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("cannot read none.crt"), "{said}");
    let (code, said) = run(&world, ("NATS_CA", "ca.crt"));
    assert_eq!(code, Some(0), "{said}");
    let mut elsewhere =
        world.command(&["fleet", "status", &format!("tls://localhost:{}", world.port)]);
    let said = words(&elsewhere.env("NATS_CA", "ca.crt").output().unwrap());
    assert!(said.contains("use an address that the certificate names"), "{said}");
}

#[test]
fn an_authority_that_is_shown_as_a_server_and_a_user_who_may_not_ask_are_named() {
    let Some(world) = world() else { return };
    if !certificates(world.path()) {
        testing::skip("openssl is not installed");
        return;
    }
    let tls = tls(world.path(), "ca");
    let silent = "authorization { users: [ { user: u, password: p, permissions: { publish: [\"other\"] } } ] }";
    for (extra, scheme, expected) in [
        (tls.as_str(), "tls", "have the authority sign one for the server"),
        (silent, "nats", "does not answer this user on JetStream"),
    ] {
        let Some(own) = self::world() else { return };
        let mut own = own.configured(extra);
        own.start_server();
        let address = format!("{scheme}://127.0.0.1:{}", own.port);
        let mut status = own.command(&["fleet", "status", &address]);
        status
            .env("NATS_USER", "u")
            .env("NATS_PASSWORD", "p")
            .env("NATS_CA", world.path().join("ca.crt"));
        let said = words(&status.output().unwrap());
        assert!(said.contains(expected), "{said}");
    }
}

#[test]
fn an_nkey_lets_in_and_another_does_not() {
    let Some(world) = world() else { return };
    let key = KeyPair::new_user();
    let users = format!("authorization {{ users: [ {{ nkey: {} }} ] }}", key.public_key());
    let mut world = world.configured(&users);
    world.experiment(3, 5);
    world.start_server();
    fs::write(world.path().join("own.nk"), key.seed().unwrap()).unwrap();
    let other = KeyPair::new_user().seed().unwrap();
    fs::write(world.path().join("other.nk"), other).unwrap();
    let mut status = world.command(&["fleet", "status", &world.address()]);
    let refused = status.env("NATS_NKEY", "other.nk").output().unwrap();
    assert_eq!(refused.status.code(), Some(3));
    assert!(words(&refused).contains("rejects these credentials"));
    let (code, said) = run(&world, ("NATS_NKEY", "own.nk"));
    assert_eq!(code, Some(0), "{said}");
    no_file_holds(&world, &key.seed().unwrap(), &["own.nk"]);
}

#[test]
fn credentials_of_an_account_let_in() {
    let Some(world) = world() else { return };
    let system = KeyPair::new_account();
    let (operator, account, user) =
        (KeyPair::new_operator(), KeyPair::new_account(), KeyPair::new_user());
    let unlimited = json!({
        "subs": -1, "data": -1, "payload": -1, "imports": -1, "exports": -1, "wildcards": true, "conn": -1,
        "leaf": -1, "mem_storage": -1, "disk_storage": -1, "streams": -1, "consumer": -1
    });
    let of_operator = json!({ "type": "operator", "version": 2 });
    let of_system = json!({ "type": "account", "version": 2 });
    let of_account = json!({ "type": "account", "version": 2, "limits": unlimited });
    let of_user = json!({ "type": "user", "version": 2, "subs": -1, "data": -1, "payload": -1 });
    let of_user = token(&account, &user, of_user);
    let accounts = [(&system, of_system), (&account, of_account)].map(|(it, claims)| {
        let token = token(&operator, it, claims);
        format!("{}: {token}", it.public_key())
    });
    let extra = format!(
        "operator: {}\nsystem_account: {}\nresolver: MEMORY\nresolver_preload: {{ {} }}",
        token(&operator, &operator, of_operator),
        system.public_key(),
        accounts.join(", ")
    );
    let mut world = world.configured(&extra);
    world.experiment(3, 5);
    world.start_server();
    let seed = user.seed().unwrap();
    let credentials = format!(
        "-----BEGIN NATS USER JWT-----\n{of_user}\n------END NATS USER JWT------\n\n\
         -----BEGIN USER NKEY SEED-----\n{seed}\n------END USER NKEY SEED------\n"
    );
    fs::write(world.path().join("lab.creds"), credentials).unwrap();
    let (code, said) = run(&world, ("NATS_CREDS", "lab.creds"));
    assert_eq!(code, Some(0), "{said}{}", world.log("server.log"));
    no_file_holds(&world, &seed, &["lab.creds"]);
}

/// A JSON web token as NATS signs them.
fn token(issuer: &KeyPair, subject: &KeyPair, nats: Value) -> String {
    let part = |value: Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let head = part(json!({ "typ": "JWT", "alg": "ed25519-nkey" }));
    let key = subject.public_key();
    let claims = json!({
        "jti": "test", "iat": 1_700_000_000, "iss": issuer.public_key(), "name": "test", "sub": key, "nats": nats
    });
    let signed = format!("{head}.{}", part(claims));
    let signature = URL_SAFE_NO_PAD.encode(issuer.sign(signed.as_bytes()).unwrap());
    format!("{signed}.{signature}")
}

#[test]
fn a_password_is_in_no_record_page_log_or_list_of_processes() {
    let Some(world) = world() else { return };
    let users = format!("authorization {{ users: [ {{ user: lab, password: {PASSWORD} }} ] }}");
    let mut world = world.configured(&users);
    world.experiment(3, 50);
    world.start_server();
    let address = world.address();
    let start = |name: &str, arguments: &[&str]| {
        let log = fs::File::create(world.path().join(name)).unwrap();
        let mut command = world.command(arguments);
        command.env("NATS_USER", "lab").env("NATS_PASSWORD", PASSWORD);
        command.env("PRAGMARK_DRIVERS", "drivers");
        world.started(command.stdout(log.try_clone().unwrap()).stderr(log))
    };
    let agent = ["fleet", "agent", &address, "--name", "a"];
    let agent = start("a.log", &agent);
    let arguments = world.run_arguments(&address, &["--per", "any", "--out", "fleet"]);
    let mut coordinator = start("run.log", &arguments);
    world.until("the run begins", || !world.trials("fleet/groups/all-machines").is_empty());
    for process in [&agent, &coordinator] {
        let line = fs::read_to_string(format!("/proc/{}/cmdline", process.id())).unwrap();
        assert!(line.contains("pragmark") && !line.contains(PASSWORD));
    }
    assert_eq!(coordinator.exit_code(), 0, "{}", world.log("run.log"));
    assert!(world.path().join("fleet/report.html").is_file());
    no_file_holds(&world, PASSWORD, &["server.conf"]);
}

/// No file of the world has this text in it, but those that are there for it.
fn no_file_holds(world: &World, secret: &str, except: &[&str]) {
    let files = all_files(world.path());
    assert!(files.len() > 20, "{files:?}");
    for file in files {
        let bytes = fs::read(&file).unwrap_or_default();
        let holds = bytes.windows(secret.len()).any(|it| it == secret.as_bytes());
        assert!(!holds || except.iter().any(|it| file.ends_with(it)), "{file:?}");
    }
}

fn all_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let files = |path: PathBuf| match path.is_dir() {
        true => all_files(&path),
        false => vec![path],
    };
    entries.flat_map(|it| files(it.path())).collect()
}

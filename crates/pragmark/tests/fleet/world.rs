//! A server, agents and coordinators as processes of their own, which tests start, kill and start again.

use std::collections::BTreeSet;
use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

/// The longest that anything may take.
const LIMIT: Duration = Duration::from_secs(240);

/// A directory with a server's configuration, a driver whose trials wait, and an experiment for it.
pub struct World {
    directory: TempDir,
    program: PathBuf,
    pub port: u16,
    server: Option<Child>,
    extra: String,
    /// Where programs reach the server, if not at its own port.
    through: Option<u16>,
    scheme: &'static str,
    /// The most bytes that the server may store.
    storage: u64,
}

/// A process that is killed when it is dropped.
pub struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Running {
    /// Kills it at once, as SIGKILL does.
    pub fn kill(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }

    /// Stops it, or lets it go on.
    pub fn signal(&self, signal: Signal) {
        let process = Pid::from_child(&self.0);
        kill_process(process, signal).unwrap();
    }

    /// Its number.
    pub fn id(&self) -> u32 {
        self.0.id()
    }

    /// Whether it still runs.
    pub fn runs(&mut self) -> bool {
        self.0.try_wait().unwrap().is_none()
    }

    /// Waits for its end.
    pub fn exit_code(&mut self) -> i32 {
        let begin = Instant::now();
        while begin.elapsed() < LIMIT {
            if let Some(status) = self.0.try_wait().unwrap() {
                return status.code().unwrap_or(-1);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("it does not end");
    }
}

/// A trial waits so long and says a figure that follows from its seed and its speed alone.
const DRIVER: &str = r#"#!/bin/sh
if [ "$1" = describe ]; then
  echo '{"name":"waiting","version":"3.0.0","source_id":"none","compile_options":[],"defaults":{}}'
  exit
fi
read -r spec
number() { echo "$spec" | sed -n "s/.*\"$1\":\([0-9]*\).*/\1/p"; }
sleep "$(number wait_ms | awk '{ print $1 / 1000 }')"
figure=$(echo "$(number seed) $(number speed)" | awk '{
  noise = substr($1, length($1) - 2) + 7 * $2
  print $2 * (1 + (noise % 101 - 50) / 2000)
}')
echo "{\"outcome\":{\"measured\":{\"metrics\":{\"steps_per_s\":$figure},\"engine\":{\"version\":\"3.0.0\",\"source_id\":\"none\"}}}}"
"#;

const MANIFEST: &str = r#"
needs = "a shell"

[[driver]]
run       = ["sh", "{folder}/driver.sh"]
workloads = ["waiting"]
name      = "waiting"
library   = "carried"
about     = "a shell script that waits"

[workloads.waiting]
about = "waiting"

[workloads.waiting.parameters.speed]
type    = "int"
min     = 1
default = 100
about   = "the figure to say"

[workloads.waiting.parameters.wait_ms]
type    = "int"
min     = 0
default = 20
about   = "how long to wait"

[workloads.waiting.metrics.steps_per_s]
unit   = "ops_per_second"
better = "higher"
about  = "the figure"
"#;

/// The program of the server; none where there is none.
pub fn nats_server() -> Option<PathBuf> {
    let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/nats/nats-server");
    let named = std::env::var_os("PRAGMARK_NATS_SERVER").map(PathBuf::from);
    let on_path = std::env::var_os("PATH").and_then(|path| {
        let mut places = std::env::split_paths(&path).map(|place| place.join("nats-server"));
        places.find(|place| place.is_file())
    });
    named.or(built.is_file().then_some(built)).or(on_path)
}

/// A port that no other test gets: below those that the system gives to clients, and in a range of this process. A port that was
/// only asked for and given back may be given to the server of another test as well.
fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    loop {
        let port = 20_000
            + (std::process::id() % 100) as u16 * 100
            + NEXT.fetch_add(1, Ordering::Relaxed) % 100;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

/// A world, unless this machine has no server.
pub fn world() -> Option<World> {
    let Some(program) = nats_server() else {
        testing::skip("there is no nats-server; see docs/fleet.md");
        return None;
    };
    let directory = tempfile::tempdir().unwrap();
    let port = free_port();
    let world = World {
        directory,
        program,
        port,
        server: None,
        extra: String::new(),
        through: None,
        scheme: "nats",
        storage: 10 << 30,
    };
    world.driver("drivers", "waiting");
    Some(world)
}

impl Drop for World {
    fn drop(&mut self) {
        self.kill_server();
    }
}

impl World {
    /// The same with more in the server's configuration.
    pub fn configured(mut self, extra: &str) -> World {
        self.extra = extra.to_owned();
        self
    }

    /// The same with programs that reach the server at another port.
    pub fn reached_through(mut self, port: u16) -> World {
        self.through = Some(port);
        self
    }

    /// The same with a server that may store so many bytes.
    pub fn with_storage(mut self, bytes: u64) -> World {
        self.storage = bytes;
        self
    }

    /// The same with programs that demand TLS.
    pub fn encrypted(mut self) -> World {
        self.scheme = "tls";
        self
    }

    /// Writes a driver, and a workload of the same name, into a directory of drivers.
    pub fn driver(&self, directory: &str, name: &str) {
        let folder = self.path().join(directory).join(name);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("driver.sh"), DRIVER).unwrap();
        fs::write(folder.join("driver.toml"), MANIFEST.replace("waiting", name)).unwrap();
    }

    /// Where everything is.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// The address of the server.
    pub fn address(&self) -> String {
        let port = self.through.unwrap_or(self.port);
        format!("{}://127.0.0.1:{port}", self.scheme)
    }

    /// Starts the server with the storage that it had before, and waits until it answers.
    pub fn start_server(&mut self) {
        let config = format!(
            "listen: \"127.0.0.1:{}\"\njetstream {{ store_dir: \"{}\", sync_interval: always, max_file_store: {} }}\n{}",
            self.port,
            self.path().join("jetstream").display(),
            self.storage,
            self.extra
        );
        let file = self.path().join("server.conf");
        fs::write(&file, config).unwrap();
        let log = fs::File::options()
            .create(true)
            .append(true)
            .open(self.path().join("server.log"))
            .unwrap();
        let mut server = Command::new(&self.program)
            .arg("-c")
            .arg(&file)
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        let begin = Instant::now();
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            let runs = server.try_wait().unwrap().is_none();
            assert!(runs && begin.elapsed() < LIMIT, "{}", self.log("server.log"));
            std::thread::sleep(Duration::from_millis(20));
        }
        self.server = Some(server);
    }

    /// Kills the server as SIGKILL does.
    pub fn kill_server(&mut self) {
        if let Some(mut server) = self.server.take() {
            let _ = server.kill();
            let _ = server.wait();
        }
    }

    /// Writes an experiment with so many rounds.
    pub fn experiment(&self, rounds: u32, wait_ms: u32) {
        let text = format!(
            r#"
id       = "waits"
question = "Does it wait?"
workload = "waiting"
base     = {{ driver = "waiting", wait_ms = {wait_ms} }}
metric   = "steps_per_s"

[factors]
speed = [100, 200]

[design]
kind     = "one-at-a-time"
baseline = {{ speed = 100 }}
stopping = {{ rounds = {rounds}, max_rounds = {rounds} }}

[[claims]]
id       = "w-1"
says     = "twice the speed is at least one and a half times as fast"
ratio    = {{ of = {{ speed = 200 }}, to = {{ speed = 100 }} }}
at_least = 1.5
published = 2.0
"#
        );
        fs::write(self.path().join("waits.toml"), text).unwrap();
    }

    /// The program with these arguments.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pragmark"));
        command
            .args(arguments)
            .current_dir(self.path())
            .env("PRAGMARK_CACHE", self.path().join("cache"))
            .stdin(Stdio::null());
        command
    }

    /// Runs the program to its end.
    pub fn pragmark(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Starts the program; what it prints goes to a file of this name.
    pub fn start(&self, log: &str, arguments: &[&str]) -> Running {
        let file =
            fs::File::options().create(true).append(true).open(self.path().join(log)).unwrap();
        let child = self.command(arguments).stdout(file.try_clone().unwrap()).stderr(file).spawn();
        Running(child.unwrap())
    }

    /// Starts a command that was made by [`World::command`].
    pub fn started(&self, command: &mut Command) -> Running {
        Running(command.spawn().unwrap())
    }

    /// A connection to the server by this process.
    pub fn connected(&self, name: &str) -> ::fleet::Server {
        let address = self.address().parse().unwrap();
        let waiting = std::sync::Arc::new(|_| {});
        let access = ::fleet::Access::default();
        ::fleet::Server::connect(&address, &access, name, waiting, Default::default()).unwrap()
    }

    /// Starts an agent with more options.
    pub fn agent(&self, name: &str, options: &[&str]) -> Running {
        let directory = format!("data-{name}");
        fs::create_dir_all(self.path().join(&directory)).unwrap();
        let address = self.address();
        let usual = ["fleet", "agent", &address, "--name", name, "--dir", &directory];
        let log = self.path().join(format!("{name}.log"));
        let log = fs::File::options().create(true).append(true).open(log).unwrap();
        // Drivers of an agent's own stand in for an option, which the variable is for users.
        let (drivers, options) = match options.iter().position(|option| *option == "--drivers") {
            Some(at) => (options[at + 1], [&options[..at], &options[at + 2..]].concat()),
            None => ("drivers", options.to_vec()),
        };
        let mut command = self.command(&[&usual[..], &options].concat());
        command.env("PRAGMARK_DRIVERS", drivers);
        self.started(command.stdout(log.try_clone().unwrap()).stderr(log))
    }

    /// Starts an agent whose clock is three hours late; none where the library for that is not installed.
    pub fn late_agent(&self, name: &str, options: &[&str]) -> Option<Running> {
        let folders = fs::read_dir("/usr/lib").into_iter().flatten().flatten();
        let mut libraries = folders.map(|it| it.path().join("faketime/libfaketimeMT.so.1"));
        let Some(faketime) = libraries.find(|it| it.is_file()) else {
            testing::skip("libfaketime is not installed");
            return None;
        };
        let address = self.address();
        let mut late =
            self.command(&[&["fleet", "agent", &address, "--name", name], options].concat());
        late.env("PRAGMARK_DRIVERS", "drivers")
            .env("LD_PRELOAD", faketime)
            .env("FAKETIME", "-3h")
            .env("FAKETIME_DONT_FAKE_MONOTONIC", "1")
            .stderr(fs::File::create(self.path().join("late.log")).unwrap());
        Some(self.started(&mut late))
    }

    /// The arguments of a run over the fleet.
    pub fn run_arguments<'a>(&self, address: &'a str, more: &[&'a str]) -> Vec<&'a str> {
        let usual = [
            "run", "waits.toml", "--drivers", "drivers", "--fleet", address, "--seed", "7",
            "--probe", "0", "--no-tiers",
        ];
        let patience: &[&str] = match more.contains(&"--patience") {
            true => &[],
            false => &["--patience", "3s"],
        };
        [&usual, patience, more].concat()
    }

    /// What a process has printed.
    pub fn log(&self, name: &str) -> String {
        fs::read_to_string(self.path().join(name)).unwrap_or_default()
    }

    /// The name of the run in the folder `fleet`.
    pub fn run_name(&self) -> String {
        let text = self.log("fleet/fleet.json");
        let chosen: Value = serde_json::from_str(&text).unwrap();
        chosen["card"]["run"].as_str().unwrap().to_owned()
    }

    /// The trials in the folder of a run.
    pub fn trials(&self, folder: &str) -> Vec<Value> {
        let text = fs::read_to_string(self.path().join(folder).join("outcomes.jsonl"));
        let text = text.unwrap_or_default();
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        let lines = whole.lines().skip(1);
        lines.map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The same experiment on this machine alone, in the folder `local`.
    pub fn run_locally(&self) {
        let run = ["run", "waits.toml", "--drivers", "drivers", "--seed", "7"];
        let more = ["--probe", "0", "--no-tiers", "--out", "local"];
        let ended = self.pragmark(&[&run[..], &more].concat());
        assert_eq!(ended.status.code(), Some(0), "{}", words(&ended));
    }

    /// Keeps so many trials of a run as if nothing had disturbed them: blocks that were are dropped from estimates, and that
    /// depends on the moment.
    pub fn keep_undisturbed(&self, folder: &str, trials: usize) {
        let path = self.path().join(folder).join("outcomes.jsonl");
        let text = fs::read_to_string(&path).unwrap();
        let undisturbed = |line: &str| {
            let mut record: Value = serde_json::from_str(line).unwrap();
            if let Some(covariates) = record.get_mut("covariates") {
                *covariates = serde_json::json!({ "duration_ns": 1 });
            }
            format!("{record}\n")
        };
        let kept: String = text.lines().take(1 + trials).map(undisturbed).collect();
        fs::write(&path, kept).unwrap();
    }

    /// Waits until something holds.
    pub fn until(&self, what: &str, holds: impl Fn() -> bool) {
        let begin = Instant::now();
        while !holds() {
            assert!(begin.elapsed() < LIMIT, "never: {what}\n{}", self.log("run.log"));
            std::thread::sleep(Duration::from_millis(30));
        }
    }
}

/// The essences of at least so many trials in the order of the design, each of which is there once. There are more where blocks
/// were disturbed, which are measured again in rounds of their own.
pub fn each_once(trials: &[Value], least: usize) -> Vec<String> {
    let mut essences: Vec<String> = trials.iter().map(essence).collect();
    let different: BTreeSet<&String> = essences.iter().collect();
    assert_eq!(different.len(), essences.len(), "counted twice: {essences:?}");
    assert!(essences.len() >= least, "lost: {essences:?}");
    essences.truncate(least);
    essences
}

/// A trial without what differs from one machine and moment to the next.
pub fn essence(trial: &Value) -> String {
    let of = |name: &str| trial[name].to_string();
    let parts = ["purpose", "experiment", "round", "block", "position", "variant", "role"];
    let place: Vec<String> = parts.iter().map(|name| of(name)).collect();
    let metrics = &trial["outcome"]["measured"]["metrics"]["steps_per_s"];
    format!("{} {metrics}", place.join(" "))
}

/// The estimates of a run as a table.
pub fn estimates(world: &World, folder: &str) -> Vec<Vec<String>> {
    let exported = world.pragmark(&["report", folder, "--format", "variants-csv"]);
    without_place(&words(&exported))
}

/// A table without the columns that say where and how long.
fn without_place(table: &str) -> Vec<Vec<String>> {
    let mut lines = table.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let heading = lines.next().unwrap_or_default();
    let is_kept = |name: &str| !["run", "directory", "wall_s"].contains(&name);
    let keep: Vec<usize> = (0..heading.len()).filter(|it| is_kept(heading[*it])).collect();
    assert!(heading.len() > 5, "{table}");
    lines
        .map(|line| keep.iter().filter_map(|it| line.get(*it)).map(|it| (*it).to_owned()).collect())
        .collect()
}

/// What a process printed, in words.
pub fn words(output: &Output) -> String {
    let (out, err) = (&output.stdout, &output.stderr);
    format!("{}{}", String::from_utf8_lossy(out), String::from_utf8_lossy(err))
}

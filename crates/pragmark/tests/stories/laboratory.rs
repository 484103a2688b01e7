//! A place to run pragmark in, and the questions that stories ask about it.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

/// A directory with a small experiment, in which pragmark is run.
pub struct Laboratory {
    directory: TempDir,
    /// Whether its runs have safety tiers.
    tiers: bool,
}

/// A small experiment: four variants, a few milliseconds each, two rounds.
pub const SMALL: &str = r#"
id = "small"
question = "How many rows should one INSERT carry?"
workload = "bulk-insert"
base = { rows = 2_000, synchronous = "off" }
factors = { rows_per_statement = [1, 5, 10] }
[design]
kind = "one-at-a-time"
baseline = { rows_per_statement = 1 }
stopping = { rounds = 3, max_rounds = 3 }
[[claims]]
id = "small-1"
says = "five rows to a statement make no larger database than one"
ratio = { of = { rows_per_statement = 5 }, to = { rows_per_statement = 1 }, metric = "db_bytes" }
at_most = 1.0
exact = true
published = 1.0
"#;

/// Trials of [`SMALL`] on an undisturbed machine: two variants, baseline and A/A check in three rounds, and
/// a counting trial for each of the three variants. Where other work disturbs blocks, they are dropped and
/// measured again, so there may be more.
pub const SMALL_TRIALS: usize = 15;

impl Laboratory {
    /// With the small experiment as `small.toml`.
    pub fn new() -> Laboratory {
        let laboratory = Laboratory { directory: tempfile::tempdir().unwrap(), tiers: false };
        laboratory.write("small.toml", SMALL);
        laboratory
    }

    /// The same, with safety tiers in its runs.
    pub fn with_tiers() -> Laboratory {
        Laboratory::new().and_tiers()
    }

    /// With safety tiers from here on.
    pub fn and_tiers(self) -> Laboratory {
        Laboratory { tiers: true, ..self }
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    pub fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path().join(name), text).unwrap();
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path().join(name)).unwrap()
    }

    /// Runs pragmark to its end.
    pub fn pragmark(&self, arguments: &[&str]) -> Answer {
        Answer(self.command(arguments).output().unwrap())
    }

    /// Runs pragmark to its end in a directory of the laboratory.
    pub fn pragmark_in(&self, directory: &str, arguments: &[&str]) -> Answer {
        let mut command = self.command(arguments);
        command.current_dir(self.path().join(directory));
        Answer(command.output().unwrap())
    }

    /// Runs pragmark to its end with these variables in its environment.
    pub fn pragmark_with_variables(
        &self,
        variables: &[(&str, &str)],
        arguments: &[&str],
    ) -> Answer {
        let mut command = self.command(arguments);
        command.envs(variables.iter().copied());
        Answer(command.output().unwrap())
    }

    /// Runs pragmark to its end in a shell that has set the limits of open files (`-Sn 100`).
    pub fn pragmark_with_limit(&self, limit: &str, arguments: &[&str]) -> Answer {
        let mut command = Command::new("/bin/sh");
        let script = format!("ulimit {limit} && exec \"$0\" \"$@\"");
        command
            .args(["-c", &script, env!("CARGO_BIN_EXE_pragmark")])
            .args(arguments)
            .args(match arguments.first() {
                Some(&"run") => &["--probe", "0"][..],
                _ => &[],
            })
            .current_dir(self.path())
            .stdin(Stdio::null());
        Answer(command.output().unwrap())
    }

    /// Starts pragmark and leaves it running.
    pub fn start(&self, arguments: &[&str]) -> Child {
        self.command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// Returns pragmark with these arguments.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pragmark"));
        command
            .args(arguments)
            .current_dir(self.path())
            // What the user of this machine has built or written is no business of the tests.
            .env("PRAGMARK_CACHE", self.path().join("cache"))
            .env("XDG_DATA_HOME", self.path().join("data"))
            .env_remove("PRAGMARK_DRIVERS")
            .stdin(Stdio::null());
        // Few stories are about the noise of the machine, and looking at it takes seconds.
        let begins_a_run = arguments.first() == Some(&"run") && !arguments.contains(&"--resume");
        if begins_a_run && !arguments.contains(&"--probe") {
            command.args(["--probe", "0"]);
        }
        // Nor are many about safety, and measuring a tier takes seconds.
        if begins_a_run && !self.tiers {
            command.arg("--no-tiers");
        }
        command
    }

    /// The whole trials recorded in a run's folder, as JSON.
    pub fn trials(&self, run: &str) -> Vec<Value> {
        self.trials_for("rounds", run)
    }

    /// The whole trials of a run's record that have this purpose.
    pub fn trials_for(&self, purpose: &str, run: &str) -> Vec<Value> {
        let text = std::fs::read_to_string(self.path().join(run).join("outcomes.jsonl"))
            .unwrap_or_default();
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        whole
            .lines()
            .skip(1)
            .map(|line| serde_json::from_str::<Value>(line).unwrap())
            .filter(|trial| trial["purpose"] == purpose)
            .collect()
    }

    /// Processes that have a database of this laboratory open.
    pub fn processes(&self) -> Vec<String> {
        let needle = self.path().join("pragmark-work");
        let needle = needle.to_string_lossy().into_owned();
        let processes = std::fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
        processes
            .filter(|process| {
                let descriptors =
                    std::fs::read_dir(process.join("fd")).into_iter().flatten().flatten();
                descriptors.filter_map(|descriptor| std::fs::read_link(descriptor.path()).ok()).any(
                    |target| {
                        target.to_string_lossy().starts_with(&needle)
                            && target.to_string_lossy().contains("test.db")
                    },
                )
            })
            .map(|process| process.display().to_string())
            .collect()
    }

    /// Temporary directories of trials that are still there.
    pub fn left_over(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.path()).unwrap().map(|entry| entry.unwrap().path());
        entries.filter(|path| path.to_string_lossy().contains("pragmark-work")).collect()
    }
}

/// Waits until the condition holds, and fails where it takes too long.
pub fn wait_until(condition: impl Fn() -> bool) {
    let patience = Instant::now() + Duration::from_secs(60);
    while !condition() {
        assert!(Instant::now() < patience, "waited too long");
        sleep(Duration::from_millis(20));
    }
}

/// What pragmark answered.
pub struct Answer(pub Output);

/// Runs a command to its end.
pub fn answer_of(command: &mut Command) -> Answer {
    Answer(command.stdin(Stdio::null()).output().unwrap())
}

impl Answer {
    pub fn code(&self) -> i32 {
        self.0.status.code().unwrap_or(-1)
    }

    pub fn stdout(&self) -> String {
        String::from_utf8_lossy(&self.0.stdout).into_owned()
    }

    pub fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.0.stderr).into_owned()
    }

    /// The output as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.0.stdout).expect("JSON")
    }

    /// Checks the exit code and shows everything where it differs.
    #[track_caller]
    pub fn exits(self, code: i32) -> Answer {
        assert_eq!(self.code(), code, "\n{}\n{}", self.stdout(), self.stderr());
        self
    }

    /// Checks that all of these stand in the error output.
    #[track_caller]
    pub fn complains(self, parts: &[&str]) -> Answer {
        for part in parts {
            assert!(self.stderr().contains(part), "`{part}` is not in:\n{}", self.stderr());
        }
        self
    }

    /// Checks that all of these stand in the output.
    #[track_caller]
    pub fn says(self, parts: &[&str]) -> Answer {
        for part in parts {
            assert!(self.stdout().contains(part), "`{part}` is not in:\n{}", self.stdout());
        }
        self
    }
}

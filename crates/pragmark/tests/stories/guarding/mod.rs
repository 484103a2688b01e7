//! A team guards its project: the example shop, in a git repository of its own.

mod action;
mod sides;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::laboratory::{Answer, answer_of};

/// A git repository with the example shop, or with a project of a few files.
struct Project {
    directory: TempDir,
}

fn example() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/guard")
}

fn run(program: &str, arguments: &[&str], directory: &Path) -> String {
    let output = Command::new(program).args(arguments).current_dir(directory).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{program} {arguments:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

impl Project {
    /// The example shop; nothing where a program that it needs is not here.
    fn shop() -> Option<Project> {
        let has = |program: &str, arguments: &[&str]| {
            let output = Command::new(program).args(arguments).output();
            output.is_ok_and(|output| output.status.success())
        };
        if !has("git", &["--version"]) || !has("python3", &["-c", "import sqlite3"]) {
            testing::skip("there is no git, or no Python with sqlite3");
            return None;
        }
        let directory = tempfile::tempdir().unwrap();
        let shop = example().join("shop").display().to_string();
        run("cp", &["-r", &format!("{shop}/."), "."], directory.path());
        let project = Project { directory };
        project.git(&["init", "--quiet", "--initial-branch", "main"]);
        project.commit("The shop");
        Some(project)
    }

    /// The shop with a commit on top that makes this change.
    fn with(change: &str) -> Option<Project> {
        let project = Project::shop()?;
        project.apply(change);
        Some(project)
    }

    /// A repository with a new driver in Python, and budgets of its own metric.
    fn driver() -> Option<Project> {
        let project = Project::shop()?;
        let mut new = Command::new(env!("CARGO_BIN_EXE_pragmark"));
        new.args(["new", "driver", "orders", "python"]);
        answer_of(new.current_dir(project.path())).exits(0);
        project.write(
            "pragmark-guard.toml",
            "[work]\nexperiment = \"orders.toml\"\ndrivers = \"orders\"\nsettings = { orders = 10, synchronous = \"off\" }\n[budgets]\norders_per_s = \">= 0.001\"\n[limits]\np50_us = \"<= 60 s\"\n",
        );
        project.commit("Orders");
        Some(project)
    }

    /// Puts a line into the work of the driver.
    fn add_to_driver(&self, line: &str) {
        let driver = self.path().join("orders/work.py");
        let text = std::fs::read_to_string(&driver).unwrap();
        let start = "        before = time.perf_counter()\n";
        assert!(text.contains(start));
        let changed = text.replacen(start, &format!("{start}        {line}\n"), 1);
        std::fs::write(driver, changed).unwrap();
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    fn git(&self, arguments: &[&str]) -> String {
        let author =
            ["-c", "user.name=A", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"];
        run("git", &[&author[..], arguments].concat(), self.path())
    }

    fn commit(&self, message: &str) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--message", message]);
    }

    /// Commits one of the example's changes.
    fn apply(&self, change: &str) {
        let patch = example().join("changes").join(change).display().to_string();
        self.git(&["apply", &patch]);
        self.commit(change);
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path().join(name), text).unwrap();
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pragmark"));
        command
            .arg("guard")
            .args(arguments)
            .current_dir(self.path())
            .env("PRAGMARK_CACHE", self.path().join("../none"));
        command
    }

    fn guard(&self, arguments: &[&str]) -> Answer {
        answer_of(&mut self.command(arguments))
    }

    /// Checks that nothing is left of the comparison.
    fn is_clean(&self) {
        let worktrees = self.git(&["worktree", "list"]);
        assert_eq!(worktrees.lines().count(), 1, "{worktrees}");
        assert!(!self.path().join(".git/pragmark-guard").exists());
        assert_eq!(self.git(&["status", "--porcelain"]), "");
    }
}

const LAST: [&str; 3] = ["--base", "HEAD~1", "--counters-only"];

#[test]
fn a_dropped_index_fails_with_its_statement_and_both_plans() {
    let Some(project) = Project::with("drop-index.patch") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("guarded");
    project.guard(&[&LAST[..], &["--out", out.to_str().unwrap()]].concat()).exits(4).says(&[
        "Guard: failed",
        "plan of orders_of_customer",
        "SEARCH orders USING INDEX orders_customer (customer=?)",
        "SCAN orders",
    ]);
    let read = |name: &str| std::fs::read_to_string(out.join(name)).unwrap();
    assert!(read("junit.xml").contains("<failure message=\"allowed: no new SCAN\">was: SEARCH"));
    assert!(read("summary.md").starts_with("# Guard: failed"));
    assert!(read("report.html").contains("orders_of_customer"));
    let json: serde_json::Value = serde_json::from_str(&read("guard.json")).unwrap();
    assert_eq!(json["gate"]["checks"][0]["status"], "failed");
    run(
        "python3",
        &["-c", "import sys, xml.dom.minidom as m; m.parse(sys.argv[1])", "junit.xml"],
        &out,
    );
    project.is_clean();
}

#[test]
fn a_guarded_comparison_is_a_run_that_other_commands_read() {
    let Some(project) = Project::with("drop-index.patch") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run").display().to_string();
    let times = ["--base", "HEAD~1", "--trial", "30ms", "--time-limit", "1s"];
    project.guard(&[&times[..], &["--out", &run]].concat()).exits(4);
    project.is_clean();
    let pragmark = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pragmark"));
        answer_of(command.args(arguments)).exits(0)
    };
    let report = pragmark(&["report", &run]).says(&[
        "Does the new side do more work than the base?",
        "Is the new side slower than the base?",
        "base: HEAD~1 at ",
        "Query plans that differ",
    ]);
    // Blocks of both sides alone hold none.
    assert!(!report.stdout().contains("A/A check"));
    pragmark(&["compare", &run, &run]).says(&["VM steps", "no statement has another plan"]);
    pragmark(&["runs", "history", &run]).says(&["History of 1 runs", "counters", "times"]);
    let csv = pragmark(&["report", &run, "--format", "csv"]);
    csv.says(&["counters,rounds,0,base,baseline,measured,,vm_steps,"]);
    let export = folder.path().join("export.json").display().to_string();
    pragmark(&["report", &run, "--format", "json", "--out", &export]);
    project.git(&["notes", "--ref=pragmark", "add", "--file", &export]);
    let mut history = Command::new(env!("CARGO_BIN_EXE_pragmark"));
    history.args(["runs", "history", "--notes", "pragmark"]);
    answer_of(history.current_dir(project.path())).exits(0).says(&["History of 1 runs", "times"]);
    let page = std::fs::read_to_string(format!("{run}/report.html")).unwrap();
    assert!(page.contains("Guard: failed"));
    let plan = std::fs::read_to_string(format!("{run}/run.json")).unwrap();
    assert!(plan.contains("\"database\": \"new.db\""), "{plan}");
    project.guard(&[&times[..], &["--out", &run]].concat()).exits(3).complains(&["--out"]);
}

#[test]
fn an_added_index_passes_and_is_less_work() {
    let Some(project) = Project::with("add-index.patch") else {
        return;
    };
    let answer = project.guard(&LAST).exits(0);
    answer.says(&["Guard: passed", "1 of 4 statements needs less work: customers_of_city"]);
    project.is_clean();
}

#[test]
fn a_change_of_nothing_passes_without_any_difference() {
    let Some(project) = Project::with("nothing.patch") else {
        return;
    };
    let answer = project.guard(&LAST).exits(0);
    answer.says(&["4 of 4 statements have the same plan and unchanged counters"]);
    project.is_clean();
}

#[test]
fn syncs_that_are_turned_off_fail_for_safety_although_there_is_less_work() {
    let Some(project) = Project::with("synchronous-off.patch") else {
        return;
    };
    let answer = project.guard(&LAST).exits(4);
    answer.says(&[
        "safety: synchronous was FULL in the base and is OFF in the new side",
        "can corrupt the database",
        "40 → 0",
    ]);
    let file = project.path().join("pragmark-guard.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("may-lose = \"nothing\"", "may-lose = \"anything\""))
        .unwrap();
    project.guard(&LAST).exits(0);
}

#[test]
fn a_killed_guard_leaves_a_worktree_that_the_next_one_removes() {
    let Some(project) = Project::with("nothing.patch") else {
        return;
    };
    let file = project.path().join("pragmark-guard.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    let slow = text.replace("python3 shop.py migrate", "sleep 2; python3 shop.py migrate");
    std::fs::write(&file, slow).unwrap();
    project.commit("A slow build");
    let mut child = project.command(&["--base", "HEAD", "--counters-only"]).spawn().unwrap();
    let start = Instant::now();
    // Git may fail while it makes the worktree.
    let mut list = Command::new("git");
    list.args(["worktree", "list"]).current_dir(project.path());
    while list.output().unwrap().stdout.split(|byte| *byte == b'\n').count() < 3 {
        assert!(start.elapsed() < Duration::from_secs(60), "no worktree");
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(project.path().join(".git/pragmark-guard").exists());
    project.guard(&LAST).exits(0);
    project.is_clean();
}

#[test]
fn a_side_that_does_not_build_is_named_with_what_it_says() {
    let Some(project) = Project::shop() else {
        return;
    };
    project.write("migrations/004-broken.sql", "CREATE INDEX broken ON nowhere(a);");
    project.commit("Broken");
    let answer = project.guard(&LAST).exits(3);
    answer.complains(&[
        "the new side (working directory) was not built",
        "no such table: main.nowhere",
    ]);
    let answer = project.guard(&["--base", "HEAD", "--new", "HEAD~1"]).exits(3);
    answer.complains(&["the base side (HEAD at ", "was not built"]);
    project.is_clean();
}

#[test]
fn mistakes_are_refused_before_anything_is_built() {
    let Some(project) = Project::shop() else {
        return;
    };
    project.guard(&["--base", "nowhere"]).exits(3).complains(&["no revision nowhere", "git fetch"]);
    project.guard(&[]).exits(2).complains(&["nothing to compare with", "--base origin/main"]);
    project.write("pragmark-guard.toml", "work = { script = \"a\" }");
    project.guard(&["--base", "HEAD"]).exits(2).complains(&["pragmark-guard.toml", "script"]);
    project.guard(&["--config", "none.toml", "--base", "HEAD"]).exits(3).complains(&["none.toml"]);
}

#[test]
fn a_budget_of_time_is_decided_or_said_to_be_undecided() {
    let Some(project) = Project::with("nothing.patch") else {
        return;
    };
    let times = |budget: &str, limit: &str, more: &[&str]| {
        let text = format!(
            "[work]\nbuild = \"python3 shop.py migrate\"\nscripts = \"queries.sql\"\nexecutions = 1\npragmas = \"pragmas.sql\"\n[budgets]\ntxns_per_s = \"{budget}\"\n"
        );
        project.write("pragmark-guard.toml", &text);
        let usual = ["--base", "HEAD", "--trial", "30ms", "--time-limit", limit];
        project.guard(&[&usual[..], more].concat())
    };
    // No noise is that large.
    times(">= 0.000001", "60s", &[]).exits(0).says(&["Transactions per", "blocks", "passed"]);
    // Identical code is never proved to be a million times as fast.
    let failed = times(">= 1000000", "60s", &[]).exits(4);
    failed.says(&["Guard: failed", "confirmed on fresh"]);
    // Nor that it is not slower at all.
    times(">= 1", "1s", &["--undecided", "ok"]).exits(0).says(&["Guard: undecided"]);
}

#[test]
fn a_driver_of_the_projects_own_is_guarded_by_its_own_metric() {
    let Some(project) = Project::driver() else {
        return;
    };
    let base = ["--base", "HEAD", "--time-limit", "60s"];
    project
        .guard(&base)
        .exits(0)
        .says(&["Orders per second", ">= 0.001", "<= 60 s", "Guard: passed"]);
    project.add_to_driver("time.sleep(0.02)");
    let file = project.path().join("pragmark-guard.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("0.001", "0.5")).unwrap();
    project.guard(&base).exits(4).says(&["Orders per second", "confirmed on fresh"]);
    let counters = [&base[..], &["--counters-only"]].concat();
    project.guard(&counters).exits(3).complains(&["nothing to check"]);
    project.add_to_driver("raise SystemExit('no orders today')");
    project
        .guard(&base)
        .exits(3)
        .complains(&["the new side cannot be measured", "no orders today"]);
}

#[test]
fn an_included_experiment_is_guarded_by_its_counters() {
    let Some(project) = Project::shop() else {
        return;
    };
    project.write(
        "pragmark-guard.toml",
        "[work]\nexperiment = \"inserts.toml\"\n[limits]\nsyncs = \"<= 0\"\n",
    );
    project.write(
        "inserts.toml",
        "id = \"inserts\"\nquestion = \"?\"\nworkload = \"bulk-insert\"\nbase = { rows = 500 }\n[factors]\nsynchronous = [\"off\", \"full\"]\n[design]\nkind = \"one-at-a-time\"\nbaseline = { synchronous = \"off\" }\n",
    );
    project.commit("Inserts");
    let arguments = ["--base", "HEAD", "--counters-only"];
    project.guard(&arguments).exits(0).says(&["Syncs", "<= 0"]);
    let text = std::fs::read_to_string(project.path().join("inserts.toml")).unwrap();
    let synced = text.replace("{ synchronous = \"off\" }", "{ synchronous = \"full\" }");
    project.write("inserts.toml", &synced);
    let failed = project.guard(&arguments).exits(4);
    failed.says(&["✗ Syncs: ", "allowed is <= 0 (0 → "]);
}

//! A team guards its project: the example shop, in a git repository of its own.

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
    let output = Command::new(program)
        .args(arguments)
        .current_dir(directory)
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(
        output.status.success(),
        "{program} {arguments:?}: {}",
        text(&output.stderr)
    );
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

    fn path(&self) -> &Path {
        self.directory.path()
    }

    fn git(&self, arguments: &[&str]) -> String {
        let author = [
            "-c",
            "user.name=A",
            "-c",
            "user.email=a@example.com",
            "-c",
            "commit.gpgsign=false",
        ];
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
    let file = |name: &str| folder.path().join(name).display().to_string();
    let forms = [
        "--junit",
        &file("junit.xml"),
        "--markdown",
        &file("comment.md"),
        "--json",
        &file("all.json"),
        "--html",
        &file("page.html"),
    ];
    project
        .guard(&[&LAST[..], &forms].concat())
        .exits(4)
        .says(&[
            "Guard: failed",
            "plan of orders_of_customer",
            "SEARCH orders USING INDEX orders_customer (customer=?)",
            "SCAN orders",
        ]);
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    assert!(read("junit.xml").contains("<failure message=\"allowed: no new SCAN\">was: SEARCH"));
    assert!(read("comment.md").starts_with("# Guard: failed"));
    assert!(read("page.html").contains("orders_of_customer"));
    let json: serde_json::Value = serde_json::from_str(&read("all.json")).unwrap();
    assert_eq!(json["gate"]["checks"][0]["status"], "failed");
    run(
        "python3",
        &[
            "-c",
            "import sys, xml.dom.minidom as m; m.parse(sys.argv[1])",
            &file("junit.xml"),
        ],
        folder.path(),
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
    project
        .guard(&[&times[..], &["--out", &run]].concat())
        .exits(4);
    project.is_clean();
    let pragmark = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pragmark"));
        answer_of(command.args(arguments)).exits(0)
    };
    pragmark(&["report", &run]).says(&[
        "Does the new side do more work than the base?",
        "Is the new side slower than the base?",
        "base: HEAD~1 at ",
        "Query plans that differ",
    ]);
    pragmark(&["compare", &run, &run]).says(&["VM steps", "no statement has another plan"]);
    pragmark(&["history", &run]).says(&["History of 1 runs", "counters", "times"]);
    let csv = pragmark(&["export", &run]);
    csv.says(&["counters,rounds,0,base,baseline,measured,,vm_steps,"]);
    let page = std::fs::read_to_string(format!("{run}/report.html")).unwrap();
    assert!(page.contains("Guard: failed"));
    let plan = std::fs::read_to_string(format!("{run}/run.json")).unwrap();
    assert!(plan.contains("\"database\": \"new.db\""), "{plan}");
    project
        .guard(&[&times[..], &["--out", &run]].concat())
        .exits(3)
        .complains(&["--out"]);
}

#[test]
fn an_added_index_passes_and_is_less_work() {
    let Some(project) = Project::with("add-index.patch") else {
        return;
    };
    let answer = project.guard(&LAST).exits(0);
    answer.says(&[
        "Guard: passed",
        "1 of 4 statements need less work: customers_of_city",
    ]);
    project.is_clean();
}

#[test]
fn a_change_of_nothing_passes_without_any_difference() {
    let Some(project) = Project::with("nothing.patch") else {
        return;
    };
    let answer = project.guard(&LAST).exits(0);
    answer.says(&["4 of 4 statements have the same plan and no counter that changed"]);
    project.is_clean();
}

#[test]
fn syncs_that_are_turned_off_fail_for_safety_although_there_is_less_work() {
    let Some(project) = Project::with("synchronous-off.patch") else {
        return;
    };
    let answer = project.guard(&LAST).exits(4);
    answer.says(&[
        "safety: the new settings lose more than those of the base",
        "40 → 0",
    ]);
    let file = project.path().join("pragmark-guard.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(
        &file,
        text.replace("may-lose = \"nothing\"", "may-lose = \"anything\""),
    )
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
    let slow = text.replace(
        "python3 shop.py migrate",
        "sleep 2; python3 shop.py migrate",
    );
    std::fs::write(&file, slow).unwrap();
    project.commit("A slow build");
    let mut child = project
        .command(&["--base", "HEAD", "--counters-only"])
        .spawn()
        .unwrap();
    let start = Instant::now();
    while project.git(&["worktree", "list"]).lines().count() < 2 {
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
    project.write(
        "migrations/004-broken.sql",
        "CREATE INDEX broken ON nowhere(a);",
    );
    project.commit("Broken");
    let answer = project.guard(&LAST).exits(3);
    answer.complains(&[
        "the new side (working directory) was not built",
        "no such table: main.nowhere",
    ]);
    let answer = project
        .guard(&["--base", "HEAD", "--new", "HEAD~1"])
        .exits(3);
    answer.complains(&["the base side (HEAD at ", "was not built"]);
    project.is_clean();
}

#[test]
fn mistakes_are_refused_before_anything_is_built() {
    let Some(project) = Project::shop() else {
        return;
    };
    project
        .guard(&["--base", "nowhere"])
        .exits(3)
        .complains(&["no revision nowhere", "git fetch"]);
    project
        .guard(&[])
        .exits(2)
        .complains(&["nothing to compare with", "--base origin/main"]);
    project.write("pragmark-guard.toml", "work = { script = \"a\" }");
    project
        .guard(&["--base", "HEAD"])
        .exits(2)
        .complains(&["pragmark-guard.toml", "script"]);
    project
        .guard(&["--config", "none.toml", "--base", "HEAD"])
        .exits(3)
        .complains(&["none.toml"]);
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
    times(">= 0.000001", "60s", &[])
        .exits(0)
        .says(&["Transactions per", "blocks", "passed"]);
    // Identical code is never proved to be a million times as fast.
    let failed = times(">= 1000000", "60s", &[]).exits(4);
    failed.says(&["Guard: failed", "confirmed on fresh blocks"]);
    // Nor that it is not slower at all.
    times(">= 1", "1s", &["--undecided", "ok"])
        .exits(0)
        .says(&["Guard: undecided"]);
}

/// A directory for the files of a runner, with `pragmark` and a program `gh` that notes what it is called with.
struct Runner {
    directory: TempDir,
}

impl Runner {
    fn new() -> Runner {
        let directory = tempfile::tempdir().unwrap();
        let programs = directory.path().join("bin");
        std::fs::create_dir(&programs).unwrap();
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_pragmark"), programs.join("pragmark"))
            .unwrap();
        let gh = "#!/bin/sh\necho \"$@\" >> \"$RUNNER_TEMP/gh\"\ncase \"$*\" in *--paginate*) cat \"$RUNNER_TEMP/known\" ;; esac\n";
        std::fs::write(programs.join("gh"), gh).unwrap();
        run("chmod", &["+x", "gh"], &programs);
        std::fs::write(directory.path().join("known"), "").unwrap();
        Runner { directory }
    }

    fn path(&self, name: &str) -> String {
        self.directory.path().join(name).display().to_string()
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// Runs a script of the action as a runner does.
    fn step(&self, script: &str, project: &Project, variables: &[(&str, &str)]) -> Answer {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let path = format!("{}:{}", self.path("bin"), std::env::var("PATH").unwrap());
        let mut command = Command::new("bash");
        command
            .arg(root.join("action").join(script))
            .current_dir(project.path())
            .env("PATH", path)
            .env("PRAGMARK_CACHE", self.path("cache"))
            .env("GITHUB_ACTION_PATH", root)
            .env("RUNNER_TEMP", self.directory.path());
        for file in ["GITHUB_PATH", "GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY"] {
            command.env(file, self.path(file));
        }
        command.envs(variables.iter().copied());
        answer_of(&mut command)
    }
}

#[test]
fn the_steps_of_the_action_write_a_summary_a_page_and_one_comment() {
    let Some(project) = Project::with("drop-index.patch") else {
        return;
    };
    let runner = Runner::new();
    let action = std::fs::read_to_string(example().join("../../action.yml")).unwrap();
    let steps =
        "puts YAML.load_file(ARGV[0])['runs']['steps'].map { |it| it['run'] || it['uses'] }";
    let root = example().join("../..");
    let steps = run("ruby", &["-ryaml", "-e", steps, "action.yml"], &root);
    assert_eq!(steps.lines().count(), 5, "{steps}");
    for script in ["install.sh", "guard.sh", "comment.sh"] {
        assert!(
            action.contains(&format!("$GITHUB_ACTION_PATH/action/{script}")),
            "{script}"
        );
    }
    runner
        .step("install.sh", &project, &[])
        .exits(0)
        .says(&["pragmark"]);
    let inputs = [
        ("BASE", "HEAD~1"),
        ("DIRECTORY", "."),
        ("ARGUMENTS", "--counters-only"),
    ];
    runner.step("guard.sh", &project, &inputs).exits(0);
    assert!(
        runner
            .read("GITHUB_STEP_SUMMARY")
            .contains("plan of `orders_of_customer`")
    );
    let output = runner.read("GITHUB_OUTPUT");
    assert!(
        output.contains("code=4") && output.contains("result=failed"),
        "{output}"
    );
    assert!(Path::new(&runner.path("pragmark-guard/guard.html")).exists());
    let of_pull_request = [("REPOSITORY", "me/shop"), ("PULL_REQUEST", "7")];
    runner
        .step("comment.sh", &project, &of_pull_request)
        .exits(0);
    assert!(
        runner
            .read("gh")
            .contains("--method POST repos/me/shop/issues/7/comments")
    );
    std::fs::write(runner.path("known"), "99\n").unwrap();
    runner
        .step("comment.sh", &project, &of_pull_request)
        .exits(0);
    assert!(
        runner
            .read("gh")
            .contains("--method PATCH repos/me/shop/issues/comments/99")
    );
    let comment = runner.read("pragmark-guard/comment.md");
    assert!(comment.starts_with("<!-- pragmark guard -->\n# Guard: failed"));
    let wrong = [("BASE", "nowhere"), ("DIRECTORY", "."), ("ARGUMENTS", "")];
    runner.step("guard.sh", &project, &wrong).exits(3);
    project.is_clean();
}

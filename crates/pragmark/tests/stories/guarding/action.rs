//! The steps of the GitHub action, as a runner executes them.

use std::path::Path;
use std::process::Command;

use saphyr::{LoadableYamlNode, Yaml};
use tempfile::TempDir;

use super::{Project, example, run};
use crate::laboratory::{Answer, answer_of};

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

const INPUTS: [(&str, &str); 3] =
    [("BASE", "HEAD~1"), ("DIRECTORY", "."), ("ARGUMENTS", "--counters-only")];

#[test]
fn the_action_has_the_steps_that_are_tested_here() {
    let root = example().join("../..");
    let action = std::fs::read_to_string(root.join("action.yml")).unwrap();
    let parsed = Yaml::load_from_str(&action).unwrap();
    let steps = parsed[0]["runs"]["steps"].as_vec().unwrap();
    assert_eq!(steps.len(), 5, "{action}");
    for script in ["install.sh", "guard.sh", "comment.sh"] {
        let command = format!("$GITHUB_ACTION_PATH/action/{script}");
        assert!(action.contains(&command), "{script}");
    }
}

#[test]
fn the_steps_of_the_action_write_a_summary_a_page_and_one_comment() {
    let Some(project) = Project::with("drop-index.patch") else {
        return;
    };
    let runner = Runner::new();
    let installed = runner.step("install.sh", &project, &[]).exits(0);
    installed.says(&["pragmark"]);
    runner.step("guard.sh", &project, &INPUTS).exits(0);
    let summary = runner.read("GITHUB_STEP_SUMMARY");
    assert!(summary.contains("plan of `orders_of_customer`"), "{summary}");
    let output = runner.read("GITHUB_OUTPUT");
    for line in ["code=4", "result=failed"] {
        assert!(output.contains(line), "{output}");
    }
    assert!(Path::new(&runner.path("pragmark-guard/run/report.html")).exists());
    // The first time there is no comment yet, the second time there is number 99.
    let of_repository = "repos/me/shop/issues";
    for (known, call) in [
        ("", format!("--method POST {of_repository}/7/comments")),
        ("99\n", format!("--method PATCH {of_repository}/comments/99")),
    ] {
        std::fs::write(runner.path("known"), known).unwrap();
        let of_pull_request = [("REPOSITORY", "me/shop"), ("PULL_REQUEST", "7")];
        let commented = runner.step("comment.sh", &project, &of_pull_request);
        commented.exits(0);
        assert!(runner.read("gh").contains(&call), "{call}");
    }
    let comment = runner.read("pragmark-guard/comment.md");
    assert!(comment.starts_with("<!-- pragmark guard -->\n# Guard: failed"));
    project.is_clean();
}

#[test]
fn a_side_that_cannot_be_measured_replaces_what_the_comment_said() {
    let Some(project) = Project::with("nothing.patch") else {
        return;
    };
    let runner = Runner::new();
    runner.step("guard.sh", &project, &INPUTS).exits(0);
    assert!(runner.read("GITHUB_OUTPUT").contains("result=passed"));
    let wrong = [("BASE", "nowhere"), INPUTS[1], INPUTS[2]];
    let step = runner.step("guard.sh", &project, &wrong).exits(0);
    step.complains(&["no revision nowhere"]);
    let output = runner.read("GITHUB_OUTPUT");
    assert!(output.contains("code=3\nresult=unmeasured\npage="), "{output}");
    assert!(!Path::new(&runner.path("pragmark-guard/run/report.html")).exists());
    let of_pull_request = [("REPOSITORY", "me/shop"), ("PULL_REQUEST", "7")];
    runner.step("comment.sh", &project, &of_pull_request).exits(0);
    let comment = runner.read("pragmark-guard/comment.md");
    assert!(comment.contains("# Guard: not measured"), "{comment}");
    assert!(comment.contains("    error: there is no revision nowhere"), "{comment}");
    let elsewhere = [INPUTS[0], ("DIRECTORY", "nowhere"), INPUTS[2]];
    runner.step("guard.sh", &project, &elsewhere).exits(0);
    assert!(runner.read("GITHUB_OUTPUT").ends_with(&format!(
        "code=3\nresult=unmeasured\npage={}\n",
        runner.path("pragmark-guard")
    )));
    project.is_clean();
}

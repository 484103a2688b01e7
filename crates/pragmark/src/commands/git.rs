//! Calls of git.

use std::path::Path;
use std::process::Command;

use process::{Group, Limits};

use crate::failure::Failure;

/// What git answers, without the line break at its end.
pub fn git(directory: &Path, arguments: &[&str]) -> Result<String, Failure> {
    let mut command = Command::new("git");
    // A hook or an outer git may have set these for another repository.
    for variable in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"] {
        command.env_remove(variable);
    }
    command.current_dir(directory).args(arguments);
    let answer = process::run(&mut command, Group::Own, &Limits::default())
        .map_err(|error| Failure::unusable(error).hint("install git"))?;
    match answer.end.is_success() {
        true => Ok(answer.text().trim_end_matches('\n').to_owned()),
        false => Err(Failure::unusable(format!(
            "`{}` {}: {}",
            process::command_line(&command),
            answer.end,
            answer.messages()
        ))),
    }
}

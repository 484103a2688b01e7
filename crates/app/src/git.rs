//! Calls of git.

use std::path::Path;
use std::process::Command;

use process::{Group, Limits};

use crate::error::{Error, Result};

/// Returns what git answers, without the line break at its end.
pub(crate) fn git(directory: &Path, arguments: &[&str]) -> Result<String> {
    let mut command = Command::new("git");
    // A hook or an outer git may have set these for another repository.
    for variable in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"] {
        command.env_remove(variable);
    }
    command.current_dir(directory).args(arguments);
    let answer = process::run(&mut command, Group::Own, &Limits::default())
        .map_err(|error| Error::unusable(error).hint("install git"))?;
    if answer.end.is_success() {
        return Ok(answer.text().trim_end_matches('\n').to_owned());
    }
    let command = process::command_line(&command);
    Err(Error::unusable(format!("`{command}` {}: {}", answer.end, answer.messages())))
}

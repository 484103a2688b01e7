//! `pragmark doctor --make-fs`: file systems that a machine does not have, for a run.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use runner::{FileSystemError, FileSystems};

use super::output;
use crate::cli::DoctorArgs;
use crate::failure::{Exit, Failure};
use crate::interrupt;

/// What stands for the directories in a command.
const DIRECTORIES: &str = "{dirs}";

/// The interval between checks for an interrupt.
const POLL: Duration = Duration::from_millis(100);

/// Creates them, runs the command or waits for Ctrl-C, and removes them.
pub fn execute(args: &DoctorArgs) -> Result<Exit, Failure> {
    let interrupted = interrupt::flag()?;
    let parent = args.parent.clone().unwrap_or_else(|| PathBuf::from("."));
    let parent = parent.canonicalize().map_err(|error| {
        Failure::unusable(format!("cannot use the directory {}: {error}", parent.display()))
    })?;
    let made = FileSystems::make(&args.make_fs, args.size, &parent);
    if interrupted.load(Ordering::Relaxed) {
        // Ctrl-C on a terminal reaches the tools as well, whose failure is then of no interest.
        made.map_or(Ok(()), FileSystems::remove).map_err(refused)?;
        return Err(Failure::interrupted(
            "stopped while creating file systems; they have been removed",
        ));
    }
    let made = made.map_err(refused)?;
    let ended = if args.command.is_empty() {
        wait(made.directories(), &interrupted)
    } else {
        run(&args.command, &made, &interrupted)
    };
    made.remove().map_err(refused)?;
    ended
}

fn refused(error: FileSystemError) -> Failure {
    let hint = match &error {
        FileSystemError::NotRoot => {
            "run it with sudo, or pass --dir for file systems that are mounted already"
        }
        FileSystemError::TooSmall { .. } => "pass a larger --size",
        FileSystemError::NoTool { .. } => "or omit this file system from --make-fs",
        FileSystemError::Tool { tool: "mount", .. } => {
            "containers are often not allowed to mount; run it outside the container, or with --privileged"
        }
        FileSystemError::Tool { tool: "umount", .. } => {
            "a process still uses it (`fuser -vm DIRECTORY` lists which); it was detached and disappears when that process ends"
        }
        _ => "choose another directory with --in, or a smaller --size",
    };
    Failure::unusable(error).hint(hint)
}

/// Prints the directories, and keeps them until Ctrl-C.
fn wait(directories: &[PathBuf], interrupted: &AtomicBool) -> Result<Exit, Failure> {
    let lines: String =
        directories.iter().map(|directory| format!("{}\n", directory.display())).collect();
    output::write_text(None, &lines)?;
    tell!("mounted until Ctrl-C");
    while !interrupted.load(Ordering::Relaxed) {
        thread::sleep(POLL);
    }
    Ok(Exit::Success)
}

/// Runs the command to its end; it is asked to end early when this process is interrupted.
fn run(
    command: &[OsString],
    made: &FileSystems,
    interrupted: &AtomicBool,
) -> Result<Exit, Failure> {
    let words = with_directories(command, made.directories());
    let Some((program, arguments)) = words.split_first() else {
        return Err(Failure::usage("the command after -- is missing"));
    };
    let mut command = Command::new(program);
    let status = made.attend(command.args(arguments), interrupted);
    let status = status.map_err(Failure::unusable)?;
    match status.code() {
        Some(0) => Ok(Exit::Success),
        Some(1) => Ok(Exit::TrialsFailed),
        Some(2) => Ok(Exit::Usage),
        Some(130) => Ok(Exit::Interrupted),
        // It ended by the signal that was passed on to it.
        _ if interrupted.load(Ordering::Relaxed) => Ok(Exit::Interrupted),
        _ => {
            Err(Failure::unusable(format!("the command ended with {}", process::described(status))))
        }
    }
}

/// The command with `--dir` and each directory in place of `{dirs}`.
fn with_directories(command: &[OsString], directories: &[PathBuf]) -> Vec<OsString> {
    let given = directories
        .iter()
        .flat_map(|directory| [OsString::from("--dir"), directory.clone().into()]);
    let given: Vec<OsString> = given.collect();
    command
        .iter()
        .flat_map(|word| match word == DIRECTORIES {
            true => given.clone(),
            false => vec![word.clone()],
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_still_in_use_is_not_answered_with_another_directory() {
        let busy = FileSystemError::Tool {
            tool: "umount",
            path: PathBuf::from("/a"),
            said: "target is busy".to_owned(),
        };
        let words = refused(busy).words();
        assert!(words.contains("target is busy") && words.contains("fuser"));
    }

    #[test]
    fn the_directories_stand_where_the_command_wants_them() {
        let command = ["pragmark", "run", "{dirs}", "x"].map(OsString::from);
        let words = with_directories(&command, &["/a".into(), "/b".into()]);
        assert_eq!(
            words,
            ["pragmark", "run", "--dir", "/a", "--dir", "/b", "x"].map(OsString::from)
        );
    }
}

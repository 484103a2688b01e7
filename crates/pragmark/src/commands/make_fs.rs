//! `pragmark doctor --make-fs`: file systems for a run on a machine that has others.

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

/// How often it is looked whether to stop.
const POLL: Duration = Duration::from_millis(100);

/// Makes them, runs the command or waits for Ctrl-C, and removes them.
pub fn execute(args: &DoctorArgs) -> Result<Exit, Failure> {
    let interrupted = interrupt::flag()?;
    let parent = args.parent.clone().unwrap_or_else(|| PathBuf::from("."));
    let parent = parent.canonicalize().map_err(|error| {
        Failure::unusable(format!(
            "cannot use the directory {}: {error}",
            parent.display()
        ))
    })?;
    let made = FileSystems::make(&args.make_fs, args.size, &parent);
    if interrupted.load(Ordering::Relaxed) {
        // Ctrl-C on a terminal reaches the tools as well, whose failure is then of no interest.
        made.map_or(Ok(()), FileSystems::remove).map_err(refused)?;
        return Err(Failure::interrupted(
            "stopped while file systems were made; they are removed",
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
            "run it by sudo, or give --dir on file systems that are mounted already"
        }
        FileSystemError::TooSmall { .. } => "give a larger --size",
        FileSystemError::NoTool { .. } => "or leave this file system out of --make-fs",
        FileSystemError::Tool { tool: "mount", .. } => {
            "containers are often not allowed to mount; try it outside, or with --privileged"
        }
        FileSystemError::Tool { tool: "umount", .. } => {
            "something still uses it (`fuser -vm` on the directory tells what); it was detached, and goes with its last user"
        }
        _ => "choose another directory by --in, or a smaller --size",
    };
    Failure::unusable(error).hint(hint)
}

/// Prints the directories, and keeps them until Ctrl-C.
fn wait(directories: &[PathBuf], interrupted: &AtomicBool) -> Result<Exit, Failure> {
    let lines: String = directories
        .iter()
        .map(|directory| format!("{}\n", directory.display()))
        .collect();
    output::write_text(None, &lines)?;
    tell!("they are there until Ctrl-C");
    while !interrupted.load(Ordering::Relaxed) {
        thread::sleep(POLL);
    }
    Ok(Exit::Success)
}

/// Runs the command to its end, which comes early when this process is told to stop.
fn run(
    command: &[OsString],
    made: &FileSystems,
    interrupted: &AtomicBool,
) -> Result<Exit, Failure> {
    let words = with_directories(command, made.directories());
    let Some((program, arguments)) = words.split_first() else {
        return Err(Failure::usage("there is no command after --"));
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
        _ => Err(Failure::unusable(format!(
            "the command ended with {}",
            process::described(status)
        ))),
    }
}

/// The command with `--dir` and each directory in the place of `{dirs}`.
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

//! Running the programs that building needs: stopped with all they started when the build is
//! cancelled, and with what they said kept for the error.

use super::error::{BuildError, Context};
use rustix::process::{Pid, Signal, kill_process_group};
use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The longest pause between two looks whether a program has ended.
const POLL: Duration = Duration::from_millis(20);

/// Characters of what a program said that are kept, its last ones.
const SAID_KEPT: usize = 4_000;

/// How a program ended.
pub(super) struct Ended {
    pub(super) status: ExitStatus,
    /// What it said, on standard error and, where that does not go to a file of its own, on standard
    /// output; of much, the end.
    pub(super) said: String,
    /// How long it ran.
    pub(super) took: Duration,
}

/// Runs a program to its end, its words going through the file `log`; where an `answer` is named, its
/// standard output goes there instead.
///
/// # Errors
/// It cannot be started (`what` names it), or was stopped because `cancelled` became true.
pub(super) fn run(
    mut command: Command,
    what: &'static str,
    log: &Path,
    answer: Option<&Path>,
    cancelled: &AtomicBool,
) -> Result<Ended, BuildError> {
    let words = File::create(log).context("create", log)?;
    let output = match answer {
        Some(path) => File::create(path).context("create", path)?,
        None => words.try_clone().context("use", log)?,
    };
    let clock = Instant::now();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(output)
        .stderr(words)
        // A group of its own, so that whatever it starts can be stopped with it.
        .process_group(0)
        .spawn()
        .map_err(|source| BuildError::NoProgram {
            what,
            program: command.get_program().to_string_lossy().into_owned(),
            source,
        })?;
    let status =
        wait(&mut child, cancelled).context("wait for", Path::new(command.get_program()))?;
    let took = clock.elapsed();
    let Some(status) = status else {
        return Err(BuildError::Cancelled);
    };
    Ok(Ended {
        status,
        said: said(log)?,
        took,
    })
}

/// Waits for the end; none where the program was stopped instead.
fn wait(child: &mut Child, cancelled: &AtomicBool) -> std::io::Result<Option<ExitStatus>> {
    let mut pause = Duration::from_micros(500);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if cancelled.load(Ordering::Relaxed) {
            if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
                // There is no such group any more when all its processes have just ended.
                let _ = kill_process_group(group, Signal::KILL);
            }
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(POLL);
    }
}

fn said(log: &Path) -> Result<String, BuildError> {
    let bytes = std::fs::read(log).context("read", log)?;
    let text = String::from_utf8_lossy(&bytes);
    let text = text.trim();
    let skipped = text.chars().count().saturating_sub(SAID_KEPT);
    Ok(match skipped {
        0 => text.to_owned(),
        some => format!("…{}", text.chars().skip(some).collect::<String>()),
    })
}

/// A command as a person would type it.
pub(super) fn shown(command: &Command) -> String {
    let words = [command.get_program()]
        .into_iter()
        .chain(command.get_args());
    let words: Vec<String> = words.map(quoted).collect();
    words.join(" ")
}

fn quoted(word: &OsStr) -> String {
    let word = word.to_string_lossy();
    match word.contains(|c: char| c.is_whitespace() || "'\"\\$`".contains(c)) {
        true => format!("'{}'", word.replace('\'', r"'\''")),
        false => word.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn what_a_program_said_and_how_it_ended_is_kept() {
        let directory = tempfile::tempdir().expect("a directory");
        let log = directory.path().join("log");
        let never = AtomicBool::new(false);
        let ended = run(
            shell("echo one; echo two >&2; exit 3"),
            "sh",
            &log,
            None,
            &never,
        )
        .expect("starts");
        assert_eq!(ended.status.code(), Some(3));
        assert_eq!(ended.said, "one\ntwo");
    }

    #[test]
    fn a_program_that_is_not_there_is_named() {
        let directory = tempfile::tempdir().expect("a directory");
        let log = directory.path().join("log");
        let never = AtomicBool::new(false);
        let command = Command::new("/no/such/cc");
        let error = run(command, "the C compiler", &log, None, &never)
            .err()
            .expect("none");
        let text = error.to_string();
        assert!(
            text.contains("/no/such/cc") && text.contains("the C compiler"),
            "{text}"
        );
    }

    #[test]
    fn cancelling_stops_a_program_and_what_it_started() {
        let directory = tempfile::tempdir().expect("a directory");
        let log = directory.path().join("log");
        let now = AtomicBool::new(true);
        let script = format!(
            "sleep 100 & echo $! > {}; wait",
            directory.path().join("pid").display()
        );
        let clock = Instant::now();
        let stopped = run(shell(&script), "sh", &log, None, &now);
        assert!(matches!(stopped, Err(BuildError::Cancelled)));
        assert!(
            clock.elapsed() < Duration::from_secs(90),
            "it was waited for"
        );
    }

    #[test]
    fn commands_are_shown_as_they_can_be_typed() {
        let mut command = Command::new("cc");
        command.args(["-DX=1", "my file.c", "it's"]);
        assert_eq!(shown(&command), r"cc -DX=1 'my file.c' 'it'\''s'");
    }
}

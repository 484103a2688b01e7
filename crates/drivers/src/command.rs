//! Commands of manifests: their program on the path, `{home}` filled in, run with a limit of time.

use std::ffi::OsString;
use std::io::{Read, Seek};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

/// What stands for the home of the driver in commands.
const HOME: &str = "{home}";

/// Characters of what a command said that are kept, the last ones.
const KEPT: usize = 2_000;

/// How often a running command is looked at.
const POLL: Duration = Duration::from_millis(10);

/// A command with its home filled in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Filled {
    pub(crate) program: PathBuf,
    pub(crate) arguments: Vec<OsString>,
}

/// The command for a driver in this home.
///
/// # Errors
/// The name of the program where it is neither on the path nor in the home.
pub(crate) fn fill(command: &[String], home: &Path) -> Result<Filled, String> {
    let home = home.display().to_string();
    let mut words = command.iter().map(|word| word.replace(HOME, &home));
    let name = words.next().unwrap_or_default();
    let program = find(&name).ok_or(name)?;
    Ok(Filled {
        program,
        arguments: words.map(OsString::from).collect(),
    })
}

fn find(name: &str) -> Option<PathBuf> {
    if name.contains('/') {
        return Some(PathBuf::from(name)).filter(|path| is_executable(path));
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|directory| directory.join(name))
        .find(|candidate| is_executable(candidate))
}

fn is_executable(path: &Path) -> bool {
    path.metadata()
        .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

/// How a command ended.
pub(crate) struct Ended {
    /// What it wrote to standard output.
    pub(crate) output: String,
    /// The end of what it wrote to either stream.
    pub(crate) said: String,
    /// None where it succeeded.
    pub(crate) problem: Option<String>,
    /// Whether it was killed because its time was up.
    pub(crate) timed_out: bool,
}

/// Runs a command to its end, or kills it with all it started when the time is up.
///
/// # Errors
/// When it cannot be started or its output cannot be kept.
pub(crate) fn run(
    filled: &Filled,
    directory: &Path,
    limit: Duration,
    cancelled: &AtomicBool,
) -> std::io::Result<Ended> {
    // Files rather than pipes: a command that says much blocks nothing.
    let (mut output, mut errors) = (tempfile::tempfile()?, tempfile::tempfile()?);
    let mut child = Command::new(&filled.program)
        .args(&filled.arguments)
        .current_dir(directory)
        .stdin(Stdio::null())
        .stdout(output.try_clone()?)
        .stderr(errors.try_clone()?)
        .process_group(0)
        .spawn()?;
    let end = wait(&mut child, limit, cancelled)?;
    let read = |file: &mut std::fs::File| -> std::io::Result<String> {
        let mut bytes = Vec::new();
        file.rewind()?;
        file.read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    let (output, errors) = (read(&mut output)?, read(&mut errors)?);
    Ok(Ended {
        said: last(&format!("{output}\n{errors}")),
        output,
        timed_out: matches!(end, End::TimeUp),
        problem: problem(end, limit),
    })
}

/// How a command came to its end.
enum End {
    Itself(ExitStatus),
    TimeUp,
    Cancelled,
}

/// Waits until the child ends, or kills it and all it started.
fn wait(child: &mut Child, limit: Duration, cancelled: &AtomicBool) -> std::io::Result<End> {
    let begin = Instant::now();
    let end = loop {
        if let Some(status) = child.try_wait()? {
            return Ok(End::Itself(status));
        }
        if cancelled.load(Ordering::Relaxed) {
            break End::Cancelled;
        }
        if begin.elapsed() >= limit {
            break End::TimeUp;
        }
        thread::sleep(POLL);
    };
    kill_process_group(Pid::from_child(child), Signal::KILL)?;
    child.wait()?;
    Ok(end)
}

fn problem(end: End, limit: Duration) -> Option<String> {
    match end {
        End::Itself(status) if status.success() => None,
        End::Itself(status) => Some(format!("ended with {status}")),
        End::TimeUp => Some(format!("was not done after {} s", limit.as_secs())),
        End::Cancelled => Some("was stopped".to_owned()),
    }
}

fn last(text: &str) -> String {
    let text = text.trim();
    let skip = text.chars().count().saturating_sub(KEPT);
    text.chars().skip(skip).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Filled {
        let words = ["sh", "-c", script].map(str::to_owned);
        fill(&words, Path::new("/home/of/driver")).unwrap()
    }

    fn run_shell(script: &str, limit: Duration) -> Ended {
        let never = AtomicBool::new(false);
        run(&shell(script), Path::new("/"), limit, &never).unwrap()
    }

    #[test]
    fn the_home_is_filled_in_and_the_program_found_on_the_path() {
        let filled = shell("echo {home}/bin");
        assert!(filled.program.is_absolute());
        assert_eq!(filled.arguments, ["-c", "echo /home/of/driver/bin"]);
        let words = ["no-such-program-anywhere".to_owned()];
        assert_eq!(
            fill(&words, Path::new("/")).unwrap_err(),
            "no-such-program-anywhere"
        );
        let words = ["{home}/not-installed".to_owned()];
        assert_eq!(
            fill(&words, Path::new("/nowhere")).unwrap_err(),
            "/nowhere/not-installed"
        );
    }

    #[test]
    fn the_end_of_a_command_is_told_with_what_it_said() {
        let long = Duration::from_secs(60);
        let good = run_shell("echo out; echo err >&2", long);
        assert!(!good.timed_out);
        assert_eq!((good.output.as_str(), good.problem), ("out\n", None));
        assert!(good.said.contains("err"));
        let bad = run_shell("echo because >&2; exit 4", long);
        assert!(!bad.timed_out);
        assert!(bad.problem.unwrap().contains('4'));
        assert!(bad.said.contains("because"));
    }

    #[test]
    fn a_command_that_hangs_is_stopped_in_time() {
        let hung = run_shell("sleep 600 & wait", Duration::from_millis(30));
        assert!(hung.timed_out);
        assert!(hung.problem.unwrap().contains("not done"));
    }

    #[test]
    fn a_command_that_is_no_longer_wanted_is_stopped() {
        let long = Duration::from_secs(600);
        let wanted_no_more = AtomicBool::new(true);
        let script = shell("sleep 600 & wait");
        let stopped = run(&script, Path::new("/"), long, &wanted_no_more).unwrap();
        assert_eq!(stopped.problem.unwrap(), "was stopped");
    }
}

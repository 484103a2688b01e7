//! Commands of manifests: their program on the path, `{home}` filled in, run with a limit of time.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use process::{Finished, Group, Limits, ProcessError};
use runner::machine::find_executable;

/// Stands for the home of the driver in commands.
pub(crate) const HOME: &str = "{home}";

/// Stands for the folder of the manifest in commands.
pub(crate) const FOLDER: &str = "{folder}";

/// Returns the command for a driver in this home, whose manifest is in this folder.
///
/// # Errors
/// The name of the program where it is neither on the path nor in the home.
pub(crate) fn fill(command: &[String], home: &Path, folder: &Path) -> Result<Command, String> {
    let [home, folder] = [home, folder].map(|path| path.display().to_string());
    let mut words = command.iter().map(|word| word.replace(HOME, &home).replace(FOLDER, &folder));
    let name = words.next().unwrap_or_default();
    let program = find_executable(Path::new(&name)).ok_or(name)?;
    let mut command = Command::new(program);
    command.args(words);
    Ok(command)
}

/// Runs a command to its end, or ends it with all that it started when the time is up.
///
/// # Errors
/// When it cannot be started or its output cannot be kept.
pub(crate) fn run(
    command: &mut Command,
    directory: &Path,
    time: Duration,
    cancelled: &AtomicBool,
) -> Result<Finished, ProcessError> {
    command.current_dir(directory);
    let limits = Limits { time: Some(time), cancelled: Some(cancelled) };
    process::run(command, Group::Own, &limits)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let words = ["sh", "-c", script].map(str::to_owned);
        fill(&words, Path::new("/home/of/driver"), Path::new("/folder")).unwrap()
    }

    #[test]
    fn the_home_is_filled_in_and_the_program_found_on_the_path() {
        let filled = shell("echo {home}/bin {folder}");
        assert!(Path::new(filled.get_program()).is_absolute());
        let arguments: Vec<_> = filled.get_args().collect();
        assert_eq!(arguments, ["-c", "echo /home/of/driver/bin /folder"]);
        let words = ["no-such-program-anywhere".to_owned()];
        assert_eq!(
            fill(&words, Path::new("/"), Path::new("/")).unwrap_err(),
            "no-such-program-anywhere"
        );
        let words = ["{home}/not-installed".to_owned()];
        assert_eq!(
            fill(&words, Path::new("/nowhere"), Path::new("/")).unwrap_err(),
            "/nowhere/not-installed"
        );
    }
}

//! File descriptors of this process: how many it has open, and how many it may have.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::error::{Result, TrialError};

/// Where the descriptors of a process are listed.
#[cfg(target_os = "linux")]
const LIST: &str = "/proc/self/fd";
#[cfg(not(target_os = "linux"))]
const LIST: &str = "/dev/fd";

/// Returns the number of files that this process has open, or `None` if the system does not list them.
pub(crate) fn open_files() -> Option<u64> {
    let entries = std::fs::read_dir(LIST).ok()?.count() as u64;
    // The list itself is open while it is read.
    Some(entries.saturating_sub(1))
}

/// Raises the soft limit of open files, as far as the hard limit allows, so that `needed` can be
/// open.
///
/// # Errors
/// [`TrialError::CannotRun`] where the hard limit is below `needed` or the system refuses.
pub(crate) fn allow_open_files(needed: u64) -> Result<()> {
    let limit = getrlimit(Resource::Nofile);
    if allows(limit.current, needed) {
        return Ok(());
    }
    if !allows(limit.maximum, needed) {
        return Err(TrialError::CannotRun(format!(
            "{needed} open files are needed, but the hard limit of this process (RLIMIT_NOFILE) is {}; raise it with: sudo prlimit --nofile={needed}:{needed} --pid $$",
            limit.maximum.unwrap_or(u64::MAX)
        )));
    }
    let raised = Rlimit { current: Some(needed), ..limit };
    setrlimit(Resource::Nofile, raised).map_err(|error| {
        TrialError::CannotRun(format!(
            "the soft limit of open files cannot be raised to {needed}: {error}"
        ))
    })
}

/// Returns whether a limit allows this number; `None` is no limit.
fn allows(limit: Option<u64>, needed: u64) -> bool {
    limit.is_none_or(|limit| limit >= needed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_opened_file_is_counted() {
        let Some(before) = open_files() else { return };
        let files: Vec<_> = (0..50).map(|_| std::fs::File::open("/dev/null").unwrap()).collect();
        // Other tests of this process open and close files of their own meanwhile.
        assert!(open_files().unwrap() + 40 > before + files.len() as u64);
    }

    #[test]
    fn more_than_the_hard_limit_is_refused_with_the_limit_and_the_command() {
        if getrlimit(Resource::Nofile).maximum.is_none() {
            return;
        }
        let why = allow_open_files(u64::MAX - 1).unwrap_err().to_string();
        assert!(why.contains("RLIMIT_NOFILE") && why.contains("prlimit"), "{why}");
        assert!(allow_open_files(10).is_ok());
    }
}

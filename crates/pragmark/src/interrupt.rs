//! Ctrl-C and termination signals: asked for once, they stop the run after cleaning up.

use std::ffi::c_int;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};

use crate::failure::Failure;

/// The flag, once it is watched for.
static FLAG: Mutex<Option<Arc<AtomicBool>>> = Mutex::new(None);

/// A flag that becomes true at Ctrl-C, SIGTERM or SIGHUP; the same however often it is asked for. SIGHUP
/// stays ignored where it is: `nohup` has this process outlive its terminal. SIGINT does not: shells have
/// it ignored in whatever a script puts into the background, where it is sent on purpose all the same.
pub fn flag() -> Result<Arc<AtomicBool>, Failure> {
    let mut known = FLAG.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(flag) = known.as_ref() {
        return Ok(Arc::clone(flag));
    }
    let flag = Arc::new(AtomicBool::new(false));
    let is_ignored = ignored_signals();
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        if signal != SIGHUP || !is_ignored(signal) {
            signal_hook::flag::register(signal, Arc::clone(&flag))
                .map_err(|error| Failure::unusable(format!("cannot watch for Ctrl-C: {error}")))?;
        }
    }
    *known = Some(Arc::clone(&flag));
    Ok(flag)
}

/// Has a write beyond the limit of file sizes (`ulimit -f`) fail with an error that can be reported, instead of ending the
/// process. What the process starts is not affected: a handler does not outlast exec.
pub fn report_file_limit() -> Result<(), Failure> {
    let registered = signal_hook::flag::register(SIGXFSZ, Arc::default());
    registered
        .map(drop)
        .map_err(|error| Failure::unusable(format!("cannot watch for SIGXFSZ: {error}")))
}

/// Whether this process ignores a signal.
pub fn ignored_signals() -> impl Fn(c_int) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    move |signal| is_ignored(signal, &status)
}

/// Whether the process ignores a signal, by what `/proc/self/status` says of it; where there is no such
/// file, none is.
fn is_ignored(signal: c_int, status: &str) -> bool {
    let mask = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| (mask >> (signal - 1)) & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nohup_ignores_is_told_by_the_mask() {
        let status = "Name:\tpragmark\nSigBlk:\t0000000000000000\nSigIgn:\t0000000000001001\n";
        assert!(is_ignored(SIGHUP, status));
        assert!(!is_ignored(SIGINT, status) && !is_ignored(SIGTERM, status));
        assert!(!is_ignored(SIGHUP, ""));
    }
}

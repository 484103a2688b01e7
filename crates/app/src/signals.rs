//! Signals that this process ignores: a program under `nohup` outlives its terminal.

use std::ffi::c_int;

/// Returns whether this process ignores a signal.
pub fn ignored_signals() -> impl Fn(c_int) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    move |signal| is_ignored(signal, &status)
}

/// Returns whether the process ignores a signal, by its `/proc/self/status`. Without such a file, it ignores none.
fn is_ignored(signal: c_int, status: &str) -> bool {
    let mask = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| (mask >> (signal - 1)) & 1 == 1)
}

#[cfg(test)]
mod tests {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

    use super::*;

    #[test]
    fn what_nohup_ignores_is_told_by_the_mask() {
        let status = "Name:\tpragmark\nSigBlk:\t0000000000000000\nSigIgn:\t0000000000001001\n";
        assert!(is_ignored(SIGHUP, status));
        assert!(!is_ignored(SIGINT, status) && !is_ignored(SIGTERM, status));
        assert!(!is_ignored(SIGHUP, ""));
    }
}

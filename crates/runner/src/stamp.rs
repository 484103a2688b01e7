//! Times and names of runs.

use std::time::SystemTime;

use humantime::{format_rfc3339_millis, format_rfc3339_seconds};

/// Now, as RFC 3339 in UTC with milliseconds.
pub fn now() -> String {
    format_rfc3339_millis(SystemTime::now()).to_string()
}

/// Returns a name for a run that begins now, such as `20261122-113000-4711`: sortable by time and unique on this
/// machine.
pub fn run_id() -> String {
    let now = format_rfc3339_seconds(SystemTime::now()).to_string();
    let now = now.replace(['-', ':', 'Z'], "").replace('T', "-");
    format!("{now}-{}", std::process::id())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_run_is_its_date_and_time_to_the_second_and_the_process() {
        let id = run_id();
        let parts: Vec<&str> = id.split('-').collect();
        assert_eq!(parts[..2].iter().map(|part| part.len()).collect::<Vec<_>>(), [8, 6]);
        assert!(parts.iter().all(|part| part.parse::<u64>().is_ok()), "{id}");
        assert_eq!(parts[0][..4], now()[..4]);
    }
}

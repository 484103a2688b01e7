//! Times and names of runs.

use jiff::Timestamp;

/// Now, as RFC 3339 in UTC with milliseconds.
pub fn now() -> String {
    format!("{:.3}", Timestamp::now())
}

/// A name for a run that begins now: sortable by time and unique on this machine.
pub fn run_id() -> String {
    let now = Timestamp::now().strftime("%Y%m%d-%H%M%S");
    format!("{now}-{}", std::process::id())
}

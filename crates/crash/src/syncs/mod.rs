//! Whether an engine's own VFS syncs: what SQLite requests of it against what reaches the system.
//!
//! Crash images come from a VFS of the laboratory, which never sees what an engine does below its own: an engine
//! that is compiled with `SQLITE_NO_SYNC`, or whose sync does nothing, would look as safe as any other. So each
//! engine commits once under its own VFS, in a process whose system calls are observed.

mod commits;
#[cfg(target_os = "linux")]
mod observe;

use std::path::Path;

use lab::record::SyncCheck;

pub use commits::make_synced_commits;

/// The first argument with which the program calls [`make_synced_commits`].
pub const COMMAND: &str = "make-synced-commits";

/// Has `program` commit with an engine and counts the syncs, those that SQLite requests and those that reach the
/// system. Where that cannot be observed, the reason is the result.
pub fn check(program: &Path, engine: &str) -> SyncCheck {
    #[cfg(target_os = "linux")]
    let checked = observe::check(program, engine);
    #[cfg(not(target_os = "linux"))]
    let checked = {
        let _ = (program, engine);
        Err("system calls can be observed on Linux only".to_owned())
    };
    checked.unwrap_or_else(|why| SyncCheck::NotChecked { why })
}

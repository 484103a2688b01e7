//! The actions of the two connections: the scenarios, as data.

use engine::CheckpointMode;

/// One thing that a connection does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Opens the database.
    Open,
    /// A whole transaction that changes every page of the data.
    Write,
    /// A transaction that changes no data, only another page.
    Touch,
    /// Reads everything in one statement.
    Read,
    /// Begins a transaction and reads in it.
    BeginRead,
    /// Writes in the transaction in which it read, and commits.
    WriteAfterRead,
    /// Ends the transaction in which it read.
    EndRead,
    /// Begins a transaction and writes in it.
    BeginWrite,
    /// Commits it.
    Commit,
    /// Rolls it back.
    Rollback,
    /// Copies the log into the database.
    Checkpoint(CheckpointMode),
    /// A transaction that changes no data, but the tree that holds some of them.
    Rebuild,
    /// Copies the database page by page, with a read transaction for each.
    Backup,
}

/// Who does it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    /// The connection inside whose calls the other acts.
    First,
    /// The one that is placed.
    Second,
}

/// The files on the disk at the beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Files {
    /// A sound database.
    Sound,
    /// A database that a dead process was writing to, with its journal.
    HotJournal,
    /// A database whose log a dead process left, without the log's index.
    LogOnly,
}

/// Two scripts and where they begin.
#[derive(Debug, Clone, Copy)]
pub struct Scenario {
    /// Its name.
    pub id: &'static str,
    /// The subject of the scenario.
    pub what: &'static str,
    /// The journal modes in which it makes sense.
    pub journal_modes: &'static [&'static str],
    /// The files on the disk.
    pub files: Files,
    /// The actions of both before the first call that counts.
    pub before: &'static [(Who, Action)],
    /// The actions of the first connection.
    pub first: &'static [Action],
    /// The actions of the second, each at its place.
    pub second: &'static [Action],
}

impl Scenario {
    /// Returns whether it is part of a safety tier.
    pub fn is_of_tiers(&self) -> bool {
        SCENARIOS.iter().any(|scenario| scenario.id == self.id)
    }
}

const ROLLBACK: &[&str] = &["delete", "truncate", "persist"];
const WAL: &[&str] = &["wal"];
const ALL: &[&str] = &["delete", "truncate", "persist", "wal"];

use Action::{
    Backup, BeginRead, BeginWrite, Checkpoint, Commit, EndRead, Open, Read, Rebuild, Rollback,
    Touch, Write, WriteAfterRead,
};
use CheckpointMode::{Passive, Restart, Truncate};
use Who::{First, Second};

/// A table of scenarios: name, journal modes, files on the disk and meaning; then the actions before the
/// first call that counts, of the first connection and of the second.
macro_rules! scenarios {
    ($($id:literal, $modes:ident, $files:ident: $what:literal;
        before: $($who:ident $action:expr),*;
        first: $($first:expr),*;
        second: $($second:expr),*;)*) => {
        &[$(Scenario {
            id: $id,
            what: $what,
            journal_modes: $modes,
            files: Files::$files,
            before: &[$(($who, $action)),*],
            first: &[$($first),*],
            second: &[$($second),*],
        }),*]
    };
}

/// The scenarios that are part of a safety tier.
pub const SCENARIOS: &[Scenario] = scenarios! {
    "writer-and-writer", ROLLBACK, Sound: "two connections that write";
        before: First Open, First Read, Second Open, Second Read;
        first: Write, Read, Write;
        second: Write, Read;
    "writer-and-waiting-writer", ROLLBACK, Sound: "a writer, and another that begins while it works and commits later";
        before: First Open, Second Open, Second Read;
        first: BeginWrite, Commit, Write;
        second: BeginWrite, Commit;
    "writer-and-reader", ROLLBACK, Sound: "a writer, and a reader whose transaction stays open";
        before: First Open, Second Open;
        first: Write, Write;
        second: BeginRead, Read;
    "rollback-and-reader", ROLLBACK, Sound: "a writer that rolls back, and a reader";
        before: First Open, Second Open;
        first: BeginWrite, Rollback, Write;
        second: Read, Read;
    "recovery-of-a-journal", ROLLBACK, HotJournal: "two connections that find a hot journal";
        before: ;
        first: Open, Read, Write;
        second: Open, Write;
    "recovery-of-a-journal-and-reader", ROLLBACK, HotJournal: "a connection that finds a hot journal, and a reader that was there before";
        before: Second Open;
        first: Open, Read, Write;
        second: BeginRead, Read;
    "log-writer-and-writer", WAL, Sound: "two connections that append to the log";
        before: First Open, First Read, Second Open, Second Read;
        first: Write, Read, Write;
        second: Write, Write;
    "log-writer-after-reading", WAL, Sound: "a transaction that reads first and writes later, and another writer";
        before: First Open, First Write, Second Open;
        first: BeginRead, WriteAfterRead, Write;
        second: Write, Read;
    "log-writer-and-checkpoint", WAL, Sound: "a writer, and a connection that checkpoints and writes";
        before: First Open, First Write, Second Open, Second Read;
        first: Write, Write;
        second: Checkpoint(Passive), Write;
    "log-writer-and-truncation", WAL, Sound: "a writer, and a connection that truncates the log";
        before: First Open, First Write, Second Open, Second Read;
        first: Write, Read;
        second: Checkpoint(Truncate), Write;
    "checkpoint-and-restart", WAL, Sound: "a checkpoint, and a writer that starts a log over which is copied already";
        before: First Open, First Read, Second Open, Second Write, Second Write, Second Checkpoint(Passive);
        first: Checkpoint(Passive), Read, Write;
        second: Write, Write;
    "checkpoint-and-checkpoint", WAL, Sound: "two connections that checkpoint";
        before: First Open, First Write, Second Open, Second Write;
        first: Checkpoint(Restart), Write;
        second: Checkpoint(Passive), Write;
    "checkpoint-and-reader", WAL, Sound: "a checkpoint of frames that a reader does not see, and that reader";
        before: First Open, Second Open, First Write, Second BeginRead, First Write;
        first: Checkpoint(Passive), Write, Checkpoint(Truncate), Write;
        second: Read, EndRead;
    "checkpoint-under-reader", WAL, Sound: "a checkpoint of pages that a reader of an older state takes from the database";
        before: First Open, Second Open, First Touch, Second BeginRead, First Write;
        first: Checkpoint(Passive), Write, Checkpoint(Passive);
        second: Read, EndRead;
    "reader-and-restart", WAL, Sound: "a reader, and a connection that checkpoints and starts the log over";
        before: First Open, First Read, Second Open, Second Write;
        first: BeginRead, Read, EndRead, Read;
        second: Checkpoint(Passive), Write, Write;
    "reader-and-checkpoint", WAL, Sound: "a reader that ignores a log which is copied, and a connection that writes and checkpoints";
        // The first reads at the end, so that some of the pages are in its cache.
        before: First Open, Second Open, Second Write, Second Checkpoint(Passive), First Read;
        first: BeginRead, Read, EndRead;
        second: Write, Checkpoint(Passive), Write;
    "recovery-of-a-log", WAL, LogOnly: "two connections that find a log without its index";
        before: ;
        first: Open, Read, Write;
        second: Open, Write;
};

/// Scenarios outside of the tiers, because few applications do such things at work.
pub const RARE: &[Scenario] = scenarios! {
    "writer-and-schema", ALL, Sound: "a writer, and a connection that changes the schema";
        before: First Open, First Read, Second Open, Second Read;
        first: Write, Read, Write;
        second: Rebuild, Write;
    "reader-and-schema", ALL, Sound: "a reader whose transaction stays open, and a connection that changes the schema and writes";
        before: First Open, First Read, Second Open, Second Read;
        first: BeginRead, Read, EndRead, Read, Write;
        second: Rebuild, Write;
    "checkpoint-beside-older-reader", WAL, Sound: "a writer that begins after others wrote, its checkpoint, and a reader of an older state";
        before: First Open, Second Open, First Touch, Second BeginRead, First Write;
        first: Touch, Checkpoint(Passive), Write;
        second: Read, EndRead;
    "backup-and-writer", ALL, Sound: "a backup page by page, and a connection that writes while it is under way";
        before: First Open, First Read, Second Open, Second Read;
        first: Backup, Read;
        second: Write, Write;
};

/// Returns the scenario of a name.
pub fn scenario(id: &str) -> Option<&'static Scenario> {
    SCENARIOS.iter().chain(RARE).find(|scenario| scenario.id == id)
}

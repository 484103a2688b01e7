//! What the two connections do: the scenarios, as data.

use engine::CheckpointMode;

/// One thing that a connection does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// Opens the database.
    Open,
    /// A whole transaction that changes every page of the data.
    Write,
    /// A transaction that changes none of the data, but a page beside them.
    Touch,
    /// Reads everything in one statement.
    Read,
    /// Begins a transaction and reads in it.
    BeginRead,
    /// Goes on to write in the transaction in which it read, and commits.
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
}

/// Who does it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    /// The connection inside whose calls the other acts.
    First,
    /// The one that is placed.
    Second,
}

/// What lies on the disk at the beginning.
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
    /// What it is about.
    pub what: &'static str,
    /// The journal modes in which it makes sense.
    pub journal_modes: &'static [&'static str],
    /// What lies on the disk.
    pub files: Files,
    /// What both have done before the first call that counts.
    pub before: &'static [(Who, Act)],
    /// What the first connection does.
    pub first: &'static [Act],
    /// What the second does, each at its place.
    pub second: &'static [Act],
}

const ROLLBACK: &[&str] = &["delete", "truncate", "persist"];
const WAL: &[&str] = &["wal"];

use Act::{
    BeginRead, BeginWrite, Checkpoint, Commit, EndRead, Open, Read, Rollback, Touch, Write,
    WriteAfterRead,
};
use CheckpointMode::{Passive, Restart, Truncate};
use Who::{First, Second};

/// The scenarios.
pub const SCENARIOS: &[Scenario] = &[
    Scenario {
        id: "writer-and-writer",
        what: "two connections that write",
        journal_modes: ROLLBACK,
        files: Files::Sound,
        before: &[(First, Open), (First, Read), (Second, Open), (Second, Read)],
        first: &[Write, Read, Write],
        second: &[Write, Read],
    },
    Scenario {
        id: "writer-and-waiting-writer",
        what: "a writer, and another that begins while it works and commits later",
        journal_modes: ROLLBACK,
        files: Files::Sound,
        before: &[(First, Open), (Second, Open), (Second, Read)],
        first: &[BeginWrite, Commit, Write],
        second: &[BeginWrite, Commit],
    },
    Scenario {
        id: "writer-and-reader",
        what: "a writer, and a reader whose transaction stays open",
        journal_modes: ROLLBACK,
        files: Files::Sound,
        before: &[(First, Open), (Second, Open)],
        first: &[Write, Write],
        second: &[BeginRead, Read],
    },
    Scenario {
        id: "rollback-and-reader",
        what: "a writer that rolls back, and a reader",
        journal_modes: ROLLBACK,
        files: Files::Sound,
        before: &[(First, Open), (Second, Open)],
        first: &[BeginWrite, Rollback, Write],
        second: &[Read, Read],
    },
    Scenario {
        id: "recovery-of-a-journal",
        what: "two connections that find a hot journal",
        journal_modes: ROLLBACK,
        files: Files::HotJournal,
        before: &[],
        first: &[Open, Read, Write],
        second: &[Open, Write],
    },
    Scenario {
        id: "recovery-of-a-journal-and-reader",
        what: "a connection that finds a hot journal, and a reader that was there before",
        journal_modes: ROLLBACK,
        files: Files::HotJournal,
        before: &[(Second, Open)],
        first: &[Open, Read, Write],
        second: &[BeginRead, Read],
    },
    Scenario {
        id: "log-writer-and-writer",
        what: "two connections that append to the log",
        journal_modes: WAL,
        files: Files::Sound,
        before: &[(First, Open), (First, Read), (Second, Open), (Second, Read)],
        first: &[Write, Read, Write],
        second: &[Write, Write],
    },
    Scenario {
        id: "log-writer-after-reading",
        what: "a transaction that reads first and writes later, and another writer",
        journal_modes: WAL,
        files: Files::Sound,
        before: &[(First, Open), (First, Write), (Second, Open)],
        first: &[BeginRead, WriteAfterRead, Write],
        second: &[Write, Read],
    },
    Scenario {
        id: "log-writer-and-checkpoint",
        what: "a writer, and a connection that checkpoints and writes",
        journal_modes: WAL,
        files: Files::Sound,
        before: &[
            (First, Open),
            (First, Write),
            (Second, Open),
            (Second, Read),
        ],
        first: &[Write, Write],
        second: &[Checkpoint(Passive), Write],
    },
    Scenario {
        id: "log-writer-and-truncation",
        what: "a writer, and a connection that truncates the log",
        journal_modes: WAL,
        files: Files::Sound,
        before: &[
            (First, Open),
            (First, Write),
            (Second, Open),
            (Second, Read),
        ],
        first: &[Write, Read],
        second: &[Checkpoint(Truncate), Write],
    },
    Scenario {
        id: "checkpoint-and-restart",
        what: "a checkpoint, and a writer that starts a log over which is copied already",
        journal_modes: WAL,
        files: Files::Sound,
        before: &[
            (First, Open),
            (First, Read),
            (Second, Open),
            (Second, Write),
            (Second, Write),
            (Second, Checkpoint(Passive)),
        ],
        first: &[Checkpoint(Passive), Read, Write],
        second: &[Write, Write],
    },
    Scenario {
        id: "checkpoint-and-checkpoint",
        what: "two connections that checkpoint",
        journal_modes: WAL,
        files: Files::Sound,
        before: &[
            (First, Open),
            (First, Write),
            (Second, Open),
            (Second, Write),
        ],
        first: &[Checkpoint(Restart), Write],
        second: &[Checkpoint(Passive), Write],
    },
    Scenario {
        id: "checkpoint-and-reader",
        what: "a checkpoint of frames that a reader does not see, and that reader",
        journal_modes: WAL,
        files: Files::Sound,
        before: &[
            (First, Open),
            (Second, Open),
            (First, Write),
            (Second, BeginRead),
            (First, Write),
        ],
        first: &[Checkpoint(Passive), Write, Checkpoint(Truncate), Write],
        second: &[Read, EndRead],
    },
    Scenario {
        id: "checkpoint-under-reader",
        what: "a checkpoint of pages that a reader of an older state takes from the database",
        journal_modes: WAL,
        files: Files::Sound,
        before: &[
            (First, Open),
            (Second, Open),
            (First, Touch),
            (Second, BeginRead),
            (First, Write),
        ],
        first: &[Checkpoint(Passive), Write, Checkpoint(Passive)],
        second: &[Read, EndRead],
    },
    Scenario {
        id: "reader-and-restart",
        what: "a reader, and a connection that checkpoints and starts the log over",
        journal_modes: WAL,
        files: Files::Sound,
        before: &[
            (First, Open),
            (First, Read),
            (Second, Open),
            (Second, Write),
        ],
        first: &[BeginRead, Read, EndRead, Read],
        second: &[Checkpoint(Passive), Write, Write],
    },
    Scenario {
        id: "reader-and-checkpoint",
        what: "a reader that ignores a log which is copied, and a connection that writes and checkpoints",
        journal_modes: WAL,
        files: Files::Sound,
        before: &[
            (First, Open),
            (Second, Open),
            (Second, Write),
            (Second, Checkpoint(Passive)),
            // So that some of its pages are in the reader's cache.
            (First, Read),
        ],
        first: &[BeginRead, Read, EndRead],
        second: &[Write, Checkpoint(Passive), Write],
    },
    Scenario {
        id: "recovery-of-a-log",
        what: "two connections that find a log without its index",
        journal_modes: WAL,
        files: Files::LogOnly,
        before: &[],
        first: &[Open, Read, Write],
        second: &[Open, Write],
    },
];

/// The scenario of a name.
pub fn scenario(id: &str) -> Option<&'static Scenario> {
    SCENARIOS.iter().find(|scenario| scenario.id == id)
}

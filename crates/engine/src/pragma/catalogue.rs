//! The configuration PRAGMAs of SQLite 3.54 (<https://sqlite.org/pragma.html>), as data.
//!
//! PRAGMAs for debugging, for introspection (`table_info` and the like) and deprecated ones are not
//! configuration and are left out.

use super::model::{Access, Pragma, Scope, Timing, Values};

/// The greatest value of a C `int`.
const INT: i64 = i32::MAX as i64;

const ON_OFF: &[&str] = &["off", "on"];

/// A setting of the connection that can be set at any time.
const fn setting(
    name: &'static str,
    values: Values,
    default: &'static str,
    levels: &'static [&'static str],
    meaning: &'static str,
) -> Pragma {
    Pragma {
        name,
        access: Access::ReadWrite,
        values,
        default: Some(default),
        levels,
        scope: Scope::Connection,
        timing: Timing::AnyTime,
        meaning,
    }
}

/// A Boolean.
const fn switch(name: &'static str, default: &'static str, meaning: &'static str) -> Pragma {
    setting(name, Values::Boolean, default, ON_OFF, meaning)
}

/// An integer.
const fn number(
    name: &'static str,
    (min, max, unit): (i64, i64, &'static str),
    default: &'static str,
    levels: &'static [&'static str],
    meaning: &'static str,
) -> Pragma {
    let values = Values::Integer { min, max, unit };
    setting(name, values, default, levels, meaning)
}

/// A PRAGMA that is not a setting.
const fn report(name: &'static str, access: Access, meaning: &'static str) -> Pragma {
    Pragma {
        access,
        default: None,
        scope: Scope::DatabaseFile,
        ..setting(name, Values::None, "", &[], meaning)
    }
}

impl Pragma {
    const fn of(self, scope: Scope, timing: Timing) -> Pragma {
        Pragma {
            scope,
            timing,
            ..self
        }
    }

    const fn write_only(self) -> Pragma {
        Pragma {
            access: Access::WriteOnly,
            ..self
        }
    }
}

/// Every configuration PRAGMA, in alphabetical order.
pub const CATALOGUE: &[Pragma] = &[
    number(
        "analysis_limit",
        (0, INT, "rows examined per index; 0 means all"),
        "0",
        &["0", "400", "1000"],
        "limits the work that ANALYZE does on each index",
    ),
    number(
        "application_id",
        (i32::MIN as i64, INT, "an identifying number"),
        "0",
        &[],
        "stored in the header for programs that distinguish file formats",
    )
    .of(Scope::DatabaseFile, Timing::AnyTime),
    setting(
        "auto_vacuum",
        Values::Numbered(&[("none", 0), ("full", 1), ("incremental", 2)]),
        "none",
        &["none", "full", "incremental"],
        "whether the file shrinks when pages become free",
    )
    .of(Scope::DatabaseFile, Timing::BeforeFirstWrite),
    switch(
        "automatic_index",
        "on",
        "lets the planner build a temporary index for one query",
    ),
    number(
        "busy_timeout",
        (0, INT, "milliseconds"),
        "0",
        &["0", "1000", "5000"],
        "how long a statement waits for another connection's lock",
    ),
    number(
        "cache_size",
        (-INT, INT, "pages; negative: KiB"),
        "-2000",
        &["-2000", "-8000", "-16384", "-65536", "-524288"],
        "the suggested size of the page cache",
    ),
    setting(
        "cache_spill",
        Values::BooleanOrInteger {
            max: INT,
            unit: "pages; never effective below cache_size",
        },
        "on",
        ON_OFF,
        "whether a full cache may write to the file in the middle of a transaction",
    ),
    switch(
        "case_sensitive_like",
        "off",
        "whether LIKE is case-sensitive for ASCII letters",
    )
    .write_only(),
    switch(
        "cell_size_check",
        "off",
        "checks b-tree pages more thoroughly when they are read",
    ),
    switch(
        "checkpoint_fullfsync",
        "off",
        "F_FULLFSYNC when checkpointing (macOS only)",
    ),
    report(
        "data_version",
        Access::ReadOnly,
        "changes when another connection commits",
    ),
    switch(
        "defer_foreign_keys",
        "off",
        "checks foreign keys at the end of the transaction only",
    )
    .of(Scope::Connection, Timing::UntilTransactionEnds),
    setting(
        "encoding",
        Values::Names(&["UTF-8", "UTF-16le", "UTF-16be"]),
        "UTF-8",
        &["UTF-8", "UTF-16le", "UTF-16be"],
        "the text encoding of the file",
    )
    .of(Scope::DatabaseFile, Timing::BeforeCreation),
    switch("foreign_keys", "off", "enforces foreign keys")
        .of(Scope::Connection, Timing::OutsideTransaction),
    report(
        "freelist_count",
        Access::ReadOnly,
        "unused pages of the file",
    ),
    switch(
        "fullfsync",
        "off",
        "F_FULLFSYNC for every sync (macOS only)",
    ),
    number(
        "hard_heap_limit",
        (0, i64::MAX, "bytes; 0 means none"),
        "0",
        &[],
        "the memory use above which allocations fail",
    )
    .of(Scope::Process, Timing::OnlyLower),
    switch(
        "ignore_check_constraints",
        "off",
        "does not enforce CHECK constraints",
    ),
    report(
        "integrity_check",
        Access::Work,
        "reads the whole database and reports damage",
    ),
    setting(
        "journal_mode",
        Values::Names(&["delete", "truncate", "persist", "memory", "wal", "off"]),
        "delete",
        &["delete", "truncate", "persist", "memory", "wal", "off"],
        "how a transaction can be undone; wal persists in the file, the others do not",
    )
    .of(Scope::DatabaseFile, Timing::OutsideTransaction),
    number(
        "journal_size_limit",
        (-1, i64::MAX, "bytes; -1 means none"),
        "-1",
        &["-1", "0", "1048576", "67108864"],
        "the size to which a persistent journal or log is truncated",
    ),
    switch(
        "legacy_alter_table",
        "off",
        "ALTER TABLE RENAME behaves as before SQLite 3.25",
    ),
    setting(
        "locking_mode",
        Values::Names(&["normal", "exclusive"]),
        "normal",
        &["normal", "exclusive"],
        "whether locks on the file are released between transactions",
    )
    .of(Scope::Connection, Timing::NextAccess),
    number(
        "max_page_count",
        (1, 4_294_967_294, "pages"),
        "4294967294",
        &[],
        "the maximum size of the database",
    ),
    number(
        "mmap_size",
        (0, i64::MAX, "bytes"),
        "0",
        &["0", "268435456", "1073741824"],
        "how much of the file is read through a memory map",
    ),
    report("page_count", Access::ReadOnly, "pages of the file"),
    setting(
        "page_size",
        Values::PowerOfTwo {
            min: 512,
            max: 65536,
            unit: "bytes",
        },
        "4096",
        &[
            "512", "1024", "2048", "4096", "8192", "16384", "32768", "65536",
        ],
        "the size of the file's pages",
    )
    .of(Scope::DatabaseFile, Timing::BeforeFirstWrite),
    switch("query_only", "off", "rejects changes"),
    report(
        "quick_check",
        Access::Work,
        "as integrity_check, without checking indexes' contents",
    ),
    switch(
        "read_uncommitted",
        "off",
        "reads what is not committed, in shared-cache mode only",
    ),
    switch("recursive_triggers", "off", "lets a trigger fire itself"),
    switch(
        "reverse_unordered_selects",
        "off",
        "reverses the order of results without ORDER BY, to find hidden assumptions",
    ),
    setting(
        "secure_delete",
        Values::Numbered(&[("off", 0), ("on", 1), ("fast", 2)]),
        "off",
        &["off", "fast", "on"],
        "overwrites deleted content with zeros; fast where that costs no I/O",
    ),
    number(
        "soft_heap_limit",
        (0, i64::MAX, "bytes; 0 means none"),
        "0",
        &["0", "8388608", "67108864"],
        "the memory use above which SQLite tries to free memory",
    )
    .of(Scope::Process, Timing::AnyTime),
    setting(
        "synchronous",
        Values::Numbered(&[("off", 0), ("normal", 1), ("full", 2), ("extra", 3)]),
        "full",
        &["off", "normal", "full", "extra"],
        "how often SQLite syncs to disk",
    )
    .of(Scope::Connection, Timing::OutsideTransaction),
    setting(
        "temp_store",
        Values::Numbered(&[("default", 0), ("file", 1), ("memory", 2)]),
        "default",
        &["default", "file", "memory"],
        "where temporary tables and indexes live",
    )
    .of(Scope::Connection, Timing::OutsideTransaction),
    number(
        "threads",
        (0, 8, "helper threads per statement"),
        "0",
        &["0", "1", "2", "4"],
        "how many threads may help a statement to sort",
    ),
    switch(
        "trusted_schema",
        "on",
        "lets views and triggers use functions not marked innocuous",
    ),
    number(
        "user_version",
        (i32::MIN as i64, INT, "an application-defined number"),
        "0",
        &[],
        "stored in the header for the application",
    )
    .of(Scope::DatabaseFile, Timing::AnyTime),
    number(
        "wal_autocheckpoint",
        (0, INT, "pages of log; 0 means never"),
        "1000",
        &["0", "100", "1000", "10000"],
        "the size of the log at which a commit also checkpoints",
    ),
];

/// The PRAGMA of that name, in any spelling of capitals.
pub fn find(name: &str) -> Option<&'static Pragma> {
    CATALOGUE
        .iter()
        .find(|pragma| pragma.name.eq_ignore_ascii_case(name))
}

//! The configuration PRAGMAs of SQLite 3.54 (<https://sqlite.org/pragma.html>), as data.
//!
//! PRAGMAs for debugging, for introspection (`table_info` and the like) and deprecated ones are not
//! configuration and are left out.

use super::model::Values::{self, Boolean, BooleanOrInteger, Names, Numbered, PowerOfTwo};
use super::model::{Access, Pragma, Scope, Timing};

/// The greatest value of a C `int`.
const INT: i64 = i32::MAX as i64;

const fn default(given: &[&'static str]) -> Option<&'static str> {
    match given {
        [default] => Some(default),
        _ => None,
    }
}

const fn integer(min: i64, max: i64, unit: &'static str) -> Values {
    Values::Integer { min, max, unit }
}

/// Builds the catalogue from a table: access, scope, timing, name and values of each PRAGMA, then its
/// default, its levels and what it means.
macro_rules! catalogue {
    ($($access:ident $scope:ident $timing:ident $name:literal:
        $values:expr, $(default $default:literal,)? levels [$($level:literal),*], $meaning:literal;)*) => {
        /// Every configuration PRAGMA, in alphabetical order.
        pub const CATALOGUE: &[Pragma] = &[$(Pragma {
            name: $name,
            access: Access::$access,
            values: $values,
            default: default(&[$($default)?]),
            levels: &[$($level),*],
            scope: Scope::$scope,
            timing: Timing::$timing,
            meaning: $meaning,
        }),*];
    };
}

catalogue! {
    ReadWrite Connection AnyTime "analysis_limit": integer(0, INT, "rows examined per index; 0 means all"),
        default "0", levels ["0", "400", "1000"], "limits the work that ANALYZE does on each index";
    ReadWrite DatabaseFile AnyTime "application_id": integer(i32::MIN as i64, INT, "an identifying number"),
        default "0", levels [], "stored in the header for programs that distinguish file formats";
    ReadWrite DatabaseFile BeforeFirstWrite "auto_vacuum": Numbered(&[("none", 0), ("full", 1), ("incremental", 2)]),
        default "none", levels ["none", "full", "incremental"],
        "whether the file shrinks when pages become free";
    ReadWrite Connection AnyTime "automatic_index": Boolean,
        default "on", levels ["off", "on"], "lets the planner build a temporary index for one query";
    ReadWrite Connection AnyTime "busy_timeout": integer(0, INT, "milliseconds"),
        default "0", levels ["0", "1000", "5000"], "how long a statement waits for another connection's lock";
    ReadWrite Connection AnyTime "cache_size": integer(-INT, INT, "pages; negative: KiB"),
        default "-2000", levels ["-2000", "-8000", "-16384", "-65536", "-524288"],
        "the suggested size of the page cache";
    ReadWrite Connection AnyTime "cache_spill": BooleanOrInteger { max: INT, unit: "pages; never effective below cache_size" },
        default "on", levels ["off", "on"],
        "whether a full cache may write to the file in the middle of a transaction";
    WriteOnly Connection AnyTime "case_sensitive_like": Boolean,
        default "off", levels ["off", "on"], "whether LIKE is case-sensitive for ASCII letters";
    ReadWrite Connection AnyTime "cell_size_check": Boolean,
        default "off", levels ["off", "on"], "checks b-tree pages more thoroughly when they are read";
    ReadWrite Connection AnyTime "checkpoint_fullfsync": Boolean,
        default "off", levels ["off", "on"], "F_FULLFSYNC when checkpointing (macOS only)";
    ReadOnly DatabaseFile AnyTime "data_version": Values::None,
        levels [], "changes when another connection commits";
    ReadWrite Connection UntilTransactionEnds "defer_foreign_keys": Boolean,
        default "off", levels ["off", "on"], "checks foreign keys at the end of the transaction only";
    ReadWrite DatabaseFile BeforeCreation "encoding": Names(&["UTF-8", "UTF-16le", "UTF-16be"]),
        default "UTF-8", levels ["UTF-8", "UTF-16le", "UTF-16be"], "the text encoding of the file";
    ReadWrite Connection OutsideTransaction "foreign_keys": Boolean,
        default "off", levels ["off", "on"], "enforces foreign keys";
    ReadOnly DatabaseFile AnyTime "freelist_count": Values::None,
        levels [], "unused pages of the file";
    ReadWrite Connection AnyTime "fullfsync": Boolean,
        default "off", levels ["off", "on"], "F_FULLFSYNC for every sync (macOS only)";
    ReadWrite Process OnlyLower "hard_heap_limit": integer(0, i64::MAX, "bytes; 0 means none"),
        default "0", levels [], "the memory use above which allocations fail";
    ReadWrite Connection AnyTime "ignore_check_constraints": Boolean,
        default "off", levels ["off", "on"], "does not enforce CHECK constraints";
    Work DatabaseFile AnyTime "integrity_check": Values::None,
        levels [], "reads the whole database and reports damage";
    ReadWrite DatabaseFile OutsideTransaction "journal_mode": Names(&["delete", "truncate", "persist", "memory", "wal", "off"]),
        default "delete", levels ["delete", "truncate", "persist", "memory", "wal", "off"],
        "how a transaction can be undone; wal persists in the file, the others do not";
    ReadWrite Connection AnyTime "journal_size_limit": integer(-1, i64::MAX, "bytes; -1 means none"),
        default "-1", levels ["-1", "0", "1048576", "67108864"],
        "the size to which a persistent journal or log is truncated";
    ReadWrite Connection AnyTime "legacy_alter_table": Boolean,
        default "off", levels ["off", "on"], "ALTER TABLE RENAME behaves as before SQLite 3.25";
    ReadWrite Connection NextAccess "locking_mode": Names(&["normal", "exclusive"]),
        default "normal", levels ["normal", "exclusive"],
        "whether locks on the file are released between transactions";
    ReadWrite Connection AnyTime "max_page_count": integer(1, 4_294_967_294, "pages"),
        default "4294967294", levels [], "the maximum size of the database";
    ReadWrite Connection AnyTime "mmap_size": integer(0, i64::MAX, "bytes"),
        default "0", levels ["0", "268435456", "1073741824"],
        "how much of the file is read through a memory map";
    ReadOnly DatabaseFile AnyTime "page_count": Values::None,
        levels [], "pages of the file";
    ReadWrite DatabaseFile BeforeFirstWrite "page_size": PowerOfTwo { min: 512, max: 65536, unit: "bytes" },
        default "4096", levels ["512", "1024", "2048", "4096", "8192", "16384", "32768", "65536"],
        "the size of the file's pages";
    ReadWrite Connection AnyTime "query_only": Boolean,
        default "off", levels ["off", "on"], "rejects changes";
    Work DatabaseFile AnyTime "quick_check": Values::None,
        levels [], "as integrity_check, without checking indexes' contents";
    ReadWrite Connection AnyTime "read_uncommitted": Boolean,
        default "off", levels ["off", "on"], "reads what is not committed, in shared-cache mode only";
    ReadWrite Connection AnyTime "recursive_triggers": Boolean,
        default "off", levels ["off", "on"], "lets a trigger fire itself";
    ReadWrite Connection AnyTime "reverse_unordered_selects": Boolean,
        default "off", levels ["off", "on"],
        "reverses the order of results without ORDER BY, to find hidden assumptions";
    ReadWrite Connection AnyTime "secure_delete": Numbered(&[("off", 0), ("on", 1), ("fast", 2)]),
        default "off", levels ["off", "fast", "on"],
        "overwrites deleted content with zeros; fast where that costs no I/O";
    ReadWrite Process AnyTime "soft_heap_limit": integer(0, i64::MAX, "bytes; 0 means none"),
        default "0", levels ["0", "8388608", "67108864"],
        "the memory use above which SQLite tries to free memory";
    ReadWrite Connection OutsideTransaction "synchronous": Numbered(&[("off", 0), ("normal", 1), ("full", 2), ("extra", 3)]),
        default "full", levels ["off", "normal", "full", "extra"], "how often SQLite syncs to disk";
    ReadWrite Connection OutsideTransaction "temp_store": Numbered(&[("default", 0), ("file", 1), ("memory", 2)]),
        default "default", levels ["default", "file", "memory"], "where temporary tables and indexes live";
    ReadWrite Connection AnyTime "threads": integer(0, 8, "helper threads per statement"),
        default "0", levels ["0", "1", "2", "4"], "how many threads may help a statement to sort";
    ReadWrite Connection AnyTime "trusted_schema": Boolean,
        default "on", levels ["off", "on"], "lets views and triggers use functions not marked innocuous";
    ReadWrite DatabaseFile AnyTime "user_version": integer(i32::MIN as i64, INT, "an application-defined number"),
        default "0", levels [], "stored in the header for the application";
    ReadWrite Connection AnyTime "wal_autocheckpoint": integer(0, INT, "pages of log; 0 means never"),
        default "1000", levels ["0", "100", "1000", "10000"],
        "the size of the log at which a commit also checkpoints";
}

/// The PRAGMA of that name, in any spelling of capitals.
pub fn find(name: &str) -> Option<&'static Pragma> {
    CATALOGUE.iter().find(|pragma| pragma.name.eq_ignore_ascii_case(name))
}

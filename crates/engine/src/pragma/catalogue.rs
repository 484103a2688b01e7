//! The configuration PRAGMAs of SQLite 3.54 (<https://sqlite.org/pragma.html>), as data.
//!
//! PRAGMAs for debugging, for introspection (`table_info` and the like) and deprecated ones are not
//! configuration and are left out.

use crate::error::PragmaError;
use std::ops::RangeInclusive;

use Values::{Boolean, BooleanOrInteger, Names, Numbered, PowerOfTwo};

/// An entry of the catalogue: one PRAGMA.
#[derive(Debug, Clone, Copy)]
pub struct Pragma {
    /// The name, in lower case.
    pub name: &'static str,
    /// Whether it can be set and read.
    pub access: Access,
    /// The values it takes.
    pub values: Values,
    /// The value of a fresh database file in a stock build, normalised; `None` for PRAGMAs that are not
    /// settings.
    pub default: Option<&'static str>,
    /// Values worth comparing, normalised, with the default among them. Empty if there is nothing to compare.
    pub levels: &'static [&'static str],
    /// The owner of the setting.
    pub scope: Scope,
    /// When it can be set and from when on it holds.
    pub timing: Timing,
    /// Its effect, in one line.
    pub meaning: &'static str,
}

/// Whether a PRAGMA can be set and read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// A setting that can be read back.
    ReadWrite,
    /// A setting that cannot be read back; its effect can be observed.
    WriteOnly,
    /// A figure to read.
    ReadOnly,
    /// Work on the database, not a setting: reading it would do the work.
    Work,
}

/// The values that a PRAGMA takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // Variants describe their fields.
pub enum Values {
    /// `on` or `off`; `true`, `false`, `yes`, `no`, 1 and 0 mean the same.
    Boolean,
    /// A whole number from the least to the greatest, of a unit, or with a meaning of negative numbers.
    Integer { min: i64, max: i64, unit: &'static str },
    /// A power of two from the least to the greatest, of a unit.
    PowerOfTwo { min: i64, max: i64, unit: &'static str },
    /// `on` or `off`, or a number from 2 to the greatest, of a unit.
    BooleanOrInteger { max: i64, unit: &'static str },
    /// One of some names which have numbers.
    Numbered(&'static [(&'static str, i64)]),
    /// One of some names.
    Names(&'static [&'static str]),
    /// No value: the PRAGMA is not a setting.
    None,
}

/// The owner of a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The connection; gone when it closes.
    Connection,
    /// The database file; it persists and holds for every connection.
    DatabaseFile,
    /// All connections of the process to this library.
    Process,
}

/// When a setting can be made, and from when on it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timing {
    /// At any time, at once.
    AnyTime,
    /// Only while no transaction is open.
    OutsideTransaction,
    /// Only while the database is empty (not even WAL mode set); later only through VACUUM, if at all.
    BeforeFirstWrite,
    /// Only while the database is empty, and never again.
    BeforeCreation,
    /// Set at any time, in force from the next access to the database on.
    NextAccess,
    /// Set at any time, and switched off by the end of the transaction.
    UntilTransactionEnds,
    /// At any time, but only to lower the value.
    OnlyLower,
}

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
/// default, its levels and its meaning.
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

/// Returns the PRAGMA of that name, in any spelling of capitals.
pub fn find(name: &str) -> Option<&'static Pragma> {
    CATALOGUE.iter().find(|pragma| pragma.name.eq_ignore_ascii_case(name))
}

impl Pragma {
    /// Returns the value in its one normal spelling: names in SQLite's own (`normal`, `UTF-8`), Booleans as
    /// `on` and `off`, numbers in decimal.
    ///
    /// # Errors
    /// [`PragmaError::Setting`] with the values allowed.
    pub fn normalise(&self, value: &str) -> Result<String, PragmaError> {
        let value = value.trim();
        let normal = match self.values {
            Values::Boolean => boolean(value).map(str::to_owned),
            Values::Integer { min, max, .. } => number(value, min..=max),
            Values::PowerOfTwo { min, max, .. } => number(value, min..=max)
                .filter(|n| n.parse().is_ok_and(|n: i64| n.count_ones() == 1)),
            Values::BooleanOrInteger { max, .. } => {
                boolean(value).map(str::to_owned).or_else(|| number(value, 2..=max))
            }
            Values::Numbered(names) => numbered(names, value).map(str::to_owned),
            Values::Names(names) => named(names, value).map(str::to_owned),
            Values::None => None,
        };
        normal.ok_or_else(|| {
            let (pragma, expected) = (self.name, self.values.in_words());
            PragmaError::Setting(format!("PRAGMA {pragma} cannot be {value}: it takes {expected}"))
        })
    }
}

impl Values {
    /// Returns the values allowed, for a message.
    pub fn in_words(&self) -> String {
        match self {
            Values::Boolean => "on or off".to_owned(),
            Values::Integer { min, max, unit } => format!("a number from {min} to {max} ({unit})"),
            Values::PowerOfTwo { min, max, unit } => {
                format!("a power of two from {min} to {max} ({unit})")
            }
            Values::BooleanOrInteger { max, unit } => {
                format!("on, off or a number from 2 to {max} ({unit})")
            }
            Values::Numbered(names) => {
                let each = names.iter().map(|(name, n)| format!("{name} ({n})"));
                format!("one of {}", each.collect::<Vec<_>>().join(", "))
            }
            Values::Names(names) => format!("one of {}", names.join(", ")),
            Values::None => "no value".to_owned(),
        }
    }
}

fn boolean(value: &str) -> Option<&'static str> {
    match value.to_ascii_lowercase().as_str() {
        "on" | "true" | "yes" | "1" => Some("on"),
        "off" | "false" | "no" | "0" => Some("off"),
        _ => None,
    }
}

/// Returns the number in decimal, if it is within the range.
fn number(value: &str, range: RangeInclusive<i64>) -> Option<String> {
    Some(value.parse().ok().filter(|number| range.contains(number))?.to_string())
}

fn numbered(names: &'static [(&'static str, i64)], value: &str) -> Option<&'static str> {
    let number = value.parse().ok();
    let same = |(name, n): &&(&str, i64)| name.eq_ignore_ascii_case(value) || number == Some(*n);
    names.iter().find(same).map(|(name, _)| *name)
}

/// Also takes encodings as SQLite does: without the hyphen, and `UTF-16` as the machine's own.
fn named(names: &'static [&'static str], value: &str) -> Option<&'static str> {
    let native = if cfg!(target_endian = "little") { "utf16le" } else { "utf16be" };
    let plain = |text: &str| match text.replace('-', "").to_ascii_lowercase().as_str() {
        "utf16" => native.to_owned(),
        other => other.to_owned(),
    };
    names.iter().find(|name| plain(name) == plain(value)).copied()
}

#[cfg(test)]
mod tests {
    use super::find;

    fn normal(pragma: &str, value: &str) -> Option<String> {
        find(pragma).expect("in the catalogue").normalise(value).ok()
    }

    #[test]
    fn names_numbers_and_capitals_are_one_spelling() {
        for value in ["NORMAL", "normal", " Normal ", "1"] {
            assert_eq!(normal("synchronous", value).as_deref(), Some("normal"), "{value}");
        }
        for value in ["1", "TRUE", "yes", "On"] {
            assert_eq!(normal("foreign_keys", value).as_deref(), Some("on"), "{value}");
        }
        assert_eq!(normal("encoding", "utf8").as_deref(), Some("UTF-8"));
        assert_eq!(normal("encoding", "utf-16BE").as_deref(), Some("UTF-16be"));
        assert_eq!(normal("cache_size", "-02000").as_deref(), Some("-2000"));
    }

    #[test]
    fn values_outside_the_range_are_refused() {
        for (pragma, value) in [
            ("synchronous", "4"),
            ("synchronous", "paranoid"),
            ("foreign_keys", "2"),
            ("page_size", "0"),
            ("page_size", "5000"),
            ("page_size", "131072"),
            ("threads", "9"),
            ("cache_size", "3000000000"),
            ("journal_mode", "wal; DROP TABLE t"),
            ("integrity_check", "1"),
        ] {
            assert_eq!(normal(pragma, value), None, "{pragma} = {value}");
        }
    }

    #[test]
    fn a_refusal_says_what_is_allowed() {
        let error = find("synchronous").expect("in the catalogue").normalise("paranoid");
        assert_eq!(
            error.expect_err("no such level").to_string(),
            "PRAGMA synchronous cannot be paranoid: it takes one of off (0), normal (1), full (2), \
             extra (3)"
        );
    }
}

//! The shape of a catalogue entry.

/// What the catalogue knows of one PRAGMA.
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
    /// Values worth comparing, normalised; the default is among them. Empty where there is nothing to
    /// compare.
    pub levels: &'static [&'static str],
    /// What the setting belongs to.
    pub scope: Scope,
    /// When it can be set and from when on it holds.
    pub timing: Timing,
    /// What it does, in one line.
    pub meaning: &'static str,
}

impl Pragma {
    /// The address of its documentation.
    pub fn reference(&self) -> String {
        format!("https://sqlite.org/pragma.html#pragma_{}", self.name)
    }
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
pub enum Values {
    /// `on` or `off`; `true`, `false`, `yes`, `no`, 1 and 0 mean the same.
    Boolean,
    /// A whole number.
    Integer {
        /// The least.
        min: i64,
        /// The greatest.
        max: i64,
        /// The unit, or what negative numbers mean.
        unit: &'static str,
    },
    /// A power of two.
    PowerOfTwo {
        /// The least.
        min: i64,
        /// The greatest.
        max: i64,
        /// The unit.
        unit: &'static str,
    },
    /// `on` or `off`, or a number from 2 on.
    BooleanOrInteger {
        /// The greatest number.
        max: i64,
        /// The unit of the number.
        unit: &'static str,
    },
    /// One of some names which have numbers.
    Numbered(&'static [(&'static str, i64)]),
    /// One of some names.
    Names(&'static [&'static str]),
    /// No value: the PRAGMA is not a setting.
    None,
}

/// What a setting belongs to.
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

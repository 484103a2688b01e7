//! The settings to be printed, sorted by when and where they take effect.

use lab::level::{Level, Settings};

/// PRAGMAs that shape the file and take effect only before its first table is written, or with a
/// VACUUM (<https://sqlite.org/pragma.html>).
const OF_THE_FILE: [&str; 3] = ["encoding", "page_size", "auto_vacuum"];

/// The name of the PRAGMA that every binding has an option of its own for.
const BUSY_TIMEOUT: &str = "busy_timeout";

/// Settings of connections and of the file, in the order in which they have to be applied.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chosen {
    /// PRAGMAs that are set once for each database file.
    pub(super) file: Vec<Pragma>,
    /// Whether statistics for the planner are collected once for each database file.
    pub(super) analyze: bool,
    /// PRAGMAs that are set on every connection, `busy_timeout` apart.
    pub(super) connection: Vec<Pragma>,
    /// How long a statement waits for a lock, in milliseconds.
    pub(super) busy_timeout_ms: Option<i64>,
    /// How transactions begin.
    pub(super) begin: Option<Begin>,
    /// Mutexes of a connection.
    pub(super) mutex: Option<Mutex>,
}

/// A PRAGMA with its value as SQL takes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pragma {
    /// Its name.
    pub(super) name: String,
    /// Its value: a whole number or a word.
    pub(super) value: String,
}

impl Pragma {
    /// Whether the value is a number rather than a word.
    pub(super) fn is_number(&self) -> bool {
        self.value.parse::<i64>().is_ok()
    }

    /// Whether it is this PRAGMA with this value.
    pub(super) fn is(&self, name: &str, value: &str) -> bool {
        self.name == name && self.value == value
    }

    /// The value in a program: a number as it is, a word as text.
    pub(super) fn literal(&self) -> String {
        if self.is_number() { self.value.clone() } else { format!("\"{}\"", self.value) }
    }

    /// The value in YAML, which would take `off` for the truth value `false`.
    pub(super) fn yaml(&self) -> String {
        match &self.value[..] {
            "on" | "off" => format!("\"{}\"", self.value),
            value => value.to_owned(),
        }
    }

    /// `PRAGMA name = value`.
    pub(super) fn sql(&self) -> String {
        format!("PRAGMA {} = {}", self.name, self.value)
    }
}

/// How transactions begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Begin {
    Deferred,
    Immediate,
    Exclusive,
}

impl Begin {
    /// In lower case.
    pub(super) fn name(self) -> &'static str {
        match self {
            Begin::Deferred => "deferred",
            Begin::Immediate => "immediate",
            Begin::Exclusive => "exclusive",
        }
    }
}

/// Mutexes of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mutex {
    /// `SQLITE_OPEN_NOMUTEX`.
    No,
    /// `SQLITE_OPEN_FULLMUTEX`.
    Full,
}

impl Mutex {
    /// In lower case.
    pub(super) fn name(self) -> &'static str {
        match self {
            Mutex::No => "no",
            Mutex::Full => "full",
        }
    }

    /// The flag of `sqlite3_open_v2` (<https://sqlite.org/c3ref/open.html>).
    pub(super) fn flag(self) -> &'static str {
        match self {
            Mutex::No => "SQLITE_OPEN_NOMUTEX",
            Mutex::Full => "SQLITE_OPEN_FULLMUTEX",
        }
    }
}

/// A value that cannot be written into a program as it is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the setting `{name}` has the value `{value}`, which is neither a number nor a plain word, so it is not printed"
)]
pub struct BadValue {
    /// The setting.
    pub name: String,
    /// Its value.
    pub value: String,
}

impl Chosen {
    /// The settings among `settings` that are PRAGMAs, as `is_pragma` tells from the name, or say how
    /// connections are opened and transactions begin (`open_mutex`, `transaction`), or `analyze`. Others, such as
    /// parameters of a workload, are no settings of SQLite and are left out.
    ///
    /// # Errors
    /// [`BadValue`] for a value that could be more than a value where it is pasted: a record may
    /// come from anywhere.
    pub fn of(settings: &Settings, is_pragma: impl Fn(&str) -> bool) -> Result<Chosen, BadValue> {
        let mut chosen = Chosen::default();
        for (name, level) in settings {
            match (name.as_str(), level) {
                ("analyze", Level::Bool(analyze)) => chosen.analyze = *analyze,
                ("transaction", Level::Text(text)) => chosen.begin = begin(text),
                ("open_mutex", Level::Text(text)) => chosen.mutex = mutex(text),
                (BUSY_TIMEOUT, Level::Int(ms)) => chosen.busy_timeout_ms = Some(*ms),
                (name, level) if is_pragma(name) => chosen.add(name, level)?,
                _ => {}
            }
        }
        chosen.file.sort_by_key(|pragma| rank(&OF_THE_FILE, pragma));
        // The locking mode before the journal mode: only so does WAL with exclusive locks do
        // without shared memory. The journal mode before the rest, some of which depends on it.
        chosen.connection.sort_by_key(|pragma| rank(&["locking_mode", "journal_mode"], pragma));
        Ok(chosen)
    }

    fn add(&mut self, name: &str, level: &Level) -> Result<(), BadValue> {
        let pragma = Pragma { name: name.to_owned(), value: value(name, level)? };
        if OF_THE_FILE.contains(&name) {
            self.file.push(pragma)
        } else {
            self.connection.push(pragma)
        }
        Ok(())
    }

    /// Whether there is nothing to print.
    pub fn is_empty(&self) -> bool {
        *self == Chosen::default()
    }

    /// Every PRAGMA in the order in which it is to be applied to a new database, with its value.
    pub fn pragmas(&self) -> Vec<(String, String)> {
        let pair = |pragma: &Pragma| (pragma.name.clone(), pragma.value.clone());
        let timeout = self.busy_timeout_ms.map(|ms| (BUSY_TIMEOUT.to_owned(), ms.to_string()));
        let pragmas = self.file.iter().chain(&self.connection).map(pair);
        timeout.into_iter().chain(pragmas).collect()
    }

    /// Whether connections use a write-ahead log.
    pub(super) fn is_wal(&self) -> bool {
        let wal = |pragma: &Pragma| pragma.is("journal_mode", "wal");
        self.connection.iter().any(wal)
    }

    /// What to know of a write-ahead log where these settings use one (<https://sqlite.org/wal.html>); lines of their own.
    pub fn remarks_on_wal(&self) -> Vec<&'static str> {
        let is_normal = |pragma: &Pragma| pragma.is("synchronous", "normal");
        let order = "In this order, the journal mode changes while synchronous is still FULL, as it must: a power cut during the change \
                     may corrupt the database otherwise.";
        let order = self.connection.iter().any(is_normal).then_some(order);
        let wal = "WAL is stored in the file and stays. The newest commits are in app.db-wal: back up with VACUUM INTO or SQLite's backup \
                   interface, not by copying app.db alone, and use no network file system.";
        if self.is_wal() { std::iter::once(wal).chain(order).collect() } else { Vec::new() }
    }

    /// How transactions begin, where that is not the default.
    pub(super) fn unusual_begin(&self) -> Option<Begin> {
        self.begin.filter(|begin| *begin != Begin::Deferred)
    }

    /// How long a statement waits for a lock, in seconds as a program writes them: `5.0`, `0.25`.
    pub(super) fn busy_timeout_s(&self) -> Option<String> {
        Some(format!("{:?}", self.busy_timeout_ms? as f64 / 1000.0))
    }
}

fn begin(name: &str) -> Option<Begin> {
    let all = [Begin::Deferred, Begin::Immediate, Begin::Exclusive];
    all.into_iter().find(|begin| begin.name() == name)
}

fn mutex(name: &str) -> Option<Mutex> {
    let all = [Mutex::No, Mutex::Full];
    all.into_iter().find(|mutex| mutex.name() == name)
}

/// The place of a PRAGMA in an order that names only some; the others follow as they are.
fn rank(order: &[&str], pragma: &Pragma) -> usize {
    let named = order.iter().position(|name| *name == pragma.name);
    named.unwrap_or(order.len())
}

fn value(name: &str, level: &Level) -> Result<String, BadValue> {
    let text = match level {
        Level::Bool(true) => "on".to_owned(),
        Level::Bool(false) => "off".to_owned(),
        // UTF-8 needs quotes in SQL, and its hyphen may stand nowhere else.
        Level::Text(text) if name == "encoding" && text.starts_with("UTF-") => format!("'{text}'"),
        other => other.to_string(),
    };
    if is_plain_value(&text) && is_plain_name(name) {
        Ok(text)
    } else {
        Err(BadValue { name: name.to_owned(), value: level.to_string() })
    }
}

/// Whether it is a whole number, a word, or the quoted name of an encoding.
fn is_plain_value(text: &str) -> bool {
    const ENCODINGS: [&str; 4] = ["'UTF-8'", "'UTF-16'", "'UTF-16le'", "'UTF-16be'"];
    let is_word = |text: &str| {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
        !text.is_empty() && text.chars().all(plain)
    };
    let is_number = text.parse::<i64>().is_ok() && !text.starts_with('+');
    is_word(text) || is_number || ENCODINGS.contains(&text)
}

fn is_plain_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c == '_';
    !name.is_empty() && name.chars().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(entries: &[(&str, Level)]) -> Settings {
        let entry = |(name, level): &(&str, Level)| ((*name).to_owned(), level.clone());
        entries.iter().map(entry).collect()
    }

    #[test]
    fn who_pastes_wal_reads_how_to_back_up_and_that_the_order_matters() {
        let remarks = |journal_mode: &str, synchronous: &str| {
            let settings = settings(&[
                ("journal_mode", journal_mode.into()),
                ("synchronous", synchronous.into()),
            ]);
            let chosen = Chosen::of(&settings, |_| true).unwrap();
            chosen.remarks_on_wal().join(" ")
        };
        assert!(remarks("wal", "full").contains("back up with VACUUM INTO"));
        assert!(!remarks("wal", "full").contains("In this order"));
        assert!(remarks("wal", "normal").contains("while synchronous is still FULL"));
        assert_eq!(remarks("delete", "normal"), "");
    }

    #[test]
    fn settings_come_in_the_order_in_which_they_take_effect() {
        let chosen = Chosen::of(
            &settings(&[
                ("auto_vacuum", "incremental".into()),
                ("busy_timeout", 5000.into()),
                ("cache_size", Level::Int(-8000)),
                ("foreign_keys", true.into()),
                ("journal_mode", "wal".into()),
                ("locking_mode", "exclusive".into()),
                ("page_size", 8192.into()),
                ("rows", 10.into()),
                ("transaction", "immediate".into()),
            ]),
            |name| name != "rows",
        )
        .unwrap();
        let names: Vec<String> = chosen.pragmas().into_iter().map(|(name, _)| name).collect();
        let expected = [
            "busy_timeout",
            "page_size",
            "auto_vacuum",
            "locking_mode",
            "journal_mode",
            "cache_size",
            "foreign_keys",
        ];
        assert_eq!(names, expected);
        assert_eq!(chosen.begin, Some(Begin::Immediate));
        assert_eq!(chosen.connection[3].sql(), "PRAGMA foreign_keys = on");
    }

    #[test]
    fn a_value_that_could_be_more_than_a_value_is_refused() {
        let hostile = settings(&[("journal_mode", "wal'; DROP TABLE t; --".into())]);
        let error = Chosen::of(&hostile, |_| true).unwrap_err();
        assert_eq!(error.name, "journal_mode");
        for value in ["--", "off'", "'off", "''", "UTF-8", "-x", "+1"] {
            let hostile = settings(&[("journal_mode", value.into())]);
            assert!(Chosen::of(&hostile, |_| true).is_err(), "{value}");
        }
        let hostile = settings(&[("x\"); evil(\"", 1.into())]);
        assert!(Chosen::of(&hostile, |_| true).is_err());
        assert!(Chosen::of(&settings(&[]), |_| true).unwrap().is_empty());
    }
}

//! SQLite as a target: opening a connection with the settings of a variant, and reading back the settings in force.
//!
//! Proof of the settings in force: they are read back from every connection and compared with the variant.

mod counts;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use engine::pragma::{self, Access, Pragma, PragmaError, Timing, Values};
use engine::vfs::{ClockAhead, CountingVfs, ObservedVfs};
use engine::{Connection, EngineError, Library, OpenFlags};
use lab::catalogue::{Accepts, Parameter, Scope};
use lab::level::{Level, Settings, picked};
use lab::trial::ReadBack;

use crate::error::{Result, TrialError};
use crate::parameters::setting;
use crate::trial::Trial;

pub(crate) use counts::{Counts, add_counts_for_each, file_metrics};

/// Returns the settings of a connection that are not PRAGMAs.
pub(crate) fn connection_settings() -> Vec<Parameter> {
    let choice = |name: &str, names: &[&str], about: &str| Parameter {
        default: Some(names[0].into()),
        ..setting(name, Accepts::choice(names), Scope::Connection, about.to_owned())
    };
    vec![
        choice(
            OPEN_MUTEX,
            &["default", "no", "full"],
            "mutex of a connection: as compiled, none (SQLITE_OPEN_NOMUTEX) or full (SQLITE_OPEN_FULLMUTEX)",
        ),
        choice(
            "transaction",
            &["deferred", "immediate", "exclusive", "concurrent"],
            "how transactions begin; concurrent requires an engine of SQLite's begin-concurrent branch",
        ),
    ]
}

/// The PRAGMAs that affect the damage of a crash (<https://sqlite.org/howtocorrupt.html>, sections 3 and 5, and the documentation
/// of each). The locking mode changes how a journal is ended.
const CRASH_RELEVANT: &[&str] =
    &["journal_mode", "synchronous", "locking_mode", "fullfsync", "checkpoint_fullfsync"];

/// Returns whether a PRAGMA affects the damage of a crash.
pub(crate) fn decides_what_a_crash_takes(name: &str) -> bool {
    CRASH_RELEVANT.contains(&name)
}

/// Returns every PRAGMA that can be set, as a setting without a default: SQLite's own default applies unless an experiment names
/// the PRAGMA.
pub(crate) fn pragma_settings() -> Vec<Parameter> {
    pragma::CATALOGUE
        .iter()
        .filter_map(|entry| {
            let accepts = accepted(&entry.values)?;
            let about = match entry.default {
                Some(default) => format!("{} (SQLite's default: {default})", entry.meaning),
                None => entry.meaning.to_owned(),
            };
            Some(Parameter {
                crash_relevant: CRASH_RELEVANT.contains(&entry.name),
                ..setting(entry.name, accepts, Scope::Pragma, about)
            })
        })
        .collect()
}

fn accepted(values: &Values) -> Option<Accepts> {
    match values {
        Values::Boolean => Some(Accepts::Bool),
        Values::Integer { min, max, .. } => Some(Accepts::Int { min: *min, max: *max }),
        Values::PowerOfTwo { min, max, .. } => Some(Accepts::PowerOfTwo { min: *min, max: *max }),
        Values::BooleanOrInteger { max, .. } => Some(Accepts::Int { min: 0, max: *max }),
        Values::Numbered(names) => {
            Some(Accepts::Choice(names.iter().map(|(name, _)| (*name).to_owned()).collect()))
        }
        Values::Names(names) => Some(Accepts::choice(names)),
        Values::None => None,
    }
}

/// Returns why no SQLite library can work with these settings. Other problems show only when a setting is applied and read back.
pub(crate) fn why_impossible(settings: &Settings) -> Option<String> {
    let number = |name: &str| settings.get(name).and_then(Level::as_int);
    if settings.get("query_only").and_then(Level::as_bool) == Some(true) {
        return Some(
            "with query_only every write is refused, and every workload makes its own tables"
                .to_owned(),
        );
    }
    match (number("hard_heap_limit"), number("soft_heap_limit")) {
        (Some(hard), Some(soft)) if hard > 0 && soft > hard => {
            Some(format!("soft_heap_limit={soft} cannot exceed hard_heap_limit={hard}"))
        }
        _ => None,
    }
}

/// Returns why a database in memory cannot have these settings
/// (<https://sqlite.org/pragma.html#pragma_journal_mode>, `#pragma_locking_mode`,
/// `#pragma_mmap_size`).
pub(crate) fn why_impossible_in_memory(settings: &Settings) -> Option<String> {
    let name = |name: &str| settings.get(name).and_then(Level::as_text);
    match (name("journal_mode"), name("locking_mode")) {
        (Some(mode), _) if !matches!(mode, "memory" | "off") => Some(format!(
            "a database in memory cannot have journal_mode={mode}, only memory or off"
        )),
        (_, Some("normal")) => Some("a database in memory is always locked exclusively".to_owned()),
        _ => settings
            .contains_key("mmap_size")
            .then(|| "a database in memory has no file that mmap_size could map".to_owned()),
    }
}

/// Opens a connection with the settings' flags, applies their PRAGMAs and checks each.
pub(crate) fn open(trial: &Trial<'_>, path: &Path) -> Result<Connection> {
    let counter = trial.counter.as_deref().map(CountingVfs::name);
    open_with(&trial.library, trial.settings, counter, path)
}

/// As [`open`], with a clock that is years ahead.
pub(crate) fn open_ahead(trial: &Trial<'_>, path: &Path) -> Result<Connection> {
    const MILLISECONDS: i64 = (1_000 * 24 + 7) * 3_600_000 + 83_123;
    let clock = Arc::new(ClockAhead(MILLISECONDS));
    let vfs = ObservedVfs::register(&trial.library, None, "pragmark-ahead", clock)?;
    open_with(&trial.library, trial.settings, Some(vfs.name()), path)
}

/// Opens the connections of a trial on other threads, which cannot have the trial itself.
pub(crate) struct Opening {
    /// The library of the trial.
    pub(crate) library: Arc<Library>,
    settings: Settings,
    flags: OpenFlags,
    /// The PRAGMAs of the settings, for connections whose opening is timed.
    script: String,
    /// The same without PRAGMAs that only affect a new file, if there are any of them.
    script_of_existing: Option<String>,
    /// The counters of a counting trial.
    pub(crate) counter: Option<Arc<CountingVfs>>,
}

impl Opening {
    /// Opens connections with the settings of a trial.
    ///
    /// # Errors
    /// A setting has a value that its PRAGMA does not take.
    pub(crate) fn of(trial: &Trial<'_>) -> Result<Opening> {
        let script = pragma_script(trial.settings, |_| true)?;
        let of_existing = pragma_script(trial.settings, |entry| !is_of_new_file(entry))?;
        Ok(Opening {
            library: Arc::clone(&trial.library),
            settings: trial.settings.clone(),
            flags: open_flags(trial.settings),
            script_of_existing: (of_existing != script).then_some(of_existing),
            script,
            counter: trial.counter.clone(),
        })
    }

    /// Returns a setting of the trial.
    pub(crate) fn setting(&self, name: &str) -> Option<&Level> {
        self.settings.get(name)
    }

    /// As [`open`].
    pub(crate) fn open(&self, path: &Path) -> Result<Connection> {
        let counter = self.counter.as_deref().map(CountingVfs::name);
        open_with(&self.library, &self.settings, counter, path)
    }

    /// Opens a connection as an application does: its settings are applied and not read back. This is for connections whose opening
    /// is timed; give their settings to [`Opening::prove`] when the clock has stopped. PRAGMAs of a new file are not applied to an
    /// existing one: an application sets them once, and `PRAGMA auto_vacuum` would write a transaction each time.
    pub(crate) fn open_unproved(&self, path: &Path) -> Result<Connection> {
        let vfs = self.counter.as_deref().map(CountingVfs::name);
        let connection = Connection::open(&self.library, path, self.flags, vfs)?;
        let script = match &self.script_of_existing {
            Some(of_existing) if size(path)? > 0.0 => of_existing,
            _ => &self.script,
        };
        if !script.is_empty() {
            connection.execute(script)?;
        }
        Ok(connection)
    }

    /// As [`begin_statement`].
    pub(crate) fn begin(&self) -> &'static str {
        begin_statement(&self.settings)
    }

    /// As [`prove`], for connections that were opened unproved, if there were any.
    ///
    /// # Errors
    /// The first setting that was not in force, with the connection.
    pub(crate) fn prove(&self, connections: &[ReadBack]) -> Result<()> {
        match connections {
            [] => Ok(()),
            _ => prove(&self.settings, connections),
        }
    }
}

fn open_with(
    library: &Arc<Library>,
    settings: &Settings,
    vfs: Option<&str>,
    path: &Path,
) -> Result<Connection> {
    let connection = Connection::open(library, path, open_flags(settings), vfs)?;
    for (entry, level) in in_order(settings) {
        pragma::apply(&connection, entry.name, &level.to_string()).map_err(cannot_or_failed)?;
    }
    check_begin(&connection, settings)?;
    Ok(connection)
}

/// Most engines have no BEGIN CONCURRENT (<https://sqlite.org/cgi/src/doc/begin-concurrent/doc/begin_concurrent.md>).
fn check_begin(connection: &Connection, settings: &Settings) -> Result<()> {
    let begin = begin_statement(settings);
    match connection.prepare(begin) {
        Err(error) if begin == BEGIN_CONCURRENT => Err(TrialError::CannotRun(format!(
            "this engine lacks {begin}, which requires SQLite's begin-concurrent branch: {error}"
        ))),
        other => Ok(other.map(drop)?),
    }
}

const BEGIN_CONCURRENT: &str = "BEGIN CONCURRENT";

/// Returns the PRAGMAs of the settings, in the order in which they must be applied.
fn in_order(settings: &Settings) -> Vec<(&'static Pragma, &Level)> {
    let mut pragmas: Vec<(&Pragma, &Level)> =
        settings.iter().filter_map(|(name, level)| Some((pragma::find(name)?, level))).collect();
    // The rank of a PRAGMA. The busy timeout comes first, because every other PRAGMA that reads the file may
    // meet another connection's lock. PRAGMAs of a new file come before any that writes to it, as `auto_vacuum`
    // does. The locking mode comes before the journal mode, because WAL with exclusive locking needs no shared
    // memory only in this order.
    pragmas.sort_by_key(|(entry, _)| match (entry.timing, entry.name) {
        (_, "busy_timeout") => 0,
        (_, "auto_vacuum") => 2,
        _ if is_of_new_file(entry) => 1,
        (_, "locking_mode") => 3,
        (_, "journal_mode") => 4,
        _ => 5,
    });
    pragmas
}

/// Returns the PRAGMAs of the settings as statements, in the order in which they must be executed, each with its value in the
/// normal spelling.
///
/// # Errors
/// The PRAGMA does not take the value, which could be anything as a part of a statement.
pub(crate) fn pragma_statements(settings: &Settings) -> Result<Vec<String>, EngineError> {
    let statement = |(entry, level): (&Pragma, &Level)| {
        let wanted = entry.normalise(&level.to_string())?;
        Ok(format!("PRAGMA {} = '{wanted}'", entry.name))
    };
    in_order(settings).into_iter().map(statement).collect()
}

/// Returns some PRAGMAs of the settings as a script, for connections whose opening is timed and whose settings are proved
/// afterwards.
///
/// # Errors
/// As for [`pragma_statements`].
fn pragma_script(
    settings: &Settings,
    is_wanted: impl Fn(&Pragma) -> bool,
) -> Result<String, EngineError> {
    let is_wanted = |name: &String| pragma::find(name).is_some_and(&is_wanted);
    let statements = pragma_statements(&picked(settings, is_wanted))?;
    Ok(statements.iter().map(|statement| format!("{statement};")).collect())
}

/// Returns whether the PRAGMA only affects a file that has not been written, or VACUUM.
fn is_of_new_file(entry: &Pragma) -> bool {
    matches!(entry.timing, Timing::BeforeCreation | Timing::BeforeFirstWrite)
}

/// Returns that the variant cannot run if the engine lacks a PRAGMA; a PRAGMA without effect is a failure.
fn cannot_or_failed(error: EngineError) -> TrialError {
    match &error {
        EngineError::Pragma(PragmaError::NotInEngine(..)) => {
            TrialError::CannotRun(error.to_string())
        }
        _ => error.into(),
    }
}

/// Returns how long a connection waits for a lock.
pub(crate) fn busy_timeout(settings: &Settings) -> Duration {
    let millis = settings.get("busy_timeout").and_then(Level::as_int);
    Duration::from_millis(millis.unwrap_or(0).max(0) as u64)
}

/// Returns the statement that begins a transaction.
pub(crate) fn begin_statement(settings: &Settings) -> &'static str {
    match settings.get("transaction").and_then(Level::as_text) {
        Some("immediate") => "BEGIN IMMEDIATE",
        Some("exclusive") => "BEGIN EXCLUSIVE",
        Some("concurrent") => BEGIN_CONCURRENT,
        _ => "BEGIN DEFERRED",
    }
}

/// Returns the size of a file; 0 if it does not exist.
pub(crate) fn size(path: &Path) -> Result<f64> {
    match std::fs::metadata(path) {
        Ok(metadata) => Ok(metadata.len() as f64),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(0.0),
        Err(source) => Err(TrialError::io("look at", path)(source)),
    }
}

/// Returns the size of the write-ahead log of a database; 0 if it does not exist.
pub(crate) fn wal_size(path: &Path) -> Result<f64> {
    let mut wal = path.as_os_str().to_owned();
    wal.push("-wal");
    size(Path::new(&wal))
}

/// Closes connections and returns the settings that were in force on each. They are named `name 1`, `name 2` and so on.
pub(crate) fn close_numbered(name: &str, connections: Vec<Connection>) -> Result<Vec<ReadBack>> {
    let mut closed = Vec::with_capacity(connections.len());
    for (number, connection) in connections.into_iter().enumerate() {
        closed.push(read_back(&format!("{name} {}", number + 1), &connection)?);
        connection.close()?;
    }
    Ok(closed)
}

/// Returns the flags of the settings.
fn open_flags(settings: &Settings) -> OpenFlags {
    let flags = OpenFlags::READ_WRITE | OpenFlags::CREATE;
    match settings.get(OPEN_MUTEX).and_then(Level::as_text) {
        Some("no") => flags | OpenFlags::NO_MUTEX,
        Some("full") => flags | OpenFlags::FULL_MUTEX,
        _ => flags,
    }
}

/// Name of the setting that tells whether a connection takes its mutex.
pub(super) const OPEN_MUTEX: &str = "open_mutex";

/// Returns the PRAGMAs of a fresh connection to a file of its own in the trial's directory, before anything is set.
pub(crate) fn defaults(trial: &Trial<'_>) -> Result<BTreeMap<String, String>> {
    let path = trial.directory.join("defaults.db");
    let fresh = Connection::open(&trial.library, &path, OpenFlags::default(), None)?;
    let pragmas = pragma::read_back(&fresh)?;
    fresh.close()?;
    Ok(pragmas)
}

/// Reads back every configuration PRAGMA of a connection, and how it was opened.
pub(crate) fn read_back(connection: &str, database: &Connection) -> Result<ReadBack> {
    let mut pragmas = pragma::read_back(database)?;
    if let Some(serialised) = database.is_serialised() {
        let mutex = if serialised { "full" } else { "no" };
        pragmas.insert(OPEN_MUTEX.to_owned(), mutex.to_owned());
    }
    Ok(ReadBack { connection: connection.to_owned(), pragmas })
}

/// Checks that the settings were in force on every connection that took part, as read back after the work.
///
/// # Errors
/// The first setting that was not in force, with its connection; or no connection was read back.
pub(crate) fn prove(settings: &Settings, connections: &[ReadBack]) -> Result<()> {
    let readable = settings.iter().filter(|(name, _)| is_read_back(name));
    for (name, level) in readable {
        let Some(wanted) = wanted(name, level)? else { continue };
        if connections.is_empty() {
            return Err(TrialError::not_proved(format!("{name}={wanted}")));
        }
        for read_back in connections {
            let found = read_back.pragmas.get(name).map(String::as_str);
            if !found.is_some_and(|found| holds(name, &wanted, found)) {
                return Err(TrialError::not_in_force(
                    name,
                    &read_back.connection,
                    found.unwrap_or("not known"),
                    &wanted,
                ));
            }
        }
    }
    Ok(())
}

/// Returns whether the setting can be read after the work. A setting that cannot be read, or that the end of each transaction
/// resets, was proved when it was applied.
fn is_read_back(name: &str) -> bool {
    name == OPEN_MUTEX
        || pragma::find(name).is_some_and(|entry| {
            entry.access == Access::ReadWrite && entry.timing != Timing::UntilTransactionEnds
        })
}

/// Returns the required value; `None` if any value is allowed.
fn wanted(name: &str, level: &Level) -> Result<Option<String>> {
    match pragma::find(name) {
        Some(entry) => {
            let normal = entry.normalise(&level.to_string());
            Ok(Some(normal.map_err(EngineError::from)?))
        }
        None => Ok(level.as_text().filter(|mutex| *mutex != "default").map(str::to_owned)),
    }
}

fn holds(name: &str, wanted: &str, found: &str) -> bool {
    match pragma::find(name) {
        Some(entry) => pragma::in_force(entry, wanted, found),
        None => wanted == found,
    }
}

#[cfg(test)]
mod tests {
    use engine::Source;

    use super::*;

    fn statements(level: impl Into<Level>) -> Result<Vec<String>, EngineError> {
        pragma_statements(&Settings::from([("journal_mode".to_owned(), level.into())]))
    }

    #[test]
    fn a_value_that_is_none_becomes_no_part_of_a_statement() {
        let usual = statements("WAL").unwrap();
        assert_eq!(usual, ["PRAGMA journal_mode = 'wal'"]);
        for level in ["wal'; ATTACH '/etc/x' AS x; --", "", "'"] {
            let error = statements(level).unwrap_err().to_string();
            assert!(error.contains("journal_mode"), "{error}");
        }
    }

    #[test]
    fn opening_an_existing_file_writes_nothing_though_a_setting_shapes_it() {
        let settings = Settings::from([("auto_vacuum".to_owned(), "full".into())]);
        let directory = tempfile::tempdir().unwrap();
        let opening = Opening::of(&Trial::detached(
            &settings,
            &Arc::new(Library::load(&Source::Embedded).unwrap()),
            directory.path(),
        ))
        .unwrap();
        let path = directory.path().join("x.db");
        let new = opening.open_unproved(&path).unwrap();
        new.execute("CREATE TABLE t(x)").unwrap();
        new.close().unwrap();
        let before = std::fs::read(&path).unwrap();
        let again = opening.open_unproved(&path).unwrap();
        assert_eq!(pragma::read(&again, "auto_vacuum").unwrap(), "full");
        again.close().unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), before);
    }

    fn read_back(pragmas: &[(&str, &str)]) -> ReadBack {
        ReadBack {
            connection: "writer".to_owned(),
            pragmas: pragmas
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
        }
    }

    fn settings(over: &[(&str, Level)]) -> Settings {
        over.iter().map(|(name, level)| ((*name).to_owned(), level.clone())).collect()
    }

    #[test]
    fn a_setting_in_force_on_every_connection_is_proved_in_any_spelling() {
        let settings = settings(&[
            ("synchronous", "normal".into()),
            ("foreign_keys", true.into()),
            ("cache_size", (-2000).into()),
            ("open_mutex", "full".into()),
            ("rows", 10.into()),
            ("transaction", "immediate".into()),
            ("case_sensitive_like", true.into()),
        ]);
        let good = read_back(&[
            ("synchronous", "normal"),
            ("foreign_keys", "on"),
            ("cache_size", "-2000"),
            ("open_mutex", "full"),
        ]);
        assert!(prove(&settings, &[good.clone(), good]).is_ok());
    }

    #[test]
    fn a_setting_that_one_connection_has_not_or_does_not_know_is_named_with_it() {
        let good = read_back(&[("synchronous", "normal")]);
        let other = read_back(&[("synchronous", "full")]);
        let unknown = read_back(&[]);
        let settings = settings(&[("synchronous", "normal".into())]);
        for (bad, found) in [(other, "is full on"), (unknown, "is not known on")] {
            let error = prove(&settings, &[good.clone(), bad]).unwrap_err().to_string();
            assert!(error.contains("`writer`") && error.contains(found), "{error}");
            assert!(error.contains("not normal"), "{error}");
        }
    }

    #[test]
    fn a_mutex_that_was_not_taken_is_noticed_and_the_default_is_any() {
        let no = read_back(&[("open_mutex", "no")]);
        let ask = |mutex: &str| settings(&[("open_mutex", mutex.into())]);
        assert!(prove(&ask("full"), std::slice::from_ref(&no)).is_err());
        assert!(prove(&ask("no"), std::slice::from_ref(&no)).is_ok());
        assert!(prove(&ask("default"), &[]).is_ok());
    }

    #[test]
    fn settings_without_a_connection_that_was_read_back_are_not_proved() {
        let error = prove(&settings(&[("cache_size", 10.into())]), &[]).unwrap_err();
        assert!(error.to_string().contains("cache_size=10"), "{error}");
        assert!(prove(&settings(&[("rows", 10.into())]), &[]).is_ok());
    }
}

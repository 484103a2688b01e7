//! SQLite as a target: opening a connection as the settings ask, and reading back what it became.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use engine::pragma::{self, Access, Pragma, PragmaError, Timing, Values};
use engine::vfs::{CountingVfs, FileCounts, IoCounts};
use engine::{Connection, DbStatus, EngineError, Library, OpenFlags};
use lab::catalogue::{Accepts, Parameter, Scope};
use lab::level::{Level, Settings};
use lab::trial::ReadBack;

use crate::error::TrialError;
use crate::workload::Trial;

/// Settings of a connection that are no PRAGMAs.
pub(crate) fn connection_settings() -> Vec<Parameter> {
    let choice = |name: &str, names: &[&str], default: &str, about: &str| Parameter {
        name: name.to_owned(),
        accepts: Accepts::choice(names),
        default: Some(default.into()),
        unit: None,
        about: about.to_owned(),
        scope: Scope::Connection,
        crash_relevant: false,
    };
    vec![
        choice(
            OPEN_MUTEX,
            &["default", "no", "full"],
            "default",
            "mutexes of a connection: as compiled, none (SQLITE_OPEN_NOMUTEX) or serialised (SQLITE_OPEN_FULLMUTEX)",
        ),
        choice(
            "transaction",
            &["deferred", "immediate", "exclusive", "concurrent"],
            "deferred",
            "how transactions begin; concurrent only with an engine of SQLite's branch begin-concurrent",
        ),
    ]
}

/// The PRAGMAs that decide what a crash can destroy (<https://sqlite.org/howtocorrupt.html>,
/// sections 3 and 5, and the documentation of each). The locking mode changes how a journal is
/// ended.
const CRASH_RELEVANT: &[&str] = &[
    "journal_mode",
    "synchronous",
    "locking_mode",
    "fullfsync",
    "checkpoint_fullfsync",
];

/// Every PRAGMA that can be set, as a setting. None has a default here: what no experiment names
/// is left as SQLite has it.
pub(crate) fn pragma_settings() -> Vec<Parameter> {
    pragma::CATALOGUE
        .iter()
        .filter_map(|entry| {
            let accepts = accepted(&entry.values)?;
            let about = match entry.default {
                Some(default) => format!("{} (SQLite's default: {default})", entry.meaning),
                None => entry.meaning.to_owned(),
            };
            let name = entry.name.to_owned();
            let crash_relevant = CRASH_RELEVANT.contains(&entry.name);
            Some(Parameter {
                name,
                accepts,
                default: None,
                unit: None,
                about,
                scope: Scope::Pragma,
                crash_relevant,
            })
        })
        .collect()
}

fn accepted(values: &Values) -> Option<Accepts> {
    match values {
        Values::Boolean => Some(Accepts::Bool),
        Values::Integer { min, max, .. } => Some(Accepts::Int {
            min: *min,
            max: *max,
        }),
        Values::PowerOfTwo { min, max, .. } => Some(Accepts::PowerOfTwo {
            min: *min,
            max: *max,
        }),
        Values::BooleanOrInteger { max, .. } => Some(Accepts::Int { min: 0, max: *max }),
        Values::Numbered(names) => Some(Accepts::Choice(
            names.iter().map(|(name, _)| (*name).to_owned()).collect(),
        )),
        Values::Names(names) => Some(Accepts::choice(names)),
        Values::None => None,
    }
}

/// Why SQLite, whatever its version and options, can never work with these settings; the rest shows
/// only when a setting is applied and read back.
pub(crate) fn why_impossible(settings: &Settings) -> Option<String> {
    let number = |name: &str| settings.get(name).and_then(Level::as_int);
    if settings.get("query_only").and_then(Level::as_bool) == Some(true) {
        return Some(
            "with query_only every write is refused, and every workload makes its own tables"
                .to_owned(),
        );
    }
    match (number("hard_heap_limit"), number("soft_heap_limit")) {
        (Some(hard), Some(soft)) if hard > 0 && soft > hard => Some(format!(
            "soft_heap_limit={soft} cannot exceed hard_heap_limit={hard}"
        )),
        _ => None,
    }
}

/// Why a database in memory cannot have these settings
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
pub(crate) fn open(trial: &Trial<'_>, path: &Path) -> Result<Connection, TrialError> {
    open_with(
        &trial.library,
        trial.settings,
        trial.counter.as_deref(),
        path,
    )
}

/// How the connections of a trial are opened: for threads, which cannot have the trial itself.
pub(crate) struct Opening {
    library: Arc<Library>,
    settings: Settings,
    /// The PRAGMAs of the settings, for connections whose opening is timed.
    script: String,
    /// The counters of a counting trial.
    pub(crate) counter: Option<Arc<CountingVfs>>,
}

impl Opening {
    /// As the trial asks.
    pub(crate) fn of(trial: &Trial<'_>) -> Opening {
        Opening {
            library: Arc::clone(&trial.library),
            settings: trial.settings.clone(),
            script: pragma_script(trial.settings),
            counter: trial.counter.clone(),
        }
    }

    /// As [`open`].
    pub(crate) fn open(&self, path: &Path) -> Result<Connection, TrialError> {
        open_with(&self.library, &self.settings, self.counter.as_deref(), path)
    }

    /// As an application opens a connection: its settings are applied and not looked at. It is for
    /// connections whose opening is timed; what they became is to be given to [`Opening::prove`] when
    /// the clock has stopped.
    pub(crate) fn open_unproved(&self, path: &Path) -> Result<Connection, TrialError> {
        let vfs = self.counter.as_deref().map(CountingVfs::name);
        let connection = Connection::open(&self.library, path, open_flags(&self.settings), vfs)?;
        if !self.script.is_empty() {
            connection.execute(&self.script)?;
        }
        Ok(connection)
    }

    /// How transactions begin, as [`begin_statement`].
    pub(crate) fn begin(&self) -> &'static str {
        begin_statement(&self.settings)
    }

    /// As [`prove`], for connections that were opened unproved; there may have been none.
    ///
    /// # Errors
    /// The first setting that was not in force, with the connection.
    pub(crate) fn prove(&self, connections: &[ReadBack]) -> Result<(), TrialError> {
        match connections {
            [] => Ok(()),
            _ => prove(&self.settings, connections),
        }
    }
}

fn open_with(
    library: &Arc<Library>,
    settings: &Settings,
    counter: Option<&CountingVfs>,
    path: &Path,
) -> Result<Connection, TrialError> {
    let vfs = counter.map(CountingVfs::name);
    let connection = Connection::open(library, path, open_flags(settings), vfs)?;
    for (entry, level) in in_order(settings) {
        pragma::apply(&connection, entry.name, &level.to_string()).map_err(cannot_or_failed)?;
    }
    check_begin(&connection, settings)?;
    Ok(connection)
}

/// Most engines have no BEGIN CONCURRENT (<https://sqlite.org/cgi/src/doc/begin-concurrent/doc/begin_concurrent.md>).
fn check_begin(connection: &Connection, settings: &Settings) -> Result<(), TrialError> {
    let begin = begin_statement(settings);
    match connection.prepare(begin) {
        Err(error) if begin == BEGIN_CONCURRENT => Err(TrialError::CannotRun(format!(
            "this engine has no {begin}, which only SQLite's branch begin-concurrent has: {error}"
        ))),
        other => Ok(other.map(drop)?),
    }
}

const BEGIN_CONCURRENT: &str = "BEGIN CONCURRENT";

/// The PRAGMAs that the settings name, in the order in which they must be applied.
fn in_order(settings: &Settings) -> Vec<(&'static Pragma, &Level)> {
    let mut pragmas: Vec<(&Pragma, &Level)> = settings
        .iter()
        .filter_map(|(name, level)| Some((pragma::find(name)?, level)))
        .collect();
    pragmas.sort_by_key(|(entry, _)| order(entry));
    pragmas
}

/// The PRAGMAs of the settings as statements, in the order in which they must be executed.
pub(crate) fn pragma_statements(settings: &Settings) -> Vec<String> {
    let statement = |(entry, level): (&Pragma, &Level)| {
        let wanted = level.to_string();
        // What the checks of experiments let pass has a normal spelling; SQLite refuses the rest.
        let wanted = entry.normalise(&wanted).unwrap_or(wanted);
        format!("PRAGMA {} = '{wanted}'", entry.name)
    };
    in_order(settings).into_iter().map(statement).collect()
}

/// The PRAGMAs of the settings as one script: for connections whose opening is timed, and whose
/// settings are proved afterwards.
pub(crate) fn pragma_script(settings: &Settings) -> String {
    let line = |(entry, level): (&Pragma, &Level)| format!("PRAGMA {} = '{level}';", entry.name);
    in_order(settings).into_iter().map(line).collect()
}

/// The busy timeout comes first, since every other PRAGMA that looks at the file may meet another
/// connection's lock. What shapes the file comes before anything that writes to it; the locking mode
/// before the journal mode, since WAL with exclusive locking does without shared memory only in this
/// order.
fn order(entry: &Pragma) -> u8 {
    match (entry.timing, entry.name) {
        (_, "busy_timeout") => 0,
        (Timing::BeforeCreation | Timing::BeforeFirstWrite, _) => 1,
        (_, "locking_mode") => 2,
        (_, "journal_mode") => 3,
        _ => 4,
    }
}

/// An engine without a PRAGMA cannot run the variant; a PRAGMA without effect is a failure.
fn cannot_or_failed(error: EngineError) -> TrialError {
    match &error {
        EngineError::Pragma(PragmaError::NotInEngine { .. }) => {
            TrialError::CannotRun(error.to_string())
        }
        _ => error.into(),
    }
}

/// How long a connection waits for a lock.
pub(crate) fn busy_timeout(settings: &Settings) -> Duration {
    let millis = settings.get("busy_timeout").and_then(Level::as_int);
    Duration::from_millis(millis.unwrap_or(0).max(0) as u64)
}

/// How a transaction begins.
pub(crate) fn begin_statement(settings: &Settings) -> &'static str {
    match settings.get("transaction").and_then(Level::as_text) {
        Some("immediate") => "BEGIN IMMEDIATE",
        Some("exclusive") => "BEGIN EXCLUSIVE",
        Some("concurrent") => BEGIN_CONCURRENT,
        _ => "BEGIN DEFERRED",
    }
}

/// The size of a file; 0 where there is none.
pub(crate) fn size(path: &Path) -> Result<f64, TrialError> {
    match std::fs::metadata(path) {
        Ok(metadata) => Ok(metadata.len() as f64),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(0.0),
        Err(source) => Err(TrialError::Io {
            doing: "look at",
            path: path.to_owned(),
            source,
        }),
    }
}

/// The flags that the settings ask for.
pub(crate) fn open_flags(settings: &Settings) -> OpenFlags {
    let flags = OpenFlags::READ_WRITE | OpenFlags::CREATE;
    match settings.get(OPEN_MUTEX).and_then(Level::as_text) {
        Some("no") => flags | OpenFlags::NO_MUTEX,
        Some("full") => flags | OpenFlags::FULL_MUTEX,
        _ => flags,
    }
}

/// What the work does to files and to the page cache, counted from its making on.
pub(crate) struct Counts {
    counter: Arc<CountingVfs>,
    before: IoCounts,
    metrics: BTreeMap<String, f64>,
}

/// Counters of the page cache by metric.
const CACHE: &[(&str, DbStatus)] = &[
    ("cache_misses", DbStatus::CacheMiss),
    ("cache_spills", DbStatus::CacheSpill),
    ("pages_written", DbStatus::CacheWrite),
];

impl Counts {
    /// Begins to count in a counting trial; none in a timed one.
    pub(crate) fn begin(
        trial: &Trial<'_>,
        connection: &Connection,
    ) -> Result<Option<Counts>, TrialError> {
        Counts::begin_all(trial, std::slice::from_ref(connection))
    }

    /// As [`Counts::begin`], for work by several connections.
    pub(crate) fn begin_all(
        trial: &Trial<'_>,
        connections: &[Connection],
    ) -> Result<Option<Counts>, TrialError> {
        Counts::of(trial.counter.as_ref(), connections)
    }

    /// As [`Counts::begin_all`], with a counter of the connections' own.
    pub(crate) fn of(
        counter: Option<&Arc<CountingVfs>>,
        connections: &[Connection],
    ) -> Result<Option<Counts>, TrialError> {
        let Some(counter) = counter else {
            return Ok(None);
        };
        for connection in connections {
            for (_, status) in CACHE {
                connection.db_status(*status, true)?;
            }
        }
        Ok(Some(Counts {
            counter: Arc::clone(counter),
            before: counter.counts(),
            metrics: BTreeMap::new(),
        }))
    }

    /// Adds what the page cache of a connection has counted since it was opened or counting began;
    /// to be called once before it is closed.
    pub(crate) fn note(&mut self, connection: &Connection) -> Result<(), TrialError> {
        for (name, status) in CACHE {
            let value = connection.db_status(*status, true)?.current;
            *self.metrics.entry((*name).to_owned()).or_default() += value as f64;
        }
        Ok(())
    }

    /// Leaves out what happens to files until [`Counts::resume`], after noting these connections.
    pub(crate) fn pause(&mut self, connections: &[Connection]) -> Result<(), TrialError> {
        let now = self.counter.counts();
        for (name, value) in file_metrics(&now.since(&self.before)) {
            *self.metrics.entry(name).or_default() += value;
        }
        self.before = now;
        connections
            .iter()
            .try_for_each(|connection| self.note(connection))
    }

    /// Counts again what happens to files.
    pub(crate) fn resume(&mut self) {
        self.before = self.counter.counts();
    }

    /// What was counted until the last pause, as metrics: for all files together, and by kind of
    /// file where any of that kind took part.
    pub(crate) fn finish(self) -> BTreeMap<String, f64> {
        self.metrics
    }

    /// What was counted until now in work by one connection.
    pub(crate) fn end(
        mut self,
        connection: &Connection,
    ) -> Result<BTreeMap<String, f64>, TrialError> {
        self.pause(std::slice::from_ref(connection))?;
        Ok(self.finish())
    }
}

/// What is told for each row and for each transaction: the metric, what it divides, and the rate
/// that tells how many there were.
const EACH: &[(&str, &str, &str)] = &[
    ("pages_per_row", "pages_written", "rows_per_s"),
    ("bytes_written_per_row", "bytes_written", "rows_per_s"),
    ("syncs_per_txn", "syncs", "txns_per_s"),
    ("pages_per_txn", "pages_written", "txns_per_s"),
    ("bytes_written_per_txn", "bytes_written", "txns_per_s"),
];

/// Adds what was counted for each row and each transaction, where the work has them.
pub(crate) fn add_counts_for_each(metrics: &mut BTreeMap<String, f64>) {
    let figure = |name: &str| metrics.get(name).copied();
    let of = |&(each, all, rate): &(&str, &str, &str)| {
        let number = figure(rate)? * figure("seconds")?;
        (number > 0.0).then_some((each.to_owned(), figure(all)? / number))
    };
    let each: Vec<(String, f64)> = EACH.iter().filter_map(of).collect();
    metrics.extend(each);
}

/// What was done to files, as metrics: for all together, and by kind where any took part.
pub(crate) fn file_metrics(counts: &IoCounts) -> BTreeMap<String, f64> {
    let kinds = [
        ("database", &counts.database),
        ("journal", &counts.journal),
        ("wal", &counts.wal),
        ("super_journal", &counts.super_journal),
        ("temporary", &counts.temporary),
    ];
    let mut metrics = BTreeMap::new();
    for (kind, files) in kinds {
        for (name, value) in figures(files) {
            *metrics.entry(name.to_owned()).or_default() += value;
            if *files != FileCounts::default() {
                metrics.insert(format!("{name}.{kind}"), value);
            }
        }
    }
    metrics
}

fn figures(files: &FileCounts) -> [(&'static str, f64); 7] {
    [
        ("syncs", files.syncs + files.directory_syncs),
        ("writes", files.writes),
        ("bytes_written", files.bytes_written),
        ("reads", files.reads + files.mapped_reads),
        ("bytes_read", files.bytes_read),
        ("truncates", files.truncates),
        ("deletes", files.deletes),
    ]
    .map(|(name, value)| (name, value as f64))
}

/// Name under which it is read back whether a connection takes its mutex.
const OPEN_MUTEX: &str = "open_mutex";

/// The PRAGMAs of a fresh connection, to a file of its own in the trial's directory, before anything
/// is set.
pub(crate) fn defaults(trial: &Trial<'_>) -> Result<BTreeMap<String, String>, TrialError> {
    let path = trial.directory.join("defaults.db");
    let fresh = Connection::open(&trial.library, &path, OpenFlags::default(), None)?;
    let pragmas = pragma::read_back(&fresh)?;
    fresh.close()?;
    Ok(pragmas)
}

/// Every configuration PRAGMA as the connection answers it, and how it was opened.
pub(crate) fn read_back(connection: &str, database: &Connection) -> Result<ReadBack, TrialError> {
    let mut pragmas = pragma::read_back(database)?;
    if let Some(serialised) = database.is_serialised() {
        let mutex = if serialised { "full" } else { "no" };
        pragmas.insert(OPEN_MUTEX.to_owned(), mutex.to_owned());
    }
    Ok(ReadBack {
        connection: connection.to_owned(),
        pragmas,
    })
}

/// Whether what the settings ask was in force on every connection that took part, as it was read
/// back after the work.
///
/// # Errors
/// The first setting that was not, with the connection; or that there is no connection to tell.
pub(crate) fn prove(settings: &Settings, connections: &[ReadBack]) -> Result<(), TrialError> {
    let readable = settings.iter().filter(|(name, _)| is_read_back(name));
    for (name, level) in readable {
        let Some(wanted) = wanted(name, level)? else {
            continue;
        };
        if connections.is_empty() {
            return Err(TrialError::NotProved(format!("{name}={wanted}")));
        }
        for read_back in connections {
            let found = read_back.pragmas.get(name).map(String::as_str);
            if !found.is_some_and(|found| holds(name, &wanted, found)) {
                return Err(TrialError::NotInForce {
                    setting: name.clone(),
                    connection: read_back.connection.clone(),
                    found: found.unwrap_or("not known").to_owned(),
                    wanted,
                });
            }
        }
    }
    Ok(())
}

/// Whether the setting can be seen after the work: what cannot be read, and what the end of each
/// transaction switches off, was proved when it was applied.
fn is_read_back(name: &str) -> bool {
    name == OPEN_MUTEX
        || pragma::find(name).is_some_and(|entry| {
            entry.access == Access::ReadWrite && entry.timing != Timing::UntilTransactionEnds
        })
}

/// The value to be found; none where any will do.
fn wanted(name: &str, level: &Level) -> Result<Option<String>, TrialError> {
    match pragma::find(name) {
        Some(entry) => {
            let normal = entry.normalise(&level.to_string());
            Ok(Some(normal.map_err(EngineError::from)?))
        }
        None => Ok(level
            .as_text()
            .filter(|mutex| *mutex != "default")
            .map(str::to_owned)),
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
    use super::*;

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
        over.iter()
            .map(|(name, level)| ((*name).to_owned(), level.clone()))
            .collect()
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
            let error = prove(&settings, &[good.clone(), bad])
                .unwrap_err()
                .to_string();
            assert!(
                error.contains("`writer`") && error.contains(found),
                "{error}"
            );
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

//! The recording that is replayed, without its calls, and the decision which calls are replayed. A recording that cannot be
//! replayed is refused.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use engine::{Library, OpenFlags, Source, Value};
use script::effect::{self, Attached};
use serde::{Deserialize, Serialize};
use trace::{
    Bound, Call, Connection, EndOfDatabase, Meta, Note, Text, Trace, Values, is_in_memory,
};

use super::outcome::{failed_by_chance, was_cut_off};
use crate::workload::durability;
use crate::workload::prelude::*;

/// A database of the recording.
#[derive(Clone, Debug)]
pub(crate) struct Database {
    /// Its path in the recording.
    pub(crate) recorded: String,
    /// Its snapshot; `None` if it was empty.
    snapshot: Option<i64>,
    /// Its copy in the trial.
    pub(crate) path: PathBuf,
    /// Whether it was in WAL mode when recording began.
    began_with_log: bool,
}

impl Database {
    /// Writes the snapshot of the database.
    fn restore(&mut self, trace: &Trace) -> Result<()> {
        let Some(snapshot) = self.snapshot else { return Ok(()) };
        trace.restore(snapshot, &self.path)?;
        let mut header = [0; 20];
        let read = File::open(&self.path).and_then(|mut file| file.read_exact(&mut header));
        read.map_err(|error| TrialError::because(format!("{}: {error}", self.path.display())))?;
        // The version that is needed to write it: 2 means WAL mode.
        self.began_with_log = header[18] == 2;
        Ok(())
    }
}

/// A trace, without its calls, which are visited one by one.
pub(crate) struct Recording {
    pub(super) meta: Meta,
    pub(crate) databases: Vec<Database>,
    pub(crate) connections: HashMap<i64, Connection>,
    pub(crate) texts: HashMap<i64, Text>,
    pub(super) ends: Vec<EndOfDatabase>,
    /// The versions of SQLite that the application used.
    pub(super) versions: Vec<String>,
    /// Statements that are not replayed, by their numbers.
    pub(super) left_out: HashMap<i64, LeftOut>,
    /// Commits that no call has as its ticket.
    pub(super) further_commits: Vec<u64>,
    /// Statements that attach a file whose name is bound.
    attaching: HashSet<i64>,
    /// The directory of the trial's files.
    directory: PathBuf,
    /// Its calls, as far as they were visited.
    pub(super) survey: Survey,
}

/// Why a statement is not replayed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum LeftOut {
    /// The variant, or the replay itself, decides the setting.
    Setting,
    /// Something is missing.
    Missing(String),
}

/// The decision on a call.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Fate<'r> {
    /// It is executed.
    Replayed,
    /// It is not executed, and this is not a loss: a setting that the variant decides, an error of the moment, or a statement
    /// that never ended.
    Apart,
    /// It cannot be executed.
    Missing(&'r str),
}

/// The calls of a recording.
#[derive(Debug, Default)]
pub(super) struct Survey {
    /// The calls of each statement.
    pub(super) statements: BTreeMap<i64, Executions>,
    /// Whether a process was killed while it committed, so that it is not known whether the commit is in the database.
    pub(super) has_open_commit: bool,
    /// Connections with commits.
    writers: BTreeSet<i64>,
    /// Start of the first call and end of the last one, in microseconds.
    span_us: Option<(i64, i64)>,
}

/// The calls of a statement, without calls that do not belong to a replay, such as errors of the moment.
#[derive(Debug, Default)]
pub(super) struct Executions {
    /// The first connection that executed it.
    pub(super) connection: i64,
    /// Calls that can be executed.
    pub(super) whole: Amount,
    /// Calls that cannot be executed, by the object that the trace lacks.
    pub(super) lacking: BTreeMap<&'static str, Amount>,
    /// Whether the text `now` was bound.
    pub(super) binds_now: bool,
}

/// A number of calls and their time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Amount {
    pub(super) calls: u64,
    pub(super) time_ns: f64,
}

impl Amount {
    pub(super) fn add(&mut self, other: Amount) {
        self.calls += other.calls;
        self.time_ns += other.time_ns;
    }
}

impl Survey {
    /// Notes a call and the decision on it by itself.
    pub(super) fn note(&mut self, fate: Fate<'static>, call: &Call) {
        let end = call.start_us + call.duration_ns.unwrap_or(0) / 1_000;
        let span = self.span_us.get_or_insert((call.start_us, end));
        *span = (span.0.min(call.start_us), span.1.max(end));
        self.has_open_commit |= call.ticket.is_some() && call.duration_ns.is_none();
        self.writers.extend(call.ticket.map(|_| call.connection));
        if fate == Fate::Apart {
            return;
        }
        let amount = Amount { calls: 1, time_ns: call.duration_ns.unwrap_or(0) as f64 };
        let executions = self.statements.entry(call.statement);
        let executions = executions
            .or_insert_with(|| Executions { connection: call.connection, ..Executions::default() });
        executions.binds_now |= has_now(call);
        match fate {
            Fate::Missing(what) => executions.lacking.entry(what).or_default().add(amount),
            _ => executions.whole.add(amount),
        }
    }

    /// Returns the time from the first to the last statement, in seconds.
    pub(super) fn seconds(&self) -> f64 {
        self.span_us.map_or(0.0, |(first, last)| (last - first) as f64 / 1e6)
    }
}

impl Executions {
    /// Returns the calls that are replayed, and the objects that the others lack.
    pub(super) fn fates<'r>(
        &'r self,
        left_out: Option<&'r LeftOut>,
    ) -> (Amount, Vec<(&'r str, Amount)>) {
        let lacking = self.lacking.iter().map(|(what, amount)| (*what, *amount));
        match left_out {
            None => (self.whole, lacking.collect()),
            Some(LeftOut::Setting) => (Amount::default(), Vec::new()),
            Some(LeftOut::Missing(what)) => {
                let mut all = self.whole;
                lacking.for_each(|(_, amount)| all.add(amount));
                (Amount::default(), vec![(what, all)])
            }
        }
    }
}

fn has_now(call: &Call) -> bool {
    let Values::Bound(values) = &call.values else { return false };
    let mut values = values.iter().map(Bound::value);
    values.any(|value| matches!(value, Value::Text(text) if text.eq_ignore_ascii_case("now")))
}

/// Opens a trace.
///
/// # Errors
/// The file is not a trace, or has another version.
pub(crate) fn open(path: &Path) -> Result<Trace> {
    // The engine of a trial may lack what a trace needs.
    let library = Arc::new(Library::load(&Source::Embedded)?);
    Ok(Trace::open(&library, path)?)
}

impl Recording {
    /// Checks whether a trace can be replayed.
    ///
    /// # Errors
    /// It cannot be read, is redacted, or lacks a snapshot.
    pub(crate) fn check(path: &Path) -> Result<()> {
        let trace = open(path)?;
        check(path, &trace.meta()?)?;
        databases(path, &trace, Path::new("")).map(drop)
    }

    /// Reads a trace of this path, and brings its databases into a directory as they were when recording began.
    ///
    /// # Errors
    /// As [`Recording::check`]; a snapshot cannot be written.
    pub(crate) fn read(trace: &Trace, path: &Path, directory: &Path) -> Result<Recording> {
        let mut recording = Recording::of(trace, path, directory)?;
        for database in &mut recording.databases {
            database.restore(trace)?;
        }
        Ok(recording)
    }

    /// Returns the same where the databases are in the directory already.
    ///
    /// # Errors
    /// As [`Recording::check`].
    pub(super) fn of(trace: &Trace, path: &Path, directory: &Path) -> Result<Recording> {
        let mut meta = trace.meta()?;
        check(path, &meta)?;
        meta.lost |= trace.notes()?.iter().any(|note| note.code == Note::REPLACED);
        let (connections, texts) = (trace.connections()?, trace.texts()?);
        Ok(Recording {
            meta,
            databases: databases(path, trace, directory)?,
            connections: connections
                .into_iter()
                .map(|connection| (connection.id, connection))
                .collect(),
            texts: texts.into_iter().map(|text| (text.id, text)).collect(),
            ends: trace.end_states()?,
            versions: trace.processes()?.into_iter().map(|process| process.versions).collect(),
            left_out: HashMap::new(),
            further_commits: trace.further_commits()?,
            attaching: HashSet::new(),
            directory: directory.to_owned(),
            survey: Survey::default(),
        })
    }

    /// Returns whether a call is replayed.
    pub(crate) fn fate(&self, call: &Call) -> Fate<'_> {
        let by_itself = self.fate_by_itself(call);
        match (by_itself, self.left_out.get(&call.statement)) {
            (Fate::Apart, _) | (_, Some(LeftOut::Setting)) => Fate::Apart,
            (_, Some(LeftOut::Missing(what))) => Fate::Missing(what),
            (by_itself, None) => by_itself,
        }
    }

    /// As [`Recording::fate`], if the statement is not left out.
    pub(super) fn fate_by_itself(&self, call: &Call) -> Fate<'static> {
        if failed_by_chance(call) || was_cut_off(call) {
            return Fate::Apart;
        }
        match &call.values {
            Values::Missing(what) => Fate::Missing(what),
            Values::Bound(_) if !self.texts.contains_key(&call.statement) => {
                Fate::Missing("the texts of statements")
            }
            _ => Fate::Replayed,
        }
    }

    /// Returns the database that a connection opened; `None` for a database in memory.
    pub(super) fn database_of(&self, connection: i64) -> Option<&Database> {
        let file = &self.connections.get(&connection)?.database;
        self.databases.iter().find(|database| database.recorded == *file)
    }

    /// Returns the name in this process of a database in memory, if other connections share it.
    pub(super) fn shared_memory(&self, connection: i64) -> Option<PathBuf> {
        let database = &self.connections.get(&connection)?.database;
        let is_shared = !database.is_empty() && is_in_memory(database);
        is_shared.then(|| Path::new("/").join(self.directory.join(database)))
    }

    /// Returns the names of all databases in memory that connections share.
    pub(super) fn shared_memories(&self) -> BTreeSet<PathBuf> {
        self.connections.keys().filter_map(|connection| self.shared_memory(*connection)).collect()
    }

    /// Returns whether the application sets this PRAGMA and the variant does not.
    pub(super) fn sets(&self, name: &str) -> bool {
        self.texts.values().any(|text| {
            let pragma = effect::pragma(&text.sql);
            let sets = pragma.is_some_and(|pragma| pragma.name == name && pragma.has_value);
            sets && !self.left_out.contains_key(&text.id)
        })
    }

    /// Returns the connections to databases whose reads and commits exclude each other: databases in memory, and databases with a
    /// rollback journal unless the application changed to a log.
    pub(super) fn waiting(&self) -> HashSet<i64> {
        let changes = |text: &Text| {
            let pragma = effect::pragma(&text.sql);
            let is_journal =
                pragma.is_some_and(|pragma| pragma.name == "journal_mode" && pragma.has_value);
            is_journal && text.sql.to_ascii_lowercase().contains("wal")
        };
        let has_log = self.texts.values().any(changes);
        let has_journal = |connection: &i64| {
            let database = self.database_of(*connection);
            let in_file = database.is_some_and(|database| !has_log && !database.began_with_log);
            in_file || self.shared_memory(*connection).is_some()
        };
        self.connections.keys().copied().filter(has_journal).collect()
    }

    /// Describes how replayed statements change the safety of the databases.
    pub(super) fn set_by_statements(&self) -> Vec<String> {
        let replayed = self.texts.values().filter(|text| !self.left_out.contains_key(&text.id));
        let mut words =
            durability::set_by(replayed.map(|text| ("the application", text.sql.as_str())));
        words.sort();
        words
    }

    /// Returns the size of all databases.
    pub(super) fn database_bytes(&self) -> Result<f64> {
        let sizes = self.databases.iter().map(|database| sqlite::size(&database.path));
        // The sum of nothing is −0.
        Ok(sizes.sum::<Result<f64>>()? + 0.0)
    }

    /// Returns whether a statement may have written to a database: a connection to it committed, or one attached a file.
    pub(super) fn may_write(&self, database: &Database) -> bool {
        let is_own = |writer: &i64| {
            let own = self.database_of(*writer);
            own.is_some_and(|own| own.recorded == database.recorded)
        };
        let attaches = |text: &Text| match effect::attached(&text.sql) {
            // The literal is the path of the trial by now.
            Some(Attached::Literal { file, .. }) => Path::new(&file) == database.path,
            other => other.is_some(),
        };
        self.survey.writers.iter().any(is_own) || self.texts.values().any(attaches)
    }

    /// Returns whether calls of a statement are not replayed because something is missing.
    pub(super) fn lacks(&self, id: i64) -> bool {
        let executions = self.survey.statements.get(&id);
        executions.is_some_and(|all| !all.fates(self.left_out.get(&id)).1.is_empty())
    }

    /// Returns whether the text `now` was bound to a statement.
    pub(super) fn binds_now(&self, id: i64) -> bool {
        self.survey.statements.get(&id).is_some_and(|executions| executions.binds_now)
    }

    /// Returns whether the application used this version of SQLite only.
    pub(super) fn is_of_version(&self, version: &str) -> bool {
        self.versions.iter().all(|recorded| recorded == version)
    }

    /// Returns whether a database has virtual tables, or a statement makes one.
    pub(super) fn has_virtual_tables(&self, library: &Arc<Library>) -> Result<bool> {
        if self.texts.values().any(|text| effect::makes_virtual(&text.sql)) {
            return Ok(true);
        }
        for database in &self.databases {
            let connection =
                engine::Connection::open(library, &database.path, OpenFlags::default(), None)?;
            let schema = connection.query_all("SELECT ifnull(sql, '') FROM sqlite_schema")?;
            connection.close()?;
            if schema.iter().flatten().any(|sql| effect::makes_virtual(&sql.to_string())) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns whether statements are missing in the recording.
    pub(super) fn is_incomplete(&self) -> bool {
        self.meta.lost || self.meta.unreadable_bytes > 0
    }

    /// Leaves out statements that belong to the application's settings rather than to its work, and those that would
    /// reach files outside of the trial; returns the PRAGMAs that the variant sets itself.
    pub(crate) fn confine(&mut self, settings: &Settings) -> Vec<String> {
        let mut replaced = Vec::new();
        // The busy timeout belongs to the replay.
        let is_set = |name: &String| name == "busy_timeout" || settings.contains_key(name);
        let texts: Vec<Text> = self.texts.values().cloned().collect();
        for text in texts {
            let left_out = match effect::pragma(&text.sql) {
                Some(pragma) if pragma.has_value && is_set(&pragma.name) => {
                    replaced.push(pragma.name);
                    Some(LeftOut::Setting)
                }
                Some(pragma) if pragma.has_value && pragma.name.ends_with("_directory") => {
                    Some(LeftOut::Missing(format!("PRAGMA {}", pragma.name)))
                }
                Some(_) => None,
                None => self.confined(&text).map(LeftOut::Missing),
            };
            if let Some(left_out) = left_out {
                self.left_out.insert(text.id, left_out);
            }
        }
        replaced.sort();
        replaced.dedup();
        replaced
    }

    /// Has a statement open the trial's files. Returns the reason if this is not possible.
    fn confined(&mut self, text: &Text) -> Option<String> {
        if effect::vacuums_into(&text.sql) {
            return Some("VACUUM INTO, which writes another file".to_owned());
        }
        let outside = |file: &str| Some(format!("ATTACH of {file}, of which there is no snapshot"));
        match effect::attached(&text.sql)? {
            Attached::Other => outside("an expression"),
            Attached::Literal { file, span } => match self.inside(&file) {
                Some(path) => {
                    let quoted = format!("'{}'", path.replace('\'', "''"));
                    self.texts.get_mut(&text.id)?.sql.replace_range(span.0..span.1, &quoted);
                    None
                }
                None => outside(&file),
            },
            Attached::Parameter => {
                self.attaching.insert(text.id);
                None
            }
        }
    }

    /// Has a call that attaches a file whose name is bound open the trial's file.
    pub(crate) fn bind_attached(&mut self, call: &mut Call) {
        if !self.attaching.contains(&call.statement) {
            return;
        }
        let file = match &call.values {
            Values::Bound(values) => values.first().map(Bound::value),
            _ => None,
        };
        let inside = match file {
            Some(Value::Text(file)) => self.inside(file),
            _ => None,
        };
        match (inside, &mut call.values) {
            (Some(path), Values::Bound(values)) => values[0] = Bound::Own(Value::Text(path)),
            _ => {
                let why = "ATTACH of a file of which there is no snapshot";
                self.left_out.insert(call.statement, LeftOut::Missing(why.to_owned()));
            }
        }
    }

    /// Returns the copy of an attached file, unless several databases had its name. The directory of a relative name is
    /// not known.
    fn inside(&self, file: &str) -> Option<String> {
        if file.is_empty() || file == ":memory:" {
            return Some(file.to_owned());
        }
        let plain = file.strip_prefix("file:").unwrap_or(file);
        let plain = plain.split('?').next().unwrap_or_default().trim_start_matches("./");
        let is_it = |name: &str| Path::new(name).ends_with(plain);
        let mut known = self.databases.iter().filter(|database| {
            is_it(&database.recorded) || is_it(trace::path_of(&database.recorded))
        });
        match (known.next(), known.next()) {
            (Some(database), None) => Some(database.path.to_str()?.to_owned()),
            _ => None,
        }
    }
}

fn check(path: &Path, meta: &Meta) -> Result<()> {
    let refused = |why: &str| {
        Err(TrialError::cannot_run(format!("{} cannot be replayed: {why}", path.display())))
    };
    if meta.redacted {
        return refused("it is redacted, so it has neither values nor snapshots");
    }
    if meta.events == 0 {
        return refused("it has no statements");
    }
    Ok(())
}

/// Returns the databases of a trace, with a file of the trial for each.
fn databases(path: &Path, trace: &Trace, directory: &Path) -> Result<Vec<Database>> {
    let mut databases: Vec<Database> = Vec::new();
    for snapshot in trace.snapshots()? {
        if databases.iter().any(|database| database.recorded == snapshot.database) {
            continue;
        }
        let number = match snapshot.state.as_str() {
            "taken" => Some(snapshot.id),
            "empty" => None,
            _ => return Err(without_snapshot(path, &snapshot.database, snapshot.result)),
        };
        databases.push(Database {
            recorded: snapshot.database,
            snapshot: number,
            path: directory.join(format!("test-{}.db", databases.len() + 1)),
            began_with_log: false,
        });
    }
    for connection in trace.connections()? {
        let file = &connection.database;
        if !is_in_memory(file) && !databases.iter().any(|database| database.recorded == *file) {
            return Err(without_snapshot(path, file, None));
        }
    }
    Ok(databases)
}

fn without_snapshot(trace: &Path, database: &str, result: Option<i64>) -> TrialError {
    let code = result.map_or(String::new(), |code| {
        format!(" (SQLite's result code {code} when it was recorded)")
    });
    TrialError::cannot_run(format!(
        "{} cannot be replayed: it has no snapshot of {database}{code}",
        trace.display()
    ))
}

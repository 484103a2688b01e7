//! Recording a workload: its trace, and what the databases held after every commit.

use crate::bench::Bench;
use crate::content::Content;
use crate::error::CrashError;
use crate::occasion::{Marked, Occasion, shrinking};
use crate::script::{Act, Script};
use crate::settings::Variant;
use crate::trace::Trace;
use engine::{Connection, EngineError, Value};
use lab::seed::Seed;
use std::collections::{BTreeMap, HashMap};
use std::path::{Component, Path};

/// The database that a workload opens.
pub const MAIN: &str = "main.db";

/// What the databases held from one commit on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    /// The steps taken when the commit had been acknowledged.
    pub cut: usize,
    /// By database, in the order of [`Recording::databases`].
    pub contents: Vec<Content>,
}

/// A recorded workload.
#[derive(Debug, Clone)]
pub struct Recording {
    /// What was done to storage.
    pub trace: Trace,
    /// Every commit that changed a content, in order; the first is the empty beginning.
    pub commits: Vec<Commit>,
    /// The names of the databases.
    pub databases: Vec<String>,
    /// The acts at which something happened that many applications never do.
    pub marked: Vec<Marked>,
    /// The largest that the databases were together, in bytes.
    pub largest: usize,
}

/// Why a variant cannot be measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotMeasured(pub String);

impl Recording {
    /// Runs `script` under the settings of `variant` and records it.
    ///
    /// # Errors
    /// A statement of the user's script fails, or changes nothing at all; the engine's. Settings that
    /// the engine refuses are no error but the inner one.
    pub fn make(
        bench: &mut Bench,
        variant: &Variant,
        script: &Script,
        seed: Seed,
    ) -> Result<Result<Recording, NotMeasured>, CrashError> {
        bench.reset(seed.0)?;
        bench.set_powersafe_overwrite(variant.powersafe_overwrite);
        let mut recorder = Recorder::default();
        let mut connection = match open(bench, variant)? {
            Ok(connection) => connection,
            Err(reason) => return Ok(Err(reason)),
        };
        recorder.note(bench, &connection)?;
        recorder.begin_act(bench, &connection)?;
        for act in &script.acts {
            match act {
                Act::Reopen => {
                    connection.close()?;
                    connection = match open(bench, variant)? {
                        Ok(connection) => connection,
                        Err(reason) => return Ok(Err(reason)),
                    };
                }
                Act::Sql { sql, line } => {
                    connection
                        .execute(sql)
                        .map_err(|error| failed(script, *line, sql, error))?;
                }
            }
            recorder.end_act(bench, &connection)?;
            if !connection.in_transaction() {
                recorder.note(bench, &connection)?;
            }
            recorder.begin_act(bench, &connection)?;
        }
        connection.close()?;
        recorder.finish(bench, script).map(Ok)
    }

    /// The latest commit that left what commit `number` left, among those that a crash can have reached
    /// when so many had been acknowledged: these and the one under way. Contents may recur, and a later
    /// commit with the same content is no proof that nothing is lost.
    pub fn held(&self, number: usize, acknowledged: usize) -> usize {
        let reached = self.commits.len().min(acknowledged + 2);
        let same = |commit: &Commit| commit.contents == self.commits[number].contents;
        let latest = self.commits[..reached].iter().rposition(same);
        latest.unwrap_or(number)
    }

    /// How many commits had been acknowledged when the first `cut` steps had been taken.
    pub fn acknowledged(&self, cut: usize) -> usize {
        self.commits
            .partition_point(|commit| commit.cut <= cut)
            .saturating_sub(1)
    }
}

/// Whether a name of a file says nothing of where it lies. Witnesses are written by these names, into a folder
/// of their own and nowhere else.
pub(crate) fn is_plain(name: &str) -> bool {
    let mut parts = Path::new(name).components();
    let is_normal = |part| matches!(part, Component::Normal(_));
    parts.next().is_none_or(is_normal) && parts.next().is_none()
}

fn not_plain(script: &Script, name: &str) -> CrashError {
    match &script.path {
        Some(path) => CrashError::Name {
            path: path.clone(),
            name: name.to_owned(),
        },
        None => CrashError::Defect(format!("the built-in workload has a file {name}")),
    }
}

fn failed(script: &Script, line: usize, sql: &str, error: EngineError) -> CrashError {
    let reason = match error.as_sqlite() {
        Some(error) => error.message().to_owned(),
        None => error.to_string(),
    };
    match &script.path {
        Some(path) => CrashError::Script {
            path: path.clone(),
            line,
            reason,
        },
        None => CrashError::Defect(format!("the built-in workload failed: {reason} in: {sql}")),
    }
}

/// Opens the database under the settings of a variant, or says which of them the engine does not take.
fn open(bench: &Bench, variant: &Variant) -> Result<Result<Connection, NotMeasured>, CrashError> {
    let connection = bench.open(MAIN)?;
    connection.execute(&format!("PRAGMA page_size = {}", variant.page_size))?;
    // Exclusive locking comes first: a write-ahead log then needs no shared memory.
    let settings = [
        (
            format!("PRAGMA locking_mode = {}", variant.locking_mode),
            "PRAGMA locking_mode",
            Value::Text(variant.locking_mode.to_string()),
        ),
        (
            format!("PRAGMA synchronous = {}", variant.synchronous),
            "PRAGMA synchronous",
            Value::Integer(variant.synchronous.number()),
        ),
        (
            format!("PRAGMA journal_mode = {}", variant.journal_mode),
            "PRAGMA journal_mode",
            Value::Text(variant.journal_mode.to_string()),
        ),
    ];
    for (set, ask, wanted) in settings {
        connection.execute(&set)?;
        let found = connection.query_value(ask)?;
        if found != wanted {
            return Ok(Err(NotMeasured(format!(
                "the engine answers {found} to {set}"
            ))));
        }
    }
    let page_size = connection.query_i64("PRAGMA page_size")?;
    if page_size != i64::from(variant.page_size) {
        return Ok(Err(NotMeasured(format!(
            "the engine has a page size of {page_size} instead of {}",
            variant.page_size
        ))));
    }
    Ok(Ok(connection))
}

/// What is known of the databases while they change.
#[derive(Default)]
struct Recorder {
    contents: HashMap<String, Content>,
    /// The calls recorded so far, and the contents, at every commit.
    commits: Vec<(usize, HashMap<String, Content>)>,
    /// The acts, and the closing of the connection after them.
    acts: Vec<ActRecord>,
}

/// An act, in calls recorded, and the journal modes around it.
#[derive(Default)]
struct ActRecord {
    begin: usize,
    end: usize,
    /// The journal modes of databases that had content, by file.
    modes_before: BTreeMap<String, String>,
    changes_mode: bool,
}

/// The journal modes of the databases that have content, by file.
fn journal_modes(
    bench: &Bench,
    connection: &Connection,
) -> Result<BTreeMap<String, String>, CrashError> {
    let mut modes = BTreeMap::new();
    for (schema, file) in databases(connection)? {
        if bench.size(&file) > 0 {
            let mode = connection.query_text(&format!("PRAGMA \"{schema}\".journal_mode"))?;
            modes.insert(file, mode);
        }
    }
    Ok(modes)
}

/// The databases with a file: their schemas and files.
fn databases(connection: &Connection) -> Result<Vec<(String, String)>, CrashError> {
    let rows = connection.query_all("PRAGMA database_list")?;
    let named = rows.into_iter().filter_map(|row| match row.as_slice() {
        [_, Value::Text(schema), Value::Text(file)] if !file.is_empty() => {
            Some((schema.clone(), file.clone()))
        }
        _ => None,
    });
    Ok(named.collect())
}

impl Recorder {
    /// Reads what the attached databases hold, and notes a commit if that is new. Reading comes after
    /// the position is taken, because it may itself open and close files.
    fn note(&mut self, bench: &Bench, connection: &Connection) -> Result<(), CrashError> {
        let position = bench.position();
        for (schema, file) in databases(connection)? {
            let content = Content::read(connection, &format!("\"{schema}\""))?;
            self.contents.insert(file, content);
        }
        let changed = self
            .commits
            .last()
            .is_none_or(|(_, before)| !same(before, &self.contents));
        if changed {
            self.commits.push((position, self.contents.clone()));
        }
        Ok(())
    }

    fn begin_act(&mut self, bench: &Bench, connection: &Connection) -> Result<(), CrashError> {
        self.acts.push(ActRecord {
            modes_before: journal_modes(bench, connection)?,
            begin: bench.position(),
            ..ActRecord::default()
        });
        Ok(())
    }

    fn end_act(&mut self, bench: &Bench, connection: &Connection) -> Result<(), CrashError> {
        let end = bench.position();
        let now = journal_modes(bench, connection)?;
        if let Some(act) = self.acts.last_mut() {
            act.end = end;
            let changed =
                |(file, mode): (&String, &String)| now.get(file).is_some_and(|other| other != mode);
            act.changes_mode = act.modes_before.iter().any(changed);
        }
        Ok(())
    }

    /// The steps of the acts at which there was an occasion.
    fn marked(&self, trace: &Trace) -> Vec<Marked> {
        let steps = |act: &ActRecord| trace.cut_after(act.begin)..trace.cut_after(act.end);
        let changing = self.acts.iter().filter(|act| act.changes_mode);
        let changing = changing.map(|act| Marked {
            steps: steps(act),
            occasion: Occasion::ModeChange,
        });
        let spans: Vec<_> = self.acts.iter().map(steps).collect();
        let shrinking = shrinking(trace, &spans).into_iter().map(|steps| Marked {
            steps,
            occasion: Occasion::Shrinking,
        });
        changing.chain(shrinking).collect()
    }

    fn finish(mut self, bench: &Bench, script: &Script) -> Result<Recording, CrashError> {
        if let Some(closing) = self.acts.last_mut() {
            closing.end = bench.position();
        }
        let calls = bench.take_calls();
        let trace = Trace::new(&[], &calls);
        if let Some(name) = trace.names.iter().find(|name| !is_plain(name)) {
            return Err(not_plain(script, name));
        }
        let databases: Vec<String> = trace
            .databases
            .iter()
            .map(|name| trace.names[name.0].clone())
            .filter(|name| self.contents.contains_key(name))
            .collect();
        let contents = |of: &HashMap<String, Content>| -> Vec<Content> {
            let known = databases.iter().map(|name| of.get(name).copied());
            known
                .map(|content| content.unwrap_or(Content::empty()))
                .collect()
        };
        let mut commits: Vec<Commit> = self
            .commits
            .iter()
            .map(|(position, of)| Commit {
                cut: trace.cut_after(*position),
                contents: contents(of),
            })
            .collect();
        // Before anything was done there was nothing, and nobody was told otherwise.
        if let Some(first) = commits.first_mut() {
            first.cut = 0;
        }
        if let (Some(path), true) = (&script.path, commits.len() < 2) {
            return Err(CrashError::NothingCommitted { path: path.clone() });
        }
        let marked = self.marked(&trace);
        let largest = largest(&trace, &databases);
        Ok(Recording {
            trace,
            commits,
            databases,
            marked,
            largest,
        })
    }
}

/// Whether two contents are the same; a database that is not known is one that is empty.
fn same(one: &HashMap<String, Content>, other: &HashMap<String, Content>) -> bool {
    let names = one.keys().chain(other.keys());
    let of = |map: &HashMap<String, Content>, name: &String| {
        map.get(name).copied().unwrap_or(Content::empty())
    };
    names
        .into_iter()
        .all(|name| of(one, name) == of(other, name))
}

fn largest(trace: &Trace, databases: &[String]) -> usize {
    use crate::disk::{Disk, State, Units};
    let mut disk = Disk::new(trace, crate::model::Model::Kill);
    let mut largest = 0;
    while disk.taken() < trace.steps.len() {
        disk.step();
        if disk.taken().is_multiple_of(16) || disk.taken() == trace.steps.len() {
            disk.write_back(disk.taken());
            let files = disk.files(&Units::default(), &State::default());
            let size = files
                .iter()
                .filter(|(name, _)| databases.contains(name))
                .map(|(_, bytes)| bytes.len())
                .sum();
            largest = largest.max(size);
        }
    }
    largest
}

//! Recording a workload: its trace, and what the databases held after every commit.

use crate::bench::Bench;
use crate::content::Content;
use crate::error::CrashError;
use crate::script::{Act, Script};
use crate::settings::Arm;
use crate::trace::Trace;
use engine::{Connection, EngineError, Value};
use lab::seed::Seed;
use std::collections::HashMap;

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
    /// The largest that the databases were together, in bytes.
    pub largest: usize,
}

/// Why an arm cannot be measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotMeasured(pub String);

impl Recording {
    /// Runs `script` under the settings of `arm` and records it.
    ///
    /// # Errors
    /// A statement of the user's script fails, or changes nothing at all; the engine's. Settings that
    /// the engine refuses are no error but the inner one.
    pub fn make(
        bench: &mut Bench,
        arm: &Arm,
        script: &Script,
        seed: Seed,
    ) -> Result<Result<Recording, NotMeasured>, CrashError> {
        bench.reset(seed.0)?;
        let mut recorder = Recorder {
            contents: HashMap::new(),
            commits: Vec::new(),
        };
        let mut connection = match open(bench, arm)? {
            Ok(connection) => connection,
            Err(reason) => return Ok(Err(reason)),
        };
        recorder.note(bench, &connection)?;
        for act in &script.acts {
            match act {
                Act::Reopen => {
                    connection.close()?;
                    connection = match open(bench, arm)? {
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
            if !connection.in_transaction() {
                recorder.note(bench, &connection)?;
            }
        }
        connection.close()?;
        recorder.finish(bench, script).map(Ok)
    }

    /// How many commits had been acknowledged when the first `cut` steps had been taken.
    pub fn acknowledged(&self, cut: usize) -> usize {
        self.commits
            .partition_point(|commit| commit.cut <= cut)
            .saturating_sub(1)
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

/// Opens the database under the settings of an arm, or says which of them the engine does not take.
fn open(bench: &Bench, arm: &Arm) -> Result<Result<Connection, NotMeasured>, CrashError> {
    let connection = bench.open(MAIN)?;
    connection.execute(&format!("PRAGMA page_size = {}", arm.page_size))?;
    // Exclusive locking comes first: a write-ahead log then needs no shared memory.
    let settings = [
        (
            format!("PRAGMA locking_mode = {}", arm.locking_mode),
            "PRAGMA locking_mode",
            Value::Text(arm.locking_mode.to_string()),
        ),
        (
            format!("PRAGMA synchronous = {}", arm.synchronous),
            "PRAGMA synchronous",
            Value::Integer(arm.synchronous.number()),
        ),
        (
            format!("PRAGMA journal_mode = {}", arm.journal_mode),
            "PRAGMA journal_mode",
            Value::Text(arm.journal_mode.to_string()),
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
    if page_size != i64::from(arm.page_size) {
        return Ok(Err(NotMeasured(format!(
            "the engine has a page size of {page_size} instead of {}",
            arm.page_size
        ))));
    }
    Ok(Ok(connection))
}

/// What is known of the databases while they change.
struct Recorder {
    contents: HashMap<String, Content>,
    /// The calls recorded so far, and the contents, at every commit.
    commits: Vec<(usize, HashMap<String, Content>)>,
}

impl Recorder {
    /// Reads what the attached databases hold, and notes a commit if that is new. Reading comes after
    /// the position is taken, because it may itself open and close files.
    fn note(&mut self, bench: &Bench, connection: &Connection) -> Result<(), CrashError> {
        let position = bench.position();
        let databases = connection.query_all("PRAGMA database_list")?;
        for row in databases {
            if let [_, Value::Text(schema), Value::Text(file)] = row.as_slice()
                && !file.is_empty()
            {
                let content = Content::read(connection, &format!("\"{schema}\""))?;
                self.contents.insert(file.clone(), content);
            }
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

    fn finish(self, bench: &Bench, script: &Script) -> Result<Recording, CrashError> {
        let calls = bench.take_calls();
        let trace = Trace::new(&[], &calls);
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
        let largest = largest(&trace, &databases);
        Ok(Recording {
            trace,
            commits,
            databases,
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

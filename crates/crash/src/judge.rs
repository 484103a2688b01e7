//! Judging what a crash left: recovered by the engine, compared with every committed state.
//!
//! Recovering is cheap, looking closely is not. Files that were seen before are not recovered again,
//! and databases that were recovered to the same bytes are not examined again. Databases are
//! recovered by themselves unless a super-journal ties them together.

use crate::bench::{Bench, Problem, Recovered};
use crate::content::Content;
use crate::error::CrashError;
use crate::record::Recording;
use crate::trace::{File, Trace};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use xxhash_rust::xxh3::{Xxh3, xxh3_128};

/// What is wrong with what a crash left.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Violation {
    /// A database cannot be opened.
    Unopenable {
        /// Which.
        database: String,
        /// SQLite's message.
        message: String,
    },
    /// `integrity_check` finds fault.
    Corrupt {
        /// Where.
        database: String,
        /// The first message.
        message: String,
    },
    /// A database is in order, but holds what no transaction ever committed.
    Impossible {
        /// Which.
        database: String,
    },
    /// Each database holds what a transaction committed, but not the same one.
    Split,
}

/// The judgement on one image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Judgement {
    /// It holds what the transaction of that number committed.
    Committed(usize),
    /// It should never have been.
    Violated(Violation),
}

/// Recovers and judges; remembers what it has seen.
pub struct Judge<'b> {
    bench: &'b mut Bench,
    /// What files were recovered to, by their hash: one entry for each database of the group.
    groups: HashMap<u128, Vec<Recovered>>,
    /// What recovered bytes hold.
    examined: HashMap<u128, Recovered>,
    /// Recoveries done.
    pub recoveries: u64,
}

impl<'b> Judge<'b> {
    /// A judge who has seen nothing.
    pub fn new(bench: &'b mut Bench) -> Judge<'b> {
        Judge {
            bench,
            groups: HashMap::new(),
            examined: HashMap::new(),
            recoveries: 0,
        }
    }

    /// The bench.
    pub fn bench(&mut self) -> &mut Bench {
        self.bench
    }

    /// Recovers an image and tells which committed state it holds.
    ///
    /// # Errors
    /// What no crash explains: a defect of this crate.
    pub fn judge(
        &mut self,
        recording: &Recording,
        files: Vec<File>,
    ) -> Result<Judgement, CrashError> {
        let recovered = self.recover(&recording.databases, files)?;
        Ok(compare(recording, &recovered))
    }

    /// Recovers an image under observation: the trace of what recovery did to it.
    ///
    /// # Errors
    /// As [`judge`](Self::judge).
    pub fn trace_recovery(
        &mut self,
        recording: &Recording,
        files: &[File],
    ) -> Result<Trace, CrashError> {
        let names: Vec<&str> = recording.databases.iter().map(String::as_str).collect();
        self.bench.reset(0)?;
        self.bench.recover(files.to_vec(), &names)?;
        self.recoveries += 1;
        Ok(Trace::new(files, &self.bench.take_calls()))
    }

    fn recover(
        &mut self,
        databases: &[String],
        files: Vec<File>,
    ) -> Result<Vec<Recovered>, CrashError> {
        let is_tied = files
            .iter()
            .any(|(name, _)| !databases.iter().any(|database| is_of(database, name)));
        if is_tied || databases.len() == 1 {
            let names: Vec<&str> = databases.iter().map(String::as_str).collect();
            return self.recover_group(&names, files);
        }
        let mut recovered = Vec::with_capacity(databases.len());
        let mut left = files;
        for database in databases {
            let (mine, others) = left
                .into_iter()
                .partition(|(name, _)| is_of(database, name));
            left = others;
            recovered.extend(self.recover_group(&[database], mine)?);
        }
        Ok(recovered)
    }

    fn recover_group(
        &mut self,
        databases: &[&str],
        files: Vec<File>,
    ) -> Result<Vec<Recovered>, CrashError> {
        if files.is_empty() {
            return Ok(vec![Ok(Content::empty()); databases.len()]);
        }
        let key = hash(&files);
        if let Some(known) = self.groups.get(&key) {
            return Ok(known.clone());
        }
        self.recoveries += 1;
        let problems = self.bench.recover(files, databases)?;
        let mut recovered = Vec::with_capacity(databases.len());
        for (database, problem) in databases.iter().zip(problems) {
            recovered.push(match problem {
                Some(problem) => Err(problem),
                None => self.examine(database)?,
            });
        }
        self.groups.insert(key, recovered.clone());
        Ok(recovered)
    }

    fn examine(&mut self, database: &str) -> Result<Recovered, CrashError> {
        let key = self.bench.fingerprint(database);
        if let Some(known) = self.examined.get(&key) {
            return Ok(known.clone());
        }
        let recovered = self.bench.examine(database)?;
        self.examined.insert(key, recovered.clone());
        Ok(recovered)
    }
}

/// Whether a file is a database or one of those that SQLite keeps beside it.
fn is_of(database: &str, file: &str) -> bool {
    file.strip_prefix(database)
        .is_some_and(|suffix| matches!(suffix, "" | "-journal" | "-wal"))
}

/// A hash of files with their names.
pub fn hash(files: &[File]) -> u128 {
    let mut hash = Xxh3::new();
    for (name, bytes) in files {
        hash.update(name.as_bytes());
        hash.update(&xxh3_128(bytes).to_le_bytes());
    }
    hash.digest128()
}

/// The latest commit that left just this.
fn compare(recording: &Recording, recovered: &[Recovered]) -> Judgement {
    let mut contents = Vec::with_capacity(recovered.len());
    for (database, recovered) in recording.databases.iter().zip(recovered) {
        match recovered {
            Ok(content) => contents.push(*content),
            Err(problem) => return Judgement::Violated(violation(database, problem)),
        }
    }
    let commits = &recording.commits;
    if let Some(number) = commits
        .iter()
        .rposition(|commit| commit.contents == contents)
    {
        return Judgement::Committed(number);
    }
    for (number, content) in contents.iter().enumerate() {
        if !commits
            .iter()
            .any(|commit| commit.contents[number] == *content)
        {
            return Judgement::Violated(Violation::Impossible {
                database: recording.databases[number].clone(),
            });
        }
    }
    Judgement::Violated(Violation::Split)
}

fn violation(database: &str, problem: &Problem) -> Violation {
    let database = database.to_owned();
    match problem {
        Problem::Unopenable(message) => Violation::Unopenable {
            database,
            message: message.clone(),
        },
        Problem::Corrupt(message) => Violation::Corrupt {
            database,
            message: message.clone(),
        },
    }
}

//! Judging crash images: recovered by the engine, compared with every committed state.
//!
//! Recovering is cheap, checking is not. Files that were seen before are not recovered again, and
//! databases that were recovered to the same bytes are not checked again. Databases are recovered
//! separately unless a super-journal ties them together.

use crate::content::Content;
use crate::error::Result;
use crate::harness::{Harness, Problem, Recovered};
use crate::record::Recording;
use crate::trace::{File, Trace, is_of};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use twox_hash::XxHash3_128;

/// A state of a crash image that SQLite should never leave.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
#[allow(missing_docs)] // Variants describe their fields.
pub enum Violation {
    /// A database cannot be opened, with this message of SQLite.
    #[error("SQLite refuses to open {database}: {message}")]
    Unopenable { database: String, message: String },
    /// `integrity_check` reports damage of a database; the message is the first one.
    #[error("integrity_check of {database} reports: {}", message.replace('\n', " "))]
    Corrupt { database: String, message: String },
    /// The engine ended the process, or hung, while it recovered a database; `how` says how in words.
    #[error("the engine ended its process while it recovered {database}: {how}")]
    Ended { database: String, how: String },
    /// A database is intact, but holds what no transaction ever committed.
    #[error("{database} is intact, but holds what no transaction ever committed")]
    Impossible { database: String },
    /// A large database holds pages that no commit left together.
    #[error("{database} has pages that no transaction left together")]
    Mixed { database: String },
    /// Each database holds the content of some commit, but not of the same one.
    #[error("each database holds what a transaction committed, but not the same one")]
    Split {
        /// All of them.
        #[serde(default)]
        databases: Vec<String>,
        /// The last transaction that each of them holds.
        #[serde(default)]
        latest: Vec<usize>,
    },
}

/// The judgement on one image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Judgement {
    /// It holds the content of the commit with this number.
    Committed(usize),
    /// By database the last transaction that it holds, where no transaction of several databases is in some only.
    Apart(Vec<usize>),
    /// It should never have come about.
    Violated(Violation),
}

/// Recovers and judges images, each distinct one once.
pub struct Judge<'b> {
    pub(crate) harness: &'b mut Harness,
    /// The results of recovering files, by their hash: one entry for each database of the group.
    groups: HashMap<u128, Vec<Recovered>>,
    /// The results of examining recovered bytes, by their hash.
    examined: HashMap<u128, Recovered>,
    /// Recoveries done.
    pub recoveries: u64,
}

impl<'b> Judge<'b> {
    /// Returns a judge that has seen nothing.
    pub fn new(harness: &'b mut Harness) -> Judge<'b> {
        Judge { harness, groups: HashMap::new(), examined: HashMap::new(), recoveries: 0 }
    }

    /// Recovers the image with the hash `key` and returns the committed state that it holds.
    ///
    /// # Errors
    /// A failure that no crash explains: a defect of this crate.
    pub fn judge(&mut self, recording: &Recording, image: CrashImage) -> Result<Judgement> {
        let recovered = self.recover(recording, image)?;
        Ok(compare(recording, &recovered))
    }

    /// Recovers an image under observation: the trace of what recovery did to it.
    ///
    /// # Errors
    /// As [`judge`](Self::judge).
    pub fn trace_recovery(&mut self, recording: &Recording, files: &[File]) -> Result<Trace> {
        let names: Vec<&str> = recording.databases.iter().map(String::as_str).collect();
        let calls = self.harness.record_recovery(files.to_vec(), &names)?;
        self.recoveries += 1;
        Ok(Trace::new(files, &calls))
    }

    fn recover(&mut self, recording: &Recording, image: CrashImage) -> Result<Vec<Recovered>> {
        let databases = &recording.databases;
        let is_tied = image
            .files
            .iter()
            .any(|(name, _)| !databases.iter().any(|database| is_of(database, name)));
        if is_tied || databases.len() == 1 {
            let names: Vec<&str> = databases.iter().map(String::as_str).collect();
            return self.recover_group(&names, image, recording.by_pages);
        }
        let mut recovered = Vec::with_capacity(databases.len());
        let mut left = image.files;
        for database in databases {
            let (mine, others) = left.into_iter().partition(|(name, _)| is_of(database, name));
            left = others;
            let mine = CrashImage::of(mine);
            recovered.extend(self.recover_group(&[database], mine, recording.by_pages)?);
        }
        Ok(recovered)
    }

    fn recover_group(
        &mut self,
        databases: &[&str],
        CrashImage { key, files }: CrashImage,
        by_pages: bool,
    ) -> Result<Vec<Recovered>> {
        if files.is_empty() {
            return Ok(vec![Ok(Content::empty()); databases.len()]);
        }
        if let Some(known) = self.groups.get(&key) {
            return Ok(known.clone());
        }
        self.recoveries += 1;
        let problems = self.harness.recover(files, databases)?;
        let mut recovered = Vec::with_capacity(databases.len());
        for (database, problem) in databases.iter().zip(problems) {
            recovered.push(match problem {
                Some(problem) => Err(problem),
                None if by_pages => Ok(self.harness.recovered_pages(database)?),
                None => self.examine(database)?,
            });
        }
        self.groups.insert(key, recovered.clone());
        Ok(recovered)
    }

    fn examine(&mut self, database: &str) -> Result<Recovered> {
        let key = self.harness.fingerprint(database);
        if let Some(known) = self.examined.get(&key) {
            return Ok(known.clone());
        }
        let recovered = self.harness.examine(database)?;
        self.examined.insert(key, recovered.clone());
        Ok(recovered)
    }
}

/// The files that a crash leaves.
pub struct CrashImage {
    /// The digest of their names and contents.
    pub key: u128,
    pub files: Vec<File>,
}

impl CrashImage {
    pub fn of(files: Vec<File>) -> CrashImage {
        let mut hashed = Vec::new();
        for (name, bytes) in &files {
            hashed.extend(name.as_bytes());
            hashed.extend(bytes.digest().to_le_bytes());
        }
        CrashImage { key: XxHash3_128::oneshot(&hashed), files }
    }
}

/// Returns the latest commit that left just this, or by database where they are not at the same one.
fn compare(recording: &Recording, recovered: &[Recovered]) -> Judgement {
    let mut contents = Vec::with_capacity(recovered.len());
    for (database, recovered) in recording.databases.iter().zip(recovered) {
        match recovered {
            Ok(content) => contents.push(*content),
            Err(problem) => return Judgement::Violated(violation(database, problem)),
        }
    }
    let mut commits = recording.commits.iter();
    if let Some(number) = commits.rposition(|commit| commit.contents == contents) {
        return Judgement::Committed(number);
    }
    let mut latest = Vec::with_capacity(contents.len());
    for (number, content) in contents.iter().enumerate() {
        match recording.commits.iter().rposition(|commit| commit.contents[number] == *content) {
            Some(commit) => latest.push(commit),
            None => return Judgement::Violated(never_committed(recording, number)),
        }
    }
    if is_torn(recording, &latest) {
        Judgement::Violated(Violation::Split { databases: recording.databases.clone(), latest })
    } else {
        Judgement::Apart(latest)
    }
}

impl Recording {
    /// Returns a transaction to stand for databases that hold different ones, each up to its `latest`: the
    /// acknowledged one minus the most transactions of its own that any database lacks.
    pub(crate) fn held_apart(&self, acknowledged: usize, latest: &[usize]) -> usize {
        let lacking = latest.iter().enumerate().map(|(database, latest)| {
            let commits = self.commits.windows(2).zip(1..).take(acknowledged);
            let changes = |(pair, number): &(&[crate::Commit], usize)| {
                number > latest && pair[0].contents[database] != pair[1].contents[database]
            };
            commits.filter(changes).count()
        });
        acknowledged - lacking.max().unwrap_or_default()
    }
}

fn never_committed(recording: &Recording, number: usize) -> Violation {
    let database = recording.databases[number].clone();
    if recording.by_pages {
        Violation::Mixed { database }
    } else {
        Violation::Impossible { database }
    }
}

/// Returns whether a transaction that changed several databases is in some of them only, each being at this
/// commit. Transactions of single databases have no order between databases.
fn is_torn(recording: &Recording, latest: &[usize]) -> bool {
    recording.commits.windows(2).zip(1..).into_iter().any(|(pair, number)| {
        let changed = |database: &usize| pair[0].contents[*database] != pair[1].contents[*database];
        let changed: Vec<usize> = (0..latest.len()).filter(changed).collect();
        let has = |database: &usize| latest[*database] >= number;
        changed.iter().any(has) && !changed.iter().all(has)
    })
}

fn violation(database: &str, problem: &Problem) -> Violation {
    let database = database.to_owned();
    match problem.clone() {
        Problem::Unopenable(message) => Violation::Unopenable { database, message },
        Problem::Corrupt(message) => Violation::Corrupt { database, message },
        Problem::Ended(how) => Violation::Ended { database, how },
    }
}

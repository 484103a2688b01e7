//! The folder of a run: what was planned, the machine, and one synced line for every trial.
//!
//! `run.json` is written last and by renaming, so a folder that has one is a whole run. The
//! outcomes are only ever appended to; a line that a kill cut short is cut off on resuming, and its
//! trial is run again. What is read may come from anywhere: `files.rs` follows no link, and a trial that
//! does not belong to the run is refused.
//!
//! Whether trials belong to a run: a line of another run, or the same line twice, would change what the
//! run says.
//!
//! The files of a record: regular ones, opened where they are. A folder may come from somebody else, so a
//! link in it is not followed to a file of the user, and a pipe is not waited for.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use lab::design::Role;
use lab::level::label;
use lab::plan::tier_plan;
use lab::record::{
    EnvironmentFile, FORMAT, Header, PlannedExperiment, Purpose, RunPlan, TrialRecord,
};
use rustix::fs::{Access, FlockOperation, OFlags, access, flock};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};

use crate::error::{Context, Result, RunError};

const PLAN: &str = "run.json";
const ENVIRONMENT: &str = "environment.json";
const OUTCOMES: &str = "outcomes.jsonl";
/// Folder of what trials leave.
pub(crate) const ARTIFACTS: &str = "artifacts";

/// The damage of a record that is empty or was cut within its first line.
const NO_HEADER: &str = "its first line, which names the run, is missing";

/// The folder of one run.
#[derive(Clone, Debug)]
pub struct RunFolder {
    /// Its path.
    pub path: PathBuf,
}

impl RunFolder {
    /// Makes the folder of a new run.
    ///
    /// # Errors
    /// When the folder exists and is not empty, or cannot be written; then nothing is left behind.
    pub fn create(path: &Path, plan: &RunPlan, environment: &EnvironmentFile) -> Result<RunFolder> {
        let existed = path.exists();
        RunFolder::check_free(path)?;
        fs::create_dir_all(path).context("create", path)?;
        let folder = RunFolder { path: path.to_owned() };
        folder.fill(plan, environment).inspect_err(|_| folder.empty(existed))?;
        Ok(folder)
    }

    /// Whether a new run can have this folder.
    ///
    /// # Errors
    /// When the folder exists and is not empty, or could not be made or written.
    pub fn check_free(path: &Path) -> Result<()> {
        check_creatable(path)?;
        let is_taken = path.exists() && fs::read_dir(path).context("read", path)?.next().is_some();
        if is_taken { Err(RunError::Exists(path.to_owned())) } else { Ok(()) }
    }

    /// Opens the folder of a run.
    ///
    /// # Errors
    /// When the folder contains no run.
    pub fn open(path: &Path) -> Result<RunFolder> {
        if !path.join(PLAN).is_file() {
            return Err(RunError::NoRun(path.to_owned()));
        }
        Ok(RunFolder { path: path.to_owned() })
    }

    /// Returns the plan.
    ///
    /// # Errors
    /// When the file cannot be read, is damaged or of a newer format, or its plan could not be carried out.
    pub fn plan(&self) -> Result<RunPlan> {
        let path = self.path.join(PLAN);
        let plan: RunPlan = read_json(&path)?;
        plan.check()
            .and_then(|()| plan.declare_metrics())
            .map_err(|what| RunError::damaged(&path, what))?;
        Ok(plan)
    }

    /// Returns the machine and the engines.
    ///
    /// # Errors
    /// As for [`RunFolder::plan`].
    pub fn environment(&self) -> Result<EnvironmentFile> {
        read_json(&self.path.join(ENVIRONMENT))
    }

    /// Reads every whole trial of the record, one by one.
    ///
    /// # Errors
    /// When the file cannot be read, a line before the last is damaged, or a trial does not belong to the
    /// run.
    pub fn each_trial(&self, take: impl FnMut(TrialRecord)) -> Result<()> {
        let path = self.path.join(OUTCOMES);
        each_line(open(&path)?, &path, self.plan()?, take)
    }

    /// Opens the record for appending, for this process alone; what a kill left of its last line is cut
    /// off.
    ///
    /// # Errors
    /// When another process has it open for appending, it has no header, or it cannot be written.
    pub fn appender(&self) -> Result<Appender> {
        let path = self.path.join(OUTCOMES);
        let mut file = open_to_write(&path)?;
        if !locked(&file) {
            return Err(RunError::InUse(self.path.clone()));
        }
        let length = length_of_whole_lines(&mut file).context("read", &path)?;
        if length == 0 {
            return Err(RunError::damaged(&path, NO_HEADER));
        }
        file.set_len(length).context("cut the unfinished line of", &path)?;
        file.seek(SeekFrom::End(0)).context("read", &path)?;
        Ok(Appender { file, path, length })
    }

    fn fill(&self, plan: &RunPlan, environment: &EnvironmentFile) -> Result<()> {
        let outcomes = self.path.join(OUTCOMES);
        let header = Header { format: FORMAT, run: plan.id.clone() };
        let mut file = File::create(&outcomes).context("create", &outcomes)?;
        file.write_all(&json_line(&header, &outcomes)?).context("write", &outcomes)?;
        file.sync_all().context("sync", &outcomes)?;
        write_json(&self.path.join(ENVIRONMENT), environment)?;
        write_json(&self.path.join(PLAN), plan)?;
        let directory = File::open(&self.path).context("open", &self.path)?;
        directory.sync_all().context("sync", &self.path)
    }

    /// Removes what an unfinished creation has left.
    fn empty(&self, keep_folder: bool) {
        for name in [PLAN, ENVIRONMENT, OUTCOMES] {
            let _ = fs::remove_file(self.path.join(name));
            let _ = fs::remove_file(unfinished(&self.path.join(name)));
        }
        if !keep_folder {
            let _ = fs::remove_dir(&self.path);
        }
    }

    /// Removes the folder, unless it contains anything but a record, artifacts and files with the names in `written`: the
    /// answer is the name of such a file, and nothing was removed then.
    ///
    /// # Errors
    /// When another process works on the run, or a file cannot be removed. The plan goes last.
    pub fn remove(&self, written: &[&str]) -> Result<Option<String>> {
        if let Some(name) = self.other(written)? {
            return Ok(Some(name.to_string_lossy().into_owned()));
        }
        let record = open_to_write(&self.path.join(OUTCOMES))?;
        if !locked(&record) {
            return Err(RunError::InUse(self.path.clone()));
        }
        let artifacts = self.path.join(ARTIFACTS);
        if artifacts.symlink_metadata().is_ok() {
            fs::remove_dir_all(&artifacts).context("remove", &artifacts)?;
        }
        for name in written.iter().chain([&ENVIRONMENT, &OUTCOMES, &PLAN]) {
            let path = self.path.join(name);
            if path.symlink_metadata().is_ok() {
                fs::remove_file(&path).context("remove", &path)?;
            }
        }
        fs::remove_dir(&self.path).context("remove", &self.path)?;
        Ok(None)
    }

    /// Returns an entry of the folder that does not belong to a run.
    fn other(&self, written: &[&str]) -> Result<Option<OsString>> {
        let own = [PLAN, ENVIRONMENT, OUTCOMES, ARTIFACTS];
        let is_own = |name: &OsString| own.iter().chain(written).any(|own| name == own);
        for entry in fs::read_dir(&self.path).context("read", &self.path)? {
            let name = entry.context("read", &self.path)?.file_name();
            if !is_own(&name) {
                return Ok(Some(name));
            }
        }
        Ok(None)
    }
}

/// Reads a header and then every whole line of a file.
fn each_line(
    file: File,
    path: &Path,
    plan: RunPlan,
    mut take: impl FnMut(TrialRecord),
) -> Result<()> {
    let reader = BufReader::with_capacity(1 << 20, file);
    let mut lines = Lines { reader, path, number: 0, line: Vec::new() };
    let header: Header = lines
        .next(|line| serde_json::from_slice(line))?
        .ok_or_else(|| RunError::damaged(path, NO_HEADER))?;
    check_format(path, header.format)?;
    if header.run != plan.id {
        let what = format!("it belongs to the run {}, not to {}", header.run, plan.id);
        return Err(RunError::damaged(path, what));
    }
    let mut check = RecordCheck::new(plan);
    while let Some(trial) = lines.next(TrialRecord::of_line)? {
        check.take(&trial).map_err(|what| lines.damaged(what))?;
        take(trial);
    }
    Ok(())
}

/// The whole lines of a file.
struct Lines<'a> {
    reader: BufReader<File>,
    path: &'a Path,
    number: usize,
    line: Vec<u8>,
}

impl Lines<'_> {
    /// Returns the next line; `None` at the end. A line without an end was cut short by a kill: its trial was not
    /// recorded.
    fn next<T>(
        &mut self,
        read_value: impl FnOnce(&[u8]) -> serde_json::Result<T>,
    ) -> Result<Option<T>> {
        self.line.clear();
        let read = self.reader.read_until(b'\n', &mut self.line);
        read.context("read", self.path)?;
        if self.line.last() != Some(&b'\n') {
            return Ok(None);
        }
        self.number += 1;
        read_value(&self.line).map(Some).map_err(|error| self.damaged(error))
    }

    /// Returns an error that names the line that was read last.
    fn damaged(&self, what: impl std::fmt::Display) -> RunError {
        RunError::damaged(self.path, format!("line {}: {what}", self.number))
    }
}

/// Appends trials to the record.
#[derive(Debug)]
pub struct Appender {
    file: File,
    path: PathBuf,
    length: u64,
}

impl Appender {
    /// Appends one trial and syncs it to the disk.
    ///
    /// # Errors
    /// When it cannot be written, for example on a full disk; then the file is as before.
    pub fn append(&mut self, record: &TrialRecord) -> Result<()> {
        let line = json_line(record, &self.path)?;
        let written = self.file.write_all(&line).and_then(|()| self.file.sync_data());
        if written.is_err() {
            self.file.set_len(self.length).context("cut back", &self.path)?;
            self.file.seek(SeekFrom::End(0)).context("cut back", &self.path)?;
        }
        written.context("write", &self.path)?;
        self.length += line.len() as u64;
        Ok(())
    }
}

fn json_line(value: &impl Serialize, path: &Path) -> Result<Vec<u8>> {
    let mut line =
        serde_json::to_vec(value).map_err(std::io::Error::from).context("write", path)?;
    line.push(b'\n');
    Ok(line)
}

fn json_text(value: &impl Serialize, path: &Path) -> Result<Vec<u8>> {
    serde_json::to_vec_pretty(value).map_err(std::io::Error::from).context("write", path)
}

fn unfinished(path: &Path) -> PathBuf {
    path.with_extension("unfinished")
}

fn write_json(path: &Path, value: &impl Serialize) -> Result<()> {
    let unfinished = unfinished(path);
    let text = json_text(value, path)?;
    let mut file = File::create(&unfinished).context("create", &unfinished)?;
    file.write_all(&text).context("write", &unfinished)?;
    file.sync_all().context("sync", &unfinished)?;
    fs::rename(&unfinished, path).context("rename to", path)
}

/// Takes a lock for this process alone; false where another process keeps it.
///
/// It retries for a while: a process that is being started holds copies of this one's handles
/// until its own program begins, and with them a lock that has been given back already.
fn locked(file: &File) -> bool {
    const TRIES: u32 = 50;
    const PAUSE: Duration = Duration::from_millis(10);
    (0..TRIES).any(|attempt| {
        if attempt > 0 {
            std::thread::sleep(PAUSE);
        }
        flock(file, FlockOperation::NonBlockingLockExclusive).is_ok()
    })
}

/// Returns the length of the file up to and with its last line end.
fn length_of_whole_lines(file: &mut File) -> std::io::Result<u64> {
    const STEP: u64 = 64 * 1024;
    let mut end = file.metadata()?.len();
    while end > 0 {
        let start = end.saturating_sub(STEP);
        let mut part = vec![0; (end - start) as usize];
        file.seek(SeekFrom::Start(start))?;
        file.read_exact(&mut part)?;
        if let Some(last) = part.iter().rposition(|byte| *byte == b'\n') {
            return Ok(start + last as u64 + 1);
        }
        end = start;
    }
    Ok(0)
}

/// The list of runs that this user has made or trusts.
#[derive(Clone, Debug)]
pub struct TrustedRuns {
    path: PathBuf,
}

impl TrustedRuns {
    /// Returns the list below this directory, which need not exist yet.
    pub fn below(directory: &Path) -> TrustedRuns {
        TrustedRuns { path: directory.join("own-runs") }
    }

    /// Adds a run that is about to begin.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn add(&self, plan: &RunPlan, environment: &EnvironmentFile) -> Result<()> {
        let path = &self.path;
        self.append(&fingerprint(&json_text(plan, path)?, &json_text(environment, path)?))
    }

    /// Adds the run in a folder: the user trusts it.
    ///
    /// # Errors
    /// When a file cannot be read or written.
    pub fn adopt(&self, folder: &RunFolder) -> Result<()> {
        self.append(&fingerprint_of(folder)?)
    }

    /// Returns whether the run in a folder is one of them, with plan and environment as they were.
    ///
    /// # Errors
    /// When a file cannot be read.
    pub fn contain(&self, folder: &RunFolder) -> Result<bool> {
        let listed = match fs::read_to_string(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            read => read.context("read", &self.path)?,
        };
        let fingerprint = fingerprint_of(folder)?;
        Ok(listed.lines().any(|line| line == fingerprint))
    }

    fn append(&self, line: &str) -> Result<()> {
        if let Some(directory) = self.path.parent() {
            fs::create_dir_all(directory).context("create", directory)?;
        }
        let mut file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&self.path)
            .context("open", &self.path)?;
        file.write_all(format!("{line}\n").as_bytes()).context("write", &self.path)
    }
}

fn fingerprint_of(folder: &RunFolder) -> Result<String> {
    let [plan, environment] = [PLAN, ENVIRONMENT].map(|name| read(&folder.path.join(name)));
    Ok(fingerprint(&plan?, &environment?))
}

/// Returns the hash of both files, each by its own hash, so that no byte can move from one to the other.
fn fingerprint(plan: &[u8], environment: &[u8]) -> String {
    let mut both = Sha256::new();
    both.update(Sha256::digest(plan));
    both.update(Sha256::digest(environment));
    both.finalize().into_iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Purpose, experiment, whether it counts, and round, block and position: no two trials share all of them.
type Identity = (Purpose, usize, bool, (u32, u32, u32));

/// The trials of a run so far.
pub(super) struct RecordCheck {
    rounds: RunPlan,
    tiers: Option<RunPlan>,
    by_key: HashMap<String, usize>,
    seen: HashSet<Identity>,
}

impl RecordCheck {
    /// None yet.
    pub(super) fn new(plan: RunPlan) -> RecordCheck {
        let keys = plan.experiments.iter().map(|planned| planned.key.clone());
        RecordCheck {
            by_key: keys.zip(0..).collect(),
            tiers: tier_plan(&plan),
            seen: HashSet::new(),
            rounds: plan,
        }
    }

    /// Takes the next trial.
    ///
    /// # Errors
    /// Why it does not belong to this run.
    pub(super) fn take(&mut self, trial: &TrialRecord) -> Result<(), String> {
        let key = &trial.experiment;
        let (index, planned) =
            self.planned(trial).ok_or_else(|| format!("the run has no experiment `{key}`"))?;
        if !is_of(planned, trial) {
            let variant = &trial.variant;
            return Err(format!("`{key}` has no variant `{variant}`"));
        }
        let place = (trial.round, trial.block, trial.position);
        let counting = trial.role == Role::Counting;
        if self.seen.insert((trial.purpose, index, counting, place)) {
            Ok(())
        } else {
            Err("the trial is in the record twice".to_owned())
        }
    }

    fn planned(&self, trial: &TrialRecord) -> Option<(usize, &PlannedExperiment)> {
        if trial.purpose == Purpose::Tier {
            let planned = self.tiers.as_ref()?.experiments.first();
            return Some((0, planned.filter(|planned| planned.key == trial.experiment)?));
        }
        let index = *self.by_key.get(&trial.experiment)?;
        Some((index, &self.rounds.experiments[index]))
    }
}

/// Returns whether the experiment has the variant of a trial. One that is tuned has every configuration of its space,
/// and changes of the application.
fn is_of(planned: &PlannedExperiment, trial: &TrialRecord) -> bool {
    let tuned = planned.tuning.as_ref().is_some_and(|tuning| {
        let mut advice = tuning.advice.iter();
        let is_change = trial.purpose == Purpose::Advice
            && advice.any(|advised| label(&advised.settings) == trial.variant);
        is_change || tuning.configuration(&trial.variant).is_some()
    });
    tuned || planned.index_of(&trial.variant, trial.role).is_some()
}

#[cfg(test)]
mod tests;

/// Opens a file for reading.
pub(super) fn open(path: &Path) -> Result<File> {
    opened(OpenOptions::new().read(true), path)
}

/// Opens a file for reading and writing.
pub(super) fn open_to_write(path: &Path) -> Result<File> {
    opened(OpenOptions::new().read(true).write(true), path)
}

fn opened(options: &mut OpenOptions, path: &Path) -> Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let not_a_file = || RunError::NotAFile(path.to_owned());
    let file = match options.custom_flags(flags.bits() as i32).open(path) {
        Err(_) if path.is_symlink() => return Err(not_a_file()),
        opened => opened.context("open", path)?,
    };
    file.metadata().context("read", path)?.is_file().then_some(file).ok_or_else(not_a_file)
}

/// Returns the bytes of a file.
pub(super) fn read(path: &Path) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut file = open(path)?;
    file.read_to_end(&mut bytes).context("read", path)?;
    Ok(bytes)
}

/// Returns the value in a file of JSON with a format.
pub(super) fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T> {
    let damaged = |error: serde_json::Error| RunError::damaged(path, error);
    let value: serde_json::Value = serde_json::from_slice(&read(path)?).map_err(damaged)?;
    let format =
        value["format"].as_u64().and_then(|format| u32::try_from(format).ok()).unwrap_or_default();
    check_format(path, format)?;
    serde_json::from_value(value).map_err(damaged)
}

/// Refuses a file of another format.
pub(super) fn check_format(path: &Path, found: u32) -> Result<()> {
    match found {
        0 => Err(RunError::damaged(path, "it names no format")),
        FORMAT => Ok(()),
        _ => Err(RunError::OtherFormat { path: path.to_owned(), found, known: FORMAT }),
    }
}

/// Refuses a path below `folder` with a link in it.
pub(crate) fn check_no_link(folder: &Path, place: &Path) -> Result<()> {
    let mut path = folder.to_owned();
    for part in place.components() {
        path.push(part);
        if path.is_symlink() {
            return Err(RunError::NotAFile(path));
        }
    }
    Ok(())
}

/// Whether a directory can be made at this path and filled, as far as permissions tell.
pub(super) fn check_creatable(path: &Path) -> Result<()> {
    let path = std::path::absolute(path).context("find", path)?;
    let existing = path.ancestors().find(|ancestor| ancestor.exists());
    let existing = existing.map_or_else(|| PathBuf::from("/"), Path::to_owned);
    if !existing.is_dir() {
        return Err(io::Error::from(io::ErrorKind::NotADirectory)).context("use", &existing);
    }
    access(&existing, Access::WRITE_OK | Access::EXEC_OK).context("write to", &existing)
}

//! The folder of a run: what was planned, the machine, and one synced line for every trial.
//!
//! `run.json` is written last and by renaming, so a folder that has one is a whole run. The
//! outcomes are only ever appended to; a line that a kill cut short is cut off on resuming, and its
//! trial is run again.

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use lab::record::{EnvironmentFile, FORMAT, Header, RunPlan, TrialRecord};
use rustix::fs::{FlockOperation, flock};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::{Context, RunError};

const PLAN: &str = "run.json";
const ENVIRONMENT: &str = "environment.json";
const OUTCOMES: &str = "outcomes.jsonl";

/// The folder of one run.
#[derive(Clone, Debug)]
pub struct RunFolder {
    path: PathBuf,
}

impl RunFolder {
    /// Makes the folder of a new run.
    ///
    /// # Errors
    /// When the folder exists and is not empty, or cannot be written; then nothing is left behind.
    pub fn create(
        path: &Path,
        plan: &RunPlan,
        environment: &EnvironmentFile,
    ) -> Result<RunFolder, RunError> {
        let existed = path.exists();
        if existed && fs::read_dir(path).context("read", path)?.next().is_some() {
            return Err(RunError::Exists(path.to_owned()));
        }
        fs::create_dir_all(path).context("create", path)?;
        let folder = RunFolder {
            path: path.to_owned(),
        };
        folder
            .fill(plan, environment)
            .inspect_err(|_| folder.empty(existed))?;
        Ok(folder)
    }

    /// Opens the folder of a run.
    ///
    /// # Errors
    /// When there is no run in it.
    pub fn open(path: &Path) -> Result<RunFolder, RunError> {
        if !path.join(PLAN).is_file() {
            return Err(RunError::NoRun(path.to_owned()));
        }
        Ok(RunFolder {
            path: path.to_owned(),
        })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What was planned.
    ///
    /// # Errors
    /// When the file cannot be read, is damaged or of a newer format.
    pub fn plan(&self) -> Result<RunPlan, RunError> {
        read_json(&self.path.join(PLAN))
    }

    /// The machine and the engines.
    ///
    /// # Errors
    /// As for [`RunFolder::plan`].
    pub fn environment(&self) -> Result<EnvironmentFile, RunError> {
        read_json(&self.path.join(ENVIRONMENT))
    }

    /// Reads every whole trial of the record, one by one.
    ///
    /// # Errors
    /// When the file cannot be read or a line before the last is damaged.
    pub fn each_trial(&self, take: impl FnMut(TrialRecord)) -> Result<(), RunError> {
        let path = self.path.join(OUTCOMES);
        each_line(File::open(&path).context("open", &path)?, &path, take)
    }

    /// Opens the record for appending, for this process alone; what a kill left of its last line is cut
    /// off.
    ///
    /// # Errors
    /// When another process has it open for appending, or it cannot be written.
    pub fn appender(&self) -> Result<Appender, RunError> {
        let path = self.path.join(OUTCOMES);
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .open(&path)
            .context("open", &path)?;
        if !locked(&file) {
            return Err(RunError::InUse(self.path.clone()));
        }
        let length = length_of_whole_lines(&mut file).context("read", &path)?;
        file.set_len(length)
            .context("cut the unfinished line of", &path)?;
        file.seek(SeekFrom::End(0)).context("read", &path)?;
        Ok(Appender { file, path, length })
    }

    fn sync_directory(&self) -> Result<(), RunError> {
        let directory = File::open(&self.path).context("open", &self.path)?;
        directory.sync_all().context("sync", &self.path)
    }

    fn fill(&self, plan: &RunPlan, environment: &EnvironmentFile) -> Result<(), RunError> {
        let outcomes = self.path.join(OUTCOMES);
        let header = Header {
            format: FORMAT,
            run: plan.id.clone(),
        };
        let mut file = File::create(&outcomes).context("create", &outcomes)?;
        file.write_all(&json_line(&header, &outcomes)?)
            .context("write", &outcomes)?;
        file.sync_all().context("sync", &outcomes)?;
        write_json(&self.path.join(ENVIRONMENT), environment)?;
        write_json(&self.path.join(PLAN), plan)?;
        self.sync_directory()
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
}

/// Reads a header and then every whole line of a file.
fn each_line(file: File, path: &Path, mut take: impl FnMut(TrialRecord)) -> Result<(), RunError> {
    let mut reader = BufReader::with_capacity(1 << 20, file);
    let damaged = |number: usize, error: serde_json::Error| RunError::Damaged {
        path: path.to_owned(),
        what: format!("line {number}: {error}"),
    };
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        reader.read_until(b'\n', &mut line).context("read", path)?;
        // A line without an end was cut short by a kill: its trial was not recorded.
        if line.last() != Some(&b'\n') {
            break;
        }
        if number == 1 {
            let header: Header =
                serde_json::from_slice(&line).map_err(|error| damaged(number, error))?;
            check_format(path, header.format)?;
        } else {
            take(serde_json::from_slice(&line).map_err(|error| damaged(number, error))?);
        }
    }
    Ok(())
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
    pub fn append(&mut self, record: &TrialRecord) -> Result<(), RunError> {
        let line = json_line(record, &self.path)?;
        let written = self
            .file
            .write_all(&line)
            .and_then(|()| self.file.sync_data());
        if written.is_err() {
            self.file
                .set_len(self.length)
                .context("cut back", &self.path)?;
            self.file
                .seek(SeekFrom::End(0))
                .context("cut back", &self.path)?;
        }
        written.context("write", &self.path)?;
        self.length += line.len() as u64;
        Ok(())
    }
}

fn json_line(value: &impl Serialize, path: &Path) -> Result<Vec<u8>, RunError> {
    let mut line = serde_json::to_vec(value)
        .map_err(std::io::Error::from)
        .context("write", path)?;
    line.push(b'\n');
    Ok(line)
}

fn unfinished(path: &Path) -> PathBuf {
    path.with_extension("unfinished")
}

fn write_json(path: &Path, value: &impl Serialize) -> Result<(), RunError> {
    let unfinished = unfinished(path);
    let text = serde_json::to_vec_pretty(value)
        .map_err(std::io::Error::from)
        .context("write", path)?;
    let mut file = File::create(&unfinished).context("create", &unfinished)?;
    file.write_all(&text).context("write", &unfinished)?;
    file.sync_all().context("sync", &unfinished)?;
    fs::rename(&unfinished, path).context("rename to", path)
}

fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T, RunError> {
    let text = fs::read(path).context("read", path)?;
    let damaged = |error: serde_json::Error| RunError::Damaged {
        path: path.to_owned(),
        what: error.to_string(),
    };
    let value: serde_json::Value = serde_json::from_slice(&text).map_err(damaged)?;
    let format = value["format"]
        .as_u64()
        .and_then(|format| u32::try_from(format).ok())
        .unwrap_or_default();
    check_format(path, format)?;
    serde_json::from_value(value).map_err(damaged)
}

fn check_format(path: &Path, found: u32) -> Result<(), RunError> {
    match found {
        0 => Err(RunError::Damaged {
            path: path.to_owned(),
            what: "it names no format".to_owned(),
        }),
        FORMAT => Ok(()),
        _ => Err(RunError::OtherFormat {
            path: path.to_owned(),
            found,
            known: FORMAT,
        }),
    }
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

/// The length of the file up to and with its last line end.
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

#[cfg(test)]
mod tests;

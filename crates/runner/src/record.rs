//! The folder of a run: what was planned, the machine, and one synced line for every trial and for
//! every safety tier.
//!
//! `run.json` is written last and by renaming, so a folder that has one is a whole run. The
//! outcomes are only ever appended to; a line that a kill cut short is cut off on resuming, and its
//! trial is run again.

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, ErrorKind, Read, Seek, SeekFrom, Write};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::time::Duration;

use lab::record::{EnvironmentFile, FORMAT, Header, RunPlan, TierRecord, TrialRecord};
use rustix::fs::{FlockOperation, flock};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::{Context, RunError};

const PLAN: &str = "run.json";
const ENVIRONMENT: &str = "environment.json";
const OUTCOMES: &str = "outcomes.jsonl";
const TIERS: &str = "tiers.jsonl";
const CONFIRMATION: &str = "confirmation.jsonl";

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

    /// Reads every whole crash trial of the record; there are none in runs that measured no tiers.
    ///
    /// # Errors
    /// As for [`RunFolder::each_trial`].
    pub fn each_tier(&self, take: impl FnMut(TierRecord)) -> Result<(), RunError> {
        self.each_later(TIERS, take)
    }

    /// Reads every whole trial in which a chosen variant was measured again; there are none in runs that
    /// chose from few.
    ///
    /// # Errors
    /// As for [`RunFolder::each_trial`].
    pub fn each_confirmation(&self, take: impl FnMut(TrialRecord)) -> Result<(), RunError> {
        self.each_later(CONFIRMATION, take)
    }

    /// Reads a file that comes after the last round, if it does.
    fn each_later<T: DeserializeOwned>(
        &self,
        name: &str,
        take: impl FnMut(T),
    ) -> Result<(), RunError> {
        let path = self.path.join(name);
        match File::open(&path) {
            Ok(file) => each_line(file, &path, take),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error).context("open", &path),
        }
    }

    /// Opens the record for appending, for this process alone.
    ///
    /// # Errors
    /// When another process has it open for appending, or it cannot be written.
    pub fn appender(&self) -> Result<Appender<TrialRecord>, RunError> {
        let path = self.path.join(OUTCOMES);
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .open(&path)
            .context("open", &path)?;
        self.at_the_end_of(file, path)
    }

    /// Opens the record of tiers for appending, for this process alone; makes it where there is none.
    ///
    /// # Errors
    /// As for [`RunFolder::appender`].
    pub fn tier_appender(&self, run: &str) -> Result<Appender<TierRecord>, RunError> {
        self.later_appender(TIERS, run)
    }

    /// Opens the record of variants measured again for appending, for this process alone; makes it where
    /// there is none.
    ///
    /// # Errors
    /// As for [`RunFolder::appender`].
    pub fn confirmation_appender(&self, run: &str) -> Result<Appender<TrialRecord>, RunError> {
        self.later_appender(CONFIRMATION, run)
    }

    fn later_appender<T>(&self, name: &str, run: &str) -> Result<Appender<T>, RunError> {
        let path = self.path.join(name);
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .context("open", &path)?;
        let mut appender = self.at_the_end_of(file, path)?;
        if appender.length == 0 {
            appender.line(&Header {
                format: FORMAT,
                run: run.to_owned(),
            })?;
            self.sync_directory()?;
        }
        Ok(appender)
    }

    /// Takes a file of lines for this process alone and cuts off what a kill left of its last line.
    fn at_the_end_of<T>(&self, mut file: File, path: PathBuf) -> Result<Appender<T>, RunError> {
        if !locked(&file) {
            return Err(RunError::InUse(self.path.clone()));
        }
        let whole = length_of_whole_lines(&mut file).context("read", &path)?;
        file.set_len(whole)
            .context("cut the unfinished line of", &path)?;
        file.seek(SeekFrom::End(0)).context("read", &path)?;
        Ok(Appender {
            file,
            path,
            length: whole,
            records: PhantomData,
        })
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
fn each_line<T: DeserializeOwned>(
    file: File,
    path: &Path,
    mut take: impl FnMut(T),
) -> Result<(), RunError> {
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

/// Appends records of one kind to a file of lines.
#[derive(Debug)]
pub struct Appender<T> {
    file: File,
    path: PathBuf,
    length: u64,
    records: PhantomData<fn(&T)>,
}

impl<T: Serialize> Appender<T> {
    /// Appends one record and syncs it to the disk.
    ///
    /// # Errors
    /// When it cannot be written, for example on a full disk; then the file is as before.
    pub fn append(&mut self, record: &T) -> Result<(), RunError> {
        self.line(record)
    }
}

impl<T> Appender<T> {
    fn line(&mut self, record: &impl Serialize) -> Result<(), RunError> {
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
        1..FORMAT => Err(RunError::OlderFormat {
            path: path.to_owned(),
            found,
            known: FORMAT,
        }),
        FORMAT => Ok(()),
        _ => Err(RunError::NewerFormat {
            path: path.to_owned(),
            found,
            known: FORMAT,
        }),
    }
}

/// Takes a lock for this process alone; false where another process keeps it.
///
/// It is asked for again for a while: a process that is being started holds copies of this one's handles
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
mod tests {
    use super::*;
    use lab::design::Role;
    use lab::experiment::Scale;
    use lab::seed::Seed;
    use lab::trial::Outcome;

    fn plan() -> RunPlan {
        RunPlan {
            format: FORMAT,
            id: "test".to_owned(),
            created: crate::now(),
            pragmark: "0".to_owned(),
            seed: Seed(1),
            scale: Scale::Quick,
            engine: "default".to_owned(),
            quick: true,
            trial_limit_s: 60.0,
            budget_s: None,
            tiers: None,
            postgres_given: false,
            experiments: Vec::new(),
        }
    }

    fn environment() -> EnvironmentFile {
        EnvironmentFile {
            format: FORMAT,
            machine: Default::default(),
            engines: Vec::new(),
            noise: None,
        }
    }

    fn trial(round: u32) -> TrialRecord {
        TrialRecord {
            experiment: "made-up".to_owned(),
            round,
            block: 0,
            position: 0,
            variant: "index=after".to_owned(),
            role: Role::Variant,
            started: crate::now(),
            wall_s: 0.5,
            covariates: Default::default(),
            outcome: Outcome::Skipped {
                why: "as told".to_owned(),
            },
        }
    }

    fn read(folder: &RunFolder) -> Vec<TrialRecord> {
        let mut trials = Vec::new();
        folder.each_trial(|trial| trials.push(trial)).unwrap();
        trials
    }

    #[test]
    fn what_is_written_is_read_back() {
        let parent = tempfile::tempdir().unwrap();
        let folder =
            RunFolder::create(&parent.path().join("run"), &plan(), &environment()).unwrap();
        let mut appender = folder.appender().unwrap();
        appender.append(&trial(0)).unwrap();
        appender.append(&trial(1)).unwrap();
        let folder = RunFolder::open(folder.path()).unwrap();
        assert_eq!(folder.plan().unwrap().id, "test");
        assert_eq!(folder.environment().unwrap().format, FORMAT);
        assert_eq!(read(&folder).len(), 2);
    }

    #[test]
    fn a_line_cut_short_at_any_byte_is_dropped_and_overwritten() {
        let parent = tempfile::tempdir().unwrap();
        let folder =
            RunFolder::create(&parent.path().join("run"), &plan(), &environment()).unwrap();
        let outcomes = folder.path().join(OUTCOMES);
        folder.appender().unwrap().append(&trial(0)).unwrap();
        let one = fs::read(&outcomes).unwrap();
        folder.appender().unwrap().append(&trial(1)).unwrap();
        let two = fs::read(&outcomes).unwrap();
        for cut in one.len()..two.len() {
            fs::write(&outcomes, &two[..cut]).unwrap();
            assert_eq!(read(&folder).len(), 1, "cut at {cut}");
            folder.appender().unwrap().append(&trial(1)).unwrap();
            assert_eq!(
                read(&folder)
                    .iter()
                    .map(|trial| trial.round)
                    .collect::<Vec<_>>(),
                [0, 1]
            );
        }
    }

    #[test]
    fn a_damaged_line_is_named_by_file_and_number() {
        let parent = tempfile::tempdir().unwrap();
        let folder =
            RunFolder::create(&parent.path().join("run"), &plan(), &environment()).unwrap();
        let outcomes = folder.path().join(OUTCOMES);
        let mut text = fs::read(&outcomes).unwrap();
        text.extend(b"{\"experiment\": 1}\n");
        fs::write(&outcomes, text).unwrap();
        let error = folder.each_trial(|_| {}).unwrap_err().to_string();
        assert!(
            error.contains("outcomes.jsonl") && error.contains("line 2"),
            "{error}"
        );
    }

    #[test]
    fn two_processes_cannot_append_to_one_record() {
        let parent = tempfile::tempdir().unwrap();
        let folder =
            RunFolder::create(&parent.path().join("run"), &plan(), &environment()).unwrap();
        let _first = folder.appender().unwrap();
        assert!(matches!(folder.appender(), Err(RunError::InUse(_))));
    }

    #[test]
    fn a_folder_in_use_a_missing_run_and_another_format_are_refused() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("run");
        assert!(matches!(RunFolder::open(&path), Err(RunError::NoRun(_))));
        let folder = RunFolder::create(&path, &plan(), &environment()).unwrap();
        assert!(matches!(
            RunFolder::create(&path, &plan(), &environment()),
            Err(RunError::Exists(_))
        ));
        let newer = RunPlan {
            format: FORMAT + 1,
            ..plan()
        };
        write_json(&path.join(PLAN), &newer).unwrap();
        assert!(matches!(folder.plan(), Err(RunError::NewerFormat { .. })));
        let older = RunPlan {
            format: FORMAT - 1,
            ..plan()
        };
        write_json(&path.join(PLAN), &older).unwrap();
        assert!(matches!(folder.plan(), Err(RunError::OlderFormat { .. })));
    }

    fn tier(synchronous: &str) -> TierRecord {
        TierRecord {
            set: lab::tier::TierSet {
                engine: "default".to_owned(),
                settings: [("synchronous".to_owned(), synchronous.into())].into(),
            },
            started: crate::now(),
            wall_s: 0.5,
            outcome: Outcome::TimedOut { limit_s: 1.0 },
        }
    }

    fn tiers(folder: &RunFolder) -> Vec<String> {
        let mut tiers = Vec::new();
        let take = |record: TierRecord| tiers.push(record.set.to_string());
        folder.each_tier(take).unwrap();
        tiers
    }

    #[test]
    fn tiers_are_appended_and_a_run_without_any_has_none() {
        let parent = tempfile::tempdir().unwrap();
        let folder =
            RunFolder::create(&parent.path().join("run"), &plan(), &environment()).unwrap();
        assert!(tiers(&folder).is_empty());
        let mut first = folder.tier_appender("test").unwrap();
        first.append(&tier("off")).unwrap();
        assert!(matches!(
            folder.tier_appender("test"),
            Err(RunError::InUse(_))
        ));
        drop(first);
        folder
            .tier_appender("test")
            .unwrap()
            .append(&tier("full"))
            .unwrap();
        assert_eq!(tiers(&folder), ["synchronous=off", "synchronous=full"]);
    }

    #[test]
    fn a_record_of_tiers_cut_short_at_any_byte_goes_on() {
        let parent = tempfile::tempdir().unwrap();
        let folder =
            RunFolder::create(&parent.path().join("run"), &plan(), &environment()).unwrap();
        let append = |record: &TierRecord| {
            folder
                .tier_appender("test")
                .unwrap()
                .append(record)
                .unwrap();
        };
        append(&tier("off"));
        let path = folder.path().join(TIERS);
        let whole = fs::read(&path).unwrap();
        for cut in 0..whole.len() {
            fs::write(&path, &whole[..cut]).unwrap();
            assert!(tiers(&folder).is_empty(), "cut at {cut}");
            append(&tier("full"));
            assert_eq!(tiers(&folder), ["synchronous=full"], "cut at {cut}");
        }
    }
}

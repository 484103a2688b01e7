//! Losses under a plan, with the witnesses written to files.
//!
//! Leaves the trail of a crash trial in its directory, so that the crash image is known with which an engine ends the
//! process, and ends a process in which an engine hangs.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

use crash::{
    Cell, CrashError, EndedAt, Isolation, Matrix, Model, Plan, RecoveryObserver, ScriptSummary,
};
use lab::tier::{Counts, ModelSafety, RECOVERY_LOG, RecoveryLog, Schedules};
use lab::trial::Artifact;

use super::own::{self, Own};
use crate::error::{Result, TrialError};

/// The result of a plan.
pub(super) struct Findings {
    /// Under each model.
    pub(super) safety: Vec<ModelSafety>,
    /// The images judged in all.
    pub(super) judged: u64,
    /// The result of a script.
    pub(super) own: Option<ScriptSummary>,
    /// The witnesses.
    pub(super) artifacts: Vec<Artifact>,
    /// Damage that the engine did before any crash.
    pub(super) damage: Option<Schedules>,
}

/// Looks at the images of the plan. `own` is where the plan's script comes from; witnesses are written to
/// `folder`, if anywhere.
pub(super) fn measure(plan: &Plan, own: Option<&Own>, folder: Option<&Path>) -> Result<Findings> {
    let matrix = match crash::measure(plan) {
        Err(CrashError::Damaged(what)) => return Ok(Findings::damaged(plan, what)),
        measured => measured.map_err(trial_error)?,
    };
    let artifacts = folder.map(|folder| witnesses(&matrix, plan, folder)).transpose()?;
    Ok(Findings {
        safety: safety(&matrix, plan, own),
        judged: matrix.images,
        own: matrix.own,
        artifacts: artifacts.unwrap_or_default(),
        damage: None,
    })
}

impl Findings {
    /// Returns what is known of an engine that damages a database before any crash.
    fn damaged(plan: &Plan, what: String) -> Findings {
        let variant = &plan.variants[0];
        let why = "the engine damages a database without a crash";
        let unknown = |model: &Model| {
            let (accident, assumed) = (model.accident(), variant.assumes(*model));
            ModelSafety::not_measured(model.name(), accident, assumed, why)
        };
        let again = own::command(variant, plan.models[0].name(), plan, "");
        Findings {
            safety: plan.models.iter().map(unknown).collect(),
            judged: 0,
            own: None,
            artifacts: Vec::new(),
            damage: Some(Schedules::Alone { what, again }),
        }
    }
}

/// Returns the safety under each model, with the commands that make its witnesses of corruption again.
fn safety(matrix: &Matrix, plan: &Plan, own: Option<&Own>) -> Vec<ModelSafety> {
    let options = own.map_or("", |own| &own.options);
    let with_commands = |cell: &Cell| {
        let command = || own::command(&cell.variant, cell.model.name(), plan, options);
        let mut safety = cell.safety.clone();
        let corrupts = |counts: Counts| counts.corrupt > 0;
        safety.again = safety.ordinary.counts().is_some_and(corrupts).then(command);
        for on in &mut safety.occasions {
            on.again = corrupts(on.counts).then(command);
        }
        safety
    };
    matrix.cells.iter().map(with_commands).collect()
}

/// Writes the witnesses.
fn witnesses(matrix: &Matrix, plan: &Plan, folder: &Path) -> Result<Vec<Artifact>> {
    let written =
        crash::write_witnesses(matrix, plan.initial.as_ref(), folder).map_err(trial_error)?;
    let written = written.into_iter();
    Ok(written
        .map(|(name, cell)| Artifact {
            path: name.into(),
            about: format!(
                "a database that a crash left under the storage model {}, with a script that shows its damage",
                cell.model
            ),
        })
        .collect())
}

/// An engine that lacks what the laboratory needs cannot run the variant; anything else is a failure.
fn trial_error(error: CrashError) -> TrialError {
    match error {
        CrashError::Engine(error) => TrialError::Engine(error),
        // No violation, and no failure of the settings either.
        CrashError::Workload(_) => TrialError::CannotRun(error.to_string()),
        other => TrialError::Measuring(other.to_string()),
    }
}

/// How long no recovery may begin until the engine counts as hanging: each takes milliseconds, and seconds on large
/// databases.
const END_TIMEOUT: Duration = Duration::from_secs(60);

/// The trail while recoveries are under way; the file is removed with it.
pub(super) struct Trailed {
    path: PathBuf,
    /// Messages of the crash laboratory.
    pub(super) isolation: Isolation,
    /// Dropped with the trail, which ends the watch for engines that hang.
    _ended: Sender<()>,
}

/// The file, and how many recoveries have begun.
#[derive(Debug)]
struct TrailFile {
    file: File,
    begun: AtomicU64,
}

impl RecoveryObserver for TrailFile {
    fn begins(&self, number: u64) {
        self.begun.fetch_add(1, Ordering::Relaxed);
        // Without a trail an engine that ends the process is a trial without an outcome, and nothing else is lost.
        let _ = self.file.write_all_at(RecoveryLog::line(number).as_bytes(), 0);
    }
}

impl Trailed {
    /// Begins the trail in the directory of a trial. If there is one, an earlier process ended where it says.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(super) fn begin(directory: &Path, models: &[Model]) -> Result<Trailed> {
        let path = directory.join(RECOVERY_LOG);
        let earlier = std::fs::read_to_string(&path).unwrap_or_default();
        let earlier: Option<RecoveryLog> = earlier.parse().ok();
        let trail = RecoveryLog {
            models: models.iter().map(|model| model.name().to_owned()).collect(),
            ..RecoveryLog::default()
        };
        let file = write(&path, &trail).map_err(TrialError::io("write", &path))?;
        let file = Arc::new(TrailFile { file, begun: AtomicU64::new(0) });
        let isolation = Isolation {
            watch: Some(file.clone()),
            ended: earlier.and_then(|it| {
                let (how, recovery) = (it.ended?, it.recovery);
                Some(EndedAt { recovery, how })
            }),
        };
        let _ended = end_where_nothing_moves(file, path.clone(), trail);
        Ok(Trailed { path, isolation, _ended })
    }
}

impl Drop for Trailed {
    fn drop(&mut self) {
        // Left behind, it would say that the engine ended the process, which the outcome contradicts.
        let _ = std::fs::remove_file(&self.path);
    }
}

fn write(path: &Path, trail: &RecoveryLog) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(true).open(path)?;
    file.write_all(trail.to_string().as_bytes())?;
    Ok(file)
}

/// Watches recoveries until the sender is dropped. Where none begins for too long, that is noted and the process
/// ended, because a thread that hangs within the engine cannot be ended otherwise.
fn end_where_nothing_moves(file: Arc<TrailFile>, path: PathBuf, trail: RecoveryLog) -> Sender<()> {
    let (sender, ended) = channel::<()>();
    std::thread::spawn(move || {
        let mut before = None;
        while ended.recv_timeout(END_TIMEOUT) == Err(RecvTimeoutError::Timeout) {
            let now = file.begun.load(Ordering::Relaxed);
            if now > 0 && before == Some(now) {
                hangs(&path, trail);
            }
            before = Some(now);
        }
    });
    sender
}

/// Notes that the engine hangs, and ends the process.
fn hangs(path: &Path, trail: RecoveryLog) -> ! {
    let so_far = std::fs::read_to_string(path).unwrap_or_default();
    let so_far: RecoveryLog = so_far.parse().unwrap_or(trail);
    let how = format!("it did not end within {} s", END_TIMEOUT.as_secs());
    let ended = RecoveryLog { ended: Some(how), ..so_far };
    let _ = write(path, &ended);
    std::process::abort()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trail_names_the_recovery_under_way_and_is_gone_when_all_have_ended() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(RECOVERY_LOG);
        let trailed = Trailed::begin(directory.path(), &[Model::Kill, Model::Torn]).unwrap();
        assert_eq!(trailed.isolation.ended, None);
        trailed.isolation.watch.as_ref().unwrap().begins(41);
        let left = std::fs::read_to_string(&path).unwrap();
        let left: RecoveryLog = left.parse().unwrap();
        assert_eq!((left.recovery, left.models.len()), (41, 2));
        drop(trailed);
        assert!(!path.exists());

        let ended = RecoveryLog { ended: Some("signal 11".to_owned()), ..left };
        std::fs::write(&path, ended.to_string()).unwrap();
        let again = Trailed::begin(directory.path(), &[Model::Kill]).unwrap();
        let how = "signal 11".to_owned();
        let at = EndedAt { recovery: 41, how };
        assert_eq!(again.isolation.ended, Some(at));
    }
}

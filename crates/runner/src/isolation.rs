//! Crash trials whose engine ends the process or hangs. The other storage models are still tried, and the crash image
//! that ended the process is a violation.
//!
//! A trial leaves a [`RecoveryLog`] in its directory while its engine recovers images. If it is still there after the
//! process, each model is tried in a process of its own, and where that ends, too, once more up to the same image.

use lab::tier::{RECOVERY_LOG, RecoveryLog, Schedules};
use lab::trial::{Measured, Outcome, TrialSpec};
use std::fs;
use std::path::Path;

use crate::error::{Context, Result};
use crate::process::TrialRun;

/// Returns the trail that a process left in the directory of its trial, if it ended while it recovered an image.
pub(crate) fn left_in(directory: &Path) -> Option<RecoveryLog> {
    fs::read_to_string(directory.join(RECOVERY_LOG)).ok()?.parse().ok()
}

impl TrialRun<'_> {
    /// Tries the models of a trail one by one; `None` if it was cancelled. `why` tells how the process of all models
    /// ended.
    pub(crate) fn run_by_models(
        &mut self,
        spec: &TrialSpec,
        trail: &RecoveryLog,
        why: &str,
    ) -> Result<Option<Outcome>> {
        let mut all = Vec::new();
        for (number, model) in trail.models.iter().enumerate() {
            let mut spec = spec.clone();
            let mut set = |name: &str, level| spec.settings.insert(name.to_owned(), level);
            set("models", model.as_str().into());
            set("crash_threads", 1.into());
            // They come before the first recovery, and once is enough.
            if trail.recovery == 0 || number > 0 {
                set("schedules", 0.into());
            }
            match self.of_model(&spec)? {
                Some(Outcome::Measured(measured)) => all.push(*measured),
                other => return Ok(other),
            }
        }
        Ok(joined(all, trail, why).map(|all| Outcome::Measured(Box::new(all))))
    }

    /// One model, if need be up to the image that ends the process.
    fn of_model(&mut self, spec: &TrialSpec) -> Result<Option<Outcome>> {
        let first = self.trial(spec, None)?;
        let Some(Outcome::Failed { why, .. }) = &first else { return Ok(first) };
        // Something else ended the process: the system for want of memory, or somebody. No engine sends itself SIGKILL, and one
        // that hangs is ended by an abort.
        if why.ends_with("(signal 9)") {
            return Ok(first);
        }
        match left_in(&spec.directory).filter(|trail| trail.recovery > 0) {
            Some(trail) => {
                let how = trail.ended.clone().unwrap_or_else(|| why.clone());
                let ended = RecoveryLog { ended: Some(how), ..trail };
                self.trial(spec, Some(ended))
            }
            None => Ok(first),
        }
    }

    /// Returns a trial in its directory, in which there is only the trail.
    fn trial(&mut self, spec: &TrialSpec, trail: Option<RecoveryLog>) -> Result<Option<Outcome>> {
        let directory = &spec.directory;
        fs::remove_dir_all(directory).context("remove", directory)?;
        fs::create_dir(directory).context("create", directory)?;
        if let Some(trail) = trail {
            let path = directory.join(RECOVERY_LOG);
            fs::write(&path, trail.to_string()).context("write", &path)?;
        }
        self.run(spec)
    }
}

/// Returns the measurements of single models as one.
fn joined(all: Vec<Measured>, trail: &RecoveryLog, why: &str) -> Option<Measured> {
    let mut all = all.into_iter();
    let mut joined = all.next()?;
    for other in all {
        joined.safety.extend(other.safety);
        joined.artifacts.extend(other.artifacts);
        joined.tables.extend(other.tables);
        for name in ["images", "bad_images", "losing_images"] {
            let more = other.metrics.get(name).copied().unwrap_or_default();
            *joined.metrics.entry(name.to_owned()).or_default() += more;
        }
        let most = other.metrics.get("lost_commits").copied();
        let lost = joined.metrics.entry("lost_commits".to_owned()).or_default();
        *lost = lost.max(most.unwrap_or_default());
    }
    if trail.recovery == 0 {
        joined.schedules = Some(Schedules::NotMeasured { why: why.to_owned() });
    }
    Some(joined)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::Driver;
    use std::sync::atomic::AtomicBool;
    use std::time::Duration;

    /// A driver that ends by a signal in the recovery of `torn`, unless it is told in which it ended.
    const SCRIPT: &str = r#"read spec
directory=$(printf %s "$spec" | sed 's/.*"directory":"\([^"]*\)".*/\1/')
trail=$directory/recoveries.trail
model=$(printf %s "$spec" | sed 's/.*"models":"\([^"]*\)".*/\1/')
case $model$(tail -n +3 "$trail" 2>/dev/null) in
all | torn)
    printf '%020d\nkill,torn\n' 7 > "$trail"
    kill -SEGV $$;;
esac
[ ! -e "$trail" ] || images=$(head -1 "$trail" | sed 's/^0*//')
rm -f "$trail"
echo '{"outcome":{"measured":{"metrics":{"images":'${images:-100}'},"engine":{"version":"","source_id":""}}}}'"#;

    #[test]
    fn models_go_on_by_themselves_and_the_one_that_ends_the_process_up_to_its_image() {
        let parent = tempfile::tempdir().unwrap();
        let directory = parent.path().join("trial");
        fs::create_dir(&directory).unwrap();
        let settings = [("models", "all".into()), ("schedules", 20.into())];
        let spec = TrialSpec {
            protocol: lab::trial::PROTOCOL,
            workload: lab::tier::WORKLOAD.to_owned(),
            settings: settings.map(|(name, level)| (name.to_owned(), level)).into(),
            engine: "default".to_owned(),
            directory: directory.clone(),
            seed: 1,
            counting: false,
            binding: None,
            postgres: None,
            confined: false,
            tests_open: false,
            artifacts: None,
        };
        let driver = Driver {
            program: "/bin/sh".into(),
            arguments: vec!["-c".into(), SCRIPT.into()],
            bindings: None,
        };
        let (limit, never) = (Duration::from_secs(20), AtomicBool::new(false));
        let mut running =
            TrialRun { driver: &driver, limit, cancelled: &never, on_phase: &mut |_| {} };
        let first = running.run(&spec).unwrap();
        let Some(Outcome::Failed { why, .. }) = first else {
            panic!("{first:?}");
        };
        let trail = left_in(&directory).unwrap();
        let outcome = running.run_by_models(&spec, &trail, &why).unwrap();
        let Some(Outcome::Measured(measured)) = outcome else {
            panic!("{outcome:?}");
        };
        // All 100 images of one model, and the 7 of the other up to the one that ended the process.
        assert_eq!(measured.metrics["images"], 107.0);
        assert_eq!(left_in(&directory), None);
    }
}

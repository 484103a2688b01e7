//! Passes over the storage models: one with all images, or several with more and more of them.

use std::path::Path;
use std::time::{Duration, Instant};

use crash::{Cell, CrashError, Matrix, Plan, Progress};
use lab::tier::{Counts, ModelSafety, merged};
use lab::trial::Artifact;

use super::again;
use crate::error::TrialError;

/// Images of the first pass under a time limit.
const FIRST: usize = 60;
/// How many times as many images the next pass has at most, and at least: a pass that is hardly
/// larger than the last one would find nothing new.
const GROWTH: f64 = 4.0;
const LEAST_GROWTH: f64 = 1.5;
/// The part of the time left that the next pass is planned to take.
const MARGIN: f64 = 0.85;

/// What the passes have found.
#[derive(Default)]
pub(super) struct Findings {
    /// Under each model.
    pub(super) safety: Vec<ModelSafety>,
    /// The images judged in all.
    pub(super) judged: u64,
    /// The witnesses of the last pass.
    pub(super) artifacts: Vec<Artifact>,
}

/// Looks at the images of the plan, or at as many as the time allows (in milliseconds; 0 for no
/// limit). `script` is where the plan's script comes from; witnesses are written to `folder`, if anywhere.
///
/// What a pass has found is not forgotten when a larger one happens to miss it.
pub(super) fn measure(
    plan: Plan,
    script: Option<&Path>,
    stop_after_ms: usize,
    folder: Option<&Path>,
) -> Result<Findings, TrialError> {
    let begin = Instant::now();
    let limit = Duration::from_millis(stop_after_ms as u64);
    let wanted = plan.images;
    let mut images = match stop_after_ms {
        0 => wanted,
        _ => wanted.min(FIRST),
    };
    let mut found = Findings::default();
    loop {
        let clock = Instant::now();
        let plan = Plan {
            images,
            ..plan.clone()
        };
        let matrix = crash::measure(&plan, &Progress::default()).map_err(trial_error)?;
        found.judged += matrix.images;
        let safety = safety(&matrix, &plan, script);
        found.safety = merged(found.safety, safety);
        if let Some(folder) = folder {
            found.artifacts = witnesses(&matrix, folder)?;
        }
        let left = limit.saturating_sub(begin.elapsed());
        match next(images, wanted, clock.elapsed(), left) {
            Some(more) => images = more,
            None => return Ok(found),
        }
    }
}

/// What a pass has found, with the commands that make its witnesses of corruption again.
fn safety(matrix: &Matrix, plan: &Plan, script: Option<&Path>) -> Vec<ModelSafety> {
    let with_commands = |cell: &Cell| {
        let command = || again::command(&cell.variant, cell.model.name(), plan, script);
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

/// Writes the witnesses of a pass.
fn witnesses(matrix: &Matrix, folder: &Path) -> Result<Vec<Artifact>, TrialError> {
    let written = crash::write_witnesses(matrix, folder).map_err(trial_error)?;
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

/// Images of the next pass; none where there is no next one.
fn next(images: usize, wanted: usize, took: Duration, left: Duration) -> Option<usize> {
    if images >= wanted {
        return None;
    }
    let fits = MARGIN * left.as_secs_f64() / took.as_secs_f64().max(1e-6);
    let growth = fits.min(GROWTH);
    (growth >= LEAST_GROWTH).then(|| wanted.min((images as f64 * growth) as usize))
}

/// An engine that lacks what the laboratory needs cannot run the variant; anything else is a failure.
fn trial_error(error: CrashError) -> TrialError {
    match error {
        CrashError::Engine(error) => TrialError::Engine(error),
        other => TrialError::Measuring(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(seconds: f64) -> Duration {
        Duration::from_secs_f64(seconds)
    }

    #[test]
    fn passes_grow_as_long_as_time_allows() {
        assert_eq!(next(100, 10_000, seconds(0.1), seconds(10.0)), Some(400));
        assert_eq!(next(100, 10_000, seconds(1.0), seconds(2.0)), Some(170));
        assert_eq!(next(100, 10_000, seconds(1.0), seconds(1.5)), None);
        assert_eq!(next(100, 10_000, seconds(1.0), Duration::ZERO), None);
    }

    #[test]
    fn no_pass_has_more_images_than_wanted() {
        assert_eq!(next(100, 250, seconds(0.1), seconds(10.0)), Some(250));
        assert_eq!(next(250, 250, seconds(0.1), seconds(10.0)), None);
    }
}

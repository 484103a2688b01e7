//! Losses under a plan, with the witnesses written to files.

use std::path::Path;

use crash::{Cell, CrashError, Matrix, Model, Plan, Progress, ScriptSummary};
use lab::tier::{Counts, ModelSafety, Schedules};
use lab::trial::Artifact;

use super::own;
use super::own::Own;
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
    let matrix = match crash::measure(plan, &Progress::default()) {
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

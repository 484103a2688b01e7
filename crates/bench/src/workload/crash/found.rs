//! What was found under one storage model, in the vocabulary of tiers.

use crash::{Cell, CrashSettings, Plan};
use lab::tier::{Class, ModelSafety};
use lab::trial::DataTable;

use super::engine_name;

/// What a cell of the matrix says, with the command that makes its witness again.
pub(super) fn of(cell: &Cell, plan: &Plan) -> ModelSafety {
    let corrupts = cell.safety.tier.class() == Some(Class::CanCorrupt);
    ModelSafety {
        again: corrupts.then(|| command(&cell.variant, cell.model.name(), plan)),
        ..cell.safety.clone()
    }
}

/// The command that makes the same image again and writes it to disk.
fn command(variant: &CrashSettings, model: &str, plan: &Plan) -> String {
    format!(
        "pragmark crash --journal-mode {} --synchronous {} --locking-mode {} --page-size {}{} --model {model} --images {} --seed {} --engine {} --out witness",
        variant.journal_mode,
        variant.synchronous,
        variant.locking_mode,
        variant.page_size,
        if variant.powersafe_overwrite {
            ""
        } else {
            " --psow 0"
        },
        plan.images,
        plan.seed.0,
        engine_name(&plan.engine)
    )
}

/// The witnesses of corruption; none where there is none.
pub(super) fn witnesses(found: &[ModelSafety]) -> Option<DataTable> {
    let rows: Vec<Vec<String>> = found
        .iter()
        .filter_map(|found| {
            Some(vec![
                found.model.clone(),
                found.tier.to_string(),
                found.witness.clone()?,
                found.again.clone()?,
            ])
        })
        .collect();
    (!rows.is_empty()).then(|| DataTable {
        title: "witnesses of what a crash can destroy".to_owned(),
        columns: ["storage model", "found", "witness", "to write it to disk"]
            .map(str::to_owned)
            .into(),
        rows,
    })
}

//! What was found under one storage model, in the vocabulary of tiers.

use crash::{Cell, Plan, Variant, Verdict, Witness as Image, describe};
use lab::tier::{Documented, ModelSafety, Narrowed, Tier};
use lab::trial::DataTable;

use super::engine_name;

/// What a cell of the matrix says.
pub(super) fn of(cell: &Cell, plan: &Plan) -> ModelSafety {
    let corrupts = matches!(cell.verdict, Verdict::CanCorrupt { .. });
    ModelSafety {
        model: cell.model.name().to_owned(),
        assumed: cell.variant.assumes(cell.model),
        tier: tier(&cell.verdict),
        documented: Some(Documented {
            promise: cell.expected.promise,
            says: cell.expected.says.to_owned(),
            source: cell.expected.source.to_owned(),
        }),
        witness: cell.witness.as_ref().map(described),
        again: corrupts.then(|| command(&cell.variant, cell.model.name(), plan)),
        narrowed: cell.narrowed.as_ref().map(|narrowed| Narrowed {
            only: narrowed.only.iter().map(ToString::to_string).collect(),
            otherwise: tier(&narrowed.otherwise),
        }),
        cause: cell.cause.map(str::to_owned),
    }
}

fn tier(verdict: &Verdict) -> Tier {
    match verdict {
        Verdict::NoViolation { images } => Tier::of_counts(*images, 0, 0, 0),
        Verdict::LosesCommits {
            losing,
            images,
            most,
        } => Tier::of_counts(*images, 0, *losing, *most),
        Verdict::CanCorrupt { violations, images } => Tier::of_counts(*images, *violations, 0, 0),
        Verdict::NotMeasured { reason } => Tier::not_measured(reason),
    }
}

/// `crash after step 214, 12 commits acknowledged, 1 fault: …`.
fn described(image: &Image) -> String {
    let plural = |count: usize, one: &str| match count {
        1 => format!("1 {one}"),
        many => format!("{many} {one}s"),
    };
    let what = match &image.violation {
        Some(violation) => describe(violation),
        None => format!("{} missing", plural(image.lost, "commit")),
    };
    format!(
        "crash after step {}{}, {} acknowledged, {}: {what}",
        image.cut,
        match image.second_crash {
            true => " and again during recovery",
            false => "",
        },
        plural(image.acknowledged, "commit"),
        plural(image.faults, "fault"),
    )
}

/// The command that makes the same image again and writes it to disk.
fn command(variant: &Variant, model: &str, plan: &Plan) -> String {
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

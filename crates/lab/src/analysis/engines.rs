//! Differences between engines: the same settings under the same storage model, with other tiers.
//!
//! Counts are left aside: another version writes in another order, so that images differ where nothing
//! is better or worse.

use serde::Serialize;

use super::VariantAnalysis;
use crate::engine_name::{ENGINE, engine_of, without_engine};
use crate::level::{distinct, label};
use crate::tier::ModelSafety;

/// Settings under a storage model with which engines differ in how bad a crash can be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EngineDifference {
    /// The settings.
    pub settings: String,
    /// The storage model.
    pub model: String,
    /// The engines with what was found, in the order of the variants.
    pub found: Vec<(String, ModelSafety)>,
}

/// Returns the differences between the engines of variants that have the same settings otherwise.
pub(super) fn engine_differences(variants: &[VariantAnalysis]) -> Vec<EngineDifference> {
    let mut differences = Vec::new();
    for (index, first) in variants.iter().enumerate() {
        let settings = without_engine(&first.levels);
        let same = |variant: &&VariantAnalysis| without_engine(&variant.levels) == settings;
        if !first.levels.contains_key(ENGINE)
            || variants[..index].iter().any(|variant| same(&variant))
        {
            continue;
        }
        let engines: Vec<&VariantAnalysis> = variants[index..].iter().filter(same).collect();
        for model in models(&engines) {
            let found = engines.iter().filter_map(|variant| {
                let engine = engine_of(&variant.levels, "default");
                Some((engine, of_model(variant, model)?.clone()))
            });
            let found: Vec<(String, ModelSafety)> = found.collect();
            let losses = |safety: &ModelSafety| (safety.ordinary.loss(), safety.worst());
            let all = || found.iter().map(|(_, safety)| losses(safety));
            if all().any(|losses| Some(losses) != all().next()) {
                differences.push(EngineDifference {
                    settings: label(&settings),
                    model: model.to_owned(),
                    found,
                });
            }
        }
    }
    differences
}

/// Returns the storage models under which at least one of the variants was measured.
fn models<'v>(variants: &[&'v VariantAnalysis]) -> Vec<&'v str> {
    let safeties = variants.iter().filter_map(|variant| variant.safety.as_ref());
    let models = safeties.flat_map(|safety| &safety.models);
    distinct(models.map(|model| model.model.as_str()))
}

fn of_model<'v>(variant: &'v VariantAnalysis, model: &str) -> Option<&'v ModelSafety> {
    variant.safety.as_ref()?.models.iter().find(|found| found.model == model)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::level::Settings;
    use crate::tier::{Accident, Counts, Losses, Safety};

    fn measured(model: &str, counts: Counts) -> ModelSafety {
        ModelSafety {
            ordinary: Losses::of(counts),
            ..ModelSafety::not_measured(model, Accident::Power, true, "")
        }
    }

    fn variant(engine: &str, synchronous: &str, models: &[(&str, Counts)]) -> VariantAnalysis {
        let levels = Settings::from([
            (ENGINE.to_owned(), engine.into()),
            ("synchronous".to_owned(), synchronous.into()),
        ]);
        let models = models.iter().map(|(model, counts)| measured(model, *counts));
        VariantAnalysis {
            safety: Some(Safety::of(models.collect())),
            ..VariantAnalysis::made_up(levels)
        }
    }

    fn clean(images: u64) -> Counts {
        Counts::of(images, 0, 0, 0)
    }

    fn bad() -> Counts {
        Counts::of(9, 1, 0, 0)
    }

    #[test]
    fn an_engine_that_was_not_measured_hides_no_difference_between_the_others() {
        let variants = [
            variant("a", "full", &[]),
            variant("b", "full", &[("torn", clean(9))]),
            variant("c", "full", &[("torn", bad())]),
        ];
        let differences = engine_differences(&variants);
        let engines = differences[0].found.iter().map(|(engine, _)| engine);
        assert_eq!(engines.collect::<Vec<_>>(), ["b", "c"]);
    }

    #[test]
    fn engines_differ_where_their_losses_do_and_not_where_only_counts_do() {
        let variants = [
            variant("a", "full", &[("kill", clean(9)), ("torn", clean(9))]),
            variant("a", "off", &[("kill", bad())]),
            variant("b", "full", &[("kill", clean(8)), ("torn", bad())]),
            variant("b", "off", &[("kill", bad())]),
        ];
        let both = [("a", clean(9)), ("b", bad())];
        let both = both.map(|(engine, counts)| (engine.to_owned(), measured("torn", counts)));
        assert_eq!(
            engine_differences(&variants),
            [EngineDifference {
                settings: "synchronous=full".to_owned(),
                model: "torn".to_owned(),
                found: both.into(),
            }]
        );
        assert_eq!(engine_differences(&variants[..2]), []);
    }
}

//! What differs between engines: the same settings under the same storage model, with other tiers.
//!
//! Counts are left aside: another version writes in another order, so that images differ where nothing
//! is better or worse.

use serde::Serialize;

use super::VariantAnalysis;
use crate::engine_name::{ENGINE, engine_of, without_engine};
use crate::level::{distinct, label};
use crate::tier::{ModelSafety, Tier};

/// Settings under a storage model with which engines differ in how bad a crash can be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EngineDifference {
    /// The settings.
    pub settings: String,
    /// The storage model.
    pub model: String,
    /// The engines with their tiers, in the order of the variants.
    pub tiers: Vec<(String, Tier)>,
}

/// The differences between the engines of variants that have the same settings otherwise.
pub(super) fn engine_differences(variants: &[VariantAnalysis]) -> Vec<EngineDifference> {
    let mut differences = Vec::new();
    for (index, first) in variants.iter().enumerate() {
        let settings = without_engine(&first.levels);
        let same = |variant: &&VariantAnalysis| without_engine(&variant.levels) == settings;
        if !first.levels.contains_key(ENGINE) || variants[..index].iter().any(|it| same(&it)) {
            continue;
        }
        let engines: Vec<&VariantAnalysis> = variants[index..].iter().filter(same).collect();
        for model in models(&engines) {
            let tiers = engines.iter().filter_map(|variant| {
                let engine = engine_of(&variant.levels, "default");
                Some((engine, of_model(variant, model)?.tier.clone()))
            });
            let tiers: Vec<(String, Tier)> = tiers.collect();
            let classes = || tiers.iter().map(|(_, tier)| tier.class());
            if classes().any(|class| Some(class) != classes().next()) {
                differences.push(EngineDifference {
                    settings: label(&settings),
                    model: model.to_owned(),
                    tiers,
                });
            }
        }
    }
    differences
}

/// The storage models under which at least one of the variants was measured.
fn models<'v>(variants: &[&'v VariantAnalysis]) -> Vec<&'v str> {
    let safeties = variants.iter().filter_map(|it| it.safety.as_ref());
    let models = safeties.flat_map(|safety| &safety.models);
    distinct(models.map(|model| model.model.as_str()))
}

fn of_model<'v>(variant: &'v VariantAnalysis, model: &str) -> Option<&'v ModelSafety> {
    let safety = variant.safety.as_ref()?;
    safety.models.iter().find(|found| found.model == model)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::level::Settings;
    use crate::tier::Safety;

    fn variant(engine: &str, synchronous: &str, tiers: &[(&str, Tier)]) -> VariantAnalysis {
        let levels = Settings::from([
            (ENGINE.to_owned(), engine.into()),
            ("synchronous".to_owned(), synchronous.into()),
        ]);
        let models = tiers.iter().map(|(model, tier)| ModelSafety {
            model: (*model).to_owned(),
            assumed: true,
            tier: tier.clone(),
            adds_up: false,
            documented: None,
            witness: None,
            again: None,
            narrowed: None,
            cause: None,
        });
        VariantAnalysis {
            safety: Some(Safety::of(models.collect())),
            ..VariantAnalysis::made_up(levels)
        }
    }

    #[test]
    fn an_engine_that_was_not_measured_hides_no_difference_between_the_others() {
        let (clean, bad) = (Tier::of_counts(9, 0, 0, 0), Tier::of_counts(9, 1, 0, 0));
        let variants = [
            variant("a", "full", &[]),
            variant("b", "full", &[("torn", clean)]),
            variant("c", "full", &[("torn", bad)]),
        ];
        let differences = engine_differences(&variants);
        let engines = differences[0].tiers.iter().map(|(engine, _)| engine);
        assert_eq!(engines.collect::<Vec<_>>(), ["b", "c"]);
    }

    #[test]
    fn engines_differ_where_their_tiers_do_and_not_where_only_counts_do() {
        let (clean, other) = (Tier::of_counts(9, 0, 0, 0), Tier::of_counts(8, 0, 0, 0));
        let bad = Tier::of_counts(9, 1, 0, 0);
        let variants = [
            variant(
                "a",
                "full",
                &[("kill", clean.clone()), ("torn", clean.clone())],
            ),
            variant("a", "off", &[("kill", bad.clone())]),
            variant("b", "full", &[("kill", other), ("torn", bad.clone())]),
            variant("b", "off", &[("kill", bad.clone())]),
        ];
        let both = |tier: [Tier; 2]| {
            ["a", "b"]
                .map(str::to_owned)
                .into_iter()
                .zip(tier)
                .collect()
        };
        assert_eq!(
            engine_differences(&variants),
            [EngineDifference {
                settings: "synchronous=full".to_owned(),
                model: "torn".to_owned(),
                tiers: both([clean, bad]),
            }]
        );
        assert_eq!(engine_differences(&variants[..2]), []);
    }
}

//! What differs between engines: the same settings under the same storage model, with other tiers.
//!
//! Counts are left aside: another version writes in another order, so that images differ where nothing
//! is better or worse.

use serde::Serialize;

use super::VariantAnalysis;
use crate::engine_name::{ENGINE, engine_of, without_engine};
use crate::level::label;
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
        for model in first.safety.iter().flat_map(|safety| &safety.models) {
            let tiers = engines.iter().filter_map(|variant| {
                let engine = engine_of(&variant.levels, "default");
                Some((engine, of_model(variant, &model.model)?.tier.clone()))
            });
            let tiers: Vec<(String, Tier)> = tiers.collect();
            if tiers
                .iter()
                .any(|(_, tier)| tier.class() != model.tier.class())
            {
                differences.push(EngineDifference {
                    settings: label(&settings),
                    model: model.model.clone(),
                    tiers,
                });
            }
        }
    }
    differences
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

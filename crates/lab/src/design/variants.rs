//! From factors to variants.

use std::borrow::Borrow;
use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};

use crate::catalogue::{Catalogue, Scope};
use crate::experiment::{DesignKind, Experiment, Scale, UpperBoundFile, VariantName};
use crate::level::{Settings, contains, label, levels_over, overlaid, picked};
use crate::target;

/// One assignment of levels.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Variant {
    /// Its identity within the experiment: the levels of its factors.
    pub label: String,
    /// Its name in people's words, where the experiment gives one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Recommended action if it is the best, if the experiment gives one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// The level of each factor.
    pub levels: Settings,
    /// Everything that holds in its trials: defaults, base, scale, adjustments and levels.
    pub settings: Settings,
}

impl Variant {
    /// Returns its name in people's words, or its levels.
    pub fn name_or_label(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.label)
    }
}

/// Something that bounds what the variants can reach, measured in the same blocks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UpperBound {
    /// Its name within the experiment.
    pub label: String,
    /// The task, in words.
    pub says: String,
    /// The workload.
    pub workload: String,
    /// Everything that holds in its trials.
    pub settings: Settings,
}

/// Why a set of levels does not name a variant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VariantsError {
    /// No variant holds these levels.
    #[error("no variant has {0}")]
    None(String),
    /// Several variants hold these levels.
    #[error("{0} fits several variants: {1}")]
    Ambiguous(String, String),
}

/// Returns the variants of an experiment at a scale, the baseline first.
///
/// The experiment must have passed its checks.
pub fn variants(experiment: &Experiment, scale: Scale, catalogue: &Catalogue) -> Vec<Variant> {
    let defaults = catalogue
        .workload(&experiment.workload)
        .map(|workload| catalogue.defaults(workload))
        .unwrap_or_default();
    let under = overlaid(&defaults, &experiment.base);
    let under = overlaid(&under, experiment.scale.get(&scale).unwrap_or(&Settings::new()));
    let own = |levels| experiment.levels_of_target(levels, &under, catalogue);
    let all = experiment.levels_of_variants(own);
    let named: HashMap<usize, &VariantName> = experiment
        .variants
        .iter()
        .filter_map(|name| Some((fitting(&all, &name.levels).ok()?, name)))
        .collect();
    let variant = |(index, levels): (usize, Settings)| {
        let named = named.get(&index);
        let own = named.and_then(|name| name.label.clone());
        Variant {
            label: label(&levels),
            name: own.or_else(|| experiment.labels.compose(&levels)),
            answer: named.and_then(|name| name.answer.clone()),
            settings: experiment.settings_of(scale, &under, &levels),
            levels,
        }
    };
    all.into_iter()
        .enumerate()
        .filter(|(_, levels)| experiment.keeps(scale, levels))
        .map(variant)
        .collect()
}

/// Returns the upper bounds of an experiment at a scale. An upper bound takes from the experiment's base and scale what
/// its own workload understands, and then its own settings.
///
/// The experiment must have passed its checks.
pub fn upper_bounds(
    experiment: &Experiment,
    scale: Scale,
    catalogue: &Catalogue,
) -> Vec<UpperBound> {
    let nothing = Settings::new();
    let scaled = experiment.scale.get(&scale).unwrap_or(&nothing);
    let given = overlaid(&experiment.base, scaled);
    let known = |bound: &UpperBoundFile| -> Option<Settings> {
        let workload = catalogue.workload(&bound.workload)?;
        let understood = picked(&given, |name| catalogue.setting(workload, name).is_some());
        Some(overlaid(&catalogue.defaults(workload), &understood))
    };
    experiment
        .upper_bounds
        .iter()
        .map(|bound| UpperBound {
            label: bound.name.clone(),
            says: bound.says.clone(),
            workload: bound.workload.clone(),
            settings: overlaid(
                &overlaid(&known(bound).unwrap_or_default(), &bound.settings),
                bound.scale.get(&scale).unwrap_or(&nothing),
            ),
        })
        .collect()
}

/// Returns the variant that a claim means by `wanted`: the baseline with these levels where there is such a
/// variant, else the only one that holds them.
///
/// # Errors
/// When no variant or more than one fits.
pub fn select(variants: &[Variant], wanted: &Settings) -> Result<usize, VariantsError> {
    let levels: Vec<&Settings> = variants.iter().map(|variant| &variant.levels).collect();
    fitting(&levels, wanted)
}

/// As [`select`], among the levels of all variants.
fn fitting(all: &[impl Borrow<Settings>], wanted: &Settings) -> Result<usize, VariantsError> {
    let exact = overlaid(all[0].borrow(), wanted);
    if let Some(index) = all.iter().position(|levels| *levels.borrow() == exact) {
        return Ok(index);
    }
    let fits: Vec<usize> =
        (0..all.len()).filter(|index| contains(all[*index].borrow(), wanted)).collect();
    match fits[..] {
        [only] => Ok(only),
        [] => Err(VariantsError::None(label(wanted))),
        _ => Err(VariantsError::Ambiguous(
            label(wanted),
            fits.iter().map(|index| label(all[*index].borrow())).collect::<Vec<_>>().join("; "),
        )),
    }
}

/// Returns every pair of variants that differ in nothing but that the first holds the levels `of` and the second
/// the levels `to`.
pub fn partners(variants: &[Variant], of: &Settings, to: &Settings) -> Vec<(usize, usize)> {
    let labels = variants.iter().map(|variant| variant.label.as_str());
    let by_label: HashMap<&str, usize> = labels.zip(0..).collect();
    let partner = |index: usize| {
        let label = label(&overlaid(&variants[index].levels, to));
        let other = by_label.get(label.as_str()).copied();
        Some((index, other.filter(|other| *other != index)?))
    };
    (0..variants.len())
        .filter(|index| contains(&variants[*index].levels, of))
        .filter_map(partner)
        .collect()
}

impl Experiment {
    /// Returns everything that holds for levels over the settings under them.
    fn settings_of(&self, scale: Scale, under: &Settings, levels: &Settings) -> Settings {
        let mut settings = overlaid(under, levels);
        let held = settings.clone();
        let adjustments = self.adjust.iter();
        for adjustment in adjustments.filter(|adjustment| contains(&held, &adjustment.levels)) {
            settings = overlaid(&settings, &adjustment.base);
            if let Some(scaled) = adjustment.scale.get(&scale) {
                settings = overlaid(&settings, scaled);
            }
        }
        settings
    }

    /// Returns the levels that mean something to the target of the variant: only SQLite has PRAGMAs.
    fn levels_of_target(
        &self,
        levels: Settings,
        under: &Settings,
        catalogue: &Catalogue,
    ) -> Settings {
        if target::is_sqlite(&overlaid(under, &levels)) {
            return levels;
        }
        let workload = catalogue.workload(&self.workload);
        let setting = |name: &str| catalogue.setting(workload?, name);
        let is_pragma =
            |name: &str| setting(name).is_some_and(|parameter| parameter.scope == Scope::Pragma);
        picked(&levels, |name| !is_pragma(name))
    }

    /// Returns the levels of all variants, each once, the baseline's first; `own` leaves those that mean nothing to a
    /// variant's target.
    fn levels_of_variants(&self, own: impl Fn(Settings) -> Settings) -> Vec<Settings> {
        let baseline = self.design.baseline.clone();
        let others = match self.design.kind {
            DesignKind::OneAtATime => self.one_at_a_time(),
            DesignKind::Factorial => self.factorial(),
            DesignKind::List => {
                self.design.variants.iter().map(|variant| overlaid(&baseline, variant)).collect()
            }
        };
        let is_kept = |levels: &Settings| {
            let mut excluded = self.exclude.iter();
            !excluded.any(|exclusion| contains(levels, &exclusion.levels))
        };
        // The baseline and every variant once, by the labels that are their names in the record.
        let baseline = own(baseline);
        let mut seen = HashSet::from([label(&baseline)]);
        let others = others.into_iter().filter(is_kept).map(&own);
        let others = others.filter(|levels| seen.insert(label(levels)));
        [baseline].into_iter().chain(others).collect()
    }

    fn one_at_a_time(&self) -> Vec<Settings> {
        let factors = self.factors.keys();
        factors
            .flat_map(|factor| levels_over(&self.factors, factor, &self.design.baseline))
            .collect()
    }

    fn factorial(&self) -> Vec<Settings> {
        self.factors.keys().fold(vec![Settings::new()], |variants, factor| {
            let variants = variants.iter();
            variants.flat_map(|variant| levels_over(&self.factors, factor, variant)).collect()
        })
    }
}

//! From factors to arms.

use std::collections::HashMap;

use crate::catalogue::Catalogue;
use crate::experiment::{DesignKind, Experiment, LimitFile, Scale};
use crate::level::{Settings, contains, label, overlaid};

use super::{Arm, Limit};

/// Why a set of levels does not name an arm.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ArmsError {
    /// No arm holds these levels.
    #[error("no arm has {0}")]
    None(String),
    /// Several arms hold these levels.
    #[error("{wanted} fits several arms: {fits}")]
    Ambiguous {
        /// The levels asked for.
        wanted: String,
        /// The labels of the arms that hold them.
        fits: String,
    },
}

/// The arms of an experiment at a scale, the reference first.
///
/// The experiment must have passed its checks.
pub fn arms(experiment: &Experiment, scale: Scale, catalogue: &Catalogue) -> Vec<Arm> {
    let defaults = catalogue
        .workload(&experiment.workload)
        .map(|workload| catalogue.defaults(workload))
        .unwrap_or_default();
    let under = overlaid(&defaults, &experiment.base);
    let under = overlaid(
        &under,
        experiment.scale.get(&scale).unwrap_or(&Settings::new()),
    );
    levels_of_arms(experiment)
        .into_iter()
        .filter(|levels| experiment.keeps(scale, levels))
        .map(|levels| Arm {
            label: label(&levels),
            settings: settings_of(experiment, scale, &under, &levels),
            levels,
        })
        .collect()
}

/// The limits of an experiment at a scale. A limit takes from the experiment's base and scale what
/// its own workload understands, and then its own settings.
///
/// The experiment must have passed its checks.
pub fn limits(experiment: &Experiment, scale: Scale, catalogue: &Catalogue) -> Vec<Limit> {
    let nothing = Settings::new();
    let scaled = experiment.scale.get(&scale).unwrap_or(&nothing);
    let given = overlaid(&experiment.base, scaled);
    let known = |limit: &LimitFile| -> Option<Settings> {
        let workload = catalogue.workload(&limit.workload)?;
        let understood = given
            .iter()
            .filter(|(name, _)| catalogue.setting(workload, name).is_some());
        let understood = understood
            .map(|(name, level)| (name.clone(), level.clone()))
            .collect();
        Some(overlaid(&catalogue.defaults(workload), &understood))
    };
    experiment
        .limits
        .iter()
        .map(|limit| Limit {
            label: limit.name.clone(),
            says: limit.says.clone(),
            workload: limit.workload.clone(),
            settings: overlaid(
                &overlaid(&known(limit).unwrap_or_default(), &limit.settings),
                limit.scale.get(&scale).unwrap_or(&nothing),
            ),
        })
        .collect()
}

/// The arm that a claim means by `wanted`: the reference with these levels where there is such an
/// arm, else the only one that holds them.
///
/// # Errors
/// When no arm or more than one fits.
pub fn select(arms: &[Arm], wanted: &Settings) -> Result<usize, ArmsError> {
    let exact = overlaid(&arms[0].levels, wanted);
    if let Some(index) = arms.iter().position(|arm| arm.levels == exact) {
        return Ok(index);
    }
    let fits: Vec<usize> = (0..arms.len())
        .filter(|index| contains(&arms[*index].levels, wanted))
        .collect();
    match fits[..] {
        [only] => Ok(only),
        [] => Err(ArmsError::None(label(wanted))),
        _ => Err(ArmsError::Ambiguous {
            wanted: label(wanted),
            fits: fits
                .iter()
                .map(|index| arms[*index].label.as_str())
                .collect::<Vec<_>>()
                .join("; "),
        }),
    }
}

/// Every pair of arms that differ in nothing but that the first holds the levels `of` and the second
/// the levels `to`.
pub fn partners(arms: &[Arm], of: &Settings, to: &Settings) -> Vec<(usize, usize)> {
    let by_label: HashMap<&str, usize> = arms
        .iter()
        .enumerate()
        .map(|(index, arm)| (arm.label.as_str(), index))
        .collect();
    let partner = |arm: &Arm| {
        by_label
            .get(label(&overlaid(&arm.levels, to)).as_str())
            .copied()
    };
    arms.iter()
        .enumerate()
        .filter(|(_, arm)| contains(&arm.levels, of))
        .filter_map(|(index, arm)| Some((index, partner(arm).filter(|other| *other != index)?)))
        .collect()
}

fn settings_of(
    experiment: &Experiment,
    scale: Scale,
    under: &Settings,
    levels: &Settings,
) -> Settings {
    let mut settings = overlaid(under, levels);
    let held = settings.clone();
    for adjustment in experiment
        .adjust
        .iter()
        .filter(|adjustment| contains(&held, &adjustment.levels))
    {
        settings = overlaid(&settings, &adjustment.base);
        if let Some(scaled) = adjustment.scale.get(&scale) {
            settings = overlaid(&settings, scaled);
        }
    }
    settings
}

fn levels_of_arms(experiment: &Experiment) -> Vec<Settings> {
    let reference = experiment.design.reference.clone();
    let others = match experiment.design.kind {
        DesignKind::OneAtATime => one_at_a_time(experiment),
        DesignKind::Factorial => factorial(experiment),
        DesignKind::List => experiment
            .design
            .arms
            .iter()
            .map(|arm| overlaid(&reference, arm))
            .collect(),
    };
    let mut all = vec![reference];
    for levels in others {
        let excluded = experiment
            .exclude
            .iter()
            .any(|exclusion| contains(&levels, &exclusion.levels));
        if !excluded && !all.contains(&levels) {
            all.push(levels);
        }
    }
    all
}

fn one_at_a_time(experiment: &Experiment) -> Vec<Settings> {
    let reference = &experiment.design.reference;
    experiment
        .factors
        .iter()
        .flat_map(|(factor, levels)| {
            levels.iter().map(move |level| {
                let mut arm = reference.clone();
                arm.insert(factor.clone(), level.clone());
                arm
            })
        })
        .collect()
}

fn factorial(experiment: &Experiment) -> Vec<Settings> {
    experiment
        .factors
        .iter()
        .fold(vec![Settings::new()], |arms, (factor, levels)| {
            arms.iter()
                .flat_map(|arm| {
                    levels.iter().map(move |level| {
                        let mut arm = arm.clone();
                        arm.insert(factor.clone(), level.clone());
                        arm
                    })
                })
                .collect()
        })
}

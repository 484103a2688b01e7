//! The configurations that may be tried.

use serde::{Deserialize, Serialize};

use crate::level::{Level, Settings, label};
use crate::seed::SplitMix64;

/// The index of a level for every factor of a space. A factor that means nothing beside the other levels has
/// the index after its last level.
pub type Configuration = Vec<usize>;

/// Attempts to draw an admissible configuration at random.
const ATTEMPTS: usize = 100;

/// A setting that is searched, with its levels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Factor {
    /// Name of the setting.
    pub name: String,
    /// Its levels.
    pub levels: Vec<Level>,
    /// When it means anything; none for always.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<Gate>,
    /// Whether the first level is what connections have anyway, so that it need not be set.
    #[serde(default)]
    pub unset: bool,
}

impl Factor {
    /// Returns the level that is to be set; none for a factor that means nothing, or has what connections have anyway.
    fn level_to_set(&self, index: usize) -> Option<&Level> {
        self.levels.get(index).filter(|_| !(self.unset && index == 0))
    }
}

/// A factor means something only where another one has one of these levels.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gate {
    /// Index of the other factor, which has no gate.
    pub factor: usize,
    /// Indices of its levels.
    pub levels: Vec<usize>,
}

/// Levels that are never tried together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exclusion {
    /// Factors and levels, by their indices.
    pub levels: Vec<(usize, usize)>,
    /// Why.
    pub why: String,
}

impl Exclusion {
    fn fits(&self, configuration: &[usize]) -> bool {
        self.levels.iter().all(|(factor, level)| configuration[*factor] == *level)
    }
}

/// The factors, their levels and what is left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Space {
    /// The factors.
    pub factors: Vec<Factor>,
    /// Combinations that are never tried.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub excluded: Vec<Exclusion>,
}

impl Space {
    /// Returns the number of values that a factor has in configurations: its levels, and one for "means nothing".
    pub fn values(&self, factor: usize) -> usize {
        let factor = &self.factors[factor];
        factor.levels.len() + usize::from(factor.gate.is_some())
    }

    /// Gives factors that mean nothing the value for that, and the first level to those that again mean
    /// something.
    pub fn canonical(&self, mut configuration: Configuration) -> Configuration {
        for (index, factor) in self.factors.iter().enumerate() {
            let Some(gate) = &factor.gate else { continue };
            let nothing = factor.levels.len();
            if !gate.levels.contains(&configuration[gate.factor]) {
                configuration[index] = nothing;
            } else if configuration[index] == nothing {
                configuration[index] = 0;
            }
        }
        configuration
    }

    /// Returns why the configuration may not be tried; `None` if it may.
    pub fn why_excluded(&self, configuration: &[usize]) -> Option<&str> {
        Some(&self.exclusion(configuration)?.why)
    }

    /// Returns the exclusion that the configuration meets.
    pub fn exclusion(&self, configuration: &[usize]) -> Option<&Exclusion> {
        self.excluded.iter().find(|exclusion| exclusion.fits(configuration))
    }

    /// Returns whether the configuration may be tried.
    pub fn admits(&self, configuration: &[usize]) -> bool {
        self.why_excluded(configuration).is_none()
    }

    /// Returns a configuration drawn at random among those that may be tried; `otherwise` where none was drawn in many
    /// attempts.
    pub fn random(&self, generator: &mut SplitMix64, otherwise: &[usize]) -> Configuration {
        let mut draw = || {
            let level = |factor: &Factor| generator.below(factor.levels.len() as u64) as usize;
            self.canonical(self.factors.iter().map(level).collect())
        };
        let found = (0..ATTEMPTS).map(|_| draw()).find(|configuration| self.admits(configuration));
        found.unwrap_or_else(|| otherwise.to_vec())
    }

    /// Returns the configuration with the factors of each exclusion that it meets drawn anew until it may be tried;
    /// `otherwise` where many attempts do not suffice.
    pub fn repaired(
        &self,
        mut configuration: Configuration,
        generator: &mut SplitMix64,
        otherwise: &[usize],
    ) -> Configuration {
        for _ in 0..ATTEMPTS {
            configuration = self.canonical(configuration);
            let Some(exclusion) = self.exclusion(&configuration) else { return configuration };
            for (factor, _) in &exclusion.levels {
                let levels = self.factors[*factor].levels.len() as u64;
                configuration[*factor] = generator.below(levels) as usize;
            }
        }
        otherwise.to_vec()
    }

    /// Returns the levels of a configuration that are to be set.
    pub fn settings(&self, configuration: &[usize]) -> Settings {
        let factors = self.factors.iter().zip(configuration);
        let level = |(factor, index): (&Factor, &usize)| {
            Some((factor.name.clone(), factor.level_to_set(*index)?.clone()))
        };
        factors.filter_map(level).collect()
    }

    /// Returns the configuration as the record names it.
    pub fn label(&self, configuration: &[usize]) -> String {
        label(&self.settings(configuration))
    }

    /// Returns the setting that a label begins with: factor and level, and the length of both in the label. The longest where a level is
    /// the beginning of another one.
    pub(super) fn named_first(&self, label: &str) -> Option<(usize, usize, usize)> {
        let settings = self.factors.iter().enumerate().flat_map(|(index, factor)| {
            let levels = factor.levels.iter().enumerate();
            levels.map(move |(level, value)| (index, level, format!("{}={value}", factor.name)))
        });
        let named = settings.filter_map(|(factor, level, setting)| {
            let rest = label.strip_prefix(&setting)?;
            (rest.is_empty() || rest.starts_with(' ')).then_some((factor, level, setting.len()))
        });
        named.max_by_key(|(_, _, length)| *length)
    }

    /// Returns the configuration that holds these levels, and the first level of factors that they do not name; none
    /// where one of them is not in the space.
    pub fn configuration(&self, settings: &Settings) -> Option<Configuration> {
        let index = |factor: &Factor| match settings.get(&factor.name) {
            Some(level) => factor.levels.iter().position(|known| known == level),
            None => Some(0),
        };
        let levels: Option<Configuration> = self.factors.iter().map(index).collect();
        Some(self.canonical(levels?))
    }

    /// Returns each reason for leaving levels out, with what it concerns.
    pub fn exclusions(&self) -> Vec<(String, Vec<Settings>)> {
        let mut reasons: Vec<(String, Vec<Settings>)> = Vec::new();
        for Exclusion { levels, why } in &self.excluded {
            let level = |(factor, level): &(usize, usize)| {
                let factor = &self.factors[*factor];
                (factor.name.clone(), factor.levels[*level].clone())
            };
            let levels: Settings = levels.iter().map(level).collect();
            match reasons.iter_mut().find(|(reason, _)| reason == why) {
                Some((_, concerned)) => concerned.push(levels),
                None => reasons.push((why.clone(), vec![levels])),
            }
        }
        reasons
    }

    /// Returns the number of different configurations, those that are left out among them.
    pub fn size(&self) -> f64 {
        let gates = |factor: &Factor| {
            let levels = factor.levels.len() as f64;
            factor.gate.as_ref().map_or(levels, |gate| {
                let open = gate.levels.len() as f64 / self.factors[gate.factor].levels.len() as f64;
                1.0 + (levels - 1.0) * open
            })
        };
        self.factors.iter().map(gates).product()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::Seed;

    fn factor(name: &str, levels: &[&str], gate: Option<Gate>) -> Factor {
        Factor {
            name: name.to_owned(),
            levels: levels.iter().map(|level| (*level).into()).collect(),
            gate,
            unset: false,
        }
    }

    fn space() -> Space {
        let gate = Gate { factor: 0, levels: vec![1] };
        Space {
            factors: vec![
                factor("journal_mode", &["delete", "wal"], None),
                factor("synchronous", &["full", "normal", "off"], None),
                factor("wal_autocheckpoint", &["1000", "10000"], Some(gate)),
            ],
            excluded: vec![
                Exclusion { levels: vec![(1, 2)], why: "a power cut can corrupt".to_owned() },
                Exclusion {
                    levels: vec![(0, 0), (1, 1)],
                    why: "a power cut can take transactions".to_owned(),
                },
            ],
        }
    }

    #[test]
    fn a_factor_that_means_nothing_has_one_value_and_is_not_set() {
        let space = space();
        assert_eq!(space.canonical(vec![0, 0, 1]), [0, 0, 2]);
        assert_eq!(space.canonical(vec![1, 0, 2]), [1, 0, 0]);
        let label = |configuration: &[usize]| space.label(configuration);
        assert_eq!(label(&[0, 0, 2]), "journal_mode=delete synchronous=full");
        assert!(label(&[1, 0, 1]).ends_with("wal_autocheckpoint=10000"));
        assert_eq!(space.size(), 9.0);
    }

    #[test]
    fn settings_and_configurations_are_the_same_thing() {
        let space = space();
        for configuration in [[0, 0, 2], [1, 2, 1], [1, 1, 0]] {
            let settings = space.settings(&configuration);
            assert_eq!(space.configuration(&settings).unwrap(), configuration);
        }
        let unknown = [("journal_mode".to_owned(), "memory".into())].into();
        assert_eq!(space.configuration(&unknown), None);
    }

    #[test]
    fn nothing_excluded_is_drawn() {
        let space = space();
        let mut generator = Seed(1).generator();
        for _ in 0..200 {
            let drawn = space.random(&mut generator, &[0, 0, 2]);
            assert!(space.admits(&drawn), "{drawn:?}");
            let mut any = drawn.clone();
            any[1] = generator.below(3) as usize;
            let repaired = space.repaired(any, &mut generator, &[0, 0, 2]);
            assert!(space.admits(&repaired), "{repaired:?}");
        }
        let why = space.why_excluded(&[0, 1, 2]).unwrap();
        assert_eq!(why, "a power cut can take transactions");
    }
}

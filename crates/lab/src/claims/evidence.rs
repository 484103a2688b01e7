//! What is known when claims are judged, and how the figure of each form of claim is made of it.

use std::collections::BTreeMap;

use super::figure::Figure;
use super::{Extreme, Form, Listed, Pair, Pairs, Precondition, Single};
use crate::design::{Arm, ArmsError, select};
use crate::environment::FSYNC_CLAIM_MEDIAN_NS;
use crate::experiment::Experiment;
use crate::level::{Level, Settings, overlaid};
use crate::samples::{Comparison, Samples};

/// What is known when the claims of an experiment are judged.
pub struct Evidence<'a> {
    /// The experiment.
    pub experiment: &'a Experiment,
    /// Its arms, the reference first.
    pub arms: &'a [Arm],
    /// The figures of every metric that claims name.
    pub samples: &'a BTreeMap<String, Samples>,
    /// For each arm, why it has no measurement; none where it has.
    pub problems: &'a [Option<String>],
    /// Median fsync latency of the measured directory in nanoseconds, where it was probed.
    pub fsync_median_ns: Option<u64>,
}

/// Why a claim has no figure.
pub(super) enum Unable {
    /// It does not apply here.
    NotApplicable(String),
    /// It applies but was not measured.
    NotMeasured(String),
}

impl From<ArmsError> for Unable {
    fn from(error: ArmsError) -> Self {
        // The checks of the experiment found an arm for every claim, so the scale has left it out.
        Unable::NotMeasured(format!("at this scale {error}"))
    }
}

impl Evidence<'_> {
    pub(super) fn check(&self, precondition: Precondition) -> Result<(), Unable> {
        let Precondition::Fsync = precondition;
        match self.fsync_median_ns {
            Some(median) if median >= FSYNC_CLAIM_MEDIAN_NS => Ok(()),
            Some(median) => Err(Unable::NotApplicable(format!(
                "it needs {precondition}; here it is {:.3} ms",
                median as f64 / 1e6
            ))),
            None => Err(Unable::NotApplicable(format!(
                "it needs {precondition}, which was not measured"
            ))),
        }
    }

    pub(super) fn figure(
        &self,
        form: Form<'_>,
        metric: &str,
        exact: bool,
    ) -> Result<(Figure, String), Unable> {
        match form {
            Form::Ratio(pair) | Form::Equal(pair) => self.ratio(pair, metric),
            Form::RatioOfRatios(pairs) => self.ratio_of_ratios(pairs, metric),
            Form::Value(single) => self.value(single, metric, exact),
            Form::Ordering(listed) => self.ordering(listed, metric),
            Form::Spread(listed) => self.spread(listed, metric),
            Form::Argmax(extreme) => self.lead(extreme, metric, true),
            Form::Argmin(extreme) => self.lead(extreme, metric, false),
        }
    }

    fn ratio(&self, pair: &Pair, metric: &str) -> Result<(Figure, String), Unable> {
        let (of, to) = (select(self.arms, &pair.of)?, select(self.arms, &pair.to)?);
        let measure = format!(
            "{metric}: {} ÷ {}",
            self.arms[of].label, self.arms[to].label
        );
        Ok((Figure::Ratio(self.compare(of, to, metric)?), measure))
    }

    fn ratio_of_ratios(&self, pairs: &Pairs, metric: &str) -> Result<(Figure, String), Unable> {
        let [of, to, over_of, over_to] = [&pairs.of, &pairs.to, &pairs.over_of, &pairs.over_to];
        let arms = [
            self.arm(of)?,
            self.arm(to)?,
            self.arm(over_of)?,
            self.arm(over_to)?,
        ];
        let ratios = self
            .samples
            .get(metric)
            .map(|samples| samples.log_ratios_of_ratios(arms));
        let [of, to, over_of, over_to] = arms.map(|arm| self.arms[arm].label.as_str());
        let measure = format!("{metric}: ({of} ÷ {to}) ÷ ({over_of} ÷ {over_to})");
        let comparison = Comparison::new(ratios.unwrap_or_default()).ok_or_else(|| {
            Unable::NotMeasured(format!("fewer than two rounds measure {measure}"))
        })?;
        Ok((Figure::Ratio(comparison), measure))
    }

    /// A figure by itself. Where it must hold exactly it is taken as it is; else by its logarithms in
    /// place of log-ratios, so that estimate and interval are in the unit of the metric.
    fn value(
        &self,
        single: &Single,
        metric: &str,
        exact: bool,
    ) -> Result<(Figure, String), Unable> {
        let arm = self.arm(&single.of)?;
        let values = self
            .samples
            .get(metric)
            .map(|samples| samples.values(arm))
            .unwrap_or_default();
        let measure = format!("{metric} of {}", self.arms[arm].label);
        if exact && !values.is_empty() {
            return Ok((Figure::Plain(values), measure));
        }
        let comparison =
            Comparison::new(values.into_iter().map(f64::ln).collect()).ok_or_else(|| {
                Unable::NotMeasured(format!("fewer than two rounds measure {measure}"))
            })?;
        Ok((Figure::Ratio(comparison), measure))
    }

    /// The arm that is meant, which must have been measured.
    fn arm(&self, levels: &Settings) -> Result<usize, Unable> {
        let arm = select(self.arms, levels)?;
        match &self.problems[arm] {
            Some(problem) => Err(Unable::NotMeasured(format!(
                "{}: {problem}",
                self.arms[arm].label
            ))),
            None => Ok(arm),
        }
    }

    fn ordering(&self, listed: &Listed, metric: &str) -> Result<(Figure, String), Unable> {
        let arms = self.listed(listed)?;
        let steps = arms
            .windows(2)
            .map(|pair| self.compare(pair[0], pair[1], metric))
            .collect::<Result<_, _>>()?;
        Ok((
            Figure::Smallest(steps),
            format!("{metric}: smallest step of {}", self.labels(&arms, " ≥ ")),
        ))
    }

    fn spread(&self, listed: &Listed, metric: &str) -> Result<(Figure, String), Unable> {
        let arms = self.listed(listed)?;
        let mut ratios = Vec::new();
        for of in &arms {
            for to in arms.iter().filter(|to| *to != of) {
                ratios.push(self.compare(*of, *to, metric)?);
            }
        }
        Ok((
            Figure::LargestLessOne(ratios),
            format!(
                "{metric}: largest ÷ smallest − 1 of {}",
                self.labels(&arms, ", ")
            ),
        ))
    }

    fn lead(
        &self,
        extreme: &Extreme,
        metric: &str,
        largest: bool,
    ) -> Result<(Figure, String), Unable> {
        let arm_of = |level: &Level| {
            let mut levels = extreme.at.clone();
            levels.insert(extreme.over.clone(), level.clone());
            select(self.arms, &levels)
        };
        let candidates = extreme
            .is
            .iter()
            .map(arm_of)
            .collect::<Result<Vec<_>, _>>()?;
        let all = self.over(&extreme.over, &extreme.at)?;
        let rivals: Vec<usize> = all
            .into_iter()
            .filter(|arm| !candidates.contains(arm))
            .collect();
        let ratios = candidates
            .iter()
            .map(|candidate| {
                rivals
                    .iter()
                    .map(|rival| {
                        if largest {
                            self.compare(*candidate, *rival, metric)
                        } else {
                            self.compare(*rival, *candidate, metric)
                        }
                    })
                    .collect()
            })
            .collect::<Result<Vec<Vec<_>>, _>>()?;
        let word = if largest { "largest" } else { "smallest" };
        let measure = format!(
            "{metric}: lead of {} as the {word} over the rest",
            self.labels(&candidates, " or ")
        );
        Ok((Figure::Lead(ratios), measure))
    }

    fn listed(&self, listed: &Listed) -> Result<Vec<usize>, Unable> {
        match &listed.over {
            Some(factor) => self.over(factor, &listed.at),
            None => {
                let arms = listed
                    .arms
                    .iter()
                    .map(|arm| select(self.arms, &overlaid(&listed.at, arm)));
                Ok(arms.collect::<Result<_, _>>()?)
            }
        }
    }

    fn over(&self, factor: &str, at: &Settings) -> Result<Vec<usize>, Unable> {
        let levels = self
            .experiment
            .factors
            .get(factor)
            .map_or(&[][..], Vec::as_slice);
        let arms = levels.iter().map(|level| {
            let mut wanted = at.clone();
            wanted.insert(factor.to_owned(), level.clone());
            select(self.arms, &wanted)
        });
        Ok(arms.collect::<Result<_, _>>()?)
    }

    fn compare(&self, of: usize, to: usize, metric: &str) -> Result<Comparison, Unable> {
        for arm in [of, to] {
            if let Some(problem) = &self.problems[arm] {
                return Err(Unable::NotMeasured(format!(
                    "{}: {problem}",
                    self.arms[arm].label
                )));
            }
        }
        let ratios = self
            .samples
            .get(metric)
            .map(|samples| samples.log_ratios(of, to))
            .unwrap_or_default();
        Comparison::new(ratios).ok_or_else(|| {
            Unable::NotMeasured(format!(
                "fewer than two rounds compare {} with {} in {metric}",
                self.arms[of].label, self.arms[to].label
            ))
        })
    }

    fn labels(&self, arms: &[usize], between: &str) -> String {
        arms.iter()
            .map(|arm| self.arms[*arm].label.as_str())
            .collect::<Vec<_>>()
            .join(between)
    }
}

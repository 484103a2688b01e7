//! From data to verdicts.
//!
//! Each claim comes down to one figure with an interval at any error rate and to the bounds that
//! confirm it. The claim is *confirmed* when the whole interval lies within the bounds and
//! *refuted* when it lies wholly outside. The claims of an experiment are judged together by
//! Holm's procedure: the smallest error rate at which a claim would be decided serves as its
//! p-value, the procedure says at which rate each claim is judged, and the interval shown beside a
//! claim is the one at that rate, from which the verdict can be read off.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::figure::Figure;
use super::{Bounds, Claim, Extreme, Form, Listed, Pair, Pairs, Precondition, Single};
use crate::design::{Arm, ArmsError, select};
use crate::experiment::Experiment;
use crate::level::{Settings, overlaid};
use crate::samples::{Comparison, Samples};
use crate::stats::{Interval, holm};

/// The error rate of all claims of an experiment together.
const ALPHA: f64 = 0.05;

/// What the data says of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It holds here.
    Confirmed,
    /// It does not hold here.
    Refuted,
    /// The data does not decide.
    Inconclusive,
    /// It cannot be asked here.
    NotApplicable,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Verdict::Confirmed => "confirmed",
            Verdict::Refuted => "refuted",
            Verdict::Inconclusive => "inconclusive",
            Verdict::NotApplicable => "not applicable",
        })
    }
}

/// A claim with its verdict and the figure behind it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Judged {
    /// The claim as it stood before the data.
    pub claim: Claim,
    /// What the data says.
    pub verdict: Verdict,
    /// What the figure is, in words: `rows_per_s of index=after ÷ index=before`.
    pub measure: String,
    /// The metric in whose unit the figure is; none for figures that are ratios.
    #[serde(default)]
    pub unit: Option<String>,
    /// The measured figure.
    pub figure: Option<f64>,
    /// Its interval at the error rate `alpha`.
    pub interval: Option<Interval>,
    /// The error rate at which the claim was judged.
    pub alpha: f64,
    /// The bounds that confirm.
    pub bounds: Bounds,
    /// Rounds behind the figure.
    pub rounds: usize,
    /// Whether there were too few rounds for more than a preliminary answer.
    pub preliminary: bool,
    /// Why the claim does not apply or is not decided.
    pub why: Option<String>,
}

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

/// Judges every claim of an experiment.
pub fn judge(evidence: &Evidence<'_>) -> Vec<Judged> {
    let prepared: Vec<Result<Prepared, Unable>> = evidence
        .experiment
        .claims
        .iter()
        .map(|claim| evidence.prepare(claim))
        .collect();
    let p_values: Vec<f64> = prepared
        .iter()
        .filter_map(|prepared| prepared.as_ref().ok())
        .filter(|prepared| !prepared.exact)
        .map(Prepared::p_value)
        .collect();
    let judged_together = p_values.len();
    let mut levels = holm(&p_values, ALPHA).into_iter().map(|row| row.level);
    evidence
        .experiment
        .claims
        .iter()
        .zip(&prepared)
        .map(|(claim, prepared)| match prepared {
            Err(unable) => evidence.undecided(claim, unable),
            Ok(prepared) if prepared.exact => prepared.judge_exactly(claim),
            Ok(prepared) => {
                prepared.judge_at(claim, levels.next().unwrap_or(ALPHA), judged_together)
            }
        })
        .collect()
}

/// Why a claim has no figure.
enum Unable {
    /// It does not apply here.
    NotApplicable(String),
    /// It applies but was not measured.
    NotMeasured(String),
}

impl From<ArmsError> for Unable {
    fn from(error: ArmsError) -> Self {
        Unable::NotMeasured(error.to_string())
    }
}

/// A claim with its figure.
struct Prepared {
    figure: Figure,
    bounds: Bounds,
    measure: String,
    unit: Option<String>,
    exact: bool,
}

/// The metric in whose unit the figure of a claim of this form is; none for ratios.
fn unit(form: Form<'_>, own: &str) -> Option<String> {
    matches!(form, Form::Value(_)).then(|| form.metric().unwrap_or(own).to_owned())
}

impl Prepared {
    /// The smallest error rate at which the claim is decided, by bisection: intervals shrink as
    /// the rate grows, so a claim decided at one rate is decided at every greater one.
    fn p_value(&self) -> f64 {
        const STEPS: u32 = 40;
        if self.verdict(1.0) == Verdict::Inconclusive {
            return 1.0;
        }
        let (mut undecided, mut decided) = (0.0, 1.0);
        for _ in 0..STEPS {
            let middle = 0.5 * (undecided + decided);
            if self.verdict(middle) == Verdict::Inconclusive {
                undecided = middle;
            } else {
                decided = middle;
            }
        }
        decided
    }

    fn verdict(&self, alpha: f64) -> Verdict {
        let interval = self.figure.interval(alpha);
        let low = self.bounds.low.unwrap_or(f64::NEG_INFINITY);
        let high = self.bounds.high.unwrap_or(f64::INFINITY);
        if interval.low >= low && interval.high <= high {
            Verdict::Confirmed
        } else if interval.high < low || interval.low > high {
            Verdict::Refuted
        } else {
            Verdict::Inconclusive
        }
    }

    fn judge_at(&self, claim: &Claim, alpha: f64, judged_together: usize) -> Judged {
        let verdict = self.verdict(alpha);
        let why = (verdict == Verdict::Inconclusive).then(|| {
            let interval = self.figure.interval(alpha);
            if interval.is_bounded() {
                "the interval reaches across the bound".to_owned()
            } else {
                format!(
                    "{} rounds are too few to judge {judged_together} claims together",
                    self.rounds()
                )
            }
        });
        Judged {
            verdict,
            alpha,
            interval: Some(self.figure.interval(alpha)),
            why,
            ..self.judged(claim)
        }
    }

    fn judge_exactly(&self, claim: &Claim) -> Judged {
        let rounds = self.figure.by_round();
        let holding = rounds
            .iter()
            .filter(|figure| self.bounds.hold(**figure))
            .count();
        let (verdict, why) = match holding {
            all if all == rounds.len() => (Verdict::Confirmed, None),
            0 => (Verdict::Refuted, None),
            some => (
                Verdict::Refuted,
                Some(format!(
                    "it holds in {some} of {} rounds only",
                    rounds.len()
                )),
            ),
        };
        Judged {
            verdict,
            why,
            preliminary: false,
            ..self.judged(claim)
        }
    }

    fn judged(&self, claim: &Claim) -> Judged {
        Judged {
            claim: claim.clone(),
            verdict: Verdict::Inconclusive,
            measure: self.measure.clone(),
            unit: self.unit.clone(),
            figure: Some(self.figure.point()),
            interval: None,
            alpha: ALPHA,
            bounds: self.bounds,
            rounds: self.rounds(),
            preliminary: self
                .figure
                .comparisons()
                .iter()
                .any(|comparison| comparison.preliminary()),
            why: None,
        }
    }

    fn rounds(&self) -> usize {
        self.figure
            .comparisons()
            .iter()
            .map(|comparison| comparison.rounds())
            .min()
            .unwrap_or(0)
    }
}

impl Evidence<'_> {
    fn prepare(&self, claim: &Claim) -> Result<Prepared, Unable> {
        for precondition in &claim.requires {
            self.check(*precondition)?;
        }
        let form = *claim
            .forms()
            .first()
            .ok_or_else(|| Unable::NotMeasured("the claim has no predicate".to_owned()))?;
        let metric = form.metric().unwrap_or(&self.experiment.metric);
        let (figure, measure) = self.figure(form, metric)?;
        Ok(Prepared {
            figure,
            bounds: claim.bounds(form),
            measure,
            unit: unit(form, &self.experiment.metric),
            exact: claim.exact,
        })
    }

    fn check(&self, precondition: Precondition) -> Result<(), Unable> {
        use crate::environment::FSYNC_CLAIM_MEDIAN_NS;
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

    fn figure(&self, form: Form<'_>, metric: &str) -> Result<(Figure, String), Unable> {
        match form {
            Form::Ratio(pair) | Form::Equal(pair) => self.ratio(pair, metric),
            Form::RatioOfRatios(pairs) => self.ratio_of_ratios(pairs, metric),
            Form::Value(single) => self.value(single, metric),
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

    /// A figure by itself: its logarithms in place of log-ratios, so that estimate and interval are
    /// in the unit of the metric.
    fn value(&self, single: &Single, metric: &str) -> Result<(Figure, String), Unable> {
        let arm = self.arm(&single.of)?;
        let values = self.samples.get(metric).map(|samples| samples.values(arm));
        let logs = values
            .unwrap_or_default()
            .into_iter()
            .map(f64::ln)
            .collect();
        let measure = format!("{metric} of {}", self.arms[arm].label);
        let comparison = Comparison::new(logs).ok_or_else(|| {
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
        let arm_of = |level: &crate::level::Level| {
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

    fn undecided(&self, claim: &Claim, unable: &Unable) -> Judged {
        let (verdict, why) = match unable {
            Unable::NotApplicable(why) => (Verdict::NotApplicable, why),
            Unable::NotMeasured(why) => (Verdict::Inconclusive, why),
        };
        Judged {
            claim: claim.clone(),
            verdict,
            measure: String::new(),
            unit: claim
                .forms()
                .first()
                .and_then(|form| unit(*form, &self.experiment.metric)),
            figure: None,
            interval: None,
            alpha: ALPHA,
            bounds: claim.forms().first().map_or(
                Bounds {
                    low: None,
                    high: None,
                },
                |form| claim.bounds(*form),
            ),
            rounds: 0,
            preliminary: false,
            why: Some(why.clone()),
        }
    }
}

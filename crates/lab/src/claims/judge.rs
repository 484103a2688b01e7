//! From data to verdicts.
//!
//! Each claim comes down to one figure with an interval at any error rate and to the bounds that
//! confirm it. The claim is *confirmed* when the whole interval lies within the bounds and
//! *refuted* when it lies wholly outside. The claims of an experiment are judged together by
//! Holm's procedure: the smallest error rate at which a claim would be decided serves as its
//! p-value, the procedure says at which rate each claim is judged, and the interval reported with a
//! claim is the one at that rate, from which the verdict can be read off.
//!
//! A claim that does not apply has no share in that: its figure is judged as if it were one more of those that
//! apply, and the verdict stays *not applicable*.

use serde::{Deserialize, Serialize};

use super::evidence::{Evidence, Result, Unable};
use super::figure::Figure;
use super::{Bounds, Claim, Form};
use crate::stats::{ALPHA, Interval, holm};

/// The judgement of a claim by the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, strum::Display)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "lowercase")]
pub enum Verdict {
    /// It holds here.
    Confirmed,
    /// It does not hold here.
    Refuted,
    /// The data does not decide.
    Inconclusive,
    /// It does not apply here.
    #[strum(to_string = "not applicable")]
    NotApplicable,
}

/// A claim with its verdict and the figure behind it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Judged {
    /// The claim as it stood before the data.
    pub claim: Claim,
    /// The judgement by the data.
    pub verdict: Verdict,
    /// The verdict on the figure if the claim does not apply because of what the machine lacks; none
    /// where it applies, has no figure, or the scale lacks the sizes that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub would_be: Option<Verdict>,
    /// The figure in words: `rows_per_s of index=after ÷ index=before`.
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

/// Judges every claim of an experiment.
pub fn judge(evidence: &Evidence<'_>) -> Vec<Judged> {
    let claims = &evidence.experiment.claims;
    let prepared: Vec<Result<Prepared>> =
        claims.iter().map(|claim| evidence.prepare(claim)).collect();
    let applying = Family::of(&prepared, |one| one.applies.is_yes());
    let judge = |(index, claim): (usize, &Claim)| match &prepared[index] {
        Err(unable) => evidence.undecided(claim, unable),
        Ok(one) if one.applies.is_yes() => one.judge(claim, index, &applying),
        Ok(one) => {
            // As if it were one more of those that apply.
            let with_it =
                Family::of(&prepared, |other| other.applies.is_yes() || std::ptr::eq(other, one));
            one.not_applicable(one.judge(claim, index, &with_it))
        }
    };
    claims.iter().enumerate().map(judge).collect()
}

/// Claims that are judged together, which share the error rate.
struct Family {
    /// By claim: the error rate at which it is judged; `None` if it is not one of the family.
    levels: Vec<Option<f64>>,
}

impl Family {
    /// Returns the claims with an interval among which these are.
    fn of(prepared: &[Result<Prepared>], among: impl Fn(&Prepared) -> bool) -> Family {
        let p_values: Vec<Option<f64>> = prepared
            .iter()
            .map(|one| one.as_ref().ok().filter(|one| !one.exact && among(one)))
            .map(|member| member.map(Prepared::p_value))
            .collect();
        let known: Vec<f64> = p_values.iter().flatten().copied().collect();
        let mut levels = holm(&known, ALPHA).into_iter().map(|row| row.level);
        Family {
            levels: p_values.iter().map(|p_value| p_value.and_then(|_| levels.next())).collect(),
        }
    }
}

/// A claim with its figure.
struct Prepared {
    figure: Figure,
    bounds: Bounds,
    measure: String,
    unit: Option<String>,
    exact: bool,
    applies: Applies,
}

/// Whether a claim that has a figure applies.
enum Applies {
    Yes,
    /// Not to this machine: why.
    NotHere(String),
    /// Not to data of this size: why.
    NotAtScale(String),
}

impl Applies {
    fn is_yes(&self) -> bool {
        matches!(self, Applies::Yes)
    }
}

/// Returns the metric in whose unit the figure of a claim of this form is; none for ratios.
fn unit(form: Form<'_>, own: &str) -> Option<String> {
    matches!(form, Form::Value(_)).then(|| form.metric().unwrap_or(own).to_owned())
}

impl Prepared {
    /// Returns the smallest error rate at which the claim is decided, by bisection: intervals shrink as
    /// the rate grows, so a claim decided at one rate is decided at every greater one.
    fn p_value(&self) -> f64 {
        const STEPS: u32 = 40;
        // At 1 itself not every interval is defined.
        const MOST: f64 = 1.0 - 1e-9;
        if self.verdict(MOST) == Verdict::Inconclusive {
            return 1.0;
        }
        let (mut undecided, mut decided) = (0.0, MOST);
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

    fn judge(&self, claim: &Claim, index: usize, family: &Family) -> Judged {
        match family.levels[index] {
            Some(level) => self.judge_at(claim, level, family.levels.iter().flatten().count()),
            None => self.judge_exactly(claim),
        }
    }

    /// Returns the figure of a claim that does not apply, and what it would have been judged.
    fn not_applicable(&self, judged: Judged) -> Judged {
        let (why, would_be) = match &self.applies {
            Applies::Yes => return judged,
            Applies::NotHere(why) => (why, Some(judged.verdict)),
            Applies::NotAtScale(why) => (why, None),
        };
        Judged { verdict: Verdict::NotApplicable, would_be, why: Some(why.clone()), ..judged }
    }

    fn judge_at(&self, claim: &Claim, alpha: f64, judged_together: usize) -> Judged {
        let verdict = self.verdict(alpha);
        let why = (verdict == Verdict::Inconclusive).then(|| {
            let interval = self.figure.interval(alpha);
            if interval.is_bounded() {
                "the interval includes the bound".to_owned()
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

    fn holds_in_every_round(&self) -> bool {
        let rounds = self.figure.by_round();
        rounds.iter().all(|figures| self.hold(figures))
    }

    /// Returns whether the predicate holds for all figures of a round.
    fn hold(&self, figures: &[f64]) -> bool {
        figures.iter().all(|figure| self.bounds.hold(*figure))
    }

    fn judge_exactly(&self, claim: &Claim) -> Judged {
        let rounds = self.figure.by_round();
        let holding = rounds.iter().filter(|figures| self.hold(figures)).count();
        let (verdict, why) = match holding {
            all if all == rounds.len() => (Verdict::Confirmed, None),
            0 => (Verdict::Refuted, None),
            some => (
                Verdict::Refuted,
                Some(format!("it holds in {some} of {} rounds only", rounds.len())),
            ),
        };
        Judged { verdict, why, preliminary: false, ..self.judged(claim) }
    }

    fn judged(&self, claim: &Claim) -> Judged {
        Judged {
            claim: claim.clone(),
            verdict: Verdict::Inconclusive,
            would_be: None,
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
        self.figure.rounds()
    }
}

impl Evidence<'_> {
    /// Returns the figure of a claim and whether it applies; a claim that does not may lack the figure.
    fn prepare(&self, claim: &Claim) -> Result<Prepared> {
        let not_at_scale = self.why_not_at_scale(claim).map(Applies::NotAtScale);
        let not_here = self.why_not_here(claim).map(Applies::NotHere);
        let applies = not_at_scale.or(not_here).unwrap_or(Applies::Yes);
        match (self.prepare_figure(claim), applies) {
            (Ok(prepared), applies) => Ok(Prepared { applies, ..prepared }),
            (Err(unable), Applies::Yes) => Err(unable),
            (Err(_), Applies::NotHere(why) | Applies::NotAtScale(why)) => {
                Err(Unable::NotApplicable(why))
            }
        }
    }

    fn prepare_figure(&self, claim: &Claim) -> Result<Prepared> {
        let form = *claim
            .forms()
            .first()
            .ok_or_else(|| Unable::NotMeasured("the claim has no predicate".to_owned()))?;
        let metric = form.metric().unwrap_or(&self.experiment.metric);
        let (figure, measure) = self.figure(form, metric, claim.exact)?;
        let prepared = Prepared {
            figure,
            bounds: claim.bounds(form),
            measure,
            unit: unit(form, &self.experiment.metric),
            exact: claim.exact,
            applies: Applies::Yes,
        };
        // One exception refutes, whatever else went wrong.
        if prepared.exact && prepared.holds_in_every_round() {
            self.check_failures(form, metric)?;
        }
        Ok(prepared)
    }

    fn undecided(&self, claim: &Claim, unable: &Unable) -> Judged {
        let (verdict, why) = match unable {
            Unable::NotApplicable(why) => (Verdict::NotApplicable, why),
            Unable::NotMeasured(why) => (Verdict::Inconclusive, why),
        };
        let form = claim.forms().first().copied();
        Judged {
            claim: claim.clone(),
            verdict,
            would_be: None,
            measure: String::new(),
            unit: form.and_then(|form| unit(form, &self.experiment.metric)),
            figure: None,
            interval: None,
            alpha: ALPHA,
            bounds: form.map_or(Bounds::default(), |form| claim.bounds(form)),
            rounds: 0,
            preliminary: false,
            why: Some(why.clone()),
        }
    }
}

//! Which answer an experiment gives to its question; the sentences are the report's.

use super::choice::Choice;
use super::findings::unconfirmed;
use super::{ComparisonResult, ExperimentAnalysis, Finding, VariantAnalysis};
use crate::measures::Measures;
use crate::tier::Class;

/// The answer to the question of an experiment.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer<'a> {
    /// It tried crashes: how many variants have which safety tier, the safest first.
    Tiers(Vec<(Class, usize)>),
    /// It played schedules of two connections.
    Schedules {
        /// Variants that were corrupted without a crash.
        corrupting: usize,
        /// All variants that were measured.
        variants: usize,
    },
    /// A variant is better than the baseline.
    Finding(&'a Finding),
    /// Variants differ in conditions alone: the best and the worst of them.
    Range {
        /// The best variant.
        best: usize,
        /// The worst.
        worst: usize,
    },
    /// The baseline was not measured, and why where that is known.
    NoBaseline(Option<&'a str>),
    /// Too few rounds compare anything with the baseline.
    TooFewRounds,
    /// Any of this many variants may be the best, and they look too different to choose one.
    Unresolved(usize),
    /// There is nothing to compare the baseline with.
    OnlyBaseline,
    /// The variant that was chosen from many and that its confirmation run does not show to be better.
    Unconfirmed(usize),
    /// This variant is better than the baseline, and does not keep the constraints of the search; no other one is better.
    BreaksConstraints(usize),
    /// No variant is chosen before the baseline.
    NothingBetter(Compared),
}

/// How variants compare with the baseline if none is chosen before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compared {
    /// Better ones that are not distinguishable from it as firmly as a choice requires.
    pub better: usize,
    /// Better ones with trials that failed or were stopped.
    pub better_with_failures: usize,
    /// Better ones that do not keep the constraints of the search.
    pub better_but_breaking: usize,
    /// Worse ones.
    pub worse: usize,
    /// Ones without a detectable difference.
    pub same: usize,
    /// Ones whose intervals exclude no difference, but not after the correction.
    pub lost_in_correction: usize,
    /// Ones that were not compared or not measured.
    pub unknown: usize,
}

impl Compared {
    /// Returns whether every variant was compared, and none has a detectable difference.
    pub fn is_alike(&self) -> bool {
        let better = self.better + self.better_with_failures + self.better_but_breaking;
        better + self.worse + self.lost_in_correction + self.unknown == 0
    }
}

impl ExperimentAnalysis {
    /// Returns the answer, given the finding of the experiment where there is one.
    pub fn answer<'a>(&'a self, finding: Option<&'a Finding>) -> Answer<'a> {
        if self.measures() == Measures::Schedules {
            return self.schedules_counted();
        }
        if self.tries_crashes() {
            return self.tiers_counted();
        }
        let baseline = self.variants.first();
        if baseline.is_none_or(VariantAnalysis::unmeasured) {
            return Answer::NoBaseline(baseline.and_then(|baseline| baseline.problem.as_deref()));
        }
        if let Some(finding) = finding {
            return Answer::Finding(finding);
        }
        if let Some(chosen) = unconfirmed(self) {
            return Answer::Unconfirmed(chosen);
        }
        if let Some(broken) = self.better_but_breaking() {
            return Answer::BreaksConstraints(broken);
        }
        let not_less_safe = |variant: &VariantAnalysis| !self.is_less_safe(variant);
        if let Some(Choice::Unresolved(tied)) = self.choose(not_less_safe) {
            return Answer::Unresolved(tied);
        }
        match self.has_choice() {
            false if self.differs() => self.range(),
            has_choice => self.nothing_better(has_choice),
        }
    }

    /// Returns the best of the variants that are better than the baseline and do not keep the constraints of the search; none
    /// where another that keeps them is better, too.
    fn better_but_breaking(&self) -> Option<usize> {
        let is_better = |index: &usize| self.is_found_better(&self.variants[*index]);
        let better: Vec<usize> = self.ranking.iter().copied().filter(is_better).collect();
        let breaks = |index: &usize| !self.variants[*index].breaks.is_empty();
        let best = better.iter().copied().find(breaks)?;
        better.iter().all(breaks).then_some(best)
    }

    /// Returns whether a variant is an alternative to the baseline: otherwise they differ in conditions alone.
    fn has_choice(&self) -> bool {
        self.variants.iter().skip(1).any(|variant| self.is_alternative(variant))
    }

    fn differs(&self) -> bool {
        let mut effects = self.variants.iter().filter_map(|variant| variant.effect.as_ref());
        effects.any(|effect| effect.is_found())
    }

    fn range(&self) -> Answer<'_> {
        let is_measured =
            |variant: &&usize| self.variants[**variant].summaries.contains_key(&self.metric);
        let mut measured = self.ranking.iter().filter(is_measured);
        let best = measured.next().copied();
        let worst = measured.next_back().copied().or(best);
        match best.zip(worst) {
            Some((best, worst)) => Answer::Range { best, worst },
            None => Answer::NoBaseline(None),
        }
    }

    fn nothing_better(&self, has_choice: bool) -> Answer<'_> {
        let others = self.variants.iter().skip(1);
        let others = others.filter(|variant| !has_choice || self.is_alternative(variant));
        let others: Vec<&VariantAnalysis> = others.collect();
        let count = |wanted: &[ComparisonResult]| {
            let standings = others.iter().map(|variant| variant.compared(&self.metric));
            standings.filter(|result| wanted.contains(result)).count()
        };
        let lost = others.iter().filter(|variant| variant.is_lost_in_correction()).count();
        let better = |is_meant: fn(&VariantAnalysis) -> bool| {
            let better = others.iter().filter(|variant| is_meant(variant));
            let standings = better.map(|variant| variant.compared(&self.metric));
            standings.filter(|result| *result == ComparisonResult::Better).count()
        };
        let compared = Compared {
            better: better(|variant| variant.is_whole() && variant.breaks.is_empty()),
            better_with_failures: better(|variant| !variant.is_whole()),
            better_but_breaking: better(|variant| variant.is_whole() && !variant.breaks.is_empty()),
            worse: count(&[ComparisonResult::Worse]),
            same: count(&[ComparisonResult::Same]) - lost,
            lost_in_correction: lost,
            unknown: count(&[
                ComparisonResult::Uncompared,
                ComparisonResult::NoRatio,
                ComparisonResult::Unmeasured,
            ]),
        };
        match compared.unknown {
            unknown if unknown < others.len() => Answer::NothingBetter(compared),
            _ if count(&[ComparisonResult::Uncompared, ComparisonResult::NoRatio]) > 0 => {
                Answer::TooFewRounds
            }
            _ => Answer::OnlyBaseline,
        }
    }

    fn schedules_counted(&self) -> Answer<'_> {
        let measured = self.variants.iter().filter(|variant| !variant.unmeasured());
        let corrupting = measured.clone().filter(|trial| trial.class().uncrashed);
        Answer::Schedules { corrupting: corrupting.count(), variants: measured.count() }
    }

    fn tiers_counted(&self) -> Answer<'_> {
        let of = |class| {
            (class, self.variants.iter().filter(|variant| variant.class() == class).count())
        };
        Answer::Tiers(self.classes().into_iter().map(of).collect())
    }
}

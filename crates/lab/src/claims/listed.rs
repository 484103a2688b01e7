//! Figures of several variants: orderings, spreads, leads, and the best of all.

use super::evidence::{Evidence, Unable};
use super::figure::Figure;
use super::{Best, Extreme, Listed};
use crate::design::{partners, select};
use crate::level::{Settings, contains, label};
use crate::metric::{self, Better};
use crate::samples::Comparison;
use crate::stats::PooledDifference;

/// What an ordering or a spread compares.
enum Compared {
    /// Variants.
    Variants(Vec<usize>),
    /// Levels, over the whole design.
    Across(Vec<Settings>),
}

impl Compared {
    fn count(&self) -> usize {
        match self {
            Compared::Variants(variants) => variants.len(),
            Compared::Across(levels) => levels.len(),
        }
    }
}

impl Evidence<'_> {
    pub(super) fn ordering(
        &self,
        listed: &Listed,
        metric: &str,
    ) -> Result<(Figure, String), Unable> {
        let compared = self.compared(listed, metric)?;
        let steps = (1..compared.count())
            .map(|next| self.compare_listed(&compared, next - 1, next, metric))
            .collect::<Result<_, _>>()?;
        let names = self.names(&compared, " ≥ ");
        Ok((Figure::Smallest(steps), format!("{metric}: smallest step of {names}")))
    }

    pub(super) fn spread(&self, listed: &Listed, metric: &str) -> Result<(Figure, String), Unable> {
        let compared = self.compared(listed, metric)?;
        let all = 0..compared.count();
        let pairs = all.clone().flat_map(|of| all.clone().map(move |to| (of, to)));
        let ratios = pairs
            .filter(|(of, to)| of != to)
            .map(|(of, to)| self.compare_listed(&compared, of, to, metric))
            .collect::<Result<_, _>>()?;
        let names = self.names(&compared, ", ");
        Ok((Figure::LargestLessOne(ratios), format!("{metric}: largest ÷ smallest − 1 of {names}")))
    }

    /// What is listed: single variants, or levels whose effect is looked at over the whole design.
    fn compared(&self, listed: &Listed, metric: &str) -> Result<Compared, Unable> {
        let wanted = listed.levels(self.experiment);
        if listed.across {
            return Ok(Compared::Across(wanted));
        }
        let mut variants = self.select_all(&wanted)?;
        if listed.without_worst {
            self.remove_worst(&mut variants, metric)?;
        }
        Ok(Compared::Variants(variants))
    }

    fn compare_listed(
        &self,
        compared: &Compared,
        of: usize,
        to: usize,
        metric: &str,
    ) -> Result<Comparison, Unable> {
        match compared {
            Compared::Variants(variants) => self.compare(variants[of], variants[to], metric),
            Compared::Across(levels) => {
                let (comparison, _) = self.compare_across(&levels[of], &levels[to], metric)?;
                Ok(comparison)
            }
        }
    }

    /// The mean over all pairs of measured variants that differ in these levels only, and how many pairs
    /// there are.
    pub(super) fn compare_across(
        &self,
        of: &Settings,
        to: &Settings,
        metric: &str,
    ) -> Result<(Comparison, usize), Unable> {
        let measured = |variant: usize| self.problems[variant].is_none();
        let pairs: Vec<(usize, usize)> = partners(self.variants, of, to)
            .into_iter()
            .filter(|(of, to)| measured(*of) && measured(*to))
            .collect();
        let compared: Vec<usize> = pairs.iter().flat_map(|(of, to)| [*of, *to]).collect();
        self.check_not_nothing(&compared, metric)?;
        let ratios = match self.samples.get(metric) {
            Some(samples) if !pairs.is_empty() => samples.mean_log_ratios(&pairs),
            _ => Vec::new(),
        };
        let comparison = Comparison::new(ratios).ok_or_else(|| {
            Unable::NotMeasured(format!(
                "fewer than two rounds compare {} with {} in {metric} over the whole design",
                label(of),
                label(to)
            ))
        })?;
        Ok((comparison, pairs.len()))
    }

    /// Leaves out the variant with the worst mean.
    fn remove_worst(&self, variants: &mut Vec<usize>, metric: &str) -> Result<(), Unable> {
        let merits = variants
            .iter()
            .map(|variant| self.merit(*variant, metric))
            .collect::<Result<Vec<_>, _>>()?;
        let worst = (0..variants.len()).min_by(|a, b| merits[*a].total_cmp(&merits[*b]));
        if let Some(worst) = worst {
            variants.remove(worst);
        }
        Ok(())
    }

    /// The mean logarithm of a variant's figure over the baseline's, turned so that more is better.
    fn merit(&self, variant: usize, metric: &str) -> Result<f64, Unable> {
        if variant == 0 {
            return self.check_measured(0).map(|()| 0.0);
        }
        let diffs = self.compare(variant, 0, metric)?;
        let mean = diffs.diffs().iter().sum::<f64>() / diffs.rounds() as f64;
        Ok(match metric::find(metric).map(|metric| metric.better) {
            Some(Better::Lower) => -mean,
            _ => mean,
        })
    }

    /// That the best variants hold certain levels means that the last of the best that do is no worse
    /// than the best of all that do not.
    pub(super) fn best(&self, best: &Best, metric: &str) -> Result<(Figure, String), Unable> {
        let (holding, others) = self.by_merit(&best.hold, metric)?;
        let count = best.count(holding.len() + others.len());
        let held = label(&best.hold);
        let (Some(last), Some(rival)) = (holding.get(count - 1), others.first()) else {
            return Err(Unable::NotMeasured(format!(
                "of the variants measured, {} hold {held}, {count} must be the best, and {} do not hold it",
                holding.len(),
                others.len()
            )));
        };
        let better = metric::find(metric).map(|metric| metric.better);
        let [of, to] = match better {
            Some(Better::Lower) => [(&others, 0), (&holding, count - 1)],
            _ => [(&holding, count - 1), (&others, 0)],
        };
        let ratio = self.compare(of.0[of.1], to.0[to.1], metric)?;
        let pooled = self.pooled((of.0, of.1), (to.0, to.1), metric);
        let pooled = pooled.ok_or_else(|| {
            Unable::NotMeasured(format!(
                "too few variants and rounds to estimate the noise of {metric}"
            ))
        })?;
        let measure = format!(
            "{metric}: lead of number {count} of the variants with {held} ({}) over the best without ({})",
            self.name(*last),
            self.name(*rival)
        );
        let figure = Figure::Chosen { ratio, pooled, of: holding.len(), to: others.len() };
        Ok((figure, measure))
    }

    /// The difference in the logarithm between a variant of one group and one of another.
    fn pooled(
        &self,
        of: (&[usize], usize),
        to: (&[usize], usize),
        metric: &str,
    ) -> Option<PooledDifference> {
        let samples = self.samples.get(metric)?;
        let [of_rows, to_rows] = [of.0, to.0].map(|variants| samples.log_rows(variants));
        PooledDifference::new((&of_rows, of.1), (&to_rows, to.1))
    }

    /// The measured variants that hold these levels and those that do not, each from the best on.
    fn by_merit(&self, hold: &Settings, metric: &str) -> Result<(Vec<usize>, Vec<usize>), Unable> {
        let mut all = (0..self.variants.len())
            .filter(|variant| self.problems[*variant].is_none())
            .map(|variant| Ok((self.merit(variant, metric)?, variant)))
            .collect::<Result<Vec<(f64, usize)>, Unable>>()?;
        all.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        Ok(all
            .into_iter()
            .map(|(_, variant)| variant)
            .partition(|variant| contains(&self.variants[*variant].levels, hold)))
    }

    pub(super) fn lead(
        &self,
        extreme: &Extreme,
        metric: &str,
        largest: bool,
    ) -> Result<(Figure, String), Unable> {
        let candidates = self.select_all(&extreme.levels())?;
        let all = match &extreme.over {
            Some(factor) => self.select_all(&self.experiment.levels_over(factor, &extreme.at))?,
            None => (0..self.variants.len()).collect(),
        };
        let rivals: Vec<usize> =
            all.into_iter().filter(|variant| !candidates.contains(variant)).collect();
        let lead = |candidate: usize, rival: usize| match largest {
            true => self.compare(candidate, rival, metric),
            false => self.compare(rival, candidate, metric),
        };
        let leads =
            |candidate: &usize| rivals.iter().map(|rival| lead(*candidate, *rival)).collect();
        let ratios = candidates.iter().map(leads).collect::<Result<_, _>>()?;
        let word = if largest { "largest" } else { "smallest" };
        let measure = format!(
            "{metric}: lead of {} as the {word} over the rest",
            self.labels(&candidates, " or ")
        );
        Ok((Figure::Lead(ratios), measure))
    }

    fn select_all(&self, wanted: &[Settings]) -> Result<Vec<usize>, Unable> {
        let variants = wanted.iter().map(|wanted| select(self.variants, wanted));
        Ok(variants.collect::<Result<_, _>>()?)
    }

    fn names(&self, compared: &Compared, between: &str) -> String {
        match compared {
            Compared::Variants(variants) => self.labels(variants, between),
            Compared::Across(levels) => {
                let labels: Vec<String> = levels.iter().map(label).collect();
                format!("{}, over the whole design", labels.join(between))
            }
        }
    }
}

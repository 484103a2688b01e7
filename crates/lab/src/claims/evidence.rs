//! What is known when claims are judged, and how the figure of each form of claim is made of it.

use std::collections::BTreeMap;

use super::figure::Figure;
use super::{Best, DeviceKind, Devices, Extreme, Form, Listed, Pair, Pairs, Precondition, Single};
use crate::design::{Variant, VariantsError, partners, select};
use crate::environment::FSYNC_CLAIM_MEDIAN_NS;
use crate::experiment::Experiment;
use crate::level::{Settings, contains, label};
use crate::metric::{self, Better};
use crate::samples::{Comparison, Samples};
use crate::stats::PooledDifference;

/// What is known when the claims of an experiment are judged.
#[derive(Clone, Copy)]
pub struct Evidence<'a> {
    /// The experiment.
    pub experiment: &'a Experiment,
    /// Its variants, the baseline first.
    pub variants: &'a [Variant],
    /// The figures of every metric that claims name.
    pub samples: &'a BTreeMap<String, Samples>,
    /// For each variant, why it has no measurement; none where it has.
    pub problems: &'a [Option<String>],
    /// For each variant, how many of its trials failed and why, where some did: what the others measured
    /// does not tell that nothing went wrong.
    pub failures: &'a [Option<String>],
    /// Median fsync latency of the measured directory in nanoseconds, where it was probed.
    pub fsync_median_ns: Option<u64>,
    /// The file system of the measured directory, such as `ext4`; none where it is not known.
    pub file_system: Option<&'a str>,
    /// The same experiment on every directory of the run, this one among them.
    pub devices: &'a [DeviceLevels],
}

/// One experiment on one directory, as far as comparisons of devices need it.
#[derive(Clone, Debug, Default)]
pub struct DeviceLevels {
    /// Kind of the device; none where it does not say.
    pub kind: Option<DeviceKind>,
    /// By metric: the level of all variants together in each round, as a logarithm.
    pub levels: BTreeMap<String, Vec<f64>>,
}

/// Why a claim has no figure.
pub(super) enum Unable {
    /// It does not apply here.
    NotApplicable(String),
    /// It applies but was not measured.
    NotMeasured(String),
}

impl From<VariantsError> for Unable {
    fn from(error: VariantsError) -> Self {
        // The checks of the experiment found a variant for every claim, so the scale has left it out.
        Unable::NotMeasured(format!("at this scale {error}"))
    }
}

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

/// Whether the figure is made of as many variants as were measured.
fn is_over_the_design(form: Form<'_>) -> bool {
    match form {
        Form::Ratio(pair) | Form::Equal(pair) => pair.across,
        Form::Ordering(listed) | Form::Spread(listed) => listed.across,
        Form::Best(_) => true,
        _ => false,
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

    /// Whether the claim speaks of this file system.
    pub(super) fn check_file_system(&self, wanted: &[String]) -> Result<(), Unable> {
        let here = self.file_system.unwrap_or("one that is not known");
        if wanted.is_empty() || wanted.iter().any(|name| name == here) {
            return Ok(());
        }
        Err(Unable::NotApplicable(format!(
            "it speaks of {}; the file system here is {here}",
            wanted.join(" and ")
        )))
    }

    /// Whether every trial of the variants behind an exact figure was measured. What has to hold each time
    /// may seem to hold only because the trials in which it did not have failed.
    pub(super) fn check_failures(&self, form: Form<'_>, metric: &str) -> Result<(), Unable> {
        // Those leave variants out that have a problem.
        if is_over_the_design(form)
            && let Some(why) = self.failures.iter().flatten().next()
        {
            return Err(Unable::NotMeasured(why.clone()));
        }
        let has_ratios = !matches!(form, Form::Value(_));
        let problems = self.problems.iter().zip(self.failures).enumerate();
        let problems: Vec<Option<String>> = problems
            .map(|(variant, (problem, failures))| {
                let zero = || {
                    has_ratios
                        .then(|| self.without_ratio(variant, metric))
                        .flatten()
                };
                problem.clone().or_else(|| failures.clone()).or_else(zero)
            })
            .collect();
        let strict = Evidence {
            problems: &problems,
            ..*self
        };
        strict.figure(form, metric, true).map(drop)
    }

    /// Why a variant has rounds that no ratio tells of: a figure is 0, and those of other variants in the round are
    /// not. Where all are 0, they are the same.
    fn without_ratio(&self, variant: usize, metric: &str) -> Option<String> {
        let samples = self.samples.get(metric)?;
        let variants: Vec<BTreeMap<u32, Vec<f64>>> = (0..self.variants.len())
            .map(|variant| samples.all_by_round(variant))
            .collect();
        let all_are_zero = |round: &u32| {
            let mut figures = variants
                .iter()
                .filter_map(|variant| variant.get(round))
                .flatten();
            figures.all(|figure| *figure == 0.0)
        };
        let rounds = variants[variant].iter();
        let zeros =
            rounds.filter(|(round, figures)| figures.contains(&0.0) && !all_are_zero(round));
        match zeros.count() {
            0 => None,
            rounds => Some(format!(
                "{metric} is 0 in {rounds} of its rounds, which has no ratio"
            )),
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
            Form::Best(best) => self.best(best, metric),
            Form::Devices(devices) => self.devices(devices, metric),
        }
    }

    /// Two figures of the same trials.
    fn ratio_of_metrics(
        &self,
        of: &Settings,
        metric: &str,
        to_metric: &str,
    ) -> Result<(Figure, String), Unable> {
        let variant = self.variant(of)?;
        let measure = format!("{metric} ÷ {to_metric} of {}", self.name(variant));
        let ratios = self
            .both(metric, to_metric)
            .map(|(upper, lower)| upper.log_ratios_to_metric(lower, variant));
        ratio_by_round(ratios, measure)
    }

    fn both(&self, metric: &str, to_metric: &str) -> Option<(&Samples, &Samples)> {
        self.samples.get(metric).zip(self.samples.get(to_metric))
    }

    /// How a ratio of two figures of the same trials differs between two variants.
    fn ratio_of_metrics_compared(
        &self,
        pairs: &Pairs,
        metric: &str,
        to_metric: &str,
    ) -> Result<(Figure, String), Unable> {
        let (variant, over) = (self.variant(&pairs.of)?, self.variant(&pairs.over_of)?);
        let measure = format!(
            "({metric} ÷ {to_metric}) of {} ÷ that of {}",
            self.name(variant),
            self.name(over)
        );
        let ratios = self
            .both(metric, to_metric)
            .map(|(upper, lower)| upper.log_ratios_to_metric_compared(lower, variant, over));
        ratio_by_round(ratios, measure)
    }

    fn ratio(&self, pair: &Pair, metric: &str) -> Result<(Figure, String), Unable> {
        if let Some(to_metric) = &pair.to_metric {
            return self.ratio_of_metrics(&pair.of, metric, to_metric);
        }
        if pair.across {
            let (comparison, pairs) = self.compare_across(&pair.of, &pair.to, metric)?;
            let (of, to) = (label(&pair.of), label(&pair.to));
            let measure = format!("{metric}: {of} ÷ {to}, mean over {pairs} pairs of variants");
            return Ok((Figure::Ratio(comparison), measure));
        }
        let (of, to) = (
            select(self.variants, &pair.of)?,
            select(self.variants, &pair.to)?,
        );
        let measure = format!("{metric}: {} ÷ {}", self.name(of), self.name(to));
        Ok((Figure::Ratio(self.compare(of, to, metric)?), measure))
    }

    fn ratio_of_ratios(&self, pairs: &Pairs, metric: &str) -> Result<(Figure, String), Unable> {
        if let Some(to_metric) = &pairs.to_metric {
            return self.ratio_of_metrics_compared(pairs, metric, to_metric);
        }
        let [of, to, over_of, over_to] = [&pairs.of, &pairs.to, &pairs.over_of, &pairs.over_to];
        let variants = [
            self.variant(of)?,
            self.variant(to)?,
            self.variant(over_of)?,
            self.variant(over_to)?,
        ];
        let ratios = self
            .samples
            .get(metric)
            .map(|samples| samples.log_ratios_of_ratios(variants));
        let [of, to, over_of, over_to] = variants.map(|variant| self.name(variant));
        let measure = format!("{metric}: ({of} ÷ {to}) ÷ ({over_of} ÷ {over_to})");
        ratio_by_round(ratios, measure)
    }

    /// Rounds on different devices are not measured side by side, so that nothing but their number
    /// pairs them: the interval is then that of two independent series.
    fn devices(&self, wanted: &Devices, metric: &str) -> Result<(Figure, String), Unable> {
        let levels_on = |kind: DeviceKind| {
            let device = self.devices.iter().find(|on| on.kind == Some(kind));
            let levels = device.and_then(|device| device.levels.get(metric));
            levels.ok_or_else(|| {
                Unable::NotApplicable(format!(
                    "it needs the experiment on {kind} too: give `--dir` once for each"
                ))
            })
        };
        let (of, to) = (levels_on(wanted.of)?, levels_on(wanted.to)?);
        let diffs: Vec<f64> = of.iter().zip(to).map(|(of, to)| of - to).collect();
        let measure = format!("{metric} of all variants: {} ÷ {}", wanted.of, wanted.to);
        ratio_by_round(Some(diffs), measure)
    }

    /// A figure by itself. Where it must hold exactly it is taken as it is; else by its logarithms in
    /// place of log-ratios, so that estimate and interval are in the unit of the metric.
    fn value(
        &self,
        single: &Single,
        metric: &str,
        exact: bool,
    ) -> Result<(Figure, String), Unable> {
        let variant = self.variant(&single.of)?;
        let measure = format!("{metric} of {}", self.name(variant));
        let samples = self.samples.get(metric);
        let all = samples.map(|samples| samples.all_by_round(variant));
        if let Some(all) = all.filter(|all| exact && !all.is_empty()) {
            return Ok((Figure::Plain(all.into_values().collect()), measure));
        }
        let logs = samples.map(|samples| samples.mean_log_by_round(variant));
        ratio_by_round(logs, measure)
    }

    /// The variant that is meant, which must have been measured.
    fn variant(&self, levels: &Settings) -> Result<usize, Unable> {
        let variant = select(self.variants, levels)?;
        match &self.problems[variant] {
            Some(problem) => Err(Unable::NotMeasured(format!(
                "{}: {problem}",
                self.name(variant)
            ))),
            None => Ok(variant),
        }
    }

    fn ordering(&self, listed: &Listed, metric: &str) -> Result<(Figure, String), Unable> {
        let compared = self.compared(listed, metric)?;
        let steps = (1..compared.count())
            .map(|next| self.compare_listed(&compared, next - 1, next, metric))
            .collect::<Result<_, _>>()?;
        let names = self.names(&compared, " ≥ ");
        Ok((
            Figure::Smallest(steps),
            format!("{metric}: smallest step of {names}"),
        ))
    }

    fn spread(&self, listed: &Listed, metric: &str) -> Result<(Figure, String), Unable> {
        let compared = self.compared(listed, metric)?;
        let mut ratios = Vec::new();
        for of in 0..compared.count() {
            for to in (0..compared.count()).filter(|to| *to != of) {
                ratios.push(self.compare_listed(&compared, of, to, metric)?);
            }
        }
        let names = self.names(&compared, ", ");
        Ok((
            Figure::LargestLessOne(ratios),
            format!("{metric}: largest ÷ smallest − 1 of {names}"),
        ))
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
    fn compare_across(
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
            return match &self.problems[0] {
                Some(problem) => Err(Unable::NotMeasured(problem.clone())),
                None => Ok(0.0),
            };
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
    fn best(&self, best: &Best, metric: &str) -> Result<(Figure, String), Unable> {
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
        let lower_is_better =
            metric::find(metric).map(|metric| metric.better) == Some(Better::Lower);
        let (ratio, pooled) = if lower_is_better {
            let pooled = self.pooled((&others, 0), (&holding, count - 1), metric);
            (self.compare(*rival, *last, metric)?, pooled)
        } else {
            let pooled = self.pooled((&holding, count - 1), (&others, 0), metric);
            (self.compare(*last, *rival, metric)?, pooled)
        };
        let pooled = pooled.ok_or_else(|| {
            Unable::NotMeasured(format!(
                "too few variants and rounds tell the noise of {metric}"
            ))
        })?;
        let measure = format!(
            "{metric}: lead of number {count} of the variants with {held} ({}) over the best without ({})",
            self.name(*last),
            self.name(*rival)
        );
        let figure = Figure::Chosen {
            ratio,
            pooled,
            of: holding.len(),
            to: others.len(),
        };
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

    fn lead(
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
        let rivals: Vec<usize> = all
            .into_iter()
            .filter(|variant| !candidates.contains(variant))
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

    fn select_all(&self, wanted: &[Settings]) -> Result<Vec<usize>, Unable> {
        let variants = wanted.iter().map(|wanted| select(self.variants, wanted));
        Ok(variants.collect::<Result<_, _>>()?)
    }

    fn compare(&self, of: usize, to: usize, metric: &str) -> Result<Comparison, Unable> {
        for variant in [of, to] {
            if let Some(problem) = &self.problems[variant] {
                return Err(Unable::NotMeasured(format!(
                    "{}: {problem}",
                    self.name(variant)
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
                self.name(of),
                self.name(to)
            ))
        })
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

    fn labels(&self, variants: &[usize], between: &str) -> String {
        let names: Vec<&str> = variants.iter().map(|variant| self.name(*variant)).collect();
        names.join(between)
    }

    fn name(&self, variant: usize) -> &str {
        self.variants[variant].name_or_label()
    }
}

/// A ratio by its logarithms in each round, of which there must be two.
fn ratio_by_round(logs: Option<Vec<f64>>, measure: String) -> Result<(Figure, String), Unable> {
    match Comparison::new(logs.unwrap_or_default()) {
        Some(comparison) => Ok((Figure::Ratio(comparison), measure)),
        None => Err(Unable::NotMeasured(format!(
            "fewer than two rounds measure {measure}"
        ))),
    }
}

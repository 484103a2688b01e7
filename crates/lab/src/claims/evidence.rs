//! The evidence by which claims are judged, and the figure of each form of claim.

use std::collections::BTreeMap;

use super::figure::Figure;
use super::{
    Best, Claim, DeviceKind, Devices, Extreme, Form, Listed, Pair, Pairs, Precondition, Single,
};
use crate::design::{Variant, VariantsError, partners, select};
use crate::environment::FsyncLatency;
use crate::experiment::{Experiment, Scale};
use crate::level::{Settings, contains, label, levels_over};
use crate::metric::{self, Better};
use crate::samples::{Comparison, Samples};
use crate::stats::PooledDifference;

/// The result of looking for the evidence of a claim.
pub(super) type Result<T, E = Unable> = std::result::Result<T, E>;

/// A figure, and in words what it measures.
pub(super) type Measured = (Figure, String);

/// The evidence by which the claims of an experiment are judged.
#[derive(Clone, Copy)]
pub struct Evidence<'a> {
    /// The experiment.
    pub experiment: &'a Experiment,
    /// Its variants, the baseline first.
    pub variants: &'a [Variant],
    /// The figures of every metric that claims name.
    pub samples: &'a BTreeMap<String, Samples>,
    /// For each variant, why it has no measurement; `None` if it has.
    pub problems: &'a [Option<String>],
    /// For each variant, how many of its trials failed and why, where some did: what the others measured
    /// does not show that nothing went wrong.
    pub failures: &'a [Option<String>],
    /// How large the data is.
    pub scale: Scale,
    /// The price of an fsync in the measured directory while the experiment ran, where it was probed.
    pub fsync: Option<FsyncLatency>,
    /// The file system of the measured directory, such as `ext4`; `None` if it is not known.
    pub file_system: Option<&'a str>,
    /// The same experiment on every directory of the run, this one among them.
    pub devices: &'a [DeviceLevels],
}

/// One experiment on one directory, as far as comparisons of devices need it.
#[derive(Clone, Debug, Default)]
pub struct DeviceLevels {
    /// Kind of the device; `None` if it does not say.
    pub kind: Option<DeviceKind>,
    /// By metric: the level of all variants together in each round, as a logarithm.
    pub levels: BTreeMap<String, Vec<f64>>,
    /// By metric: the figures of each variant.
    pub samples: BTreeMap<String, Samples>,
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

/// Returns whether the figure is made of as many variants as were measured.
fn is_over_the_design(form: Form<'_>) -> bool {
    match form {
        Form::Ratio(pair) | Form::Equal(pair) => pair.across,
        Form::Ordering(listed) | Form::Spread(listed) => listed.across,
        Form::Best(_) => true,
        _ => false,
    }
}

impl Evidence<'_> {
    /// Returns why the claim does not apply to this machine, where it does not.
    pub(super) fn why_not_here(&self, claim: &Claim) -> Option<String> {
        self.why_not_on_file_system(&claim.file_systems)
            .or_else(|| claim.requires.iter().find_map(|precondition| self.why_not(*precondition)))
    }

    /// Which sizes the scale of the run lacks, where the claim cannot be judged without them.
    pub(super) fn why_not_at_scale(&self, claim: &Claim) -> Option<String> {
        let lacks = claim.not_at.get(&self.scale)?;
        Some(format!("not at this scale ({}): {lacks}", self.scale))
    }

    fn why_not(&self, precondition: Precondition) -> Option<String> {
        let Precondition::Fsync = precondition;
        let here = match self.fsync {
            Some(fsync) if fsync.has_a_price() => return None,
            Some(fsync) => format!("; here it is {fsync}"),
            None => ", which was not measured".to_owned(),
        };
        Some(format!("it requires {precondition}{here}"))
    }

    fn why_not_on_file_system(&self, wanted: &[String]) -> Option<String> {
        let here = self.file_system.unwrap_or("unknown");
        let applies = wanted.is_empty() || wanted.iter().any(|name| name == here);
        (!applies).then(|| {
            format!("it applies to {} only; the file system here is {here}", wanted.join(" and "))
        })
    }

    /// Returns whether every trial of the variants behind an exact figure was measured. What has to hold each time
    /// may seem to hold only because the trials in which it did not have failed.
    pub(super) fn check_failures(&self, form: Form<'_>, metric: &str) -> Result<()> {
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
                let zero = || has_ratios.then(|| self.without_ratio(variant, metric))?;
                problem.clone().or_else(|| failures.clone()).or_else(zero)
            })
            .collect();
        let strict = Evidence { problems: &problems, ..*self };
        strict.figure(form, metric, true).map(drop)
    }

    /// Returns why a variant has rounds that no ratio tells of: a figure is 0. Where all are, nothing was compared.
    fn without_ratio(&self, variant: usize, metric: &str) -> Option<String> {
        let rounds = self.samples.get(metric)?.all_by_round(variant);
        match rounds.values().filter(|figures| figures.contains(&0.0)).count() {
            0 => None,
            rounds => {
                Some(format!("{metric} is 0 in {rounds} of its rounds, which gives no ratio"))
            }
        }
    }

    pub(super) fn figure(&self, form: Form<'_>, metric: &str, exact: bool) -> Result<Measured> {
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
            Form::SameOrder(devices) => self.same_order(devices, metric),
        }
    }

    /// Two figures of the same trials.
    fn ratio_of_metrics(&self, of: &Settings, metric: &str, to_metric: &str) -> Result<Measured> {
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

    /// Returns how a ratio of two figures of the same trials differs between two variants.
    fn ratio_of_metrics_compared(
        &self,
        pairs: &Pairs,
        metric: &str,
        to_metric: &str,
    ) -> Result<Measured> {
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

    fn ratio(&self, pair: &Pair, metric: &str) -> Result<Measured> {
        if let Some(to_metric) = &pair.to_metric {
            return self.ratio_of_metrics(&pair.of, metric, to_metric);
        }
        if pair.across {
            let (comparison, pairs) = self.compare_across(&pair.of, &pair.to, metric)?;
            let (of, to) = (label(&pair.of), label(&pair.to));
            let measure = format!("{metric}: {of} ÷ {to}, mean over {pairs} pairs of variants");
            return Ok((Figure::Ratio(comparison), measure));
        }
        let (of, to) = (select(self.variants, &pair.of)?, select(self.variants, &pair.to)?);
        let measure = format!("{metric}: {} ÷ {}", self.name(of), self.name(to));
        Ok((Figure::Ratio(self.compare(of, to, metric)?), measure))
    }

    fn ratio_of_ratios(&self, pairs: &Pairs, metric: &str) -> Result<Measured> {
        if let Some(to_metric) = &pairs.to_metric {
            return self.ratio_of_metrics_compared(pairs, metric, to_metric);
        }
        let [of, to, over_of, over_to] = [&pairs.of, &pairs.to, &pairs.over_of, &pairs.over_to];
        let variants =
            [self.variant(of)?, self.variant(to)?, self.variant(over_of)?, self.variant(over_to)?];
        let ratios = self.samples.get(metric).map(|samples| samples.log_ratios_of_ratios(variants));
        let [of, to, over_of, over_to] = variants.map(|variant| self.name(variant));
        let measure = format!("{metric}: ({of} ÷ {to}) ÷ ({over_of} ÷ {over_to})");
        ratio_by_round(ratios, measure)
    }

    /// Returns a figure by itself. Where it must hold exactly it is taken as it is; else by its logarithms in
    /// place of log-ratios, so that estimate and interval are in the unit of the metric.
    fn value(&self, single: &Single, metric: &str, exact: bool) -> Result<Measured> {
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

    /// Returns the variant that is meant, which must have been measured.
    fn variant(&self, levels: &Settings) -> Result<usize> {
        let variant = select(self.variants, levels)?;
        self.check_measured(variant)?;
        Ok(variant)
    }

    pub(super) fn check_measured(&self, variant: usize) -> Result<()> {
        match &self.problems[variant] {
            Some(problem) => {
                let name = self.name(variant);
                Err(Unable::NotMeasured(format!("{name}: {problem}")))
            }
            None => Ok(()),
        }
    }

    pub(super) fn compare(&self, of: usize, to: usize, metric: &str) -> Result<Comparison> {
        self.check_measured(of)?;
        self.check_measured(to)?;
        self.check_not_nothing(&[of, to], metric)?;
        let ratios =
            self.samples.get(metric).map(|samples| samples.log_ratios(of, to)).unwrap_or_default();
        Comparison::new(ratios).ok_or_else(|| {
            Unable::NotMeasured(format!(
                "fewer than two rounds compare {} with {} in {metric}",
                self.name(of),
                self.name(to)
            ))
        })
    }

    /// Nothing compared with nothing is the same by definition, which shows nothing.
    pub(super) fn check_not_nothing(&self, variants: &[usize], metric: &str) -> Result<()> {
        let figures_of = |variant: &usize| Some(self.samples.get(metric)?.values(*variant));
        let figures: Vec<f64> = variants.iter().filter_map(figures_of).flatten().collect();
        if figures.is_empty() || figures.iter().any(|figure| *figure != 0.0) {
            return Ok(());
        }
        Err(Unable::NotMeasured(format!(
            "{metric} is 0 in every trial of {}, so nothing was compared",
            self.labels(variants, " and ")
        )))
    }

    pub(super) fn labels(&self, variants: &[usize], between: &str) -> String {
        let names: Vec<&str> = variants.iter().map(|variant| self.name(*variant)).collect();
        names.join(between)
    }

    pub(super) fn name(&self, variant: usize) -> &str {
        self.variants[variant].name_or_label()
    }
}

/// Returns a ratio by its logarithms in each round, at least two.
pub(super) fn ratio_by_round(logs: Option<Vec<f64>>, measure: String) -> Result<Measured> {
    match Comparison::new(logs.unwrap_or_default()) {
        Some(comparison) => Ok((Figure::Ratio(comparison), measure)),
        None => Err(Unable::NotMeasured(format!("fewer than two rounds measure {measure}"))),
    }
}

/// The items that an ordering or a spread compares.
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
    pub(super) fn ordering(&self, listed: &Listed, metric: &str) -> Result<Measured> {
        let compared = self.compared(listed, metric)?;
        let steps = (1..compared.count())
            .map(|next| self.compare_listed(&compared, next - 1, next, metric))
            .collect::<Result<_, _>>()?;
        let names = self.names(&compared, " ≥ ");
        Ok((Figure::Smallest(steps), format!("{metric}: smallest step of {names}")))
    }

    pub(super) fn spread(&self, listed: &Listed, metric: &str) -> Result<Measured> {
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

    /// Returns the listed items: single variants, or levels whose effect is looked at over the whole design.
    fn compared(&self, listed: &Listed, metric: &str) -> Result<Compared> {
        let wanted = listed.levels(&self.experiment.factors);
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
    ) -> Result<Comparison> {
        match compared {
            Compared::Variants(variants) => self.compare(variants[of], variants[to], metric),
            Compared::Across(levels) => {
                let (comparison, _) = self.compare_across(&levels[of], &levels[to], metric)?;
                Ok(comparison)
            }
        }
    }

    /// Returns the mean over all pairs of measured variants that differ in these levels only, and how many pairs
    /// there are.
    pub(super) fn compare_across(
        &self,
        of: &Settings,
        to: &Settings,
        metric: &str,
    ) -> Result<(Comparison, usize)> {
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
    fn remove_worst(&self, variants: &mut Vec<usize>, metric: &str) -> Result<()> {
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

    /// Returns the mean logarithm of a variant's figure over the baseline's, turned so that more is better.
    fn merit(&self, variant: usize, metric: &str) -> Result<f64> {
        if variant == 0 {
            return self.check_measured(0).map(|()| 0.0);
        }
        let diffs = self.compare(variant, 0, metric)?;
        let mean = diffs.diffs.iter().sum::<f64>() / diffs.rounds() as f64;
        Ok(match metric::find(metric).map(|metric| metric.better) {
            Some(Better::Lower) => -mean,
            _ => mean,
        })
    }

    /// That the best variants hold certain levels means that the last of the best that do is not worse
    /// than the best of all that do not.
    pub(super) fn best(&self, best: &Best, metric: &str) -> Result<Measured> {
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
        let pooled = self.pooled((of.0, of.1), (to.0, to.1), metric).ok_or_else(|| {
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

    /// Returns the difference in the logarithm between a variant of one group and one of another.
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

    /// Returns the measured variants that hold these levels and those that do not, each from the best on.
    fn by_merit(&self, hold: &Settings, metric: &str) -> Result<(Vec<usize>, Vec<usize>)> {
        let mut all = (0..self.variants.len())
            .filter(|variant| self.problems[*variant].is_none())
            .map(|variant| Ok((self.merit(variant, metric)?, variant)))
            .collect::<Result<Vec<(f64, usize)>>>()?;
        all.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        Ok(all
            .into_iter()
            .map(|(_, variant)| variant)
            .partition(|variant| contains(&self.variants[*variant].levels, hold)))
    }

    pub(super) fn lead(&self, extreme: &Extreme, metric: &str, largest: bool) -> Result<Measured> {
        let candidates = self.select_all(&extreme.levels())?;
        let all = match &extreme.over {
            Some(factor) => {
                self.select_all(&levels_over(&self.experiment.factors, factor, &extreme.at))?
            }
            None => (0..self.variants.len()).collect(),
        };
        let rivals: Vec<usize> =
            all.into_iter().filter(|variant| !candidates.contains(variant)).collect();
        let lead = |candidate: usize, rival: usize| {
            if largest {
                self.compare(candidate, rival, metric)
            } else {
                self.compare(rival, candidate, metric)
            }
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

    fn select_all(&self, wanted: &[Settings]) -> Result<Vec<usize>> {
        Ok(wanted.iter().map(|wanted| select(self.variants, wanted)).collect::<Result<_, _>>()?)
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

impl Evidence<'_> {
    /// Rounds on different devices are not measured side by side, so that nothing but their number
    /// pairs them: the interval is then the one of two independent series.
    pub(super) fn devices(&self, wanted: &Devices, metric: &str) -> Result<Measured> {
        let (of, to) = (self.device(wanted.of)?, self.device(wanted.to)?);
        self.check_same_variants(wanted, metric)?;
        let measure = format!("{metric} of all variants: {} ÷ {}", wanted.of, wanted.to);
        let diffs = of
            .levels
            .get(metric)
            .zip(to.levels.get(metric))
            .map(|(of, to)| of.iter().zip(to).map(|(of, to)| of - to).collect());
        ratio_by_round(diffs, measure)
    }

    /// Returns the order is the same where no two variants change places: the figure is the largest ratio by which
    /// one leads another on one device and trails it on the other.
    pub(super) fn same_order(&self, wanted: &Devices, metric: &str) -> Result<Measured> {
        let (of, to) = (self.device(wanted.of)?, self.device(wanted.to)?);
        self.check_same_variants(wanted, metric)?;
        let both = of.samples.get(metric).zip(to.samples.get(metric));
        let changes = both.map(|both| self.changes_of_places(both));
        let changes = changes.filter(|all| !all.is_empty()).ok_or_else(|| {
            Unable::NotMeasured(format!(
                "no two variants were measured in two rounds on both devices in {metric}"
            ))
        })?;
        let measure = format!(
            "{metric}: largest change of places of two variants between {} and {}",
            wanted.of, wanted.to
        );
        Ok((Figure::Lead(changes), measure))
    }

    /// Refuses devices on which different variants were measured: where only the slow ones are missing on one, neither its
    /// level nor its order describes all variants.
    fn check_same_variants(&self, wanted: &Devices, metric: &str) -> Result<()> {
        let measured = |kind: DeviceKind| -> Result<Vec<bool>> {
            let samples = self.device(kind)?.samples.get(metric);
            let has = |variant| samples.is_some_and(|samples| !samples.values(variant).is_empty());
            Ok((0..self.variants.len()).map(has).collect())
        };
        let (of, to) = (measured(wanted.of)?, measured(wanted.to)?);
        (0..of.len()).find(|variant| of[*variant] != to[*variant]).map_or(Ok(()), |variant| {
            let label = &self.variants[variant].label;
            Err(Unable::NotMeasured(format!("{label} was measured on one of the two devices only")))
        })
    }

    /// For each two variants in either order: the ratio on the one device, and its inverse on the other.
    fn changes_of_places(&self, (one, other): (&Samples, &Samples)) -> Vec<Vec<Comparison>> {
        let all = 0..self.variants.len();
        let pairs = all.clone().flat_map(|a| all.clone().map(move |b| (a, b)));
        let change = |(a, b): (usize, usize)| {
            let there = Comparison::new(one.log_ratios(a, b))?;
            let back = Comparison::new(other.log_ratios(b, a))?;
            Some(vec![there, back])
        };
        pairs.filter_map(change).collect()
    }

    fn device(&self, kind: DeviceKind) -> Result<&DeviceLevels> {
        self.devices.iter().find(|on| on.kind == Some(kind)).ok_or_else(|| {
            Unable::NotApplicable(format!(
                "it requires the experiment on {kind} too: give `--dir` once for each"
            ))
        })
    }
}

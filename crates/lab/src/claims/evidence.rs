//! What is known when claims are judged, and how the figure of each form of claim is made of it.

use std::collections::BTreeMap;

use super::figure::Figure;
use super::{Claim, DeviceKind, Form, Pair, Pairs, Precondition, Single};
use crate::design::{Variant, VariantsError, select};
use crate::environment::FsyncCourse;
use crate::experiment::{Experiment, Scale};
use crate::level::{Settings, label};
use crate::samples::{Comparison, Samples};

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
    /// does not show that nothing went wrong.
    pub failures: &'a [Option<String>],
    /// How large the data is.
    pub scale: Scale,
    /// The price of an fsync in the measured directory while the experiment ran, where it was probed.
    pub fsync: Option<FsyncCourse>,
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
    /// Why the claim does not apply to this machine, where it does not.
    pub(super) fn why_not_here(&self, claim: &Claim) -> Option<String> {
        self.why_not_on_file_system(&claim.file_systems)
            .or_else(|| claim.requires.iter().find_map(|it| self.why_not(*it)))
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
                let zero = || has_ratios.then(|| self.without_ratio(variant, metric))?;
                problem.clone().or_else(|| failures.clone()).or_else(zero)
            })
            .collect();
        let strict = Evidence { problems: &problems, ..*self };
        strict.figure(form, metric, true).map(drop)
    }

    /// Why a variant has rounds that no ratio tells of: a figure is 0. Where all are, nothing was compared.
    fn without_ratio(&self, variant: usize, metric: &str) -> Option<String> {
        let rounds = self.samples.get(metric)?.all_by_round(variant);
        let zeros = rounds.values().filter(|figures| figures.contains(&0.0));
        match zeros.count() {
            0 => None,
            rounds => {
                Some(format!("{metric} is 0 in {rounds} of its rounds, which gives no ratio"))
            }
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
            Form::SameOrder(devices) => self.same_order(devices, metric),
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
        let (of, to) = (select(self.variants, &pair.of)?, select(self.variants, &pair.to)?);
        let measure = format!("{metric}: {} ÷ {}", self.name(of), self.name(to));
        Ok((Figure::Ratio(self.compare(of, to, metric)?), measure))
    }

    fn ratio_of_ratios(&self, pairs: &Pairs, metric: &str) -> Result<(Figure, String), Unable> {
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
        self.check_measured(variant)?;
        Ok(variant)
    }

    pub(super) fn check_measured(&self, variant: usize) -> Result<(), Unable> {
        match &self.problems[variant] {
            Some(problem) => {
                let name = self.name(variant);
                Err(Unable::NotMeasured(format!("{name}: {problem}")))
            }
            None => Ok(()),
        }
    }

    pub(super) fn compare(&self, of: usize, to: usize, metric: &str) -> Result<Comparison, Unable> {
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
    pub(super) fn check_not_nothing(&self, variants: &[usize], metric: &str) -> Result<(), Unable> {
        let figures_of = |variant: &usize| Some(self.samples.get(metric)?.values(*variant));
        let figures = variants.iter().filter_map(figures_of).flatten();
        let figures: Vec<f64> = figures.collect();
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

/// A ratio by its logarithms in each round, of which there must be two.
pub(super) fn ratio_by_round(
    logs: Option<Vec<f64>>,
    measure: String,
) -> Result<(Figure, String), Unable> {
    match Comparison::new(logs.unwrap_or_default()) {
        Some(comparison) => Ok((Figure::Ratio(comparison), measure)),
        None => Err(Unable::NotMeasured(format!("fewer than two rounds measure {measure}"))),
    }
}

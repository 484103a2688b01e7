//! Checks of an experiment against what exists: names, levels, variants and claims.

use std::collections::{BTreeMap, BTreeSet};

use super::parse::Findings;
use super::positions::Step;
use super::{DesignKind, Experiment, Scale};
use crate::catalogue::{Catalogue, WorkloadInfo};
use crate::design::variants;
use crate::level::{Level, Settings};
use crate::metric;

/// Notes every problem of a well-formed experiment.
pub(super) fn check(experiment: &Experiment, catalogue: &Catalogue, findings: &mut Findings<'_>) {
    check_id(&experiment.id, findings);
    check_metric(
        &[Step::from("metric")],
        &experiment.metric,
        catalogue.workload(&experiment.workload),
        findings,
    );
    let Some(workload) = catalogue.workload(&experiment.workload) else {
        let known = catalogue
            .workloads
            .iter()
            .map(|workload| workload.name.as_str());
        let what = format!("unknown workload `{}`", experiment.workload);
        findings.unknown(&["workload".into()], what, &experiment.workload, known);
        return;
    };
    Checker {
        experiment,
        catalogue,
        workload,
        findings,
    }
    .check_everything();
}

fn check_id(id: &str, findings: &mut Findings<'_>) {
    let well_formed = !id.is_empty()
        && id
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
    if !well_formed {
        findings.at(
            &["id".into()],
            format!("the id `{id}` must be lower-case letters, digits and hyphens"),
        );
    }
}

pub(super) fn check_metric(
    path: &[Step],
    name: &str,
    workload: Option<&WorkloadInfo>,
    findings: &mut Findings<'_>,
) {
    if metric::find(name).is_none() {
        let known = metric::METRICS.iter().map(|metric| metric.name);
        findings.unknown(path, format!("unknown metric `{name}`"), name, known);
    } else if let (Some((_, phase)), Some(workload)) = (name.split_once('.'), workload)
        && !workload.phases.iter().any(|known| known == phase)
    {
        let known = workload.phases.iter().map(String::as_str);
        findings.unknown(
            path,
            format!("the workload `{}` has no phase `{phase}`", workload.name),
            phase,
            known,
        );
    }
}

pub(super) struct Checker<'c, 'f, 'd> {
    pub(super) experiment: &'c Experiment,
    catalogue: &'c Catalogue,
    pub(super) workload: &'c WorkloadInfo,
    pub(super) findings: &'f mut Findings<'d>,
}

impl Checker<'_, '_, '_> {
    fn check_everything(&mut self) {
        let experiment = self.experiment;
        for (index, metric) in experiment.secondary_metrics.iter().enumerate() {
            let path = ["secondary_metrics".into(), index.into()];
            check_metric(&path, metric, Some(self.workload), self.findings);
        }
        self.check_settings(&["base".into()], &experiment.base);
        for (scale, settings) in &experiment.scale {
            self.check_settings(
                &["scale".into(), scale.to_string().as_str().into()],
                settings,
            );
        }
        self.check_factors();
        self.check_kept_levels();
        self.check_conditions();
        self.check_design();
        self.check_adjustments();
        self.check_upper_bounds();
        // A claim that misses a variant because of a misspelt factor would only repeat that problem.
        if self.findings.count() == 0 {
            self.check_combinations();
            let at_any_scale = Experiment {
                levels: BTreeMap::new(),
                ..experiment.clone()
            };
            let variants = variants(&at_any_scale, Scale::Default, self.catalogue);
            self.check_names(&variants);
            self.check_claims(&variants);
        }
    }

    fn check_settings(&mut self, path: &[Step], settings: &Settings) {
        for (name, level) in settings {
            let place = [path, &[name.as_str().into()]].concat();
            self.check_level(&place, name, level);
        }
    }

    fn check_level(&mut self, path: &[Step], name: &str, level: &Level) {
        let Some(parameter) = self.catalogue.setting(self.workload, name) else {
            let known = self
                .catalogue
                .settings_of(self.workload)
                .map(|parameter| parameter.name.as_str());
            let what = format!(
                "`{name}` is neither a parameter of `{}` nor a PRAGMA nor a connection setting",
                self.workload.name
            );
            self.findings.unknown(path, what, name, known);
            return;
        };
        if parameter.accepts.allows(level) {
            return;
        }
        let what = format!(
            "`{name}` cannot be {}; it takes {}",
            quoted(level),
            parameter.accepts
        );
        match (&parameter.accepts, level) {
            (crate::catalogue::Accepts::Choice(names), Level::Text(text)) => {
                self.findings
                    .unknown(path, what, text, names.iter().map(String::as_str));
            }
            _ => self.findings.at(path, what),
        }
    }

    fn check_factors(&mut self) {
        for (factor, levels) in &self.experiment.factors {
            let path = ["factors".into(), factor.as_str().into()];
            if levels.is_empty() {
                self.findings
                    .at(&path, format!("the factor `{factor}` has no levels"));
            }
            for (index, level) in levels.iter().enumerate() {
                let place = [path.as_slice(), &[index.into()]].concat();
                self.check_level(&place, factor, level);
                if levels[..index].contains(level) {
                    self.findings.at(
                        &place,
                        format!("the level {} of `{factor}` is given twice", quoted(level)),
                    );
                }
            }
        }
    }

    fn check_kept_levels(&mut self) {
        let baseline = &self.experiment.design.baseline;
        for (scale, factors) in &self.experiment.levels {
            for (factor, kept) in factors {
                let path = ["levels", &scale.to_string(), factor].map(Step::from);
                for level in kept {
                    let held = Settings::from([(factor.clone(), level.clone())]);
                    self.check_held_levels(&path[..2], &held);
                }
                let baseline = baseline.get(factor);
                if let Some(level) = baseline.filter(|level| !kept.contains(level)) {
                    self.findings.at(
                        &path,
                        format!(
                            "the scale {scale} must keep the level {} of `{factor}`, which the baseline has",
                            quoted(level)
                        ),
                    );
                }
            }
        }
    }

    fn check_conditions(&mut self) {
        let Experiment {
            factors,
            conditions,
            design,
            ..
        } = self.experiment;
        // The variants of a list may have factors whose levels are written in the variants alone.
        let known = || factors.keys().chain(design.baseline.keys());
        for (index, name) in conditions.iter().enumerate() {
            let place = ["conditions".into(), index.into()];
            if !known().any(|factor| factor == name) {
                let what = format!("the condition `{name}` is not a factor of this experiment");
                self.findings
                    .unknown(&place, what, name, known().map(String::as_str));
            } else if conditions[..index].contains(name) {
                let what = format!("the condition `{name}` is given twice");
                self.findings.at(&place, what);
            }
        }
    }

    fn check_design(&mut self) {
        let design = &self.experiment.design;
        let path = [Step::from("design")];
        let baseline = ["design".into(), "baseline".into()];
        self.check_settings(&baseline, &design.baseline);
        self.check_held_levels(&baseline, &design.baseline);
        for factor in self
            .experiment
            .factors
            .keys()
            .filter(|factor| !design.baseline.contains_key(*factor))
        {
            self.findings.at(
                &baseline,
                format!("the baseline gives no level for the factor `{factor}`"),
            );
        }
        match (design.kind, design.variants.is_empty()) {
            (DesignKind::List, true) => self
                .findings
                .at(&path, "a design of the kind `list` needs `variants`"),
            (DesignKind::OneAtATime | DesignKind::Factorial, false) => {
                self.findings.at(
                    &["design".into(), "variants".into()],
                    "`variants` belong to designs of the kind `list` only",
                );
            }
            _ => {}
        }
        for (index, variant) in design.variants.iter().enumerate() {
            self.check_settings(&["design".into(), "variants".into(), index.into()], variant);
        }
        self.check_stopping();
    }

    fn check_stopping(&mut self) {
        let stopping = self.experiment.design.stopping;
        let path = ["design".into(), "stopping".into()];
        if stopping.rounds < 2 || stopping.max_rounds < stopping.rounds {
            self.findings.at(
                &path,
                "`rounds` must be at least 2 and `max_rounds` at least `rounds`",
            );
        }
        if !(stopping.half_width > 0.0 && stopping.half_width < 1.0) {
            self.findings
                .at(&path, "`half_width` must lie between 0 and 1");
        }
    }

    fn check_adjustments(&mut self) {
        for (index, adjustment) in self.experiment.adjust.iter().enumerate() {
            let path = |key: &str| vec!["adjust".into(), index.into(), Step::from(key)];
            self.check_settings(&path("for"), &adjustment.levels);
            self.check_settings(&path("base"), &adjustment.base);
            for (scale, settings) in &adjustment.scale {
                let mut place = path("scale");
                place.push(scale.to_string().as_str().into());
                self.check_settings(&place, settings);
            }
        }
        for (index, exclusion) in self.experiment.exclude.iter().enumerate() {
            self.check_held_levels(
                &["exclude".into(), index.into(), "levels".into()],
                &exclusion.levels,
            );
        }
    }

    /// Every variant, at every scale, must be one that can be run at all.
    fn check_combinations(&mut self) {
        let mut reasons: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for scale in [Scale::Quick, Scale::Default, Scale::Paper] {
            for variant in variants(self.experiment, scale, self.catalogue) {
                if let Some(why) = self
                    .catalogue
                    .why_impossible(self.workload, &variant.settings)
                {
                    reasons.entry(why).or_default().insert(variant.label);
                }
            }
        }
        let remedy = match self.experiment.design.kind {
            DesignKind::Factorial => "; leave the combination out by `exclude`",
            DesignKind::OneAtATime | DesignKind::List => "",
        };
        for (why, labels) in reasons {
            let named = labels.iter().next().map_or("", String::as_str);
            let others = match labels.len() - 1 {
                0 => String::new(),
                some => format!(" and {some} more"),
            };
            self.findings.at(
                &[Step::from("design")],
                format!("the variant `{named}`{others} can never be run: {why}{remedy}"),
            );
        }
    }

    fn check_upper_bounds(&mut self) {
        for (index, limit) in self.experiment.upper_bounds.iter().enumerate() {
            let path = |key: &str| vec![Step::from("upper-bounds"), index.into(), key.into()];
            let Some(workload) = self.catalogue.workload(&limit.workload) else {
                let known = self
                    .catalogue
                    .workloads
                    .iter()
                    .map(|workload| workload.name.as_str());
                let what = format!("unknown workload `{}`", limit.workload);
                self.findings
                    .unknown(&path("workload"), what, &limit.workload, known);
                continue;
            };
            let mut checker = Checker {
                experiment: self.experiment,
                catalogue: self.catalogue,
                workload,
                findings: &mut *self.findings,
            };
            checker.check_settings(&path("settings"), &limit.settings);
            for (scale, settings) in &limit.scale {
                let mut place = path("scale");
                place.push(scale.to_string().as_str().into());
                checker.check_settings(&place, settings);
            }
        }
    }

    /// Levels by which variants are meant must be among the factors' own.
    pub(super) fn check_held_levels(&mut self, path: &[Step], levels: &Settings) {
        for (factor, level) in levels {
            let place = [path, &[factor.as_str().into()]].concat();
            match self.experiment.factors.get(factor) {
                None if self.experiment.design.kind == DesignKind::List => {}
                None => {
                    let known = self.experiment.factors.keys().map(String::as_str);
                    self.findings.unknown(
                        &place,
                        format!("`{factor}` is not a factor of this experiment"),
                        factor,
                        known,
                    );
                }
                Some(known) if !known.contains(level) => {
                    let names: Vec<String> = known.iter().map(Level::to_string).collect();
                    let what = format!(
                        "{} is not a level of `{factor}` (it has {})",
                        quoted(level),
                        names.join(", ")
                    );
                    self.findings.unknown(
                        &place,
                        what,
                        &level.to_string(),
                        names.iter().map(String::as_str),
                    );
                }
                Some(_) => {}
            }
        }
    }
}

fn quoted(level: &Level) -> String {
    match level {
        Level::Text(text) => format!("\"{text}\""),
        other => other.to_string(),
    }
}

//! Checks of an experiment against what exists: names, levels, variants and claims.
//!
//! Designs that are too large are refused at once, so that a file from elsewhere cannot fill the memory.

use std::collections::{BTreeMap, BTreeSet};

use super::problems::{Findings, Step};
use super::{DesignKind, Experiment, Scale};
use crate::catalogue::{Catalogue, WorkloadInfo};
use crate::design::{Variant, select, variants};
use crate::level::{Level, Settings};
use crate::metric;

/// Notes every problem of a well-formed experiment.
pub(super) fn check(experiment: &Experiment, catalogue: &Catalogue, findings: &mut Findings<'_>) {
    if check_size(experiment, findings) {
        return;
    }
    check_id(&experiment.id, findings);
    check_metric(
        &[Step::from("metric")],
        &experiment.metric,
        catalogue.workload(&experiment.workload),
        findings,
    );
    let path = ["workload".into()];
    if let Some(workload) = find_workload(&path, &experiment.workload, catalogue, findings) {
        let mut checker = Checker { experiment, catalogue, workload, findings };
        checker.check_everything();
    }
}

fn find_workload<'c>(
    path: &[Step],
    name: &str,
    catalogue: &'c Catalogue,
    findings: &mut Findings<'_>,
) -> Option<&'c WorkloadInfo> {
    let workload = catalogue.workload(name);
    if workload.is_none() {
        let known = catalogue.workloads.iter().map(|known| known.name.as_str());
        findings.unknown(path, format!("unknown workload `{name}`"), name, known);
    }
    workload
}

fn check_id(id: &str, findings: &mut Findings<'_>) {
    let well_formed = !id.is_empty()
        && id.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
    if !well_formed {
        findings.at(
            &["id".into()],
            format!("the id `{id}` may contain only lower-case letters, digits and hyphens"),
        );
    }
}

pub(super) fn check_metric(
    path: &[Step],
    name: &str,
    workload: Option<&WorkloadInfo>,
    findings: &mut Findings<'_>,
) {
    let own = workload.map_or(&[][..], |workload| &workload.metrics);
    let own = own.iter().map(|metric| metric.name.as_str());
    let built_in = metric::METRICS.iter().map(|metric| metric.name);
    let known: Vec<&str> = own.chain(built_in).collect();
    let base = name.split_once('.').map_or(name, |(base, _)| base);
    if !known.contains(&base) {
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
        self.check_scaled(&["scale".into()], &experiment.scale);
        self.check_factors();
        self.check_kept_levels();
        self.check_conditions();
        self.check_design();
        self.check_adjustments();
        self.check_upper_bounds();
        // A claim that misses a variant because of a misspelt factor would only repeat that problem.
        if self.findings.count() == 0 {
            self.check_combinations();
            let at_any_scale = Experiment { levels: BTreeMap::new(), ..experiment.clone() };
            let variants = variants(&at_any_scale, Scale::Default, self.catalogue);
            self.check_names(&variants);
            self.check_claims(&variants);
        }
    }

    fn check_settings(&mut self, path: &[Step], settings: &Settings) {
        for (name, level) in settings {
            self.check_level(&below(path, name.as_str()), name, level);
        }
    }

    fn check_scaled(&mut self, path: &[Step], scaled: &BTreeMap<Scale, Settings>) {
        for (scale, settings) in scaled {
            self.check_settings(&below(path, scale.to_string().as_str()), settings);
        }
    }

    fn check_level(&mut self, path: &[Step], name: &str, level: &Level) {
        let Some(parameter) = self.catalogue.setting(self.workload, name) else {
            if !self.findings.is_first(name) {
                return;
            }
            let known = self.catalogue.settings_of(self.workload);
            let known = known.map(|parameter| parameter.name.as_str());
            let what = format!(
                "`{name}` is neither a parameter of `{}` nor a PRAGMA nor a connection setting",
                self.workload.name
            );
            self.findings.unknown(path, what, name, known);
            return;
        };
        let is_new = |findings: &mut Findings<'_>| findings.is_first(&format!("{name}={level}"));
        if parameter.accepts.allows(level) || !is_new(self.findings) {
            return;
        }
        let what = format!("`{name}` cannot be {}; it takes {}", quoted(level), parameter.accepts);
        match (&parameter.accepts, level) {
            (crate::catalogue::Accepts::Choice(names), Level::Text(text)) => {
                self.findings.unknown(path, what, text, names.iter().map(String::as_str));
            }
            _ => self.findings.at(path, what),
        }
    }

    fn check_factors(&mut self) {
        for (factor, levels) in &self.experiment.factors {
            let path = ["factors".into(), factor.as_str().into()];
            if levels.is_empty() {
                self.findings.at(&path, format!("the factor `{factor}` has no levels"));
            }
            for (index, level) in levels.iter().enumerate() {
                let path = below(&path, index);
                self.check_level(&path, factor, level);
                if levels[..index].contains(level) {
                    let what = format!("the level {} of `{factor}` is given twice", quoted(level));
                    self.findings.at(&path, what);
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
        let Experiment { factors, conditions, design, .. } = self.experiment;
        // The variants of a list may have factors whose levels are written in the variants alone.
        let known = || factors.keys().chain(design.baseline.keys());
        for (index, name) in conditions.iter().enumerate() {
            let place = ["conditions".into(), index.into()];
            if !known().any(|factor| factor == name) {
                if !self.knows_every_factor() {
                    continue;
                }
                let what = format!("the condition `{name}` is not a factor of this experiment");
                self.findings.unknown(&place, what, name, known().map(String::as_str));
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
        let factors = &self.experiment.factors;
        // A misspelt factor is one mistake wherever it is missing.
        let misspelt = design.baseline.keys().any(|factor| !factors.contains_key(factor));
        let missing = factors.keys().filter(|factor| !design.baseline.contains_key(*factor));
        for factor in missing.filter(|_| !misspelt) {
            let what = format!("the baseline gives no level for the factor `{factor}`");
            self.findings.at(&baseline, what);
        }
        match (design.kind, design.variants.is_empty()) {
            (DesignKind::List, true) => {
                self.findings.at(&path, "a design of the kind `list` needs `variants`")
            }
            (DesignKind::OneAtATime | DesignKind::Factorial, false) => {
                self.findings.at(
                    &["design".into(), "variants".into()],
                    "only designs of the kind `list` take `variants`",
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
            self.findings
                .at(&path, "`rounds` must be at least 2 and `max_rounds` at least `rounds`");
        }
        if !(stopping.half_width > 0.0 && stopping.half_width < 1.0) {
            self.findings.at(&path, "`half_width` must lie between 0 and 1");
        }
    }

    fn check_adjustments(&mut self) {
        for (index, adjustment) in self.experiment.adjust.iter().enumerate() {
            let path = ["adjust".into(), index.into()];
            self.check_settings(&below(&path, "for"), &adjustment.levels);
            self.check_settings(&below(&path, "base"), &adjustment.base);
            self.check_scaled(&below(&path, "scale"), &adjustment.scale);
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
                if let Some(why) = self.catalogue.why_impossible(self.workload, &variant.settings) {
                    reasons.entry(why).or_default().insert(variant.label);
                }
            }
        }
        let remedy = match self.experiment.design.kind {
            DesignKind::Factorial => "; leave the combination out with `exclude`",
            DesignKind::OneAtATime | DesignKind::List => "",
        };
        for (why, labels) in reasons {
            let named = labels.iter().next().map_or("", String::as_str);
            if named.is_empty() {
                // The only variant there is: what it lacks is all that is to be said.
                self.findings.at(&[Step::from("design")], why);
                continue;
            }
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
        for (index, bound) in self.experiment.upper_bounds.iter().enumerate() {
            let path = ["upper_bounds".into(), index.into()];
            let (catalogue, findings) = (self.catalogue, &mut *self.findings);
            let place = below(&path, "workload");
            let Some(workload) = find_workload(&place, &bound.workload, catalogue, findings) else {
                continue;
            };
            let mut checker = Checker { workload, findings, ..*self };
            checker.check_settings(&below(&path, "settings"), &bound.settings);
            checker.check_scaled(&below(&path, "scale"), &bound.scale);
        }
    }

    /// Levels by which variants are meant must be among the factors' own; whether they are.
    pub(super) fn check_held_levels(&mut self, path: &[Step], levels: &Settings) -> bool {
        levels.iter().fold(true, |held, (factor, level)| {
            self.check_held_level(&below(path, factor.as_str()), factor, level) && held
        })
    }

    fn check_held_level(&mut self, path: &[Step], factor: &str, level: &Level) -> bool {
        match self.experiment.factors.get(factor) {
            None if self.experiment.design.kind == DesignKind::List => return true,
            None => self.not_a_factor(path, factor),
            Some(known) if known.contains(level) => return true,
            Some(known) => {
                let names: Vec<String> = known.iter().map(Level::to_string).collect();
                let (quoted, all) = (quoted(level), names.join(", "));
                let what = format!("{quoted} is not a level of `{factor}` (it has {all})");
                let names = names.iter().map(String::as_str);
                self.findings.unknown(path, what, &level.to_string(), names);
            }
        }
        false
    }

    /// Returns whether every factor is a setting of the workload; otherwise one is misspelt, and its correct name
    /// elsewhere is not a mistake.
    fn knows_every_factor(&self) -> bool {
        let mut factors = self.experiment.factors.keys();
        factors.all(|factor| self.catalogue.setting(self.workload, factor).is_some())
    }

    pub(super) fn not_a_factor(&mut self, path: &[Step], factor: &str) {
        if !self.knows_every_factor() || !self.findings.is_first(factor) {
            return;
        }
        let known = self.experiment.factors.keys().map(String::as_str);
        let what = format!("`{factor}` is not a factor of this experiment");
        self.findings.unknown(path, what, factor, known);
    }
}

/// Returns the path of something inside what stands at `path`.
pub(super) fn below(path: &[Step], step: impl Into<Step>) -> Vec<Step> {
    [path, &[step.into()]].concat()
}

fn quoted(level: &Level) -> String {
    match level {
        Level::Text(text) => format!("\"{text}\""),
        other => other.to_string(),
    }
}

impl Checker<'_, '_, '_> {
    pub(super) fn check_names(&mut self, variants: &[Variant]) {
        let mut levels: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (factor, level) in variants.iter().flat_map(|variant| &variant.levels) {
            levels.entry(factor.clone()).or_default().insert(level.to_string());
        }
        for (factor, words) in &self.experiment.labels.0 {
            self.check_labels(factor, words, &levels);
        }
        self.check_named_variants(variants);
    }

    fn check_labels(
        &mut self,
        factor: &str,
        words: &BTreeMap<String, String>,
        levels: &BTreeMap<String, BTreeSet<String>>,
    ) {
        let path = ["labels", factor].map(Step::from);
        let Some(known) = levels.get(factor) else {
            let factors = levels.keys().map(String::as_str);
            let what = format!("`{factor}` is not a factor of this experiment");
            self.findings.unknown(&path, what, factor, factors);
            return;
        };
        for (level, label) in words {
            let path = below(&path, level.as_str());
            if !known.contains(level) {
                let levels = known.iter().map(String::as_str);
                let what = format!("`{level}` is not a level of `{factor}`");
                self.findings.unknown(&path, what, level, levels);
            } else if label.trim().is_empty() {
                self.findings.at(&path, "a label must not be empty");
            }
        }
    }

    fn check_named_variants(&mut self, variants: &[Variant]) {
        let mut named = BTreeSet::new();
        for (index, name) in self.experiment.variants.iter().enumerate() {
            let path = [Step::from("variants"), index.into()];
            if name.label.is_none() && name.answer.is_none() {
                self.findings.at(&path, "give a `label` or an `answer`");
            }
            let levels = below(&path, "levels");
            if !self.check_held_levels(&levels, &name.levels) {
                continue;
            }
            match select(variants, &name.levels) {
                Err(error) => self.findings.at(&levels, error.to_string()),
                Ok(variant) if !named.insert(variant) => {
                    let label = &variants[variant].label;
                    let what = format!("the variant `{label}` is named twice");
                    self.findings.at(&levels, what);
                }
                Ok(_) => {}
            }
        }
    }
}

/// The largest experiment file, in bytes. The largest one included has 12 KiB.
pub const MOST_BYTES: u64 = 256 * 1024;

/// The most variants of an experiment, and the most levels of a factor.
pub const MOST_VARIANTS: usize = 10_000;

/// The most rounds that a stopping rule may name.
pub const MOST_ROUNDS: u32 = 10_000;

/// Notes a design that is too large to be looked at any closer; whether it is.
pub(super) fn check_size(experiment: &Experiment, findings: &mut Findings<'_>) -> bool {
    let before = findings.count();
    let variants = most_variants(experiment);
    if variants > MOST_VARIANTS {
        let what =
            format!("the design has {variants} variants; at most {MOST_VARIANTS} are possible");
        findings.at(&[Step::from("design")], what);
    }
    let kept = experiment.levels.values().flat_map(|factors| factors.values());
    if experiment.factors.values().chain(kept).any(|levels| levels.len() > MOST_VARIANTS) {
        let what = format!("a factor can have at most {MOST_VARIANTS} levels");
        findings.at(&[Step::from("factors")], what);
    }
    if experiment.design.stopping.max_rounds > MOST_ROUNDS {
        let what = format!("`max_rounds` can be at most {MOST_ROUNDS}");
        findings.at(&["design".into(), "stopping".into()], what);
    }
    findings.count() > before
}

/// Returns the number of variants before any is left out.
fn most_variants(experiment: &Experiment) -> usize {
    let levels = experiment.factors.values().map(Vec::len);
    match experiment.design.kind {
        DesignKind::Factorial => levels.fold(1, usize::saturating_mul),
        DesignKind::OneAtATime => 1 + levels.sum::<usize>(),
        DesignKind::List => 1 + experiment.design.variants.len(),
    }
}

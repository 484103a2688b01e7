//! Checks of claims: their form, the variants that they mean, and their bounds.

use std::collections::BTreeSet;

use super::problems::Step;
use super::validate::{Checker, below, check_metric};
use super::{Experiment, Scale};
use crate::claims::{Best, Bounds, Claim, Extreme, Form, Listed, Pair, Pairs, Single};
use crate::design::{Variant, partners, select};
use crate::level::{Settings, contains, label, overlaid};
use crate::metric::{self, Unit};

/// File systems that claims may name, by the names that kernels give them.
const FILE_SYSTEMS: [&str; 12] = [
    "apfs", "bcachefs", "btrfs", "exfat", "ext2", "ext3", "ext4", "f2fs", "nfs4", "tmpfs", "xfs",
    "zfs",
];

impl Checker<'_, '_, '_> {
    pub(super) fn check_claims(&mut self, variants: &[Variant]) {
        self.check_ids();
        for (index, claim) in self.experiment.claims.iter().enumerate() {
            let path = ["claims".into(), index.into()];
            self.check_numbers(&path, claim);
            self.check_remarks(&path, claim);
            match claim.forms()[..] {
                [form] => self.check_form(&path, claim, form, variants),
                _ => self.findings.at(
                    &path,
                    format!(
                        "the claim `{}` needs exactly one of {}",
                        claim.id,
                        Form::KEYS.join(", ")
                    ),
                ),
            }
        }
    }

    /// Claims and checks have one set of names.
    fn check_ids(&mut self) {
        let Experiment { claims, checks, .. } = self.experiment;
        let claims = claims.iter().map(|claim| &claim.id).enumerate();
        let checks = checks.iter().map(|check| &check.id).enumerate();
        let claims = claims.map(|(index, id)| ("claims", index, id));
        let checks = checks.map(|(index, id)| ("checks", index, id));
        let mut seen = BTreeSet::new();
        for (table, index, id) in claims.chain(checks) {
            if !seen.insert(id) {
                let what = format!("the name `{id}` is given twice");
                self.findings.at(&[table.into(), index.into()], what);
            }
        }
    }

    fn check_form(&mut self, path: &[Step], claim: &Claim, form: Form<'_>, variants: &[Variant]) {
        self.check_bounds(path, claim, form);
        let path = below(path, form.key());
        if let Some(metric) = form.metric() {
            check_metric(&below(&path, "metric"), metric, Some(self.workload), self.findings);
        }
        if let Some(metric) = form.to_metric() {
            self.check_to_metric(&path, form.metric(), metric);
        }
        self.check_file_systems(&path, claim);
        match form {
            Form::Ratio(pair) | Form::Equal(pair) => self.check_pair(&path, pair, variants),
            Form::RatioOfRatios(pairs) => self.check_pairs(&path, pairs, variants),
            Form::Value(single) => self.check_single(&path, single, variants),
            Form::Ordering(listed) | Form::Spread(listed) => {
                self.check_listed(&path, listed, variants)
            }
            Form::Argmax(extreme) | Form::Argmin(extreme) => {
                self.check_extreme(&path, extreme, variants)
            }
            Form::Best(best) => self.check_best(&path, best, variants),
            Form::Devices(devices) | Form::SameOrder(devices) if devices.of == devices.to => {
                self.findings.at(&path, "both devices of the claim are of the same kind")
            }
            Form::Devices(_) | Form::SameOrder(_) => {}
        }
    }

    fn check_file_systems(&mut self, path: &[Step], claim: &Claim) {
        for name in &claim.file_systems {
            if !FILE_SYSTEMS.contains(&name.as_str()) {
                let what = format!("the claim `{}` names an unknown file system", claim.id);
                self.findings.unknown(path, what, name, FILE_SYSTEMS);
            }
        }
    }

    /// Two figures can be divided where they have one unit.
    fn check_to_metric(&mut self, path: &[Step], metric: Option<&str>, to_metric: &str) {
        let place = below(path, "to_metric");
        check_metric(&place, to_metric, Some(self.workload), self.findings);
        let metric = metric.unwrap_or(&self.experiment.metric);
        let unit = |name: &str| metric::find(name).map(|metric| metric.unit);
        if unit(metric) != unit(to_metric) {
            self.findings.at(
                &place,
                format!("`{to_metric}` and `{metric}` have different units, so they have no ratio"),
            );
        }
    }

    /// A variant that sets a PRAGMA has failed where another value is read back.
    fn check_single(&mut self, path: &[Step], single: &Single, variants: &[Variant]) {
        let variant = self.check_variant(path, "of", &single.of, variants);
        let metric = single.metric.as_deref().unwrap_or(&self.experiment.metric);
        let Some(pragma) = metric.strip_prefix("read_back.") else { return };
        let sets = |name: &str| {
            variant.is_some_and(|variant| variants[variant].settings.contains_key(name))
        };
        if sets(pragma) || pragma.strip_suffix("_wal").is_some_and(sets) {
            self.findings.at(
                &below(path, "metric"),
                format!("a trial whose variant sets this PRAGMA fails unless `{metric}` is as set, so no figure can refute the claim; list it in `checks`"),
            );
        }
    }

    fn check_pair(&mut self, path: &[Step], pair: &Pair, variants: &[Variant]) {
        if pair.across {
            self.check_across(path, &[pair.of.clone(), pair.to.clone()], variants);
            return;
        }
        let of = self.check_variant(path, "of", &pair.of, variants);
        let to = self.check_variant(path, "to", &pair.to, variants);
        if pair.to_metric.is_some() {
            self.check_same_variant(path, of, to);
        } else if of.is_some() && of == to {
            self.findings.at(path, "both variants of the claim are the same");
        }
    }

    fn check_pairs(&mut self, path: &[Step], pairs: &Pairs, variants: &[Variant]) {
        let all = [
            ("of", &pairs.of),
            ("to", &pairs.to),
            ("over_of", &pairs.over_of),
            ("over_to", &pairs.over_to),
        ];
        let found = all.map(|(key, levels)| self.check_variant(path, key, levels, variants));
        if pairs.to_metric.is_some() {
            self.check_same_variant(path, found[0], found[1]);
            self.check_same_variant(path, found[2], found[3]);
        }
    }

    /// Two figures of the same trials belong to one variant.
    fn check_same_variant(&mut self, path: &[Step], of: Option<usize>, to: Option<usize>) {
        if of.is_some() && to.is_some() && of != to {
            self.findings.at(
                path,
                "`to_metric` compares two metrics of the same trials, so both variants of a ratio must be the same",
            );
        }
    }

    fn check_listed(&mut self, path: &[Step], listed: &Listed, variants: &[Variant]) {
        if listed.variants.is_empty() == listed.over.is_none() {
            self.findings.at(path, "give either `variants` or `over`");
        }
        if listed.across && listed.without_worst {
            self.findings.at(path, "`without_worst` and `across` cannot be combined");
        }
        if let Some(factor) = &listed.over {
            self.check_over(path, factor);
        }
        if listed.across {
            self.check_across(path, &listed.levels(&self.experiment.factors), variants);
            return;
        }
        for variant in &listed.variants {
            self.check_variant(path, "variants", &overlaid(&listed.at, variant), variants);
        }
    }

    /// Each two of these levels must belong to variants that differ in nothing else.
    fn check_across(&mut self, path: &[Step], levels: &[Settings], variants: &[Variant]) {
        let place = below(path, "across");
        let held = |held, levels| self.check_held_levels(&place, levels) && held;
        if !levels.iter().fold(true, held) {
            return;
        }
        for (number, of) in levels.iter().enumerate() {
            for to in &levels[number + 1..] {
                if partners(variants, of, to).is_empty() {
                    self.findings.at(
                        &place,
                        format!(
                            "no two variants differ only in that one has {} and the other {}",
                            label(of),
                            label(to)
                        ),
                    );
                }
            }
        }
    }

    fn check_best(&mut self, path: &[Step], best: &Best, variants: &[Variant]) {
        if !(best.share > 0.0 && best.share < 1.0) {
            let place = below(path, "share");
            self.findings.at(&place, "`share` must lie between 0 and 1");
            return;
        }
        let place = below(path, "hold");
        let held = self.check_held_levels(&place, &best.hold);
        let holding =
            variants.iter().filter(|variant| contains(&variant.levels, &best.hold)).count();
        let (count, all) = (best.count(variants.len()), variants.len());
        if held && (holding < count || holding == all) {
            let levels = label(&best.hold);
            self.findings.at(
                &place,
                format!("{holding} of {all} variants have {levels}: the best {count} can never, or must always, have it"),
            );
        }
    }

    fn check_extreme(&mut self, path: &[Step], extreme: &Extreme, variants: &[Variant]) {
        match (&extreme.over, extreme.variant.is_empty()) {
            (Some(factor), true) => {
                self.check_over(path, factor);
                for levels in extreme.levels() {
                    self.check_variant(path, "is", &levels, variants);
                }
            }
            (None, false) if extreme.is.is_empty() => {
                self.check_variant(path, "variant", &extreme.levels()[0], variants);
            }
            _ => self.findings.at(path, "give either `over` and `is`, or `variant`"),
        }
    }

    fn check_over(&mut self, path: &[Step], factor: &str) {
        if !self.experiment.factors.contains_key(factor) {
            self.not_a_factor(&below(path, "over"), factor);
        }
    }

    fn check_variant(
        &mut self,
        path: &[Step],
        key: &str,
        wanted: &Settings,
        variants: &[Variant],
    ) -> Option<usize> {
        let place = below(path, key);
        // A level that no factor has is already reported; a missing variant would repeat that.
        if !self.check_held_levels(&place, wanted) {
            return None;
        }
        select(variants, wanted)
            .inspect_err(|error| self.findings.at(&place, error.to_string()))
            .ok()
    }
}

impl Checker<'_, '_, '_> {
    /// Whatever is compared with NaN or infinity says nothing.
    pub(super) fn check_numbers(&mut self, path: &[Step], claim: &Claim) {
        let [low, high] = claim.between.map_or([None; 2], |between| between.map(Some));
        let numbers = [
            ("at_least", claim.at_least),
            ("at_most", claim.at_most),
            ("between", low),
            ("between", high),
            ("within", claim.within),
            ("tolerance", claim.tolerance),
            ("published", claim.published),
            ("expected", claim.expected.map(|expected| expected.figure)),
        ];
        for (key, number) in numbers.into_iter().filter_map(|(key, number)| Some((key, number?))) {
            if !number.is_finite() {
                let what = format!("`{key}` must be a finite number, not {number}");
                self.findings.at(&below(path, key), what);
            }
        }
    }

    /// The sources of a claim's figures.
    pub(super) fn check_remarks(&mut self, path: &[Step], claim: &Claim) {
        let id = &claim.id;
        if claim.published.is_some() && claim.expected.is_some() {
            let what = format!("the claim `{id}` takes either `published` or `expected`");
            self.findings.at(&below(path, "expected"), what);
        }
        let reasons = claim.not_at.values().map(|reason| ("not_at", reason));
        let because = claim.bound_because.iter();
        let reasons = reasons.chain(because.map(|reason| ("bound_because", reason)));
        for (key, _) in reasons.filter(|(_, reason)| reason.trim().is_empty()) {
            let what = format!("the claim `{id}` gives an empty reason");
            self.findings.at(&below(path, key), what);
        }
        let scales = [Scale::Quick, Scale::Default, Scale::Paper];
        if scales.iter().all(|scale| claim.not_at.contains_key(scale)) {
            let what = format!("the claim `{id}` is judged at no scale");
            self.findings.at(&below(path, "not_at"), what);
        }
    }

    pub(super) fn check_bounds(&mut self, path: &[Step], claim: &Claim, form: Form<'_>) {
        let before = self.findings.count();
        self.check_stated_bounds(path, claim, form);
        self.check_equality(path, claim, form);
        if self.findings.count() == before {
            self.check_both_verdicts(path, claim, form);
        }
    }

    fn check_stated_bounds(&mut self, path: &[Step], claim: &Claim, form: Form<'_>) {
        let bounds = claim.stated_bounds();
        let stated = bounds.low.is_some() || bounds.high.is_some();
        let what = match (form.states_bounds(), stated) {
            (true, false) => "needs `at_least`, `at_most` or `between`",
            (false, true) => "takes no `at_least`, `at_most` or `between`",
            _ if claim.between.is_some()
                && (claim.at_least.is_some() || claim.at_most.is_some()) =>
            {
                "takes either `between` or `at_least` and `at_most`"
            }
            _ => return,
        };
        let what = format!("the claim `{}` {what}", claim.id);
        self.findings.at(&below(path, form.key()), what);
    }

    fn check_equality(&mut self, path: &[Step], claim: &Claim, form: Form<'_>) {
        let id = &claim.id;
        if matches!(form, Form::Equal(_)) != claim.within.is_some() {
            let what = format!("the claim `{id}`: `equal` and `within` require each other");
            self.findings.at(&below(path, form.key()), what);
        }
        if claim.tolerance.is_some() && !form.takes_tolerance() {
            let what = format!("the claim `{id}`: `{}` takes no `tolerance`", form.key());
            self.findings.at(&below(path, "tolerance"), what);
        }
        let fractions = [("within", claim.within), ("tolerance", claim.tolerance)];
        for (key, fraction) in fractions {
            if fraction.is_some_and(|fraction| !(0.0..1.0).contains(&fraction)) {
                let what = format!("`{key}` must be at least 0 and below 1");
                self.findings.at(&below(path, key), what);
            }
        }
    }

    /// There must be figures that confirm and figures that refute.
    fn check_both_verdicts(&mut self, path: &[Step], claim: &Claim, form: Form<'_>) {
        let Bounds { low, high } = claim.bounds(form);
        let low = low.unwrap_or(f64::NEG_INFINITY);
        let high = high.unwrap_or(f64::INFINITY);
        let most = self.most(form);
        let what = if low > high || high < 0.0 || low > most {
            "confirms"
        } else if low <= 0.0 && high >= most {
            "refutes"
        } else {
            return;
        };
        let what = format!("no figure {what} the claim `{}`", claim.id);
        self.findings.at(&below(path, bound_key(claim, form)), what);
    }

    /// Returns the largest figure that there can be; none is below 0.
    fn most(&self, form: Form<'_>) -> f64 {
        let metric = form.metric().unwrap_or(&self.experiment.metric);
        let is_share = metric::find(metric).is_some_and(|metric| metric.unit == Unit::Share);
        match form {
            Form::Value(_) if is_share => 1.0,
            _ => f64::INFINITY,
        }
    }
}

/// Returns the key under which the bound stands; the form's key if the form implies one.
fn bound_key<'f>(claim: &Claim, form: Form<'f>) -> &'f str {
    match (claim.between, claim.at_least, claim.at_most) {
        (Some(_), _, _) => "between",
        (_, Some(_), _) => "at_least",
        (_, _, Some(_)) => "at_most",
        _ => form.key(),
    }
}

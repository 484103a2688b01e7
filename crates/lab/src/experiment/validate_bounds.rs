//! Checks of the numbers of claims: their bounds, what they are compared with, and what is said about them.

use super::Scale;
use super::positions::Step;
use super::validate::{Checker, below};
use crate::claims::{Bounds, Claim, Form};
use crate::metric::{self, Unit};

impl Checker<'_, '_, '_> {
    /// Whatever is compared with NaN or infinity says nothing.
    pub(super) fn check_numbers(&mut self, path: &[Step], claim: &Claim) {
        let [low, high] = claim.between.map_or([None; 2], |it| it.map(Some));
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
        let numbers = numbers.into_iter();
        for (key, number) in numbers.filter_map(|(key, number)| Some((key, number?))) {
            if !number.is_finite() {
                let what = format!("`{key}` must be a finite number, not {number}");
                self.findings.at(&below(path, key), what);
            }
        }
    }

    /// What is said about the figures of a claim.
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

    /// The largest figure that there can be; none is below 0.
    fn most(&self, form: Form<'_>) -> f64 {
        let metric = form.metric().unwrap_or(&self.experiment.metric);
        let is_share = metric::find(metric).is_some_and(|metric| metric.unit == Unit::Share);
        match form {
            Form::Value(_) if is_share => 1.0,
            _ => f64::INFINITY,
        }
    }
}

/// The key under which the bound stands; that of the form where the form means one.
fn bound_key<'f>(claim: &Claim, form: Form<'f>) -> &'f str {
    match (claim.between, claim.at_least, claim.at_most) {
        (Some(_), _, _) => "between",
        (_, Some(_), _) => "at_least",
        (_, _, Some(_)) => "at_most",
        _ => form.key(),
    }
}

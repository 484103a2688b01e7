//! Checks of claims: their form, their bounds and the arms that they mean.

use super::positions::Step;
use super::validate::{Checker, check_metric};
use crate::claims::{Claim, Extreme, Form, Listed, Pair, Pairs};
use crate::design::{Arm, select};
use crate::level::Settings;

impl Checker<'_, '_, '_> {
    pub(super) fn check_claims(&mut self, arms: &[Arm]) {
        for (index, claim) in self.experiment.claims.iter().enumerate() {
            let path = ["claims".into(), index.into()];
            let twice = self.experiment.claims[..index]
                .iter()
                .any(|other| other.id == claim.id);
            if twice {
                self.findings
                    .at(&path, format!("the claim `{}` is given twice", claim.id));
            }
            match claim.forms()[..] {
                [form] => self.check_form(&path, claim, form, arms),
                _ => self.findings.at(
                    &path,
                    format!("the claim `{}` needs exactly one of ratio, ratio_of_ratios, value, equal, ordering, spread, argmax, argmin", claim.id),
                ),
            }
        }
    }

    fn check_form(&mut self, path: &[Step], claim: &Claim, form: Form<'_>, arms: &[Arm]) {
        let path = [path, &[form.key().into()]].concat();
        if let Some(metric) = form.metric() {
            check_metric(
                &[path.as_slice(), &["metric".into()]].concat(),
                metric,
                Some(self.workload),
                self.findings,
            );
        }
        self.check_bounds(&path, claim, form);
        match form {
            Form::Ratio(pair) | Form::Equal(pair) => self.check_pair(&path, pair, arms),
            Form::RatioOfRatios(pairs) => self.check_pairs(&path, pairs, arms),
            Form::Value(single) => {
                self.check_arm(&path, "of", &single.of, arms);
            }
            Form::Ordering(listed) | Form::Spread(listed) => self.check_listed(&path, listed, arms),
            Form::Argmax(extreme) | Form::Argmin(extreme) => {
                self.check_extreme(&path, extreme, arms)
            }
        }
    }

    fn check_bounds(&mut self, path: &[Step], claim: &Claim, form: Form<'_>) {
        let bounds = claim.stated_bounds();
        let stated = bounds.low.is_some() || bounds.high.is_some();
        let (wanted, what) = match form {
            Form::Ratio(_) | Form::RatioOfRatios(_) | Form::Value(_) | Form::Spread(_) => {
                (true, "needs `at_least`, `at_most` or `between`")
            }
            _ => (false, "takes no `at_least`, `at_most` or `between`"),
        };
        if stated != wanted {
            self.findings
                .at(path, format!("the claim `{}` {what}", claim.id));
        }
        if matches!(form, Form::Equal(_)) != claim.within.is_some() {
            self.findings.at(
                path,
                format!(
                    "the claim `{}`: `within` goes with `equal`, and `equal` with `within`",
                    claim.id
                ),
            );
        }
    }

    fn check_pair(&mut self, path: &[Step], pair: &Pair, arms: &[Arm]) {
        let of = self.check_arm(path, "of", &pair.of, arms);
        let to = self.check_arm(path, "to", &pair.to, arms);
        if of.is_some() && of == to {
            self.findings
                .at(path, "both arms of the claim are the same");
        }
    }

    fn check_pairs(&mut self, path: &[Step], pairs: &Pairs, arms: &[Arm]) {
        let all = [
            ("of", &pairs.of),
            ("to", &pairs.to),
            ("over_of", &pairs.over_of),
            ("over_to", &pairs.over_to),
        ];
        for (key, levels) in all {
            self.check_arm(path, key, levels, arms);
        }
    }

    fn check_listed(&mut self, path: &[Step], listed: &Listed, arms: &[Arm]) {
        if listed.arms.is_empty() == listed.over.is_none() {
            self.findings.at(path, "give either `arms` or `over`");
        }
        for arm in &listed.arms {
            self.check_arm(path, "arms", arm, arms);
        }
        if let Some(factor) = &listed.over {
            self.check_over(path, factor);
        }
    }

    fn check_extreme(&mut self, path: &[Step], extreme: &Extreme, arms: &[Arm]) {
        self.check_over(path, &extreme.over);
        for level in &extreme.is {
            let mut levels = extreme.at.clone();
            levels.insert(extreme.over.clone(), level.clone());
            self.check_arm(path, "is", &levels, arms);
        }
    }

    fn check_over(&mut self, path: &[Step], factor: &str) {
        if !self.experiment.factors.contains_key(factor) {
            let known = self.experiment.factors.keys().map(String::as_str);
            let place = [path, &["over".into()]].concat();
            self.findings.unknown(
                &place,
                format!("`{factor}` is not a factor of this experiment"),
                factor,
                known,
            );
        }
    }

    fn check_arm(
        &mut self,
        path: &[Step],
        key: &str,
        wanted: &Settings,
        arms: &[Arm],
    ) -> Option<usize> {
        let place = [path, &[key.into()]].concat();
        let before = self.findings.count();
        self.check_held_levels(&place, wanted);
        // Levels that no factor has would only be told a second time as an arm that is missing.
        if self.findings.count() > before {
            return None;
        }
        select(arms, wanted)
            .inspect_err(|error| self.findings.at(&place, error.to_string()))
            .ok()
    }
}

//! What a fleet says of claims: the verdicts of its groups, and whether they agree.

use std::collections::BTreeMap;

use serde::Serialize;

use super::summary::GroupAnswer;
use crate::claims::Verdict;

/// A claim on a fleet.
#[derive(Clone, Debug, Serialize)]
pub struct FleetClaim {
    /// Its id.
    pub id: String,
    /// What it says.
    pub says: String,
    /// The verdicts by class: of each group of that class.
    pub by_class: BTreeMap<String, Vec<Verdict>>,
    /// How many groups of a class have no verdict, where some have none.
    pub without_verdict: BTreeMap<String, usize>,
    /// What all classes say together.
    pub overall: Agreement,
}

impl FleetClaim {
    /// What the groups of a class say together; none where there is no verdict.
    pub fn of_class(&self, class: &str) -> Option<Agreement> {
        let verdicts = Agreement::of(self.by_class.get(class)?);
        Some(if self.without_verdict.contains_key(class) { verdicts.with_more() } else { verdicts })
    }
}

/// What verdicts on one claim come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Agreement {
    /// All are this one.
    All(Verdict),
    /// The claim is confirmed by some and refuted by others.
    Differ,
    /// It is not decided everywhere, and not decided differently.
    Undecided,
}

impl Agreement {
    /// Of these verdicts.
    fn of<'v>(verdicts: impl IntoIterator<Item = &'v Verdict> + Clone) -> Agreement {
        let has = |wanted| verdicts.clone().into_iter().any(|verdict| *verdict == wanted);
        let mut all = verdicts.clone().into_iter();
        match all.next() {
            _ if has(Verdict::Confirmed) && has(Verdict::Refuted) => Agreement::Differ,
            Some(first) if all.all(|verdict| verdict == first) => Agreement::All(*first),
            _ => Agreement::Undecided,
        }
    }

    /// The same where further groups have no verdict at all.
    fn with_more(self) -> Agreement {
        match self {
            Agreement::All(_) => Agreement::Undecided,
            other => other,
        }
    }
}

/// What the groups say of the claims of an experiment.
pub(super) fn fleet_claims(experiment: usize, groups: &[GroupAnswer]) -> Vec<FleetClaim> {
    let mut claims: Vec<FleetClaim> = Vec::new();
    for GroupAnswer { class, claims: judged, .. } in groups {
        for judged in judged.get(experiment).into_iter().flatten() {
            let id = &judged.claim.id;
            let index = claims.iter().position(|claim| claim.id == *id).unwrap_or_else(|| {
                claims.push(FleetClaim {
                    id: id.clone(),
                    says: judged.claim.says.clone(),
                    by_class: BTreeMap::new(),
                    without_verdict: BTreeMap::new(),
                    overall: Agreement::Undecided,
                });
                claims.len() - 1
            });
            let verdicts = claims[index].by_class.entry(class.clone()).or_default();
            verdicts.push(judged.verdict);
        }
    }
    for claim in &mut claims {
        claim.without_verdict = without_verdict(experiment, groups, &claim.id);
        let judged = Agreement::of(claim.by_class.values().flatten());
        claim.overall = if claim.without_verdict.is_empty() { judged } else { judged.with_more() };
    }
    claims
}

/// How many groups of each class do not judge a claim.
fn without_verdict(
    experiment: usize,
    groups: &[GroupAnswer],
    claim: &str,
) -> BTreeMap<String, usize> {
    let mut without = BTreeMap::new();
    for group in groups {
        let mut judged = group.claims.get(experiment).into_iter().flatten();
        if !judged.any(|judged| judged.claim.id == claim) {
            *without.entry(group.class.clone()).or_default() += 1;
        }
    }
    without
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::{Bounds, Judged};

    /// The claim of a fleet whose groups, each with its class, have these verdicts.
    fn claim(verdicts: &[(&str, Option<Verdict>)]) -> FleetClaim {
        let judged = |verdict| -> Judged {
            serde_json::from_value(serde_json::json!({
                "claim": { "id": "c", "says": "" }, "verdict": verdict, "measure": "", "figure": null,
                "interval": null, "alpha": 0.05, "bounds": Bounds::default(), "rounds": 7,
                "preliminary": false, "why": null
            }))
            .unwrap()
        };
        let answer = |(class, verdict): &(&str, Option<Verdict>)| GroupAnswer {
            class: (*class).to_owned(),
            claims: vec![verdict.map(judged).into_iter().collect()],
            ..GroupAnswer::default()
        };
        let groups: Vec<GroupAnswer> = verdicts.iter().map(answer).collect();
        fleet_claims(0, &groups).remove(0)
    }

    #[test]
    fn an_overall_verdict_needs_classes_that_agree() {
        let (yes, no) = (Some(Verdict::Confirmed), Some(Verdict::Refuted));
        let open = Some(Verdict::Inconclusive);
        let all = Agreement::All(Verdict::Confirmed);
        assert_eq!(claim(&[("a", yes), ("b", yes)]).overall, all);
        let mixed = claim(&[("a", yes), ("b", no), ("b", yes), ("c", no)]);
        assert_eq!(mixed.overall, Agreement::Differ);
        assert_eq!(mixed.of_class("a"), Some(all));
        assert_eq!(mixed.of_class("b"), Some(Agreement::Differ));
        assert_eq!(mixed.of_class("d"), None);
        let undecided = claim(&[("a", yes), ("b", open)]);
        assert_eq!(undecided.overall, Agreement::Undecided, "none refutes it");
        let missing = claim(&[("a", yes), ("b", None)]);
        assert_eq!(missing.overall, Agreement::Undecided, "b has no verdict");
        let one_missing = claim(&[("a", yes), ("b", yes), ("b", None)]);
        assert_eq!(one_missing.overall, Agreement::Undecided);
        assert_eq!(one_missing.of_class("a"), Some(all));
        let of_b = one_missing.of_class("b");
        assert_eq!(of_b, Some(Agreement::Undecided), "one of b has no verdict");
    }
}

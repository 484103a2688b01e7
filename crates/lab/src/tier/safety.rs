//! All models together: how safe some settings are, and whether they are worse than others.

use serde::Serialize;

use super::{Class, ModelSafety, Narrowed, Schedules, Tier};
use crate::level::distinct;
use crate::trial::Outcome;

/// How safe some settings are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Safety {
    /// Under the models inside SQLite's assumptions about hardware: what recommendations go by.
    pub tier: Tier,
    /// Under those outside of them, such as a device that ignores syncs; none where none was tried.
    pub beyond: Option<Tier>,
    /// By model.
    pub models: Vec<ModelSafety>,
    /// Where the tier holds on occasions only: on which, and the tier otherwise.
    pub narrowed: Option<Narrowed>,
    /// The results of schedules; none where none were run.
    pub schedules: Option<Schedules>,
}

/// The name and tier of a model.
fn whole(model: &ModelSafety) -> (&str, &Tier) {
    (&model.model, &model.tier)
}

/// The same where no occasion has a part.
fn otherwise(model: &ModelSafety) -> (&str, &Tier) {
    let narrowed = model.narrowed.as_ref();
    let tier = narrowed.map_or(&model.tier, |narrowed| &narrowed.otherwise);
    (&model.model, tier)
}

impl Safety {
    /// What the findings come to.
    pub fn of(models: Vec<ModelSafety>) -> Safety {
        let (inside, outside): (Vec<_>, Vec<_>) = models.iter().partition(|model| model.assumed);
        let tier = match inside.is_empty() {
            true => Tier::not_measured("no storage model within SQLite's assumptions was tested"),
            false => Tier::over(inside.iter().map(|model| whole(model))),
        };
        let beyond = (!outside.is_empty()).then(|| Tier::over(outside.into_iter().map(whole)));
        let narrowed = narrowed(&tier, &inside);
        Safety {
            tier,
            beyond,
            narrowed,
            models,
            schedules: None,
        }
    }

    /// The same with what came of schedules: one that went wrong outweighs every model.
    pub fn with_schedules(self, schedules: Option<Schedules>) -> Safety {
        match schedules.as_ref().and_then(Schedules::tier) {
            Some(tier) => Safety {
                tier,
                narrowed: None,
                schedules,
                ..self
            },
            None => Safety { schedules, ..self },
        }
    }

    /// Settings of which nothing is known.
    pub fn not_measured(why: impl Into<String>) -> Safety {
        Safety {
            tier: Tier::not_measured(why),
            beyond: None,
            models: Vec::new(),
            narrowed: None,
            schedules: None,
        }
    }

    /// The models inside SQLite's assumptions under which these settings fare worse than others; none
    /// where a model was not measured for both, so that it is not known.
    ///
    /// Tiers alone would not do: of two settings that can corrupt, one may do so whenever a process is
    /// killed and the other only when power is lost at a rare moment. Nor would models alone: one may
    /// corrupt at any commit and the other only where the file shrinks, so that the tiers without such
    /// occasions are compared as well.
    pub fn worse_under(&self, other: &Safety) -> Option<Vec<String>> {
        if self.needs_no_crash() && !other.needs_no_crash() {
            return Some(vec!["schedules of two connections".to_owned()]);
        }
        let assumed = |safety: &'_ Safety| -> Vec<String> {
            let models = safety.models.iter().filter(|model| model.assumed);
            models.map(|model| model.model.clone()).collect()
        };
        let names = distinct([assumed(other), assumed(self)].concat());
        let mut worse = Vec::new();
        for name in &names {
            let classes = |safety: &Safety| {
                let of_name = |model: &&ModelSafety| model.model == *name;
                let model = safety.models.iter().find(of_name)?;
                let (_, everyday) = otherwise(model);
                Some((model.tier.class()?, everyday.class()?))
            };
            let (own, others) = (classes(self)?, classes(other)?);
            if own.0 < others.0 || own.1 < others.1 {
                worse.push(name.clone());
            }
        }
        (!names.is_empty()).then_some(worse)
    }

    /// Whether damage was found that needs no crash.
    fn needs_no_crash(&self) -> bool {
        self.tier.class() == Some(Class::CorruptsUncrashed)
    }

    /// What a trial of [`WORKLOAD`](super::WORKLOAD) came to.
    pub fn of_outcome(outcome: &Outcome) -> Safety {
        match outcome {
            Outcome::Measured(measured) if !measured.safety.is_empty() => {
                Safety::of(measured.safety.clone()).with_schedules(measured.schedules.clone())
            }
            Outcome::Measured(_) => Safety::not_measured("the driver named no storage model"),
            other => Safety::not_measured(other.problem().unwrap_or_default()),
        }
    }
}

/// What holds where no occasion has a part, if that is a better tier than the whole one.
fn narrowed(tier: &Tier, inside: &[&ModelSafety]) -> Option<Narrowed> {
    let better = Tier::over(inside.iter().map(|model| otherwise(model)));
    if better.class()? <= tier.class()? {
        return None;
    }
    let of_class = inside
        .iter()
        .filter(|model| model.tier.class() == tier.class());
    let narrowed = of_class.filter_map(|model| model.narrowed.as_ref());
    let only = distinct(narrowed.flat_map(|it| it.only.clone()));
    Some(Narrowed {
        only,
        otherwise: better,
    })
}

//! All models together: the tier of some settings.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Accident, Class, Counts, Loss, Losses, ModelSafety, Promise, Schedules};
use crate::trial::Outcome;

/// The losses when a process dies and in a power cut under some settings, within SQLite's assumptions
/// about hardware.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Tier {
    /// Losses in ordinary commits when the process dies.
    pub process: Losses,
    /// Losses in ordinary commits when power is lost: the worst of the storage models.
    pub power: Losses,
    /// Losses on rare occasions, if they are greater than in ordinary commits.
    pub occasions: Vec<RareLoss>,
    /// Damage that needs no accident, where there was any.
    pub uncrashed: Option<Uncrashed>,
}

/// The loss in an accident on a rare occasion.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RareLoss {
    /// The accident.
    pub accident: Accident,
    /// The occasion, in words that follow "on".
    pub occasion: String,
    /// The images that take it, over the storage models.
    pub counts: Counts,
    /// A witness: the damage of one of them and how a crash left it.
    pub witness: Option<String>,
}

/// How a database was corrupted without any accident.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Uncrashed {
    /// By two connections that met at the wrong moment.
    Met {
        /// Schedules that went wrong.
        wrong: u64,
        /// Schedules played.
        played: u64,
        /// The first that went wrong, to be played again.
        schedule: String,
    },
    /// By one connection alone.
    Alone {
        /// The damage.
        what: String,
    },
}

/// How safe some settings are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Safety {
    /// Under the models inside SQLite's assumptions about hardware: what recommendations go by.
    pub tier: Tier,
    /// Under those outside of them, such as a device that ignores syncs; `None` if none was tried.
    pub beyond: Option<Losses>,
    /// By model.
    pub models: Vec<ModelSafety>,
    /// The results of schedules; `None` if none were run.
    pub schedules: Option<Schedules>,
}

impl Tier {
    /// Returns a tier about which nothing is known.
    pub fn not_measured(why: impl Into<String>) -> Tier {
        let unknown = Losses::not_measured(why);
        Tier { process: unknown.clone(), power: unknown, occasions: Vec::new(), uncrashed: None }
    }

    /// Returns the tier without its counts.
    pub fn class(&self) -> Class {
        Class {
            process: self.process.loss(),
            power: self.power.loss(),
            uncrashed: self.uncrashed.is_some(),
        }
    }

    /// Returns the loss in this accident in ordinary commits.
    pub fn losses(&self, accident: Accident) -> &Losses {
        match accident {
            Accident::Process => &self.process,
            Accident::Power => &self.power,
        }
    }

    /// Returns why it was not measured, where that is so.
    pub fn why_not(&self) -> Option<&str> {
        let accidents = self.process.why_not().or(self.power.why_not());
        accidents.filter(|_| self.uncrashed.is_none())
    }

    /// Returns the tier in one sentence, with counts written as `count` writes them.
    pub fn words(&self, count: impl Fn(u64) -> String) -> String {
        if let Some(uncrashed) = &self.uncrashed {
            return format!("corrupts without a crash ({})", uncrashed.words(count));
        }
        if let (Losses::NotMeasured { why }, true) = (&self.process, self.process == self.power) {
            return format!("not measured ({why})");
        }
        let parts = Accident::ALL.map(|accident| {
            let losses = self.losses(accident).words(&count);
            format!("{accident}: {losses}")
        });
        parts.join("; ")
    }

    fn of(models: &[ModelSafety]) -> Tier {
        let assumed = || models.iter().filter(|model| model.assumed);
        let over = |accident: Accident| {
            let models = assumed().filter(|model| model.accident == accident);
            let losses: Vec<_> =
                models.map(|model| (model.model.as_str(), &model.ordinary)).collect();
            if losses.is_empty() {
                Losses::not_measured("no storage model of it was tested")
            } else {
                Losses::over(losses.into_iter())
            }
        };
        let (process, power) = (over(Accident::Process), over(Accident::Power));
        let mut tier = Tier { occasions: rare_losses(assumed()), process, power, uncrashed: None };
        let class = tier.class();
        tier.occasions.retain(|rare| {
            let ordinary = class.loss(rare.accident).unwrap_or(Loss::Nothing);
            rare.counts.loss() > ordinary
        });
        tier
    }
}

/// Returns the loss in each accident on each occasion, over all models.
fn rare_losses<'a>(models: impl Iterator<Item = &'a ModelSafety>) -> Vec<RareLoss> {
    let mut all: Vec<RareLoss> = Vec::new();
    for model in models {
        for on in &model.occasions {
            let mut known = all.iter_mut();
            let known =
                known.find(|rare| rare.accident == model.accident && rare.occasion == on.occasion);
            match known {
                Some(rare) => rare.add(on.counts, on.witness.as_ref()),
                None => all.push(RareLoss {
                    accident: model.accident,
                    occasion: on.occasion.clone(),
                    counts: on.counts,
                    witness: on.witness.clone(),
                }),
            }
        }
    }
    all
}

impl Uncrashed {
    /// Returns the damage in words, with counts written as `count` writes them.
    pub fn words(&self, count: impl Fn(u64) -> String) -> String {
        match self {
            Uncrashed::Met { wrong, played, schedule } => {
                let (wrong, played) = (count(*wrong), count(*played));
                format!("{wrong} of {played} schedules, such as {schedule}")
            }
            Uncrashed::Alone { what } => what.clone(),
        }
    }
}

impl RareLoss {
    /// Adds the images under another model; the witness comes from the worst model.
    fn add(&mut self, counts: Counts, witness: Option<&String>) {
        if counts.loss() > self.counts.loss() {
            self.witness = witness.cloned();
        }
        self.counts = self.counts.plus(counts);
    }

    /// Returns the losses in words, with counts written as `count` writes them.
    pub fn words(&self, count: impl Fn(u64) -> String) -> String {
        let accident = match self.accident {
            Accident::Process => "if the process dies",
            Accident::Power => "in a power cut",
        };
        format!("on {}, {accident}: {}", self.occasion, self.counts.words(count))
    }
}

impl Safety {
    /// Sums up the findings.
    pub fn of(models: Vec<ModelSafety>) -> Safety {
        let outside = models.iter().filter(|model| !model.assumed);
        let outside: Vec<(&str, Losses)> =
            outside.map(|model| (model.model.as_str(), model.whole())).collect();
        let beyond = || Losses::over(outside.iter().map(|(model, losses)| (*model, losses)));
        Safety {
            tier: Tier::of(&models),
            beyond: (!outside.is_empty()).then(beyond),
            models,
            schedules: None,
        }
    }

    /// Returns the same with what came of schedules: one that went wrong is the worst of all.
    #[must_use]
    pub fn with_schedules(mut self, schedules: Option<Schedules>) -> Safety {
        self.tier.uncrashed = schedules.as_ref().and_then(uncrashed);
        self.schedules = schedules;
        self
    }

    /// Returns the same for an engine whose syncs do not reach the system, for this reason: a power cut takes anything,
    /// whatever the images of another VFS show.
    #[must_use]
    pub fn unsynced(mut self, why: String) -> Safety {
        self.tier.power = Losses::Unsynced { why };
        self
    }

    /// Returns whether the engine's syncs do not reach the system.
    pub fn is_unsynced(&self) -> bool {
        matches!(self.tier.power, Losses::Unsynced { .. })
    }

    /// Returns whether SQLite's documentation says that these settings may corrupt, within its assumptions about
    /// hardware. That no image showed it proves nothing.
    pub fn is_documented_to_corrupt(&self) -> bool {
        let assumed = self.models.iter().filter(|model| model.assumed);
        let mut documented = assumed.filter_map(|model| model.documented.as_ref());
        documented.any(|documented| documented.promise == Promise::MayCorrupt)
    }

    /// Settings about which nothing is known.
    pub fn not_measured(why: impl Into<String>) -> Safety {
        Safety { tier: Tier::not_measured(why), beyond: None, models: Vec::new(), schedules: None }
    }

    /// Returns the safety that a trial of [`WORKLOAD`](super::WORKLOAD) measured.
    pub fn of_outcome(outcome: &Outcome) -> Safety {
        match outcome {
            Outcome::Measured(it) if it.safety.is_empty() && it.schedules.is_none() => {
                Safety::not_measured("the driver named no storage model")
            }
            Outcome::Measured(it) => {
                Safety::of(it.safety.clone()).with_schedules(it.schedules.clone())
            }
            other => Safety::not_measured(other.problem().unwrap_or_default()),
        }
    }
}

/// Returns the damage that was proved without a crash; `None` if nothing went wrong, which proves nothing.
fn uncrashed(schedules: &Schedules) -> Option<Uncrashed> {
    match schedules {
        Schedules::Played { played, wrong, first: Some(first) } => {
            let schedule = first.schedule.clone();
            Some(Uncrashed::Met { wrong: *wrong, played: *played, schedule })
        }
        Schedules::Alone { what, .. } => Some(Uncrashed::Alone { what: what.clone() }),
        _ => None,
    }
}

/// The tier, or what came of schedules where these alone were played.
impl fmt::Display for Safety {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.schedules {
            Some(schedules) if self.models.is_empty() => schedules.fmt(f),
            _ => self.tier.fmt(f),
        }
    }
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words(|count| count.to_string()))
    }
}

/// The loss that a reader accepts, from the least to the most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MayLose {
    /// As much as with the baseline, which was not measured: no setting that decides it differs.
    Unchanged,
    /// Nothing acknowledged, neither when the process dies nor in a power cut.
    #[default]
    Nothing,
    /// Recent transactions in a power cut, but never the database, and nothing when the process dies.
    Recent,
    /// Anything, the database included; also where safety was not measured.
    Anything,
}

impl MayLose {
    /// Returns whether no more is lost with this safety. What is documented to corrupt is accepted last, even where no image
    /// showed it; where no setting that decides it differs, there is nothing to judge.
    pub fn accepts(self, safety: &Safety) -> bool {
        let class = safety.tier.class();
        match self {
            MayLose::Unchanged | MayLose::Anything => true,
            MayLose::Nothing => class.loses_nothing() && !safety.is_documented_to_corrupt(),
            MayLose::Recent => class.loses_recent_at_most() && !safety.is_documented_to_corrupt(),
        }
    }
}

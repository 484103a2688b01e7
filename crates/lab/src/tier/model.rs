//! The measured safety under one storage model, compared with the documentation.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Accident, Counts, Loss, Losses};

/// The findings under one storage model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ModelSafety {
    /// Name of the model, such as `reorder`.
    pub model: String,
    /// The accident that the model describes.
    pub accident: Accident,
    /// Whether SQLite's default assumptions about hardware cover it.
    pub assumed: bool,
    /// Losses in ordinary commits: images of crashes that touch no rare occasion.
    pub ordinary: Losses,
    /// Images that take a rare occasion, one entry an occasion; most applications have none of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub occasions: Vec<OnOccasion>,
    /// Whether all states that the model allows were visited, not a sample.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub all_states: bool,
    /// Whether each trial judges images of its own, so that the counts of several add up.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub adds_up: bool,
    /// Findings by the settings in force, if a script changes them and the promises differ; the most
    /// promised first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub in_force: Vec<UnderSettings>,
    /// The promise of SQLite's documentation: the least of those for the settings in force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub documented: Option<Documented>,
    /// A witness: the damage of one image of ordinary commits and how a crash left it: of a corrupt one
    /// where there is one, else of one that lacks transactions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub witness: Option<String>,
    /// The command that makes this witness again and writes it to disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub again: Option<String>,
    /// Why it is safer than documented, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
}

/// The findings on a rare occasion, such as VACUUM.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OnOccasion {
    /// The occasion, in words that follow "on".
    pub occasion: String,
    /// The images that take it.
    pub counts: Counts,
    /// A witness: the damage of one of them and how a crash left it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub witness: Option<String>,
    /// The command that makes this witness again and writes it to disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub again: Option<String>,
    /// Why it is less safe than documented, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
}

/// The findings after crashes that met these settings, and none with a weaker promise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnderSettings {
    /// The settings: one set, or several with the same promise.
    pub settings: String,
    /// The promise of SQLite's documentation for them.
    pub documented: Documented,
    /// The images, rare occasions included.
    pub counts: Counts,
    /// A witness, if one was kept: the damage of one of them and how a crash left it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub witness: Option<String>,
}

/// The promise of SQLite's documentation for settings under a model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Documented {
    /// How much it promises.
    pub promise: Promise,
    /// The promise, in our words.
    pub says: String,
    /// Where.
    pub source: String,
}

/// How much documentation promises, in order from the most to the least.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[derive(strum::Display)]
pub enum Promise {
    /// Nothing that was committed is lost, nothing is corrupted.
    #[strum(to_string = "safe")]
    Safe,
    /// Recent commits may be lost; nothing is corrupted.
    #[strum(to_string = "may lose commits")]
    MayLose,
    /// The database may be corrupted.
    #[strum(to_string = "may corrupt")]
    MayCorrupt,
    /// Nothing is said.
    #[strum(to_string = "no promise")]
    Silent,
}

impl Promise {
    /// Returns the most that keeps the promise; `None` if there is none.
    fn allows(self) -> Option<Loss> {
        match self {
            Promise::Safe => Some(Loss::Nothing),
            Promise::MayLose => Some(Loss::RecentTransactions),
            Promise::MayCorrupt | Promise::Silent => None,
        }
    }
}

impl ModelSafety {
    /// Returns a model without any measurement.
    pub fn not_measured(model: &str, accident: Accident, assumed: bool, why: &str) -> ModelSafety {
        ModelSafety {
            model: model.to_owned(),
            accident,
            assumed,
            ordinary: Losses::not_measured(why),
            occasions: Vec::new(),
            all_states: false,
            in_force: Vec::new(),
            adds_up: false,
            documented: None,
            witness: None,
            again: None,
            cause: None,
        }
    }

    /// Ordinary commits and rare occasions together.
    pub fn whole(&self) -> Losses {
        let on_occasions = self.occasions.iter().map(|on| on.counts);
        match self.ordinary.counts().into_iter().chain(on_occasions).reduce(Counts::plus) {
            Some(counts) => Losses::of(counts),
            None => self.ordinary.clone(),
        }
    }

    /// Returns the most that is lost, on whatever occasion; `None` if nothing was measured.
    pub fn worst(&self) -> Option<Loss> {
        self.whole().loss()
    }

    /// Returns the occasions on which more is lost than in ordinary commits.
    pub fn worse_occasions(&self) -> impl Iterator<Item = &OnOccasion> {
        let ordinary = self.ordinary.loss();
        let all = self.occasions.iter();
        all.filter(move |on| Some(on.counts.loss()) > ordinary.max(Some(Loss::Nothing)))
    }

    /// Returns whether this loss breaks what is documented. Anything safer than documented breaks nothing: not
    /// to have found a violation proves nothing.
    pub fn breaks_a_promise(&self, loss: Option<Loss>) -> bool {
        let documented = self.documented.as_ref();
        let allowed = documented.and_then(|documented| documented.promise.allows());
        matches!((loss, allowed), (Some(found), Some(allowed)) if found > allowed)
    }

    /// Returns the settings in force whose promise is broken, although the weakest of them may break none.
    pub fn broken_in_force(&self) -> impl Iterator<Item = &UnderSettings> {
        self.in_force.iter().filter(|under| {
            let allowed = under.documented.promise.allows();
            allowed.is_some_and(|allowed| under.counts.loss() > allowed)
        })
    }

    /// Returns whether what was found is safer than what is documented, in the images that were looked at: the
    /// documentation allows more to happen.
    pub fn is_safer_than_documented(&self) -> bool {
        let documented = self.documented.as_ref();
        let promise = documented.map(|documented| documented.promise);
        match (promise, self.worst()) {
            (Some(Promise::MayLose), Some(found)) => found == Loss::Nothing,
            (Some(Promise::MayCorrupt), Some(found)) => found < Loss::Corruption,
            _ => false,
        }
    }

    /// Adds what another trial of the same settings found under the same model: of ordinary commits and
    /// of each occasion the worse finding, or sums where both have judged images of their own.
    fn add(&mut self, found: ModelSafety) {
        if self.adds_up && found.adds_up {
            let loss = |model: &ModelSafety| model.ordinary.counts().map(|counts| counts.loss());
            self.witness = if loss(&found) > loss(self) {
                found.witness.clone().or(self.witness.take())
            } else {
                self.witness.take().or(found.witness.clone())
            };
            let both =
                [&self.ordinary, &found.ordinary].map(|losses| (found.model.as_str(), losses));
            self.ordinary = Losses::over(both.into_iter());
            return;
        }
        if weight(found.ordinary.counts()) > weight(self.ordinary.counts()) {
            self.ordinary = found.ordinary;
            self.in_force = found.in_force;
            self.witness = found.witness;
            self.again = found.again;
            self.cause = found.cause;
        }
        for on in found.occasions {
            let mut known = self.occasions.iter_mut();
            match known.find(|known| known.occasion == on.occasion) {
                Some(known) if weight(Some(on.counts)) > weight(Some(known.counts)) => *known = on,
                Some(_) => {}
                None => self.occasions.push(on),
            }
        }
    }
}

/// Which of two findings is kept: the worse one, of equals the one from more images, and one that was
/// measured in any case.
fn weight(counts: Option<Counts>) -> Option<(Loss, u64)> {
    counts.map(|counts| (counts.loss(), counts.images))
}

/// Findings of two trials of the same settings in one: see [`ModelSafety`].
pub fn merged(one: Vec<ModelSafety>, other: Vec<ModelSafety>) -> Vec<ModelSafety> {
    let mut merged = one;
    for found in other {
        match merged.iter_mut().find(|known| known.model == found.model) {
            Some(known) => known.add(found),
            None => merged.push(found),
        }
    }
    merged
}

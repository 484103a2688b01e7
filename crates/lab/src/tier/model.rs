//! What was measured under one storage model, compared with what is documented.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Class, Tier};

/// What was found under one storage model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ModelSafety {
    /// Name of the model, such as `reorder`.
    pub model: String,
    /// Whether SQLite's default assumptions about hardware cover it.
    pub assumed: bool,
    /// What was found.
    pub tier: Tier,
    /// Whether each trial judges images of its own, so that the counts of several add up.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub adds_up: bool,
    /// What SQLite's documentation says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub documented: Option<Documented>,
    /// What is wrong with one image and how a crash left it: of a violation where there is one, else
    /// of a loss.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub witness: Option<String>,
    /// The command that makes the witness again and writes it to disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub again: Option<String>,
    /// Where the tier holds on occasions only that many applications never have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub narrowed: Option<Narrowed>,
    /// Why the tier differs from what is documented, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
}

/// That a tier holds on occasions only, and what holds otherwise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Narrowed {
    /// The occasions, in words that follow "only".
    pub only: Vec<String>,
    /// What was found where none of them had a part in the crash.
    pub otherwise: Tier,
}

/// What SQLite's documentation says of settings under a model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Documented {
    /// How much it promises.
    pub promise: Promise,
    /// What it says, in our words.
    pub says: String,
    /// Where.
    pub source: String,
}

/// How much documentation promises, in order from the most to the least.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Promise {
    /// Nothing that was committed is lost, nothing is corrupted.
    Safe,
    /// Recent commits may be lost; nothing is corrupted.
    MayLose,
    /// The database may be corrupted.
    MayCorrupt,
    /// Nothing is said.
    Silent,
}

impl Promise {
    /// The promise in words.
    pub fn words(self) -> &'static str {
        match self {
            Promise::Safe => "safe",
            Promise::MayLose => "may lose commits",
            Promise::MayCorrupt => "may corrupt",
            Promise::Silent => "no promise",
        }
    }

    /// The least that keeps the promise; none where there is none.
    fn least(self) -> Option<Class> {
        match self {
            Promise::Safe => Some(Class::NoViolation),
            Promise::MayLose => Some(Class::LosesCommits),
            Promise::MayCorrupt | Promise::Silent => None,
        }
    }
}

impl ModelSafety {
    /// Whether what was found breaks what is documented. Anything safer than documented breaks
    /// nothing: not to have found a violation proves nothing.
    pub fn breaks_a_promise(&self) -> bool {
        let promised = self
            .documented
            .as_ref()
            .and_then(|documented| documented.promise.least());
        matches!((self.tier.class(), promised), (Some(found), Some(promised)) if found < promised)
    }

    /// Whether what was found is safer than what is documented, in the images that were looked at: the
    /// documentation allows more to happen.
    pub fn is_safer_than_documented(&self) -> bool {
        let promise = self
            .documented
            .as_ref()
            .map(|documented| documented.promise);
        match (promise, self.tier.class()) {
            (Some(Promise::MayLose), Some(found)) => found > Class::LosesCommits,
            (Some(Promise::MayCorrupt), Some(found)) => found > Class::CanCorrupt,
            _ => false,
        }
    }

    /// Which of two findings under the same model is kept: the worse one, of equals the one that takes no
    /// occasion, then the one from more images, and one that was measured in any case.
    fn weight(&self) -> (bool, std::cmp::Reverse<Option<Class>>, bool, u64) {
        let class = self.tier.class();
        (
            class.is_some(),
            std::cmp::Reverse(class),
            self.narrowed.is_none(),
            self.tier.images(),
        )
    }
}

/// Findings of two trials of the same settings in one: for each model the worse one. Their counts are
/// added only where both have seen images of their own.
pub fn merged(one: Vec<ModelSafety>, other: Vec<ModelSafety>) -> Vec<ModelSafety> {
    let mut merged = one;
    for found in other {
        match merged.iter_mut().find(|known| known.model == found.model) {
            Some(known) if known.adds_up && found.adds_up => {
                let both = [&known.tier, &found.tier].map(|tier| (found.model.as_str(), tier));
                known.tier = Tier::over(both.into_iter());
                known.witness = known.witness.take().or(found.witness);
            }
            Some(known) if found.weight() > known.weight() => *known = found,
            Some(_) => {}
            None => merged.push(found),
        }
    }
    merged
}

//! Safety tiers: what a crash can destroy under some settings, as it was measured.
//!
//! Settings are tried under storage models, each of which says what a crash may leave on the disk.
//! What was found under one model and what is said of all of them together have the same form, a
//! [`Tier`]. Models inside SQLite's assumptions about hardware are summed up apart from those
//! outside: no settings can hold against a disk that lies.
//!
//! It stands apart from statistics because nothing here is an estimate: one witness proves that a
//! database can be corrupted, and no number of clean images proves that it cannot. How the tiers
//! are measured is in `docs/tiers.md`; trying the settings is the business of the workload
//! [`WORKLOAD`], like any other trial.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::engine_name::engine_of;
use crate::level::{Settings, label};
use crate::trial::Outcome;

/// The workload that tries settings under the storage models and reports [`ModelSafety`]s.
pub const WORKLOAD: &str = "crash";

/// Settings that a crash is tried with although they decide nothing by themselves: how many pages share
/// a sector changes what can be torn, but no page size is meant to be less safe than another.
pub const BESIDES: [&str; 1] = ["page_size"];

/// What crashes left of databases. Counts are of distinct images under one model and add up over
/// models; they are properties of the sample, not probabilities in the field.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// Nothing wrong was found, which proves nothing.
    NoViolation {
        /// Images judged.
        images: u64,
    },
    /// Acknowledged commits can be missing; every image was a state that had been committed.
    LosesCommits {
        /// Images that lack some.
        losing: u64,
        /// Images judged.
        images: u64,
        /// The most commits that one of them lacks.
        most: u64,
    },
    /// Databases that do not open, are damaged, or hold what was never committed.
    CanCorrupt {
        /// Images with such a database.
        bad: u64,
        /// Images judged.
        images: u64,
    },
    /// Nothing can be said.
    NotMeasured {
        /// Why not.
        why: String,
    },
}

/// How safe a tier is, without its counts; safer ones are greater.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// See [`Tier::CanCorrupt`].
    CanCorrupt,
    /// See [`Tier::LosesCommits`].
    LosesCommits,
    /// See [`Tier::NoViolation`].
    NoViolation,
}

impl Class {
    /// All of them, the safest first.
    pub const ALL: [Class; 3] = [Class::NoViolation, Class::LosesCommits, Class::CanCorrupt];

    /// The class in words.
    pub fn words(self) -> &'static str {
        match self {
            Class::NoViolation => "no violation found",
            Class::LosesCommits => "loses recent commits, never corrupts",
            Class::CanCorrupt => "can corrupt",
        }
    }
}

impl Tier {
    /// A tier of which nothing is known.
    pub fn not_measured(why: impl Into<String>) -> Tier {
        Tier::NotMeasured { why: why.into() }
    }

    /// What counts allow to be said: of `images` judged, `bad` show corruption and `losing` lack
    /// commits, at `most` so many.
    pub fn of_counts(images: u64, bad: u64, losing: u64, most: u64) -> Tier {
        match (images, bad, losing) {
            (0, ..) => Tier::not_measured("no image was judged"),
            (_, 0, 0) => Tier::NoViolation { images },
            (_, 0, losing) => Tier::LosesCommits {
                losing,
                images,
                most,
            },
            (_, bad, _) => Tier::CanCorrupt { bad, images },
        }
    }

    /// How safe it is; none where it was not measured.
    pub fn class(&self) -> Option<Class> {
        match self {
            Tier::NoViolation { .. } => Some(Class::NoViolation),
            Tier::LosesCommits { .. } => Some(Class::LosesCommits),
            Tier::CanCorrupt { .. } => Some(Class::CanCorrupt),
            Tier::NotMeasured { .. } => None,
        }
    }

    /// Images judged.
    pub fn images(&self) -> u64 {
        match self {
            Tier::NoViolation { images }
            | Tier::LosesCommits { images, .. }
            | Tier::CanCorrupt { images, .. } => *images,
            Tier::NotMeasured { .. } => 0,
        }
    }

    /// The tier in words, with its counts written as `count` writes them.
    pub fn words(&self, count: impl Fn(u64) -> String) -> String {
        match self {
            Tier::NoViolation { images } => format!("no violation in {} images", count(*images)),
            Tier::LosesCommits {
                losing,
                images,
                most,
            } => format!(
                "loses recent commits, never corrupts ({} of {}, up to {})",
                count(*losing),
                count(*images),
                count(*most)
            ),
            Tier::CanCorrupt { bad, images } => {
                format!(
                    "can corrupt ({} of {}, witness)",
                    count(*bad),
                    count(*images)
                )
            }
            Tier::NotMeasured { why } => format!("not measured ({why})"),
        }
    }

    /// What holds for all of the models together: the worst of them, with counts that add up.
    ///
    /// One witness is enough to say "can corrupt"; anything better is said only where every model
    /// was measured.
    fn over<'a>(models: impl Iterator<Item = &'a ModelSafety>) -> Tier {
        let (mut images, mut bad, mut losing, mut most) = (0, 0, 0, 0);
        let mut gap = None;
        for ModelSafety { model, tier, .. } in models {
            images += tier.images();
            match tier {
                Tier::NoViolation { .. } => {}
                Tier::LosesCommits {
                    losing: more,
                    most: lost,
                    ..
                } => {
                    losing += more;
                    most = most.max(*lost);
                }
                Tier::CanCorrupt { bad: more, .. } => bad += more,
                Tier::NotMeasured { why } => {
                    gap.get_or_insert_with(|| format!("model {model}: {why}"));
                }
            }
        }
        match gap {
            Some(why) if bad == 0 => Tier::NotMeasured { why },
            _ => Tier::of_counts(images, bad, losing, most),
        }
    }
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words(|count| count.to_string()))
    }
}

/// What was found under one storage model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ModelSafety {
    /// Name of the model, such as `reorder`.
    pub model: String,
    /// Whether SQLite's default assumptions about hardware cover it.
    pub assumed: bool,
    /// What was found.
    pub tier: Tier,
    /// What SQLite's documentation says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub documented: Option<Documented>,
    /// What is wrong with one image and how a crash left it: of a violation where there is one, else
    /// of a loss.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub witness: Option<String>,
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

    /// Which of two findings under the same model is kept: the worse one, of equals the one from more
    /// images, and one that was measured in any case.
    fn weight(&self) -> (bool, std::cmp::Reverse<Option<Class>>, u64) {
        let class = self.tier.class();
        (
            class.is_some(),
            std::cmp::Reverse(class),
            self.tier.images(),
        )
    }
}

/// Findings of two trials of the same settings in one: for each model the worse one. Their counts are
/// not added, because both may have seen the same images.
pub fn merged(one: Vec<ModelSafety>, other: Vec<ModelSafety>) -> Vec<ModelSafety> {
    let mut merged = one;
    for found in other {
        match merged.iter_mut().find(|known| known.model == found.model) {
            Some(known) if found.weight() > known.weight() => *known = found,
            Some(_) => {}
            None => merged.push(found),
        }
    }
    merged
}

/// How safe some settings are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Safety {
    /// Under the models inside SQLite's assumptions about hardware: what recommendations go by.
    pub tier: Tier,
    /// Under those outside of them, such as a device that ignores syncs; none where none was tried.
    pub beyond: Option<Tier>,
    /// By model.
    pub models: Vec<ModelSafety>,
}

impl Safety {
    /// What the findings come to.
    pub fn of(models: Vec<ModelSafety>) -> Safety {
        let (inside, outside): (Vec<_>, Vec<_>) = models.iter().partition(|model| model.assumed);
        let tier = match inside.is_empty() {
            true => Tier::not_measured("no model inside SQLite's assumptions was tried"),
            false => Tier::over(inside.into_iter()),
        };
        let beyond = (!outside.is_empty()).then(|| Tier::over(outside.into_iter()));
        Safety {
            tier,
            beyond,
            models,
        }
    }

    /// Settings of which nothing is known.
    pub fn not_measured(why: impl Into<String>) -> Safety {
        Safety {
            tier: Tier::not_measured(why),
            beyond: None,
            models: Vec::new(),
        }
    }

    /// The models inside SQLite's assumptions under which these settings fare worse than others; none
    /// where a model was not measured for both, so that it is not known.
    ///
    /// Tiers alone would not do: of two settings that can corrupt, one may do so whenever a process is
    /// killed and the other only when power is lost at a rare moment.
    pub fn worse_under(&self, other: &Safety) -> Option<Vec<String>> {
        let assumed = |safety: &'_ Safety| -> Vec<String> {
            let models = safety.models.iter().filter(|model| model.assumed);
            models.map(|model| model.model.clone()).collect()
        };
        let mut names = assumed(other);
        names.extend(
            assumed(self)
                .into_iter()
                .filter(|name| !assumed(other).contains(name)),
        );
        let mut worse = Vec::new();
        for name in &names {
            let class = |safety: &Safety| {
                let of_name = |model: &&ModelSafety| model.model == *name;
                safety.models.iter().find(of_name)?.tier.class()
            };
            if class(self)? < class(other)? {
                worse.push(name.clone());
            }
        }
        (!names.is_empty()).then_some(worse)
    }

    /// What a trial of [`WORKLOAD`] came to.
    pub fn of_outcome(outcome: &Outcome) -> Safety {
        match outcome {
            Outcome::Measured(measured) if !measured.safety.is_empty() => {
                Safety::of(measured.safety.clone())
            }
            Outcome::Measured(_) => Safety::not_measured("the driver named no storage model"),
            other => Safety::not_measured(other.problem().unwrap_or_default()),
        }
    }
}

/// An engine with the settings that decide what a crash can destroy: what a tier is a property of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TierSet {
    /// The engine.
    pub engine: String,
    /// The settings, as far as they are named; the others are left as the engine has them.
    pub settings: Settings,
}

impl TierSet {
    /// Whether it names a setting that decides what a crash can destroy.
    pub fn decides(&self) -> bool {
        let mut names = self.settings.keys();
        names.any(|name| !BESIDES.contains(&name.as_str()))
    }

    /// The set of an arm with these settings; `names` are the settings that decide, and `engine` is
    /// used where the arm names none.
    pub fn of(settings: &Settings, names: &[String], engine: &str) -> TierSet {
        TierSet {
            engine: engine_of(settings, engine),
            settings: settings
                .iter()
                .filter(|(name, _)| names.contains(name))
                .map(|(name, level)| (name.clone(), level.clone()))
                .collect(),
        }
    }
}

impl TierSet {
    /// What the workload [`WORKLOAD`] is asked: these settings, tried for so many seconds.
    pub fn asked(&self, seconds: f64) -> Settings {
        /// More images than any time is enough for, under each model.
        const IMAGES: i64 = 1_000_000;
        let mut asked = self.settings.clone();
        asked.insert("images".to_owned(), IMAGES.into());
        let milliseconds = (seconds * 1_000.0).ceil().max(1.0) as i64;
        asked.insert("stop_after_ms".to_owned(), milliseconds.into());
        asked
    }
}

impl fmt::Display for TierSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.settings.is_empty() {
            true => f.write_str("settings as the engine has them")?,
            false => f.write_str(&label(&self.settings))?,
        }
        match self.engine.as_str() {
            "default" => Ok(()),
            engine => write!(f, " with the engine {engine}"),
        }
    }
}

/// The tiers that a run measures after its rounds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TierPlan {
    /// Time for each set, in seconds, above zero.
    pub seconds: f64,
    /// The settings that crashes are tried with: those that decide what a crash can destroy, and
    /// [`BESIDES`].
    pub names: Vec<String>,
    /// The sets, each once.
    pub sets: Vec<TierSet>,
}

impl TierPlan {
    /// Seconds that all sets will probably take.
    pub fn expected_s(&self) -> f64 {
        self.seconds * self.sets.len() as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::Measured;
    use proptest::prelude::*;

    fn model(model: &str, tier: Tier) -> ModelSafety {
        ModelSafety {
            model: model.to_owned(),
            assumed: !model.starts_with("lying"),
            tier,
            documented: None,
            witness: None,
        }
    }

    fn clean(images: u64) -> Tier {
        Tier::NoViolation { images }
    }

    fn losing(losing: u64, images: u64, most: u64) -> Tier {
        Tier::LosesCommits {
            losing,
            images,
            most,
        }
    }

    fn corrupt(bad: u64, images: u64) -> Tier {
        Tier::CanCorrupt { bad, images }
    }

    #[test]
    fn tiers_are_worded_as_what_they_prove() {
        assert_eq!(clean(12).to_string(), "no violation in 12 images");
        assert_eq!(
            losing(2, 12, 3).to_string(),
            "loses recent commits, never corrupts (2 of 12, up to 3)"
        );
        assert_eq!(corrupt(5, 12).to_string(), "can corrupt (5 of 12, witness)");
        assert_eq!(
            Tier::not_measured("no engine").to_string(),
            "not measured (no engine)"
        );
        assert!(Class::NoViolation > Class::LosesCommits);
        assert!(Class::LosesCommits > Class::CanCorrupt);
    }

    #[test]
    fn the_worst_model_decides_and_counts_add_up() {
        let safety = Safety::of(vec![
            model("kill", clean(100)),
            model("reorder", losing(4, 50, 2)),
            model("torn", losing(1, 60, 5)),
        ]);
        assert_eq!(safety.tier, losing(5, 210, 5));
        assert_eq!(safety.beyond, None);
        let safety = Safety::of(vec![
            model("reorder", losing(4, 50, 2)),
            model("torn", corrupt(1, 60)),
        ]);
        assert_eq!(safety.tier, corrupt(1, 110));
    }

    #[test]
    fn models_outside_the_assumptions_stand_apart() {
        let safety = Safety::of(vec![
            model("kill", clean(100)),
            model("lying-fifo", corrupt(7, 9)),
        ]);
        assert_eq!(safety.tier, clean(100));
        assert_eq!(safety.beyond, Some(corrupt(7, 9)));
        let only_beyond = Safety::of(vec![model("lying-fifo", clean(1))]);
        assert_eq!(only_beyond.tier.class(), None);
    }

    #[test]
    fn a_model_without_a_measurement_leaves_room_for_corruption_only() {
        let gap = || model("torn", Tier::not_measured("out of time"));
        let safety = Safety::of(vec![model("kill", clean(100)), gap()]);
        assert_eq!(safety.tier, Tier::not_measured("model torn: out of time"));
        let safety = Safety::of(vec![model("kill", corrupt(1, 100)), gap()]);
        assert_eq!(safety.tier, corrupt(1, 100));
    }

    #[test]
    fn settings_are_compared_model_by_model() {
        let rare = Safety::of(vec![
            model("kill", clean(100)),
            model("reorder", corrupt(1, 100)),
            model("lying-fifo", corrupt(1, 100)),
        ]);
        let often = Safety::of(vec![
            model("kill", corrupt(9, 100)),
            model("reorder", corrupt(90, 100)),
            model("lying-fifo", clean(100)),
        ]);
        assert_eq!(often.tier.class(), rare.tier.class());
        assert_eq!(often.worse_under(&rare), Some(vec!["kill".to_owned()]));
        assert_eq!(rare.worse_under(&often), Some(vec![]));
        let partly = Safety::of(vec![model("kill", clean(100))]);
        assert_eq!(partly.worse_under(&rare), None);
        assert_eq!(rare.worse_under(&partly), None);
        let unknown = Safety::not_measured("no");
        assert_eq!(unknown.worse_under(&unknown), None);
    }

    #[test]
    fn no_image_is_no_measurement() {
        assert_eq!(Tier::of_counts(0, 0, 0, 0).class(), None);
    }

    #[test]
    fn a_broken_promise_is_seen_and_a_kept_one_is_not() {
        let with = |promise, tier| ModelSafety {
            documented: Some(Documented {
                promise,
                says: String::new(),
                source: String::new(),
            }),
            ..model("kill", tier)
        };
        assert!(with(Promise::Safe, losing(1, 2, 1)).breaks_a_promise());
        assert!(with(Promise::MayLose, corrupt(1, 2)).breaks_a_promise());
        assert!(!with(Promise::MayLose, losing(1, 2, 1)).breaks_a_promise());
        assert!(!with(Promise::MayCorrupt, clean(2)).breaks_a_promise());
        assert!(!with(Promise::Silent, corrupt(1, 2)).breaks_a_promise());
        assert!(!with(Promise::Safe, Tier::not_measured("")).breaks_a_promise());
    }

    #[test]
    fn of_two_findings_the_worse_is_kept_then_the_larger() {
        let keep = |one: Tier, other: Tier| {
            merged(vec![model("kill", one)], vec![model("kill", other)])
                .remove(0)
                .tier
        };
        assert_eq!(keep(corrupt(1, 10), clean(1_000)), corrupt(1, 10));
        assert_eq!(keep(clean(10), losing(1, 5, 1)), losing(1, 5, 1));
        assert_eq!(keep(clean(10), clean(20)), clean(20));
        assert_eq!(keep(clean(20), clean(10)), clean(20));
        assert_eq!(keep(Tier::not_measured("no"), clean(1)), clean(1));
        assert_eq!(keep(clean(1), Tier::not_measured("no")), clean(1));
        let both = merged(vec![model("kill", clean(1))], vec![model("torn", clean(1))]);
        assert_eq!(both.len(), 2);
    }

    #[test]
    fn what_a_trial_did_not_measure_has_its_reason() {
        let why = |outcome: Outcome| match Safety::of_outcome(&outcome).tier {
            Tier::NotMeasured { why } => why,
            tier => panic!("{tier}"),
        };
        let skipped = Outcome::Skipped {
            why: "no such engine".to_owned(),
        };
        assert_eq!(why(skipped), "skipped: no such engine");
        let silent = Outcome::Measured(Box::<Measured>::default());
        assert_eq!(why(silent), "the driver named no storage model");
    }

    #[test]
    fn a_set_holds_the_settings_that_decide_and_the_engine() {
        let names = ["journal_mode".to_owned(), "synchronous".to_owned()];
        let settings = Settings::from([
            ("journal_mode".to_owned(), "wal".into()),
            ("rows".to_owned(), 10.into()),
        ]);
        let set = TierSet::of(&settings, &names, "default");
        assert_eq!(set.to_string(), "journal_mode=wal");
        assert!(set.decides());
        let page = TierSet {
            settings: [("page_size".to_owned(), 512.into())].into(),
            ..set
        };
        assert!(!page.decides());
        let own = Settings::from([("engine".to_owned(), "system".into())]);
        assert_eq!(
            TierSet::of(&own, &names, "default").to_string(),
            "settings as the engine has them with the engine system"
        );
    }

    fn any_tier() -> impl Strategy<Value = Tier> {
        prop_oneof![
            (1..100u64).prop_map(clean),
            (1..100u64, 1..9u64).prop_map(|(images, most)| losing(1, images, most)),
            (1..100u64).prop_map(|images| corrupt(1, images)),
            Just(Tier::not_measured("no")),
        ]
    }

    proptest! {
        /// However many clean models are added, what was found stays found.
        #[test]
        fn nothing_found_is_talked_away(tiers in prop::collection::vec(any_tier(), 1..8)) {
            let models: Vec<ModelSafety> = tiers.iter().map(|tier| model("m", tier.clone())).collect();
            let whole = Safety::of(models).tier;
            let worst = tiers.iter().filter_map(Tier::class).min();
            if worst == Some(Class::CanCorrupt) {
                prop_assert_eq!(whole.class(), Some(Class::CanCorrupt));
            } else if tiers.iter().any(|tier| tier.class().is_none()) {
                prop_assert_eq!(whole.class(), None);
            } else {
                prop_assert_eq!(whole.class(), worst);
            }
        }

        #[test]
        fn a_tier_is_read_back_as_it_was_written(tier in any_tier()) {
            let text = serde_json::to_string(&tier).unwrap();
            prop_assert_eq!(serde_json::from_str::<Tier>(&text).unwrap(), tier);
        }
    }
}

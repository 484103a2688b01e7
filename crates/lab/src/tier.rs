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
    /// No crash is needed: two connections that meet at the wrong moment do the damage.
    CorruptsUncrashed {
        /// Schedules that went wrong.
        wrong: u64,
        /// Schedules played.
        played: u64,
        /// The first of them, to be played again.
        schedule: String,
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
    /// See [`Tier::CorruptsUncrashed`].
    CorruptsUncrashed,
    /// See [`Tier::CanCorrupt`].
    CanCorrupt,
    /// See [`Tier::LosesCommits`].
    LosesCommits,
    /// See [`Tier::NoViolation`].
    NoViolation,
}

impl Class {
    /// All of them, the safest first.
    pub const ALL: [Class; 4] = [
        Class::NoViolation,
        Class::LosesCommits,
        Class::CanCorrupt,
        Class::CorruptsUncrashed,
    ];

    /// The class in words.
    pub fn words(self) -> &'static str {
        match self {
            Class::NoViolation => "no violation found",
            Class::LosesCommits => "loses recent commits, never corrupts",
            Class::CanCorrupt => "can corrupt",
            Class::CorruptsUncrashed => "corrupts without a crash",
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
            Tier::CorruptsUncrashed { .. } => Some(Class::CorruptsUncrashed),
            Tier::NotMeasured { .. } => None,
        }
    }

    /// Images judged.
    pub fn images(&self) -> u64 {
        match self {
            Tier::NoViolation { images }
            | Tier::LosesCommits { images, .. }
            | Tier::CanCorrupt { images, .. } => *images,
            Tier::CorruptsUncrashed { .. } | Tier::NotMeasured { .. } => 0,
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
            Tier::CorruptsUncrashed {
                wrong,
                played,
                schedule,
            } => format!(
                "corrupts without a crash ({} of {} schedules, such as {schedule})",
                count(*wrong),
                count(*played)
            ),
            Tier::NotMeasured { why } => format!("not measured ({why})"),
        }
    }

    /// What holds for all of the models together: the worst of them, with counts that add up.
    ///
    /// One witness is enough to say "can corrupt"; anything better is said only where every model
    /// was measured.
    fn over<'a>(models: impl Iterator<Item = (&'a str, &'a Tier)>) -> Tier {
        let (mut images, mut bad, mut losing, mut most) = (0, 0, 0, 0);
        let mut gap = None;
        for (model, tier) in models {
            images += tier.images();
            match tier {
                // Schedules belong to no model.
                Tier::NoViolation { .. } | Tier::CorruptsUncrashed { .. } => {}
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

/// What came of two connections that met at chosen moments: damage that needs no crash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Schedules {
    /// Schedules were played.
    Played {
        /// How many, each once.
        played: u64,
        /// How many of them went wrong.
        wrong: u64,
        /// The first that went wrong.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        first: Option<WrongSchedule>,
    },
    /// Nothing can be said.
    NotMeasured {
        /// Why not.
        why: String,
    },
}

/// A schedule that went wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WrongSchedule {
    /// The schedule, as `pragmark crash --schedule` takes it.
    pub schedule: String,
    /// What went wrong.
    pub what: String,
    /// The command that plays it again.
    pub again: String,
}

impl Schedules {
    /// Both in one: counts are not added, because both may have played the same schedules.
    pub fn merged(self, other: Schedules) -> Schedules {
        let weight = |schedules: &Schedules| match schedules {
            Schedules::NotMeasured { .. } => (false, 0, 0),
            Schedules::Played { played, wrong, .. } => (true, *wrong, *played),
        };
        if weight(&other) > weight(&self) {
            other
        } else {
            self
        }
    }

    /// The tier that they prove; none where nothing went wrong, which proves nothing.
    fn tier(&self) -> Option<Tier> {
        match self {
            Schedules::Played {
                played,
                wrong,
                first: Some(first),
            } => Some(Tier::CorruptsUncrashed {
                wrong: *wrong,
                played: *played,
                schedule: first.schedule.clone(),
            }),
            _ => None,
        }
    }
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
    /// Where the tier holds on occasions only: on which, and the tier otherwise.
    pub narrowed: Option<Narrowed>,
    /// What came of schedules; none where none were asked for.
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
            true => Tier::not_measured("no model inside SQLite's assumptions was tried"),
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
        let mut names = assumed(other);
        names.extend(
            assumed(self)
                .into_iter()
                .filter(|name| !assumed(other).contains(name)),
        );
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

    /// What a trial of [`WORKLOAD`] came to.
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
    let mut only: Vec<String> = Vec::new();
    let of_class = inside
        .iter()
        .filter(|model| model.tier.class() == tier.class());
    for occasion in of_class
        .filter_map(|model| model.narrowed.as_ref())
        .flat_map(|it| &it.only)
    {
        if !only.contains(occasion) {
            only.push(occasion.clone());
        }
    }
    Some(Narrowed {
        only,
        otherwise: better,
    })
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
        /// The same of schedules, of each scenario.
        const SCHEDULES: i64 = 1_000_000;
        let mut asked = self.settings.clone();
        asked.insert("images".to_owned(), IMAGES.into());
        asked.insert("schedules".to_owned(), SCHEDULES.into());
        asked.insert("psow".to_owned(), true.into());
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
            again: None,
            narrowed: None,
            cause: None,
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
        assert!(Class::CanCorrupt > Class::CorruptsUncrashed);
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
    fn a_tier_that_holds_on_occasions_only_is_told_with_what_holds_otherwise() {
        let rare = |tier, otherwise| ModelSafety {
            narrowed: Some(Narrowed {
                only: vec!["where it shrinks".to_owned()],
                otherwise,
            }),
            ..model("torn", tier)
        };
        let safety = Safety::of(vec![
            model("kill", clean(100)),
            model("reorder", losing(3, 50, 1)),
            rare(corrupt(2, 40), clean(30)),
        ]);
        assert_eq!(safety.tier, corrupt(2, 190));
        let narrowed = safety.narrowed.unwrap();
        assert_eq!(narrowed.only, ["where it shrinks"]);
        assert_eq!(narrowed.otherwise, losing(3, 180, 1));
        // It is no match for settings that corrupt at any time.
        let at_any_time = Safety::of(vec![
            model("kill", clean(100)),
            model("reorder", losing(3, 50, 1)),
            model("torn", corrupt(2, 40)),
        ]);
        let rarely = Safety::of(vec![
            model("kill", clean(100)),
            model("reorder", losing(3, 50, 1)),
            rare(corrupt(2, 40), clean(30)),
        ]);
        assert_eq!(
            at_any_time.worse_under(&rarely),
            Some(vec!["torn".to_owned()])
        );
        assert_eq!(rarely.worse_under(&at_any_time), Some(vec![]));
        // One model that fares as badly every day leaves nothing to be said.
        let daily = Safety::of(vec![
            model("reorder", corrupt(1, 50)),
            rare(corrupt(2, 40), clean(30)),
        ]);
        assert_eq!(daily.narrowed, None);
    }

    fn wrong_schedule() -> Schedules {
        Schedules::Played {
            played: 900,
            wrong: 2,
            first: Some(WrongSchedule {
                schedule: "checkpoint-and-restart/wal@9,30".to_owned(),
                what: "a transaction is gone".to_owned(),
                again: "pragmark crash --schedule checkpoint-and-restart/wal@9,30".to_owned(),
            }),
        }
    }

    #[test]
    fn damage_that_needs_no_crash_is_a_tier_of_its_own_and_the_worst() {
        let models = || vec![model("kill", corrupt(1, 100))];
        let found = Safety::of(models()).with_schedules(Some(wrong_schedule()));
        assert_eq!(
            found.tier.to_string(),
            "corrupts without a crash (2 of 900 schedules, such as checkpoint-and-restart/wal@9,30)"
        );
        let clean = Schedules::Played {
            played: 900,
            wrong: 0,
            first: None,
        };
        let crashes_only = Safety::of(models()).with_schedules(Some(clean.clone()));
        assert_eq!(crashes_only.tier, corrupt(1, 100));
        assert!(
            found
                .worse_under(&crashes_only)
                .is_some_and(|worse| !worse.is_empty())
        );
        assert_eq!(crashes_only.worse_under(&found), Some(vec![]));
        // What one round found is not forgotten because another missed it.
        let not_measured = || Schedules::NotMeasured { why: String::new() };
        assert_eq!(clean.clone().merged(wrong_schedule()), wrong_schedule());
        assert_eq!(wrong_schedule().merged(clean.clone()), wrong_schedule());
        assert_eq!(not_measured().merged(clean.clone()), clean);
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
        assert!(with(Promise::MayCorrupt, clean(2)).is_safer_than_documented());
        assert!(with(Promise::MayCorrupt, losing(1, 2, 1)).is_safer_than_documented());
        assert!(!with(Promise::MayLose, losing(1, 2, 1)).is_safer_than_documented());
        assert!(!with(Promise::Safe, clean(2)).is_safer_than_documented());
        assert!(!with(Promise::Silent, clean(2)).is_safer_than_documented());
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

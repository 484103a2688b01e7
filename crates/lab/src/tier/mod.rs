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

mod model;
mod plan;
mod safety;
mod schedules;
#[cfg(test)]
mod tests;

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use model::{Documented, ModelSafety, Narrowed, Promise, merged};
pub use plan::{TierPlan, TierSet, stop_after};
pub use safety::Safety;
pub use schedules::{Schedules, WrongSchedule};

/// The workload that tries settings under the storage models and reports [`ModelSafety`]s.
pub const WORKLOAD: &str = "crash";

/// The workload that kills processes while they write.
pub const KILL: &str = "kill";

/// The workload in which two connections meet at every instant.
pub const SCHEDULES: &str = "schedules";

/// Whether a workload measures what accidents destroy instead of speed.
pub fn tries_accidents(workload: &str) -> bool {
    [WORKLOAD, KILL, SCHEDULES].contains(&workload)
}

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
        /// Why they are not combined.
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
            (0, ..) => Tier::not_measured("no crash image was checked"),
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

    /// Whether it is proven worse than another one; what was not measured proves nothing.
    pub fn is_worse_than(&self, other: &Tier) -> bool {
        let class = |tier: &Tier| tier.class().unwrap_or(Class::NoViolation);
        class(self) < class(other)
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

    /// Images that are corrupt or lack commits.
    pub fn damaged(&self) -> u64 {
        match self {
            Tier::LosesCommits { losing, .. } => *losing,
            Tier::CanCorrupt { bad, .. } => *bad,
            _ => 0,
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

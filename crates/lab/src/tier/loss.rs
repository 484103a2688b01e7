//! The loss of data in an accident, with the crash images that show it.
//!
//! Results of two connections that meet at the wrong moment: damage that needs no crash and
//! belongs to no storage model.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An event that ends work in the middle.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[derive(strum::Display)]
pub enum Accident {
    /// The process of the application ends; the system keeps what was written and writes it later.
    #[strum(to_string = "process dies")]
    Process,
    /// Power is lost, or the system stops: only what has reached the disk remains.
    #[strum(to_string = "power cut")]
    Power,
}

impl Accident {
    /// Both, the more frequent first.
    pub const ALL: [Accident; 2] = [Accident::Process, Accident::Power];
}

/// How much an accident takes, from the mildest to the worst.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[derive(strum::Display, strum::IntoStaticStr)]
pub enum Loss {
    /// No transaction that was acknowledged.
    #[strum(to_string = "no acknowledged transaction")]
    Nothing,
    /// At most the last transaction that was acknowledged.
    #[strum(to_string = "at most the last transaction")]
    LastTransaction,
    /// Several of the latest transactions, up to everything since the last sync or checkpoint.
    #[strum(to_string = "recent transactions")]
    RecentTransactions,
    /// The database: it does not open, is damaged, or holds what was never committed.
    #[strum(to_string = "can corrupt")]
    Corruption,
}

impl Loss {
    /// All of them, the mildest first.
    pub const ALL: [Loss; 4] =
        [Loss::Nothing, Loss::LastTransaction, Loss::RecentTransactions, Loss::Corruption];
}

/// Distinct crash images. Counts under several models add up; they are properties of the sample,
/// not probabilities in the field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Counts {
    /// Images judged.
    pub images: u64,
    /// Images that do not open, are damaged, or hold what was never committed.
    pub corrupt: u64,
    /// Images in order that lack acknowledged transactions.
    pub losing: u64,
    /// The most transactions that one of them lacks.
    pub most: u64,
}

impl Counts {
    /// Counts of `images`: `corrupt` are corrupt and `losing` lack up to `most` transactions.
    pub fn of(images: u64, corrupt: u64, losing: u64, most: u64) -> Counts {
        Counts { images, corrupt, losing, most }
    }

    /// Returns the loss that these images show.
    pub fn loss(&self) -> Loss {
        match (self.corrupt, self.losing, self.most) {
            (0, 0, _) => Loss::Nothing,
            (0, _, 1) => Loss::LastTransaction,
            (0, _, _) => Loss::RecentTransactions,
            _ => Loss::Corruption,
        }
    }

    /// Returns the images that show it: the corrupt ones where there are any, else those that lack transactions.
    pub fn damaged(&self) -> u64 {
        match self.corrupt {
            0 => self.losing,
            corrupt => corrupt,
        }
    }

    /// Returns the largest share, from 0 to 1, of images like these that could show what none of them shows, at 95 % confidence: of 0
    /// in n about 3 / n. Images are those that the sample draws; the share says nothing of crashes in the field.
    pub fn bound_of_none(&self) -> f64 {
        const ERROR: f64 = 0.05;
        match self.images {
            0 => 1.0,
            images => 1.0 - ERROR.powf(1.0 / images as f64),
        }
    }

    /// Both together, of images that are not the same.
    #[must_use]
    pub fn plus(self, other: Counts) -> Counts {
        Counts {
            images: self.images + other.images,
            corrupt: self.corrupt + other.corrupt,
            losing: self.losing + other.losing,
            most: self.most.max(other.most),
        }
    }

    /// Returns the loss that these images show in words, with counts written as `count` writes them. That nothing was
    /// found is never said without the number of images.
    pub fn words(&self, count: impl Fn(u64) -> String) -> String {
        let images = match self.images {
            1 => "1 image".to_owned(),
            many => format!("{} images", count(many)),
        };
        let shown = format!("{} of {images}", count(self.damaged()));
        match self.loss() {
            Loss::Nothing => format!("loses no acknowledged transaction in {images}"),
            Loss::LastTransaction => {
                format!("can lose the last transaction ({shown}, none corrupt)")
            }
            Loss::RecentTransactions => format!(
                "can lose recent transactions ({shown}, up to {} in the test, none corrupt)",
                count(self.most)
            ),
            Loss::Corruption => format!("can corrupt ({shown})"),
        }
    }
}

/// The measured loss in an accident.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Losses {
    /// Crash images were judged.
    Measured(Counts),
    /// Everything can be lost, because syncs do not reach the system, whatever crash images show.
    Unsynced {
        /// How that is known.
        why: String,
    },
    /// Nothing can be said.
    NotMeasured {
        /// Why.
        why: String,
    },
}

impl Losses {
    /// Nothing is known.
    pub fn not_measured(why: impl Into<String>) -> Losses {
        Losses::NotMeasured { why: why.into() }
    }

    /// Returns the losses that these images show; without an image nothing was measured.
    pub fn of(counts: Counts) -> Losses {
        match counts.images {
            0 => Losses::not_measured("no crash image was checked"),
            _ => Losses::Measured(counts),
        }
    }

    /// Returns the counts; `None` if nothing was measured.
    pub fn counts(&self) -> Option<Counts> {
        match self {
            Losses::Measured(counts) => Some(*counts),
            Losses::Unsynced { .. } | Losses::NotMeasured { .. } => None,
        }
    }

    /// Returns why nothing was measured; `None` if something was.
    pub fn why_not(&self) -> Option<&str> {
        match self {
            Losses::Measured(_) | Losses::Unsynced { .. } => None,
            Losses::NotMeasured { why } => Some(why),
        }
    }

    /// Returns how much is lost; `None` if that was not measured.
    pub fn loss(&self) -> Option<Loss> {
        match self {
            Losses::Measured(counts) => Some(counts.loss()),
            Losses::Unsynced { .. } => Some(Loss::Corruption),
            Losses::NotMeasured { .. } => None,
        }
    }

    /// Returns the same in words, with counts written as `count` writes them.
    pub fn words(&self, count: impl Fn(u64) -> String) -> String {
        match self {
            Losses::Measured(counts) => counts.words(count),
            Losses::Unsynced { why } => format!("can corrupt ({why})"),
            Losses::NotMeasured { why } => format!("not measured ({why})"),
        }
    }

    /// Returns the losses of several models together: the worst of them, with counts that add up.
    ///
    /// One corrupt image is enough to say "can corrupt"; anything better is said only where every model
    /// was measured.
    pub(super) fn over<'a>(models: impl Iterator<Item = (&'a str, &'a Losses)>) -> Losses {
        let mut all = Counts::default();
        let mut gap = None;
        for (model, losses) in models {
            match losses {
                Losses::Unsynced { .. } => return losses.clone(),
                Losses::Measured(counts) => all = all.plus(*counts),
                Losses::NotMeasured { why } => {
                    gap.get_or_insert_with(|| format!("model {model}: {why}"));
                }
            }
        }
        match gap {
            Some(why) if all.corrupt == 0 => Losses::NotMeasured { why },
            _ => Losses::of(all),
        }
    }
}

impl fmt::Display for Losses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words(|count| count.to_string()))
    }
}

/// The loss in each accident, for ordinary commits. In the default nothing is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Class {
    /// When the process dies; `None` if it was not measured.
    pub process: Option<Loss>,
    /// When power is lost; `None` if it was not measured.
    pub power: Option<Loss>,
    /// Whether no accident is needed: two connections that meet at the wrong moment corrupt the database.
    pub uncrashed: bool,
}

impl Class {
    /// Returns the loss in this accident; `None` if it was not measured.
    pub fn loss(self, accident: Accident) -> Option<Loss> {
        match accident {
            Accident::Process => self.process,
            Accident::Power => self.power,
        }
    }

    /// Returns whether both accidents were measured.
    pub fn is_measured(self) -> bool {
        self.process.is_some() && self.power.is_some()
    }

    /// Returns whether it is at least as safe as another: neither accident takes more. `None` if that is not
    /// known; what was not measured is neither worse nor safer.
    pub fn is_at_least_as_safe_as(self, other: Class) -> Option<bool> {
        if self.uncrashed != other.uncrashed {
            let known = self.uncrashed || self.is_measured();
            return known.then_some(other.uncrashed);
        }
        let pairs = Accident::ALL.map(|accident| self.loss(accident).zip(other.loss(accident)));
        let is_worse = pairs.iter().flatten().any(|(own, other)| own > other);
        if is_worse { Some(false) } else { pairs.iter().all(Option::is_some).then_some(true) }
    }

    /// Returns whether neither accident takes anything that was acknowledged.
    pub fn loses_nothing(self) -> bool {
        let nothing = Some(Loss::Nothing);
        (self.process, self.power, self.uncrashed) == (nothing, nothing, false)
    }

    /// Returns whether a dying process takes nothing, and a power cut at most recent transactions.
    pub fn loses_recent_at_most(self) -> bool {
        let is_recent = |loss| loss <= Loss::RecentTransactions;
        self.process == Some(Loss::Nothing) && self.power.is_some_and(is_recent) && !self.uncrashed
    }

    /// Returns an order of all classes, the safest first: by power cuts, then by dying processes; what was not
    /// measured comes last.
    pub fn order(self) -> impl Ord {
        let last = |loss: Option<Loss>| (loss.is_none(), loss);
        (self.uncrashed, last(self.power), last(self.process))
    }
}

/// Results of two connections that met at chosen moments: damage that needs no crash.
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
    /// Not needed: one connection damaged a database by itself.
    Alone {
        /// The damage.
        what: String,
        /// The command that shows it again.
        again: String,
    },
    /// Nothing can be said.
    NotMeasured {
        /// Why they are not combined.
        why: String,
    },
}

/// A schedule that went wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WrongSchedule {
    /// The schedule, as `pragmark crash --schedule` takes it.
    pub schedule: String,
    /// The damage.
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
            Schedules::Alone { .. } => (true, u64::MAX, 0),
        };
        if weight(&other) > weight(&self) { other } else { self }
    }
}

impl fmt::Display for Schedules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Schedules::Played { played, wrong, .. } => {
                write!(f, "{wrong} of {played} schedules corrupted the database")
            }
            Schedules::Alone { what, .. } => {
                write!(f, "one connection by itself damaged a database: {what}")
            }
            Schedules::NotMeasured { why } => write!(f, "not measured ({why})"),
        }
    }
}

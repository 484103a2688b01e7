//! Counting what crash images showed, and what may be said of them.

use crate::judge::Violation;
use crate::occasion::{Occasion, Occasions};
use crate::trace::File;
use lab::tier::{Counts, Losses, Promise};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The counts of one cell. Images are distinct ones: equal files count once.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// States visited, equal ones included.
    pub visited: u64,
    /// Whether these are all states that the model has, not a sample. Crashes during recovery are
    /// sampled in any case.
    pub all_states: bool,
    /// Distinct images judged.
    pub images: u64,
    /// Those of them that a second crash left, during recovery from the first.
    pub second_crashes: u64,
    /// Images with a database that SQLite refuses to open, or in whose recovery the engine ends the process.
    pub unopenable: u64,
    /// Images in which `integrity_check` finds fault.
    pub corrupt: u64,
    /// Images that hold what no transaction committed: in order by `integrity_check`, or told by their pages.
    pub impossible: u64,
    /// Images in which attached databases hold different transactions, although a super-journal should
    /// have kept them together.
    pub split: u64,
    /// The same where nothing promises otherwise; no violation.
    pub split_unpromised: u64,
    /// Images that lack acknowledged commits, but are in order otherwise.
    pub losing: u64,
    /// The most commits that one of them lacks.
    pub most_lost: u64,
    /// The images that some crash leaves which touches no [`Occasion`], with what such crashes lose:
    /// what an application has to expect that never does those things.
    pub ordinary: Counts,
    /// The images that touch an occasion, with what they lose on it; those that touch two count for both.
    pub occasions: BTreeMap<Occasion, Counts>,
    /// Images that lack more commits after a crash that touches an occasion than after any other.
    pub losing_on_occasions: u64,
    /// All images, by the most that is promised of a crash that leaves them; those of which crashes that less is promised
    /// of lose more count for these as well.
    pub by_promise: BTreeMap<Promise, Counts>,
}

impl Tally {
    pub(crate) fn count(&mut self, violation: &Violation) {
        match violation {
            Violation::Unopenable { .. } | Violation::Ended { .. } => self.unopenable += 1,
            Violation::Corrupt { .. } => self.corrupt += 1,
            Violation::Impossible { .. } | Violation::Mixed { .. } => self.impossible += 1,
            Violation::Split { .. } => self.split += 1,
        }
    }

    /// Images that should never have been.
    pub fn violations(&self) -> u64 {
        self.unopenable + self.corrupt + self.impossible + self.split
    }
}

impl Tally {
    /// What ordinary commits lose. Counts are properties of the sample, not probabilities in the field.
    pub fn losses(&self) -> Losses {
        match (self.ordinary.images, self.images) {
            (0, 1..) => Losses::not_measured("every crash image takes a rare occasion"),
            _ => Losses::of(self.ordinary),
        }
    }

    /// The counts on each occasion that was met. What one occasion explains by itself is not counted for
    /// the others.
    pub fn on_occasions(&self) -> Vec<(Occasion, Counts)> {
        let corrupt = self.violations().saturating_sub(self.ordinary.corrupt);
        let corrupting = self.explaining(corrupt, |counts| counts.corrupt);
        let losing = self.explaining(self.losing_on_occasions, |counts| counts.losing);
        let own = |(occasion, counts): (&Occasion, &Counts)| {
            let mut own = *counts;
            if corrupting.is_some_and(|it| it != *occasion) {
                own.images -= own.corrupt;
                own.corrupt = 0;
            }
            if losing.is_some_and(|it| it != *occasion) {
                own.images -= own.losing;
                (own.losing, own.most) = (0, 0);
            }
            (*occasion, own)
        };
        let all = self.occasions.iter().map(own);
        all.filter(|(_, counts)| counts.images > 0).collect()
    }

    /// The occasion that all of these images touch; `None` where it takes several to explain them.
    fn explaining(&self, all: u64, of: impl Fn(&Counts) -> u64) -> Option<Occasion> {
        let mut occasions = self.occasions.iter();
        let explains = |(_, counts): &(&Occasion, &Counts)| all > 0 && of(counts) == all;
        occasions.find(explains).map(|(occasion, _)| *occasion)
    }
}

/// The best witness of ordinary commits (`None`) and on each occasion.
pub type Witnesses = BTreeMap<Option<Occasion>, Witness>;

/// A crash image that proves something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Witness {
    /// The steps begun before the crash.
    pub cut: usize,
    /// The commits acknowledged until then.
    pub acknowledged: usize,
    /// What is missing or damaged: units for models that choose, steps for prefixes.
    pub faults: usize,
    /// Acknowledged commits that are missing.
    pub lost: usize,
    /// The files.
    pub files: Vec<File>,
    /// What is wrong; `None` where commits are missing only.
    pub violation: Option<Violation>,
    /// Whether it took a second crash, during recovery from the first.
    pub second_crash: bool,
    /// The occasions that its crash touches.
    pub occasions: Occasions,
    /// What is documented of the settings in force.
    pub promise: Promise,
    /// What a crash at that moment may leave: the files right after the last acknowledged commit and
    /// after the next one, with the numbers of those commits.
    pub committed: Vec<(usize, Vec<File>)>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(images: u64, corrupt: u64, losing: u64, most: u64) -> Counts {
        Counts::of(images, corrupt, losing, most)
    }

    #[test]
    fn what_ordinary_commits_lose_is_what_was_counted_and_no_more() {
        let mut tally = Tally { images: 100, ordinary: counts(90, 0, 0, 0), ..Tally::default() };
        let said = |tally: &Tally| tally.losses().to_string();
        assert_eq!(said(&tally), "loses no acknowledged transaction in 90 images");
        tally.split_unpromised = 4;
        tally.count(&Violation::Split { databases: Vec::new(), latest: Vec::new() });
        assert_eq!(said(&tally), "loses no acknowledged transaction in 90 images");
        tally.ordinary = counts(90, 1, 7, 2);
        assert_eq!(said(&tally), "can corrupt (1 of 90 images)");
    }

    #[test]
    fn what_one_occasion_explains_is_not_counted_for_the_others() {
        let mut tally = Tally {
            images: 100,
            corrupt: 3,
            losing: 7,
            most_lost: 2,
            ordinary: counts(80, 0, 7, 1),
            occasions: [
                (Occasion::ModeChange, counts(12, 1, 0, 0)),
                (Occasion::Shrinking, counts(10, 3, 0, 0)),
            ]
            .into(),
            ..Tally::default()
        };
        let all = [
            (Occasion::ModeChange, counts(11, 0, 0, 0)),
            (Occasion::Shrinking, counts(10, 3, 0, 0)),
        ];
        assert_eq!(tally.on_occasions(), all);
        // Where it takes both to explain them, both are counted.
        let (mode_change, shrinking) = (counts(12, 2, 0, 0), counts(10, 2, 0, 0));
        tally.occasions =
            [(Occasion::ModeChange, mode_change), (Occasion::Shrinking, shrinking)].into();
        let all = [(Occasion::ModeChange, mode_change), (Occasion::Shrinking, shrinking)];
        assert_eq!(tally.on_occasions(), all);
    }

    #[test]
    fn nothing_is_said_of_ordinary_commits_that_were_not_sampled() {
        let tally = Tally { images: 3, corrupt: 3, ..Tally::default() };
        assert_eq!(tally.losses().loss(), None);
    }
}

//! Counting what crash images showed, and what may be said of them.

use crate::judge::Violation;
use crate::occasion::{Occasion, Occasions};
use crate::trace::File;
use lab::tier::{Class, Tier};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The counts of one cell. Images are distinct ones: equal files count once.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// States visited, equal ones included.
    pub visited: u64,
    /// Distinct images judged.
    pub images: u64,
    /// Those of them that a second crash left, during recovery from the first.
    pub second_crashes: u64,
    /// Images with a database that SQLite refuses to open.
    pub unopenable: u64,
    /// Images in which `integrity_check` finds fault.
    pub corrupt: u64,
    /// Images in order that hold what no transaction committed.
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
    /// The same of the images that touch no occasion.
    pub ordinary: Ordinary,
    /// Images that are bad and touch an occasion; those that touch two count for both.
    pub occasions: BTreeMap<Occasion, OnOccasion>,
}

/// The counts of images left by some crash that touches no [`Occasion`]: what an application has to
/// expect that never does those things.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ordinary {
    /// Distinct images judged.
    pub images: u64,
    /// Images that should never have been.
    pub violations: u64,
    /// Images that lack acknowledged commits, but are in order otherwise.
    pub losing: u64,
    /// The most commits that one of them lacks.
    pub most_lost: u64,
}

/// Bad images that every crash which leaves them touches an occasion with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OnOccasion {
    /// Images that should never have been.
    pub violations: u64,
    /// Images that lack acknowledged commits.
    pub losing: u64,
}

impl Tally {
    pub(crate) fn count(&mut self, violation: &Violation) {
        match violation {
            Violation::Unopenable { .. } => self.unopenable += 1,
            Violation::Corrupt { .. } => self.corrupt += 1,
            Violation::Impossible { .. } => self.impossible += 1,
            Violation::Split => self.split += 1,
        }
    }

    /// Images that should never have been.
    pub fn violations(&self) -> u64 {
        self.unopenable + self.corrupt + self.impossible + self.split
    }
}

impl Tally {
    /// What the counts allow to be said. Counts are properties of the sample, not probabilities in the
    /// field.
    pub fn tier(&self) -> Tier {
        Tier::of_counts(self.images, self.violations(), self.losing, self.most_lost)
    }

    /// Where the tier is confined to occasions: to which, and the tier of the images that touch none.
    /// `None` where ordinary work fares no better.
    pub fn confined(&self) -> Option<(Vec<Occasion>, Tier)> {
        let Ordinary {
            images,
            violations,
            losing,
            most_lost,
        } = self.ordinary;
        let otherwise = Tier::of_counts(images, violations, losing, most_lost);
        let class = self.tier().class()?;
        if otherwise.class()? <= class {
            return None;
        }
        let bad = |on: &OnOccasion| match class {
            Class::CanCorrupt => on.violations,
            _ => on.losing,
        };
        let all = match class {
            Class::CanCorrupt => self.violations(),
            _ => self.losing,
        };
        let mut only: Vec<Occasion> = Vec::new();
        for (occasion, on) in &self.occasions {
            // One that all of them touch explains them; where there is none, it takes several.
            if bad(on) == all {
                only = vec![*occasion];
                break;
            }
            if bad(on) > 0 {
                only.push(*occasion);
            }
        }
        Some((only, otherwise))
    }
}

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
    /// What a crash at that moment may leave: the files right after the last acknowledged commit and
    /// after the next one, with the numbers of those commits.
    pub committed: Vec<(usize, Vec<File>)>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tier_says_what_was_counted_and_no_more() {
        let mut tally = Tally {
            images: 100,
            ..Tally::default()
        };
        let said = |tally: &Tally| tally.tier().to_string();
        assert_eq!(said(&tally), "no violation in 100 images");
        tally.split_unpromised = 4;
        assert_eq!(said(&tally), "no violation in 100 images");
        (tally.losing, tally.most_lost) = (7, 2);
        assert_eq!(
            said(&tally),
            "loses recent commits, never corrupts (7 of 100, up to 2)"
        );
        tally.count(&Violation::Split);
        assert_eq!(said(&tally), "can corrupt (1 of 100, witness)");
    }

    #[test]
    fn a_tier_is_confined_to_occasions_where_ordinary_work_fares_better() {
        let on = |violations, losing| OnOccasion { violations, losing };
        let mut tally = Tally {
            images: 100,
            corrupt: 3,
            losing: 7,
            most_lost: 2,
            ordinary: Ordinary {
                images: 80,
                violations: 0,
                losing: 7,
                most_lost: 1,
            },
            occasions: [
                (Occasion::ModeChange, on(1, 0)),
                (Occasion::Shrinking, on(3, 0)),
            ]
            .into(),
            ..Tally::default()
        };
        let (only, otherwise) = tally.confined().unwrap();
        assert_eq!(only, [Occasion::Shrinking]);
        assert_eq!(
            otherwise.to_string(),
            "loses recent commits, never corrupts (7 of 80, up to 1)"
        );
        tally.occasions.insert(Occasion::Shrinking, on(2, 0));
        assert_eq!(tally.confined().unwrap().0, Occasion::ALL);
        tally.ordinary.violations = 1;
        assert_eq!(tally.confined(), None);
    }

    #[test]
    fn nothing_is_said_of_ordinary_work_that_was_not_sampled() {
        let tally = Tally {
            images: 3,
            corrupt: 3,
            ..Tally::default()
        };
        assert_eq!(tally.confined(), None);
    }
}

//! Counting what images showed, and what may be said of them.

use crate::judge::Violation;
use crate::trace::File;
use serde::{Deserialize, Serialize};
use std::fmt;

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

/// What may be said of an arm under a model, this workload and this build of SQLite. Counts are
/// properties of the sample, not probabilities in the field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "verdict")]
pub enum Verdict {
    /// Nothing was found, which proves nothing.
    NoViolation {
        /// Images judged.
        images: u64,
    },
    /// Acknowledged commits can be missing; every image was a committed state.
    LosesCommits {
        /// Images that lack some.
        losing: u64,
        /// Images judged.
        images: u64,
        /// The most commits missing.
        most: u64,
    },
    /// One witness proves it.
    CanCorrupt {
        /// Images that should never have been.
        violations: u64,
        /// Images judged.
        images: u64,
    },
    /// The model or the arm could not be measured.
    NotMeasured {
        /// Why.
        reason: String,
    },
}

impl Verdict {
    /// What the counts allow to be said.
    pub fn of(tally: &Tally) -> Verdict {
        let images = tally.images;
        match (tally.violations(), tally.losing) {
            (0, 0) => Verdict::NoViolation { images },
            (0, losing) => Verdict::LosesCommits {
                losing,
                images,
                most: tally.most_lost,
            },
            (violations, _) => Verdict::CanCorrupt { violations, images },
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Verdict::NoViolation { images } => write!(f, "no violation in {images} images"),
            Verdict::LosesCommits {
                losing,
                images,
                most,
            } => write!(
                f,
                "loses recent commits, never corrupts ({losing} of {images}, up to {most})"
            ),
            Verdict::CanCorrupt { violations, images } => {
                write!(f, "can corrupt ({violations} of {images}, witness)")
            }
            Verdict::NotMeasured { reason } => write!(f, "not measured ({reason})"),
        }
    }
}

/// An image that proves something.
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
    /// What a crash at that moment may leave: the files right after the last acknowledged commit and
    /// after the next one, with the numbers of those commits.
    pub committed: Vec<(usize, Vec<File>)>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_say_what_was_found_and_no_more() {
        let mut tally = Tally {
            images: 100,
            ..Tally::default()
        };
        let said = |tally: &Tally| Verdict::of(tally).to_string();
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
}

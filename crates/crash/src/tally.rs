//! Counting what images showed, and what may be said of them.

use crate::judge::Violation;
use crate::occasion::{Occasion, Occasions};
use crate::trace::File;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
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
    /// The same of the images that touch no occasion.
    pub everyday: Everyday,
    /// Images that are bad and touch an occasion; those that touch two count for both.
    pub occasions: BTreeMap<Occasion, OnOccasion>,
}

/// The counts of images that some crash leaves which touches no [`Occasion`]: what an application has to
/// expect that never does those things.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Everyday {
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

/// What may be said of a variant under a model, this workload and this build of SQLite. Counts are
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
    /// The model or the variant could not be measured.
    NotMeasured {
        /// Why.
        reason: String,
    },
}

impl Verdict {
    /// What the counts allow to be said.
    pub fn of(tally: &Tally) -> Verdict {
        Verdict::of_counts(
            tally.images,
            tally.violations(),
            tally.losing,
            tally.most_lost,
        )
    }

    fn of_counts(images: u64, violations: u64, losing: u64, most: u64) -> Verdict {
        match (violations, losing) {
            (0, 0) => Verdict::NoViolation { images },
            (0, losing) => Verdict::LosesCommits {
                losing,
                images,
                most,
            },
            (violations, _) => Verdict::CanCorrupt { violations, images },
        }
    }

    /// Whether two verdicts say the same but for their counts.
    pub fn is_as_bad_as(&self, other: &Verdict) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }

    /// How bad it is, from 0; what was not measured shows nothing.
    pub fn severity(&self) -> u8 {
        match self {
            Verdict::NotMeasured { .. } | Verdict::NoViolation { .. } => 0,
            Verdict::LosesCommits { .. } => 1,
            Verdict::CanCorrupt { .. } => 2,
        }
    }
}

/// That a verdict holds on occasions only, and what holds otherwise.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Narrowed {
    /// The occasions: every image that is as bad as the verdict says touches one of them.
    pub only: Vec<Occasion>,
    /// The verdict on the images that touch none.
    pub otherwise: Verdict,
}

impl Narrowed {
    /// What the counts allow to be said; `None` where everyday work fares no better.
    pub fn of(tally: &Tally) -> Option<Narrowed> {
        let Everyday {
            images,
            violations,
            losing,
            most_lost,
        } = tally.everyday;
        let otherwise = Verdict::of_counts(images, violations, losing, most_lost);
        let verdict = Verdict::of(tally);
        if images == 0 || otherwise.severity() >= verdict.severity() {
            return None;
        }
        let bad = |on: &OnOccasion| match verdict {
            Verdict::CanCorrupt { .. } => on.violations,
            _ => on.losing,
        };
        let all = match verdict {
            Verdict::CanCorrupt { violations, .. } => violations,
            _ => tally.losing,
        };
        let occasions = || {
            tally
                .occasions
                .iter()
                .map(|(occasion, on)| (*occasion, bad(on)))
        };
        // One that all of them touch explains them; where there is none, it takes several.
        let in_all = occasions().find(|(_, bad)| *bad == all);
        let only = match in_all {
            Some((occasion, _)) => vec![occasion],
            None => occasions()
                .filter(|(_, bad)| *bad > 0)
                .map(|(occasion, _)| occasion)
                .collect(),
        };
        Some(Narrowed { only, otherwise })
    }
}

impl fmt::Display for Narrowed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let only: Vec<&str> = self.only.iter().map(|occasion| occasion.words()).collect();
        write!(
            f,
            "only {}; otherwise {}",
            only.join(" or "),
            self.otherwise
        )
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

    #[test]
    fn a_verdict_is_narrowed_where_everyday_work_fares_better() {
        let on = |violations, losing| OnOccasion { violations, losing };
        let mut tally = Tally {
            images: 100,
            corrupt: 3,
            losing: 7,
            most_lost: 2,
            everyday: Everyday {
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
        assert_eq!(
            Narrowed::of(&tally).unwrap().to_string(),
            "only where the database file shrinks (VACUUM); otherwise loses recent commits, never \
             corrupts (7 of 80, up to 1)"
        );
        tally.occasions.insert(Occasion::Shrinking, on(2, 0));
        assert_eq!(Narrowed::of(&tally).unwrap().only, Occasion::ALL);
        tally.everyday.violations = 1;
        assert_eq!(Narrowed::of(&tally), None);
    }

    #[test]
    fn nothing_is_said_of_everyday_work_that_was_not_looked_at() {
        let tally = Tally {
            images: 3,
            corrupt: 3,
            ..Tally::default()
        };
        assert_eq!(Narrowed::of(&tally), None);
    }
}

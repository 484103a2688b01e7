//! What is known of one crash image, over all the crashes that leave it, and what it counts for.

use crate::occasion::{Occasion, Occasions};
use crate::record::Recording;
use crate::survey::Crash;
use crate::tally::Tally;
use lab::tier::{Counts, Promise};
use std::collections::BTreeMap;

/// What is known of an image, over all the crashes that leave it.
pub(crate) struct Seen {
    /// The most commits that had been acknowledged.
    pub(crate) acknowledged: usize,
    /// A commit that left what it holds; `None` for a violation.
    pub(crate) committed: Option<usize>,
    /// The occasions that it takes: none if one of these crashes touches none.
    touched: Occasions,
    /// The most acknowledged commits that are missing, by the occasions that the crash touches.
    lost: BTreeMap<Occasions, u64>,
    /// The same by what is promised of the crash; 0 where nothing is missing.
    lost_by_promise: BTreeMap<Promise, u64>,
}

impl Seen {
    /// An image that the first crash leaves.
    pub(crate) fn first(crash: &Crash<'_>, committed: Option<usize>) -> Seen {
        Seen {
            acknowledged: crash.acknowledged,
            committed,
            touched: crash.touched,
            lost: BTreeMap::new(),
            lost_by_promise: BTreeMap::new(),
        }
    }

    pub(crate) fn note(&mut self, recording: &Recording, crash: &Crash<'_>) {
        let (acknowledged, touched) = (crash.acknowledged, crash.touched);
        self.acknowledged = self.acknowledged.max(acknowledged);
        self.touched = self.touched.of_either(touched);
        let lost = |number| acknowledged.saturating_sub(recording.held(number, acknowledged));
        let lost = self.committed.map_or(0, lost) as u64;
        if lost > 0 {
            let most = self.lost.entry(touched).or_default();
            *most = lost.max(*most);
        }
        let most = self.lost_by_promise.entry(crash.promise).or_default();
        *most = lost.max(*most);
    }

    /// Counts the image by what was promised of it.
    pub(crate) fn count_by_promise(&self, counts: &mut BTreeMap<Promise, Counts>) {
        let mut most = 0;
        for (number, (promise, lost)) in self.lost_by_promise.iter().enumerate() {
            let is_first = number == 0;
            if is_first || *lost > most {
                let violates = u64::from(is_first && self.committed.is_none());
                let own = Counts::of(1, violates, u64::from(*lost > 0), *lost);
                let known = counts.entry(*promise).or_default();
                *known = known.plus(own);
            }
            most = most.max(*lost);
        }
    }

    /// The most commits that are missing after a crash that touches no occasion.
    fn lost_in_ordinary(&self) -> u64 {
        let nothing = Occasions::default();
        self.lost.get(&nothing).copied().unwrap_or_default()
    }

    /// The most commits that are missing after any crash.
    fn most_lost(&self) -> u64 {
        self.lost.values().copied().max().unwrap_or_default()
    }

    /// The occasions that it takes to lose more than ordinary crashes do.
    fn losing_more(&self) -> Occasions {
        let ordinary = self.lost_in_ordinary();
        let more = self.lost.iter().filter(|(_, lost)| **lost > ordinary);
        let more = more.map(|(touched, _)| *touched);
        more.reduce(Occasions::of_either).unwrap_or_default()
    }
}

/// Counts an image, and attributes it to ordinary commits or to the occasions that it takes.
pub(crate) fn attribute(tally: &mut Tally, seen: &Seen) {
    let violates = u64::from(seen.committed.is_none());
    let (lost, in_ordinary, losing_more) =
        (seen.most_lost(), seen.lost_in_ordinary(), seen.losing_more());
    tally.losing += u64::from(lost > 0);
    tally.most_lost = tally.most_lost.max(lost);
    if seen.touched.is_empty() {
        let losing = u64::from(in_ordinary > 0);
        tally.ordinary = tally.ordinary.plus(Counts::of(1, violates, losing, in_ordinary));
    }
    tally.losing_on_occasions += u64::from(!losing_more.is_empty());
    for occasion in Occasion::ALL {
        let loses = losing_more.contains(occasion);
        let violates = violates * u64::from(seen.touched.contains(occasion));
        if loses || seen.touched.contains(occasion) {
            let most = lost * u64::from(loses);
            let counts = tally.occasions.entry(occasion).or_default();
            *counts = counts.plus(Counts::of(1, violates, u64::from(loses), most));
        }
    }
}

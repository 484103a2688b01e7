//! Counts of what crash images showed, and the witnesses of it.

use crate::judge::Violation;
use crate::rare::{RareEvent, RareEvents};
use crate::record::Recording;
use crate::states::{Source, prefix_files};
use crate::trace::{File, Trace};
use lab::tier::{Counts, Losses, Promise};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The counts of one cell. Images are distinct ones: equal files count once.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageCounts {
    /// States visited, equal ones included.
    pub visited: u64,
    /// Whether these are all states that the model has, not a sample. Crashes during recovery are
    /// sampled in any case.
    pub all_states: bool,
    /// Distinct images judged.
    pub images: u64,
    /// Images that a second crash left, during recovery from the first.
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
    /// Images that some crash without a [`RareEvent`] leaves, and the losses of such crashes: an application
    /// without rare events has to expect them.
    pub ordinary: Counts,
    /// Images that touch a rare event, with their losses on it; an image that touches two counts for both.
    #[serde(rename = "occasions")]
    pub events: BTreeMap<RareEvent, Counts>,
    /// Images that lack more commits after a crash that touches a rare event than after any other.
    #[serde(rename = "losing_on_occasions")]
    pub losing_on_events: u64,
    /// All images, by the strongest promise for a crash that leaves them. An image counts again under a
    /// weaker promise if crashes under that promise lose more.
    pub by_promise: BTreeMap<Promise, Counts>,
}

impl ImageCounts {
    pub(crate) fn count(&mut self, violation: &Violation) {
        match violation {
            Violation::Unopenable { .. } | Violation::Ended { .. } => self.unopenable += 1,
            Violation::Corrupt { .. } => self.corrupt += 1,
            Violation::Impossible { .. } | Violation::Mixed { .. } => self.impossible += 1,
            Violation::Split { .. } => self.split += 1,
        }
    }

    /// Adds the counts of another recording.
    pub(crate) fn add(&mut self, other: ImageCounts) {
        self.visited += other.visited;
        self.all_states &= other.all_states;
        self.images += other.images;
        self.second_crashes += other.second_crashes;
        self.unopenable += other.unopenable;
        self.corrupt += other.corrupt;
        self.impossible += other.impossible;
        self.split += other.split;
        self.split_unpromised += other.split_unpromised;
        self.losing += other.losing;
        self.most_lost = self.most_lost.max(other.most_lost);
        self.ordinary = self.ordinary.plus(other.ordinary);
        self.losing_on_events += other.losing_on_events;
        for (event, counts) in other.events {
            let known = self.events.entry(event).or_default();
            *known = known.plus(counts);
        }
        for (promise, counts) in other.by_promise {
            let known = self.by_promise.entry(promise).or_default();
            *known = known.plus(counts);
        }
    }

    /// Images that should never have been.
    pub fn violations(&self) -> u64 {
        self.unopenable + self.corrupt + self.impossible + self.split
    }

    /// Returns the losses of ordinary commits. Counts are properties of the sample, not probabilities in the
    /// field.
    pub fn losses(&self) -> Losses {
        match (self.ordinary.images, self.images) {
            (0, 1..) => Losses::not_measured("every crash image takes a rare occasion"),
            _ => Losses::of(self.ordinary),
        }
    }

    /// Returns the counts on each rare event that was met. What one rare event explains by itself is not counted
    /// for the others.
    pub fn on_events(&self) -> Vec<(RareEvent, Counts)> {
        let corrupt = self.violations().saturating_sub(self.ordinary.corrupt);
        let corrupting = self.explaining(corrupt, |counts| counts.corrupt);
        let losing = self.explaining(self.losing_on_events, |counts| counts.losing);
        let own = |(event, counts): (&RareEvent, &Counts)| {
            let mut own = *counts;
            if corrupting.is_some_and(|known| known != *event) {
                own.images -= own.corrupt;
                own.corrupt = 0;
            }
            if losing.is_some_and(|known| known != *event) {
                own.images -= own.losing;
                (own.losing, own.most) = (0, 0);
            }
            (*event, own)
        };
        self.events.iter().map(own).filter(|(_, counts)| counts.images > 0).collect()
    }

    /// Returns the rare event that all of these images touch; `None` where it takes several to explain them.
    fn explaining(&self, all: u64, of: impl Fn(&Counts) -> u64) -> Option<RareEvent> {
        let mut events = self.events.iter();
        let explains = |(_, counts): &(&RareEvent, &Counts)| all > 0 && of(counts) == all;
        events.find(explains).map(|(event, _)| *event)
    }
}

/// The best witness of ordinary commits (`None`) and on each rare event.
pub type Witnesses = BTreeMap<Option<RareEvent>, Witness>;

/// A crash image that proves something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Witness {
    /// The steps begun before the crash.
    pub cut: usize,
    /// The commits acknowledged until then.
    pub acknowledged: usize,
    /// Number of missing or damaged units for models that choose, of missing steps for prefixes.
    pub faults: usize,
    /// Acknowledged commits that are missing.
    pub lost: usize,
    /// The files.
    pub files: Vec<File>,
    /// The violation; `None` if only commits are missing.
    pub violation: Option<Violation>,
    /// Whether it took a second crash, during recovery from the first.
    pub second_crash: bool,
    /// The situation in which it crashed; `None` for the workload itself.
    pub situation: Option<&'static str>,
    /// The rare events that its crash touches.
    pub events: RareEvents,
    /// The documented promise for the settings in force.
    pub promise: Promise,
    /// The states that a crash at that moment may leave: the files right after the last acknowledged commit
    /// and after the next one, with the numbers of those commits.
    pub committed: Vec<(usize, Vec<File>)>,
}

impl Witness {
    /// Returns whether it shows something worse than another.
    pub(crate) fn shows_more_than(&self, other: &Witness) -> bool {
        (self.violation.is_some(), self.lost) > (other.violation.is_some(), other.lost)
    }

    /// `crash after step 214, 12 commits acknowledged, 1 fault: …`.
    pub(crate) fn describe(&self) -> String {
        let plural = |count: usize, one: &str| match count {
            1 => format!("1 {one}"),
            many => format!("{many} {one}s"),
        };
        let what = match &self.violation {
            Some(violation) => violation.to_string(),
            None => format!("{} missing", plural(self.lost, "commit")),
        };
        format!(
            "{}crash after step {}{}, {} acknowledged, {}: {what}",
            self.situation.map_or(String::new(), |name| format!("in the situation {name}, ")),
            self.cut,
            if self.second_crash { " and again during recovery" } else { "" },
            plural(self.acknowledged, "commit"),
            plural(self.faults, "fault"),
        )
    }
}

/// A crash: when, and what of it is missing.
pub(crate) struct Crash<'a> {
    pub(crate) cut: usize,
    pub(crate) acknowledged: usize,
    pub(crate) faults: usize,
    pub(crate) touched: RareEvents,
    pub(crate) promise: Promise,
    /// Where the image was drawn from; `None` for prefixes.
    pub(crate) source: Option<Source<'a>>,
}

impl Crash<'_> {
    /// Returns the files it left, made once more.
    pub(crate) fn files(&self, trace: &Trace) -> Vec<File> {
        match &self.source {
            Some(source) => source.disk.files(source.units, source.state),
            None => prefix_files(trace, self.cut - self.faults),
        }
    }

    /// Returns the witness that these files are.
    pub(crate) fn witness(&self, files: Vec<File>) -> Witness {
        Witness {
            cut: self.cut,
            acknowledged: self.acknowledged,
            faults: self.faults,
            lost: 0,
            files,
            violation: None,
            second_crash: false,
            situation: None,
            events: self.touched,
            promise: self.promise,
            committed: Vec::new(),
        }
    }
}

/// The observations of one image, over all crashes that leave it.
#[derive(Default)]
pub(crate) struct KnownImage {
    /// The most commits that had been acknowledged.
    pub(crate) acknowledged: usize,
    /// A commit with the same contents; `None` for a violation.
    pub(crate) committed: Option<usize>,
    /// The rare events that the image needs: empty if one of its crashes touches none.
    pub(crate) touched: RareEvents,
    /// The most acknowledged commits that are missing, by the rare events that the crash touches.
    pub(crate) lost: BTreeMap<RareEvents, u64>,
    /// The most acknowledged commits that are missing, by the promise for the crash; 0 if none is missing.
    pub(crate) lost_by_promise: BTreeMap<Promise, u64>,
}

impl KnownImage {
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

    /// Counts an image, and attributes it to ordinary commits or to the rare events that it takes.
    pub(crate) fn add_to(&self, counts: &mut ImageCounts) {
        let violates = u64::from(self.committed.is_none());
        let (lost, in_ordinary, losing_more) =
            (self.most_lost(), self.lost_in_ordinary(), self.losing_more());
        counts.losing += u64::from(lost > 0);
        counts.most_lost = counts.most_lost.max(lost);
        if self.touched.is_empty() {
            let losing = u64::from(in_ordinary > 0);
            counts.ordinary = counts.ordinary.plus(Counts::of(1, violates, losing, in_ordinary));
        }
        counts.losing_on_events += u64::from(!losing_more.is_empty());
        for event in RareEvent::ALL {
            let loses = losing_more.contains(event);
            let violates = violates * u64::from(self.touched.contains(event));
            if loses || self.touched.contains(event) {
                let most = lost * u64::from(loses);
                let counts = counts.events.entry(event).or_default();
                *counts = counts.plus(Counts::of(1, violates, u64::from(loses), most));
            }
        }
        self.count_by_promise(&mut counts.by_promise);
    }

    /// Counts the image by the promises for its crashes.
    fn count_by_promise(&self, counts: &mut BTreeMap<Promise, Counts>) {
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

    /// Returns the most commits that are missing after a crash that touches no rare event.
    fn lost_in_ordinary(&self) -> u64 {
        let nothing = RareEvents::default();
        self.lost.get(&nothing).copied().unwrap_or_default()
    }

    /// Returns the most commits that are missing after any crash.
    fn most_lost(&self) -> u64 {
        self.lost.values().copied().max().unwrap_or_default()
    }

    /// Returns the rare events that it takes to lose more than ordinary crashes do.
    fn losing_more(&self) -> RareEvents {
        let ordinary = self.lost_in_ordinary();
        let more = self.lost.iter().filter(|(_, lost)| **lost > ordinary);
        more.map(|(touched, _)| *touched).reduce(RareEvents::of_either).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(images: u64, corrupt: u64, losing: u64, most: u64) -> Counts {
        Counts::of(images, corrupt, losing, most)
    }

    #[test]
    fn what_ordinary_commits_lose_is_what_was_counted_and_no_more() {
        let mut counts =
            ImageCounts { images: 100, ordinary: of(90, 0, 0, 0), ..ImageCounts::default() };
        let said = |counts: &ImageCounts| counts.losses().to_string();
        assert_eq!(said(&counts), "loses no acknowledged transaction in 90 images");
        counts.split_unpromised = 4;
        counts.count(&Violation::Split { databases: Vec::new(), latest: Vec::new() });
        assert_eq!(said(&counts), "loses no acknowledged transaction in 90 images");
        counts.ordinary = of(90, 1, 7, 2);
        assert_eq!(said(&counts), "can corrupt (1 of 90 images)");
    }

    #[test]
    fn what_one_occasion_explains_is_not_counted_for_the_others() {
        let mut counts = ImageCounts {
            images: 100,
            corrupt: 3,
            losing: 7,
            most_lost: 2,
            ordinary: of(80, 0, 7, 1),
            events: [
                (RareEvent::ModeChange, of(12, 1, 0, 0)),
                (RareEvent::Shrinking, of(10, 3, 0, 0)),
            ]
            .into(),
            ..ImageCounts::default()
        };
        let all =
            [(RareEvent::ModeChange, of(11, 0, 0, 0)), (RareEvent::Shrinking, of(10, 3, 0, 0))];
        assert_eq!(counts.on_events(), all);
        // Where it takes both to explain them, both are counted.
        let (mode_change, shrinking) = (of(12, 2, 0, 0), of(10, 2, 0, 0));
        counts.events =
            [(RareEvent::ModeChange, mode_change), (RareEvent::Shrinking, shrinking)].into();
        let all = [(RareEvent::ModeChange, mode_change), (RareEvent::Shrinking, shrinking)];
        assert_eq!(counts.on_events(), all);
    }

    #[test]
    fn nothing_is_said_of_ordinary_commits_that_were_not_sampled() {
        let counts = ImageCounts { images: 3, corrupt: 3, ..ImageCounts::default() };
        assert_eq!(counts.losses().loss(), None);
    }
}

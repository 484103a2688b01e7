//! Rare events: operations of a workload that many applications never do.
//!
//! A verdict on the whole workload would blame settings for a moment that an application may never see. So
//! actions that change the journal mode, or leave a database file smaller, are marked by their observed
//! effect, not by their SQL; and every crash image is attributed to the rare events that its crash touched.
//! It stands apart because recording and counting share it.

use crate::trace::{Inode, Name, Step, Trace};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fmt;
use std::ops::Range;

/// Something that few applications do, at least not in their daily work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RareEvent {
    /// The journal mode of a database that has content is changed.
    ModeChange,
    /// A database file ends smaller than it was: after VACUUM, for instance.
    Shrinking,
}

impl RareEvent {
    /// All of them.
    pub const ALL: [RareEvent; 2] = [RareEvent::ModeChange, RareEvent::Shrinking];

    /// Returns the name in paths.
    pub fn name(self) -> &'static str {
        match self {
            RareEvent::ModeChange => "mode-change",
            RareEvent::Shrinking => "shrinking",
        }
    }

    fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// In words that follow "on".
impl fmt::Display for RareEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            RareEvent::ModeChange => "a change of the journal mode",
            RareEvent::Shrinking => "shrinking the database file (VACUUM)",
        })
    }
}

/// A set of rare events.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct RareEvents(u8);

impl RareEvents {
    /// Adds one.
    pub fn add(&mut self, event: RareEvent) {
        self.0 |= event.bit();
    }

    /// Returns whether it holds none.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns whether it holds this one.
    pub fn contains(self, event: RareEvent) -> bool {
        self.0 & event.bit() != 0
    }

    /// Returns the events in the set, or `None` alone if it is empty: the keys under which findings are kept.
    pub(crate) fn places(self) -> Vec<Option<RareEvent>> {
        let held = RareEvent::ALL.into_iter().filter(|event| self.contains(*event));
        if self.is_empty() { vec![None] } else { held.map(Some).collect() }
    }

    /// Combines two ways in which the same image came about: the events that both need. If they share none
    /// although both need some, returns the events of the first.
    pub fn of_either(self, other: RareEvents) -> RareEvents {
        match self.0 & other.0 {
            0 if !other.is_empty() => self,
            both => RareEvents(both),
        }
    }
}

/// The steps of an action at which there was a rare event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MarkedAction {
    /// The steps.
    pub steps: Range<usize>,
    /// The rare event.
    pub event: RareEvent,
}

/// Returns the events that a crash touches: the ones of actions between the first missing step, or else the
/// crash itself, and the last step begun before it.
///
/// Events that lie wholly before do not count: any other database with the same history is in the same state.
pub fn touched(marked: &[MarkedAction], first_missing: Option<usize>, cut: usize) -> RareEvents {
    let from = first_missing.map_or(cut, |step| step.min(cut));
    let mut touched = RareEvents::default();
    for MarkedAction { steps, event } in marked {
        if from < steps.end && steps.start < cut {
            touched.add(*event);
        }
    }
    touched
}

/// Returns the actions, given by their steps, that leave a database smaller than it was.
pub(crate) fn shrinking(trace: &Trace, actions: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut walk = Sizes::new(trace);
    let mut shrinks = |action: &&Range<usize>| {
        walk.take(action.start);
        let before = walk.sizes.clone();
        walk.take(action.end);
        let now = |inode| walk.sizes.get(inode).copied();
        before.iter().any(|(inode, size)| now(inode) < Some(*size))
    };
    actions.iter().filter(|action| shrinks(action)).cloned().collect()
}

/// The sizes of databases while a trace is walked.
struct Sizes<'t> {
    trace: &'t Trace,
    taken: usize,
    sizes: HashMap<Inode, u64>,
}

impl<'t> Sizes<'t> {
    fn new(trace: &'t Trace) -> Sizes<'t> {
        let named = trace.named.iter().zip(&trace.initial).enumerate();
        let databases = named.filter(|(name, _)| trace.databases.contains(&Name(*name)));
        let sizes = databases.map(|(_, (inode, bytes))| (*inode, bytes.len() as u64));
        Sizes { trace, taken: 0, sizes: sizes.collect() }
    }

    /// Takes the steps up to this one.
    fn take(&mut self, to: usize) {
        while self.taken < to {
            match &self.trace.steps[self.taken] {
                Step::Create { name, inode } if self.trace.databases.contains(name) => {
                    self.sizes.insert(*inode, 0);
                }
                Step::Write { inode, offset, bytes } => {
                    if let Some(size) = self.sizes.get_mut(inode) {
                        *size = (*size).max(offset + bytes.len() as u64);
                    }
                }
                Step::Truncate { inode, size } => {
                    if let Some(known) = self.sizes.get_mut(inode) {
                        *known = *size;
                    }
                }
                _ => {}
            }
            self.taken += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(steps: Range<usize>) -> [MarkedAction; 1] {
        [MarkedAction { steps, event: RareEvent::Shrinking }]
    }

    #[test]
    fn a_crash_touches_what_lies_between_its_first_loss_and_itself() {
        let marked = marked(10..20);
        let touches = |missing, cut| touched(&marked, missing, cut).contains(RareEvent::Shrinking);
        assert!(!touches(None, 10), "before the act");
        assert!(touches(None, 11), "within it");
        assert!(!touches(None, 20), "after it, nothing missing");
        assert!(touches(Some(19), 30), "its last step is missing");
        assert!(touches(Some(5), 30), "something before it is missing, it is not");
        assert!(!touches(Some(20), 30), "something after it is missing");
        assert!(!touches(Some(5), 10), "the crash came before it");
    }

    #[test]
    fn acts_that_end_with_a_smaller_database_are_found() {
        let (db, journal) = (Inode(0), Inode(1));
        let write = |inode, offset| Step::Write { inode, offset, bytes: vec![1; 10].into() };
        let truncate = |inode, size| Step::Truncate { inode, size };
        let trace = Trace {
            names: vec!["db".into(), "db-journal".into()],
            inodes: 2,
            databases: vec![Name(0)],
            steps: vec![
                Step::Create { name: Name(0), inode: db },
                write(db, 0),
                // Grows and shrinks back, as a rollback does.
                write(db, 10),
                truncate(db, 10),
                // Shrinks.
                write(db, 0),
                truncate(db, 5),
                // A journal may shrink.
                Step::Create { name: Name(1), inode: journal },
                write(journal, 0),
                truncate(journal, 0),
            ],
            ..Trace::default()
        };
        let found = shrinking(&trace, &[0..2, 2..4, 4..6, 6..9]);
        let starts: Vec<usize> = found.iter().map(|action| action.start).collect();
        assert_eq!(starts, [4]);
    }

    #[test]
    fn a_set_holds_what_was_added() {
        let mut set = RareEvents::default();
        assert!(set.is_empty());
        set.add(RareEvent::ModeChange);
        assert!(set.contains(RareEvent::ModeChange) && !set.contains(RareEvent::Shrinking));
        let (mut both, mut other) = (set, RareEvents::default());
        both.add(RareEvent::Shrinking);
        other.add(RareEvent::Shrinking);
        assert_eq!(both.of_either(set), set);
        assert_eq!(set.of_either(other), set, "it takes one of them in any case");
        assert!(set.of_either(RareEvents::default()).is_empty());
    }
}

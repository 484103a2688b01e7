//! The units that can vary at one moment, and one choice of their states.

use super::Disk;
use crate::model::SyncRule;
use crate::trace::{Inode, Name, Step};
use lab::seed::Seed;
use std::ops::Range;

/// A part of the disk whose state after a crash can vary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Unit {
    /// How many of the pending changes of a directory entry are there.
    Entry(Name),
    /// How many of an inode's pending changes of size are there.
    Size(Inode),
    /// How many changes of metadata the journal has, of all files; their steps.
    Journal(Vec<usize>),
    /// How many of the pending writes to a sector are there; a range of [`Units::writes`].
    Sector { inode: Inode, number: u64, writes: Range<usize> },
}

/// The units that can vary at one moment, each with its number of pending changes.
#[derive(Debug, Clone, Default)]
pub struct Units {
    pub(super) list: Vec<Unit>,
    pending: Vec<u32>,
    /// The writes of sector units, as indices of the pending operations of their inode.
    pub(super) writes: Vec<usize>,
}

impl Units {
    fn push(&mut self, pending: usize, unit: Unit) {
        self.pending.push(pending as u32);
        self.list.push(unit);
    }

    /// Returns the number of units.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Returns whether nothing can vary.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Returns the number of pending changes of a unit: it can be in one state more than that.
    pub fn pending(&self, unit: usize) -> u32 {
        self.pending[unit]
    }

    /// Returns the number of states without damage; `None` if beyond counting.
    pub fn states(&self) -> Option<u64> {
        let mut pending = self.pending.iter();
        pending.try_fold(1_u64, |states, pending| states.checked_mul(u64::from(*pending) + 1))
    }

    /// Returns how many changes of a unit a state has; 0 for a unit that is not here.
    pub(super) fn version(&self, unit: &Unit, state: &State) -> usize {
        let index = self.list.iter().position(|known| known == unit);
        index.map_or(0, |index| state.versions[index] as usize)
    }

    /// Returns the units that are sectors.
    pub fn sectors(&self) -> impl Iterator<Item = usize> {
        let numbered = self.list.iter().enumerate();
        numbered.filter(|(_, unit)| matches!(unit, Unit::Sector { .. })).map(|(unit, _)| unit)
    }
}

/// Damage beyond a missing write. The noise is a function of its seed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // Variants describe their fields.
pub enum Damage {
    /// The sector of this unit holds a part of its next write: a share of 1 to 255 256ths from its beginning, or from its end.
    Torn { unit: usize, share: u8, end: bool },
    /// The whole sector of this unit holds noise of the seed.
    Destroyed { unit: usize, seed: Seed },
    /// Sectors that a file grew by and that were never written hold noise of the seed.
    Garbage { seed: Seed },
}

/// One state that a crash may leave: for every unit how many of its pending changes are there.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct State {
    /// By unit.
    pub versions: Vec<u32>,
    /// Damage on top.
    pub damage: Vec<Damage>,
}

impl State {
    /// Returns the state in which nothing is missing.
    pub fn complete(units: &Units) -> State {
        State { versions: units.pending.clone(), damage: Vec::new() }
    }

    /// How many units lack a change or are damaged.
    pub fn faults(&self, units: &Units) -> usize {
        let missing = self.versions.iter().zip(&units.pending);
        missing.filter(|(there, all)| there < all).count() + self.damage.len()
    }
}

impl Disk<'_> {
    /// Returns the units that can vary now. Under the journal's rule sizes and entries are one unit; all
    /// sectors of an inode are adjacent.
    pub fn units(&self) -> Units {
        let mut units = Units::default();
        if self.rule == SyncRule::Journal {
            // The steps of pending metadata, in order.
            let of_entries = self.entries.iter().flat_map(|entry| &entry.pending);
            let mut steps: Vec<usize> = of_entries.map(|(step, _)| *step).collect();
            let operations = self.inodes.iter().flat_map(|content| &content.pending);
            let sizes = operations.filter(|operation| operation.changes_size());
            steps.extend(sizes.map(|operation| operation.step));
            steps.retain(|step| *step >= self.committed);
            steps.sort_unstable();
            if !steps.is_empty() {
                units.push(steps.len(), Unit::Journal(steps));
            }
        } else {
            self.add_entries(&mut units);
        }
        for number in 0..self.inodes.len() {
            if self.may_be_named(Inode(number)) {
                self.add_inode(Inode(number), &mut units);
            }
        }
        units
    }

    /// Returns whether a crash can leave the inode with a name; otherwise it is unreachable.
    fn may_be_named(&self, inode: Inode) -> bool {
        self.entries.iter().any(|entry| {
            entry.durable == Some(inode)
                || entry.pending.iter().any(|(_, other)| *other == Some(inode))
        })
    }

    fn add_entries(&self, units: &mut Units) {
        for (number, entry) in self.entries.iter().enumerate() {
            if !entry.pending.is_empty() {
                units.push(entry.pending.len(), Unit::Entry(Name(number)));
            }
        }
    }

    fn add_inode(&self, inode: Inode, units: &mut Units) {
        let pending = &self.inodes[inode.0].pending;
        let sizes = pending.iter().filter(|operation| operation.changes_size()).count();
        if self.rule != SyncRule::Journal && sizes > 0 {
            units.push(sizes, Unit::Size(inode));
        }
        let mut pieces = Vec::new();
        for (index, operation) in pending.iter().enumerate() {
            if let Step::Write { offset, bytes, .. } = &self.trace.steps[operation.step] {
                let end = offset + bytes.len() as u64;
                pieces
                    .extend((offset / self.sector..end.div_ceil(self.sector)).map(|s| (s, index)));
            }
        }
        // Stable within a sector, because pieces of one sector are in the order of operations.
        pieces.sort_by_key(|(sector, _)| *sector);
        for of_sector in pieces.chunk_by(|one, other| one.0 == other.0) {
            let begin = units.writes.len();
            units.writes.extend(of_sector.iter().map(|(_, index)| *index));
            let sector =
                Unit::Sector { inode, number: of_sector[0].0, writes: begin..units.writes.len() };
            units.push(of_sector.len(), sector);
        }
    }

    /// Returns the first step that a state lacks, or that was damaged on its way.
    pub fn first_missing(&self, units: &Units, state: &State) -> Option<usize> {
        let lacking = state.versions.iter().enumerate();
        let lacking = lacking
            .filter(|(unit, there)| **there < units.pending(*unit))
            .map(|(unit, there)| self.step_of(units, unit, *there as usize));
        let damaged = state.damage.iter().filter_map(|damage| match damage {
            Damage::Destroyed { unit, .. } => Some(self.step_of(units, *unit, 0)),
            // A torn write counts as lacking too, and so does one that garbage replaces.
            Damage::Torn { .. } | Damage::Garbage { .. } => None,
        });
        lacking.chain(damaged).min()
    }

    /// Returns the step of a unit's pending change with that number.
    fn step_of(&self, units: &Units, unit: usize, number: usize) -> usize {
        match &units.list[unit] {
            Unit::Entry(name) => self.entries[name.0].pending[number].0,
            Unit::Journal(steps) => steps[number],
            Unit::Sector { inode, writes, .. } => {
                let index = units.writes[writes.start + number];
                self.inodes[inode.0].pending[index].step
            }
            Unit::Size(inode) => {
                let operations = self.inodes[inode.0].pending.iter();
                let mut changes = operations.filter(|operation| operation.changes_size());
                changes.nth(number).map_or(self.taken, |change| change.step)
            }
        }
    }
}

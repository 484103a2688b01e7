//! Durable and pending content of storage at one moment of a trace.
//!
//! A [`Disk`] walks the steps of a trace in order. Each inode has durable bytes and pending operations;
//! each name has a durable inode and the changes that may have reached the directory. [`Units`] (in
//! `units`) counts what can vary from here, a [`State`] is one choice among it, and `image` makes the
//! files of a state. Two rules make states that a page cache could leave:
//! - a sector holds a *prefix* of its pending writes, never a selection of them;
//! - data written past a pending truncation is visible only if the truncation persisted, and what was
//!   there before is visible only if it did not.
//!
//! Everything here is pure: no engine, no randomness but through the caller's state.

mod image;
mod units;

pub use units::{Damage, State, Units};

use crate::model::{Model, SyncRule};
use crate::trace::{File, Inode, Name, Step, Trace};
use engine::vfs::Bytes;

/// Storage at one moment of a trace, under one rule for syncs.
#[derive(Debug, Clone)]
pub struct Disk<'t> {
    trace: &'t Trace,
    rule: SyncRule,
    sector: u64,
    inodes: Vec<Content>,
    entries: Vec<Entry>,
    /// Metadata of steps before this one is durable (only under [`SyncRule::Journal`]).
    committed: usize,
    /// The number of steps taken.
    pub taken: usize,
}

/// An inode: durable bytes, and what may have reached the disk since.
#[derive(Debug, Clone, Default)]
struct Content {
    durable: Bytes,
    pending: Vec<Operation>,
    /// The size as programs see it.
    size: u64,
}

/// A pending write or truncation.
#[derive(Debug, Clone, Copy)]
struct Operation {
    step: usize,
    /// The size before and after, as programs see it.
    before: u64,
    after: u64,
}

impl Operation {
    fn changes_size(&self) -> bool {
        self.before != self.after
    }
}

/// A directory entry.
#[derive(Debug, Clone, Default)]
struct Entry {
    durable: Option<Inode>,
    /// The steps that changed it since, with the inode that each gave it.
    pending: Vec<(usize, Option<Inode>)>,
}

impl<'t> Disk<'t> {
    /// Returns the disk before the first step.
    pub fn new(trace: &'t Trace, model: Model) -> Disk<'t> {
        let mut inodes = vec![Content::default(); trace.inodes];
        let mut entries = vec![Entry::default(); trace.names.len()];
        for (number, (bytes, inode)) in trace.initial.iter().zip(&trace.named).enumerate() {
            entries[number].durable = Some(*inode);
            inodes[inode.0].durable.clone_from(bytes);
            inodes[inode.0].size = bytes.len() as u64;
        }
        Disk {
            trace,
            rule: model.sync_rule(),
            sector: model.sector(),
            inodes,
            entries,
            committed: 0,
            taken: 0,
        }
    }

    /// Takes the next step.
    ///
    /// # Panics
    /// If there is none.
    pub fn step(&mut self) {
        let (number, trace) = (self.taken, self.trace);
        self.taken += 1;
        match &trace.steps[number] {
            Step::Create { name, inode } => {
                self.entries[name.0].pending.push((number, Some(*inode)));
            }
            Step::Unlink { name } => self.entries[name.0].pending.push((number, None)),
            Step::Write { inode, offset, bytes } => {
                let end = offset + bytes.len() as u64;
                let size = self.inodes[inode.0].size.max(end);
                self.change(*inode, number, size);
            }
            Step::Truncate { inode, size } => {
                if *size != self.inodes[inode.0].size {
                    self.change(*inode, number, *size);
                }
            }
            Step::Sync { inode } => self.sync(*inode),
            Step::SyncDirectory { directory } => match self.rule {
                SyncRule::Ignored => {}
                SyncRule::Inode => {
                    for (number, entry) in self.entries.iter_mut().enumerate() {
                        if self.trace.directory(Name(number)) == directory {
                            entry.settle(usize::MAX);
                        }
                    }
                }
                SyncRule::Journal => self.commit(self.taken),
            },
        }
    }

    fn change(&mut self, inode: Inode, step: usize, after: u64) {
        let content = &mut self.inodes[inode.0];
        content.pending.push(Operation { step, before: content.size, after });
        content.size = after;
    }

    fn sync(&mut self, inode: Inode) {
        match self.rule {
            SyncRule::Ignored => {}
            SyncRule::Inode => self.settle(inode),
            SyncRule::Journal => {
                self.settle(inode);
                self.commit(self.taken);
            }
        }
    }

    /// Makes all metadata of steps before `step` durable.
    fn commit(&mut self, step: usize) {
        self.committed = self.committed.max(step);
        for entry in &mut self.entries {
            entry.settle(step);
        }
    }

    /// Makes everything of an inode durable.
    fn settle(&mut self, inode: Inode) {
        self.inodes[inode.0].settle(usize::MAX, self.trace);
    }

    /// Makes everything of steps before `step` durable, whatever the rule: the system wrote it back by
    /// itself, or the device's volatile memory no longer holds it.
    pub fn write_back(&mut self, step: usize) {
        for content in &mut self.inodes {
            content.settle(step, self.trace);
        }
        self.commit(step);
    }

    /// Writes back the oldest pending operations of inodes that have more than `limit`, and of directory
    /// entries that have more than an eighth of that, as any system does in time.
    pub fn write_back_beyond(&mut self, limit: usize) {
        for entry in &mut self.entries {
            let (pending, limit) = (entry.pending.len(), limit / 8);
            if pending > limit && self.rule != SyncRule::Journal {
                entry.settle(entry.pending[pending - limit].0);
            }
        }
        for number in 0..self.inodes.len() {
            let pending = &self.inodes[number].pending;
            if pending.len() > limit {
                let step = pending[pending.len() - limit].step;
                self.inodes[number].settle(step, self.trace);
                if self.rule == SyncRule::Journal {
                    self.commit(step);
                }
            }
        }
    }

    /// Returns the durable files, sorted by name.
    pub fn durable_files(&self) -> Vec<File> {
        self.files_of(|entry, _| entry.durable, |inode| self.inodes[inode.0].durable.clone())
    }

    /// Returns the files whose inodes and bytes these functions give, sorted by name.
    fn files_of(
        &self,
        inode_of: impl Fn(&Entry, Name) -> Option<Inode>,
        bytes_of: impl Fn(Inode) -> Bytes,
    ) -> Vec<File> {
        let entries = self.entries.iter().zip(&self.trace.names).enumerate();
        let named = entries.filter_map(|(number, (entry, name))| {
            let inode = inode_of(entry, Name(number))?;
            Some((name.clone(), bytes_of(inode)))
        });
        let mut files: Vec<File> = named.collect();
        files.sort_by(|one, other| one.0.cmp(&other.0));
        files
    }
}

impl Entry {
    fn settle(&mut self, step: usize) {
        let there = self.pending.partition_point(|(changed, _)| *changed < step);
        if let Some((_, inode)) = self.pending[..there].last() {
            self.durable = *inode;
        }
        self.pending.drain(..there);
    }
}

impl Content {
    /// Makes the operations of steps before `step` durable.
    fn settle(&mut self, step: usize, trace: &Trace) {
        let there = self.pending.partition_point(|operation| operation.step < step);
        for operation in self.pending.drain(..there) {
            self.durable.resize(operation.after as usize);
            if let Step::Write { offset, bytes, .. } = &trace.steps[operation.step] {
                self.durable.write(*offset, bytes);
            }
        }
    }
}

//! What storage holds for certain, and what is pending, at one moment of a trace.
//!
//! A [`Disk`] walks the steps of a trace in order. Each inode is the bytes that surely last and the
//! operations that may; each name the inode it surely has and the changes that may have reached the
//! directory. [`Units`] counts what can vary from here, and a [`State`] is one choice among it. Two
//! rules make states that a page cache could leave:
//! - a sector holds a *prefix* of its pending writes, never a selection of them;
//! - data written past a pending truncation is visible only if the truncation persisted, and what was
//!   there before is visible only if it did not.
//!
//! Everything here is pure: no engine, no randomness but through the caller's state.

use crate::model::{Model, SyncRule};
use crate::trace::{File, Inode, Name, Step, Trace};
use lab::seed::Seed;
use std::ops::Range;

/// Storage at one moment of a trace, under one rule for syncs.
#[derive(Debug, Clone)]
pub struct Disk<'t> {
    trace: &'t Trace,
    rule: SyncRule,
    sector: u64,
    inodes: Vec<Content>,
    entries: Vec<Entry>,
    /// Metadata of steps before this one surely lasts (only under [`SyncRule::Journal`]).
    committed: usize,
    /// The number of steps taken.
    taken: usize,
}

/// An inode: bytes that surely last, and what may have reached the disk since.
#[derive(Debug, Clone, Default)]
struct Content {
    durable: Vec<u8>,
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
    /// The steps that changed it since, and what they made of it.
    pending: Vec<(usize, Option<Inode>)>,
}

/// Something that can vary in what a crash leaves.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Unit {
    /// How many of the pending changes of a directory entry are there.
    Entry(Name),
    /// How many of an inode's pending changes of size are there.
    Size(Inode),
    /// How many changes of metadata the journal has, of all files; their steps.
    Journal(Vec<usize>),
    /// How many of the pending writes to a sector are there; the places of their operations.
    Sector {
        inode: Inode,
        number: u64,
        writes: Range<usize>,
    },
}

/// What can vary at one moment: units, each with its number of pending changes.
#[derive(Debug, Clone, Default)]
pub struct Units {
    list: Vec<Unit>,
    pending: Vec<u32>,
    /// The operations of sector units, as places in the pending ones of their inode.
    writes: Vec<usize>,
}

impl Units {
    /// The number of units.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether nothing can vary.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The number of pending changes of a unit: it can be in one state more than that.
    pub fn pending(&self, unit: usize) -> u32 {
        self.pending[unit]
    }

    /// The number of states without damage; `None` if beyond counting.
    pub fn states(&self) -> Option<u64> {
        let mut states = 1_u64;
        for pending in &self.pending {
            states = states.checked_mul(u64::from(*pending) + 1)?;
        }
        Some(states)
    }

    /// The units that are sectors.
    pub fn sectors(&self) -> impl Iterator<Item = usize> {
        let numbered = self.list.iter().enumerate();
        numbered
            .filter(|(_, unit)| matches!(unit, Unit::Sector { .. }))
            .map(|(place, _)| place)
    }
}

/// Damage beyond a missing write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Damage {
    /// A sector holds a part of its next write: this share of it (in 256ths) from its beginning, or
    /// from its end.
    Torn {
        /// The sector's unit.
        unit: usize,
        /// The share, 1 to 255.
        share: u8,
        /// Whether the end is what arrived.
        end: bool,
    },
    /// The whole sector holds noise.
    Destroyed {
        /// The sector's unit.
        unit: usize,
        /// The noise.
        seed: Seed,
    },
    /// Sectors that a file grew by and that were never written hold noise.
    Garbage {
        /// The noise.
        seed: Seed,
    },
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
    /// The state in which nothing is missing.
    pub fn complete(units: &Units) -> State {
        State {
            versions: units.pending.clone(),
            damage: Vec::new(),
        }
    }

    /// How many units lack a change or are damaged.
    pub fn faults(&self, units: &Units) -> usize {
        let missing = self.versions.iter().zip(&units.pending);
        missing.filter(|(there, all)| there < all).count() + self.damage.len()
    }
}

impl<'t> Disk<'t> {
    /// The disk before the first step.
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

    /// The number of steps taken.
    pub fn taken(&self) -> usize {
        self.taken
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
            Step::Write {
                inode,
                offset,
                bytes,
            } => {
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
            Step::SyncDirectory { directory } => self.sync_directory(directory),
        }
    }

    fn change(&mut self, inode: Inode, step: usize, after: u64) {
        let content = &mut self.inodes[inode.0];
        content.pending.push(Operation {
            step,
            before: content.size,
            after,
        });
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

    fn sync_directory(&mut self, directory: &str) {
        match self.rule {
            SyncRule::Ignored => {}
            SyncRule::Inode => {
                for (number, entry) in self.entries.iter_mut().enumerate() {
                    if self.trace.directory(Name(number)) == directory {
                        entry.settle(usize::MAX);
                    }
                }
            }
            SyncRule::Journal => self.commit(self.taken),
        }
    }

    /// Makes all metadata of steps before `step` last.
    fn commit(&mut self, step: usize) {
        self.committed = self.committed.max(step);
        for entry in &mut self.entries {
            entry.settle(step);
        }
    }

    /// Makes everything of an inode last.
    fn settle(&mut self, inode: Inode) {
        self.inodes[inode.0].settle(usize::MAX, self.trace);
    }

    /// Makes everything of steps before `step` last, whatever the rule: the system wrote it back by
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

    /// What can vary now. Under the journal's rule sizes and entries are one unit; a unit's number is
    /// its place, and all sectors of an inode follow one another.
    pub fn units(&self) -> Units {
        let mut units = Units::default();
        if self.rule == SyncRule::Journal {
            let steps = self.metadata();
            if !steps.is_empty() {
                units.pending.push(steps.len() as u32);
                units.list.push(Unit::Journal(steps));
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

    /// Whether a crash can leave the inode with a name; nobody finds it otherwise.
    fn may_be_named(&self, inode: Inode) -> bool {
        self.entries.iter().any(|entry| {
            entry.durable == Some(inode)
                || entry.pending.iter().any(|(_, other)| *other == Some(inode))
        })
    }

    /// The steps of pending metadata, in order.
    fn metadata(&self) -> Vec<usize> {
        let of_entries = self.entries.iter().flat_map(|entry| &entry.pending);
        let mut steps: Vec<usize> = of_entries.map(|(step, _)| *step).collect();
        let operations = self.inodes.iter().flat_map(|content| &content.pending);
        let sizes = operations.filter(|operation| operation.changes_size());
        steps.extend(sizes.map(|operation| operation.step));
        steps.retain(|step| *step >= self.committed);
        steps.sort_unstable();
        steps
    }

    fn add_entries(&self, units: &mut Units) {
        for (number, entry) in self.entries.iter().enumerate() {
            if !entry.pending.is_empty() {
                units.pending.push(entry.pending.len() as u32);
                units.list.push(Unit::Entry(Name(number)));
            }
        }
    }

    fn add_inode(&self, inode: Inode, units: &mut Units) {
        let pending = &self.inodes[inode.0].pending;
        let sizes = pending.iter().filter(|operation| operation.changes_size());
        let sizes = sizes.count() as u32;
        if self.rule != SyncRule::Journal && sizes > 0 {
            units.pending.push(sizes);
            units.list.push(Unit::Size(inode));
        }
        let mut pieces = Vec::new();
        for (place, operation) in pending.iter().enumerate() {
            if let Step::Write { offset, bytes, .. } = &self.trace.steps[operation.step] {
                let end = offset + bytes.len() as u64;
                pieces
                    .extend((offset / self.sector..end.div_ceil(self.sector)).map(|s| (s, place)));
            }
        }
        // Stable within a sector, because pieces of one sector were found in the order of operations.
        pieces.sort_by_key(|(sector, _)| *sector);
        for of_sector in pieces.chunk_by(|one, other| one.0 == other.0) {
            let begin = units.writes.len();
            units
                .writes
                .extend(of_sector.iter().map(|(_, place)| *place));
            units.pending.push(of_sector.len() as u32);
            units.list.push(Unit::Sector {
                inode,
                number: of_sector[0].0,
                writes: begin..units.writes.len(),
            });
        }
    }

    /// The files that a state leaves, sorted by name.
    pub fn files(&self, units: &Units, state: &State) -> Vec<File> {
        let metadata_cut = self.journal_cut(units, state);
        let mut files: Vec<File> = Vec::new();
        for (number, entry) in self.entries.iter().enumerate() {
            let there = self.entry_version(Name(number), units, state, metadata_cut);
            let inode = match there {
                0 => entry.durable,
                several => entry.pending[several - 1].1,
            };
            if let Some(inode) = inode {
                let bytes = self.content(inode, units, state, metadata_cut);
                files.push((self.trace.names[number].clone(), bytes));
            }
        }
        files.sort();
        files
    }

    /// The first step that a state lacks, or that was damaged on its way.
    pub fn first_missing(&self, units: &Units, state: &State) -> Option<usize> {
        let lacking = state.versions.iter().enumerate();
        let lacking = lacking
            .filter(|(unit, there)| **there < units.pending(*unit))
            .map(|(unit, there)| self.step_of(units, unit, *there as usize));
        let damaged = state.damage.iter().filter_map(|damage| match damage {
            Damage::Destroyed { unit, .. } => Some(self.step_of(units, *unit, 0)),
            // What is torn is lacking too, and so is what garbage stands for.
            Damage::Torn { .. } | Damage::Garbage { .. } => None,
        });
        lacking.chain(damaged).min()
    }

    /// The step of a unit's pending change with that number.
    fn step_of(&self, units: &Units, unit: usize, number: usize) -> usize {
        match &units.list[unit] {
            Unit::Entry(name) => self.entries[name.0].pending[number].0,
            Unit::Journal(steps) => steps[number],
            Unit::Sector { inode, writes, .. } => {
                let place = units.writes[writes.start + number];
                self.inodes[inode.0].pending[place].step
            }
            Unit::Size(inode) => {
                let operations = self.inodes[inode.0].pending.iter();
                let mut changes = operations.filter(|operation| operation.changes_size());
                changes.nth(number).map_or(self.taken, |change| change.step)
            }
        }
    }

    /// Metadata of steps before this one is there, as far as the journal's state says.
    fn journal_cut(&self, units: &Units, state: &State) -> usize {
        if self.rule != SyncRule::Journal {
            return self.committed;
        }
        match units.list.first() {
            Some(Unit::Journal(steps)) => {
                let there = state.versions[0] as usize;
                steps.get(there).copied().unwrap_or(usize::MAX)
            }
            _ => usize::MAX,
        }
    }

    /// How many of an entry's pending changes are there.
    fn entry_version(
        &self,
        name: Name,
        units: &Units,
        state: &State,
        metadata_cut: usize,
    ) -> usize {
        let pending = &self.entries[name.0].pending;
        if self.rule == SyncRule::Journal {
            return pending.partition_point(|(step, _)| *step < metadata_cut);
        }
        let place = units
            .list
            .iter()
            .position(|unit| *unit == Unit::Entry(name));
        place.map_or(0, |unit| state.versions[unit] as usize)
    }

    /// The place of the first pending operation of an inode whose change of size is not there.
    fn size_cut(&self, inode: Inode, units: &Units, state: &State, metadata_cut: usize) -> usize {
        let pending = &self.inodes[inode.0].pending;
        if self.rule == SyncRule::Journal {
            return pending.partition_point(|operation| operation.step < metadata_cut);
        }
        let place = units
            .list
            .iter()
            .position(|unit| *unit == Unit::Size(inode));
        let there = place.map_or(0, |unit| state.versions[unit] as usize);
        let changes = pending
            .iter()
            .enumerate()
            .filter(|(_, operation)| operation.changes_size());
        changes
            .map(|(place, _)| place)
            .nth(there)
            .unwrap_or(pending.len())
    }

    fn content(&self, inode: Inode, units: &Units, state: &State, metadata_cut: usize) -> Vec<u8> {
        let content = &self.inodes[inode.0];
        if content.pending.is_empty() {
            return content.durable.clone();
        }
        let size_cut = self.size_cut(inode, units, state, metadata_cut);
        let mut build = Build::new(self, inode, size_cut);
        let mine = units.list.iter().enumerate().skip_while(
            |(_, unit)| !matches!(unit, Unit::Sector { inode: other, .. } if *other == inode),
        );
        for (number, unit) in mine {
            let Unit::Sector {
                inode: other,
                number: sector,
                writes,
            } = unit
            else {
                break;
            };
            if *other != inode {
                break;
            }
            let writes = &units.writes[writes.clone()];
            build.sector(*sector, writes, state, number);
        }
        build.bytes
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
    /// Makes the operations of steps before `step` last.
    fn settle(&mut self, step: usize, trace: &Trace) {
        let there = self
            .pending
            .partition_point(|operation| operation.step < step);
        for operation in self.pending.drain(..there) {
            self.durable.resize(operation.after as usize, 0);
            if let Step::Write { offset, bytes, .. } = &trace.steps[operation.step] {
                let begin = *offset as usize;
                self.durable[begin..begin + bytes.len()].copy_from_slice(bytes);
            }
        }
    }
}

/// One inode's bytes in the making.
struct Build<'d> {
    disk: &'d Disk<'d>,
    content: &'d Content,
    /// Operations before this place have their change of size.
    size_cut: usize,
    /// Pending truncations that cut something off: place and new size.
    truncations: Vec<(usize, u64)>,
    /// The length up to which bytes are older than every pending operation.
    old: usize,
    bytes: Vec<u8>,
}

impl<'d> Build<'d> {
    fn new(disk: &'d Disk<'d>, inode: Inode, size_cut: usize) -> Build<'d> {
        let content = &disk.inodes[inode.0];
        let truncations: Vec<(usize, u64)> = content
            .pending
            .iter()
            .enumerate()
            .filter(|(_, operation)| operation.after < operation.before)
            .map(|(place, operation)| (place, operation.after))
            .collect();
        let size = match size_cut {
            0 => content.durable.len(),
            several => content.pending[several - 1].after as usize,
        };
        let cut_off = truncations.iter().filter(|(place, _)| *place < size_cut);
        let old = cut_off
            .map(|(_, size)| *size as usize)
            .fold(content.durable.len().min(size), usize::min);
        let mut bytes = Vec::with_capacity(size);
        bytes.extend_from_slice(&content.durable[..old]);
        bytes.resize(size, 0);
        Build {
            disk,
            content,
            size_cut,
            truncations,
            old,
            bytes,
        }
    }

    /// Fills a sector with what a state says of its unit; `writes` are the places of its operations.
    fn sector(&mut self, sector: u64, writes: &[usize], state: &State, unit: usize) {
        let there = self
            .forced(sector, writes)
            .max(state.versions[unit] as usize);
        for place in &writes[..there] {
            self.write(sector, *place, None);
        }
        for damage in &state.damage {
            match *damage {
                Damage::Torn {
                    unit: torn,
                    share,
                    end,
                } if torn == unit && there < writes.len() => {
                    self.write(sector, writes[there], Some((share, end)));
                }
                Damage::Destroyed {
                    unit: destroyed,
                    seed,
                } if destroyed == unit => self.noise(sector, 0, seed),
                Damage::Garbage { seed } if there == 0 => self.noise(sector, self.old, seed),
                _ => {}
            }
        }
    }

    /// How many writes the sector surely has: under the journal's rule appended data is there before
    /// its size.
    fn forced(&self, sector: u64, writes: &[usize]) -> usize {
        if self.disk.rule != SyncRule::Journal {
            return 0;
        }
        let end = (sector + 1) * self.disk.sector;
        let appended = writes.iter().rposition(|place| {
            let operation = &self.content.pending[*place];
            *place < self.size_cut && operation.after > operation.before && end > operation.before
        });
        appended.map_or(0, |last| last + 1)
    }

    /// Applies what of a write falls into a sector, or a part of that: a share in 256ths from its
    /// beginning or its end.
    fn write(&mut self, sector: u64, place: usize, part: Option<(u8, bool)>) {
        let step = &self.disk.trace.steps[self.content.pending[place].step];
        let Step::Write { offset, bytes, .. } = step else {
            return;
        };
        let first = sector * self.disk.sector;
        let mut begin = first.max(*offset);
        let mut end = (first + self.disk.sector).min(offset + bytes.len() as u64);
        if let Some((share, from_end)) = part {
            let kept = ((end - begin) * u64::from(share)).div_ceil(256);
            if from_end {
                begin = end - kept;
            } else {
                end = begin + kept;
            }
        }
        let end = end.min(self.visible(place)).min(self.bytes.len() as u64);
        if begin < end {
            let from = (begin - offset) as usize..(end - offset) as usize;
            self.bytes[begin as usize..end as usize].copy_from_slice(&bytes[from]);
        }
    }

    /// Up to where a write is visible: an earlier truncation that is not there hides what came after
    /// it, a later one that is there cuts off what came before.
    fn visible(&self, place: usize) -> u64 {
        let limits = self
            .truncations
            .iter()
            .filter(|(truncation, _)| (*truncation < place) == (*truncation >= self.size_cut));
        limits.map(|(_, size)| *size).min().unwrap_or(u64::MAX)
    }

    fn noise(&mut self, sector: u64, from: usize, seed: Seed) {
        let begin = ((sector * self.disk.sector) as usize).max(from);
        let end = (((sector + 1) * self.disk.sector) as usize).min(self.bytes.len());
        if begin < end {
            let mut random = seed.nth(sector).generator();
            for chunk in self.bytes[begin..end].chunks_mut(8) {
                let noise = random.next_u64().to_le_bytes();
                chunk.copy_from_slice(&noise[..chunk.len()]);
            }
        }
    }
}

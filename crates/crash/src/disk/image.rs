//! The files that a state leaves.

use super::units::Unit;
use super::{Content, Damage, Disk, State, Units};
use crate::model::SyncRule;
use crate::trace::{File, Inode, Name, Step};
use engine::vfs::Bytes;
use lab::seed::Seed;

impl Disk<'_> {
    /// Returns the files that a state leaves, sorted by name.
    pub fn files(&self, units: &Units, state: &State) -> Vec<File> {
        let metadata_cut = self.journal_cut(units, state);
        self.files_of(
            |entry, name| match self.entry_version(name, units, state, metadata_cut) {
                0 => entry.durable,
                changes => entry.pending[changes - 1].1,
            },
            |inode| self.content(inode, units, state, metadata_cut),
        )
    }

    /// Returns the step before which metadata is there, according to the journal's state.
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

    /// How many of an entry's pending changes persisted.
    fn entry_version(
        &self,
        name: Name,
        units: &Units,
        state: &State,
        metadata_cut: usize,
    ) -> usize {
        if self.rule != SyncRule::Journal {
            return units.version(&Unit::Entry(name), state);
        }
        self.entries[name.0].pending.partition_point(|(step, _)| *step < metadata_cut)
    }

    /// Returns the index of the first pending operation of an inode whose change of size is missing.
    fn size_cut(&self, inode: Inode, units: &Units, state: &State, metadata_cut: usize) -> usize {
        let pending = &self.inodes[inode.0].pending;
        if self.rule == SyncRule::Journal {
            return pending.partition_point(|operation| operation.step < metadata_cut);
        }
        let changes = (0..pending.len()).filter(|index| pending[*index].changes_size());
        let mut missing = changes.skip(units.version(&Unit::Size(inode), state));
        missing.next().unwrap_or(pending.len())
    }

    fn content(&self, inode: Inode, units: &Units, state: &State, metadata_cut: usize) -> Bytes {
        let content = &self.inodes[inode.0];
        if content.pending.is_empty() {
            return content.durable.clone();
        }
        let mut image = Image::new(self, inode, self.size_cut(inode, units, state, metadata_cut));
        let is_mine =
            |unit: &Unit| matches!(unit, Unit::Sector { inode: other, .. } if *other == inode);
        let units_with_numbers = units.list.iter().enumerate();
        let sectors = units_with_numbers
            .skip_while(|(_, unit)| !is_mine(unit))
            .take_while(|(_, unit)| is_mine(unit));
        for (unit, sector) in sectors {
            if let Unit::Sector { number, writes, .. } = sector {
                image.sector(*number, &units.writes[writes.clone()], state, unit);
            }
        }
        image.bytes
    }
}

/// The bytes of one inode while they are assembled.
struct Image<'d> {
    disk: &'d Disk<'d>,
    content: &'d Content,
    /// Operations before this index have changed the size.
    size_cut: usize,
    /// Pending truncations that cut something off: index and new size.
    truncations: Vec<(usize, u64)>,
    /// The length up to which bytes are older than every pending operation.
    old: usize,
    bytes: Bytes,
}

impl<'d> Image<'d> {
    fn new(disk: &'d Disk<'d>, inode: Inode, size_cut: usize) -> Image<'d> {
        let content = &disk.inodes[inode.0];
        let pending = content.pending.iter().enumerate();
        let truncations: Vec<(usize, u64)> = pending
            .filter(|(_, operation)| operation.after < operation.before)
            .map(|(index, operation)| (index, operation.after))
            .collect();
        let size = match size_cut {
            0 => content.durable.len(),
            several => content.pending[several - 1].after as usize,
        };
        let cut_off = truncations.iter().filter(|(index, _)| *index < size_cut);
        let old = cut_off
            .map(|(_, size)| *size as usize)
            .fold(content.durable.len().min(size), usize::min);
        Image {
            disk,
            content,
            size_cut,
            truncations,
            old,
            bytes: content.durable.beginning(old, size),
        }
    }

    /// Fills a sector by the state of its unit; `writes` are the indices of its operations.
    fn sector(&mut self, sector: u64, writes: &[usize], state: &State, unit: usize) {
        let there = self.forced(sector, writes).max(state.versions[unit] as usize);
        for index in &writes[..there] {
            self.write(sector, *index, None);
        }
        for damage in &state.damage {
            match *damage {
                Damage::Torn { unit: torn, share, end } if torn == unit && there < writes.len() => {
                    self.write(sector, writes[there], Some((share, end)));
                }
                Damage::Destroyed { unit: destroyed, seed } if destroyed == unit => {
                    self.noise(sector, 0, seed)
                }
                Damage::Garbage { seed } if there == 0 => self.noise(sector, self.old, seed),
                _ => {}
            }
        }
    }

    /// How many writes the sector certainly has: under the journal's rule appended data persists
    /// before its size.
    fn forced(&self, sector: u64, writes: &[usize]) -> usize {
        if self.disk.rule != SyncRule::Journal {
            return 0;
        }
        let end = (sector + 1) * self.disk.sector;
        let appended = writes.iter().rposition(|index| {
            let operation = &self.content.pending[*index];
            *index < self.size_cut && operation.after > operation.before && end > operation.before
        });
        appended.map_or(0, |last| last + 1)
    }

    /// Applies what of a write falls into a sector, or a part of that: a share in 256ths from its
    /// beginning or its end.
    fn write(&mut self, sector: u64, index: usize, part: Option<(u8, bool)>) {
        let step = &self.disk.trace.steps[self.content.pending[index].step];
        let Step::Write { offset, bytes, .. } = step else { return };
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
        let end = end.min(self.visible(index)).min(self.bytes.len() as u64);
        if begin < end {
            let from = (begin - offset) as usize..(end - offset) as usize;
            self.bytes.write(begin, &bytes[from]);
        }
    }

    /// Up to where a write is visible: an earlier truncation that is not there hides what came after
    /// it, a later one that is there cuts off what came before.
    fn visible(&self, index: usize) -> u64 {
        let limits = self
            .truncations
            .iter()
            .filter(|(truncation, _)| (*truncation < index) == (*truncation >= self.size_cut));
        limits.map(|(_, size)| *size).min().unwrap_or(u64::MAX)
    }

    fn noise(&mut self, sector: u64, from: usize, seed: Seed) {
        let begin = ((sector * self.disk.sector) as usize).max(from);
        let end = (((sector + 1) * self.disk.sector) as usize).min(self.bytes.len());
        if begin < end {
            let mut random = seed.nth(sector).generator();
            let mut noise = vec![0; end - begin];
            for chunk in noise.chunks_mut(8) {
                let bytes = random.next_u64().to_le_bytes();
                chunk.copy_from_slice(&bytes[..chunk.len()]);
            }
            self.bytes.write(begin as u64, &noise);
        }
    }
}

//! The pages of a database with auto_vacuum that say of every other page which one refers to it, so that SQLite can
//! move it (<https://sqlite.org/fileformat2.html#pointer_map_or_ptrmap_pages>).

use std::collections::BTreeMap;
use std::ops::RangeBounds;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::page::{
    INDEX_INTERIOR, INDEX_LEAF, INTERIOR_HEADER, LEAF_HEADER, PayloadLimits, TABLE_INTERIOR,
    TABLE_LEAF, u16_at, u32_at,
};
use super::varint;

/// Which pages trees leave out: the lock-byte page
/// (<https://sqlite.org/fileformat2.html#the_lock_byte_page>) and, with auto_vacuum, the pages of the map.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Numbering {
    lock_page: u64,
    /// How many pages one of the map and those that it is about are together; none without a map.
    group: Option<u64>,
}

/// The byte at which SQLite takes locks; the page that holds it is never used.
const LOCK_BYTE: u64 = 1 << 30;
/// The first page of the map.
const FIRST_OF_MAP: u64 = 2;
/// Bytes that the map has for a page.
const OF_PAGE: usize = 5;

impl Numbering {
    pub(super) fn new(page_size: usize, usable: usize, has_map: bool) -> Numbering {
        Numbering {
            lock_page: LOCK_BYTE / page_size as u64 + 1,
            group: has_map.then(|| (usable / OF_PAGE) as u64 + 1),
        }
    }

    /// Returns how many of the pages up to this one are left out.
    fn left_out(self, page: u64) -> u64 {
        let lock = u64::from(self.lock_page <= page);
        let Some(group) = self.group else { return lock };
        let groups = match page.checked_sub(FIRST_OF_MAP) {
            Some(behind) => behind / group + 1,
            None => 0,
        };
        // A page of the map that would be the lock-byte page is the next one.
        let is_one_too_many = page == self.lock_page && self.map_page(page) > page;
        groups + lock - u64::from(is_one_too_many)
    }

    /// The page of the map that is about a page, if there is a map.
    pub(super) fn of(self, page: u32) -> Option<u32> {
        self.group.map(|_| self.map_page(page.into()) as u32)
    }

    fn map_page(self, page: u64) -> u64 {
        let group = self.group.unwrap_or(1);
        let first = (page - FIRST_OF_MAP) / group * group + FIRST_OF_MAP;
        first + u64::from(first == self.lock_page)
    }
}

/// Page numbers that follow one another, without those that trees leave out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Range {
    first: u32,
    numbering: Numbering,
}

impl Range {
    /// `first` may be one that is left out.
    pub(super) fn new(first: u32, numbering: Numbering) -> Range {
        Range { first, numbering }
    }

    /// Returns the number of the page at this index.
    #[inline]
    pub(super) fn page(self, index: usize) -> u32 {
        self.number(index) as u32
    }

    /// Returns the number behind this many pages, which may be larger than a page number can be.
    pub(super) fn behind(self, pages: usize) -> u64 {
        match pages.checked_sub(1) {
            Some(last) => self.number(last) + 1,
            None => u64::from(self.first),
        }
    }

    #[inline]
    fn number(self, index: usize) -> u64 {
        let first = u64::from(self.first);
        let before = self.numbering.left_out(first - 1);
        let least = first + index as u64;
        let mut page = least;
        loop {
            let next = least + self.numbering.left_out(page) - before;
            if next == page {
                return page;
            }
            page = next;
        }
    }
}

/// How a page is referred to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// The first page of what a page of a tree does not keep whole.
    FirstOverflow = 3,
    /// A later one, to which the one before refers.
    Overflow = 4,
    /// A page of a tree, but no root.
    Tree = 5,
}

/// A page and the one that refers to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MapEntry {
    pub(super) page: u32,
    pub(super) kind: Kind,
    pub(super) parent: u32,
}

/// New entries of the pointer map.
pub(super) struct Map {
    numbering: Numbering,
    page_size: usize,
    usable: usize,
    /// The pages of the map, by number, with what is new in them; the rest is 0.
    pages: Mutex<BTreeMap<u32, Vec<u8>>>,
}

impl Map {
    pub(super) fn new(numbering: Numbering, page_size: usize, usable: usize) -> Map {
        Map { numbering, page_size, usable, pages: Mutex::default() }
    }

    fn pages(&self) -> MutexGuard<'_, BTreeMap<u32, Vec<u8>>> {
        self.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn note(&self, entries: impl IntoIterator<Item = MapEntry>) {
        let mut pages = self.pages();
        for MapEntry { page, kind, parent } in entries {
            let Some(number) = self.numbering.of(page) else { continue };
            let of_map = pages.entry(number).or_insert_with(|| vec![0; self.page_size]);
            let at = OF_PAGE * (page - number - 1) as usize;
            of_map[at] = kind as u8;
            of_map[at + 1..at + OF_PAGE].copy_from_slice(&parent.to_be_bytes());
        }
    }

    /// Notes all pages to which this one of a tree refers.
    pub(super) fn note_page(&self, parent: u32, bytes: &[u8]) {
        let entry = |(page, kind)| MapEntry { page, kind, parent };
        self.note(referred(&bytes[..self.usable]).into_iter().map(entry));
    }

    /// Returns the new entries in the pages of the map with these numbers.
    pub(super) fn of(&self, numbers: impl RangeBounds<u32>) -> Vec<(u32, Vec<u8>)> {
        let pages = self.pages();
        pages.range(numbers).map(|(number, new)| (*number, new.clone())).collect()
    }
}

/// Enters what is new into a page of the map.
pub(super) fn merge(page: &mut [u8], new: &[u8]) {
    let entries = page.chunks_exact_mut(OF_PAGE).zip(new.chunks_exact(OF_PAGE));
    for (old, new) in entries.filter(|(_, new)| new[0] != 0) {
        old.copy_from_slice(new);
    }
}

/// Returns the pages to which a page of a tree refers; of a malformed page, as many as can be read.
fn referred(usable: &[u8]) -> Vec<(u32, Kind)> {
    let mut found = Vec::new();
    let kind = usable.first().copied().unwrap_or(0);
    let is_interior = matches!(kind, TABLE_INTERIOR | INDEX_INTERIOR);
    let header = if is_interior { INTERIOR_HEADER } else { LEAF_HEADER };
    if is_interior {
        found.extend(u32_at(usable, 8).map(|page| (page, Kind::Tree)));
    }
    let cells = u16_at(usable, 3).unwrap_or(0);
    for cell in (0..cells).map_while(|cell| u16_at(usable, header + 2 * cell)) {
        let mut at = cell;
        if is_interior {
            found.extend(u32_at(usable, at).map(|page| (page, Kind::Tree)));
            at += 4;
        }
        if kind != TABLE_INTERIOR {
            found.extend(overflow(usable, kind, at).map(|page| (page, Kind::FirstOverflow)));
        }
    }
    found
}

/// Returns the first page of what a cell does not keep whole, if there is such.
fn overflow(usable: &[u8], kind: u8, mut at: usize) -> Option<u32> {
    let (length, of_length) = varint::get(usable.get(at..)?)?;
    let length = usize::try_from(length).ok()?;
    at += of_length;
    let local = match kind {
        TABLE_LEAF => {
            at += varint::get(usable.get(at..)?)?.1;
            PayloadLimits::of_table(usable.len()).local(length)
        }
        INDEX_LEAF | INDEX_INTERIOR => PayloadLimits::of_index(usable.len()).local(length),
        _ => return None,
    };
    (local < length).then(|| u32_at(usable, at + local))?
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As SQLite calculates it (`ptrmapPageno`).
    fn is_left_out(page: u64, group: u64, lock_page: u64) -> bool {
        let mut map = (page - 2) / group * group + 2;
        map += u64::from(map == lock_page);
        page == lock_page || page == map
    }

    #[test]
    fn pages_of_the_map_and_the_lock_byte_page_are_left_out_wherever_they_lie() {
        for (group, lock_page) in [(103, 2 + 103 * 7), (103, 500), (103, 2 + 103 * 7 + 1), (5, 12)]
        {
            let numbering = Numbering { lock_page, group: Some(group) };
            let usual = |first: u32| {
                (u64::from(first)..).filter(|page| !is_left_out(*page, group, lock_page))
            };
            for first in 2..1_000 {
                let range = Range::new(first, numbering);
                for (index, page) in usual(first).take(300).enumerate() {
                    assert_eq!(
                        u64::from(range.page(index)),
                        page,
                        "{group}, {lock_page}, {first}, {index}"
                    );
                }
                assert_eq!(range.behind(0), u64::from(first));
                assert_eq!(range.behind(1), u64::from(range.page(0)) + 1);
            }
        }
    }

    #[test]
    fn without_a_map_only_the_lock_byte_page_is_left_out() {
        let numbering = Numbering::new(65_536, 65_536, false);
        let range = Range::new(16_384, numbering);
        assert_eq!([0, 1, 2].map(|index| range.page(index)), [16_384, 16_386, 16_387]);
        assert_eq!(Range::new(16_385, numbering).page(0), 16_386);
        assert_eq!(numbering.of(7), None);
    }
}

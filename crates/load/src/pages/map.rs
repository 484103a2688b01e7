//! The pages of a database with auto_vacuum that say of every other page which one refers to it, so that SQLite can
//! move it (<https://sqlite.org/fileformat2.html#pointer_map_or_ptrmap_pages>).

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::index::{INDEX_INTERIOR, INDEX_LEAF, local_of_index};
use super::numbering::{Numbering, OF_PAGE};
use super::packer::Limits;
use super::tree::{TABLE_INTERIOR, TABLE_LEAF};
use super::varint;

/// What a page is to the one that refers to it.
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
pub(super) struct Entry {
    pub(super) page: u32,
    pub(super) kind: Kind,
    pub(super) parent: u32,
}

/// What is new in the map.
#[derive(Debug)]
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

    pub(super) fn note(&self, entries: impl IntoIterator<Item = Entry>) {
        let mut pages = self.pages();
        for Entry { page, kind, parent } in entries {
            let Some(number) = self.numbering.of(page) else {
                continue;
            };
            let of_map = pages.entry(number).or_insert_with(|| vec![0; self.page_size]);
            let at = OF_PAGE * (page - number - 1) as usize;
            of_map[at] = kind as u8;
            of_map[at + 1..at + OF_PAGE].copy_from_slice(&parent.to_be_bytes());
        }
    }

    /// Notes all pages to which this one of a tree refers.
    pub(super) fn note_page(&self, parent: u32, bytes: &[u8]) {
        let entry = |(page, kind)| Entry { page, kind, parent };
        self.note(referred(&bytes[..self.usable]).into_iter().map(entry));
    }

    /// What is new in the pages of the map up to this one, by number.
    pub(super) fn until(&self, last: u32) -> Vec<(u32, Vec<u8>)> {
        let pages = self.pages();
        let until = pages.range(..=last);
        until.map(|(number, new)| (*number, new.clone())).collect()
    }

    /// The pages of the map behind this one.
    pub(super) fn behind(&self, last: u32) -> Vec<(u32, Vec<u8>)> {
        let pages = self.pages();
        let behind = pages.range(last + 1..);
        behind.map(|(number, new)| (*number, new.clone())).collect()
    }
}

/// Enters what is new into a page of the map.
pub(super) fn merge(page: &mut [u8], new: &[u8]) {
    let entries = page.chunks_exact_mut(OF_PAGE).zip(new.chunks_exact(OF_PAGE));
    for (old, new) in entries.filter(|(_, new)| new[0] != 0) {
        old.copy_from_slice(new);
    }
}

/// The pages to which a page of a tree refers; of one that makes no sense, those before that shows.
fn referred(usable: &[u8]) -> Vec<(u32, Kind)> {
    let mut found = Vec::new();
    let kind = usable.first().copied().unwrap_or(0);
    let is_interior = matches!(kind, TABLE_INTERIOR | INDEX_INTERIOR);
    let header = if is_interior { 12 } else { 8 };
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

/// The first page of what a cell does not keep whole, if there is such.
fn overflow(usable: &[u8], kind: u8, mut at: usize) -> Option<u32> {
    let (length, of_length) = varint::get(usable.get(at..)?)?;
    let length = usize::try_from(length).ok()?;
    at += of_length;
    let local = match kind {
        TABLE_LEAF => {
            at += varint::get(usable.get(at..)?)?.1;
            Limits::of(usable.len()).local(length)
        }
        INDEX_LEAF | INDEX_INTERIOR => local_of_index(usable.len(), length),
        _ => return None,
    };
    (local < length).then(|| u32_at(usable, at + local))?
}

fn u16_at(bytes: &[u8], at: usize) -> Option<usize> {
    let number = bytes.get(at..)?.first_chunk()?;
    Some(usize::from(u16::from_be_bytes(*number)))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

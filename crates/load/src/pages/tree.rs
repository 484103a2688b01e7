//! The interior pages of a table's tree, from the leaves up to the root.

use std::ops::Range;

use super::buffer::Buffer;
use super::file::PageFile;
use super::link::read_page;
use super::page::{self, DEEPEST, INTERIOR_HEADER, TABLE_INTERIOR, TABLE_LEAF, fill_interior};
use super::varint;
use crate::error::Result;
use engine::{Connection, EngineError};

/// A page with the largest key below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Child {
    pub(super) page: u32,
    pub(super) key: i64,
}

/// Bytes in the buffer before it is written.
const FLUSH_BYTES: usize = 1 << 20;

/// Writes level upon level until one page holds all, which is the root. `children` is not empty.
pub(super) fn write_interior(file: &PageFile, root: u32, mut children: Vec<Child>) -> Result<()> {
    loop {
        let groups = groups(&children, file.usable);
        if let [all] = &groups[..] {
            let page = interior_page(file, &children[all.clone()]);
            return file.write_page(root, page.bytes());
        }
        children = write_level(file, &children, &groups)?;
    }
}

/// An interior page of these children.
pub(super) fn interior_page(file: &PageFile, children: &[Child]) -> Buffer {
    let mut buffer = Buffer::new(file.page_size, 1);
    let index = buffer.add();
    fill(buffer.page(index), children, file.usable);
    buffer
}

/// Returns the children of an interior page, and the rightmost one, which has no key; `None` if the page makes
/// no sense.
pub(super) fn children(page: &[u8]) -> Option<(Vec<Child>, u32)> {
    let u16_at = |at: usize| page::u16_at(page, at);
    let u32_at = |at: usize| page::u32_at(page, at);
    let children: Option<Vec<Child>> = (0..u16_at(3)?)
        .map(|number| {
            let cell = u16_at(INTERIOR_HEADER + 2 * number)?;
            Some(Child { page: u32_at(cell)?, key: varint::get(page.get(cell + 4..)?)?.0 as i64 })
        })
        .collect();
    Some((children?, u32_at(8)?))
}

/// Writes the pages of one level and returns them as children of the next.
pub(super) fn write_level(
    file: &PageFile,
    children: &[Child],
    groups: &[Range<usize>],
) -> Result<Vec<Child>> {
    let page_size = file.page_size;
    let at_once = FLUSH_BYTES / page_size;
    let mut buffer = Buffer::new(page_size, at_once);
    let mut level = Vec::with_capacity(groups.len());
    for part in groups.chunks(at_once) {
        let range = file.reserve(part.len())?;
        for group in part {
            let members = &children[group.clone()];
            let index = buffer.add();
            fill(buffer.page(index), members, file.usable);
            level.push(Child { page: range.page(index), key: members[members.len() - 1].key });
        }
        file.write_tree(range, buffer.bytes())?;
        buffer.clear(at_once);
    }
    Ok(level)
}

/// Divides children among pages.
pub(super) fn groups(children: &[Child], usable: usize) -> Vec<Range<usize>> {
    page::groups(children.len(), usable, |at| varint::length(children[at].key as u64))
}

/// Fills a page with children.
fn fill(page: &mut [u8], children: &[Child], usable: usize) {
    let Some((rightmost, others)) = children.split_last() else { return };
    let cells = others.iter().map(|child| {
        let mut key = Vec::with_capacity(varint::LONGEST);
        varint::push(&mut key, child.key as u64);
        (child.page, key)
    });
    fill_interior(page, TABLE_INTERIOR, usable, cells, rightmost.page);
}

/// The interior pages of the right edge, the lowest first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct RightEdge {
    levels: Vec<Level>,
    /// The root page, if it is a leaf with rows.
    leaf: Option<Vec<u8>>,
    /// The largest rowid.
    pub(super) last: Option<i64>,
}

/// An interior page.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Level {
    page: u32,
    /// All children but the rightmost.
    children: Vec<Child>,
    rightmost: u32,
}

impl RightEdge {
    /// Reads the right edge of the table with this root and largest rowid; `None` if its
    /// pages are not understood.
    pub(super) fn read(
        connection: &Connection,
        root: u32,
        last: Option<i64>,
    ) -> Result<Option<RightEdge>, EngineError> {
        let mut levels = Vec::new();
        let mut page = root;
        loop {
            let Some(bytes) = read_page(connection, page)? else { return Ok(None) };
            match bytes.first() {
                Some(&TABLE_INTERIOR) if levels.len() < DEEPEST => {
                    let Some((children, rightmost)) = children(&bytes) else { return Ok(None) };
                    levels.push(Level { page, children, rightmost });
                    page = rightmost;
                }
                // A tree of several levels without a row is nothing that SQLite leaves.
                Some(&TABLE_LEAF) if levels.is_empty() || last.is_some() => {
                    levels.reverse();
                    let is_root = levels.is_empty() && last.is_some();
                    return Ok(Some(RightEdge { levels, leaf: is_root.then_some(bytes), last }));
                }
                _ => return Ok(None),
            }
        }
    }

    /// Returns whether the table has no rows, so that it can be written as a new one.
    pub(super) fn is_empty(&self) -> bool {
        self.last.is_none()
    }

    /// Appends one or more leaves at the right edge of the table with this root.
    pub(super) fn append(self, file: &PageFile, root: u32, leaves: Vec<Child>) -> Result<()> {
        let mut new = leaves;
        // The largest rowid below the page that has been the last one of the level.
        let mut key = self.last.unwrap_or(0);
        if let Some(leaf) = self.leaf {
            let range = file.reserve(1)?;
            file.write_tree(range, Buffer::of_page(&leaf).bytes())?;
            new.insert(0, Child { page: range.page(0), key });
        }
        for level in self.levels {
            let mut children = level.children;
            children.push(Child { page: level.rightmost, key });
            children.append(&mut new);
            if level.page == root {
                return write_interior(file, root, children);
            }
            let groups = groups(&children, file.usable);
            let (first, others) = (&groups[0], &groups[1..]);
            let kept = &children[first.clone()];
            file.write_page(level.page, interior_page(file, kept).bytes())?;
            if others.is_empty() {
                return Ok(());
            }
            key = kept[kept.len() - 1].key;
            new = write_level(file, &children, others)?;
        }
        write_interior(file, root, new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_are_read_back_from_a_page() {
        let written: Vec<Child> = (1..=20)
            .map(|page| Child { page, key: i64::from(page) * 1_000_003 - 5_000_000 })
            .collect();
        let mut page = vec![7; 512];
        fill(&mut page, &written, 500);
        let (read, rightmost) = children(&page).unwrap();
        assert_eq!((&read[..], rightmost), (&written[..19], 20));
        assert_eq!(page[500..], [0; 12]);
        page[INTERIOR_HEADER] = 255;
        assert_eq!(children(&page), None);
    }

    #[test]
    fn no_page_is_left_with_a_single_child() {
        for count in 2..400 {
            let children: Vec<Child> =
                (1..=count).map(|page| Child { page, key: i64::from(page) * 1_000_000 }).collect();
            let groups = groups(&children, 512);
            assert!(groups.iter().all(|group| group.len() > 1), "{count}");
            assert_eq!(groups.iter().map(ExactSizeIterator::len).sum::<usize>(), count as usize);
        }
    }
}

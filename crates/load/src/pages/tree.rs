//! The interior pages of a table's tree, from the leaves up to the root.

use super::buffer::Buffer;
use super::file::PageFile;
use super::level::{Level, write_levels};
use super::link::read_page;
use super::page::{self, DEEPEST, INTERIOR_HEADER, TABLE_INTERIOR, TABLE_LEAF};
use super::varint;
use crate::error::Result;
use engine::Connection;

/// A page with the largest key below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Child {
    pub(super) page: u32,
    pub(super) key: i64,
}

/// Returns the children of an interior page, and the rightmost one, which has no key; `None` if the page makes
/// no sense.
fn children(page: &[u8]) -> Option<(Vec<Child>, u32)> {
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

/// Returns pages as the level that they make: the largest key below a page comes behind its number.
fn level(children: &[Child]) -> Level {
    let (mut level, mut key) = (Level::default(), Vec::with_capacity(varint::LONGEST));
    for child in children {
        key.clear();
        varint::push(&mut key, child.key as u64);
        level.children.push(child.page);
        level.dividers.push(&key);
    }
    level
}

/// The interior pages of the right edge, the lowest first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct RightEdge {
    levels: Vec<EdgePage>,
    /// The root page, if it is a leaf with rows.
    leaf: Option<Vec<u8>>,
    /// The largest rowid.
    pub(super) last: Option<i64>,
}

/// An interior page.
#[derive(Debug, Clone, PartialEq, Eq)]
struct EdgePage {
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
    ) -> Result<Option<RightEdge>> {
        let mut levels = Vec::new();
        let mut page = root;
        loop {
            let Some(bytes) = read_page(connection, page)? else { return Ok(None) };
            match bytes.first() {
                Some(&TABLE_INTERIOR) if levels.len() < DEEPEST => {
                    let Some((children, rightmost)) = children(&bytes) else { return Ok(None) };
                    levels.push(EdgePage { page, children, rightmost });
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
        for edge in self.levels {
            let mut children = edge.children;
            children.push(Child { page: edge.rightmost, key });
            children.append(&mut new);
            let level = level(&children);
            if edge.page == root {
                return write_levels(file, TABLE_INTERIOR, root, level);
            }
            let groups = level.groups(file.usable);
            let (first, others) = (groups[0].clone(), &groups[1..]);
            key = children[first.end - 1].key;
            file.write_page(edge.page, level.page(file, TABLE_INTERIOR, first).bytes())?;
            if others.is_empty() {
                return Ok(());
            }
            let pages = level.write(file, TABLE_INTERIOR, others)?.children.into_iter();
            let keys = others.iter().map(|group| children[group.end - 1].key);
            new = pages.zip(keys).map(|(page, key)| Child { page, key }).collect();
        }
        write_levels(file, TABLE_INTERIOR, root, level(&new))
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
        level(&written).fill(&mut page, 500, TABLE_INTERIOR, 0..20);
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
            let groups = level(&children).groups(512);
            assert!(groups.iter().all(|group| group.len() > 1), "{count}");
            assert_eq!(groups.iter().map(ExactSizeIterator::len).sum::<usize>(), count as usize);
        }
    }
}

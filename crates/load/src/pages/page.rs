//! The layout of B-tree pages (<https://sqlite.org/fileformat2.html#b_tree_pages>): kinds, headers, interior
//! pages, and how much of a payload a page keeps.

use std::ops::Range;

/// The kinds of pages: the first byte of each.
pub(super) const INDEX_INTERIOR: u8 = 0x02;
pub(super) const TABLE_INTERIOR: u8 = 0x05;
pub(super) const INDEX_LEAF: u8 = 0x0a;
pub(super) const TABLE_LEAF: u8 = 0x0d;
/// Bytes of the header of a leaf.
pub(super) const LEAF_HEADER: usize = 8;
/// Bytes of the header of an interior page, which ends in the number of its rightmost child.
pub(super) const INTERIOR_HEADER: usize = 12;
/// The most levels of a tree: an interior page has two children at least.
pub(super) const DEEPEST: usize = 40;

/// Reads a number of 16 bits; `None` behind the end of the page.
pub(super) fn u16_at(page: &[u8], at: usize) -> Option<usize> {
    Some(usize::from(u16::from_be_bytes(*page.get(at..)?.first_chunk()?)))
}

/// Reads a number of 32 bits; `None` behind the end of the page.
pub(super) fn u32_at(page: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(*page.get(at..)?.first_chunk()?))
}

/// The longest payload that a page keeps whole, and the least that it keeps of a longer one.
#[derive(Debug, Clone, Copy)]
pub(super) struct PayloadLimits {
    pub(super) whole: usize,
    least: usize,
    /// Bytes of payload in an overflow page.
    pub(super) overflow: usize,
}

impl PayloadLimits {
    /// Returns the limits in leaves of tables.
    pub(super) fn of_table(usable: usize) -> PayloadLimits {
        PayloadLimits::new(usable, usable - 35)
    }

    /// Returns the limits in pages of indexes.
    pub(super) fn of_index(usable: usize) -> PayloadLimits {
        PayloadLimits::new(usable, (usable - 12) * 64 / 255 - 23)
    }

    fn new(usable: usize, whole: usize) -> PayloadLimits {
        PayloadLimits { whole, least: (usable - 12) * 32 / 255 - 23, overflow: usable - 4 }
    }

    /// Returns the bytes of a payload that stay in the page.
    pub(super) fn local(self, payload: usize) -> usize {
        if payload <= self.whole {
            return payload;
        }
        let wanted = self.least + (payload - self.least) % self.overflow;
        if wanted <= self.whole { wanted } else { self.least }
    }
}

/// Writes the header of a page; a page that is all content begins at 65,536, written as 0.
pub(super) fn write_header(page: &mut [u8], kind: u8, cells: usize, content: usize) {
    page[0] = kind;
    page[1..3].fill(0);
    page[3..5].copy_from_slice(&(cells as u16).to_be_bytes());
    page[5..7].copy_from_slice(&(content as u16).to_be_bytes());
    page[7] = 0;
}

/// Fills an interior page. Each child but the rightmost has a cell: its number, then the bytes given with it.
/// The bytes behind the usable ones are reserved for extensions, and 0.
pub(super) fn fill_interior<B: AsRef<[u8]>>(
    page: &mut [u8],
    kind: u8,
    usable: usize,
    cells: impl Iterator<Item = (u32, B)>,
    rightmost: u32,
) {
    let (page, reserved) = page.split_at_mut(usable);
    reserved.fill(0);
    let (mut content, mut pointer) = (page.len(), INTERIOR_HEADER);
    for (child, cell) in cells {
        let cell = cell.as_ref();
        content -= 4 + cell.len();
        page[content..content + 4].copy_from_slice(&child.to_be_bytes());
        page[content + 4..content + 4 + cell.len()].copy_from_slice(cell);
        page[pointer..pointer + 2].copy_from_slice(&(content as u16).to_be_bytes());
        pointer += 2;
    }
    write_header(page, kind, (pointer - INTERIOR_HEADER) / 2, content);
    page[8..INTERIOR_HEADER].copy_from_slice(&rightmost.to_be_bytes());
    page[pointer..content].fill(0);
}

/// Divides children among interior pages: as many as fit, and never a single one for the last page, which would
/// have no cell. `cell` gives the bytes behind the number of a child in its cell; the last child of a
/// page has none.
pub(super) fn groups(
    children: usize,
    usable: usize,
    cell: impl Fn(usize) -> usize,
) -> Vec<Range<usize>> {
    let mut groups = Vec::new();
    let (mut start, mut room) = (0, usable - INTERIOR_HEADER);
    for number in 1..children {
        // The child before becomes a cell when another one follows it.
        let needed = 4 + cell(number - 1) + 2;
        if number > start && needed > room {
            groups.push(start..number);
            (start, room) = (number, usable - INTERIOR_HEADER);
        } else if number > start {
            room -= needed;
        }
    }
    groups.push(start..children);
    if let [.., before, last] = &mut groups[..]
        && last.len() == 1
    {
        before.end -= 1;
        last.start -= 1;
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_part_that_stays_fills_the_last_overflow_page() {
        let limits = PayloadLimits::of_table(4_096);
        assert_eq!(limits.local(4_061), 4_061);
        for payload in [4_062, 10_000, 1_000_000] {
            let local = limits.local(payload);
            assert!((limits.least..=limits.whole).contains(&local));
            let rest = (payload - local) % limits.overflow;
            assert!(rest == 0 || local == limits.least, "{payload}");
        }
    }
}

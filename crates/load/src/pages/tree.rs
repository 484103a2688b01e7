//! The interior pages of a table's tree, from the leaves up to the root.

use super::buffer::Buffer;
use super::file::PageFile;
use super::packer::write_header;
use super::varint;
use crate::error::LoadError;

/// A page with the largest key below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Child {
    pub(super) page: u32,
    pub(super) key: i64,
}

/// The type of a table's interior page.
pub(super) const TABLE_INTERIOR: u8 = 0x05;
/// The type of a table's leaf.
pub(super) const TABLE_LEAF: u8 = 0x0d;
/// The header of an interior page, which ends in the number of its rightmost child.
const HEADER: usize = 12;
/// Pages in the buffer before it is written.
const FLUSH_BYTES: usize = 1 << 20;

/// Writes level upon level until one page holds all, which is the root. `children` is not empty.
pub(super) fn write_interior(
    file: &PageFile,
    root: u32,
    mut children: Vec<Child>,
) -> Result<(), LoadError> {
    loop {
        let groups = groups(&children, file.usable());
        if let [all] = &groups[..] {
            let page = interior_page(file, &children[all.clone()]);
            return file.write_page(root, page.bytes());
        }
        children = write_level(file, &children, &groups)?;
    }
}

/// An interior page of these children.
pub(super) fn interior_page(file: &PageFile, children: &[Child]) -> Buffer {
    let mut buffer = Buffer::new(file.page_size(), 1);
    let index = buffer.add();
    fill(buffer.page(index), children, file.usable());
    buffer
}

/// A page with the contents of another one, to be written elsewhere.
pub(super) fn moved(bytes: &[u8]) -> Buffer {
    let mut buffer = Buffer::new(bytes.len(), 1);
    let index = buffer.add();
    buffer.page(index).copy_from_slice(bytes);
    buffer
}

/// The children of an interior page, and the rightmost one, which has no key; `None` if the page makes
/// no sense.
pub(super) fn children(page: &[u8]) -> Option<(Vec<Child>, u32)> {
    let u16_at = |at: usize| Some(usize::from(u16::from_be_bytes(*page.get(at..)?.first_chunk()?)));
    let u32_at = |at: usize| Some(u32::from_be_bytes(*page.get(at..)?.first_chunk()?));
    let children: Option<Vec<Child>> = (0..u16_at(3)?)
        .map(|number| {
            let cell = u16_at(HEADER + 2 * number)?;
            Some(Child { page: u32_at(cell)?, key: varint::get(page.get(cell + 4..)?)?.0 as i64 })
        })
        .collect();
    Some((children?, u32_at(8)?))
}

/// Writes the pages of one level and returns them as children of the next.
pub(super) fn write_level(
    file: &PageFile,
    children: &[Child],
    groups: &[std::ops::Range<usize>],
) -> Result<Vec<Child>, LoadError> {
    let page_size = file.page_size();
    let at_once = FLUSH_BYTES / page_size;
    let mut buffer = Buffer::new(page_size, at_once);
    let mut level = Vec::with_capacity(groups.len());
    for part in groups.chunks(at_once) {
        let range = file.reserve(part.len())?;
        for group in part {
            let members = &children[group.clone()];
            let index = buffer.add();
            fill(buffer.page(index), members, file.usable());
            level.push(Child { page: range.page(index), key: members[members.len() - 1].key });
        }
        file.write_tree(range, buffer.bytes())?;
        buffer.clear(at_once);
    }
    Ok(level)
}

/// Divides children among pages: as many as fit, and never a single one for the last page, which would
/// have no cell.
pub(super) fn groups(children: &[Child], usable: usize) -> Vec<std::ops::Range<usize>> {
    let mut groups = Vec::new();
    let (mut start, mut room) = (0, usable - HEADER);
    for number in 0..children.len() {
        // The child before becomes a cell when another one follows it.
        if number > start {
            let needed = cell_length(children[number - 1]) + 2;
            if needed > room {
                groups.push(start..number);
                (start, room) = (number, usable - HEADER);
            } else {
                room -= needed;
            }
        }
    }
    groups.push(start..children.len());
    if let [.., before, last] = &mut groups[..]
        && last.len() == 1
    {
        before.end -= 1;
        last.start -= 1;
    }
    groups
}

fn cell_length(child: Child) -> usize {
    4 + varint::length(child.key as u64)
}

/// Fills a page with children: a cell for each but the last, which is the rightmost. The bytes behind the
/// usable ones are reserved for extensions, and 0.
fn fill(page: &mut [u8], children: &[Child], usable: usize) {
    let (page, reserved) = page.split_at_mut(usable);
    reserved.fill(0);
    let (rightmost, others) = match children.split_last() {
        Some((rightmost, others)) => (rightmost.page, others),
        None => (0, children),
    };
    let mut content = page.len();
    for (number, child) in others.iter().enumerate() {
        content -= cell_length(*child);
        page[content..content + 4].copy_from_slice(&child.page.to_be_bytes());
        varint::put(&mut page[content + 4..], child.key as u64);
        let pointer = HEADER + 2 * number;
        page[pointer..pointer + 2].copy_from_slice(&(content as u16).to_be_bytes());
    }
    write_header(page, TABLE_INTERIOR, others.len(), content);
    page[8..12].copy_from_slice(&rightmost.to_be_bytes());
    page[HEADER + 2 * others.len()..content].fill(0);
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
        page[HEADER] = 255;
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

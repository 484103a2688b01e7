//! Entries that a page does not keep whole: the rest of each is in a chain of pages
//! (<https://sqlite.org/fileformat2.html#cell_payload_overflow_pages>). The chains of many entries are written at once,
//! because each write waits for the disk.

use crate::error::LoadError;
use crate::pages::buffer::Buffer;
use crate::pages::file::PageFile;
use crate::pages::map::{Entry, Kind};
use crate::pages::numbering::Range;
use crate::pages::varint;

use super::leaves::Cells;

/// The longest record that a page keeps whole.
pub(super) fn longest_whole(usable: usize) -> usize {
    (usable - 12) * 64 / 255 - 23
}

/// The bytes that a page keeps of a record of this length; the rest is in overflow pages.
pub(in crate::pages) fn local(usable: usize, length: usize) -> usize {
    let whole = longest_whole(usable);
    if length <= whole {
        return length;
    }
    let least = (usable - 12) * 32 / 255 - 23;
    let wanted = least + (length - least) % (usable - 4);
    if wanted <= whole { wanted } else { least }
}

/// The cells of entries as pages have them: a length, what stays in the page, and where the rest is, which is
/// written here, by way of memory that is used again.
pub(super) fn cells(
    file: &PageFile,
    entries: &Cells,
    memory: &mut Option<Buffer>,
) -> Result<Vec<Vec<u8>>, LoadError> {
    let all = || (0..entries.len()).map(|number| entries.get(number));
    let pages: usize = all().map(|entry| chain_length(file, entry)).sum();
    if pages == 0 {
        return Ok(all().map(<[u8]>::to_vec).collect());
    }
    let range = file.reserve(pages)?;
    let chains = memory.get_or_insert_with(|| Buffer::new(file.page_size(), pages));
    chains.clear(pages);
    let cells = all().map(|entry| cell(file, entry, range, chains));
    let cells = cells.collect();
    file.write(range, chains.bytes())?;
    Ok(cells)
}

/// The record of an entry, and the bytes before it, which tell its length.
fn record(entry: &[u8]) -> (&[u8], usize) {
    let (_, length) = varint::take(entry);
    (&entry[length..], length)
}

/// How many overflow pages an entry has.
fn chain_length(file: &PageFile, entry: &[u8]) -> usize {
    let (record, _) = record(entry);
    let rest = record.len() - local(file.usable(), record.len());
    rest.div_ceil(file.usable() - 4)
}

/// The cell of an entry, whose overflow pages are added to those of a range.
fn cell(file: &PageFile, entry: &[u8], range: Range, chains: &mut Buffer) -> Vec<u8> {
    let (record, before) = record(entry);
    let local = local(file.usable(), record.len());
    let mut cell = entry[..before + local].to_vec();
    let mut chunks = record[local..].chunks(file.usable() - 4).peekable();
    if chunks.peek().is_some() {
        cell.extend_from_slice(&range.page(chains.pages()).to_be_bytes());
    }
    while let Some(chunk) = chunks.next() {
        let index = chains.add();
        let next = chunks.peek().map_or(0, |_| range.page(index + 1));
        if next != 0 {
            file.note([Entry { page: next, kind: Kind::Overflow, parent: range.page(index) }]);
        }
        let page = chains.page(index);
        page[..4].copy_from_slice(&next.to_be_bytes());
        page[4..4 + chunk.len()].copy_from_slice(chunk);
        page[4 + chunk.len()..].fill(0);
    }
    cell
}

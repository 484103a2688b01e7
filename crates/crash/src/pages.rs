//! The content of a database by its pages: for databases that are too large to read again after each commit
//! and in each crash image. Reading takes time in proportion to the bytes written since the beginning.
//!
//! Recovery restores pages, so a recovered database has exactly the pages of some commit. The comparison
//! ignores bytes that SQLite neither restores nor reads (<https://sqlite.org/fileformat2.html>): free pages
//! without a list of their own, bytes after the last page, the page of the lock bytes, the change counters
//! and, in the header, the marks of the journal mode.

use crate::content::Content;
use engine::vfs::{BLOCK, Bytes};
use std::collections::{BTreeMap, HashSet};
use std::hash::Hasher;
use std::ops::Range;
use twox_hash::XxHash3_64;

/// The bytes of the header that say nothing of the content: journal mode, change counter, size, and the counter for
/// which the size is valid, with the version of SQLite that wrote it.
const NOT_CONTENT: [Range<usize>; 3] = [18..20, 24..32, 92..100];

/// The byte at which locks lie.
const LOCKS: u64 = 1 << 30;

/// Returns the content of a database whose log has been written back; equal for equal pages over the same
/// base.
pub(crate) fn content(bytes: &Bytes) -> Content {
    if bytes.is_empty() {
        return Content::empty();
    }
    let mut hash = XxHash3_64::new();
    let file = Pages::of(bytes);
    let first = first_block(bytes);
    if file.count <= 1 && is_blank(&first) {
        return Content::empty();
    }
    hash.write(&file.count.to_le_bytes());
    hash.write(&[u8::from(file.count * file.size > bytes.len() as u64)]);
    hash.write(&file.without_unused(0, &first, &bytes.block_of_base(0)));
    for block in bytes.changed().skip_while(|block| block.number == 0) {
        let before = bytes.block_of_base(block.number);
        let kept = file.without_unused(block.number, block.bytes, &before);
        if kept != before[..kept.len()] {
            hash.write(&block.number.to_le_bytes());
            hash.write(&kept);
        }
    }
    Content(hash.finish())
}

/// Returns the first block without the bytes that are not content.
fn first_block(bytes: &Bytes) -> [u8; BLOCK] {
    let mut block = [0; BLOCK];
    bytes.read(0, &mut block);
    for range in NOT_CONTENT {
        block[range].fill(0);
    }
    block
}

/// Returns whether the first page holds no table, and its header nothing of the user's: `user_version` and
/// `application_id`.
fn is_blank(first: &[u8; BLOCK]) -> bool {
    const CELLS: Range<usize> = 103..105;
    const LEAF: u8 = 13;
    let zero = |range: Range<usize>| first[range].iter().all(|byte| *byte == 0);
    (first[100] == LEAF || first[100] == 0) && zero(CELLS) && zero(60..64) && zero(68..72)
}

/// Returns the size of the pages in bytes, from the header.
pub(crate) fn page_size(bytes: &Bytes) -> u32 {
    let mut size = [0; 2];
    bytes.read(16, &mut size);
    match u16::from_be_bytes(size) {
        1 => 65_536,
        size @ 512.. => size.into(),
        _ => BLOCK as u32,
    }
}

/// The pages of a database, from its header, and the unused ones among them.
struct Pages {
    size: u64,
    count: u64,
    free: HashSet<u64>,
}

impl Pages {
    fn of(bytes: &Bytes) -> Pages {
        let mut header = [0; 100];
        bytes.read(0, &mut header);
        let word = |at: usize| u64::from(u32_at(&header, at));
        let size = u64::from(page_size(bytes));
        // As in SQLite: the size counts where the last writer has stated it.
        let count = match (word(28), word(24) == word(92)) {
            (count @ 1.., true) => count,
            _ => bytes.len() as u64 / size,
        };
        Pages { size, count, free: free(bytes, size, count, word(32)) }
    }

    /// Returns a block whose unused parts are replaced by their old bytes.
    fn without_unused(&self, number: u64, block: &[u8], before: &[u8]) -> Vec<u8> {
        let mut kept = block.to_vec();
        let begin = number * BLOCK as u64;
        let step = self.size.min(BLOCK as u64);
        for at in (begin..begin + block.len() as u64).step_by(step as usize) {
            let page = at / self.size + 1;
            let is_lock_page = LOCKS / self.size + 1 == page;
            if page > self.count || is_lock_page || self.free.contains(&page) {
                let within = (at - begin) as usize;
                let range = within..(within + step as usize).min(kept.len());
                kept[range.clone()].copy_from_slice(&before[range]);
            }
        }
        kept
    }
}

/// Returns the free pages without a list of their own, as far as they can be found if the list is damaged.
fn free(bytes: &Bytes, size: u64, count: u64, first: u64) -> HashSet<u64> {
    let (mut free, mut lists) = (HashSet::new(), HashSet::new());
    let mut list = first;
    let mut page = vec![0; size as usize];
    while list > 0 && list <= count && lists.insert(list) {
        bytes.read((list - 1) * size, &mut page);
        let most = (page.len() - 8) / 4;
        let leaves = (u32_at(&page, 4) as usize).min(most);
        free.extend((0..leaves).map(|leaf| u64::from(u32_at(&page, 8 + 4 * leaf))));
        list = u64::from(u32_at(&page, 0));
    }
    free
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let mut word = [0; 4];
    word.copy_from_slice(&bytes[at..at + 4]);
    u32::from_be_bytes(word)
}

/// Returns a database with the commits of its write-ahead log
/// (<https://sqlite.org/fileformat2.html#walformat>). The log must be whole, not left by a crash.
pub(crate) fn with_log(database: &Bytes, log: &Bytes) -> Bytes {
    let mut whole = database.clone();
    let Some((frames, pages)) = committed(log) else { return whole };
    let size = frames.values().map(|page| page.len()).max().unwrap_or(0);
    for (page, bytes) in frames {
        whole.write(u64::from(page - 1) * size as u64, &bytes);
    }
    whole.resize(pages as usize * size);
    whole
}

/// Returns the latest version of each page in the log, up to its last commit, and the pages of the database
/// after it.
fn committed(log: &Bytes) -> Option<(BTreeMap<u32, Vec<u8>>, u32)> {
    const HEADER: u64 = 32;
    const FRAME: usize = 24;
    let mut header = [0; HEADER as usize];
    if log.read(0, &mut header) < header.len() {
        return None;
    }
    let size = u32_at(&header, 8) as usize;
    let mut frame = vec![0; FRAME + size];
    let (mut offset, mut last) = (HEADER, None);
    let (mut pages, mut pending) = (BTreeMap::new(), BTreeMap::new());
    while log.read(offset, &mut frame) == frame.len() && frame[8..16] == header[16..24] {
        let page = u32_at(&frame, 0).max(1);
        pending.insert(page, frame[FRAME..].to_vec());
        if u32_at(&frame, 4) > 0 {
            pages.append(&mut pending);
            last = Some(u32_at(&frame, 4));
        }
        offset += frame.len() as u64;
    }
    last.map(|count| (pages, count))
}

//! What a power cut leaves of a disk with a cache: all that was written before the last flush, and of the rest what the
//! cache has passed on to the medium, in any order.

use super::device::{Content, Operation};
use lab::seed::SplitMix64;
use std::ops::Range;

/// The unit that a disk writes as a whole.
const SECTOR: usize = 512;

/// How much of the cache reaches the medium.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// All of it: the writes are cut off in their order.
    All,
    /// Nothing.
    Nothing,
    /// Each write with an even chance.
    Some,
    /// Most writes, of others the first sectors.
    Torn,
}

impl Kept {
    /// All of them.
    pub const ALL: [Kept; 4] = [Kept::All, Kept::Nothing, Kept::Some, Kept::Torn];
}

/// Power cuts of a disk, later and later ones.
pub struct Cuts<'l> {
    log: &'l [Operation],
    /// What is on the medium for certain.
    durable: Content,
    /// The operations of which that is the result.
    flushed: usize,
}

impl<'l> Cuts<'l> {
    /// Those of a disk that held this when the log began.
    pub fn new(before: Content, log: &'l [Operation]) -> Cuts<'l> {
        Cuts { log, durable: before, flushed: 0 }
    }

    /// What is left after a cut that comes after so many operations, no earlier than the cut before.
    pub fn left(&mut self, cut: usize, kept: Kept, random: &mut SplitMix64) -> Content {
        let is_flush = |operation: &Operation| *operation == Operation::Flush;
        if let Some(last) = self.log[self.flushed..cut].iter().rposition(is_flush) {
            let to = self.flushed + last + 1;
            for (offset, bytes) in writes(&self.log[self.flushed..to]) {
                self.durable.write(offset, bytes);
            }
            self.flushed = to;
        }
        let mut left = self.durable.clone();
        for (offset, bytes) in writes(&self.log[self.flushed..cut]) {
            let part = part(bytes.len(), kept, random);
            left.write(offset + part.start as u64, &bytes[part]);
        }
        left
    }
}

fn writes(log: &[Operation]) -> impl Iterator<Item = (u64, &[u8])> {
    log.iter().filter_map(|operation| match operation {
        Operation::Write { offset, bytes } => Some((*offset, &bytes[..])),
        Operation::Flush => None,
    })
}

/// The part of a write that reaches the medium.
fn part(length: usize, kept: Kept, random: &mut SplitMix64) -> Range<usize> {
    let sectors = (length / SECTOR) as u64;
    match kept {
        Kept::All => 0..length,
        Kept::Nothing => 0..0,
        Kept::Some if random.below(2) == 0 => 0..length,
        Kept::Some => 0..0,
        Kept::Torn if random.below(8) > 0 => 0..length,
        Kept::Torn => 0..random.below(sectors + 1) as usize * SECTOR,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab::seed::Seed;

    #[test]
    fn what_was_flushed_stays_and_the_rest_may_go() {
        let write =
            |offset, fill: u8| Operation::Write { offset, bytes: vec![fill; SECTOR].into() };
        let log = [write(0, 1), Operation::Flush, write(0, 2), write(512, 3)];
        let mut random = Seed(1).generator();
        let mut seen = Vec::new();
        let mut left = |cut, kept| {
            let mut cuts = Cuts::new(Content::default(), &log);
            let left = cuts.left(cut, kept, &mut random);
            (left.byte(0), left.byte(512))
        };
        assert_eq!(left(1, Kept::Nothing), (0, 0));
        assert_eq!(left(1, Kept::All), (1, 0));
        assert_eq!(left(2, Kept::Nothing), (1, 0));
        assert_eq!(left(4, Kept::All), (2, 3));
        for _ in 0..64 {
            let some = left(4, Kept::Some);
            if !seen.contains(&some) {
                seen.push(some);
            }
        }
        seen.sort_unstable();
        assert_eq!(seen, [(1, 0), (1, 3), (2, 0), (2, 3)]);
    }
}

//! The bytes of a file in memory: its own, or a [`Base`] with the blocks changed since.
//!
//! Copies of a large file share its base and its blocks, so what they take follows what was written and not the size
//! of the file. It stands apart from the file system because crash images are made of the same bytes.

mod layered;

use std::cmp::Ordering;
use std::io;

pub use self::layered::Base;
use self::layered::Layered;
use std::sync::Arc;
use twox_hash::{XxHash3_64, XxHash3_128};

/// The size of a block in bytes.
pub const BLOCK: usize = 4096;

/// A block, without the bytes that the end of a file cuts off.
pub type Block = [u8; BLOCK];

/// The bytes of a file.
#[derive(Debug, Clone)]
pub enum Bytes {
    /// All of them.
    Own(Vec<u8>),
    /// A base with changed blocks.
    Over(Layered),
}

/// A block that differs from the base, or any block of a file without one.
#[derive(Debug, Clone, Copy)]
pub struct Changed<'b> {
    /// Its number, from 0.
    pub number: u64,
    /// Its bytes; the last block of a file may have fewer.
    pub bytes: &'b [u8],
    /// A hash of them.
    pub hash: u64,
}

impl Default for Bytes {
    fn default() -> Bytes {
        Bytes::Own(Vec::new())
    }
}

impl From<Vec<u8>> for Bytes {
    fn from(bytes: Vec<u8>) -> Bytes {
        Bytes::Own(bytes)
    }
}

impl From<Arc<Base>> for Bytes {
    fn from(base: Arc<Base>) -> Bytes {
        Bytes::Over(Layered::new(base))
    }
}

impl Bytes {
    /// Returns the number of bytes.
    pub fn len(&self) -> usize {
        match self {
            Bytes::Own(bytes) => bytes.len(),
            Bytes::Over(layered) => layered.len() as usize,
        }
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Reads from `offset` on and returns how many bytes were there.
    pub fn read(&self, offset: u64, buffer: &mut [u8]) -> usize {
        match self {
            Bytes::Own(bytes) => {
                let begin = (offset as usize).min(bytes.len());
                let there = buffer.len().min(bytes.len() - begin);
                buffer[..there].copy_from_slice(&bytes[begin..begin + there]);
                there
            }
            Bytes::Over(layered) => layered.read(offset, buffer),
        }
    }

    /// Writes from `offset` on; the file grows as needed.
    pub fn write(&mut self, offset: u64, written: &[u8]) {
        match self {
            Bytes::Own(bytes) => {
                let (begin, end) = (offset as usize, offset as usize + written.len());
                if bytes.len() < end {
                    bytes.resize(end, 0);
                }
                bytes[begin..end].copy_from_slice(written);
            }
            Bytes::Over(layered) => layered.write(offset, written),
        }
    }

    /// Cuts the file, or extends it by zeros.
    pub fn resize(&mut self, length: usize) {
        match self {
            Bytes::Own(bytes) => bytes.resize(length, 0),
            Bytes::Over(layered) => layered.resize(length as u64),
        }
    }

    /// Returns the first `old` bytes, extended by zeros to `length`.
    pub fn beginning(&self, old: usize, length: usize) -> Bytes {
        match self {
            Bytes::Own(bytes) => {
                let mut beginning = Vec::with_capacity(length);
                beginning.extend_from_slice(&bytes[..old]);
                beginning.resize(length, 0);
                Bytes::Own(beginning)
            }
            Bytes::Over(layered) => {
                let mut beginning = layered.clone();
                beginning.resize(old as u64);
                beginning.resize(length as u64);
                Bytes::Over(beginning)
            }
        }
    }

    /// Returns the blocks that differ from the base, in order; without a base, all blocks.
    pub fn changed(&self) -> Box<dyn Iterator<Item = Changed<'_>> + '_> {
        match self {
            Bytes::Own(bytes) => Box::new((0..).zip(bytes.chunks(BLOCK)).map(|(number, bytes)| {
                Changed { number, bytes, hash: XxHash3_64::oneshot(bytes) }
            })),
            Bytes::Over(layered) => Box::new(layered.changed()),
        }
    }

    /// Returns a block as it is in the base; zeros where there is none.
    pub fn block_of_base(&self, number: u64) -> Block {
        match self {
            Bytes::Own(_) => [0; BLOCK],
            Bytes::Over(layered) => layered.base.block(number),
        }
    }

    /// Returns the size of the base; 0 where there is none.
    pub fn size_of_base(&self) -> u64 {
        match self {
            Bytes::Own(_) => 0,
            Bytes::Over(layered) => layered.base.len(),
        }
    }

    /// Returns a hash: equal for equal bytes over the same base.
    pub fn digest(&self) -> u128 {
        let layered = match self {
            Bytes::Own(bytes) => return XxHash3_128::oneshot(bytes),
            Bytes::Over(layered) => layered,
        };
        let mut hashed = layered.len().to_le_bytes().to_vec();
        for block in layered.changed() {
            hashed.extend(block.number.to_le_bytes());
            hashed.extend(block.hash.to_le_bytes());
        }
        XxHash3_128::oneshot(&hashed)
    }

    /// Writes all bytes.
    ///
    /// # Errors
    /// The errors of the writer.
    pub fn write_to(&self, to: &mut impl io::Write) -> io::Result<()> {
        let mut buffer = vec![0; 64 * BLOCK];
        let mut offset = 0;
        loop {
            match self.read(offset, &mut buffer) {
                0 => return Ok(()),
                there => to.write_all(&buffer[..there])?,
            }
            offset += buffer.len() as u64;
        }
    }

    /// All bytes.
    pub fn to_vec(&self) -> Vec<u8> {
        let mut all = vec![0; self.len()];
        self.read(0, &mut all);
        all
    }
}

impl PartialEq for Bytes {
    fn eq(&self, other: &Bytes) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Bytes {}

impl PartialOrd for Bytes {
    fn partial_cmp(&self, other: &Bytes) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// By their bytes, whatever holds them.
impl Ord for Bytes {
    fn cmp(&self, other: &Bytes) -> Ordering {
        if let (Bytes::Own(one), Bytes::Own(two)) = (self, other) {
            return one.cmp(two);
        }
        let (mut one, mut two) = ([0; BLOCK], [0; BLOCK]);
        let mut offset = 0;
        loop {
            let there = (self.read(offset, &mut one), other.read(offset, &mut two));
            let order = one[..there.0].cmp(&two[..there.1]);
            if order.is_ne() || there.0 == 0 {
                return order;
            }
            offset += BLOCK as u64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn base(bytes: &[u8]) -> Arc<Base> {
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        file.write_all(bytes).expect("writes");
        Arc::new(Base::open(file.path()).expect("opens"))
    }

    /// Whatever is done to bytes over a base, they are those that a plain file would have.
    #[test]
    fn bytes_over_a_base_are_those_of_a_plain_file() {
        let original: Vec<u8> = (0..50_000_u32).map(|it| (it % 251) as u8).collect();
        let base = base(&original);
        let mut state = 7_u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % below
        };
        for _ in 0..50 {
            let (mut plain, mut layered) =
                (Bytes::Own(original.clone()), Bytes::from(base.clone()));
            for _ in 0..12 {
                match random(3) {
                    0 => {
                        let length = random(60_000) as usize;
                        plain.resize(length);
                        layered.resize(length);
                    }
                    _ => {
                        let (offset, length) = (random(55_000), random(9_000) as usize);
                        let written = vec![random(256) as u8; length];
                        plain.write(offset, &written);
                        layered.write(offset, &written);
                    }
                }
                assert_eq!(layered.to_vec(), plain.to_vec());
                assert_eq!(layered, plain);
                let (old, length) =
                    (random(plain.len() as u64 + 1) as usize, random(60_000) as usize);
                let old = old.min(length);
                assert_eq!(layered.beginning(old, length), plain.beginning(old, length));
            }
        }
    }

    #[test]
    fn what_is_written_back_as_it_was_is_no_change() {
        let base = base(&[3; 3 * BLOCK]);
        let mut bytes = Bytes::from(base.clone());
        let untouched = bytes.digest();
        bytes.write(BLOCK as u64, &[4; BLOCK]);
        assert_eq!(bytes.changed().map(|it| it.number).collect::<Vec<_>>(), [1]);
        assert_ne!(bytes.digest(), untouched);
        bytes.write(BLOCK as u64, &[3; BLOCK]);
        assert_eq!((bytes.changed().count(), bytes.digest()), (0, untouched));
        // Cut off and extended again, the end is zeros.
        bytes.resize(2 * BLOCK);
        bytes.resize(3 * BLOCK);
        assert_eq!(bytes.changed().map(|it| it.number).collect::<Vec<_>>(), [2]);
        let mut written = Vec::new();
        bytes.write_to(&mut written).expect("writes");
        assert_eq!(written, bytes.to_vec());
    }
}

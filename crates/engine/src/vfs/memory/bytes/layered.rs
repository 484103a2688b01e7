//! Changed blocks over a base.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use twox_hash::XxHash3_64;

use super::{BLOCK, Block, Changed};

/// A file that is only read. It must not change as long as anything is above it.
#[derive(Debug)]
pub struct Base {
    path: PathBuf,
    file: File,
    length: u64,
}

impl Base {
    /// Opens a file.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn open(path: &Path) -> io::Result<Base> {
        let file = File::open(path)?;
        let length = file.metadata()?.len();
        Ok(Base { path: path.to_owned(), file, length })
    }

    /// Where it was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its size in bytes.
    pub fn len(&self) -> u64 {
        self.length
    }

    /// Returns whether it has no bytes.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Returns a block, with zeros after the end of the file.
    pub(super) fn block(&self, number: u64) -> Block {
        let mut block = [0; BLOCK];
        self.read(number * BLOCK as u64, &mut block);
        block
    }

    /// Reads from `offset` on; after the end there are zeros.
    ///
    /// # Panics
    /// If the file could be opened and cannot be read any more, after which nothing that is above it makes sense.
    fn read(&self, offset: u64, buffer: &mut [u8]) {
        let there = self.length.saturating_sub(offset).min(buffer.len() as u64) as usize;
        self.file.read_exact_at(&mut buffer[..there], offset).expect("a base stays readable");
        buffer[there..].fill(0);
    }

    fn blocks(&self) -> u64 {
        self.length.div_ceil(BLOCK as u64)
    }
}

/// The bytes of a base with changed blocks. What no block holds is as in the base, with zeros after its end.
#[derive(Debug, Clone)]
pub struct Layered {
    pub(super) base: Arc<Base>,
    length: u64,
    blocks: BTreeMap<u64, Arc<Own>>,
}

/// A block of its own.
#[derive(Debug)]
struct Own {
    bytes: Block,
    hash: u64,
    /// The hash of this block in the base.
    before: u64,
}

/// Returns the blocks that this number of bytes touches.
fn blocks(length: u64) -> u64 {
    length.div_ceil(BLOCK as u64)
}

impl Layered {
    pub(super) fn new(base: Arc<Base>) -> Layered {
        Layered { length: base.length, base, blocks: BTreeMap::new() }
    }

    pub(super) fn len(&self) -> u64 {
        self.length
    }

    pub(super) fn read(&self, offset: u64, buffer: &mut [u8]) -> usize {
        let there = self.length.saturating_sub(offset).min(buffer.len() as u64) as usize;
        let mut done = 0;
        while done < there {
            let at = offset + done as u64;
            let (number, within) = (at / BLOCK as u64, (at % BLOCK as u64) as usize);
            let part = (BLOCK - within).min(there - done);
            let target = &mut buffer[done..done + part];
            match self.blocks.get(&number) {
                Some(block) => target.copy_from_slice(&block.bytes[within..within + part]),
                None => self.base.read(at, target),
            }
            done += part;
        }
        there
    }

    pub(super) fn write(&mut self, offset: u64, written: &[u8]) {
        let end = offset + written.len() as u64;
        if end > self.length {
            self.resize(end);
        }
        let mut done = 0;
        while done < written.len() {
            let at = offset + done as u64;
            let (number, within) = (at / BLOCK as u64, (at % BLOCK as u64) as usize);
            let part = (BLOCK - within).min(written.len() - done);
            let mut bytes = match part {
                BLOCK => [0; BLOCK],
                _ => self.block(number),
            };
            bytes[within..within + part].copy_from_slice(&written[done..done + part]);
            self.set(number, bytes);
            done += part;
        }
    }

    pub(super) fn resize(&mut self, length: u64) {
        if length < self.length {
            self.blocks.split_off(&blocks(length));
            let rest = (length % BLOCK as u64) as usize;
            if rest > 0 {
                let number = length / BLOCK as u64;
                let mut bytes = self.block(number);
                bytes[rest..].fill(0);
                self.set(number, bytes);
            }
        } else {
            // What was cut off does not come back: the file has zeros there.
            for number in blocks(self.length)..blocks(length).min(self.base.blocks()) {
                self.set(number, [0; BLOCK]);
            }
        }
        self.length = length;
    }

    fn block(&self, number: u64) -> Block {
        match self.blocks.get(&number) {
            Some(block) => block.bytes,
            None => self.base.block(number),
        }
    }

    fn set(&mut self, number: u64, bytes: Block) {
        let before = match self.blocks.get(&number) {
            Some(block) => block.before,
            None => XxHash3_64::oneshot(&self.base.block(number)),
        };
        let hash = XxHash3_64::oneshot(&bytes);
        let block = Own { bytes, hash, before };
        self.blocks.insert(number, Arc::new(block));
    }

    pub(super) fn changed(&self) -> impl Iterator<Item = Changed<'_>> {
        let differing = |(_, block): &(&u64, &Arc<Own>)| block.hash != block.before;
        self.blocks.iter().filter(differing).map(|(number, block)| {
            let begin = number * BLOCK as u64;
            let there = (self.length - begin).min(BLOCK as u64) as usize;
            Changed { number: *number, bytes: &block.bytes[..there], hash: block.hash }
        })
    }
}

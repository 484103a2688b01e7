//! Memory for pages, aligned as direct I/O demands, used again after each flush.

/// Alignment of memory, offsets and lengths that every disk and file system takes for direct I/O.
pub(super) const ALIGNMENT: usize = 4_096;

/// Pages that follow one another in memory.
pub(super) struct Buffer {
    memory: Vec<u8>,
    /// Where the aligned part begins.
    start: usize,
    page_size: usize,
    pub(super) pages: usize,
}

impl Buffer {
    /// Room for some pages; it grows when they do not suffice.
    pub(super) fn new(page_size: usize, pages: usize) -> Buffer {
        let (memory, start) = aligned(page_size * pages);
        Buffer { memory, start, page_size, pages: 0 }
    }

    /// Returns a copy of one page, to be written elsewhere.
    pub(super) fn of_page(bytes: &[u8]) -> Buffer {
        let mut buffer = Buffer::new(bytes.len(), 1);
        let index = buffer.add();
        buffer.page(index).copy_from_slice(bytes);
        buffer
    }

    /// Adds a page and returns its index; what it holds is not defined.
    pub(super) fn add(&mut self) -> usize {
        let needed = (self.pages + 1) * self.page_size;
        if self.start + needed > self.memory.len() {
            let (mut memory, start) = aligned(2 * needed);
            let used = self.pages * self.page_size;
            memory[start..start + used].copy_from_slice(self.bytes());
            self.memory = memory;
            self.start = start;
        }
        self.pages += 1;
        self.pages - 1
    }

    #[inline]
    pub(super) fn page(&mut self, index: usize) -> &mut [u8] {
        let at = self.start + index * self.page_size;
        &mut self.memory[at..at + self.page_size]
    }

    /// Returns the bytes of all pages.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.memory[self.start..self.start + self.pages * self.page_size]
    }

    /// Writes a number into the page at this index, at this place.
    pub(super) fn put_u32(&mut self, index: usize, at: usize, value: u32) {
        self.page(index)[at..at + 4].copy_from_slice(&value.to_be_bytes());
    }

    /// Forgets the pages and keeps the memory, unless a huge row has made it much larger than `usual`
    /// pages.
    pub(super) fn clear(&mut self, usual: usize) {
        self.pages = 0;
        if self.memory.len() > 8 * usual * self.page_size + ALIGNMENT {
            (self.memory, self.start) = aligned(usual * self.page_size);
        }
    }
}

/// Returns memory with at least this many bytes behind an aligned place, and the place.
fn aligned(length: usize) -> (Vec<u8>, usize) {
    let memory = vec![0; length + ALIGNMENT];
    let address = memory.as_ptr() as usize;
    (memory, address.next_multiple_of(ALIGNMENT) - address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_stay_aligned_and_keep_their_bytes_while_the_buffer_grows() {
        let mut buffer = Buffer::new(4_096, 1);
        for index in 0..100 {
            assert_eq!(buffer.add(), index);
            buffer.page(index).fill(index as u8);
        }
        assert_eq!(buffer.bytes().as_ptr() as usize % ALIGNMENT, 0);
        assert!(
            buffer
                .bytes()
                .chunks(4_096)
                .enumerate()
                .all(|(n, page)| page.iter().all(|b| *b == n as u8))
        );
        buffer.clear(1);
        assert_eq!((buffer.pages, buffer.bytes().len()), (0, 0));
    }
}

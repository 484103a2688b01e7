//! Where bytes of a few kinds stand, 64 bytes at a time.
//!
//! Fields of a CSV file are short, so that looking for the end of each (as `memchr` does) costs more than
//! the field. Comparing 64 bytes at once gives one bit for each, and walking over bits costs almost
//! nothing (Langdale and Lemire, "Parsing gigabytes of JSON per second", 2019).

use wide::u8x64;

/// Bytes compared at once.
const WIDTH: usize = 64;

/// The places of all bytes that are one of `N`, ascending.
pub(super) struct Marks<'b, const N: usize> {
    bytes: &'b [u8],
    wanted: [u8x64; N],
    /// Where the bytes begin that `bits` stands for.
    base: usize,
    /// One bit for each at that has not been given yet.
    bits: u64,
}

impl<'b, const N: usize> Marks<'b, N> {
    pub(super) fn new(bytes: &'b [u8], wanted: [u8; N]) -> Marks<'b, N> {
        let mut marks = Marks { bytes, wanted: wanted.map(u8x64::splat), base: 0, bits: 0 };
        marks.look();
        marks
    }

    /// Compares the bytes from `base` on.
    #[inline]
    fn look(&mut self) {
        let rest = &self.bytes[self.base.min(self.bytes.len())..];
        self.bits = match rest.first_chunk::<WIDTH>() {
            Some(chunk) => self.compare(chunk),
            None => {
                let mut chunk = [0; WIDTH];
                chunk[..rest.len()].copy_from_slice(rest);
                // What lies behind the end may be a byte that is looked for.
                self.compare(&chunk) & ((1_u64 << rest.len()) - 1)
            }
        };
    }

    #[inline]
    fn compare(&self, chunk: &[u8; WIDTH]) -> u64 {
        let chunk = u8x64::new(*chunk);
        self.wanted.iter().fold(0, |bits, wanted| bits | chunk.simd_eq(*wanted).to_bitmask())
    }
}

impl<const N: usize> Iterator for Marks<'_, N> {
    type Item = usize;

    // Called for each field: a call would cost as much as what it does.
    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        while self.bits == 0 {
            self.base += WIDTH;
            if self.base >= self.bytes.len() {
                // Stays behind the end, however often it is called.
                self.base = self.bytes.len();
                return None;
            }
            self.look();
        }
        let at = self.base + self.bits.trailing_zeros() as usize;
        self.bits &= self.bits - 1;
        Some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_places_are_those_that_a_plain_search_finds(
            bytes in prop::collection::vec(0_u8..6, 0..300),
        ) {
            let found: Vec<usize> = Marks::new(&bytes, [0, 3]).collect();
            let known: Vec<usize> = (0..bytes.len()).filter(|at| [0, 3].contains(&bytes[*at])).collect();
            prop_assert_eq!(found, known);
        }
    }

    #[test]
    fn nothing_is_found_in_nothing() {
        let mut marks = Marks::new(&[], [0]);
        assert_eq!((marks.next(), marks.next()), (None, None));
    }
}

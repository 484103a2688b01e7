//! Texts of one length.

use lab::seed::Seed;

/// Characters kept in memory, from which texts are cut: more than the caches of one core hold, so
/// that reading them costs about what reading an application's data costs, and far less than the
/// texts of a large table would need.
const POOL: usize = 16 << 20;

/// Any number of texts of `length` characters, all ASCII letters and digits; they begin to repeat
/// when they have used up 16 MiB.
#[derive(Clone, Debug)]
pub struct Texts {
    pool: String,
    length: usize,
}

impl Texts {
    /// Texts of `length` characters, at least one.
    pub fn generate(length: usize, seed: Seed) -> Texts {
        let mut generator = seed.child("texts").generator();
        let mut pool = String::with_capacity(POOL.max(length));
        // Ten characters of six bits from each draw; 62 and 63 stand for two letters once more.
        while pool.len() < POOL.max(length) {
            let mut bits = generator.next_u64();
            for _ in 0..10 {
                pool.push(char::from(CHARACTERS[(bits & 63) as usize]));
                bits >>= 6;
            }
        }
        Texts { pool, length }
    }

    /// Returns the text of this number.
    #[inline]
    pub fn text(&self, number: usize) -> &str {
        let from = number % (self.pool.len() / self.length) * self.length;
        &self.pool[from..from + self.length]
    }
}

const CHARACTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789ae";

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn texts_have_their_length_and_differ_and_repeat_for_a_seed() {
        let texts = Texts::generate(16, Seed(1));
        let some: HashSet<&str> = (0..1_000).map(|number| texts.text(number)).collect();
        assert_eq!(some.len(), 1_000);
        assert!(some.iter().all(|text| text.len() == 16));
        assert_eq!(texts.text(7), Texts::generate(16, Seed(1)).text(7));
        assert_ne!(texts.text(7), Texts::generate(16, Seed(2)).text(7));
        assert_eq!(texts.text(usize::MAX).len(), 16);
    }

    #[test]
    fn a_text_may_be_longer_than_the_pool() {
        let texts = Texts::generate(POOL + 3, Seed(1));
        assert_eq!(texts.text(1).len(), POOL + 3);
    }
}

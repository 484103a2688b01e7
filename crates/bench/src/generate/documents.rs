//! A batch of rows of text columns, in one piece of memory that is filled again and again.
//!
//! Texts of one length.

use lab::seed::Seed;

/// Rows of a fixed number of text columns. A field without a character counts as NULL.
#[derive(Clone, Debug)]
pub struct Documents {
    letters: String,
    /// Where each field ends, row after row.
    ends: Vec<usize>,
    /// Columns of a row.
    pub columns: usize,
}

impl Documents {
    /// Returns no rows yet, for rows of this number of columns (at least one).
    pub fn new(columns: usize) -> Documents {
        Documents { letters: String::new(), ends: Vec::new(), columns }
    }

    /// Forgets the rows and keeps the memory.
    pub fn clear(&mut self) {
        self.letters.clear();
        self.ends.clear();
    }

    /// Returns the text to which the next field is appended; [`Documents::end_field`] ends it.
    #[inline]
    pub fn letters(&mut self) -> &mut String {
        &mut self.letters
    }

    /// Ends a field, which is the text appended since the last end.
    #[inline]
    pub fn end_field(&mut self) {
        self.ends.push(self.letters.len());
    }

    /// Appends a field.
    pub fn push_field(&mut self, text: &str) {
        self.letters.push_str(text);
        self.end_field();
    }

    /// Whole rows.
    #[inline]
    pub fn rows(&self) -> usize {
        self.ends.len() / self.columns
    }

    /// Returns bytes of all fields.
    pub fn bytes(&self) -> usize {
        self.letters.len()
    }

    /// Returns a field, or `None` if it is empty.
    #[inline]
    pub fn field(&self, row: usize, column: usize) -> Option<&str> {
        let number = row * self.columns + column;
        let from = match number {
            0 => 0,
            _ => self.ends[number - 1],
        };
        let text = &self.letters[from..self.ends[number]];
        (!text.is_empty()).then_some(text)
    }
}

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
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn fields_are_found_again_and_empty_ones_are_none() {
        let mut documents = Documents::new(2);
        for field in ["a", "", "bé", "c"] {
            documents.push_field(field);
        }
        assert_eq!((documents.rows(), documents.bytes()), (2, 5));
        assert_eq!(documents.field(0, 0), Some("a"));
        assert_eq!(documents.field(0, 1), None);
        assert_eq!(documents.field(1, 0), Some("bé"));
        assert_eq!(documents.field(1, 1), Some("c"));
        documents.clear();
        assert_eq!(documents.rows(), 0);
    }

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

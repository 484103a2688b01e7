//! Other words in the place of words: of the same length and kind, the same for the same.
//!
//! Letters become letters of the same case and digits become digits, word by word, so that texts keep their lengths,
//! their patterns and the words that they share: joins, full-text search, unique columns and statistics of indexes work
//! as before. Words of ASCII are encrypted by a Feistel network over all words of their form (format-preserving
//! encryption with cycle walking: Black and Rogaway, "Ciphers with Arbitrary Finite Domains", 2002), so that two
//! different ones stay different. The key is random and kept nowhere.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;

use serde::de::IgnoredAny;

/// Characters of a word that are encrypted together: 26^12 fits into 64 bits.
const CHUNK: usize = 12;

/// Rounds of the Feistel network; with four it is a strong pseudorandom permutation (Luby and Rackoff, 1988).
const ROUNDS: u32 = 6;

/// Replaces words, with a key of its own.
#[derive(Clone, Debug, Default)]
pub struct Disguise {
    key: RandomState,
}

impl Disguise {
    /// Returns the text with other words. Dates and times stay, and so do the keys and the form of JSON.
    pub fn text(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        if is_json(text) {
            self.json(text, &mut out);
        } else {
            self.words(text, &mut out);
        }
        out
    }

    /// Other bytes, as many.
    pub fn blob(&self, bytes: &[u8]) -> Vec<u8> {
        let of = |block: usize| self.key.hash_one((bytes, block)).to_le_bytes();
        (0..bytes.len().div_ceil(8)).flat_map(of).take(bytes.len()).collect()
    }

    fn words(&self, text: &str, out: &mut String) {
        if is_time(text) {
            return out.push_str(text);
        }
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let is_word = first.is_alphanumeric();
            let end = rest.find(|c: char| c.is_alphanumeric() != is_word);
            let (piece, after) = rest.split_at(end.unwrap_or(rest.len()));
            if is_word {
                self.word(piece, out)
            } else {
                out.push_str(piece)
            }
            rest = after;
        }
    }

    fn word(&self, word: &str, out: &mut String) {
        if !word.is_ascii() {
            return self.hashed(word, out);
        }
        for (number, chunk) in word.as_bytes().chunks(CHUNK).enumerate() {
            self.encrypted(number, chunk, out);
        }
    }

    /// A part of a word of ASCII.
    fn encrypted(&self, number: usize, chunk: &[u8], out: &mut String) {
        let form: Vec<(u8, u64)> = chunk.iter().map(|byte| alphabet(*byte)).collect();
        let size = form.iter().map(|(_, radix)| radix).product();
        let value = chunk.iter().zip(&form);
        let value =
            value.fold(0, |sum, (byte, (first, radix))| sum * radix + u64::from(byte - first));
        let mut value = self.permuted(value, size, (number, &form));
        let mut letters = Vec::with_capacity(chunk.len());
        for (first, radix) in form.iter().rev() {
            letters.push(char::from(first + (value % radix) as u8));
            value /= radix;
        }
        out.extend(letters.iter().rev());
    }

    /// Another number below `size`; different ones for different numbers of the same `form`.
    fn permuted(&self, value: u64, size: u64, form: (usize, &[(u8, u64)])) -> u64 {
        let half = (u64::BITS - (size - 1).leading_zeros()).div_ceil(2).max(1);
        let mask = (1 << half) - 1;
        let mut value = value;
        loop {
            let (mut left, mut right) = (value >> half, value & mask);
            for round in 0..ROUNDS {
                let mixed = self.key.hash_one((round, right, form)) & mask;
                (left, right) = (right, left ^ mixed);
            }
            value = left << half | right;
            if value < size {
                return value;
            }
        }
    }

    /// A word with other letters, each of as many bytes as before. Two words may become the same.
    fn hashed(&self, word: &str, out: &mut String) {
        for (number, letter) in word.chars().enumerate() {
            // Letters that take as many bytes in UTF-8: of ASCII, Cyrillic and Han.
            let (first, count) = match letter.len_utf8() {
                1 => {
                    let (first, count) = alphabet(letter as u8);
                    (u32::from(first), count)
                }
                2 => (0x430, 32),
                3 => (0x4e00, 4_096),
                _ => (0x2_0000, 4_096),
            };
            let index = self.key.hash_one((word, number)) % count;
            out.extend(char::from_u32(first + index as u32));
        }
    }

    /// Replaces the texts of JSON, but not its keys.
    fn json(&self, text: &str, out: &mut String) {
        let mut rest = text;
        while let Some(start) = rest.find('"') {
            let inner = &rest[start + 1..];
            let end = end_of_string(inner);
            let (inner, after) = inner.split_at(end);
            out.push_str(&rest[..=start]);
            if after[1..].trim_start().starts_with(':') {
                out.push_str(inner)
            } else {
                self.json_string(inner, out)
            }
            out.push('"');
            rest = &after[1..];
        }
        out.push_str(rest);
    }

    /// Replaces the inside of the quotes; escaped characters stay.
    fn json_string(&self, inner: &str, out: &mut String) {
        let mut rest = inner;
        while let Some(start) = rest.find('\\') {
            self.words(&rest[..start], out);
            let length = if rest[start..].starts_with("\\u") { 6 } else { 2 };
            let (escape, after) = rest[start..].split_at(length);
            out.push_str(escape);
            rest = after;
        }
        self.words(rest, out);
    }
}

/// Returns the first of the characters that are like one, and how many they are.
fn alphabet(byte: u8) -> (u8, u64) {
    match byte {
        b'0'..=b'9' => (b'0', 10),
        b'A'..=b'Z' => (b'A', 26),
        _ => (b'a', 26),
    }
}

fn is_json(text: &str) -> bool {
    text.trim_start().starts_with(['{', '[']) && serde_json::from_str::<IgnoredAny>(text).is_ok()
}

/// Returns where a string of JSON ends, which is known to end.
fn end_of_string(inner: &str) -> usize {
    let mut escaped = false;
    let end = inner.bytes().position(|byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    });
    end.unwrap_or(inner.len())
}

/// Returns whether a text is a date or a time as SQLite's functions read them
/// (<https://sqlite.org/lang_datefunc.html>).
fn is_time(text: &str) -> bool {
    let form: String = text.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    let date = form.strip_prefix("0000-00-00");
    let time = date.map_or(form.as_str(), |rest| rest.trim_start_matches(['T', ' ']));
    let rest = time.strip_prefix("00:00").map(|rest| rest.strip_prefix(":00").unwrap_or(rest));
    match rest {
        None => date == Some(""),
        Some(rest) => rest.chars().all(|c| "0.:+-Z ".contains(c)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn form(text: &str) -> Vec<(usize, bool)> {
        let of = |it: char| (it.len_utf8(), it.is_alphanumeric());
        text.chars().map(of).collect()
    }

    #[test]
    fn punctuation_dates_and_keys_of_json_stay() {
        let disguise = Disguise::default();
        for same in [
            "2024-02-29",
            "2024-02-29T12:30:00Z",
            "12:30",
            "2024-02-29 12:30:00.5+02:00",
            "",
            " -@",
        ] {
            assert_eq!(disguise.text(same), same);
        }
        let email = disguise.text("ada.lovelace@example.com");
        assert_ne!(email, "ada.lovelace@example.com");
        assert_eq!((email.find('.'), email.find('@')), (Some(3), Some(12)));
        let json = disguise.text(r#"{"name": "Ada \"A\"", "born": "1815-12-10", "tags": ["x1"]}"#);
        assert!(json.starts_with(r#"{"name": ""#) && json.contains(r#""born": "1815-12-10""#));
        assert!(!json.contains("Ada") && is_json(&json), "{json}");
    }

    #[test]
    fn all_short_words_stay_different() {
        let disguise = Disguise::default();
        let mut others: Vec<String> = Vec::new();
        for first in 'a'..='z' {
            for second in 'a'..='z' {
                others.push(disguise.text(&format!("{first}{second}")));
            }
        }
        others.sort();
        others.dedup();
        assert_eq!(others.len(), 26 * 26);
    }

    #[test]
    fn blobs_keep_their_lengths() {
        let disguise = Disguise::default();
        for length in [0, 1, 8, 9, 100] {
            assert_eq!(disguise.blob(&vec![7; length]).len(), length);
        }
        assert_eq!(disguise.blob(b"same"), disguise.blob(b"same"));
        assert_ne!(disguise.blob(b"one word"), b"one word");
    }

    proptest! {
        #[test]
        fn texts_keep_their_form_and_the_same_become_the_same(text in "\\PC{0,40}") {
            let disguise = Disguise::default();
            let other = disguise.text(&text);
            prop_assert_eq!(form(&other), form(&text));
            prop_assert_eq!(disguise.text(&text), other);
        }

        #[test]
        fn different_words_of_ascii_stay_different(one in "[a-zA-Z0-9]{1,30}", two in "[a-zA-Z0-9]{1,30}") {
            let disguise = Disguise::default();
            prop_assert_eq!(disguise.text(&one) == disguise.text(&two), one == two);
        }
    }
}

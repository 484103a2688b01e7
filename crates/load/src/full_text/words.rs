//! The words of some rows, each once and in order, with its rows and positions as FTS5 writes them.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};

use super::segment::Leaves;
use crate::pages::varint;

/// The byte before each term of FTS5's index of whole words.
const WHOLE: u8 = b'0';

/// Words with their places, as texts are divided.
#[derive(Default)]
pub(super) struct Words {
    /// The letters of words that are longer than [`Word::first`].
    letters: Vec<u8>,
    /// Words by the hash of their letters.
    known: HashTable<Word>,
    hasher: DefaultHashBuilder,
    /// The number of the word at each place.
    words: Vec<u32>,
    places: Vec<Occurrence>,
}

/// A place of a word: the number of its row and of its column, and how many words are before it there.
#[derive(Clone, Copy, Default)]
pub(super) struct Occurrence {
    pub(super) row: u32,
    pub(super) column: u32,
    pub(super) position: u32,
}

/// A word: its first eight letters, and where all of them are if they are more.
#[derive(Clone, Copy)]
struct Word {
    first: [u8; 8],
    start: u32,
    length: u32,
    /// Its number in the order in which words came.
    number: u32,
}

impl Word {
    fn letters<'w>(&'w self, letters: &'w [u8]) -> &'w [u8] {
        let length = self.length as usize;
        let rest = || &letters[self.start as usize..][..length];
        self.first.get(..length).unwrap_or_else(rest)
    }

    /// Compares with another word. Most differ in the first letters.
    fn cmp(&self, other: &Word, letters: &[u8]) -> Ordering {
        let first = |word: &Word| u64::from_be_bytes(word.first);
        let rest = || self.letters(letters).cmp(other.letters(letters));
        first(self).cmp(&first(other)).then_with(rest)
    }

    fn is(&self, word: &[u8], first: u64, letters: &[u8]) -> bool {
        u64::from_be_bytes(self.first) == first
            && self.length as usize == word.len()
            && (word.len() <= 8 || self.letters(letters) == word)
    }

    fn hash(&self, hasher: &DefaultHashBuilder, letters: &[u8]) -> u64 {
        hash(hasher, u64::from_be_bytes(self.first), self.letters(letters))
    }
}

/// Returns the first eight letters as a number that orders as they do.
fn first(word: &[u8]) -> u64 {
    match word.first_chunk() {
        Some(first) => u64::from_be_bytes(*first),
        // Without a copy of a few bytes, which would have to reach the memory before eight are read from there.
        None => (0..8).fold(0, |first, at| first << 8 | u64::from(*word.get(at).unwrap_or(&0))),
    }
}

fn hash(hasher: &DefaultHashBuilder, first: u64, word: &[u8]) -> u64 {
    if word.len() <= 8 { hasher.hash_one(first) } else { hasher.hash_one(word) }
}

impl Words {
    /// Notes a word at a place behind the last one.
    pub(super) fn add(&mut self, word: &[u8], place: Occurrence) {
        let Words { letters, known, hasher, .. } = self;
        let first = first(word);
        let hash = hash(hasher, first, word);
        let number = match known.find(hash, |known| known.is(word, first, letters)) {
            Some(known) => known.number,
            None => {
                let (number, start) = (known.len() as u32, letters.len() as u32);
                if word.len() > 8 {
                    letters.extend_from_slice(word);
                }
                let (first, length) = (first.to_be_bytes(), word.len() as u32);
                let new = Word { first, start, length, number };
                known.insert_unique(hash, new, |word| word.hash(hasher, letters));
                number
            }
        };
        self.words.push(number);
        self.places.push(place);
    }

    /// Returns the words in order, each with the list of its rows, in parts that begin with the terms of `bounds`, and forgets them.
    /// `bounds` is given terms that divide the places into as many parts as wanted, or fewer, of about the same size.
    pub(super) fn take<'b>(
        &mut self,
        rowids: &[i64],
        wanted: usize,
        bounds: impl FnOnce(Vec<Vec<u8>>) -> &'b [Vec<u8>],
    ) -> Vec<Vec<u8>> {
        let mut words: Vec<Word> = self.known.drain().collect();
        words.sort_unstable_by(|a, b| a.cmp(b, &self.letters));
        let (places, ends) = sorted(&words, &self.words, &self.places);
        let term = |word: &Word| [&[WHOLE], word.letters(&self.letters)].concat();
        let mut bounded = (1..wanted)
            .map(|part| ends.partition_point(|end| *end <= places.len() * part / wanted))
            .filter(|word| (1..words.len()).contains(word))
            .collect::<Vec<usize>>();
        bounded.dedup();
        let bounds = bounds(bounded.into_iter().map(|word| term(&words[word])).collect());
        let (mut parts, mut start) = (vec![Vec::new()], 0);
        let (mut term, mut list, mut positions) = (Vec::new(), Vec::new(), Vec::new());
        for (word, end) in words.iter().zip(ends) {
            term.clear();
            term.push(WHOLE);
            term.extend_from_slice(word.letters(&self.letters));
            while bounds.get(parts.len() - 1).is_some_and(|bound| *bound <= term) {
                parts.push(Vec::new());
            }
            list.clear();
            write_rows(&mut list, &mut positions, &places[start..end], rowids);
            start = end;
            for bytes in [&term, &list] {
                let part = parts.last_mut().expect("one is there from the beginning");
                varint::push(part, bytes.len() as u64);
                part.extend_from_slice(bytes);
            }
        }
        parts.resize_with(bounds.len() + 1, Vec::new);
        self.letters.clear();
        self.words.clear();
        self.places.clear();
        parts
    }
}

/// Returns places in the order of words, and where each word's places end, by the number of the word at each place.
fn sorted(
    words: &[Word],
    of_places: &[u32],
    places: &[Occurrence],
) -> (Vec<Occurrence>, Vec<usize>) {
    // How many places each word has, then where its next one goes.
    let mut next = vec![0; words.len()];
    of_places.iter().for_each(|word| next[*word as usize] += 1);
    let (mut ends, mut end) = (Vec::with_capacity(words.len()), 0);
    for word in words {
        let next = &mut next[word.number as usize];
        end += std::mem::replace(next, end);
        ends.push(end);
    }
    let mut sorted = vec![Occurrence::default(); places.len()];
    for (word, place) in of_places.iter().zip(places) {
        let next = &mut next[*word as usize];
        sorted[*next] = *place;
        *next += 1;
    }
    (sorted, ends)
}

/// Writes the rows of a word as FTS5 does: the differences of rowids, each followed by twice the length of the positions, and these.
fn write_rows(list: &mut Vec<u8>, positions: &mut Vec<u8>, places: &[Occurrence], rowids: &[i64]) {
    let mut before = 0;
    for places in places.chunk_by(|a, b| a.row == b.row) {
        let rowid = rowids[places[0].row as usize];
        varint::push(list, rowid.wrapping_sub(before) as u64);
        before = rowid;
        positions.clear();
        write_positions(positions, places);
        varint::push(list, 2 * positions.len() as u64);
        list.extend_from_slice(positions);
    }
}

/// Writes the places in a row as FTS5 does: the differences of positions and two, and a column behind a one.
fn write_positions(positions: &mut Vec<u8>, places: &[Occurrence]) {
    const COLUMN: u8 = 1;
    let (mut column, mut last) = (0, 0);
    for place in places {
        if place.column != column {
            positions.push(COLUMN);
            varint::push(positions, u64::from(place.column));
            (column, last) = (place.column, 0);
        }
        varint::push(positions, u64::from(place.position - last) + 2);
        last = place.position;
    }
}

/// Writes the words of parts, whose rows follow one another.
pub(super) fn leaves(parts: &[&[u8]]) -> Leaves {
    let mut rest = parts.to_vec();
    let mut next = BinaryHeap::new();
    (0..rest.len()).for_each(|part| next.extend(word_of(&mut rest, part)));
    let (mut leaves, mut last) = (Leaves::new(), None);
    while let Some(mut least) = next.peek_mut() {
        let Reverse((term, part, mut list)) = *least;
        if last != Some(term) {
            leaves.term(term);
            last = Some(term);
        }
        let mut row = 0_i64;
        while !list.is_empty() {
            row = row.wrapping_add(taken(&mut list) as i64);
            let length = taken(&mut list) as usize / 2;
            leaves.row(row, list.split_off(..length).unwrap_or_default());
        }
        match word_of(&mut rest, part) {
            Some(word) => *least = word,
            None => drop(PeekMut::pop(least)),
        }
    }
    leaves.finish()
}

/// A word of a part: its term, the number of the part and the list of its rows. The greatest one is the first in order.
type Next<'p> = Reverse<(&'p [u8], usize, &'p [u8])>;

/// Takes the next word of a part.
fn word_of<'p>(rest: &mut [&'p [u8]], part: usize) -> Option<Next<'p>> {
    let bytes = &mut rest[part];
    if bytes.is_empty() {
        return None;
    }
    let mut next = || {
        let length = taken(bytes) as usize;
        bytes.split_off(..length).unwrap_or_default()
    };
    Some(Reverse((next(), part, next())))
}

/// Takes a number from the beginning.
fn taken(bytes: &mut &[u8]) -> u64 {
    let (value, length) = varint::take(bytes);
    *bytes = &bytes[length..];
    value
}

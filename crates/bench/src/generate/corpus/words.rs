//! The language of the corpus: a vocabulary in order of frequency, and the drawing of words from it.
//!
//! It stands apart because it is the same for every seed: queries can name its words. Only
//! additions, products, quotients and square roots are used, which IEEE 754 makes the same on every
//! machine, unlike powers and logarithms.

use std::collections::HashSet;

use lab::seed::{Seed, SplitMix64};

/// Different words.
const TYPES: usize = 80_000;

/// Words that come first, in about the order of their frequency in English text on technical
/// subjects. Apostrophes are escaped, as the original data has them.
const COMMON: &str = "the to a of and i is that in it you for not on be this are with have as they \
    but if or it&#x27;s at can just so what my like an people more from we do there about your \
    would all by will one don&#x27;t was think time how get no has me than up which work some out \
    good only also their when them want even i&#x27;m because other make really much use know then \
    any way need see who very code does new could where most something into better now its these \
    well should too many over google data web same had still things being those years company \
    using lot go say software doesn&#x27;t going first few problem find great here been back \
    actually using point two why while may through that&#x27;s between before pretty right users \
    off money look every used different long take start thing such less might since site real \
    after part world never both idea down you&#x27;re system high simple easy case read bad someone \
    anything apple language business life sure best might probably help day support test own \
    enough language free change always give having hard maybe app trying microsoft working second \
    however bit write windows learn without programming true few server article mean reason open \
    fact facebook list build made power end linux video game around set person book search market \
    browser design job quite interesting called big python keep already next understand \
    startup seems run files version public user link project human interface java value \
    government price phone database matter performance month machine question feature page cost \
    hardware security memory team ruby common network story science javascript cloud learning \
    against science rust course access until engine kind model wrong stop sql compiler editor \
    product social local library tool blog developer anyone agree framework reading service \
    content computer source school email html css android type device issue standard law rules \
    optimization query index sqlite react tests tested testing";

const ONSETS: [&str; 28] = [
    "b", "br", "c", "ch", "cl", "d", "dr", "f", "fl", "g", "gr", "h", "j", "l", "m", "n", "p",
    "pl", "pr", "r", "s", "sh", "st", "t", "th", "tr", "v", "w",
];
const VOWELS: [&str; 9] = ["a", "e", "i", "o", "u", "ea", "ou", "ai", "io"];
const CODAS: [&str; 14] = ["", "", "", "n", "r", "l", "s", "t", "m", "nd", "rt", "ct", "st", "ng"];
const SUFFIXES: [&str; 6] = ["s", "ed", "ing", "er", "ly", "ation"];

/// In a hundred words beyond the common ones, those that are an earlier word with a suffix.
const DERIVED_PERCENT: u64 = 55;

/// The words by rank, from the most frequent on, and how often each comes.
pub(super) struct Words {
    /// Each word after a space.
    letters: String,
    ends: Vec<u32>,
    draw: Alias,
}

impl Words {
    pub(super) fn new() -> Words {
        let mut letters = String::new();
        let mut ends = Vec::with_capacity(TYPES);
        for word in vocabulary() {
            letters.push(' ');
            letters.push_str(&word);
            ends.push(letters.len() as u32);
        }
        let weights: Vec<f64> = (0..TYPES).map(|rank| weight(rank as f64 + 1.0)).collect();
        Words { letters, ends, draw: Alias::new(&weights) }
    }

    /// Returns a word, drawn by its frequency.
    #[inline]
    pub(super) fn draw(&self, generator: &mut SplitMix64) -> &str {
        self.word(self.draw.draw(generator))
    }

    /// Returns a word, drawn by its frequency, after a space.
    #[inline]
    pub(super) fn draw_spaced(&self, generator: &mut SplitMix64) -> &str {
        self.spaced(self.draw.draw(generator))
    }

    /// Returns the word of a rank from 0 on.
    #[inline]
    pub(super) fn word(&self, rank: usize) -> &str {
        &self.spaced(rank)[1..]
    }

    #[inline]
    fn spaced(&self, rank: usize) -> &str {
        let from = match rank {
            0 => 0,
            _ => self.ends[rank - 1] as usize,
        };
        &self.letters[from..self.ends[rank] as usize]
    }

    /// Returns a word that is nothing but letters and none of the commonest, each equally likely.
    pub(super) fn rarer(&self, generator: &mut SplitMix64) -> &str {
        const FROM: u64 = 400;
        self.word((FROM + generator.below(6_000)) as usize)
    }
}

/// Returns the frequency of a rank by Zipf and Mandelbrot: 1 / (rank + 2.7)^1.05.
fn weight(rank: f64) -> f64 {
    let x = rank + 2.7;
    1.0 / (x * twentieth_root(x))
}

/// x^0.05, whose exponent is 1/32 + 1/64 + 1/512 + 1/1024 + 1/8192 + … in halves of halves.
fn twentieth_root(x: f64) -> f64 {
    let mut root = x;
    let mut product = 1.0;
    for halving in 1..=14 {
        root = root.sqrt();
        if [5, 6, 9, 10, 13, 14].contains(&halving) {
            product *= root;
        }
    }
    product
}

fn vocabulary() -> Vec<String> {
    let mut generator = Seed(0).child("vocabulary").generator();
    let mut seen = HashSet::with_capacity(TYPES);
    let mut words = Vec::with_capacity(TYPES);
    for word in COMMON.split_ascii_whitespace() {
        if seen.insert(word.to_owned()) {
            words.push(word.to_owned());
        }
    }
    let mut stems: Vec<String> = Vec::new();
    while words.len() < TYPES {
        let derived = !stems.is_empty() && generator.below(100) < DERIVED_PERCENT;
        let word = if derived {
            let stem = &stems[generator.below(stems.len() as u64) as usize];
            format!("{stem}{}", pick(&mut generator, &SUFFIXES))
        } else {
            stem(&mut generator, words.len())
        };
        if seen.insert(word.clone()) {
            if !derived {
                stems.push(word.clone());
            }
            words.push(word);
        }
    }
    words
}

/// Returns a stem of two or three syllables; of the commoner ones most have two.
fn stem(generator: &mut SplitMix64, rank: usize) -> String {
    let long = if rank < 5_000 { 20 } else { 50 };
    let syllables = if generator.below(100) < long { 3 } else { 2 };
    let mut word = String::new();
    for _ in 0..syllables {
        word.push_str(pick(generator, &ONSETS));
        word.push_str(pick(generator, &VOWELS));
    }
    word.push_str(pick(generator, &CODAS));
    word
}

/// Returns one of these, each equally likely.
pub(super) fn pick<'a>(generator: &mut SplitMix64, from: &[&'a str]) -> &'a str {
    from[generator.below(from.len() as u64) as usize]
}

/// Draws of numbers by weight in constant time (the alias method: Walker, "An efficient method for
/// generating discrete random variables with general distributions", 1977; tables after Vose, 1991).
struct Alias {
    /// Part of a column, in 2^32nds, that belongs to its own number, and the number that the rest belongs to.
    columns: Vec<(u32, u32)>,
}

impl Alias {
    fn new(weights: &[f64]) -> Alias {
        let count = weights.len();
        let sum: f64 = weights.iter().sum();
        let mut heights: Vec<f64> = weights.iter().map(|w| w / sum * count as f64).collect();
        let mut columns = vec![(u32::MAX, 0); count];
        let (mut low, mut high): (Vec<usize>, Vec<usize>) =
            (0..count).partition(|&number| heights[number] < 1.0);
        while let (Some(&poor), Some(&rich)) = (low.last(), high.last()) {
            low.pop();
            columns[poor] = ((heights[poor] * f64::from(u32::MAX)) as u32, rich as u32);
            heights[rich] -= 1.0 - heights[poor];
            if heights[rich] < 1.0 {
                high.pop();
                low.push(rich);
            }
        }
        for number in low.into_iter().chain(high) {
            columns[number] = (u32::MAX, number as u32);
        }
        Alias { columns }
    }

    #[inline]
    fn draw(&self, generator: &mut SplitMix64) -> usize {
        let bits = generator.next_u64();
        let column = (((bits >> 32) * self.columns.len() as u64) >> 32) as usize;
        let (own, other) = self.columns[column];
        if bits as u32 <= own { column } else { other as usize }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_differ_and_the_common_ones_come_first() {
        let words = Words::new();
        let all: HashSet<&str> = (0..TYPES).map(|rank| words.word(rank)).collect();
        assert_eq!(all.len(), TYPES);
        assert_eq!((words.word(0), words.word(1)), ("the", "to"));
        assert!(all.contains("optimization"));
    }

    #[test]
    fn words_come_as_often_as_zipf_and_mandelbrot_say() {
        let words = Words::new();
        let mut generator = Seed(1).generator();
        let mut counts = vec![0_u32; TYPES];
        let draws = 1_000_000;
        for _ in 0..draws {
            counts[words.draw.draw(&mut generator)] += 1;
        }
        let sum: f64 = (1..=TYPES).map(|rank| weight(rank as f64)).sum();
        for rank in [1, 2, 10, 100, 500] {
            let wanted = weight(rank as f64) / sum * f64::from(draws);
            let found = f64::from(counts[rank - 1]);
            let error = 5.0 * wanted.sqrt();
            assert!((found - wanted).abs() < error, "{rank}: {found} {wanted}");
        }
    }

    #[test]
    fn the_twentieth_root_needs_no_powers() {
        for x in [3.7_f64, 100.0, 80_000.0] {
            assert!((twentieth_root(x) / x.powf(0.05) - 1.0).abs() < 1e-3);
        }
    }
}

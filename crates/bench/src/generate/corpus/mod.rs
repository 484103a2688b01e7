//! Rows like those of Hacker News: comments and stories with HTML, links, users and addresses.
//!
//! A row is a pure function of seed and number, so that rows are made in any order, by several
//! threads or a second time to verify the first, in memory that does not depend on their count. The
//! shares, lengths and frequencies are those measured on the original data; which words stand where
//! is chance, but for the planted terms, which make the published queries find something.
//!
//! The words are not English sentences: a tokenizer, an index and a query see frequencies, lengths,
//! stems and neighbours, and those are alike.

mod plants;
mod row;
mod words;

use std::sync::LazyLock;

use lab::seed::Seed;

use self::row::Row;
use self::words::Words;
use super::documents::Documents;

/// The columns of a row, in this order.
pub const COLUMNS: [&str; 4] = ["by", "text", "title", "url"];

choice! {
    /// The period of Hacker News that the rows resemble.
    enum Era {
        /// The first hundred thousand items, of 2007: 22 % stories, median comment 185 characters.
        Early = "early",
        /// All items until 2024: 13 % stories, median comment 215 characters.
        Full = "full",
    }
}

impl Era {
    fn story_percent(self) -> u64 {
        match self {
            Era::Early => 22,
            Era::Full => 13,
        }
    }

    fn median_comment(self) -> f64 {
        match self {
            Era::Early => 185.0,
            Era::Full => 215.0,
        }
    }
}

/// Rows of one seed.
pub struct Corpus {
    words: &'static Words,
    seed: Seed,
    era: Era,
}

/// The language, made when it is first used.
static LANGUAGE: LazyLock<Words> = LazyLock::new(Words::new);

impl Corpus {
    /// Returns the rows of this seed.
    pub fn new(seed: Seed, era: Era) -> Corpus {
        Corpus { words: &LANGUAGE, seed: seed.child("corpus"), era }
    }

    /// Adds the row of this number, from 0 on, to `documents`, which has four columns.
    pub fn write(&self, number: u64, documents: &mut Documents) {
        let row =
            &mut Row { words: self.words, generator: self.seed.nth(number).generator(), documents };
        if row.generator.below(100) < self.era.story_percent() {
            row.story(number);
        } else {
            row.comment(number, self.era.median_comment());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::row::LONGEST_TITLE;
    use super::*;

    fn documents(seed: u64, rows: u64, era: Era) -> Documents {
        let corpus = Corpus::new(Seed(seed), era);
        let mut documents = Documents::new(COLUMNS.len());
        for number in 0..rows {
            corpus.write(number, &mut documents);
        }
        documents
    }

    fn mean(values: impl Iterator<Item = usize>) -> f64 {
        let (sum, count) = values.fold((0, 0), |(sum, count), value| (sum + value, count + 1));
        sum as f64 / f64::from(count)
    }

    fn lengths(documents: &Documents, column: usize) -> Vec<usize> {
        let rows = 0..documents.rows();
        let mut lengths: Vec<usize> =
            rows.filter_map(|row| documents.field(row, column).map(str::len)).collect();
        lengths.sort_unstable();
        lengths
    }

    fn near(found: f64, wanted: f64, within: f64) {
        assert!((found / wanted - 1.0).abs() < within, "{found}, not {wanted}");
    }

    #[test]
    fn a_row_is_a_function_of_seed_and_number() {
        let all = documents(3, 50, Era::Early);
        let mut alone = Documents::new(4);
        Corpus::new(Seed(3), Era::Early).write(17, &mut alone);
        for column in 0..4 {
            assert_eq!(all.field(17, column), alone.field(0, column));
        }
        let other = documents(4, 50, Era::Early);
        assert_ne!(all.field(17, 1), other.field(17, 1));
    }

    #[test]
    fn kinds_and_lengths_are_those_of_the_original_data() {
        let documents = documents(1, 20_000, Era::Early);
        let rows = documents.rows();
        let titles = lengths(&documents, 2);
        near(titles.len() as f64 / rows as f64, 0.22, 0.06);
        near(mean(titles.iter().copied()), 46.0, 0.05);
        assert!(*titles.last().unwrap() <= LONGEST_TITLE);
        let urls = lengths(&documents, 3);
        near(urls.len() as f64 / titles.len() as f64, 0.94, 0.02);
        near(mean(urls.into_iter()), 61.0, 0.05);
        let users = lengths(&documents, 0);
        near(mean(users.iter().copied()), 8.0, 0.10);
        assert!(*users.last().unwrap() <= 15);
        let comments: Vec<usize> = (0..rows)
            .filter(|row| documents.field(*row, 2).is_none())
            .map(|row| documents.field(row, 1).unwrap().len())
            .collect();
        near(mean(comments.iter().copied()), 314.0, 0.06);
        let mut comments = comments;
        comments.sort_unstable();
        near(comments[comments.len() / 2] as f64, 190.0, 0.06);
        near(comments[comments.len() * 9 / 10] as f64, 690.0, 0.08);
        near(comments[comments.len() * 99 / 100] as f64, 1860.0, 0.12);
    }

    #[test]
    fn later_rows_have_fewer_and_longer_stories_to_comment_on() {
        let full = documents(1, 20_000, Era::Full);
        let titles = lengths(&full, 2).len() as f64;
        near(titles / full.rows() as f64, 0.13, 0.06);
    }

    #[test]
    fn users_write_by_a_power_law_and_new_ones_join() {
        let corpus = Corpus::new(Seed(1), Era::Early);
        let users = |rows: std::ops::Range<u64>| {
            let mut documents = Documents::new(4);
            let mut counts = std::collections::HashMap::<String, u32>::new();
            for number in rows {
                documents.clear();
                corpus.write(number, &mut documents);
                *counts.entry(documents.field(0, 0).unwrap().to_owned()).or_default() += 1;
            }
            counts
        };
        let early = users(0..20_000);
        assert!((4_000..8_000).contains(&early.len()), "{}", early.len());
        // The first of n users of whom ranks are cubes writes n^(-1/3) of all rows.
        let most = *early.values().max().unwrap();
        assert!((600..1_600).contains(&most), "{most}");
        assert!(users(40_000_000..40_020_000).len() > early.len());
    }
}

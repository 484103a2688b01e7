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
mod words;

use std::sync::LazyLock;

use lab::seed::{Seed, SplitMix64};

use self::plants::Plant;
use self::words::{Words, pick};
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

/// Users among the first hundred thousand rows; beyond, one more joins every forty rows.
const FIRST_USERS: u64 = 9_000;
const FIRST_ROWS: u64 = 100_000;
const ROWS_PER_USER: u64 = 40;

/// The shortest and the longest comment aimed at, in bytes.
const COMMENT_LENGTHS: (f64, f64) = (12.0, 8_000.0);

/// The longest title, in bytes.
const LONGEST_TITLE: usize = 80;

/// Words that are no plain words, in 100 000.
const LINKS: u64 = 300;
const NUMBERS: u64 = 1_200;
const ITALICS: u64 = 700;
const QUOTES: u64 = 800;
const ACCENTED: u64 = 60;
const CJK: u64 = 15;
const ODD: u64 = LINKS + NUMBERS + ITALICS + QUOTES + ACCENTED + CJK;
/// Commas before words, in as many.
const COMMAS: u64 = 4_500;
const WORDS: u64 = 100_000;

/// Sites that are linked to.
const SITES: u64 = 20_000;

const NAME_ENDS: [&str; 8] = ["1", "2", "7", "42", "99", "2007", "x", "_"];

/// With one diacritic a letter, and with two, which `remove_diacritics 1` leaves as they are. Queries
/// of the class `accented` ask for two of them.
const ACCENTED_WORDS: [&str; 16] = [
    "café",
    "naïve",
    "résumé",
    "déjà",
    "Zürich",
    "façade",
    "über",
    "señor",
    "São",
    "Müller",
    "piñata",
    "coöperate",
    "Việt",
    "Nguyễn",
    "phở",
    "Erdős",
];
/// Without spaces between words, which is why unicode61 takes each for one token. Queries of the class
/// `cjk` ask for a part of one.
const CJK_WORDS: [&str; 8] = [
    "日本語",
    "東京都",
    "検索エンジン",
    "数据库",
    "全文搜索",
    "中文分词",
    "한국어",
    "데이터베이스",
];

/// Rows of one seed.
pub struct Corpus {
    words: &'static Words,
    seed: Seed,
    era: Era,
}

/// The language, made when it is first used.
static LANGUAGE: LazyLock<Words> = LazyLock::new(Words::new);

impl Corpus {
    /// The rows of this seed.
    pub fn new(seed: Seed, era: Era) -> Corpus {
        Corpus {
            words: &LANGUAGE,
            seed: seed.child("corpus"),
            era,
        }
    }

    /// Adds the row of this number, from 0 on, to `documents`, which has four columns.
    pub fn write(&self, number: u64, documents: &mut Documents) {
        let row = &mut Row {
            words: self.words,
            generator: self.seed.nth(number).generator(),
            documents,
        };
        if row.generator.below(100) < self.era.story_percent() {
            row.story(number);
        } else {
            row.comment(number, self.era.median_comment());
        }
    }
}

/// A row being written.
struct Row<'a> {
    words: &'a Words,
    generator: SplitMix64,
    documents: &'a mut Documents,
}

impl Row<'_> {
    fn comment(&mut self, number: u64, median: f64) {
        let plant = plants::COMMENTS.draw(&mut self.generator);
        self.user(number, plant);
        let length = self.lognormal(median, COMMENT_LENGTHS);
        self.prose(length, plant);
        self.documents.end_field();
        self.documents.end_field();
        self.documents.end_field();
    }

    fn story(&mut self, number: u64) {
        let plant = plants::STORIES.draw(&mut self.generator);
        self.user(number, plant);
        if self.chance(6, 100) {
            let length = self.lognormal(300.0, COMMENT_LENGTHS);
            self.prose(length, None);
            self.documents.end_field();
            self.title("Ask HN: ", plant);
            self.documents.end_field();
        } else {
            self.documents.end_field();
            self.title("", plant);
            self.documents.end_field();
            self.url();
        }
        self.documents.end_field();
    }

    #[inline]
    fn push(&mut self, text: &str) {
        self.documents.letters().push_str(text);
    }

    /// Whether something of so many in so many happens.
    #[inline]
    fn chance(&mut self, many: u64, of: u64) -> bool {
        self.generator.below(of) < many
    }

    /// A length by the lognormal distribution of σ = 1. The normal deviate is a sum of twelve
    /// uniform ones, and its exponential the limit of (1 + x/n)^n: exact arithmetic everywhere.
    fn lognormal(&mut self, median: f64, (shortest, longest): (f64, f64)) -> usize {
        let mut sum = 0;
        for _ in 0..3 {
            let bits = self.generator.next_u64();
            sum += (0..4).map(|part| bits >> (16 * part) & 0xffff).sum::<u64>();
        }
        let deviate = sum as f64 / 65_536.0 - 6.0;
        let mut power = 1.0 + deviate / f64::from(1 << 20);
        for _ in 0..20 {
            power *= power;
        }
        (median * power).clamp(shortest, longest) as usize
    }

    /// A user: low ranks write much, by the cube of a uniform number.
    fn user(&mut self, number: u64, plant: Option<Plant>) {
        if let Some(Plant::User(name)) = plant {
            self.push(name);
        } else {
            let users = FIRST_USERS + number.saturating_sub(FIRST_ROWS) / ROWS_PER_USER;
            let rank = self.cubed(users);
            self.name(rank);
        }
        self.documents.end_field();
    }

    /// The name of a user, of at most fifteen letters and digits.
    fn name(&mut self, rank: u64) {
        let generator = &mut Seed(rank).child("user").generator();
        let longest = 4 + generator.below(12) as usize;
        let word = self.words.rarer(generator);
        let letters = self.documents.letters();
        letters.push_str(&word[..word.len().min(longest)]);
        if longest < 12 && generator.below(100) < 40 {
            letters.push_str(pick(generator, &NAME_ENDS));
        }
    }

    /// Sentences of about so many bytes.
    fn prose(&mut self, length: usize, plant: Option<Plant>) {
        let until = self.documents.letters().len() + length;
        let mut within = None;
        match plant {
            Some(Plant::Start(term)) => {
                self.push(term);
                self.push(" ");
            }
            Some(Plant::Within(term)) => within = Some(term),
            _ => {}
        }
        loop {
            self.sentence(until);
            if let Some(term) = within.take() {
                self.push(" ");
                self.push(term);
            }
            self.push(".");
            if self.documents.letters().len() >= until {
                return;
            }
            let paragraph = self.chance(18, 100);
            self.push(if paragraph { "<p>" } else { " " });
        }
    }

    /// Words until the sentence or the text is long enough.
    fn sentence(&mut self, until: usize) {
        let words = 5 + self.generator.below(18);
        self.capitalised();
        for _ in 1..words {
            if self.documents.letters().len() >= until {
                return;
            }
            let roll = self.generator.below(WORDS);
            if roll < COMMAS {
                self.push(",");
            }
            if roll >= WORDS - ODD {
                self.push(" ");
                self.odd(WORDS - 1 - roll);
            } else {
                let letters = self.documents.letters();
                letters.push_str(self.words.draw_spaced(&mut self.generator));
            }
        }
    }

    fn capitalised(&mut self) {
        let word = self.words.draw(&mut self.generator);
        let letters = self.documents.letters();
        letters.push(char::from(word.as_bytes()[0].to_ascii_uppercase()));
        letters.push_str(&word[1..]);
    }

    /// What is not a plain word, by a number below [`ODD`].
    #[cold]
    fn odd(&mut self, roll: u64) {
        let mut bound = 0;
        let mut falls = |share| {
            bound += share;
            roll < bound
        };
        if falls(LINKS) {
            self.link();
        } else if falls(NUMBERS) {
            self.number();
        } else if falls(ITALICS) {
            self.wrapped("<i>", "</i>");
        } else if falls(QUOTES) {
            self.wrapped("&quot;", "&quot;");
        } else if falls(ACCENTED) {
            let word = pick(&mut self.generator, &ACCENTED_WORDS);
            self.push(word);
        } else {
            let word = pick(&mut self.generator, &CJK_WORDS);
            self.push(word);
        }
    }

    fn wrapped(&mut self, before: &str, after: &str) {
        self.push(before);
        self.capitalised();
        self.push(" ");
        let letters = self.documents.letters();
        letters.push_str(self.words.draw(&mut self.generator));
        self.push(after);
    }

    fn number(&mut self) {
        let digits = 1 + self.generator.below(4) as u32;
        let number = self.generator.below(10_u64.pow(digits));
        self.push(&number.to_string());
    }

    /// A link as the original data has it: escaped slashes, the address twice.
    fn link(&mut self) {
        let from = self.documents.letters().len();
        self.url();
        let address = self
            .documents
            .letters()
            .split_off(from)
            .replace('/', "&#x2F;");
        self.push("<a href=\"");
        self.push(&address);
        self.push("\" rel=\"nofollow\">");
        self.push(&address);
        self.push("</a>");
    }

    fn url(&mut self) {
        let www = self.chance(55, 100);
        self.push(if www { "http://www." } else { "http://" });
        let site = self.cubed(SITES);
        let generator = &mut Seed(site).child("site").generator();
        let letters = self.documents.letters();
        letters.push_str(self.words.rarer(generator));
        if generator.below(2) == 0 {
            letters.push_str(self.words.rarer(generator));
        }
        letters.push_str(pick(
            generator,
            &[".com", ".com", ".com", ".org", ".net", ".co.uk"],
        ));
        self.path();
    }

    fn path(&mut self) {
        if self.chance(40, 100) {
            let (year, month) = (
                2_004 + self.generator.below(4),
                1 + self.generator.below(12),
            );
            self.push(&format!("/{year}/{month:02}"));
        }
        self.push("/");
        let words = 2 + self.generator.below(5);
        for word in 0..words {
            if word > 0 {
                self.push("-");
            }
            let word = self.words.draw(&mut self.generator);
            // An escaped apostrophe is not part of an address.
            let plain = word.split('&').next().unwrap_or(word);
            self.documents.letters().push_str(plain);
        }
        if self.chance(35, 100) {
            self.push(".html");
        }
    }

    /// A title: three to eleven words, at most eighty characters.
    fn title(&mut self, kind: &str, plant: Option<Plant>) {
        let from = self.documents.letters().len();
        self.push(kind);
        let mut words = 3 + self.generator.below(5) + self.generator.below(4);
        match plant {
            Some(Plant::Start(term)) => self.push(term),
            _ => self.capitalised(),
        }
        let room = match plant {
            Some(Plant::Within(term)) => LONGEST_TITLE - term.len() - 1,
            _ => LONGEST_TITLE,
        };
        while words > 1 {
            words -= 1;
            let before = self.documents.letters().len();
            self.push(" ");
            if self.chance(45, 100) {
                self.capitalised();
            } else {
                let letters = self.documents.letters();
                letters.push_str(self.words.draw(&mut self.generator));
            }
            if self.documents.letters().len() > from + room {
                self.documents.letters().truncate(before);
                break;
            }
        }
        if let Some(Plant::Within(term)) = plant {
            self.push(" ");
            self.push(term);
        }
    }

    /// A number below `bound`, small ones more often: a uniform number's cube.
    #[inline]
    fn cubed(&mut self, bound: u64) -> u64 {
        let uniform = self.generator.next_u64() >> 32;
        let cube = (((uniform * uniform) >> 32) * uniform) >> 32;
        (cube * bound) >> 32
    }
}

#[cfg(test)]
mod tests {
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
        let mut lengths: Vec<usize> = rows
            .filter_map(|row| documents.field(row, column).map(str::len))
            .collect();
        lengths.sort_unstable();
        lengths
    }

    fn near(found: f64, wanted: f64, within: f64) {
        assert!(
            (found / wanted - 1.0).abs() < within,
            "{found}, not {wanted}"
        );
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
                *counts
                    .entry(documents.field(0, 0).unwrap().to_owned())
                    .or_default() += 1;
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

//! One row: a comment or a story, with its user, prose, title and link.

use lab::seed::{Seed, SplitMix64};

use super::plants::{self, Plant};
use super::words::{Words, pick};
use crate::generate::Documents;

/// Users among the first hundred thousand rows; beyond, one more joins every forty rows.
const FIRST_USERS: u64 = 9_000;
const FIRST_ROWS: u64 = 100_000;
const ROWS_PER_USER: u64 = 40;

/// The shortest and the longest comment aimed at, in bytes.
const COMMENT_LENGTHS: (f64, f64) = (12.0, 8_000.0);

/// The longest title, in bytes.
pub(super) const LONGEST_TITLE: usize = 80;

/// Frequencies of things other than plain words, in 100 000.
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
    "café", "naïve", "résumé", "déjà", "Zürich", "façade", "über", "señor", "São", "Müller",
    "piñata", "coöperate", "Việt", "Nguyễn", "phở", "Erdős",
];
/// Without spaces between words, which is why unicode61 takes each for one token. Queries of the class
/// `cjk` ask for a part of one.
const CJK_WORDS: [&str; 8] = [
    "日本語", "東京都", "検索エンジン", "数据库", "全文搜索", "中文分词", "한국어", "데이터베이스",
];

/// A row being written.
pub(super) struct Row<'a> {
    pub(super) words: &'a Words,
    pub(super) generator: SplitMix64,
    pub(super) documents: &'a mut Documents,
}

impl Row<'_> {
    pub(super) fn comment(&mut self, number: u64, median: f64) {
        let plant = plants::COMMENTS.draw(&mut self.generator);
        self.user(number, plant);
        let length = self.lognormal(median, COMMENT_LENGTHS);
        self.prose(length, plant);
        self.documents.end_field();
        self.documents.end_field();
        self.documents.end_field();
    }

    pub(super) fn story(&mut self, number: u64) {
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

    /// Draws whether an event of this probability happens.
    #[inline]
    fn chance(&mut self, many: u64, of: u64) -> bool {
        self.generator.below(of) < many
    }

    /// Returns a length by the lognormal distribution of σ = 1. The normal deviate is a sum of twelve uniform ones, and
    /// its exponential the limit of (1 + x/n)^n: exact arithmetic everywhere.
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

    /// Appends sentences of about this number of bytes.
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
                self.documents.letters().push_str(self.words.draw_spaced(&mut self.generator));
            }
        }
    }

    fn capitalised(&mut self) {
        let word = self.words.draw(&mut self.generator);
        let letters = self.documents.letters();
        letters.push(char::from(word.as_bytes()[0].to_ascii_uppercase()));
        letters.push_str(&word[1..]);
    }

    /// Appends something other than a plain word, by a number below [`ODD`].
    #[cold]
    fn odd(&mut self, roll: u64) {
        let mut bound = 0;
        let mut falls = |share| {
            bound += share;
            roll < bound
        };
        if falls(LINKS) {
            // A link as the original data has it: escaped slashes, the address twice.
            let from = self.documents.letters().len();
            self.url();
            let address = self.documents.letters().split_off(from).replace('/', "&#x2F;");
            self.push("<a href=\"");
            self.push(&address);
            self.push("\" rel=\"nofollow\">");
            self.push(&address);
            self.push("</a>");
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
        self.documents.letters().push_str(self.words.draw(&mut self.generator));
        self.push(after);
    }

    fn number(&mut self) {
        let digits = 1 + self.generator.below(4) as u32;
        let number = self.generator.below(10_u64.pow(digits));
        self.push(&number.to_string());
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
        letters.push_str(pick(generator, &[".com", ".com", ".com", ".org", ".net", ".co.uk"]));
        self.path();
    }

    fn path(&mut self) {
        if self.chance(40, 100) {
            let (year, month) = (2_004 + self.generator.below(4), 1 + self.generator.below(12));
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
                self.documents.letters().push_str(self.words.draw(&mut self.generator));
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

    /// Returns a number below `bound`, small ones more often: a uniform number's cube.
    #[inline]
    fn cubed(&mut self, bound: u64) -> u64 {
        let uniform = self.generator.next_u64() >> 32;
        let cube = (((uniform * uniform) >> 32) * uniform) >> 32;
        (cube * bound) >> 32
    }
}

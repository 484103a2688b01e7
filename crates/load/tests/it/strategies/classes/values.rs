//! The values of columns, drawn by a plain generator.

use engine::Value;
use lab::seed::SplitMix64;

use super::plans::{Content, Input, one_of};
use crate::strategies::edges;

/// Draws values; a huge one costs more than a thousand small ones, so they are rare.
pub(super) struct Values<'g> {
    pub(super) random: &'g mut SplitMix64,
    pub(super) page_size: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Storage {
    Integer,
    Real,
    Text,
    Blob,
}

const ALL: &[Storage] = &[Storage::Integer, Storage::Real, Storage::Text, Storage::Blob];

/// What a column of a STRICT table takes of one storage class without a refusal.
fn strict_storage(declared: &str) -> &'static [Storage] {
    match declared {
        "INTEGER" => &ALL[..1],
        "REAL" => &ALL[..2],
        "TEXT" => &ALL[..3],
        "BLOB" => &ALL[3..],
        _ => ALL,
    }
}

impl Values<'_> {
    fn below(&mut self, bound: u64) -> u64 {
        self.random.below(bound)
    }

    fn value(&mut self, storage: Storage) -> Value {
        match storage {
            Storage::Integer => Value::Integer(self.integer()),
            Storage::Real => Value::Real(self.real()),
            Storage::Text => Value::Text(self.text()),
            Storage::Blob => Value::Blob(self.blob()),
        }
    }

    fn integer(&mut self) -> i64 {
        match self.below(8) {
            0 => one_of(self.random, &edges::INTEGERS),
            _ => self.random.next_u64() as i64 >> self.below(64),
        }
    }

    fn real(&mut self) -> f64 {
        match self.below(4) {
            0 => one_of(self.random, &edges::REALS),
            1 => self.random.next_u64() as i32 as f64,
            2 => self.below(800) as f64 / 4.0 - 100.0,
            _ => Some(f64::from_bits(self.random.next_u64()))
                .filter(|real| !real.is_nan())
                .unwrap_or(-1.5),
        }
    }

    fn text(&mut self) -> String {
        match self.below(8) {
            0 => one_of(self.random, &edges::TEXTS).to_owned(),
            1 => self.integer().to_string(),
            2 => format!("{}e{}", self.below(1_000), self.below(40)),
            _ => {
                let length = self.length() / 2;
                let letter = one_of(self.random, &['a', 'é', 'Z', '\u{4e2d}', '\'']);
                let mut text = format!("{:x}", self.below(1 << 20));
                text.extend(std::iter::repeat_n(letter, length));
                text
            }
        }
    }

    fn blob(&mut self) -> Vec<u8> {
        let length = self.length();
        let byte = self.below(256) as u8;
        vec![byte; length]
    }

    /// Short mostly, over a few pages now and then, and a megabyte once in a great while.
    fn length(&mut self) -> usize {
        let bound = match self.below(100_000) {
            0 => 1 << 21,
            1..200 => 3 * self.page_size,
            _ => 24,
        };
        self.below(bound) as usize
    }

    fn day(&mut self) -> String {
        let (year, month, day) = (self.below(3_000), self.below(12), self.below(28));
        format!("{year:04}-{:02}-{:02}", month + 1, day + 1)
    }

    /// A column of a batch.
    pub(super) fn column(
        &mut self,
        input: &Input,
        rows: std::ops::Range<usize>,
        all: &Drawn,
    ) -> Vec<Value> {
        let storages = match input.content {
            Content::Strict => strict_storage(input.declared),
            _ => ALL,
        };
        let storage = one_of(self.random, storages);
        // None, some, or all of them.
        let nulls = one_of(self.random, &[0, 0, 1, 1, 1, 1, 1, 6]);
        let number = |row: usize| all.numbers[row];
        rows.map(|row| match input.content {
            Content::UniqueIntegers => Value::Integer(number(row) * 7 - 1_000),
            Content::Doubled => Value::Integer(number(row) - i64::from(number(row) % 500 == 1)),
            Content::UniqueTexts => Value::Text(format!("{:x}-{}", number(row) % 251, number(row))),
            Content::Key => all.keys[row].clone(),
            _ if self.below(6) < nulls => Value::Null,
            Content::Few => Value::Integer(self.below(10) as i64),
            Content::Days => Value::Text(self.day()),
            Content::Any | Content::Strict => self.value(storage),
        })
        .collect()
    }
}

/// What is drawn for all rows of a case at once.
pub(super) struct Drawn {
    /// All numbers below that of the rows, in any order.
    numbers: Vec<i64>,
    keys: Vec<Value>,
}

impl Drawn {
    /// `lowest` is below all keys.
    pub(super) fn new(random: &mut SplitMix64, rows: usize, lowest: i64) -> Drawn {
        let mut numbers: Vec<i64> = (0..rows as i64).collect();
        random.shuffle(&mut numbers);
        let mut last = lowest + random.below(2_000) as i64;
        let keys = (0..rows).map(|row| {
            let given = row == 0 || random.below(3) > 0;
            last += if given { 1 + (random.below(16) * random.below(16)) as i64 } else { 1 };
            if given { Value::Integer(last) } else { Value::Null }
        });
        Drawn { keys: keys.collect(), numbers }
    }
}

//! The table and the sets. Keys are made of numbers: even ones are in the table, odd ones are not.

use std::collections::HashSet;
use std::ffi::CString;

use engine::{Connection, EngineError, Statement};
use lab::seed::{Seed, SplitMix64};

use super::parameters::{Lookup, Parameters, Type};
use crate::error::TrialError;

/// Values in all sets together, as far as the bounds on their count allow.
const VALUES: usize = 200_000;

/// Fewest and most different sets in a trial.
const SETS: (usize, usize) = (4, 64);

/// Answer of a query.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Answer {
    /// Rows found.
    pub(super) count: i64,
    /// Sum of their payloads.
    pub(super) sum: i64,
}

/// The values of a set as a program holds them.
pub(super) enum Keys {
    Integers(Vec<i64>),
    /// Ending in NUL, as carray wants them.
    Texts(Vec<CString>),
    Blobs(Vec<[u8; 16]>),
}

/// A set and the answer that it must get.
pub(super) struct Set {
    pub(super) keys: Keys,
    pub(super) answer: Answer,
}

/// Returns the sets of a trial.
pub(super) fn sets(parameters: &Parameters, seed: Seed) -> Vec<Set> {
    let count = (VALUES / parameters.set_size).clamp(SETS.0, SETS.1);
    let mut generator = seed.child("sets").generator();
    (0..count)
        .map(|_| {
            let numbers = distinct(&mut generator, parameters.set_size, 2 * parameters.rows);
            Set { answer: answer(&numbers), keys: keys(parameters.kind, &numbers) }
        })
        .collect()
}

/// Returns `count` different numbers below `bound`, in random order.
fn distinct(generator: &mut SplitMix64, count: usize, bound: usize) -> Vec<u64> {
    let mut seen = HashSet::with_capacity(count);
    let mut numbers = Vec::with_capacity(count);
    while numbers.len() < count {
        let number = generator.below(bound as u64);
        if seen.insert(number) {
            numbers.push(number);
        }
    }
    numbers
}

fn answer(numbers: &[u64]) -> Answer {
    let found = numbers.iter().filter(|number| *number % 2 == 0);
    found.fold(Answer::default(), |answer, number| Answer {
        count: answer.count + 1,
        sum: answer.sum + payload(*number),
    })
}

fn payload(number: u64) -> i64 {
    1 + (number % 9_973) as i64
}

fn keys(kind: Type, numbers: &[u64]) -> Keys {
    let numbers = numbers.iter().copied();
    match kind {
        Type::Integer => Keys::Integers(numbers.map(|number| number as i64).collect()),
        Type::Text => Keys::Texts(numbers.map(text).collect()),
        Type::Blob => Keys::Blobs(numbers.map(blob).collect()),
    }
}

/// Sixteen hexadecimal digits, different for different numbers: splitmix64 is a bijection.
fn text(number: u64) -> CString {
    let digits = format!("{:016x}", Seed(number).generator().next_u64());
    CString::new(digits).expect("hexadecimal digits hold no NUL")
}

/// Sixteen bytes, different for different numbers.
fn blob(number: u64) -> [u8; 16] {
    let mut generator = Seed(number).generator();
    let (low, high) = (generator.next_u64(), generator.next_u64());
    (u128::from(high) << 64 | u128::from(low)).to_be_bytes()
}

impl Keys {
    /// Returns the name of the type in SQL.
    pub(super) fn declaration(kind: Type) -> &'static str {
        match kind {
            Type::Integer => "INTEGER",
            Type::Text => "TEXT",
            Type::Blob => "BLOB",
        }
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Keys::Integers(keys) => keys.len(),
            Keys::Texts(keys) => keys.len(),
            Keys::Blobs(keys) => keys.len(),
        }
    }

    /// Binds the key of this number to a parameter, without copying it.
    #[inline]
    pub(super) fn bind<'d>(
        &'d self,
        statement: &mut Statement<'_, 'd>,
        parameter: i32,
        number: usize,
    ) -> Result<(), EngineError> {
        match self {
            Keys::Integers(keys) => statement.bind_i64(parameter, keys[number]),
            Keys::Texts(keys) => statement.bind_text_borrowed(parameter, as_str(&keys[number])),
            Keys::Blobs(keys) => statement.bind_blob_borrowed(parameter, &keys[number]),
        }
    }
}

/// Returns a text of [`Keys`] as a string.
#[inline]
pub(super) fn as_str(text: &CString) -> &str {
    text.to_str().expect("keys are made of ASCII digits")
}

/// Makes the table and fills it.
pub(super) fn fill(connection: &Connection, parameters: &Parameters) -> Result<(), TrialError> {
    let declaration = Keys::declaration(parameters.kind);
    let (schema, index) = match parameters.lookup {
        Lookup::PrimaryKey => {
            ("CREATE TABLE items(key INTEGER PRIMARY KEY, payload INTEGER)".to_owned(), "")
        }
        Lookup::Index => (
            format!(
                "CREATE TABLE items(id INTEGER PRIMARY KEY, key {declaration}, payload INTEGER)"
            ),
            "CREATE INDEX items_key ON items(key)",
        ),
    };
    connection.execute(&schema)?;
    connection.execute("BEGIN")?;
    // In parts, since the keys of a whole table of texts would take much memory.
    for from in (0..parameters.rows).step_by(VALUES) {
        let to = (from + VALUES).min(parameters.rows);
        let numbers: Vec<u64> = (from..to).map(|row| 2 * row as u64).collect();
        let keys = keys(parameters.kind, &numbers);
        let mut insert = connection.prepare("INSERT INTO items(key, payload) VALUES (?, ?)")?;
        for (row, number) in numbers.iter().enumerate() {
            keys.bind(&mut insert, 1, row)?;
            insert.bind_i64(2, payload(*number))?;
            insert.run()?;
        }
    }
    connection.execute("COMMIT")?;
    connection.execute(index)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_has_different_values_and_about_half_are_in_the_table() {
        let mut generator = Seed(1).generator();
        let numbers = distinct(&mut generator, 5_000, 10_000);
        assert_eq!(numbers.iter().collect::<HashSet<_>>().len(), 5_000);
        let found = answer(&numbers).count;
        assert!((2_300..2_700).contains(&found), "{found}");
        let whole = distinct(&mut generator, 20, 20);
        assert_eq!(answer(&whole).count, 10);
    }

    #[test]
    fn keys_of_different_numbers_differ() {
        let texts: HashSet<CString> = (0..10_000).map(text).collect();
        let blobs: HashSet<[u8; 16]> = (0..10_000).map(blob).collect();
        assert_eq!((texts.len(), blobs.len()), (10_000, 10_000));
    }
}

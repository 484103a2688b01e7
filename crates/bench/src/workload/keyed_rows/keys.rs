//! Keys of several kinds: ascending ones, and random ones such as UUIDs and hashes.

use engine::{EngineError, Statement};
use lab::seed::{Seed, SplitMix64};

choice! {
    /// The kind of the keys.
    enum Key {
        /// Integers in ascending order.
        Integer = "integer",
        /// Random 63-bit integers.
        RandomInteger = "random-integer",
        /// Random UUIDs (version 4) as texts of 36 characters.
        Uuid4Text = "uuid4-text",
        /// Random UUIDs (version 4) as blobs of 16 bytes.
        Uuid4 = "uuid4",
        /// UUIDs that begin with the time (version 7) as blobs of 16 bytes, in ascending order.
        Uuid7 = "uuid7",
        /// Hashes as blobs of 32 bytes, as long as SHA-256.
        Hash = "hash",
    }
}

/// Milliseconds since 1970 of the first UUID of version 7: 2024-01-01.
const FIRST_MS: u64 = 1_704_067_200_000;

impl Key {
    pub(super) fn is_integer(self) -> bool {
        matches!(self, Key::Integer | Key::RandomInteger)
    }

    /// The type in SQL. `INT` makes no rowid of a primary key, as `INTEGER` does.
    pub(super) fn declaration(self) -> &'static str {
        match self {
            Key::Integer | Key::RandomInteger => "INT",
            Key::Uuid4Text => "TEXT",
            Key::Uuid4 | Key::Uuid7 | Key::Hash => "BLOB",
        }
    }
}

/// The keys of a table, row by row; all are different.
pub(super) enum Keys {
    Integers(Vec<i64>),
    Texts(Vec<String>),
    Uuids(Vec<[u8; 16]>),
    Hashes(Vec<[u8; 32]>),
}

impl Keys {
    pub(super) fn generate(kind: Key, rows: usize, seed: Seed) -> Keys {
        let mut generator = seed.child("keys").generator();
        let generator = &mut generator;
        let rows = 0..rows as u64;
        match kind {
            Key::Integer => Keys::Integers(rows.map(|row| row as i64 + 1).collect()),
            // A number of 63 bits comes twice among a hundred million rows once in 1,800 trials; SQLite refuses it.
            Key::RandomInteger => {
                Keys::Integers(rows.map(|_| (generator.next_u64() >> 1) as i64).collect())
            }
            Key::Uuid4Text => Keys::Texts(rows.map(|_| text(uuid(4, random(generator)))).collect()),
            Key::Uuid4 => Keys::Uuids(rows.map(|_| uuid(4, random(generator))).collect()),
            Key::Uuid7 => Keys::Uuids(rows.map(|row| uuid(7, timed(row, generator))).collect()),
            Key::Hash => Keys::Hashes(rows.map(|_| hash(generator)).collect()),
        }
    }

    /// The numbers of the rows in the order of their keys, as SQLite compares them.
    pub(super) fn order(&self) -> Vec<usize> {
        match self {
            Keys::Integers(keys) => sorted(keys),
            Keys::Texts(keys) => sorted(keys),
            Keys::Uuids(keys) => sorted(keys),
            Keys::Hashes(keys) => sorted(keys),
        }
    }

    /// Binds the key of a row to the first parameter.
    #[inline]
    pub(super) fn bind<'d>(
        &'d self,
        statement: &mut Statement<'_, 'd>,
        row: usize,
    ) -> Result<(), EngineError> {
        match self {
            Keys::Integers(keys) => statement.bind_i64(1, keys[row]),
            Keys::Texts(keys) => statement.bind_text_borrowed(1, &keys[row]),
            Keys::Uuids(keys) => statement.bind_blob_borrowed(1, &keys[row]),
            Keys::Hashes(keys) => statement.bind_blob_borrowed(1, &keys[row]),
        }
    }
}

fn sorted<K: Ord>(keys: &[K]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..keys.len()).collect();
    order.sort_unstable_by_key(|row| &keys[*row]);
    order
}

fn random(generator: &mut SplitMix64) -> u128 {
    u128::from(generator.next_u64()) << 64 | u128::from(generator.next_u64())
}

/// A time, one millisecond after that of the row before, and random bits.
fn timed(row: u64, generator: &mut SplitMix64) -> u128 {
    let random = random(generator) >> 48;
    u128::from(FIRST_MS + row) << 80 | random
}

/// Version and variant in their places (RFC 9562).
fn uuid(version: u128, bits: u128) -> [u8; 16] {
    let cleared = bits & !(0xf << 76) & !(0x3 << 62);
    (cleared | version << 76 | 0x2 << 62).to_be_bytes()
}

fn text(uuid: [u8; 16]) -> String {
    let digits: String = uuid.iter().map(|byte| format!("{byte:02x}")).collect();
    let [a, b, c, d, e] = [0..8, 8..12, 12..16, 16..20, 20..32].map(|part| &digits[part]);
    format!("{a}-{b}-{c}-{d}-{e}")
}

fn hash(generator: &mut SplitMix64) -> [u8; 32] {
    let mut bytes = [0; 32];
    for part in bytes.chunks_mut(8) {
        part.copy_from_slice(&generator.next_u64().to_be_bytes());
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uuids_have_their_version_and_those_of_version_7_ascend() {
        let Keys::Texts(texts) = Keys::generate(Key::Uuid4Text, 50, Seed(1)) else {
            panic!("texts");
        };
        for text in &texts {
            assert_eq!((text.len(), &text[14..15]), (36, "4"), "{text}");
            assert!("89ab".contains(&text[19..20]), "{text}");
        }
        let Keys::Uuids(uuids) = Keys::generate(Key::Uuid7, 50, Seed(1)) else {
            panic!("blobs");
        };
        assert!(uuids.is_sorted() && uuids.iter().all(|uuid| uuid[6] >> 4 == 7));
    }

    #[test]
    fn the_order_is_that_of_the_keys() {
        for (kind, ..) in <Key as crate::parameters::Choice>::ALL {
            let order = Keys::generate(*kind, 100, Seed(5)).order();
            let ascends = matches!(kind, Key::Integer | Key::Uuid7);
            assert_eq!(order.is_sorted(), ascends, "{kind:?}");
        }
    }
}

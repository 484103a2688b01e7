//! The data: whole numbers that every language computes without rounding.

use super::{Parameters, WIDTH};
use crate::workload::sums::{Sum, sums};

/// Modulus of the numbers, the prime 2^31 − 1, and a multiplier of full period
/// (Park and Miller 1988, "Random number generators: good ones are hard to find").
const MODULUS: u64 = 2_147_483_647;
const MULTIPLIER: u64 = 48_271;

/// Distance between keys that are read one after another; a prime, so that they spread.
const STRIDE: u64 = 7_919;

/// One row; its key is its place, from 1.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Row {
    pub(super) number: i64,
    pub(super) name: String,
    pub(super) price: f64,
}

/// Everything that a trial writes, reads and must find.
pub(super) struct Data {
    pub(super) rows: Vec<Row>,
    /// Keys for point reads.
    pub(super) keys: Vec<i64>,
    /// First keys of range scans, and how many rows each reads.
    pub(super) starts: Vec<i64>,
    pub(super) width: i64,
    /// Ids of tasks.
    pub(super) tasks: Vec<String>,
}

/// The sums, each with the expression by which SQLite computes it.
pub(super) const SUMS: [Sum; 4] = [
    ("the number of rows", "count(*)"),
    ("the sum of numbers", "sum(number)"),
    ("the length of names", "sum(length(name))"),
    ("the sum of prices in quarters", "CAST(sum(price) * 4 AS INTEGER)"),
];

/// The sums of a set of rows, in the order of [`SUMS`].
pub(super) type Sums = [i64; SUMS.len()];

impl Data {
    pub(super) fn new(parameters: &Parameters, seed: u64) -> Data {
        let start = seed % MODULUS;
        let rows: Vec<Row> = (1..=parameters.rows as u64)
            .map(|key| row((key * MULTIPLIER + start) % MODULUS))
            .collect();
        let count = rows.len() as u64;
        let width = count.min(WIDTH as u64);
        let spread = |number: u64, choices: u64| ((number * STRIDE + start) % choices + 1) as i64;
        Data {
            keys: (0..parameters.reads as u64).map(|number| spread(number, count)).collect(),
            starts: (0..parameters.scans as u64)
                .map(|number| spread(number, count - width + 1))
                .collect(),
            width: width as i64,
            tasks: (0..parameters.tasks).map(task).collect(),
            rows,
        }
    }

    /// Returns the sums of all rows.
    pub(super) fn sums(&self) -> Sums {
        sums_of(self.rows.iter())
    }

    /// Returns the sums of the rows that point reads must find.
    pub(super) fn read(&self) -> Sums {
        sums_of(self.keys.iter().map(|key| &self.rows[*key as usize - 1]))
    }

    /// Returns the sums of the rows that range scans must find.
    pub(super) fn scanned(&self) -> Sums {
        let ranges = self.starts.iter().map(|start| *start as usize - 1);
        sums_of(ranges.flat_map(|start| &self.rows[start..start + self.width as usize]))
    }

    /// Returns a checksum that is the same for every binding that did the same work.
    pub(super) fn checksum(&self) -> String {
        [self.sums(), self.read(), self.scanned()]
            .map(|sums| sums.map(|sum| sum.to_string()).join("/"))
            .join(" ")
    }
}

fn row(number: u64) -> Row {
    Row {
        number: number as i64,
        name: format!("item {}", number % 1_000_000),
        price: (number % 10_000) as f64 / 4.0,
    }
}

fn task(number: usize) -> String {
    format!("task-{number:08}")
}

fn sums_of<'r>(rows: impl Iterator<Item = &'r Row>) -> Sums {
    sums(rows.map(|row| {
        let quarters = (row.price * 4.0) as i64;
        [1, row.number, row.name.len() as i64, quarters]
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rows_of_a_seed_are_those_that_every_driver_makes() {
        let parameters = Parameters { rows: 50, reads: 2, scans: 1, tasks: 1 };
        // A seed above 2^53, which a language of floating point numbers must not round.
        let data = Data::new(&parameters, 18_446_744_073_709_551_557);
        let start = 18_446_744_073_709_551_557_u64 % 2_147_483_647;
        assert_eq!(data.rows[0].number as u64, (48_271 + start) % 2_147_483_647);
        assert_eq!(data.keys[1] as u64, (7_919 + start) % 50 + 1);
        assert_eq!((data.starts[0], data.width), (1, 50));
        assert_eq!(data.tasks, ["task-00000000"]);
        assert_eq!(data.sums()[0], 50);
    }
}

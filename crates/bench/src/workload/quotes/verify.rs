//! Whether the databases hold the quotes: sums over every column, in the table and in the index.

use engine::Connection;

use crate::error::TrialError;
use crate::generate::Quote;
use crate::generate::quotes::OPENING_MS;
use crate::workload::sums::{Sum, check_sums, sums};

/// What is summed, with the expression by which SQLite does it. Prices are summed in cents, because
/// sums of REAL depend on their order; the product ties the columns of the key together.
const SUMS: [Sum; 9] = [
    ("the count of rows", "count(*)"),
    ("the sum of securities", "sum(security_id)"),
    ("the sum of times", "sum(ts - 1641220200000)"),
    ("the sum of securities by times", "sum(security_id * (ts - 1641220200000))"),
    ("the sum of bids", "sum(CAST(round(bid * 100) AS INTEGER))"),
    ("the sum of asks", "sum(CAST(round(ask * 100) AS INTEGER))"),
    ("the sum of last prices", "sum(CAST(round(last * 100) AS INTEGER))"),
    ("the sum of volumes", "sum(volume)"),
    ("the sum of venues", "sum(unicode(venue))"),
];

/// Those of the sums that the index can answer by itself.
const IN_INDEX: usize = 4;

/// The sums in the order of [`SUMS`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sums([i64; SUMS.len()]);

impl Sums {
    pub(super) fn of(quotes: &[Quote]) -> Sums {
        Sums(sums(quotes.iter().map(|quote| {
            let time = quote.ts - OPENING_MS;
            [
                1,
                quote.security,
                time,
                quote.security * time,
                quote.bid_cents,
                quote.ask_cents,
                quote.last_cents,
                quote.volume,
                i64::from(quote.venue.as_bytes()[0]),
            ]
        })))
    }

    /// The sums where every quote stands there so many times.
    pub(super) fn times(self, times: usize) -> Sums {
        Sums(self.0.map(|sum| sum * times as i64))
    }
}

/// Checks the table.
pub(super) fn table(connection: &Connection, wanted: &Sums) -> Result<(), TrialError> {
    let from = "quotes NOT INDEXED WHERE security_id > 0";
    check_sums(connection, &SUMS, (from, ""), &wanted.0)
}

/// Checks the table and, separately, the index.
pub(super) fn table_and_index(connection: &Connection, wanted: &Sums) -> Result<(), TrialError> {
    table(connection, wanted)?;
    // Every security is above zero: the condition is what lets INDEXED BY be obeyed.
    let index = "quotes INDEXED BY quotes_sec_ts WHERE security_id > 0";
    let sums = &SUMS[..IN_INDEX];
    check_sums(connection, sums, (index, " in the index"), &wanted.0)
}

/// A checksum of all databases, equal for trials that recorded the same quotes equally often.
pub(super) fn checksum(all: &[Sums]) -> String {
    let mut total = [0_i64; SUMS.len()];
    for sums in all {
        for (total, sum) in total.iter_mut().zip(sums.0) {
            *total = total.wrapping_mul(1_000_003).wrapping_add(sum);
        }
    }
    total.map(|sum| format!("{sum:x}")).join("-")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::quotes;
    use crate::workload::quotes::insert::SCHEMA;
    use engine::{Library, Source};
    use lab::seed::Seed;
    use std::path::Path;
    use std::sync::Arc;

    /// A database that holds the quotes, inserted as text by another way than the workload's.
    fn database(data: &[Quote]) -> Connection {
        let library = Arc::new(Library::load(&Source::Embedded).unwrap());
        let memory = Path::new(":memory:");
        let flags = engine::OpenFlags::default();
        let connection = Connection::open(&library, memory, flags, None).unwrap();
        connection.execute(SCHEMA).unwrap();
        for quote in data {
            let cents = |cents: i64| format!("{}.{:02}", cents / 100, cents % 100);
            let row = format!(
                "INSERT INTO quotes VALUES ({}, {}, {}, {}, {}, {}, '{}')",
                quote.security,
                quote.ts,
                cents(quote.bid_cents),
                cents(quote.ask_cents),
                cents(quote.last_cents),
                quote.volume,
                quote.venue
            );
            connection.execute(&row).unwrap();
        }
        connection
    }

    #[test]
    fn the_right_rows_pass_and_each_wrong_column_is_named() {
        let data = quotes(500, 7, Seed(2));
        let wanted = Sums::of(&data);
        assert!(table_and_index(&database(&data), &wanted).is_ok());
        for (change, named) in [
            ("DELETE FROM quotes WHERE rowid = 3", "count of rows"),
            ("UPDATE quotes SET security_id = 8 WHERE rowid = 1", "securities"),
            ("UPDATE quotes SET ts = ts + 1 WHERE rowid = 1", "times"),
            ("UPDATE quotes SET bid = bid + 0.01 WHERE rowid = 9", "bids"),
            ("UPDATE quotes SET ask = NULL WHERE rowid = 9", "asks"),
            ("UPDATE quotes SET last = 0 WHERE rowid = 9", "last"),
            ("UPDATE quotes SET volume = 1 WHERE rowid = 9", "volumes"),
            ("UPDATE quotes SET venue = 'Z' WHERE rowid = 9", "venues"),
            (
                "UPDATE quotes SET ts = (SELECT ts FROM quotes WHERE rowid = 3 - q.rowid) \
                 FROM (SELECT rowid FROM quotes WHERE rowid IN (1, 2)) q WHERE quotes.rowid = q.rowid",
                "securities by times",
            ),
        ] {
            let connection = database(&data);
            connection.execute(change).unwrap();
            let error = table_and_index(&connection, &wanted).unwrap_err().to_string();
            assert!(error.contains(named), "{change}: {error}");
        }
    }

    #[test]
    fn checksums_tell_databases_and_repetitions_apart() {
        let sums = |seed, times| Sums::of(&quotes(50, 3, Seed(seed))).times(times);
        assert_eq!(checksum(&[sums(1, 2)]), checksum(&[sums(1, 2)]));
        assert_ne!(checksum(&[sums(1, 2)]), checksum(&[sums(1, 1)]));
        assert_ne!(checksum(&[sums(1, 1), sums(2, 1)]), checksum(&[sums(2, 1), sums(1, 1)]));
    }
}

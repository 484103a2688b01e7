//! Whether the databases hold the quotes: sums over every column, in the table and in the index.

use engine::{Connection, Step};

use crate::error::TrialError;
use crate::generate::Quote;
use crate::generate::quotes::OPENING_MS;
use crate::workload::common::expect;

/// What is summed, with the expression by which SQLite does it. Prices are summed in cents, because
/// sums of REAL depend on their order; the product ties the columns of the key together.
const SUMS: [(&str, &str); 9] = [
    ("the count of rows", "count(*)"),
    ("the sum of securities", "sum(security_id)"),
    ("the sum of times", "sum(ts - :opening)"),
    (
        "the sum of securities by times",
        "sum(security_id * (ts - :opening))",
    ),
    ("the sum of bids", "sum(CAST(round(bid * 100) AS INTEGER))"),
    ("the sum of asks", "sum(CAST(round(ask * 100) AS INTEGER))"),
    (
        "the sum of last prices",
        "sum(CAST(round(last * 100) AS INTEGER))",
    ),
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
        let mut sums = [0; SUMS.len()];
        for quote in quotes {
            let time = quote.ts - OPENING_MS;
            let figures = [
                1,
                quote.security,
                time,
                quote.security * time,
                quote.bid_cents,
                quote.ask_cents,
                quote.last_cents,
                quote.volume,
                i64::from(quote.venue.as_bytes()[0]),
            ];
            for (sum, figure) in sums.iter_mut().zip(figures) {
                *sum += figure;
            }
        }
        Sums(sums)
    }

    /// The sums where every quote stands there so many times.
    pub(super) fn times(self, times: usize) -> Sums {
        Sums(self.0.map(|sum| sum * times as i64))
    }
}

/// Checks the table.
pub(super) fn table(connection: &Connection, wanted: &Sums) -> Result<(), TrialError> {
    check(connection, "quotes NOT INDEXED", "", &wanted.0)
}

/// Checks the table and, separately, the index.
pub(super) fn table_and_index(connection: &Connection, wanted: &Sums) -> Result<(), TrialError> {
    table(connection, wanted)?;
    let index = "quotes INDEXED BY quotes_sec_ts";
    check(connection, index, " in the index", &wanted.0[..IN_INDEX])
}

fn check(
    connection: &Connection,
    from: &str,
    place: &str,
    wanted: &[i64],
) -> Result<(), TrialError> {
    let sums = &SUMS[..wanted.len()];
    let columns: Vec<&str> = sums.iter().map(|(_, sql)| *sql).collect();
    // Every security is above zero: the condition is what lets INDEXED BY be obeyed.
    let sql = format!(
        "SELECT {} FROM {from} WHERE security_id > 0",
        columns.join(", ")
    );
    let mut select = connection.prepare(&sql)?;
    select.bind_i64(1, OPENING_MS)?;
    if select.step()? != Step::Row {
        return Err(TrialError::Measuring("a sum has no row".to_owned()));
    }
    for (column, ((what, _), wanted)) in sums.iter().zip(wanted).enumerate() {
        let found = select.column_i64(column as i32);
        expect(&format!("{what}{place}"), found, *wanted)?;
    }
    Ok(())
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
            (
                "UPDATE quotes SET security_id = 8 WHERE rowid = 1",
                "securities",
            ),
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
            let error = table_and_index(&connection, &wanted)
                .unwrap_err()
                .to_string();
            assert!(error.contains(named), "{change}: {error}");
        }
    }

    #[test]
    fn checksums_tell_databases_and_repetitions_apart() {
        let sums = |seed, times| Sums::of(&quotes(50, 3, Seed(seed))).times(times);
        assert_eq!(checksum(&[sums(1, 2)]), checksum(&[sums(1, 2)]));
        assert_ne!(checksum(&[sums(1, 2)]), checksum(&[sums(1, 1)]));
        assert_ne!(
            checksum(&[sums(1, 1), sums(2, 1)]),
            checksum(&[sums(2, 1), sums(1, 1)])
        );
    }
}

//! Quotes of securities, recorded as a time series: the workload on which the permutations of connection settings are
//! compared.
//!
//! The same rows are inserted once or several times, one COMMIT each, into a table with an index; then the database may
//! be copied into new ones. Each database has a connection and, where there are several, a thread of its own.
//!
//! The phase `insert` runs from the first BEGIN to the end of the last COMMIT, over all threads. The phase `copy` holds
//! everything that making a copy takes, opening and closing included. Generating the data, opening and closing the
//! databases that are inserted into, and verifying are not timed; in WAL mode the last checkpoint therefore falls into
//! `close_s`, as in every workload.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use lab::trial::ReadBack;

use super::writer::Transaction;
use crate::generate::Quote;
use crate::generate::quotes::{OPENING_MS, price, quotes};
use crate::parameters::RowsOrAll;
use crate::target::sqlite::Counts;
use crate::workload::common::close_all;
use crate::workload::prelude::*;

/// The workload `quotes`.
pub(in crate::workload) struct Quotes;

/// The columns of the table.
const TABLE: &str = "CREATE TABLE quotes(security_id INTEGER NOT NULL, ts INTEGER NOT NULL, bid REAL, ask REAL, \
    last REAL, volume INTEGER, venue TEXT)";

/// The index is not unique, because later rounds insert the same keys again.
const INDEX: &str = "CREATE INDEX quotes_sec_ts ON quotes(security_id, ts)";

/// Databases at once, each with a thread: enough for "eight or more threads", and few enough for
/// any machine's limits. Thousands of databases are a workload of their own.
const MAX_DATABASES: i64 = 64;

parameters! {
    /// The parameters of one trial.
    struct Parameters {
        /// Quotes inserted each time into each database.
        rows: Rows = 50_000, 1..;
        /// Times that the same quotes are inserted, one after another.
        times: usize = 1, 1..=1_000;
        /// Securities that take turns in the quotes.
        securities: usize = 50, 1..=1_000_000;
        /// Rows per transaction; 0: one transaction each time.
        rows_per_txn: RowsOrAll = 0;
        /// Databases at the same time, each with its own connection and thread.
        databases: usize = 1, 1..=MAX_DATABASES;
        /// Times that the database is then copied: a new database, ATTACH, CREATE TABLE,
        /// INSERT … SELECT *, DETACH.
        copies: usize = 0, 0..=1_000;
    }
}

impl Parameters {
    /// Returns the number of rows inserted into all databases together.
    fn inserted(&self) -> usize {
        self.rows * self.times * self.databases
    }
}

impl Declared for Quotes {
    const NAME: &'static str = "quotes";
    const ABOUT: &'static str = "Records quotes of securities in a table with an index, one database per thread, and copies the database.";
    const PHASES: &'static [&'static str] = &["insert", "copy"];
    const CHECKED_FIRST: bool = true;
    type Parameters = Parameters;

    fn check(parameters: &Parameters, _: &Settings) -> Result<()> {
        let Parameters { databases, copies, .. } = parameters;
        if *copies > 0 && *databases > 1 {
            return Err(TrialError::cannot_run(format!(
                "{databases} databases and {copies} copies: copies are made of one database only"
            )));
        }
        Ok(())
    }

    fn run(trial: &mut Trial<'_>, parameters: &Parameters) -> Result<Measured> {
        (trial.phase)("generate");
        let data = generate(trial, parameters);
        let paths: Vec<PathBuf> = (1..=parameters.databases)
            .map(|number| trial.directory.join(format!("quotes-{number}.db")))
            .collect();

        let mut measured = Measured::default();
        (trial.phase)("insert");
        let mut connections = open_all(trial, &paths)?;
        let mut counts = Counts::of(trial.counter.as_ref(), &connections)?;
        let plan = Plan {
            begin: sqlite::begin_statement(trial.settings),
            times: parameters.times,
            rows_per_txn: parameters.rows_per_txn.map_or(parameters.rows, usize::from),
        };
        let watch = Stopwatch::start()?;
        let inserted = plan.insert_all(&mut connections, &data)?;
        let mut elapsed = watch.stop()?;
        // Starting and joining threads does not belong to the work.
        elapsed.seconds = inserted.seconds();
        if let Some(counts) = &mut counts {
            counts.pause(&connections)?;
        }
        set_peak_memory(&mut measured);

        (trial.phase)("verify");
        let wanted: Vec<Sums> =
            data.iter().map(|quotes| sums_of(quotes, parameters.times)).collect();
        for (connection, wanted) in connections.iter().zip(&wanted) {
            verify_table_and_index(connection, wanted)?;
        }
        close_all("writer", connections, &paths, &mut measured)?;

        if parameters.copies > 0 {
            (trial.phase)("copy");
            let copied = copy_all(trial, &paths[0], parameters.copies, counts.as_mut())?;
            (trial.phase)("verify");
            copied.verify(&trial.library, &wanted[0])?;
            set(&mut measured, "seconds.copy", copied.elapsed.seconds);
            elapsed.add(copied.elapsed);
            measured.connections.extend(copied.connections);
        }
        report(&mut measured, parameters, inserted, elapsed);
        measured.metrics.extend(counts.into_iter().flat_map(|counts| counts.metrics));
        measured.checksum = Some(checksum(&wanted));
        Ok(measured)
    }
}

/// Returns the quotes for each database.
fn generate(trial: &Trial<'_>, parameters: &Parameters) -> Vec<Vec<Quote>> {
    (0..parameters.databases)
        .map(|database| {
            let seed = trial.seed.nth(database as u64);
            quotes(parameters.rows, parameters.securities, seed)
        })
        .collect()
}

fn open_all(trial: &Trial<'_>, paths: &[PathBuf]) -> Result<Vec<Connection>> {
    let open = |path: &PathBuf| {
        let connection = sqlite::open(trial, path)?;
        connection.execute(TABLE)?;
        connection.execute(INDEX)?;
        Ok(connection)
    };
    paths.iter().map(open).collect()
}

/// Puts the figures of both phases together.
fn report(measured: &mut Measured, parameters: &Parameters, inserted: Inserted, elapsed: Elapsed) {
    let rows = parameters.inserted();
    set(measured, "seconds.insert", inserted.seconds());
    let rate = rows as f64 / inserted.seconds();
    set(measured, "rows_per_s.insert", rate);
    let with_copies = elapsed.measured(rows * (1 + parameters.copies));
    measured.metrics.extend(with_copies.metrics);
    measured.windows = inserted.windows;
    set_bytes_per_row(measured, rows);
}

/// Settings of the inserting.
struct Plan {
    begin: &'static str,
    times: usize,
    rows_per_txn: usize,
}

/// Course of the inserting, by one thread or by all.
struct Inserted {
    /// Moment of the first BEGIN.
    began: Instant,
    /// End of the last COMMIT.
    ended: Instant,
    /// Throughput over time; empty for several threads.
    windows: Vec<f64>,
}

impl Inserted {
    fn seconds(&self) -> f64 {
        (self.ended - self.began).as_secs_f64().max(1e-9)
    }
}

impl Plan {
    /// Inserts `data` into the databases of `connections`, one each.
    fn insert_all(&self, connections: &mut [Connection], data: &[Vec<Quote>]) -> Result<Inserted> {
        // A process that has once had several threads pays for locks in every allocation from then on, which does not belong
        // to the work on one database.
        if let ([connection], [quotes]) = (&mut *connections, data) {
            return self.insert_into(connection, quotes, &|| true);
        }
        let parts = connections.iter_mut().zip(data).collect();
        let (inserted, _) = run_threads(parts, Gate::begin, |(connection, quotes), gate| {
            self.insert_into(connection, quotes, &|| gate.pass().is_some())
        })?;
        let whole = inserted.into_iter().reduce(|a, b| Inserted {
            began: a.began.min(b.began),
            ended: a.ended.max(b.ended),
            windows: Vec::new(),
        });
        Ok(whole.expect("there is at least one database"))
    }

    /// Inserts into one database after `wait` has returned whether to.
    fn insert_into(
        &self,
        connection: &mut Connection,
        quotes: &[Quote],
        wait: &dyn Fn() -> bool,
    ) -> Result<Inserted> {
        let mut transaction = Transaction::prepare(connection, self.begin)?;
        let mut insert = connection.prepare("INSERT INTO quotes VALUES (?, ?, ?, ?, ?, ?, ?)")?;
        let mut windows = Windows::new(quotes.len() * self.times, 1, None);
        // Where another thread failed, nothing is to be done.
        let times = if wait() { self.times } else { 0 };
        let began = Instant::now();
        windows.start(began);
        for _ in 0..times {
            for batch in quotes.chunks(self.rows_per_txn) {
                transaction.insert(batch.len(), &mut windows, |rows| {
                    batch[rows].iter().try_for_each(|quote| insert_quote(&mut insert, quote))
                })?;
            }
        }
        Ok(Inserted { began, ended: Instant::now(), windows: windows.rates })
    }
}

#[inline]
fn insert_quote(insert: &mut Statement<'_, 'static>, quote: &Quote) -> Result<()> {
    insert.bind_i64(1, quote.security)?;
    insert.bind_i64(2, quote.ts)?;
    insert.bind_f64(3, price(quote.bid_cents))?;
    insert.bind_f64(4, price(quote.ask_cents))?;
    insert.bind_f64(5, price(quote.last_cents))?;
    insert.bind_i64(6, quote.volume)?;
    insert.bind_text_borrowed(7, quote.venue)?;
    insert.run()?;
    Ok(())
}

/// The copies made.
struct Copies {
    paths: Vec<PathBuf>,
    /// The settings of the connections that made them.
    connections: Vec<ReadBack>,
    /// Time of all copies together.
    elapsed: Elapsed,
}

/// Makes `copies` copies of the database at `source`, which no connection may have open.
fn copy_all(
    trial: &Trial<'_>,
    source: &Path,
    copies: usize,
    mut counts: Option<&mut Counts>,
) -> Result<Copies> {
    let mut made =
        Copies { paths: Vec::new(), connections: Vec::new(), elapsed: Elapsed::default() };
    if let Some(counts) = &mut counts {
        counts.resume();
    }
    for number in 1..=copies {
        let path = trial.directory.join(format!("copy-{number}.db"));
        let watch = Stopwatch::start()?;
        let connection = sqlite::open(trial, &path)?;
        // Copies through ATTACH, on a connection with the settings of the variant to which the source is attached.
        // The other way round (attaching the copy) would leave the settings without effect: a PRAGMA without a
        // schema name reaches the main database, and `synchronous` and `journal_mode` of a database attached later
        // are SQLite's defaults. BEGIN IMMEDIATE and BEGIN EXCLUSIVE take the write lock on the attached source too,
        // so that with a rollback journal the commit goes through a super-journal: that is part of their cost. The
        // copy has no index, as in the article.
        let begin = sqlite::begin_statement(trial.settings);
        let mut attach = connection.prepare("ATTACH ? AS source")?;
        attach.bind_text(1, &source.to_string_lossy())?;
        attach.run()?;
        drop(attach);
        connection.execute(begin)?;
        connection.execute(TABLE)?;
        connection.execute("INSERT INTO main.quotes SELECT * FROM source.quotes")?;
        connection.execute("COMMIT")?;
        connection.execute("DETACH source")?;
        made.elapsed.add(watch.stop()?);

        if let Some(counts) = &mut counts {
            counts.note(&connection)?;
        }
        let name = format!("copy {number}");
        made.connections.push(sqlite::read_back(&name, &connection)?);

        let watch = Stopwatch::start()?;
        connection.close()?;
        made.elapsed.add(watch.stop()?);
        made.paths.push(path);
    }
    if let Some(counts) = &mut counts {
        counts.pause(&[])?;
    }
    Ok(made)
}

impl Copies {
    /// Checks every copy through a fresh connection.
    fn verify(&self, library: &Arc<Library>, wanted: &Sums) -> Result<()> {
        for path in &self.paths {
            let connection = Connection::open(library, path, OpenFlags::READ_WRITE, None)?;
            verify_table(&connection, wanted)?;
            connection.close()?;
        }
        Ok(())
    }
}

/// The sums, each with the expression by which SQLite computes it. Prices are summed in cents, because
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

/// Number of the first sums that the index can answer by itself.
const IN_INDEX: usize = 4;

/// The sums in the order of [`SUMS`].
type Sums = [i64; SUMS.len()];

/// Returns the sums of a table that holds every quote this number of times.
fn sums_of(data: &[Quote], times: usize) -> Sums {
    let sums: Sums = sums(data.iter().map(|quote| {
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
    }));
    sums.map(|sum| sum * times as i64)
}

/// Checks the table.
fn verify_table(connection: &Connection, wanted: &Sums) -> Result<()> {
    let from = "quotes NOT INDEXED WHERE security_id > 0";
    check_sums(connection, &SUMS, (from, ""), wanted)
}

/// Checks the table and, separately, the index.
fn verify_table_and_index(connection: &Connection, wanted: &Sums) -> Result<()> {
    verify_table(connection, wanted)?;
    // Every security is above zero: the condition is what lets INDEXED BY be obeyed.
    let index = "quotes INDEXED BY quotes_sec_ts WHERE security_id > 0";
    let sums = &SUMS[..IN_INDEX];
    check_sums(connection, sums, (index, " in the index"), wanted)
}

/// Returns a checksum of all databases, equal for trials that recorded the same quotes equally often.
fn checksum(all: &[Sums]) -> String {
    let mut total = [0_i64; SUMS.len()];
    for sums in all {
        for (total, sum) in total.iter_mut().zip(sums) {
            *total = total.wrapping_mul(1_000_003).wrapping_add(*sum);
        }
    }
    total.map(|sum| format!("{sum:x}")).join("-")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::common::tests::{memory_database, problem, run};
    use lab::level::Level;
    use lab::seed::Seed;
    use std::collections::BTreeSet;

    fn measured(over: &[(&str, Level)]) -> Measured {
        let few = [("rows", 1_003.into()), ("synchronous", "off".into())];
        let over = [&few[..], over].concat();
        run("quotes", &over).unwrap_or_else(|error| panic!("{over:?}: {error}"))
    }

    #[test]
    fn every_permutation_of_the_settings_gives_the_same_verified_rows() {
        let mut checksums = BTreeSet::new();
        for journal in ["wal", "truncate", "memory"] {
            for locking in ["normal", "exclusive"] {
                for transaction in ["deferred", "immediate", "exclusive"] {
                    for mutex in ["no", "full"] {
                        let measured = measured(&[
                            ("journal_mode", journal.into()),
                            ("locking_mode", locking.into()),
                            ("transaction", transaction.into()),
                            ("open_mutex", mutex.into()),
                            ("page_size", 8192.into()),
                            ("cache_size", 1000.into()),
                            ("times", 2.into()),
                            ("copies", 2.into()),
                        ]);
                        let metrics = &measured.metrics;
                        let phases = metrics["seconds.insert"] + metrics["seconds.copy"];
                        assert!((metrics["seconds"] - phases).abs() < 1e-9);
                        let rows = metrics["rows_per_s"] * metrics["seconds"];
                        assert!((rows - 3.0 * 2_006.0).abs() < 0.01, "{rows}");
                        let names: Vec<&str> = measured
                            .connections
                            .iter()
                            .map(|connection| connection.connection.as_str())
                            .collect();
                        assert_eq!(names, ["writer", "copy 1", "copy 2"]);
                        checksums.insert(measured.checksum);
                    }
                }
            }
        }
        assert_eq!(checksums.len(), 1, "{checksums:?}");
    }

    #[test]
    fn each_database_has_a_thread_and_a_connection_that_is_read_back() {
        for rows_per_txn in [0, 100] {
            let measured = measured(&[
                ("databases", 4.into()),
                ("rows_per_txn", rows_per_txn.into()),
                ("journal_mode", "wal".into()),
            ]);
            let rows = measured.metrics["rows_per_s"] * measured.metrics["seconds"];
            assert!((rows - 4.0 * 1_003.0).abs() < 0.01, "{rows}");
            assert_eq!(measured.connections.len(), 4);
            assert_eq!(measured.connections[3].connection, "writer 4");
        }
    }

    #[test]
    fn copies_of_several_databases_cannot_be_made_and_it_says_so() {
        let why = problem("quotes", &[("databases", 2.into()), ("copies", 1.into())]);
        assert!(why.contains("one database only"), "{why}");
    }

    /// A database that holds the quotes, inserted as text by another way than the workload's.
    fn database(data: &[Quote]) -> Connection {
        let connection = memory_database(TABLE);
        connection.execute(INDEX).unwrap();
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
        let wanted = sums_of(&data, 1);
        assert!(verify_table_and_index(&database(&data), &wanted).is_ok());
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
            let error = verify_table_and_index(&connection, &wanted).unwrap_err().to_string();
            assert!(error.contains(named), "{change}: {error}");
        }
    }

    #[test]
    fn checksums_tell_databases_and_repetitions_apart() {
        let sums = |seed, times| sums_of(&quotes(50, 3, Seed(seed)), times);
        assert_eq!(checksum(&[sums(1, 2)]), checksum(&[sums(1, 2)]));
        assert_ne!(checksum(&[sums(1, 2)]), checksum(&[sums(1, 1)]));
        assert_ne!(checksum(&[sums(1, 1), sums(2, 1)]), checksum(&[sums(2, 1), sums(1, 1)]));
    }
}

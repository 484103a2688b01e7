//! The basic work of every program with SQLite, small enough to be written in every binding: inserts, reads by key, range
//! scans and the life cycle of tasks.
//!
//! The same work stands in each driver of `drivers/`, so that the difference between a binding and this
//! one is the cost of its calls. Data are made of whole numbers below 2^53, so that every language makes
//! the same; making them and verifying the results are outside the clock. Each part is timed apart, and
//! its time is divided by the rows that it writes or reads (by its statements for tasks).

use std::hint::black_box;
use std::time::Instant;

use lab::trial::BindingMark;

use crate::workload::prelude::*;

/// The workload `binding-basics`.
pub(super) struct BindingBasics;

/// Rows that one INSERT of a batch carries.
const BATCH: usize = 50;

/// Rows that a range scan reads, or all where there are fewer.
const WIDTH: usize = 1_000;

/// The parts of the work, in their order.
const PARTS: [&str; 6] = [
    "insert-single", "insert-reused", "insert-batch", "point-read", "range-scan", "task-statement",
];

parameters! {
    /// How much work.
    #[derive(Clone, Copy, Debug)]
    struct Parameters {
        /// Rows inserted in each of three ways, each in one transaction: a statement prepared for each row, a
        /// statement reused, and fifty rows per statement; a multiple of 50.
        rows: Rows = 100_000, BATCH as i64..;
        /// Rows read by their key, one per query.
        reads: Rows = 100_000, 1..;
        /// Range scans of 1,000 rows each.
        scans: usize = 100, 1..;
        /// Tasks, each inserted, updated eleven times and deleted, every statement in its own transaction.
        tasks: usize = 1_000, 1..;
    }
}

/// The drivers begin transactions with BEGIN alone; only some could begin them in another way.
fn refuse_another_begin(settings: &Settings) -> Result<()> {
    match settings.get("transaction").and_then(Level::as_text) {
        None | Some("deferred") => Ok(()),
        Some(other) => Err(TrialError::CannotRun(format!(
            "every driver begins the transactions of this workload with a plain BEGIN, so transaction={other} would have no effect; leave it out or use deferred"
        ))),
    }
}

impl Declared for BindingBasics {
    const NAME: &'static str = "binding-basics";
    const METRIC: &'static str = "seconds";
    const ABOUT: &'static str = "Inserts, point reads, range scans and task life cycles, done the same way through every binding.";
    const PHASES: &'static [&'static str] = &PARTS;
    const COUNTS: bool = false;
    const CHECKED_FIRST: bool = true;
    type Parameters = Parameters;

    fn check(parameters: &Parameters, settings: &Settings) -> Result<()> {
        refuse_another_begin(settings)?;
        if parameters.rows.is_multiple_of(BATCH) {
            Ok(())
        } else {
            Err(TrialError::cannot_run(format!(
                "rows must be a multiple of {BATCH}, the rows of one batch INSERT, not {}",
                parameters.rows
            )))
        }
    }

    fn run(trial: &mut Trial<'_>, parameters: &Parameters) -> Result<Measured> {
        (trial.phase)("generate");
        let generating = Instant::now();
        let data = Data::new(parameters, trial.seed.0);
        let generate_s = generating.elapsed().as_secs_f64();

        let path = trial.directory.join("test.db");
        let defaults = sqlite::defaults(trial)?;
        let connection = sqlite::open(trial, &path)?;
        create_tables(&connection)?;
        let mut measured = time_parts(trial, &connection, &data)?;
        set(&mut measured, "generate_s", generate_s);

        (trial.phase)("verify");
        verify(&connection, &data)?;
        measured.checksum = Some(data.checksum());
        measured.binding = Some(BindingMark {
            name: format!("Rust, pragmark {}", env!("CARGO_PKG_VERSION")),
            compile_options: trial.library.identity().compile_options.clone(),
            defaults,
        });
        close(connection, Some(&path), &mut measured)?;
        Ok(measured)
    }
}

/// Does each part under a clock of its own.
fn time_parts(trial: &mut Trial<'_>, connection: &Connection, data: &Data) -> Result<Measured> {
    let mut all = Elapsed::default();
    let mut measured = Measured::default();
    for part in PARTS {
        (trial.phase)(part);
        let watch = Stopwatch::start()?;
        let done = carry_out(part, connection, data)?;
        let elapsed = watch.stop()?;
        verify_read(part, &done, data)?;
        set(&mut measured, &format!("seconds.{part}"), elapsed.seconds);
        let each = elapsed.seconds * 1e9 / done.rows as f64;
        set(&mut measured, &format!("ns_per_row.{part}"), each);
        all.add(elapsed);
    }
    measured.metrics.extend(all.times().metrics);
    Ok(measured)
}

/// Modulus of the numbers, the prime 2^31 − 1, and a multiplier of full period
/// (Park and Miller 1988, "Random number generators: good ones are hard to find").
const MODULUS: u64 = 2_147_483_647;
const MULTIPLIER: u64 = 48_271;

/// Distance between keys that are read one after another; a prime, so that they spread.
const STRIDE: u64 = 7_919;

/// One row; its key is its place, from 1.
#[derive(Clone, Debug, PartialEq)]
struct Row {
    number: i64,
    name: String,
    price: f64,
}

/// Everything that a trial writes, reads and must find.
struct Data {
    rows: Vec<Row>,
    /// Keys for point reads.
    keys: Vec<i64>,
    /// First keys of range scans, and how many rows each reads.
    starts: Vec<i64>,
    width: i64,
    /// Ids of tasks.
    tasks: Vec<String>,
}

/// The sums, each with the expression by which SQLite computes it.
const SUMS: [Sum; 4] = [
    ("the number of rows", "count(*)"),
    ("the sum of numbers", "sum(number)"),
    ("the length of names", "sum(length(name))"),
    ("the sum of prices in quarters", "CAST(sum(price) * 4 AS INTEGER)"),
];

/// The sums of a set of rows, in the order of [`SUMS`].
type Sums = [i64; SUMS.len()];

impl Data {
    fn new(parameters: &Parameters, seed: u64) -> Data {
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
    fn sums(&self) -> Sums {
        sums_of(self.rows.iter())
    }

    /// Returns the sums of the rows that point reads must find.
    fn read(&self) -> Sums {
        sums_of(self.keys.iter().map(|key| &self.rows[*key as usize - 1]))
    }

    /// Returns the sums of the rows that range scans must find.
    fn scanned(&self) -> Sums {
        let ranges = self.starts.iter().map(|start| *start as usize - 1);
        sums_of(ranges.flat_map(|start| &self.rows[start..start + self.width as usize]))
    }

    /// Returns a checksum that is the same for every binding that did the same work.
    fn checksum(&self) -> String {
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

/// Statements in the life of a task.
const STATEMENTS: usize = 13;

const ITEMS: [&str; 3] = ["single", "reused", "batch"];

fn create_tables(connection: &Connection) -> Result<()> {
    for table in ITEMS {
        connection.execute(&format!(
            "CREATE TABLE {table}(id INTEGER PRIMARY KEY, number INTEGER NOT NULL, name TEXT NOT NULL, price REAL NOT NULL)"
        ))?;
    }
    connection.execute(
        "CREATE TABLE tasks(id VARCHAR(16) NOT NULL PRIMARY KEY, status VARCHAR(16) NOT NULL, cmd VARCHAR(16) NOT NULL, args TEXT NOT NULL, output TEXT);
         CREATE INDEX tasks_status ON tasks(status)",
    )?;
    Ok(())
}

/// Result of a part.
struct Done {
    /// The rows, or statements, by which its time is divided.
    rows: usize,
    /// Sums of the rows that it read; zero if it read none.
    found: Sums,
}

/// Does one part.
fn carry_out(part: &str, connection: &Connection, data: &Data) -> Result<Done> {
    let mut found = Sums::default();
    let rows = match part {
        "insert-single" => in_transaction(connection, || insert_single(connection, data))?,
        "insert-reused" => in_transaction(connection, || insert_reused(connection, data))?,
        "insert-batch" => in_transaction(connection, || insert_batch(connection, data))?,
        "point-read" => point_read(connection, data, &mut found)?,
        "range-scan" => range_scan(connection, data, &mut found)?,
        _ => live(connection, data)?,
    };
    Ok(Done { rows, found })
}

/// Checks what a part has read.
fn verify_read(part: &str, done: &Done, data: &Data) -> Result<()> {
    match part {
        "point-read" => check("point reads", done.found, data.read()),
        "range-scan" => check("range scans", done.found, data.scanned()),
        _ => Ok(()),
    }
}

fn in_transaction(connection: &Connection, work: impl FnOnce() -> Result<usize>) -> Result<usize> {
    connection.execute("BEGIN")?;
    let rows = work()?;
    connection.execute("COMMIT")?;
    Ok(rows)
}

fn bind<'d>(statement: &mut Statement<'_, 'd>, first: i32, key: usize, row: &'d Row) -> Result<()> {
    statement.bind_i64(first, key as i64)?;
    statement.bind_i64(first + 1, row.number)?;
    statement.bind_text_borrowed(first + 2, &row.name)?;
    statement.bind_f64(first + 3, row.price)?;
    Ok(())
}

fn insert_single(connection: &Connection, data: &Data) -> Result<usize> {
    for (place, row) in data.rows.iter().enumerate() {
        let mut insert = connection.prepare("INSERT INTO single VALUES (?, ?, ?, ?)")?;
        bind(&mut insert, 1, place + 1, row)?;
        insert.run()?;
    }
    Ok(data.rows.len())
}

fn insert_reused(connection: &Connection, data: &Data) -> Result<usize> {
    let mut insert = connection.prepare("INSERT INTO reused VALUES (?, ?, ?, ?)")?;
    for (place, row) in data.rows.iter().enumerate() {
        bind(&mut insert, 1, place + 1, row)?;
        insert.run()?;
    }
    Ok(data.rows.len())
}

fn insert_batch(connection: &Connection, data: &Data) -> Result<usize> {
    let values = vec!["(?, ?, ?, ?)"; BATCH].join(", ");
    let mut insert = connection.prepare(&format!("INSERT INTO batch VALUES {values}"))?;
    for (batch, rows) in data.rows.chunks_exact(BATCH).enumerate() {
        for (place, row) in rows.iter().enumerate() {
            bind(&mut insert, 4 * place as i32 + 1, batch * BATCH + place + 1, row)?;
        }
        insert.run()?;
    }
    Ok(data.rows.len())
}

/// A row as it is read: every column is looked at, as any program would that asked for it.
fn add(sums: &mut Sums, row: &Statement<'_, '_>, first: i32) -> Result<()> {
    let [rows, numbers, characters, quarters] = sums;
    *rows += 1;
    *numbers += row.column_i64(first);
    *characters += row.column_text(first + 1)?.len() as i64;
    *quarters += (row.column_f64(first + 2) * 4.0) as i64;
    Ok(())
}

fn point_read(connection: &Connection, data: &Data, sums: &mut Sums) -> Result<usize> {
    let mut select = connection.prepare("SELECT number, name, price FROM reused WHERE id = ?")?;
    for key in &data.keys {
        select.bind_i64(1, *key)?;
        if select.step()? == Step::Row {
            add(sums, &select, 0)?;
        }
        select.reset()?;
    }
    Ok(data.keys.len())
}

fn range_scan(connection: &Connection, data: &Data, sums: &mut Sums) -> Result<usize> {
    let mut select = connection
        .prepare("SELECT id, number, name, price FROM reused WHERE id >= ? AND id < ?")?;
    for start in &data.starts {
        select.bind_i64(1, *start)?;
        select.bind_i64(2, start + data.width)?;
        while select.step()? == Step::Row {
            // Every driver reads the key as well, which is not summed up.
            black_box(select.column_i64(0));
            add(sums, &select, 1)?;
        }
        select.reset()?;
    }
    Ok(data.starts.len() * data.width as usize)
}

/// Runs the life cycle of each task: inserted, taken up, written to ten times, deleted.
fn live(connection: &Connection, data: &Data) -> Result<usize> {
    let mut insert = connection
        .prepare("INSERT INTO tasks(id, status, cmd, args) VALUES (?, 'pending', 'example', ?)")?;
    let mut take = connection.prepare("UPDATE tasks SET status = 'processing' WHERE id = ?")?;
    let mut write = connection.prepare("UPDATE tasks SET output = ? WHERE id = ?")?;
    let mut delete = connection.prepare("DELETE FROM tasks WHERE id = ?")?;
    let before = connection.total_changes();
    for task in &data.tasks {
        insert.bind_text(1, task)?;
        insert.bind_text(2, r#"["a","b","c"]"#)?;
        insert.run()?;
        take.bind_text(1, task)?;
        take.run()?;
        for line in 0..10 {
            write.bind_text(1, &format!("line {line} of some kind of output"))?;
            write.bind_text(2, task)?;
            write.run()?;
        }
        delete.bind_text(1, task)?;
        delete.run()?;
    }
    let statements = data.tasks.len() * STATEMENTS;
    let changed = connection.total_changes() - before;
    expect("the rows changed by tasks", changed, statements as i64)?;
    Ok(statements)
}

/// Checks what the tables hold.
fn verify(connection: &Connection, data: &Data) -> Result<()> {
    for table in ITEMS {
        let ending = format!(" of the table {table}");
        check_sums(connection, &SUMS, (table, &ending), &data.sums())?;
    }
    let left = connection.query_i64("SELECT count(*) FROM tasks")?;
    expect("the tasks left", left, 0)
}

fn check(what: &str, found: Sums, wanted: Sums) -> Result<()> {
    for (((sum, _), found), wanted) in SUMS.iter().zip(found).zip(wanted) {
        expect(&format!("{sum} of {what}"), found, wanted)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::workload::common::tests::{memory_database, problem, run};

    const SMALL: [(&str, lab::level::Level); 4] = [
        ("rows", lab::level::Level::Int(150)),
        ("reads", lab::level::Level::Int(70)),
        ("scans", lab::level::Level::Int(3)),
        ("tasks", lab::level::Level::Int(4)),
    ];

    #[test]
    fn every_part_is_timed_by_row_and_verified() {
        let measured = run("binding-basics", &SMALL).unwrap();
        for part in PARTS {
            for metric in ["seconds", "ns_per_row"] {
                assert!(measured.metrics[&format!("{metric}.{part}")] > 0.0);
            }
        }
        let binding = measured.binding.unwrap();
        assert_eq!(binding.defaults["synchronous"], "full");
        assert!(!binding.compile_options.is_empty());
        assert_eq!(measured.connections.len(), 1);
    }

    #[test]
    fn the_same_seed_gives_the_same_checksum() {
        let checksum = || run("binding-basics", &SMALL).unwrap().checksum;
        assert_eq!(checksum(), checksum());
    }

    #[test]
    fn rows_that_fill_no_whole_batch_are_refused() {
        let why = problem("binding-basics", &[("rows", 120.into())]);
        assert!(why.contains("multiple of 50"), "{why}");
    }

    #[test]
    fn transactions_that_would_not_begin_as_asked_are_refused() {
        let why = problem("binding-basics", &[("transaction", "immediate".into())]);
        assert!(why.contains("transaction=immediate"), "{why}");
        let deferred = Settings::from([("transaction".to_owned(), "deferred".into())]);
        assert!(refuse_another_begin(&deferred).is_ok());
    }

    #[test]
    fn a_row_that_is_missing_is_a_wrong_result() {
        let parameters = Parameters { rows: 50, reads: 5, scans: 1, tasks: 1 };
        let data = Data::new(&parameters, 5);
        let connection = memory_database("");
        create_tables(&connection).unwrap();
        for part in PARTS {
            let done = carry_out(part, &connection, &data).unwrap();
            verify_read(part, &done, &data).unwrap();
        }
        assert!(verify(&connection, &data).is_ok());
        connection.execute("DELETE FROM batch WHERE id = 7").unwrap();
        let error = verify(&connection, &data).unwrap_err().to_string();
        assert!(error.contains("batch"), "{error}");
    }

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

//! Rows of mixed types into the table `user`: the cost of binding, of generating and of the file itself.
//!
//! The clock runs from the BEGIN to the end of the COMMIT. A parameter decides whether the rows are generated before it
//! starts or while it runs: programs that are timed from outside pay for both.

use std::iter::repeat_n;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::{Builder, scope};
use std::time::Instant;

use super::writer::{Inserts, Transaction, Writer};
use crate::generate::{User, Users};
use crate::parameters::Percent;
use crate::workload::common::{MAX_HOST_PARAMETERS, check_host_parameters};
use crate::workload::prelude::*;

/// The workload `user-insert`.
pub(in crate::workload) struct UserInsert;

const CREATE_TABLE: &str = "CREATE TABLE user(id INTEGER NOT NULL PRIMARY KEY, area CHAR(6), age INTEGER NOT NULL, active INTEGER NOT NULL)";

choice! {
    /// Values, and how they get into the statement.
    enum Data {
        /// The same constants in every row, as literals in the SQL.
        Literals = "literals",
        /// The same constants in every row, bound for each statement.
        BoundConstants = "bound-constants",
        /// Random data, bound for each statement.
        BoundRandom = "bound-random",
    }

    /// When random data is generated.
    enum Generate {
        /// Before the clock starts.
        Before = "before",
        /// While it runs, in parts.
        During = "during",
    }

    /// Where the database is.
    enum Location {
        /// In a file.
        File = "file",
        /// In memory, as `:memory:` (<https://sqlite.org/inmemorydb.html>).
        Memory = "memory",
    }
}

/// Columns with a parameter: area, age and active.
const BOUND_COLUMNS: usize = 3;

/// Rows handed over at a time, rounded up to whole statements: enough that the handing over
/// between threads costs little for each row, few enough to stay in a processor's cache.
const ROWS_PER_PART: usize = 10_000;

parameters! {
    /// The parameters of one trial.
    #[derive(Clone, Copy, Debug)]
    struct Parameters {
        /// Rows to insert.
        rows: Rows = 100_000, 1..;
        /// What is inserted.
        data: Data = Data::BoundRandom;
        /// Rows in the VALUES list of one INSERT.
        rows_per_statement: Rows = 20, 1..=MAX_HOST_PARAMETERS as i64;
        /// Share of random areas that are NULL; the others are six digits.
        area_nulls: Percent = 50, 0..=100;
        /// When random data is generated.
        generate: Generate = Generate::Before;
        /// Threads that generate rows for the inserting one; 0: it generates them itself.
        generator_threads: usize = 0, 0..=256;
        /// Where the database is.
        location as "where": Location = Location::File;
    }
}

impl Parameters {
    fn rows_per_part(&self) -> usize {
        ROWS_PER_PART.next_multiple_of(self.rows_per_statement)
    }

    /// Returns the random rows of the trial.
    fn users(&self, seed: Seed) -> Users {
        Users::new(seed, self.rows, self.rows_per_part(), self.area_nulls as u64)
    }
}

impl Declared for UserInsert {
    const NAME: &'static str = "user-insert";
    const ABOUT: &'static str = "Inserts rows into user(id INTEGER NOT NULL PRIMARY KEY, area CHAR(6), age INTEGER NOT NULL, active INTEGER NOT NULL), in one transaction; SQLite generates the id.";
    const CHECKED_FIRST: bool = true;
    type Parameters = Parameters;

    fn check(parameters: &Parameters, settings: &Settings) -> Result<()> {
        let generating =
            (parameters.data, parameters.generate) == (Data::BoundRandom, Generate::During);
        if parameters.generator_threads > 0 && !generating {
            let why = "generator threads require data = bound-random and generate = during";
            return Err(TrialError::cannot_run(why));
        }
        if parameters.data != Data::Literals {
            let rows = parameters.rows_per_statement;
            check_host_parameters(rows.saturating_mul(BOUND_COLUMNS), &format!("{rows} rows"))?;
        }
        let impossible = match parameters.location {
            Location::Memory => sqlite::why_impossible_in_memory(settings),
            Location::File => None,
        };
        impossible.map_or(Ok(()), |why| Err(TrialError::CannotRun(why)))
    }

    fn run(trial: &mut Trial<'_>, parameters: &Parameters) -> Result<Measured> {
        (trial.phase)("generate");
        let users = parameters.users(trial.seed);
        let generating = Instant::now();
        let source = source(parameters, users);
        let generate_s = generating.elapsed().as_secs_f64();

        (trial.phase)("load");
        let file = (parameters.location == Location::File).then_some("test.db");
        let writer = Writer::open(trial, file, CREATE_TABLE)?;
        let begin = sqlite::begin_statement(trial.settings);
        let mut transaction = Transaction::prepare(&writer.connection, begin)?;
        let mut inserter = Inserter::prepare(&writer.connection, parameters)?;
        let mut windows = Windows::new(parameters.rows, parameters.rows_per_part(), None);
        let mut measured = writer.time(trial, parameters.rows, |started| {
            windows.start(started);
            transaction.begin()?;
            inserter.insert_all(&source, users, &mut windows)?;
            transaction.commit()
        })?;
        drop((transaction, inserter));
        if parameters.generate == Generate::Before {
            set(&mut measured, "generate_s", generate_s);
        }
        measured.windows = windows.rates;

        (trial.phase)("verify");
        verify(&writer.connection, parameters.data, users)?;
        writer.close(parameters.rows, &mut measured)?;
        Ok(measured)
    }
}

/// Returns the source of the rows. Rows that are generated before the measured work are generated here.
fn source(parameters: &Parameters, users: Users) -> Source {
    match (parameters.data, parameters.generate) {
        (Data::Literals | Data::BoundConstants, _) => Source::Constant,
        (Data::BoundRandom, Generate::Before) => Source::Ready(users.all().collect()),
        (Data::BoundRandom, Generate::During) if parameters.generator_threads > 0 => {
            Source::Threads(parameters.generator_threads)
        }
        (Data::BoundRandom, Generate::During) => Source::Drawn,
    }
}

/// Source of the rows.
enum Source {
    /// Every row is [`User::CONSTANT`].
    Constant,
    /// They were generated before.
    Ready(Vec<User>),
    /// The inserting thread draws each when it needs it.
    Drawn,
    /// This number of other threads draw them.
    Threads(usize),
}

struct Inserter<'c> {
    inserts: Inserts<'c, 'static>,
    bound: bool,
}

impl<'c> Inserter<'c> {
    fn prepare(connection: &'c Connection, parameters: &Parameters) -> Result<Inserter<'c>> {
        let (row, rows) = (row_sql(parameters.data), parameters.rows_per_statement);
        let inserts = Inserts::prepare(connection, "user(area, age, active)", &row, rows)?;
        Ok(Inserter { inserts, bound: parameters.data != Data::Literals })
    }

    /// Inserts all rows, part by part.
    fn insert_all(&mut self, source: &Source, users: Users, windows: &mut Windows) -> Result<()> {
        if let Source::Threads(threads) = source {
            return each_part(users, *threads, |part| {
                self.insert(part.iter().copied())?;
                windows.tick(part.len(), Instant::now());
                Ok(())
            });
        }
        let mut done = 0;
        for number in 0..users.parts() {
            let part = users.part(number);
            let rows = part.len();
            match source {
                Source::Constant => self.insert(repeat_n(User::CONSTANT, rows))?,
                Source::Ready(ready) => self.insert(ready[done..done + rows].iter().copied())?,
                Source::Drawn | Source::Threads(_) => self.insert(part)?,
            }
            done += rows;
            windows.tick(rows, Instant::now());
        }
        Ok(())
    }

    /// Inserts rows in statements of many, and what is left over one by one.
    #[inline]
    fn insert(&mut self, mut rows: impl ExactSizeIterator<Item = User>) -> Result<()> {
        while rows.len() >= self.inserts.rows {
            insert_some(&mut self.inserts.many, &mut rows, self.inserts.rows, self.bound)?;
        }
        while rows.len() > 0 {
            insert_some(&mut self.inserts.one, &mut rows, 1, self.bound)?;
        }
        Ok(())
    }
}

#[inline]
fn insert_some(
    statement: &mut Statement<'_, 'static>,
    rows: &mut impl Iterator<Item = User>,
    count: usize,
    bound: bool,
) -> Result<()> {
    for (index, user) in rows.take(count).enumerate() {
        if bound {
            // Binds a row to the three parameters after `before`. SQLite copies the area, since a row that was just
            // drawn lives no longer than this call.
            let before = index as i32 * 3;
            match &user.area {
                Some(digits) => statement.bind_text(before + 1, text(digits))?,
                None => statement.bind_null(before + 1)?,
            }
            statement.bind_i64(before + 2, i64::from(user.age))?;
            statement.bind_i64(before + 3, i64::from(user.active))?;
        }
    }
    statement.run()?;
    Ok(())
}

#[inline]
fn text(digits: &[u8; 6]) -> &str {
    std::str::from_utf8(digits).expect("an area is made of ASCII digits")
}

/// Returns the values of a row in SQL.
fn row_sql(data: Data) -> String {
    let User { area, age, active } = User::CONSTANT;
    match (data, &area) {
        (Data::Literals, Some(area)) => format!("('{}',{age},{active})", text(area)),
        (Data::Literals, None) => format!("(NULL,{age},{active})"),
        _ => "(?,?,?)".to_owned(),
    }
}

/// Parts that each thread may be ahead of the inserting.
const AHEAD: usize = 2;

/// Generates every part of `users` in `threads` threads and calls `insert` with each in this one,
/// in whatever order they come.
///
/// # Errors
/// The first of `insert`, which ends the generating; or a thread cannot be started.
fn each_part(
    users: Users,
    threads: usize,
    mut insert: impl FnMut(&[User]) -> Result<()>,
) -> Result<()> {
    let (sender, receiver) = sync_channel(AHEAD * threads);
    let next = AtomicUsize::new(0);
    scope(|scope| {
        for _ in 0..threads {
            let (sender, next) = (sender.clone(), &next);
            Builder::new().spawn_scoped(scope, move || generate(users, next, &sender)).map_err(
                |error| {
                    TrialError::Measuring(format!("a generator thread cannot be started: {error}"))
                },
            )?;
        }
        drop(sender);
        // An error drops the receiver, by which the threads notice that nobody waits any more.
        for part in receiver {
            insert(&part)?;
        }
        Ok(())
    })
}

/// Generates parts until none is left, or until nobody takes them.
fn generate(users: Users, next: &AtomicUsize, sender: &SyncSender<Vec<User>>) {
    loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        if number >= users.parts() || sender.send(users.part(number).collect()).is_err() {
            return;
        }
    }
}

/// The sums that are compared, with their SQL, in the order of [`figures`]. The last one ties the columns of a row
/// together, so that it notices values in the wrong row.
const SUMS: [Sum; 7] = [
    ("the count of rows", "count(*)"),
    ("the count of areas", "count(area)"),
    ("the length of all areas", "sum(length(area))"),
    ("the sum of areas", "sum(CAST(area AS INTEGER))"),
    ("the sum of ages", "sum(age)"),
    ("the sum of active users", "sum(active)"),
    (
        "the sum of products of areas and the rest",
        "sum((ifnull(CAST(area AS INTEGER), 0) + 1) * (age + active))",
    ),
];

/// Checks that the table holds the users, in any order.
fn verify(connection: &Connection, data: Data, users: Users) -> Result<()> {
    let wanted = match data {
        Data::BoundRandom => figures(users.all()),
        Data::Literals | Data::BoundConstants => figures(
            (0..users.parts()).flat_map(|part| repeat_n(User::CONSTANT, users.part(part).len())),
        ),
    };
    check_sums(connection, &SUMS, ("user", ""), &wanted)?;
    let ids = connection.query_i64("SELECT ifnull(max(id) - min(id) + 1, 0) FROM user")?;
    expect("the range of ids", ids, wanted[0])
}

fn figures(users: impl Iterator<Item = User>) -> [i64; SUMS.len()] {
    sums(users.map(|user| {
        let number = user.area.map(|digits| number(&digits));
        let (age, active) = (i64::from(user.age), i64::from(user.active));
        [
            1,
            i64::from(number.is_some()),
            6 * i64::from(number.is_some()),
            number.unwrap_or_default(),
            age,
            active,
            (number.unwrap_or_default() + 1) * (age + active),
        ]
    }))
}

fn number(digits: &[u8; 6]) -> i64 {
    digits.iter().fold(0, |number, digit| 10 * number + i64::from(digit - b'0'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::common::tests::{memory_database, problem, run};
    use lab::level::Level;

    fn settings(over: &[(&str, Level)]) -> Vec<(String, Level)> {
        let mut settings: Vec<(String, Level)> =
            vec![("rows".to_owned(), 25_003.into()), ("synchronous".to_owned(), "off".into())];
        settings.extend(over.iter().map(|(name, level)| ((*name).to_owned(), level.clone())));
        settings
    }

    fn rate(over: &[(&str, Level)]) -> f64 {
        let settings = settings(over);
        let borrowed: Vec<(&str, Level)> =
            settings.iter().map(|(name, level)| (name.as_str(), level.clone())).collect();
        let measured = run("user-insert", &borrowed).unwrap_or_else(|e| panic!("{over:?}: {e}"));
        let memory = over.contains(&("where", "memory".into()));
        assert_eq!(measured.metrics.contains_key("db_bytes"), !memory);
        measured.metrics["rows_per_s"] * measured.metrics["seconds"]
    }

    #[test]
    fn every_kind_of_data_gives_verified_rows() {
        for data in ["literals", "bound-constants", "bound-random"] {
            for generate in ["before", "during"] {
                for rows_per_statement in [1, 50] {
                    let inserted = rate(&[
                        ("data", data.into()),
                        ("generate", generate.into()),
                        ("rows_per_statement", rows_per_statement.into()),
                    ]);
                    assert!((inserted - 25_003.0).abs() < 0.01, "{inserted}");
                }
            }
        }
    }

    #[test]
    fn threads_and_memory_give_the_same_rows() {
        for threads in [1, 3] {
            rate(&[
                ("generator_threads", threads.into()),
                ("generate", "during".into()),
                ("where", "memory".into()),
            ]);
        }
    }

    #[test]
    fn threads_without_anything_to_generate_cannot_run_and_say_why() {
        let threads = ("generator_threads", Level::from(1));
        for over in [("generate", "before".into()), ("data", "literals".into())] {
            let during = ("generate", Level::from("during"));
            let why = problem("user-insert", &[threads.clone(), during, over]);
            assert!(why.contains("generator threads"), "{why}");
        }
    }

    #[test]
    fn more_parameters_than_a_statement_has_cannot_run_and_say_why() {
        let rows = ("rows_per_statement", Level::from(20_000));
        let why = problem("user-insert", &[rows]);
        assert!(why.contains("60000 parameters"), "{why}");
    }

    #[test]
    fn literals_stand_in_the_statement_and_the_rest_is_bound() {
        assert_eq!(row_sql(Data::Literals), "('123456',5,0)");
        assert_eq!(row_sql(Data::BoundRandom), "(?,?,?)");
    }

    #[test]
    fn every_part_comes_once_whatever_the_order() {
        let users = Users::new(Seed(1), 1_234, 10, 50);
        let key = |user: &User| (user.area, user.age, user.active);
        let mut wanted: Vec<_> = users.all().map(|user| key(&user)).collect();
        wanted.sort_unstable();
        for threads in [1, 4] {
            let mut found = Vec::new();
            let generated = each_part(users, threads, |part| {
                found.extend(part.iter().map(key));
                Ok(())
            });
            assert!(generated.is_ok());
            found.sort_unstable();
            assert_eq!(found, wanted);
        }
    }

    #[test]
    fn an_error_of_the_inserting_ends_the_generating() {
        let users = Users::new(Seed(1), 1_000_000_000, 100, 50);
        let error = each_part(users, 2, |_| Err(TrialError::cannot_run("full")));
        assert!(error.unwrap_err().to_string().contains("full"));
    }

    #[test]
    fn any_change_of_a_row_is_a_wrong_result() {
        let connection = memory_database(CREATE_TABLE);
        let row = "(area, age, active) VALUES ('123456', 5, 0)";
        for _ in 0..2 {
            connection.execute(&format!("INSERT INTO user{row}")).unwrap();
        }
        let users = Users::new(Seed(1), 2, 10, 50);
        let holds = || verify(&connection, Data::Literals, users);
        assert!(holds().is_ok());
        for change in [
            "DELETE FROM user WHERE id = 2",
            "UPDATE user SET area = NULL WHERE id = 1",
            "UPDATE user SET area = '123457' WHERE id = 1",
            "UPDATE user SET area = ' 123456' WHERE id = 1",
            "UPDATE user SET age = 10 WHERE id = 1",
            "UPDATE user SET active = 1 WHERE id = 1",
            "UPDATE user SET id = 7 WHERE id = 2",
        ] {
            connection.execute("BEGIN").unwrap();
            connection.execute(change).unwrap();
            assert!(holds().is_err(), "{change}");
            connection.execute("ROLLBACK").unwrap();
        }
        assert!(verify(&connection, Data::BoundRandom, users).is_err());
    }
}

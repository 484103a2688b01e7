//! The rows whose key is in a set of the program's: how to hand SQLite the set.
//!
//! The time of a query includes everything from the set in the program's memory to the answer: filling a temporary table,
//! writing JSON, building and preparing the SQL of a list. Filling the table, generating the sets and verifying the answers
//! are not timed. The database has just been written, so it is in the kernel's memory, and in part in SQLite's page cache.

use std::collections::HashSet;
use std::ffi::CString;
use std::time::Instant;

use engine::{Array, BlobArray, Connection, EngineError, Library, Statement, Step, TextArray};

use crate::parameters::{Limit, Rows};
use crate::workload::common::MAX_HOST_PARAMETERS;
use crate::workload::prelude::*;

/// The workload `set-query`.
pub(super) struct SetQuery;

impl Declared for SetQuery {
    const NAME: &'static str = "set-query";
    const METRIC: &'static str = "queries_per_s";
    const ABOUT: &'static str = "Counts and sums the rows whose key is in a set held by the program, half of which is in the table.";
    type Parameters = Parameters;

    fn check(parameters: &Parameters, _: &Settings) -> Result<()> {
        let (size, rows) = (parameters.set_size, parameters.rows);
        let why = if parameters.method == Method::InList && size > MAX_HOST_PARAMETERS {
            format!(
                "a list of {size} values exceeds the {MAX_HOST_PARAMETERS} parameters of a statement"
            )
        } else if (parameters.method, parameters.kind) == (Method::JsonEach, Type::Blob) {
            "JSON has no blobs".to_owned()
        } else if parameters.lookup == Lookup::PrimaryKey && parameters.kind != Type::Integer {
            "an INTEGER PRIMARY KEY holds integers only".to_owned()
        } else if size > rows.saturating_mul(2) {
            format!(
                "sets of {size} values, half of them in the table, require at least {} rows",
                size.div_ceil(2)
            )
        } else {
            return Ok(());
        };
        Err(TrialError::CannotRun(why))
    }

    fn run(trial: &mut Trial<'_>, parameters: &Parameters) -> Result<Measured> {
        parameters.check_engine(&trial.library)?;
        (trial.phase)("generate");
        let generating = Instant::now();
        let sets = sets(parameters, trial.seed);
        let generate_s = generating.elapsed().as_secs_f64();

        (trial.phase)("load");
        let path = trial.directory.join("test.db");
        let connection = sqlite::open(trial, &path)?;
        fill(&connection, parameters)?;

        (trial.phase)("query");
        let counts = sqlite::Counts::begin(trial, &connection)?;
        let (answers, mut measured) = run_queries(&connection, parameters, &sets)?;
        set(&mut measured, "generate_s", generate_s);
        set_peak_memory(&mut measured);
        set_counts(&mut measured, counts, &connection)?;

        (trial.phase)("verify");
        check(&answers, &sets)?;
        close(connection, Some(&path), &mut measured)?;
        Ok(measured)
    }
}

/// Queries the sets in turn until the queries are done or the time is up.
fn run_queries(
    connection: &Connection,
    parameters: &Parameters,
    sets: &[Set],
) -> Result<(Vec<Answer>, Measured)> {
    let mut ask = prepare(connection, parameters)?;
    let mut histogram = LatencyHistogram::default();
    let mut windows = Windows::new(parameters.queries, 1, parameters.stop_after);
    let mut answers = Vec::new();
    let watch = Stopwatch::start()?;
    let start = watch.started();
    windows.start(start);
    let mut last = start;
    for set in sets.iter().cycle().take(parameters.queries) {
        answers.push(ask(set)?);
        let now = Instant::now();
        histogram.record(now.duration_since(last));
        windows.tick(1, now);
        last = now;
        let elapsed = now.duration_since(start);
        if parameters.stop_after.is_some_and(|limit| elapsed >= limit) {
            break;
        }
    }
    let elapsed = watch.stop()?;
    let mut measured = elapsed.times();
    let rate = answers.len() as f64 / elapsed.seconds;
    set(&mut measured, "queries_per_s", rate);
    set_latency(&mut measured, &histogram)?;
    measured.windows = windows.rates;
    Ok((answers, measured))
}

/// Checks that every answer belongs to its set.
fn check(answers: &[Answer], sets: &[Set]) -> Result<()> {
    for (number, (answer, set)) in answers.iter().zip(sets.iter().cycle()).enumerate() {
        let what = |of: &str| format!("the {of} in the answer of query {}", number + 1);
        expect(&what("count"), answer.count, set.answer.count)?;
        expect(&what("sum"), answer.sum, set.answer.sum)?;
    }
    Ok(())
}

choice! {
    /// How the set gets into the query.
    enum Method {
        /// A bound array (<https://sqlite.org/carray.html>).
        Carray = "carray",
        /// A temporary table filled for each query.
        TempTable = "temp-table",
        /// A parameter for each value of IN (?, ?, …).
        InList = "in-list",
        /// A bound JSON text (<https://sqlite.org/json1.html#jeach>).
        JsonEach = "json-each",
    }

    /// Type of the keys.
    enum Type {
        /// Integers.
        Integer = "integer",
        /// Texts of 16 characters.
        Text = "text",
        /// Blobs of 16 bytes.
        Blob = "blob",
    }

    /// How rows are found by their key.
    enum Lookup {
        /// The key is the INTEGER PRIMARY KEY.
        PrimaryKey = "primary-key",
        /// The key is a column with an index.
        Index = "index",
    }
}

parameters! {
    /// The parameters of one trial.
    #[derive(Clone, Copy, Debug)]
    struct Parameters {
        /// Rows in the table.
        rows: Rows = 100_000, 1..;
        /// Type of the keys.
        kind as "type": Type = Type::Integer;
        /// How rows are found by their key.
        lookup: Lookup = Lookup::Index;
        /// How the set gets into the query.
        method: Method = Method::Carray;
        /// Values in a set, all different.
        set_size: usize = 1_000, 1..;
        /// Queries, which take turns with a few sets.
        queries: usize = 1_000, 1..;
        /// Time after which no further query begins; 0: no limit.
        stop_after as "stop_after_ms": Limit = 0;
    }
}

impl Parameters {
    fn check_engine(&self, library: &Library) -> Result<()> {
        if self.method == Method::Carray && !library.has_carray() {
            Err(TrialError::cannot_run("this engine lacks carray"))
        } else {
            Ok(())
        }
    }
}

/// Queries the rows whose key is in a set.
type Ask<'c, 'd> = Box<dyn FnMut(&'d Set) -> Result<Answer> + 'c>;

/// Prepares the method.
fn prepare<'c, 'd: 'c>(connection: &'c Connection, parameters: &Parameters) -> Result<Ask<'c, 'd>> {
    Ok(match parameters.method {
        Method::Carray => {
            let mut query = connection.prepare(&select("carray(?1)"))?;
            Box::new(move |set| query_carray(&mut query, &set.keys))
        }
        Method::TempTable => temp_table(connection, parameters.kind)?,
        Method::InList => Box::new(move |set| query_list(connection, &set.keys)),
        Method::JsonEach => {
            let mut query = connection.prepare(&select("(SELECT value FROM json_each(?1))"))?;
            Box::new(move |set| {
                let json = json(&set.keys)?;
                Ok(query.with_borrowed(|query| {
                    query.bind_text_borrowed(1, &json)?;
                    read_answer(query)
                })?)
            })
        }
    })
}

fn query_carray(query: &mut Statement<'_, '_>, keys: &Keys) -> Result<Answer> {
    Ok(match keys {
        Keys::Integers(keys) => {
            query.with_array(1, Array::I64(keys), |query| read_answer(query))?
        }
        Keys::Texts(keys) => {
            let texts: TextArray<'_> = keys.iter().map(|text| text.as_c_str()).collect();
            query.with_array(1, Array::Text(&texts), |query| read_answer(query))?
        }
        Keys::Blobs(keys) => {
            let blobs: BlobArray<'_> = keys.iter().map(|blob| &blob[..]).collect();
            query.with_array(1, Array::Blob(&blobs), |query| read_answer(query))?
        }
    })
}

/// Prepares a statement for each query, because the length of the list is in its SQL.
fn query_list(connection: &Connection, keys: &Keys) -> Result<Answer> {
    let places = vec!["?"; keys.len()].join(",");
    let mut query = connection.prepare(&select(&format!("({places})")))?;
    for number in 0..keys.len() {
        keys.bind(&mut query, number as i32 + 1, number)?;
    }
    Ok(read_answer(&mut query)?)
}

fn json(keys: &Keys) -> Result<String> {
    let text = match keys {
        Keys::Integers(keys) => serde_json::to_string(keys),
        Keys::Texts(keys) => serde_json::to_string(&keys.iter().map(as_str).collect::<Vec<_>>()),
        Keys::Blobs(_) => return Err(TrialError::cannot_run("JSON has no blobs")),
    };
    text.map_err(|error| TrialError::Measuring(format!("the set as JSON: {error}")))
}

/// Prepares the statements around a temporary table, which is emptied and filled for each query.
fn temp_table<'c, 'd: 'c>(connection: &'c Connection, kind: Type) -> Result<Ask<'c, 'd>> {
    let without_rowid = match kind {
        Type::Integer => "",
        Type::Text | Type::Blob => "WITHOUT ROWID",
    };
    connection.execute(&format!(
        "CREATE TEMP TABLE wanted(key {} PRIMARY KEY) {without_rowid}",
        Keys::declaration(kind)
    ))?;
    let mut begin = connection.prepare("BEGIN")?;
    let mut clear = connection.prepare("DELETE FROM wanted")?;
    let mut insert = connection.prepare("INSERT INTO wanted VALUES (?)")?;
    let mut select = connection.prepare(&select("wanted"))?;
    let mut commit = connection.prepare("COMMIT")?;
    Ok(Box::new(move |set| {
        begin.run()?;
        clear.run()?;
        for number in 0..set.keys.len() {
            set.keys.bind(&mut insert, 1, number)?;
            insert.run()?;
        }
        let answer = read_answer(&mut select)?;
        commit.run()?;
        Ok(answer)
    }))
}

fn select(set: &str) -> String {
    format!("SELECT count(*), ifnull(sum(payload), 0) FROM items WHERE key IN {set}")
}

/// Reads the one row of a query and resets it.
fn read_answer(query: &mut Statement<'_, '_>) -> Result<Answer, EngineError> {
    let found = match query.step()? {
        Step::Row => Answer { count: query.column_i64(0), sum: query.column_i64(1) },
        // An aggregate without GROUP BY always has a row; none would be a wrong answer.
        Step::Done => Answer { count: -1, sum: -1 },
    };
    query.reset()?;
    Ok(found)
}

/// Values in all sets together, as far as the bounds on their count allow.
const VALUES: usize = 200_000;

/// Fewest and most different sets in a trial.
const SETS: (usize, usize) = (4, 64);

/// Answer of a query.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Answer {
    /// Rows found.
    count: i64,
    /// Sum of their payloads.
    sum: i64,
}

/// The values of a set as a program holds them.
enum Keys {
    Integers(Vec<i64>),
    /// Ending in NUL, as carray wants them.
    Texts(Vec<CString>),
    Blobs(Vec<[u8; 16]>),
}

/// A set and the answer that it must get.
struct Set {
    keys: Keys,
    answer: Answer,
}

/// Returns the sets of a trial.
fn sets(parameters: &Parameters, seed: Seed) -> Vec<Set> {
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
    fn declaration(kind: Type) -> &'static str {
        match kind {
            Type::Integer => "INTEGER",
            Type::Text => "TEXT",
            Type::Blob => "BLOB",
        }
    }

    fn len(&self) -> usize {
        match self {
            Keys::Integers(keys) => keys.len(),
            Keys::Texts(keys) => keys.len(),
            Keys::Blobs(keys) => keys.len(),
        }
    }

    /// Binds the key of this number to a parameter, without copying it.
    #[inline]
    fn bind<'d>(
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
fn as_str(text: &CString) -> &str {
    text.to_str().expect("keys are made of ASCII digits")
}

/// Makes the table and fills it.
fn fill(connection: &Connection, parameters: &Parameters) -> Result<()> {
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
    use crate::parameters::{Choice, Parameters as _};
    use crate::workload::common::tests::{problem, run};

    #[test]
    fn every_method_finds_the_rows_of_every_type() {
        for (_, method, _) in Method::ALL {
            for (_, kind, _) in Type::ALL {
                for lookup in ["primary-key", "index"] {
                    let settings = [
                        ("method", (*method).into()),
                        ("type", (*kind).into()),
                        ("lookup", lookup.into()),
                        ("rows", 500.into()),
                        ("set_size", 40.into()),
                        ("queries", 50.into()),
                        ("synchronous", "off".into()),
                    ];
                    match run("set-query", &settings) {
                        Ok(measured) => {
                            assert_eq!(measured.latency.unwrap().count, 50);
                            assert!(measured.metrics["queries_per_s"] > 0.0);
                        }
                        Err(TrialError::CannotRun(_)) => assert!(
                            (*method, *kind) == ("json-each", "blob")
                                || (*kind != "integer" && lookup == "primary-key"),
                            "{method} {kind} {lookup}"
                        ),
                        Err(error) => panic!("{method} {kind} {lookup}: {error}"),
                    }
                }
            }
        }
    }

    #[test]
    fn sets_that_a_list_cannot_hold_or_the_table_cannot_fill_cannot_run_and_say_why() {
        let long = [("method", "in-list".into()), ("set_size", 40_000.into())];
        let long = problem("set-query", &long);
        assert!(long.contains("32766"), "{long}");
        let large = problem("set-query", &[("rows", 10.into()), ("set_size", 21.into())]);
        assert!(large.contains("21"), "{large}");
    }

    #[test]
    fn the_time_limit_ends_the_queries() {
        let settings = [("queries", 100_000_000.into()), ("stop_after_ms", 20.into())];
        let measured = run("set-query", &settings).unwrap();
        assert!(measured.metrics["seconds"] >= 0.02);
        assert!(measured.latency.unwrap().count < 100_000_000);
    }

    #[test]
    fn a_wrong_answer_is_a_wrong_result() {
        let catalogue = crate::catalogue();
        let mut settings = catalogue.defaults(catalogue.workload(SetQuery::NAME).unwrap());
        settings.insert("set_size".to_owned(), 10.into());
        let parameters = Parameters::read(&settings).unwrap();
        let sets = sets(&parameters, lab::seed::Seed(3));
        let mut answers: Vec<Answer> = sets.iter().map(|set| set.answer).collect();
        assert!(check(&answers, &sets).is_ok());
        answers[1].sum += 1;
        let error = check(&answers, &sets).unwrap_err().to_string();
        assert!(error.contains("the sum in the answer of query 2"), "{error}");
    }

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

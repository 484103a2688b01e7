//! Each operation: the rows before it, its work, and what must be found by it and after it.

use super::{Mode, Suite};
use crate::workload::prelude::*;

/// An operation whose rows are made.
pub(super) struct Operation<'s> {
    /// Does the work and returns a number that tells what was found.
    pub(super) work: Box<dyn FnOnce() -> Result<i64> + 's>,
    /// The number that must be found.
    pub(super) wanted: i64,
    /// Queries and their answers after the work.
    pub(super) after: Vec<(&'static str, i64)>,
    /// Rows or statements by which the time is divided; 0 where nothing is done.
    pub(super) rows: usize,
}

const PARTIES: &str = "SELECT count(*) FROM parties";
const BY_ID: &str = "SELECT id, theme FROM parties WHERE id = ? LIMIT 1";
const BY_ATTRIBUTE: &str = "SELECT id, theme FROM parties WHERE id = ? ORDER BY id LIMIT 1";
const PEOPLE_OF: &str =
    "SELECT id, party_id, other_party_id, name, address FROM people WHERE party_id = ?";
const JOIN_OWN: &str = "SELECT p.id, p.theme, q.id, q.party_id, q.other_party_id, q.name, q.address
     FROM parties p LEFT OUTER JOIN people q ON q.party_id = p.id";
const JOIN_BOTH: &str =
    "SELECT p.id, p.theme, q.id, q.party_id, q.other_party_id, q.name, q.address,
            r.id, r.party_id, r.other_party_id, r.name, r.address
     FROM parties p LEFT OUTER JOIN people q ON q.party_id = p.id
                    LEFT OUTER JOIN people r ON r.other_party_id = p.id";
const CHARACTERS: &str = "SELECT sum(length(theme)) FROM parties";

/// The columns that tie people to a party.
const OWN: &[&str] = &["party_id"];
const BOTH: &[&str] = &["party_id", "other_party_id"];

/// Makes the rows of an operation.
///
/// # Errors
/// SQLite's.
pub(super) fn prepare<'s>(
    suite: &'s Suite,
    name: &str,
    in_transaction: bool,
) -> Result<Operation<'s>> {
    let (n, on) = (suite.parameters.n, &suite.connection);
    let corrected = suite.parameters.mode == Mode::Corrected;
    // What the article's figures show to be a single object within a transaction.
    let single = in_transaction && !corrected;
    let people = |parties, each, columns| People { parties, each, columns };
    match name {
        "creation" => Ok(creation(on, if corrected { 50 * n } else { 1 })),
        "select" => select(on, 100 * n, corrected),
        "select-by-pk" => found_by(on, 10 * n, BY_ID),
        "select-by-attr" => found_by(on, 10 * n, BY_ATTRIBUTE),
        "select-and-save" => select_and_save(on, 50 * n),
        "destruction" => destruction(on, 100 * n, single),
        "associated-creation" => Ok(associated_creation(on, if single { 1 } else { 20 * n })),
        "eager-each-1-1" => eager_each(on, people(20 * n, 1, OWN)),
        "eager-joined-1-1" => eager_joined(on, people(20 * n, 1, OWN)),
        "eager-each-1-n" => eager_each(on, people(n, n, OWN)),
        "eager-joined-1-n" => eager_joined(on, people(n, n, OWN)),
        "eager-each-1-n-n" => eager_each(on, people(n, n, BOTH)),
        "eager-joined-1-n-n" => eager_joined(on, people(n, n, BOTH)),
        "lazy-1-1" => lazy(on, 20 * n, 1),
        "lazy-1-n" => lazy(on, n, n),
        "select-json-nested" => select_json(on, 10 * n),
        "update-json-nested" => update_json_nested(on, 10 * n),
        "update-json" => update_json(on, 10 * n),
        "light-threading" => Ok(threads(suite, (n as f64).sqrt().round() as usize)),
        _ => Ok(threads(suite, n)),
    }
}

impl<'s> Operation<'s> {
    /// Returns an operation on `count` rows, which this query must find afterwards.
    fn on(
        count: usize,
        query: &'static str,
        work: impl FnOnce() -> Result<i64> + 's,
    ) -> Operation<'s> {
        Operation { after: vec![(query, count as i64)], ..Operation::reading(count, count, work) }
    }

    /// Returns an operation that reads `wanted` rows and makes `objects` objects of them.
    fn reading(
        objects: usize,
        wanted: usize,
        work: impl FnOnce() -> Result<i64> + 's,
    ) -> Operation<'s> {
        Operation { work: Box::new(work), wanted: wanted as i64, after: Vec::new(), rows: objects }
    }
}

fn creation(connection: &Connection, count: usize) -> Operation<'_> {
    Operation::on(count, PARTIES, move || {
        let mut insert = connection.prepare("INSERT INTO parties(theme) VALUES (?)")?;
        for number in 0..count {
            insert.bind_text(1, &format!("Party {number}"))?;
            insert.run()?;
        }
        Ok(count as i64)
    })
}

/// Loading every party; what the article's relation does without being executed is nothing.
fn select(connection: &Connection, count: usize, executed: bool) -> Result<Operation<'_>> {
    make_parties(connection, count)?;
    let loaded = if executed { count } else { 0 };
    Ok(Operation {
        after: vec![(PARTIES, count as i64)],
        ..Operation::reading(loaded, loaded, move || {
            if executed { load(connection, "SELECT id, theme FROM parties") } else { Ok(0) }
        })
    })
}

fn found_by<'s>(
    connection: &'s Connection,
    count: usize,
    sql: &'static str,
) -> Result<Operation<'s>> {
    let ids = make_parties(connection, count)?;
    let wanted = ids.iter().sum::<i64>() as usize;
    Ok(Operation::reading(ids.len(), wanted, move || {
        let mut query = connection.prepare(sql)?;
        let mut sum = 0;
        for id in &ids {
            query.bind_i64(1, *id)?;
            if query.step()? == Step::Row {
                sum += query.column_i64(0);
                query.column_text(1)?;
            }
            query.reset()?;
        }
        Ok(sum)
    }))
}

fn select_and_save(connection: &Connection, count: usize) -> Result<Operation<'_>> {
    make_parties(connection, count)?;
    let characters = connection.query_i64(CHARACTERS)?;
    let renamed = "SELECT count(*) FROM parties WHERE theme LIKE '%1'";
    let mut operation = Operation::on(count, renamed, move || {
        let parties = connection.query_rows("SELECT id, theme FROM parties", |row| {
            Ok((row.column_i64(0), format!("{}1", row.column_text(1)?)))
        })?;
        let mut save = connection.prepare("UPDATE parties SET theme = ? WHERE id = ?")?;
        for (id, theme) in &parties {
            save.bind_text(1, theme)?;
            save.bind_i64(2, *id)?;
            save.run()?;
        }
        Ok(parties.len() as i64)
    });
    let wanted = (CHARACTERS, characters + count as i64);
    operation.after.push(wanted);
    Ok(operation)
}

fn destruction(connection: &Connection, count: usize, single: bool) -> Result<Operation<'_>> {
    let mut ids = make_parties(connection, count)?;
    if single {
        ids.truncate(1);
    }
    Ok(Operation {
        after: vec![(PARTIES, (count - ids.len()) as i64)],
        ..Operation::reading(ids.len(), ids.len(), move || {
            for_each(connection, "DELETE FROM parties WHERE id = ?", &ids)
        })
    })
}

fn associated_creation(connection: &Connection, count: usize) -> Operation<'_> {
    let associated = "SELECT count(*) FROM people JOIN parties ON parties.id = party_id";
    Operation {
        rows: 2 * count,
        ..Operation::on(count, associated, move || {
            let mut party = connection.prepare("INSERT INTO parties(theme) VALUES (?)")?;
            let mut person =
                connection.prepare("INSERT INTO people(party_id, name) VALUES (?, ?)")?;
            for _ in 0..count {
                party.bind_text(1, "X-mas")?;
                party.run()?;
                person.bind_i64(1, connection.last_insert_rowid())?;
                person.bind_text(2, "Test_id")?;
                person.run()?;
            }
            Ok(count as i64)
        })
    }
}

/// People to make: `each` for every party and every column that names a person's party.
#[derive(Clone, Copy)]
struct People {
    parties: usize,
    each: usize,
    columns: &'static [&'static str],
}

/// Makes parties with their people. Returns the number of people.
fn with_people(connection: &Connection, people: People) -> Result<usize> {
    let People { parties, each, columns } = people;
    make_parties(connection, parties)?;
    for column in columns {
        // Makes this number of people for each party, tied to it by this column.
        connection.execute(&format!(
        "INSERT INTO people({column}, name) {} SELECT p.id, 'Person ' || i FROM parties p, n ORDER BY p.id, i",
        numbers(each)
    ))?;
    }
    Ok(parties * each * columns.len())
}

fn eager_each(connection: &Connection, people: People) -> Result<Operation<'_>> {
    let count = with_people(connection, people)?;
    Ok(Operation::reading(count, count, move || {
        let ids = load_ids(connection)?;
        people.columns.iter().map(|column| load_in(connection, column, &ids)).sum()
    }))
}

/// With two columns, each of the one with each of the other: n × n × n rows, which give as many objects as without the
/// join.
fn eager_joined(connection: &Connection, people: People) -> Result<Operation<'_>> {
    let People { parties, each, columns } = people;
    let count = with_people(connection, people)?;
    let sql = if columns == OWN { JOIN_OWN } else { JOIN_BOTH };
    let rows = parties * each.pow(columns.len() as u32);
    Ok(Operation::reading(count, rows, move || load(connection, sql)))
}

fn lazy(connection: &Connection, parties: usize, each: usize) -> Result<Operation<'_>> {
    let people = with_people(connection, People { parties, each, columns: OWN })?;
    Ok(Operation::reading(people, people, move || {
        let mut query = connection.prepare(PEOPLE_OF)?;
        let mut found = 0;
        for id in load_ids(connection)? {
            query.bind_i64(1, id)?;
            found += read(&mut query)?;
        }
        Ok(found)
    }))
}

fn select_json(connection: &Connection, count: usize) -> Result<Operation<'_>> {
    make_json(connection, count)?;
    Ok(Operation::reading(count, count, move || {
        let mut query = connection.prepare(
            "SELECT id, stuff FROM json_parties WHERE json_extract(stuff, '$.pumpkin') = 1 ORDER BY id LIMIT 1",
        )?;
        (0..count).map(|_| read(&mut query)).sum()
    }))
}

fn update_json_nested(connection: &Connection, count: usize) -> Result<Operation<'_>> {
    let ids = make_json(connection, count)?;
    let updated = r#"SELECT count(*) FROM json_parties WHERE stuff = '{"pumpkin":"2","candy":1}'"#;
    let update = "UPDATE json_parties SET stuff = json_set(stuff, '$.pumpkin', '2') WHERE id = ?";
    Ok(Operation::on(count, updated, move || for_each(connection, update, &ids)))
}

fn update_json(connection: &Connection, count: usize) -> Result<Operation<'_>> {
    let ids = make_json(connection, count)?;
    let updated = r#"SELECT count(*) FROM json_parties WHERE stuff = '{"pumpkin":2,"candy":1}'"#;
    Ok(Operation::on(count, updated, move || {
        let mut query =
            connection.prepare("SELECT id, stuff FROM json_parties WHERE id = ? LIMIT 1")?;
        let mut update = connection.prepare("UPDATE json_parties SET stuff = ? WHERE id = ?")?;
        let mut found = 0;
        for id in &ids {
            query.bind_i64(1, *id)?;
            found += read(&mut query)?;
            update.bind_text(1, r#"{"pumpkin":2,"candy":1}"#)?;
            update.bind_i64(2, *id)?;
            update.run()?;
        }
        Ok(found)
    }))
}

fn threads(suite: &Suite, count: usize) -> Operation<'_> {
    let parties = count * suite.parameters.n;
    Operation {
        after: vec![(PARTIES, 0)],
        ..Operation::reading(WRITES * parties, parties, move || work_in_threads(suite, count))
    }
}

/// Runs a statement for each of these ids; returns their number.
fn for_each(connection: &Connection, sql: &str, ids: &[i64]) -> Result<i64> {
    let mut statement = connection.prepare(sql)?;
    for id in ids {
        statement.bind_i64(1, *id)?;
        statement.run()?;
    }
    Ok(ids.len() as i64)
}

/// Reads every column of every row, as a mapper does. Returns the number of rows.
fn read(query: &mut Statement<'_, '_>) -> Result<i64> {
    let mut rows = 0;
    while query.step()? == Step::Row {
        rows += 1;
        for column in 0..query.column_count() {
            std::hint::black_box(query.column_value(column));
        }
    }
    query.reset()?;
    Ok(rows)
}

fn load(connection: &Connection, sql: &str) -> Result<i64> {
    read(&mut connection.prepare(sql)?)
}

fn load_ids(connection: &Connection) -> Result<Vec<i64>> {
    Ok(connection.query_rows("SELECT id, theme FROM parties", |row| {
        std::hint::black_box(row.column_text(1)?);
        Ok(row.column_i64(0))
    })?)
}

/// Returns the people of these parties by one query with a list, as a mapper asks it.
fn load_in(connection: &Connection, column: &str, ids: &[i64]) -> Result<i64> {
    let places = vec!["?"; ids.len()].join(", ");
    let mut query = connection.prepare(&format!(
        "SELECT id, party_id, other_party_id, name, address FROM people WHERE {column} IN ({places})"
    ))?;
    for (place, id) in ids.iter().enumerate() {
        query.bind_i64(place as i32 + 1, *id)?;
    }
    read(&mut query)
}

/// Writes for each party: made, renamed, removed.
const WRITES: usize = 3;

/// Runs the work in this number of threads and returns the number of parties that they have renamed. In the article each
/// thread is waited for before the next one begins, so that there is one at a time; corrected, they work at the same time,
/// each on a connection of the pool.
fn work_in_threads(suite: &Suite, threads: usize) -> Result<i64> {
    let n = suite.parameters.n;
    match suite.parameters.mode {
        // One at a time on one connection: also an engine without mutexes can do that.
        Mode::Faithful => (0..threads).map(|_| live(&suite.connection, n)).sum(),
        Mode::Corrected => at_once(suite, threads, n),
    }
}

fn at_once(suite: &Suite, threads: usize, n: usize) -> Result<i64> {
    let pool = &suite.pool;
    let one = |(), _: &Gate| pool.lend(|connection| live(connection, n));
    let (renamed, ()) = run_threads(vec![(); threads], |_| Ok(()), one)?;
    Ok(renamed.into_iter().sum())
}

/// Makes parties, then finds, renames and removes each.
fn live(connection: &Connection, parties: usize) -> Result<i64> {
    let mut insert = connection.prepare("INSERT INTO parties(theme) VALUES (?)")?;
    let mut find =
        connection.prepare("SELECT id, theme FROM parties WHERE id = ? ORDER BY id LIMIT 1")?;
    let mut rename = connection.prepare("UPDATE parties SET theme = 'Christmas' WHERE id = ?")?;
    let mut delete = connection.prepare("DELETE FROM parties WHERE id = ?")?;
    let mut ids = Vec::with_capacity(parties);
    for number in 0..parties {
        insert.bind_text(1, &format!("Party {number}"))?;
        insert.run()?;
        ids.push(connection.last_insert_rowid());
    }
    let mut renamed = 0;
    for id in ids {
        find.bind_i64(1, id)?;
        let found = find.step()? == Step::Row;
        find.reset()?;
        rename.bind_i64(1, id)?;
        rename.run()?;
        renamed += i64::from(found) * connection.changes();
        delete.bind_i64(1, id)?;
        delete.run()?;
    }
    Ok(renamed)
}

const TABLES: [&str; 3] = ["people", "parties", "json_parties"];

/// The article's schema, which has no index besides the keys.
pub(super) fn create_tables(connection: &Connection) -> Result<()> {
    connection.execute(
        "CREATE TABLE parties(id INTEGER PRIMARY KEY AUTOINCREMENT, theme VARCHAR);
         CREATE TABLE people(id INTEGER PRIMARY KEY AUTOINCREMENT, party_id INTEGER, other_party_id INTEGER, name VARCHAR, address VARCHAR);
         CREATE TABLE json_parties(id INTEGER PRIMARY KEY AUTOINCREMENT, stuff TEXT)",
    )?;
    Ok(())
}

pub(super) fn empty_tables(connection: &Connection) -> Result<()> {
    connection.execute("BEGIN")?;
    for table in TABLES {
        connection.execute(&format!("DELETE FROM {table}"))?;
    }
    connection.execute("COMMIT")?;
    Ok(())
}

/// Returns the numbers from 1 to `count` as a table `n(i)`.
fn numbers(count: usize) -> String {
    format!("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {count})")
}

/// Makes parties; returns their ids.
fn make_parties(connection: &Connection, count: usize) -> Result<Vec<i64>> {
    connection.execute(&format!(
        "INSERT INTO parties(theme) {} SELECT 'Party ' || i FROM n",
        numbers(count)
    ))?;
    ids(connection, "parties")
}

/// Makes parties of JSON; returns their ids.
fn make_json(connection: &Connection, count: usize) -> Result<Vec<i64>> {
    connection.execute(&format!(
        r#"INSERT INTO json_parties(stuff) {} SELECT '{{"pumpkin":1,"candy":1}}' FROM n"#,
        numbers(count)
    ))?;
    ids(connection, "json_parties")
}

fn ids(connection: &Connection, table: &str) -> Result<Vec<i64>> {
    let sql = format!("SELECT id FROM {table} ORDER BY id");
    Ok(connection.query_rows(&sql, |row| Ok(row.column_i64(0)))?)
}

//! Each operation: the rows before it, its work, and what must be found by it and after it.

use engine::{Connection, Statement, Step};

use super::rows::{make_json, make_parties, make_people};
use super::threads;
use super::{Mode, Suite};
use crate::error::TrialError;

/// An operation whose rows are made.
pub(super) struct Operation<'s> {
    /// Does the work and returns a number that tells what was found.
    pub(super) work: Box<dyn FnOnce() -> Result<i64, TrialError> + 's>,
    /// The number that must be found.
    pub(super) wanted: i64,
    /// Queries and their answers after the work.
    pub(super) after: Vec<(&'static str, i64)>,
    /// Rows or statements by which the time is divided; 0 where nothing is done.
    pub(super) rows: usize,
}

const PARTIES: &str = "SELECT count(*) FROM parties";
const BY_ID: &str = "SELECT id, theme FROM parties WHERE id = ? LIMIT 1";
const PEOPLE_OF: &str =
    "SELECT id, party_id, other_party_id, name, address FROM people WHERE party_id = ?";

/// Makes the rows of an operation.
///
/// # Errors
/// SQLite's.
pub(super) fn prepare<'s>(
    suite: &'s Suite,
    name: &str,
    in_transaction: bool,
) -> Result<Operation<'s>, TrialError> {
    let n = suite.parameters.n;
    let corrected = suite.parameters.mode == Mode::Corrected;
    let maker = Maker {
        suite,
        connection: &suite.connection,
        // What the article's figures show to be a single object within a transaction.
        single: in_transaction && !corrected,
    };
    match name {
        "creation" => Ok(maker.creation(if corrected { 50 * n } else { 1 })),
        "select" => maker.select(100 * n, corrected),
        "select-by-pk" => maker.found_by(10 * n, BY_ID),
        "select-by-attr" => maker.found_by(
            10 * n,
            "SELECT id, theme FROM parties WHERE id = ? ORDER BY id LIMIT 1",
        ),
        "select-and-save" => maker.select_and_save(50 * n),
        "destruction" => maker.destruction(100 * n),
        "associated-creation" => Ok(maker.associated_creation(20 * n)),
        "eager-each-1-1" => maker.eager_each(20 * n, 1),
        "eager-joined-1-1" => maker.eager_joined(20 * n, 1),
        "eager-each-1-n" => maker.eager_each(n, n),
        "eager-joined-1-n" => maker.eager_joined(n, n),
        "eager-each-1-n-n" => maker.eager_each_both(n),
        "eager-joined-1-n-n" => maker.eager_joined_both(n),
        "lazy-1-1" => maker.lazy(20 * n, 1),
        "lazy-1-n" => maker.lazy(n, n),
        "select-json-nested" => maker.select_json(10 * n),
        "update-json-nested" => maker.update_json_nested(10 * n),
        "update-json" => maker.update_json(10 * n),
        "light-threading" => Ok(maker.threads((n as f64).sqrt().round() as usize)),
        _ => Ok(maker.threads(n)),
    }
}

struct Maker<'s> {
    suite: &'s Suite,
    connection: &'s Connection,
    single: bool,
}

impl<'s> Maker<'s> {
    fn creation(self, count: usize) -> Operation<'s> {
        let connection = self.connection;
        Operation {
            work: Box::new(move || {
                let mut insert = connection.prepare("INSERT INTO parties(theme) VALUES (?)")?;
                for number in 0..count {
                    insert.bind_text(1, &format!("Party {number}"))?;
                    insert.run()?;
                }
                Ok(count as i64)
            }),
            wanted: count as i64,
            after: vec![(PARTIES, count as i64)],
            rows: count,
        }
    }

    /// Loading every party; what the article's relation does without being executed is nothing.
    fn select(self, count: usize, executed: bool) -> Result<Operation<'s>, TrialError> {
        make_parties(self.connection, count)?;
        let connection = self.connection;
        Ok(Operation {
            work: Box::new(move || match executed {
                true => load(connection, "SELECT id, theme FROM parties"),
                false => Ok(0),
            }),
            wanted: if executed { count as i64 } else { 0 },
            after: vec![(PARTIES, count as i64)],
            rows: if executed { count } else { 0 },
        })
    }

    fn found_by(self, count: usize, sql: &'static str) -> Result<Operation<'s>, TrialError> {
        let ids = make_parties(self.connection, count)?;
        let connection = self.connection;
        Ok(Operation {
            wanted: ids.iter().sum(),
            rows: ids.len(),
            after: Vec::new(),
            work: Box::new(move || {
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
            }),
        })
    }

    fn select_and_save(self, count: usize) -> Result<Operation<'s>, TrialError> {
        make_parties(self.connection, count)?;
        let connection = self.connection;
        let characters = connection.query_i64(CHARACTERS)?;
        Ok(Operation {
            work: Box::new(move || {
                let mut parties = Vec::new();
                connection.for_each_row("SELECT id, theme FROM parties", |row| {
                    parties.push((row.column_i64(0), format!("{}1", row.column_text(1)?)));
                    Ok(())
                })?;
                let mut save = connection.prepare("UPDATE parties SET theme = ? WHERE id = ?")?;
                for (id, theme) in &parties {
                    save.bind_text(1, theme)?;
                    save.bind_i64(2, *id)?;
                    save.run()?;
                }
                Ok(parties.len() as i64)
            }),
            wanted: count as i64,
            after: vec![
                (CHARACTERS, characters + count as i64),
                (
                    "SELECT count(*) FROM parties WHERE theme LIKE '%1'",
                    count as i64,
                ),
            ],
            rows: count,
        })
    }

    fn destruction(self, count: usize) -> Result<Operation<'s>, TrialError> {
        let mut ids = make_parties(self.connection, count)?;
        if self.single {
            ids.truncate(1);
        }
        let connection = self.connection;
        Ok(Operation {
            wanted: ids.len() as i64,
            after: vec![(PARTIES, (count - ids.len()) as i64)],
            rows: ids.len(),
            work: Box::new(move || {
                let mut delete = connection.prepare("DELETE FROM parties WHERE id = ?")?;
                for id in &ids {
                    delete.bind_i64(1, *id)?;
                    delete.run()?;
                }
                Ok(ids.len() as i64)
            }),
        })
    }

    fn associated_creation(self, count: usize) -> Operation<'s> {
        let count = if self.single { 1 } else { count };
        let connection = self.connection;
        Operation {
            work: Box::new(move || {
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
            }),
            wanted: count as i64,
            after: vec![(
                "SELECT count(*) FROM people JOIN parties ON parties.id = party_id",
                count as i64,
            )],
            rows: 2 * count,
        }
    }

    fn with_people(&self, parties: usize, each: usize) -> Result<i64, TrialError> {
        make_parties(self.connection, parties)?;
        make_people(self.connection, each, "party_id")?;
        Ok((parties * each) as i64)
    }

    /// Reading only: the people that the work loads are all that must be found.
    fn reading(people: i64, work: impl FnOnce() -> Result<i64, TrialError> + 's) -> Operation<'s> {
        Operation {
            work: Box::new(work),
            wanted: people,
            after: Vec::new(),
            rows: people as usize,
        }
    }

    fn eager_each(self, parties: usize, each: usize) -> Result<Operation<'s>, TrialError> {
        let people = self.with_people(parties, each)?;
        let connection = self.connection;
        Ok(Maker::reading(people, move || {
            let ids = load_ids(connection)?;
            load_in(connection, "party_id", &ids)
        }))
    }

    fn eager_joined(self, parties: usize, each: usize) -> Result<Operation<'s>, TrialError> {
        let people = self.with_people(parties, each)?;
        let connection = self.connection;
        Ok(Maker::reading(people, move || {
            load(
                connection,
                "SELECT p.id, p.theme, q.id, q.party_id, q.other_party_id, q.name, q.address
                 FROM parties p LEFT OUTER JOIN people q ON q.party_id = p.id",
            )
        }))
    }

    fn with_both(&self, n: usize) -> Result<(), TrialError> {
        make_parties(self.connection, n)?;
        make_people(self.connection, n, "party_id")?;
        make_people(self.connection, n, "other_party_id")
    }

    fn eager_each_both(self, n: usize) -> Result<Operation<'s>, TrialError> {
        self.with_both(n)?;
        let connection = self.connection;
        Ok(Maker::reading((2 * n * n) as i64, move || {
            let ids = load_ids(connection)?;
            let own = load_in(connection, "party_id", &ids)?;
            Ok(own + load_in(connection, "other_party_id", &ids)?)
        }))
    }

    /// Each of the one with each of the other: n × n × n rows.
    fn eager_joined_both(self, n: usize) -> Result<Operation<'s>, TrialError> {
        self.with_both(n)?;
        let connection = self.connection;
        Ok(Operation {
            // As many objects come of them as without the join.
            rows: 2 * n * n,
            ..Maker::reading((n * n * n) as i64, move || {
                load(
                    connection,
                    "SELECT p.id, p.theme, q.id, q.party_id, q.other_party_id, q.name, q.address,
                            r.id, r.party_id, r.other_party_id, r.name, r.address
                     FROM parties p LEFT OUTER JOIN people q ON q.party_id = p.id
                                    LEFT OUTER JOIN people r ON r.other_party_id = p.id",
                )
            })
        })
    }

    fn lazy(self, parties: usize, each: usize) -> Result<Operation<'s>, TrialError> {
        let people = self.with_people(parties, each)?;
        let connection = self.connection;
        Ok(Maker::reading(people, move || {
            let mut query = connection.prepare(PEOPLE_OF)?;
            let mut found = 0;
            for id in load_ids(connection)? {
                query.bind_i64(1, id)?;
                found += read(&mut query)?;
            }
            Ok(found)
        }))
    }

    fn select_json(self, count: usize) -> Result<Operation<'s>, TrialError> {
        make_json(self.connection, count)?;
        let connection = self.connection;
        Ok(Maker::reading(count as i64, move || {
            let mut query = connection.prepare(
                "SELECT id, stuff FROM json_parties WHERE json_extract(stuff, '$.pumpkin') = 1 ORDER BY id LIMIT 1",
            )?;
            (0..count).map(|_| read(&mut query)).sum()
        }))
    }

    fn update_json_nested(self, count: usize) -> Result<Operation<'s>, TrialError> {
        let ids = make_json(self.connection, count)?;
        let connection = self.connection;
        Ok(Operation {
            work: Box::new(move || {
                let mut update = connection.prepare(
                    "UPDATE json_parties SET stuff = json_set(stuff, '$.pumpkin', '2') WHERE id = ?",
                )?;
                for id in &ids {
                    update.bind_i64(1, *id)?;
                    update.run()?;
                }
                Ok(ids.len() as i64)
            }),
            wanted: count as i64,
            after: vec![(
                r#"SELECT count(*) FROM json_parties WHERE stuff = '{"pumpkin":"2","candy":1}'"#,
                count as i64,
            )],
            rows: count,
        })
    }

    fn update_json(self, count: usize) -> Result<Operation<'s>, TrialError> {
        let ids = make_json(self.connection, count)?;
        let connection = self.connection;
        Ok(Operation {
            work: Box::new(move || {
                let mut query = connection
                    .prepare("SELECT id, stuff FROM json_parties WHERE id = ? LIMIT 1")?;
                let mut update =
                    connection.prepare("UPDATE json_parties SET stuff = ? WHERE id = ?")?;
                let mut found = 0;
                for id in &ids {
                    query.bind_i64(1, *id)?;
                    found += read(&mut query)?;
                    update.bind_text(1, r#"{"pumpkin":2,"candy":1}"#)?;
                    update.bind_i64(2, *id)?;
                    update.run()?;
                }
                Ok(found)
            }),
            wanted: count as i64,
            after: vec![(
                r#"SELECT count(*) FROM json_parties WHERE stuff = '{"pumpkin":2,"candy":1}'"#,
                count as i64,
            )],
            rows: count,
        })
    }

    fn threads(self, count: usize) -> Operation<'s> {
        let n = self.suite.parameters.n;
        let suite = self.suite;
        Operation {
            work: Box::new(move || threads::work(suite, count)),
            wanted: (count * n) as i64,
            after: vec![(PARTIES, 0)],
            rows: threads::WRITES * n * count,
        }
    }
}

const CHARACTERS: &str = "SELECT sum(length(theme)) FROM parties";

/// Every column of every row is looked at, as a mapper does; returns the rows.
fn read(query: &mut Statement<'_, '_>) -> Result<i64, TrialError> {
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

fn load(connection: &Connection, sql: &str) -> Result<i64, TrialError> {
    read(&mut connection.prepare(sql)?)
}

fn load_ids(connection: &Connection) -> Result<Vec<i64>, TrialError> {
    let mut ids = Vec::new();
    connection.for_each_row("SELECT id, theme FROM parties", |row| {
        ids.push(row.column_i64(0));
        std::hint::black_box(row.column_text(1)?);
        Ok(())
    })?;
    Ok(ids)
}

/// The people of these parties by one query with a list, as a mapper asks it.
fn load_in(connection: &Connection, column: &str, ids: &[i64]) -> Result<i64, TrialError> {
    let places = vec!["?"; ids.len()].join(", ");
    let mut query = connection.prepare(&format!(
        "SELECT id, party_id, other_party_id, name, address FROM people WHERE {column} IN ({places})"
    ))?;
    for (place, id) in ids.iter().enumerate() {
        query.bind_i64(place as i32 + 1, *id)?;
    }
    read(&mut query)
}

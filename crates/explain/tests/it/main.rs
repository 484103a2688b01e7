//! Faults that are planted in statements on a small shop, and statements without any.

use std::path::Path;
use std::sync::Arc;

use engine::{Connection, Library, OpenFlags, Source};
use pragmark_explain::advisor::{Advice, advise};
use pragmark_explain::faults::{Cause, Fault, faults};
use pragmark_explain::observe::Observation;
use pragmark_explain::{Needs, Query, Subject, values};

mod advice;
mod faulty;
mod healthy;
mod implied;
mod loops;
mod originals;

/// Makes a database in a folder.
fn subject(folder: &Path, schema: &str) -> Subject {
    let path = folder.join("shop.db");
    let library = Arc::new(Library::load(&Source::Embedded).unwrap());
    let connection = Connection::open(&library, &path, OpenFlags::default(), None).unwrap();
    connection.execute("PRAGMA synchronous = off; PRAGMA journal_mode = memory").unwrap();
    connection.execute(schema).unwrap();
    connection.close().unwrap();
    Subject::open(&path, None, Needs::default()).unwrap()
}

/// Returns a statement with values for its parameters.
fn query(subject: &Subject, name: &str, sql: &str) -> Query {
    let connection = subject.connect().unwrap();
    let statement = connection.prepare(sql).unwrap();
    let values = values::draw(&connection, &subject.schema, &statement, &[]).unwrap();
    Query { name: name.to_owned(), sql: sql.to_owned(), weight: 1.0, values }
}

struct Explained {
    observation: Observation,
    advice: Advice,
    faults: Vec<Fault>,
}

fn explained(subject: &Subject, sql: &str) -> Explained {
    let query = query(subject, "query", sql);
    let observation = subject.observe(&query).unwrap();
    let advice = advise(subject, &[(query.clone(), None)], &|| 0.0).unwrap();
    let faults = faults(subject, &query, &observation, &advice).unwrap();
    Explained { observation, advice, faults }
}

/// The names of the causes.
fn causes(explained: &Explained) -> Vec<String> {
    let name =
        |cause: &Cause| format!("{cause:?}").split([' ', '{']).next().unwrap_or("").to_owned();
    explained.faults.iter().map(|fault| name(&fault.cause)).collect()
}

/// A shop whose statements have a use of its indexes.
const SHOP: &str = "
    CREATE TABLE customers(id INTEGER PRIMARY KEY, email TEXT NOT NULL UNIQUE, name TEXT, country TEXT, created_at TEXT);
    CREATE TABLE products(id INTEGER PRIMARY KEY, sku TEXT UNIQUE, title TEXT, category TEXT, price INTEGER, stock INTEGER);
    CREATE TABLE orders(id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customers(id), status TEXT, created_at TEXT, total INTEGER);
    CREATE TABLE items(id INTEGER PRIMARY KEY, order_id INTEGER REFERENCES orders(id), product_id INTEGER, qty INTEGER);
    CREATE TABLE legacy(code TEXT PRIMARY KEY, note TEXT);
    CREATE INDEX orders_by_status ON orders(status, created_at);
    CREATE INDEX items_by_order ON items(order_id);
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
      INSERT INTO customers SELECT i, 'User' || i || '@example.com', 'Name ' || (i * 7919 % 2000), substr('DEFRUSGB', 1 + 2 * (i % 4), 2),
        datetime('2024-01-01', (i * 7919 % 500000) || ' minutes') FROM n;
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
      INSERT INTO products SELECT i, printf('SKU%05d', i), 'Product ' || (i * 31 % 1000), 'cat' || (i % 20), 100 + i * 37 % 5000, i % 50 FROM n;
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 8000)
      INSERT INTO orders SELECT i, 1 + (i * 7919) % 2000, CASE i % 10 WHEN 0 THEN 'open' WHEN 1 THEN 'sent' ELSE 'paid' END,
        datetime('2024-01-01', (i * 104729 % 600000) || ' minutes'), 500 + i * 53 % 9000 FROM n;
    INSERT INTO items SELECT id, 1 + (id * 15485863) % 8000, 1 + (id * 7919) % 1000, 1 + id % 4 FROM orders;
    CREATE TABLE events(id INTEGER PRIMARY KEY, customer_id INTEGER, day TEXT, kind TEXT);
    CREATE INDEX events_by_customer ON events(customer_id, day);
    INSERT INTO events SELECT id, customer_id, date(created_at), status FROM orders;
    INSERT INTO legacy SELECT id, 'note ' || id FROM orders WHERE id <= 2000;
";

//! Indexes for whole workloads.

use super::{SHOP, query, subject};
use pragmark_explain::advisor::advise;

fn made(schema: &str, statements: &[(&str, f64)]) -> (Vec<String>, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let subject = subject(folder.path(), schema);
    let queries: Vec<_> = statements
        .iter()
        .map(|(sql, weight)| pragmark_explain::Query {
            weight: *weight,
            ..query(&subject, sql, sql)
        })
        .collect();
    let advice = advise(&subject, &queries, None).unwrap();
    let made = advice.made.into_iter().map(|made| made.on).collect();
    (made, advice.dropped.into_iter().map(|dropped| dropped.name).collect())
}

#[test]
fn one_index_serves_condition_and_order() {
    let sql =
        "SELECT id, total FROM orders WHERE customer_id = :c ORDER BY created_at DESC LIMIT 20";
    let (made, dropped) = made(SHOP, &[(sql, 1.0)]);
    assert_eq!(made, ["orders(customer_id, created_at)"]);
    assert!(dropped.is_empty());
}

#[test]
fn an_existing_index_is_extended_and_not_joined_by_a_second() {
    let cards = "CREATE TABLE cards(id INTEGER PRIMARY KEY, did INT, queue INT, due INT, ord INT, data TEXT);
        CREATE INDEX cards_by_queue ON cards(did, queue, due);
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 8000)
        INSERT INTO cards SELECT i, i % 4, i / 7 % 3, i * 31 % 401, i % 97, 'text' FROM n;";
    let statements = [
        (
            "SELECT id, ord FROM cards WHERE did = :did AND queue = 2 AND due <= :due ORDER BY due, ord LIMIT 50",
            10.0,
        ),
        ("SELECT count(*) FROM cards WHERE did = :did AND queue = 1 AND due <= 3", 10.0),
    ];
    let (made, dropped) = made(cards, &statements);
    assert_eq!(made, ["cards(did, queue, due, ord)"]);
    assert_eq!(dropped, ["cards_by_queue"]);
}

#[test]
fn an_index_that_costs_writers_more_than_it_saves_is_not_advised() {
    let read = "SELECT id FROM customers WHERE created_at = :c";
    let write = "UPDATE customers SET created_at = datetime(created_at, '1 day')";
    let (seldom, _) = made(SHOP, &[(read, 1.0), (write, 100.0)]);
    assert!(seldom.is_empty(), "{seldom:?}");
    let (often, _) = made(SHOP, &[(read, 100.0), (write, 0.1)]);
    assert_eq!(often, ["customers(created_at)"]);
}

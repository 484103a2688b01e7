//! Work that a statement causes without naming it: by triggers and foreign keys.

use pragmark_explain::advisor::advise;
use pragmark_explain::faults::{Cause, Fault, Remedy};

use super::{SHOP, causes, explained, query, subject};

/// Totals that triggers keep, one of them by another, and reviews that go with their product.
const LEDGER: &str = "
    CREATE TABLE totals(customer_id INTEGER, total INTEGER);
    INSERT INTO totals SELECT id, 0 FROM customers;
    CREATE TABLE log(id INTEGER PRIMARY KEY, customer_id INTEGER);
    CREATE TRIGGER logged AFTER UPDATE OF status ON orders BEGIN
      INSERT INTO log(customer_id) VALUES (new.customer_id);
    END;
    CREATE TRIGGER counted AFTER INSERT ON log WHEN new.customer_id > 0 BEGIN
      UPDATE totals SET total = total + 1 WHERE customer_id = new.customer_id;
      SELECT RAISE(ABORT, 'none') WHERE NOT EXISTS (SELECT 1 FROM customers WHERE id = new.customer_id);
    END;
    CREATE TABLE reviews(id INTEGER PRIMARY KEY, product_id INTEGER REFERENCES products(id) ON DELETE CASCADE);
    INSERT INTO reviews SELECT id, 1 + id % 1000 FROM orders;
    CREATE TABLE stock(product_id INTEGER REFERENCES products(id) ON DELETE RESTRICT);
    INSERT INTO stock SELECT id FROM products;
    CREATE INDEX stock_by_product ON stock(product_id);";

#[test]
fn a_trigger_that_scans_is_named_and_gets_its_index() {
    let folder = tempfile::tempdir().unwrap();
    let subject = subject(folder.path(), &format!("{SHOP}{LEDGER}"));
    let explained = explained(&subject, "UPDATE orders SET status = 'sent' WHERE id = 7");
    let made: Vec<&str> = explained.advice.made.iter().map(|made| made.on.as_str()).collect();
    assert_eq!(made, ["totals(customer_id)"]);
    let (name, table) = ("counted".to_owned(), "totals".to_owned());
    let cause = Cause::Trigger { name, table, visited: 2000 };
    assert_eq!(explained.faults, [Fault { cause, remedy: Remedy::Indexes(0) }]);
}

#[test]
fn a_trigger_that_no_index_helps_is_named_all_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let all = "CREATE TRIGGER summed AFTER UPDATE ON products BEGIN
        UPDATE products SET stock = (SELECT sum(total) FROM orders WHERE total <> new.price) WHERE id = 1;
        END;";
    let subject = subject(folder.path(), &format!("{SHOP}{all}"));
    let found = causes(&explained(&subject, "UPDATE products SET stock = 9 WHERE id = 7"));
    assert_eq!(found, ["Trigger"]);
}

#[test]
fn triggers_and_foreign_keys_that_search_are_not_named() {
    let folder = tempfile::tempdir().unwrap();
    let healthy = "CREATE INDEX totals_by_customer ON totals(customer_id);
        CREATE INDEX reviews_by_product ON reviews(product_id);";
    let subject = subject(folder.path(), &format!("{SHOP}{LEDGER}{healthy}"));
    for sql in [
        "UPDATE orders SET status = 'sent' WHERE id = 7",
        "DELETE FROM products WHERE id = 7",
        "DELETE FROM orders WHERE id = 7",
    ] {
        assert!(causes(&explained(&subject, sql)).is_empty(), "{sql}");
    }
}

#[test]
fn the_table_that_is_scanned_for_a_foreign_key_is_named_and_gets_its_index() {
    let folder = tempfile::tempdir().unwrap();
    let subject = subject(folder.path(), &format!("{SHOP}{LEDGER}"));
    for (sql, on) in [
        ("DELETE FROM products WHERE sku = 'SKU00077'", "reviews(product_id)"),
        ("DELETE FROM customers WHERE id = 7", "orders(customer_id)"),
    ] {
        let explained = explained(&subject, sql);
        let made: Vec<&str> = explained.advice.made.iter().map(|made| made.on.as_str()).collect();
        assert_eq!(made, [on], "{sql}");
        let is_key = matches!(
            &explained.faults[..],
            [Fault { cause: Cause::ForeignKey { visited: 8000, .. }, .. }]
        );
        assert!(is_key, "{sql}: {:?}", explained.faults);
    }
}

#[test]
fn an_index_for_foreign_keys_alone_is_marked_and_comes_last() {
    let folder = tempfile::tempdir().unwrap();
    let subject = subject(folder.path(), &format!("{SHOP}{LEDGER}"));
    let delete = "DELETE FROM customers WHERE id = 7";
    let made = |statements: &[&str]| {
        let queries: Vec<_> =
            statements.iter().map(|sql| (query(&subject, sql, sql), None)).collect();
        let made = advise(&subject, &queries, &|| 0.0).unwrap().made;
        made.into_iter().map(|made| (made.on, made.is_for_keys)).collect::<Vec<_>>()
    };
    let (on, other) = ("orders(customer_id)".to_owned(), "customers(name)".to_owned());
    let small = "SELECT id FROM customers WHERE name = 'Name 7'";
    assert_eq!(made(&[delete, small]), [(other, false), (on.clone(), true)]);
    let read = "SELECT id FROM orders WHERE customer_id = 7";
    assert_eq!(made(&[delete, read]), [(on, false)]);
}

#[test]
fn a_foreign_key_that_sqlite_does_not_understand_keeps_no_statement_from_its_explanation() {
    let folder = tempfile::tempdir().unwrap();
    let lost = "CREATE TABLE lost(id INTEGER PRIMARY KEY, of INTEGER REFERENCES nowhere(id));";
    let subject = subject(folder.path(), &format!("{SHOP}{lost}"));
    assert!(causes(&explained(&subject, "DELETE FROM lost WHERE id = 7")).is_empty());
}

#[test]
fn a_row_that_exists_already_is_said_to_be_refused() {
    let folder = tempfile::tempdir().unwrap();
    let subject = subject(folder.path(), &format!("{SHOP}{LEDGER}"));
    let explained = explained(&subject, "INSERT INTO legacy VALUES ('5', 'five')");
    let why = "UNIQUE constraint failed: legacy.code";
    assert_eq!(explained.observation.refused.as_deref(), Some(why));
    assert!(explained.advice.failed.is_empty(), "{:?}", explained.advice.failed);
}

//! Work that a statement causes without naming it: by triggers and foreign keys.

use pragmark_explain::advisor::advise;
use pragmark_explain::faults::{Cause, Fault, Remedy};
use pragmark_explain::observe::WITHOUT_PARENT;

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
    // A cascade finds the rows twice: to count and to delete them.
    for (sql, on, rows) in [
        ("DELETE FROM products WHERE sku = 'SKU00077'", "reviews(product_id)", 16_000),
        ("DELETE FROM customers WHERE id = 7", "orders(customer_id)", 8000),
    ] {
        let explained = explained(&subject, sql);
        let made: Vec<&str> = explained.advice.made.iter().map(|made| made.on.as_str()).collect();
        assert_eq!(made, [on], "{sql}");
        let is_key = matches!(
            &explained.faults[..],
            [Fault { cause: Cause::ForeignKey { visited, .. }, .. }] if *visited == rows
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

/// A blog without indexes of its foreign keys, by which a deleted user takes posts along, and these comments.
const BLOG: &str = "
    CREATE TABLE users(id INTEGER PRIMARY KEY, name TEXT);
    CREATE TABLE posts(id INTEGER PRIMARY KEY, author_id INTEGER REFERENCES users(id) ON DELETE CASCADE, views INTEGER);
    CREATE TABLE comments(id INTEGER PRIMARY KEY, post_id INTEGER REFERENCES posts(id) ON DELETE CASCADE,
      user_id INTEGER REFERENCES users(id), parent_id INTEGER REFERENCES comments(id));
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4000)
      INSERT INTO comments SELECT i, 1 + i % 800, 1 + i % 399, nullif(i / 2, 0) FROM n;
    INSERT INTO users SELECT id, 'Name ' || id FROM comments WHERE id <= 400;
    INSERT INTO posts SELECT id, 1 + id % 400, 0 FROM comments WHERE id <= 800;";

#[test]
fn the_keys_that_a_cascade_reaches_get_their_indexes_together() {
    let folder = tempfile::tempdir().unwrap();
    let subject = subject(folder.path(), BLOG);
    let keys =
        ["comments(parent_id)", "comments(post_id)", "comments(user_id)", "posts(author_id)"];
    for (sql, keys) in [
        ("DELETE FROM users WHERE id = 400", &keys[..]),
        ("DELETE FROM posts WHERE id = 7", &keys[..2]),
    ] {
        let explained = explained(&subject, sql);
        let mut made: Vec<_> = explained.advice.made.iter().map(|made| &*made.on).collect();
        made.sort_unstable();
        assert_eq!(made, keys, "{sql}");
        assert!(explained.advice.made.iter().all(|made| made.is_for_keys), "{sql}");
        let named = explained.faults.iter().filter_map(|fault| match &fault.cause {
            Cause::ForeignKey { child, columns, visited } => {
                Some((&**child, columns.len(), *visited))
            }
            _ => None,
        });
        // Six or more scans of comments that the plan does not show: by the keys of the deleted row, and of each row that goes with it.
        let repeated = explained.observation.repeated()["comments"];
        assert!(repeated > 23_000, "{sql}: {repeated}");
        let named: Vec<_> = named.collect();
        assert!(named.contains(&("comments", keys.len().min(3), repeated + 4000)), "{named:?}");
    }
}

#[test]
fn rows_that_would_lack_their_parent_are_said_to_be_refused() {
    let folder = tempfile::tempdir().unwrap();
    let subject = subject(folder.path(), BLOG);
    let refused = |sql| explained(&subject, sql).observation.refused;
    let failed = Some(WITHOUT_PARENT.to_owned());
    assert_eq!(refused("DELETE FROM users WHERE id = 5"), failed);
    assert_eq!(refused("INSERT INTO comments(post_id) VALUES (9999)"), failed);
    assert_eq!(refused("DELETE FROM comments WHERE id = 4000"), None);
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

#[test]
fn rows_that_are_read_for_a_key_of_the_table_itself_are_not_those_of_the_statement() {
    let folder = tempfile::tempdir().unwrap();
    let replies = "CREATE TABLE messages(id INTEGER PRIMARY KEY, sent INT, reply INT REFERENCES messages(id));
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9000)
        INSERT INTO messages SELECT i, i * 7919 % 9001, NULL FROM n;";
    let subject = subject(folder.path(), replies);
    let explained = explained(&subject, "DELETE FROM messages WHERE sent < 20");
    let table = || "messages".to_owned();
    let causes: Vec<&Cause> = explained.faults.iter().map(|fault| &fault.cause).collect();
    let own = Cause::Filter { table: table(), visited: 9000, kept: Some(19) };
    assert!(causes.contains(&&own), "{causes:?}");
    let is_of_key =
        |cause: &&Cause| matches!(cause, Cause::ForeignKey { visited, .. } if *visited > 100_000);
    assert!(causes.iter().any(is_of_key), "{causes:?}");
}

//! Statements that have what they need: nothing is said of them.

use super::{SHOP, causes, explained, subject};
use pragmark_explain::faults::Remedy;

const HEALTHY: [&str; 78] = [
    "SELECT * FROM customers WHERE id = :id",
    "SELECT id FROM customers WHERE email = :email",
    "SELECT * FROM products WHERE sku = ?",
    "SELECT o.id, i.qty FROM orders o JOIN items i ON i.order_id = o.id WHERE o.id = :id",
    "SELECT p.title, i.qty FROM items i JOIN products p ON p.id = i.product_id WHERE i.order_id = :order_id",
    "SELECT id FROM orders WHERE status = 'open' ORDER BY created_at LIMIT 10",
    "SELECT id, created_at FROM orders WHERE status = 'open' ORDER BY created_at DESC LIMIT 10",
    "SELECT count(*) FROM customers",
    "SELECT max(id) FROM orders",
    "INSERT INTO customers(email, name) VALUES (:email, :name)",
    "UPDATE customers SET name = :name WHERE id = :id",
    "DELETE FROM orders WHERE id = :id",
    "SELECT c.name FROM orders o JOIN customers c ON c.id = o.customer_id WHERE o.id BETWEEN 10 AND 20",
    "SELECT id FROM customers WHERE id IN (1, 5, 9)",
    "SELECT name FROM customers ORDER BY id LIMIT 20",
    "SELECT name FROM customers WHERE id > 500 ORDER BY id LIMIT 20",
    "SELECT EXISTS (SELECT 1 FROM items WHERE order_id = :order_id)",
    "SELECT id FROM orders WHERE status = 'sent' AND created_at > '2025-02-01' ORDER BY created_at",
    "SELECT (SELECT count(*) FROM items i WHERE i.order_id = o.id) FROM orders o WHERE o.id < 30",
    "SELECT 1",
    "SELECT a.id, b.title FROM orders a CROSS JOIN products b WHERE a.id < 3",
    "SELECT o.id, value FROM orders o, json_each('[1, 2, 3]') WHERE o.id < 900",
    "SELECT o.id, i.qty FROM orders o, items i WHERE +i.order_id = o.id AND i.id < 30 AND o.id < 9000",
    "WITH recent AS (SELECT id FROM orders ORDER BY id DESC LIMIT 5) SELECT * FROM recent",
    "SELECT sku FROM products WHERE sku > 'SKU00100' ORDER BY sku LIMIT 10",
    "INSERT INTO items(order_id, product_id, qty) VALUES (:order_id, 3, 1)",
    "SELECT code FROM legacy WHERE code = :code",
    "SELECT * FROM orders WHERE id = :id",
    "SELECT total FROM orders WHERE id IN (1, 20, 300)",
    "SELECT name FROM customers WHERE email = :email AND country = 'DE'",
    "SELECT min(email) FROM customers",
    "SELECT min(total), max(total) FROM orders WHERE id < 10",
    "SELECT total FROM orders WHERE id = 5 AND date(created_at) = '2024-03-01'",
    "SELECT id FROM events WHERE customer_id = :c AND strftime('%Y-%m', day) = '2024-03'",
    "SELECT name FROM customers WHERE id < 9 AND id NOT IN (SELECT customer_id FROM orders WHERE id < 5)",
    "SELECT id FROM customers INDEXED BY sqlite_autoindex_customers_1 WHERE email = :email",
    "SELECT name FROM customers WHERE +country = 'DE' AND id = 3",
    "WITH few AS MATERIALIZED (SELECT id FROM orders WHERE id < 5) SELECT name FROM customers JOIN few USING (id)",
    "SELECT id FROM customers WHERE id = :id AND (:name IS NULL OR name = :name)",
    "SELECT c.name, o.id FROM customers c LEFT JOIN orders o ON o.customer_id = c.id WHERE o.id = 77",
    "SELECT id FROM orders WHERE status = 'open' AND created_at = :created_at",
    "SELECT day FROM events WHERE customer_id = :customer_id ORDER BY day",
    "SELECT DISTINCT status FROM orders",
    "SELECT status, count(DISTINCT created_at) FROM orders GROUP BY status",
    "SELECT date(created_at, 'localtime'), count(*) FROM orders GROUP BY 1",
    "SELECT lower(kind), count(*) FROM events WHERE customer_id = :customer_id GROUP BY 1",
    "SELECT id FROM customers WHERE id < 9 AND id NOT IN (SELECT order_id FROM items)",
    "SELECT count(*) FROM orders o WHERE EXISTS (SELECT 1 FROM items i WHERE i.order_id = o.id) AND o.id < 9",
    "SELECT day FROM events WHERE customer_id = :customer_id ORDER BY day DESC LIMIT 3",
    "SELECT id FROM events WHERE customer_id = :customer_id AND day > '2024-06-01'",
    "SELECT count(*) FROM events WHERE customer_id = :customer_id",
    "SELECT note FROM legacy WHERE code = '77'",
    "SELECT note FROM legacy WHERE code IN ('1', '2')",
    "SELECT title FROM products WHERE id BETWEEN 5 AND 9",
    "SELECT title, price FROM products WHERE sku = 'SKU00077'",
    "SELECT sku FROM products ORDER BY sku LIMIT 5",
    "SELECT email FROM customers ORDER BY email DESC LIMIT 5",
    "SELECT o.total FROM customers c JOIN orders o ON o.id = c.id WHERE c.email = :email",
    "SELECT i.qty FROM items i WHERE i.order_id IN (5, 6, 7)",
    "SELECT sum(qty) FROM items WHERE order_id = :order_id",
    "SELECT 1 FROM customers WHERE id = 9 UNION ALL SELECT 2 FROM orders WHERE id = 9",
    "SELECT * FROM (SELECT id FROM orders WHERE id < 10) WHERE id > 3",
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10) SELECT i FROM n",
    "SELECT upper(name) FROM customers WHERE id = 3",
    "SELECT lower(email) FROM customers WHERE email = :email",
    "SELECT id FROM customers WHERE email LIKE 'User77@%' AND id = 77",
    "SELECT count(*) FROM (SELECT 1 FROM items WHERE order_id = :order_id)",
    "UPDATE orders SET status = 'sent' WHERE id = :id",
    "UPDATE products SET stock = stock - 1 WHERE sku = :sku",
    "UPDATE items SET qty = qty + 1 WHERE order_id = :order_id",
    "DELETE FROM orders WHERE id IN (7, 8)",
    "DELETE FROM legacy WHERE code = :code",
    "REPLACE INTO legacy VALUES ('5', 'five')",
    "INSERT INTO events(customer_id, day, kind) VALUES (:customer_id, date('now'), 'paid')",
    "INSERT INTO legacy VALUES ('new', 'note') ON CONFLICT(code) DO UPDATE SET note = 'again'",
    "INSERT INTO orders(customer_id, status, total) SELECT id, 'open', 0 FROM customers WHERE id = 5",
    "VALUES (1), (2)",
    "SELECT date('now'), random()",
];

#[test]
fn nothing_is_said_of_statements_that_have_what_they_need() {
    let folder = tempfile::tempdir().unwrap();
    let subject = subject(folder.path(), SHOP);
    let mut wrong = Vec::new();
    for sql in HEALTHY {
        let explained = explained(&subject, sql);
        let found = causes(&explained);
        let made: Vec<&str> = explained.advice.made.iter().map(|made| made.on.as_str()).collect();
        if !found.is_empty() || !made.is_empty() {
            wrong.push(format!("{sql}\n    found {found:?} {made:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_text_that_would_give_other_rows_for_other_values_is_not_offered() {
    let folder = tempfile::tempdir().unwrap();
    let subject = subject(
        folder.path(),
        "CREATE TABLE ev(id INTEGER PRIMARY KEY, at DATETIME, k INT, n INT, ms INT);
         WITH RECURSIVE i(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM i WHERE x < 9000)
           INSERT INTO ev SELECT x, printf('2024-05-%02d', x % 28 + 1), x % 900, x % 900,
             CASE x % 500 WHEN 0 THEN 1715000000000 ELSE 1715000000 + x END FROM i",
    );
    for sql in [
        // Beside a column of dates, which has the affinity of numbers, '2024' is a number.
        "SELECT id FROM ev WHERE strftime('%Y', at) >= '2023' AND k = 3",
        "SELECT id FROM ev WHERE n < 890 AND :p IS NULL OR k = :p",
        "SELECT id FROM ev WHERE k = :p OR :p IS NULL AND n < 890",
        "SELECT min(CASE WHEN n IS DISTINCT FROM 3 THEN k END), max(k) FROM ev",
        "SELECT id FROM ev WHERE date(ms, 'unixepoch') >= '2023-11-20' AND k = 3",
        "SELECT (SELECT count(n) FROM ev WHERE k = 5) > 0",
        "SELECT id FROM ev WHERE date(at, 'localtime') = '2024-05-08'",
    ] {
        let found = explained(&subject, sql);
        let texts =
            found.faults.iter().filter(|fault| matches!(fault.remedy, Remedy::Rewrite { .. }));
        assert_eq!(texts.count(), 0, "{sql}");
        // Writes would fail later.
        assert!(!found.advice.sql().concat().contains("localtime"), "{sql}");
    }
}

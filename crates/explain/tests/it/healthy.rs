//! Statements that have what they need: nothing is said of them.

use super::{SHOP, causes, explained, subject};

const HEALTHY: [&str; 24] = [
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
    "WITH recent AS (SELECT id FROM orders ORDER BY id DESC LIMIT 5) SELECT * FROM recent",
    "SELECT sku FROM products WHERE sku > 'SKU00100' ORDER BY sku LIMIT 10",
    "INSERT INTO items(order_id, product_id, qty) VALUES (:order_id, 3, 1)",
    "SELECT code FROM legacy WHERE code = :code",
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

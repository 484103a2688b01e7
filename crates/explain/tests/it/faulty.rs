//! Statements with a known fault: it is named, and the remedy was tried.

use engine::Value;
use pragmark_explain::Query;
use pragmark_explain::advisor::advise;
use pragmark_explain::faults::{Cause, Fault, Remedy, faults};

use super::{SHOP, causes, explained, query, subject};

/// Kinds of faults, each with statements that have it.
const FAULTY: [(&str, &[&str]); 27] = [
    (
        "Filter",
        &[
            "SELECT o.id, c.name FROM customers c JOIN orders o ON o.customer_id = c.id WHERE c.id = :id",
            "SELECT title FROM products WHERE price = :price AND category = 'cat3'",
            "SELECT id, total FROM orders WHERE customer_id = :customer_id",
            "SELECT * FROM items WHERE product_id = ?",
            "SELECT count(*) FROM customers WHERE country = 'DE' AND name = :name",
            "UPDATE orders SET total = total + 1 WHERE customer_id = :customer_id",
            "DELETE FROM items WHERE product_id = 77",
        ],
    ),
    (
        "Function",
        &[
            "SELECT id FROM orders WHERE abs(total) = 733",
            "SELECT id FROM orders o WHERE o.total % 4000 = 57",
            "SELECT id FROM orders WHERE -total = -733",
            "SELECT id FROM orders WHERE total - customer_id * 2 > 9000",
            "SELECT id FROM items WHERE order_id > 0 AND product_id || '-' || qty = '77-2'",
            "SELECT id FROM products p WHERE trim(p.title) = 'Product 31'",
            "SELECT id FROM customers WHERE lower(email) = 'user77@example.com'",
            "SELECT id FROM customers c WHERE upper(c.name) = 'NAME 77'",
            "SELECT total FROM orders WHERE date(created_at) = '2024-03-01'",
            "SELECT id FROM products WHERE substr(title, 1, 11) = 'Product 400'",
            "SELECT id FROM orders WHERE strftime('%Y-%m-%d %H', created_at) = '2024-05-01 10'",
        ],
    ),
    (
        "Collation",
        &[
            "UPDATE customers SET country = 'US' WHERE name = 'NAME 12' COLLATE NOCASE",
            "SELECT id FROM customers WHERE email = 'user77@example.com' COLLATE NOCASE",
            "SELECT id FROM customers WHERE name = 'name 77' COLLATE NOCASE",
            "SELECT id FROM products WHERE sku LIKE 'SKU0012%'",
            "SELECT id FROM customers WHERE email LIKE 'user77%'",
            "SELECT id, title FROM products WHERE title LIKE 'product 77%'",
        ],
    ),
    (
        "Affinity",
        &[
            "SELECT count(*) FROM orders o JOIN legacy l ON o.total = l.code WHERE o.status = 'open'",
            "SELECT l.note FROM products p JOIN legacy l ON l.code = p.price WHERE p.id < 40",
            "SELECT e.day FROM events e JOIN legacy l ON l.code = e.customer_id WHERE e.id < 20",
            "SELECT o.id, l.note FROM orders o JOIN legacy l ON l.code = o.customer_id WHERE o.id < 30",
            "SELECT l.note FROM items i JOIN legacy l ON i.product_id = l.code WHERE i.order_id = :order_id",
        ],
    ),
    (
        "Or",
        &[
            "SELECT id FROM orders WHERE customer_id = :a OR total = :b",
            "SELECT id FROM customers WHERE name = 'Name 7' OR created_at = '2024-01-01 10:00:00'",
            "SELECT id FROM items WHERE product_id = 3 OR qty = 9",
            "SELECT id FROM customers WHERE email = :e OR name = :n",
            "SELECT id FROM products WHERE title = :t OR price = :p",
            "SELECT id FROM customers WHERE lower(email) = :e OR name = :n",
        ],
    ),
    (
        "Since",
        &[
            "SELECT id FROM orders WHERE julianday('now') - julianday(created_at) < 30",
            "SELECT id FROM customers c WHERE strftime('%s', 'now') - strftime('%s', c.created_at) <= 3600 * 24",
            "SELECT count(*) FROM orders WHERE status = 'paid' AND unixepoch('2024-01-02') - unixepoch(created_at) > 86000",
            "SELECT id FROM items WHERE abs(-100000) - product_id > 99990",
        ],
    ),
    (
        "Product",
        &[
            "SELECT c.name, o.total FROM customers c, orders o WHERE c.id < 9 AND o.status = 'open'",
            "SELECT count(*) FROM products p JOIN items i WHERE p.id < 5 AND i.qty > 1",
            "SELECT o.id FROM orders o, items i, products p WHERE o.id = i.order_id AND o.id < 9 AND p.stock < 40",
        ],
    ),
    (
        "WithoutMatch",
        &[
            "SELECT c.name FROM customers c LEFT JOIN orders o ON o.status = 'open' AND o.total > c.id WHERE o.id IS NULL",
            "SELECT c.id FROM customers c LEFT OUTER JOIN orders AS o ON o.status = 'paid' AND o.total > c.id WHERE c.id < 90 AND o.status IS NULL ORDER BY c.id",
        ],
    ),
    (
        "Latest",
        &[
            "SELECT o.* FROM orders o JOIN (SELECT customer_id, max(created_at) AS latest FROM orders GROUP BY customer_id) l ON l.customer_id = o.customer_id AND o.created_at = l.latest WHERE o.customer_id BETWEEN 10 AND 20",
            "SELECT c.name, o.total FROM customers c JOIN orders o ON o.customer_id = c.id INNER JOIN (SELECT min(created_at) first, customer_id of FROM orders WHERE status = 'paid' GROUP BY customer_id) AS f ON o.created_at = f.first AND f.of = o.customer_id WHERE c.email = :e",
        ],
    ),
    (
        "Position",
        &[
            "SELECT kind FROM events WHERE day = '2024-05-05' AND kind = 'paid'",
            "DELETE FROM events WHERE day = '2024-06-06'",
            "SELECT id FROM events WHERE day = :day",
            "SELECT id, kind FROM events WHERE day > '2025-02-18'",
            "SELECT count(*) FROM events WHERE day BETWEEN '2024-05-01' AND '2024-05-02'",
        ],
    ),
    (
        "Sort",
        &[
            "SELECT id, total FROM orders ORDER BY total DESC LIMIT 10",
            "SELECT id, name FROM customers ORDER BY created_at LIMIT 20",
            "SELECT id, total FROM orders WHERE customer_id = :c ORDER BY created_at DESC LIMIT 20",
            "SELECT id, title FROM products WHERE category = :category ORDER BY price LIMIT 5",
            "SELECT * FROM items ORDER BY qty, product_id LIMIT 10",
        ],
    ),
    (
        "Group",
        &[
            "SELECT product_id, max(qty) FROM items GROUP BY product_id",
            "SELECT customer_id, count(*) FROM orders GROUP BY customer_id",
            "SELECT product_id, sum(qty) FROM items GROUP BY product_id",
            "SELECT date(created_at), count(*) FROM orders GROUP BY date(created_at)",
            "SELECT strftime('%Y-%m', o.created_at) AS month, sum(total) FROM orders o GROUP BY month",
            "SELECT total / 1000, count(*) FROM orders GROUP BY 1 ORDER BY 1",
            "SELECT customer_id, lower(status), count(*) FROM orders GROUP BY customer_id, lower(status)",
        ],
    ),
    (
        "Distinct",
        &[
            "SELECT count(DISTINCT customer_id) FROM orders",
            "SELECT DISTINCT product_id FROM items",
            "SELECT DISTINCT date(created_at) FROM customers",
        ],
    ),
    (
        "List",
        &[
            "SELECT id FROM customers WHERE id NOT IN (SELECT product_id FROM items)",
            "SELECT count(*) FROM products WHERE title NOT IN (SELECT name FROM customers)",
        ],
    ),
    (
        "Direction",
        &[
            "SELECT id FROM orders ORDER BY status DESC, created_at LIMIT 10",
            "SELECT id, status FROM orders ORDER BY status, created_at DESC LIMIT 5",
            "SELECT id FROM orders ORDER BY status, created_at DESC LIMIT 10",
        ],
    ),
    (
        "AutomaticIndex",
        &[
            "SELECT c.id, e.id FROM customers c LEFT JOIN events e ON e.kind = c.name",
            "SELECT c.name, p.title FROM customers c JOIN products p ON p.title = c.name",
            "SELECT p.id, c.id FROM products p LEFT JOIN customers c ON c.name = p.title",
        ],
    ),
    ("NotCovering", &["SELECT sum(total) FROM orders WHERE status = 'paid'"]),
    (
        "Offset",
        &[
            "SELECT id, total FROM orders ORDER BY id LIMIT 20 OFFSET 7000",
            "SELECT id FROM orders ORDER BY id LIMIT 10 OFFSET 5000",
            "SELECT * FROM customers LIMIT 5 OFFSET 1500",
        ],
    ),
    (
        "Range",
        &[
            "SELECT id FROM orders WHERE status = 'paid' AND date(created_at) = '2024-03-01'",
            "SELECT total FROM orders o WHERE strftime('%Y-%m', o.created_at) = '2024-03'",
            "SELECT total FROM orders WHERE substr(created_at, 1, 13) BETWEEN '2024-03-01 10' AND '2024-03-01 14'",
            "SELECT total FROM orders WHERE datetime(created_at) > '2025-02-18 10:00:00'",
            "SELECT day FROM events WHERE customer_id > 0 AND date(day) >= date('2025-02-20')",
            "SELECT name FROM customers WHERE date(created_at) = :day",
        ],
    ),
    (
        "MinMax",
        &[
            "SELECT min(id), max(id) FROM customers",
            "SELECT min(created_at) AS first, max(created_at) FROM orders;",
            "SELECT max(day), min(day) FROM events WHERE day > '2024-02-01'",
        ],
    ),
    (
        "Optional",
        &[
            "SELECT id FROM orders WHERE :c IS NULL OR customer_id = :c",
            "SELECT o.id FROM orders o WHERE o.customer_id = coalesce(:c, o.customer_id) AND o.total > 7",
            "SELECT id FROM customers WHERE (email = :email OR :email IS NULL) AND (:country IS NULL OR country = :country)",
        ],
    ),
    (
        "Hint",
        &[
            "SELECT id FROM customers NOT INDEXED WHERE email = 'User77@example.com'",
            "SELECT id FROM orders INDEXED BY orders_by_status WHERE status = 'paid' AND id = 77",
            "SELECT id FROM customers WHERE +email = 'User77@example.com'",
            "SELECT o.id FROM orders o JOIN items i ON +o.id = i.order_id WHERE i.id = 77",
        ],
    ),
    (
        "Plain",
        &[
            "SELECT id FROM orders WHERE total + 0 = 733",
            "SELECT o.id FROM orders o WHERE o.id > 0 AND coalesce(o.customer_id, 0) = 77",
            "SELECT id FROM customers WHERE CAST(email AS TEXT) = :email",
            "SELECT id FROM products WHERE title || '' = 'Product 31'",
        ],
    ),
    (
        "Materialized",
        &[
            "WITH big AS MATERIALIZED (SELECT * FROM orders WHERE total > 1000) SELECT * FROM big WHERE id = 77",
        ],
    ),
    (
        "NotIn",
        &["SELECT id FROM customers WHERE id NOT IN (SELECT nullif(customer_id, 7) FROM orders)"],
    ),
    (
        "CountForExists",
        &[
            "SELECT id FROM customers c WHERE (SELECT count(*) FROM orders o WHERE o.status = 'paid') > 0 AND id < 3",
            "SELECT 1 WHERE (SELECT count(*) FROM orders WHERE total > 10) >= 1",
            "SELECT id FROM products WHERE id < 4 AND (SELECT count(*) FROM items) = 0",
        ],
    ),
    (
        "Wildcard",
        &[
            "SELECT count(*) FROM legacy WHERE note LIKE '%99'",
            "SELECT id FROM products WHERE title LIKE '%400'",
            "SELECT id FROM customers WHERE email LIKE '%77@example.com'",
            "SELECT id FROM customers WHERE name GLOB '*77'",
        ],
    ),
];

#[test]
fn a_partial_index_that_lacks_the_rows_is_no_index_of_another_direction() {
    let folder = tempfile::tempdir().unwrap();
    let schema = format!("{SHOP} CREATE INDEX open ON orders(total) WHERE status = 'open'");
    let subject = subject(folder.path(), &schema);
    let found = causes(&explained(&subject, "SELECT id FROM orders WHERE total = 777"));
    assert_eq!(found, ["Partial"]);
}

#[test]
fn a_planted_fault_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let subject = subject(folder.path(), SHOP);
    let mut missed = Vec::new();
    for (kind, statements) in FAULTY {
        for sql in statements {
            let found = causes(&explained(&subject, sql));
            if !found.iter().any(|cause| cause == kind) {
                missed.push(format!("{kind}: {sql}\n    found {found:?}"));
            }
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

#[test]
fn a_sort_that_the_index_does_not_spare_is_not_named() {
    let folder = tempfile::tempdir().unwrap();
    let subject = subject(folder.path(), SHOP);
    let sql = "SELECT product_id, sum(qty) FROM items GROUP BY product_id ORDER BY 2 DESC";
    assert_eq!(causes(&explained(&subject, sql)), ["Group"]);
}

#[test]
fn an_operation_that_changes_some_row_is_indexed_and_not_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let others = "UPDATE orders SET total = '7x' WHERE id = 9; UPDATE customers SET name = NULL WHERE id = 9;";
    let subject = subject(folder.path(), &format!("{SHOP}{others}"));
    for sql in [
        "SELECT id FROM orders WHERE total + 0 = 733",
        "SELECT id FROM orders WHERE customer_id || '' = '77'",
        "SELECT id FROM customers WHERE ifnull(name, 'Name 7') = 'Name 7'",
    ] {
        assert_eq!(causes(&explained(&subject, sql)), ["Function"], "{sql}");
    }
}

#[test]
fn an_operation_without_affinity_or_collation_is_not_left_out_where_that_finds_other_rows() {
    let folder = tempfile::tempdir().unwrap();
    let people = "CREATE TABLE people(id INTEGER PRIMARY KEY, name TEXT COLLATE NOCASE);
        INSERT INTO people SELECT id, name FROM customers;";
    let subject = subject(folder.path(), &format!("{SHOP}{people}"));
    for (sql, wanted) in [
        ("SELECT id FROM people WHERE name || '' = 'Name 77'", "Function"),
        ("SELECT id FROM orders WHERE total + 0 = '733'", "Function"),
        ("SELECT id FROM orders WHERE coalesce(customer_id, 0) = :c", "Function"),
        ("SELECT id FROM orders WHERE total + 0 IN (733, '7330')", "Function"),
        ("SELECT id FROM products WHERE title || '' = 31", "Function"),
        (
            "SELECT id FROM products WHERE title || '' BETWEEN 'Product 31' AND 'Product 32'",
            "Plain",
        ),
        ("SELECT id FROM orders WHERE total + 0 IN (733, -7.5) AND status = 'open'", "Plain"),
    ] {
        assert_eq!(causes(&explained(&subject, sql)), [wanted], "{sql}");
    }
    let hint = "SELECT id FROM customers WHERE +email = :email";
    assert!(causes(&explained(&subject, hint)).is_empty());
}

#[test]
fn the_time_since_a_column_is_a_bound_only_where_it_is_compared_as_one() {
    let folder = tempfile::tempdir().unwrap();
    let subject = subject(folder.path(), SHOP);
    // No row meets any of them, so that each wrong bound gives the same rows.
    for (condition, is_bound) in
        [("> 5", true), ("= 5", false), ("== 5", false), ("<> NULL", false)]
    {
        let sql = format!(
            "SELECT id FROM orders WHERE julianday('1990-01-01') - julianday(created_at) {condition}"
        );
        let causes = causes(&explained(&subject, &sql));
        assert_eq!(causes.contains(&"Since".to_owned()), is_bound, "{sql}: {causes:?}");
    }
}

#[test]
fn a_range_is_no_remedy_for_texts_that_are_no_times_or_of_another_form() {
    let folder = tempfile::tempdir().unwrap();
    let others = "UPDATE orders SET created_at = '05/01/2024' WHERE id = 9;
        UPDATE events SET day = strftime('%Y-%m-%dT%H:%M:%S+02:00', day, (id % 24) || ' hours');";
    let subject = subject(folder.path(), &format!("{SHOP}{others}"));
    for sql in [
        "SELECT total FROM orders WHERE date(created_at) = '2024-03-01'",
        "SELECT kind FROM events WHERE date(day) = '2024-03-01'",
    ] {
        assert_eq!(causes(&explained(&subject, sql)), ["Function"], "{sql}");
    }
}

#[test]
fn a_range_of_seconds_comes_with_its_index() {
    let folder = tempfile::tempdir().unwrap();
    let seconds = "CREATE TABLE visits AS SELECT unixepoch(created_at) AS at, status FROM orders;";
    let subject = subject(folder.path(), &format!("{SHOP}{seconds}"));
    let sql = "SELECT status FROM visits WHERE date(at, 'unixepoch') = '2024-03-01'";
    let faults = explained(&subject, sql).faults;
    let rewritten = faults.iter().find_map(|fault| match &fault.remedy {
        Remedy::Rewrite { sql, indexes, .. } => Some((sql.as_str(), indexes.clone())),
        _ => None,
    });
    let range = "SELECT status FROM visits WHERE at >= 1709251200 AND at < 1709337600";
    let index = "CREATE INDEX visits_by_at ON visits(at);".to_owned();
    assert_eq!(rewritten, Some((range, vec![index])));
}

#[test]
fn a_range_names_the_parameter_whose_form_it_relies_on() {
    let folder = tempfile::tempdir().unwrap();
    let subject = subject(folder.path(), SHOP);
    let operand_of = |sql: &str| {
        explained(&subject, sql).faults.into_iter().find_map(|fault| match fault.cause {
            Cause::Range { operand, .. } => Some(operand),
            _ => None,
        })
    };
    let of_day = "SELECT total FROM orders WHERE date(created_at) =";
    assert_eq!(operand_of(&format!("{of_day} :day")), Some(Some(":day".to_owned())));
    assert_eq!(operand_of(&format!("{of_day} '2024-03-01' AND total > :least")), Some(None));
}

#[test]
fn a_comparison_that_no_row_meets_is_named_instead_of_an_index() {
    let folder = tempfile::tempdir().unwrap();
    let subject = subject(folder.path(), SHOP);
    for (condition, meant) in [
        ("strftime('%Y', created_at) = 2024", Some("'2024'")),
        ("upper(status) = 'open' AND total > 0", Some("'OPEN'")),
        ("date(created_at) = '2024-02-30'", None),
        ("(date(created_at) = '2024-2-3' OR id = 7)", None),
    ] {
        let explained = explained(&subject, &format!("SELECT id FROM orders WHERE {condition}"));
        assert!(
            explained
                .advice
                .made
                .iter()
                .all(|made| !made.on.contains('(') || made.on == "orders(total)"),
            "{condition}"
        );
        let found = explained.faults.iter().find_map(|fault| match &fault.cause {
            Cause::Never { meant, .. } => Some(meant.as_deref()),
            _ => None,
        });
        assert_eq!(found, Some(meant), "{condition}");
    }
    for condition in [
        "strftime('%Y', created_at) = '2024'",
        "upper(status) = 'open' COLLATE NOCASE",
        "date(created_at) = '2024-02-29'",
        "CAST(strftime('%Y', created_at) AS INTEGER) = 2024",
        "datetime(created_at, 'subsec') = '2024-01-01 00:00:00.000'",
        "0 + strftime('%Y', created_at) = 2024",
        "upper(status COLLATE NOCASE) = 'open'",
    ] {
        let explained = explained(&subject, &format!("SELECT id FROM orders WHERE {condition}"));
        assert!(!causes(&explained).contains(&"Never".to_owned()), "{condition}");
    }
}

#[test]
fn an_automatic_index_that_was_not_built_is_not_said_to_be() {
    let folder = tempfile::tempdir().unwrap();
    let subject = subject(folder.path(), SHOP);
    let sql = "SELECT p.id, count(i.id) FROM products p LEFT JOIN items i ON i.product_id = p.id WHERE p.title = :title GROUP BY p.id";
    let values = ["none", "Product 7"].map(|title| vec![Value::Text(title.to_owned())]).to_vec();
    let query = Query { values, ..query(&subject, "query", sql) };
    let observation = subject.observe(&query).unwrap();
    assert!(observation.nodes.iter().any(|node| node.detail.contains("AUTOMATIC")));
    let advice = advise(&subject, &[(query.clone(), None)], &|| 0.0).unwrap();
    assert!(advice.made.iter().any(|made| made.on == "items(product_id)"));
    let faults = faults(&subject, &query, &observation, &advice).unwrap();
    let is_said = faults.iter().any(|fault| matches!(fault.cause, Cause::AutomaticIndex { .. }));
    assert!(!is_said, "{faults:?}");
}

/// Comments of posts, with an index that groups them.
const COMMENTS: &str = "CREATE TABLE comments(id INTEGER PRIMARY KEY, author INT, post INT, created INT, body TEXT);
    CREATE INDEX by_post ON comments(post); CREATE INDEX by_author ON comments(author);
    CREATE TABLE posts(id INTEGER PRIMARY KEY, author INT, parent INT, title TEXT);
    CREATE INDEX posts_by_author ON posts(author); CREATE INDEX by_parent ON posts(parent);
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4000)
    INSERT INTO posts SELECT i, i * 7919 % 2003, iif(i % 3, i / 3, NULL), 'Title ' || i FROM n;
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
    INSERT INTO comments SELECT i, i * 31 % 2003, i * 7919 % 4001, i * 104729 % 20011, hex(zeroblob(50)) FROM n;";

#[test]
fn another_form_of_a_statement_is_offered_with_its_index() {
    let folder = tempfile::tempdir().unwrap();
    let subject = subject(folder.path(), COMMENTS);
    for (sql, wanted, index) in [
        // Even without its index it is much cheaper.
        (
            "SELECT post, count(*) FROM comments WHERE created > 19900 GROUP BY post",
            "SELECT post, count(*) FROM comments WHERE created > 19900 GROUP BY +post",
            Some("comments(created)"),
        ),
        (
            "SELECT DISTINCT post FROM comments WHERE created > 19900",
            "SELECT DISTINCT +post AS post FROM comments WHERE created > 19900",
            Some("comments(created)"),
        ),
        (
            "SELECT c.id FROM comments c WHERE c.post IN (SELECT id FROM posts) ORDER BY c.created DESC LIMIT 10",
            "SELECT c.id FROM comments c WHERE +c.post IN (SELECT id FROM posts) ORDER BY c.created DESC LIMIT 10",
            Some("comments(created)"),
        ),
        (
            "SELECT p.title FROM comments c JOIN posts p ON p.id = c.post WHERE (c.author = 123 OR p.author = 123) AND c.id > 5",
            "SELECT p.title FROM comments c JOIN posts p ON p.id = c.post WHERE (c.author = 123) AND c.id > 5 UNION ALL \
             SELECT p.title FROM comments c JOIN posts p ON p.id = c.post WHERE ((p.author = 123) AND (c.author = 123) IS NOT TRUE) AND c.id > 5",
            None,
        ),
        (
            "SELECT id FROM posts WHERE coalesce(parent, 0) = 500",
            "SELECT id FROM posts WHERE parent = 500",
            None,
        ),
        (
            "SELECT id FROM posts WHERE title LIKE :title || '%'",
            "SELECT id FROM posts WHERE title LIKE :title",
            Some("posts(title COLLATE NOCASE)"),
        ),
    ] {
        let found =
            explained(&subject, sql).faults.into_iter().find_map(|fault| match fault.remedy {
                Remedy::Rewrite { sql, indexes, .. } => Some((sql, indexes)),
                _ => None,
            });
        let (text, indexes) = found.expect(sql);
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(words(&text), words(wanted));
        let on = indexes.first().and_then(|sql| sql.split(" ON ").nth(1));
        assert_eq!(on.map(|on| on.trim_end_matches(';')), index, "{sql}");
    }
}

#[test]
fn a_form_that_might_give_other_rows_is_not_offered() {
    let folder = tempfile::tempdir().unwrap();
    let subject = subject(folder.path(), COMMENTS);
    for sql in [
        "SELECT DISTINCT p.title FROM comments c JOIN posts p ON p.id = c.post WHERE c.author = 123 OR p.author = 123",
        "SELECT count(*) FROM comments c JOIN posts p ON p.id = c.post WHERE c.author = 123 OR p.author = 123",
        "SELECT id FROM posts WHERE coalesce(parent, 0) = 0",
        "SELECT id FROM posts WHERE coalesce(parent, 500) = :parent",
        "SELECT id FROM posts WHERE title LIKE :title || '%' AND title <> :title",
    ] {
        let faults = explained(&subject, sql).faults;
        let is_other = |fault: &Fault| matches!(fault.remedy, Remedy::Rewrite { .. });
        assert!(!faults.iter().any(is_other), "{faults:#?}");
    }
}

#[test]
fn an_order_by_chance_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let subject = subject(folder.path(), COMMENTS);
    let sql = "SELECT id, title FROM posts ORDER BY random() LIMIT 5";
    let random = Fault { cause: Cause::Random { rows: 4000 }, remedy: Remedy::Untried };
    assert_eq!(explained(&subject, sql).faults, [random]);
}

#[test]
fn the_latest_row_of_each_group_is_no_remedy_where_names_or_joins_would_mean_something_else() {
    let folder = tempfile::tempdir().unwrap();
    let subject = subject(folder.path(), SHOP);
    let latest = "SELECT customer_id, max(created_at) AS m FROM orders";
    for sql in [
        format!(
            "SELECT o.id FROM orders o JOIN ({latest} GROUP BY customer_id) l WHERE l.customer_id = o.customer_id AND o.created_at = l.m"
        ),
        format!(
            "SELECT o.id FROM orders o JOIN ({latest} o WHERE o.status = 'paid' GROUP BY customer_id) l ON l.customer_id = o.customer_id AND o.created_at = l.m WHERE o.customer_id = 1"
        ),
        format!(
            "SELECT Orders.id FROM Orders JOIN ({latest} GROUP BY customer_id) l ON l.customer_id = Orders.customer_id AND Orders.created_at = l.m WHERE Orders.customer_id = 1"
        ),
        format!(
            "SELECT o.id FROM orders o JOIN ({latest} WHERE status = ? GROUP BY customer_id) l ON l.customer_id = o.customer_id AND o.created_at = l.m WHERE o.customer_id = 1"
        ),
    ] {
        let found = causes(&explained(&subject, &sql));
        assert!(!found.contains(&"Latest".to_owned()), "{sql}: {found:?}");
    }
}

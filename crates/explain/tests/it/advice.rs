//! Indexes for whole workloads.

use std::collections::BTreeSet;

use super::{SHOP, causes, explained, query, subject};
use pragmark_explain::advisor::{MadeIndex, advise};
use pragmark_explain::candidates::Planner;
use pragmark_explain::faults::{Cause, Fault, Remedy};
use pragmark_explain::few_rows;

fn made(schema: &str, statements: &[(&str, f64)]) -> (Vec<String>, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let subject = subject(folder.path(), schema);
    let queries: Vec<_> = statements
        .iter()
        .map(|(sql, weight)| {
            let query = query(&subject, sql, sql);
            (pragmark_explain::Query { weight: *weight, ..query }, None)
        })
        .collect();
    let advice = advise(&subject, &queries, &|| 0.0).unwrap();
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
fn an_index_serves_the_order_though_few_rows_are_sorted_and_rows_are_inserted() {
    let shop = "CREATE TABLE orders(id INTEGER PRIMARY KEY, customer_id INT, created_at TEXT, status TEXT);
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
        INSERT INTO orders SELECT i, i * 7919 % 5000, datetime(1700000000 + i * 60, 'unixepoch'), 'new' FROM n;";
    let read =
        "SELECT id, status FROM orders WHERE customer_id = 77 ORDER BY created_at DESC LIMIT 20";
    let write =
        "INSERT INTO orders(customer_id, created_at, status) VALUES (77, datetime('now'), 'new')";
    for weight in [1.0, 1.5, 2.0] {
        let (made, _) = made(shop, &[(read, 1.0), (write, weight)]);
        assert_eq!(made, ["orders(customer_id, created_at)"], "{weight} times as many writes");
    }
}

#[test]
fn an_index_that_repeats_another_goes_where_a_write_maintains_both() {
    let shop = format!(
        "{SHOP} CREATE INDEX orders_customer ON orders(customer_id);
         CREATE INDEX orders_customer_total ON orders(customer_id, total);
         CREATE UNIQUE INDEX orders_unique ON orders(customer_id, total, id);"
    );
    let read = ("SELECT count(*) FROM orders WHERE customer_id = 77", 1.0);
    let insert = ("INSERT INTO orders(customer_id, total) VALUES (77, 5)", 1.0);
    let other = ("UPDATE orders SET status = 'sent' WHERE id = 7", 1.0);
    assert!(made(&shop, &[read, other]).1.is_empty(), "no statement would gain");
    let (made, dropped) = made(&shop, &[read, insert]);
    assert!(made.is_empty());
    assert_eq!(dropped, ["orders_customer", "orders_customer_total"]);
    // A write that was observed before is compared with its own executions here, not with that one.
    let folder = tempfile::tempdir().unwrap();
    let subject = subject(folder.path(), &shop);
    for (sql, is_maintained) in [(other.0, false), (insert.0, true)] {
        let query = query(&subject, sql, sql);
        let seen = subject.observe(&query).unwrap().cost;
        let advice = advise(&subject, &[(query, Some(seen))], &|| 0.0).unwrap();
        assert_eq!(!advice.dropped.is_empty(), is_maintained, "{sql}");
        assert_eq!(advice.changes[0].after != advice.changes[0].before, is_maintained, "{sql}");
    }
}

#[test]
fn an_expression_is_indexed_with_the_columns_beside_it() {
    for (sql, index) in [
        (
            "SELECT date(created_at) AS day, count(*) FROM orders WHERE customer_id = 7 OR status = 'paid' GROUP BY day",
            "orders(date(created_at), customer_id, status)",
        ),
        (
            "SELECT abs(o.total) FROM orders o WHERE o.customer_id > 0 AND abs(o.total) = 733",
            "orders(abs(total), customer_id)",
        ),
        (
            "SELECT id FROM items i WHERE i.product_id = :p AND i.qty % 3 = 1 ORDER BY i.order_id LIMIT 5",
            "items(product_id, qty % 3, order_id)",
        ),
    ] {
        assert_eq!(made(SHOP, &[(sql, 1.0)]).0, [index], "{sql}");
    }
    let view = "CREATE VIEW days AS SELECT date(created_at) AS day, count(*) AS n FROM orders GROUP BY date(created_at);";
    let of_view = [("SELECT n FROM days WHERE day = '2024-03-01'", 1.0)];
    assert_eq!(made(&format!("{SHOP}{view}"), &of_view).0, ["orders(date(created_at))"]);
}

#[test]
fn an_expression_loses_only_the_name_of_its_table() {
    let people = "CREATE TABLE people(id INTEGER PRIMARY KEY, data TEXT);
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4000)
        INSERT INTO people SELECT i, json_object('name.first', i % 2003) FROM n;";
    let sql = "SELECT e.id FROM people e WHERE json_extract(e.data, '$.\"name.first\"') = 77";
    let index = "people(json_extract(data, '$.\"name.first\"'))";
    assert_eq!(made(people, &[(sql, 1.0)]).0, [index]);
    let of_two = "SELECT c.id FROM customers c JOIN orders o ON o.id = c.id WHERE coalesce(o.total, c.id) = 77";
    assert!(made(SHOP, &[(of_two, 1.0)]).0.is_empty());
}

#[test]
fn a_text_that_is_searched_for_is_no_part_of_an_index() {
    let sql = "SELECT id FROM customers WHERE instr(email, 'User77@') > 0";
    assert!(made(SHOP, &[(sql, 1.0)]).0.is_empty());
}

#[test]
fn an_expression_that_fails_for_some_rows_is_not_indexed() {
    let of = |other: &str| {
        format!(
            "CREATE TABLE notes(id INTEGER PRIMARY KEY, kind INT, body TEXT);
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 8000)
            INSERT INTO notes SELECT i, i % 2, iif(i % 2, '{{\"a\":' || i || '}}', {other}) FROM n;"
        )
    };
    for expression in ["json_extract(body, '$.a')", "body ->> '$.a'"] {
        let sql = format!("SELECT id FROM notes WHERE kind = 1 AND {expression} = 77");
        let (all, _) = made(&of("'{}'"), &[(&sql, 1.0)]);
        assert!(all.iter().any(|on| on.contains(expression)), "{all:?}");
        let (some, _) = made(&of("'no JSON'"), &[(&sql, 1.0)]);
        assert!(!some.iter().any(|on| on.contains("$.a")), "{some:?}");
    }
}

#[test]
fn an_existing_index_is_extended_and_not_joined_by_a_second() {
    let cards = "CREATE TABLE cards(id INTEGER PRIMARY KEY, did INT, queue INT, due INT, ord INT, data TEXT);
        CREATE INDEX cards_by_queue ON cards(did, queue, due);
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30000)
        INSERT INTO cards SELECT i, i % 4, i / 7 % 3, i * 31 % 401, i % 97, 'text' FROM n;";
    let statements = [
        (
            "SELECT id, ord FROM cards WHERE did = :did AND queue = 2 AND due <= 300 ORDER BY due, ord LIMIT 200",
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
    let (seldom, _) = made(SHOP, &[(read, 1.0), (write, 1.5)]);
    assert!(seldom.is_empty(), "{seldom:?}");
    let (often, _) = made(SHOP, &[(read, 100.0), (write, 0.1)]);
    assert_eq!(often, ["customers(created_at)"]);
}

#[test]
fn indexes_that_help_only_together_are_one_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let subject = subject(folder.path(), SHOP);
    let sql = "SELECT id FROM orders WHERE customer_id = :a OR total = :b";
    let explained = explained(&subject, sql);
    let steps: Vec<usize> = explained.advice.made.iter().map(|made| made.step).collect();
    assert_eq!(steps, [0, 0]);
    let or = Fault { cause: Cause::Or, remedy: Remedy::Indexes(0) };
    assert_eq!(explained.faults, [or]);
    let sql = explained.advice.sql();
    assert_eq!(sql.len(), 3);
    assert_eq!(sql[2], "ANALYZE;", "it was counted with statistics");
}

#[test]
fn indexes_are_sought_again_where_others_have_changed_the_plan() {
    let schema = "CREATE TABLE users(id INTEGER PRIMARY KEY, name TEXT, bio TEXT); \
         CREATE TABLE posts(id INTEGER PRIMARY KEY, author_id INT, status TEXT, deleted_at TEXT, body TEXT); \
         WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4000) \
         INSERT INTO users SELECT i, 'Name ' || (i % 1000), hex(zeroblob(100)) FROM n; \
         WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 8000) \
         INSERT INTO posts SELECT i, i * 7919 % 4000, iif(i % 5, 'published', 'draft'), iif(i % 40, NULL, i), 'text' FROM n;";
    let sql = "SELECT p.* FROM posts p JOIN users u ON u.id = p.author_id \
         WHERE u.name = 'Name 12' AND p.status = 'published' AND p.deleted_at IS NULL";
    let folder = tempfile::tempdir().unwrap();
    let subject = subject(folder.path(), schema);
    let advice = advise(&subject, &[(query(&subject, sql, sql), None)], &|| 0.0).unwrap();
    let tables = |on: &str| advice.made.iter().any(|made| made.on.starts_with(on));
    assert!(tables("users(name)") && tables("posts(author_id"), "{advice:#?}");
    assert!(advice.changes[0].after.steps < 400, "{advice:#?}");
    let first = advice.made.iter().min_by_key(|made| made.step).unwrap();
    assert!(first.changes[0].before.steps > 20_000, "{advice:#?}");
}

#[test]
fn an_or_elsewhere_in_the_statement_is_not_the_cause() {
    let folder = tempfile::tempdir().unwrap();
    let subject = subject(folder.path(), SHOP);
    let sql = "SELECT id FROM orders WHERE (status = 'open' OR status = 'sent') AND id > 0 AND customer_id = 7";
    let explained = explained(&subject, sql);
    assert!(
        !causes(&explained).contains(&"Or".to_owned()),
        "{:?} {:?}",
        explained.faults,
        explained.advice.sql()
    );
}

#[test]
fn indexes_of_one_column_with_two_collations_have_two_names() {
    let folder = tempfile::tempdir().unwrap();
    let subject = subject(folder.path(), SHOP);
    let binary = query(&subject, "binary", "SELECT id FROM customers WHERE name = 'Name 7'");
    let other = "SELECT id FROM customers WHERE name = 'name 7' COLLATE NOCASE";
    let advice =
        advise(&subject, &[(binary, None), (query(&subject, "nocase", other), None)], &|| 0.0)
            .unwrap();
    let sql: std::collections::BTreeSet<String> = advice.sql().into_iter().collect();
    assert_eq!(sql.len(), 3, "{sql:?}");
    let names = sql.iter().filter_map(|sql| sql.split(' ').nth(2));
    assert_eq!(names.collect::<std::collections::BTreeSet<_>>().len(), 2, "{sql:?}");
}

#[test]
fn indexes_are_planned_with_before_they_are_made() {
    let folder = tempfile::tempdir().unwrap();
    // Of so many pages that no candidate is made before the planner wants it, and sampled.
    let large = "PRAGMA page_size = 512;
        CREATE TABLE visits(id INTEGER PRIMARY KEY, page INT, visitor INT, kind INT, text TEXT);
        CREATE INDEX visits_by_kind ON visits(kind);
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30000)
        INSERT INTO visits SELECT i, i * 7919 % 3000, i * 104729 % 15000, i % 3, 'a text of forty characters or a few more' FROM n;";
    let subject = subject(folder.path(), large);
    let connection = subject.connect().unwrap();
    assert!(connection.query_i64("PRAGMA page_count").unwrap() > 2000);
    let before = connection.query_all("SELECT * FROM sqlite_schema").unwrap();
    let statements = [
        "SELECT text FROM visits WHERE visitor = :v AND kind = 1",
        "SELECT text FROM visits WHERE page = :p ORDER BY visitor",
        "INSERT INTO visits VALUES (NULL, 1, 2, 1, 'new')",
    ];
    let queries = statements.map(|sql| (query(&subject, sql, sql), None));
    let advice = advise(&subject, &queries, &|| 0.0).unwrap();
    let made: Vec<String> = advice.made.iter().map(|made| made.on.clone()).collect();
    assert_eq!(made, ["visits(kind, visitor)", "visits(page, visitor)"]);
    let steps = |at: usize| (advice.changes[at].before.steps, advice.changes[at].after.steps);
    assert!(steps(0).0 > 30_000 && steps(0).1 < 100, "{:?}", steps(0));
    assert!(steps(2).1 > steps(2).0, "the write maintains what was made: {:?}", steps(2));
    assert_eq!(connection.query_all("SELECT * FROM sqlite_schema").unwrap(), before);
    assert_eq!(connection.query_text("PRAGMA integrity_check").unwrap(), "ok");
}

#[test]
fn every_one_of_many_statements_gets_its_index() {
    let columns: Vec<String> = (0..14).map(|number| format!("c{number}")).collect();
    let values: Vec<String> =
        (0..14).map(|number| format!("i * {} % 997", 2 * number + 1)).collect();
    let wide = format!(
        "CREATE TABLE wide({});
         WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000) INSERT INTO wide SELECT {} FROM n;",
        columns.join(", "),
        values.join(", ")
    );
    let statements: Vec<String> =
        columns.iter().map(|column| format!("SELECT * FROM wide WHERE {column} = 7")).collect();
    let statements: Vec<(&str, f64)> = statements.iter().map(|sql| (sql.as_str(), 1.0)).collect();
    assert_eq!(made(&wide, &statements).0.len(), 14);
}

#[test]
fn a_write_is_not_stopped_while_an_index_makes_it_dearer() {
    let read = "SELECT id FROM orders WHERE customer_id = :c AND total > 100";
    let write = "UPDATE orders SET customer_id = customer_id + 1, total = total + 1";
    let other = "SELECT id, status FROM orders WHERE total = :t";
    let (often, _) = made(SHOP, &[(read, 100.0), (other, 100.0), (write, 0.01)]);
    assert_eq!(often.len(), 2, "{often:?}");
}

#[test]
fn what_each_statement_wants_is_made_together_where_time_is_too_short_to_choose() {
    let folder = tempfile::tempdir().unwrap();
    let subject = subject(folder.path(), SHOP);
    let sql = [
        "SELECT id FROM orders WHERE total = :t",
        "SELECT id FROM customers WHERE created_at = :c",
        // An index that covers qty is a little cheaper, but has not been compared with one that does not.
        "SELECT qty FROM items WHERE product_id = :p",
    ];
    let queries = sql.map(|sql| (query(&subject, sql, sql), None));
    // Each statement is tried, then the time is over.
    let asked = std::cell::Cell::new(0);
    let spent = || {
        asked.set(asked.get() + 1);
        if asked.get() <= 1 + sql.len() { 0.0 } else { 0.95 }
    };
    let advice = advise(&subject, &queries, &spent).unwrap();
    let mut made: Vec<&str> = advice.made.iter().map(|made| made.on.as_str()).collect();
    made.sort_unstable();
    assert_eq!(made, ["customers(created_at)", "items(product_id)", "orders(total)"]);
    assert_eq!(advice.untried, 1);
}

/// Jobs; only the last few wait.
const JOBS: &str =
    "CREATE TABLE jobs(id INTEGER PRIMARY KEY, queue INT, done INT, started TEXT, created TEXT, payload TEXT);
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9000)
    INSERT INTO jobs SELECT i, i % 3000, i < 8900, iif(i < 8950, 'at ' || i, NULL), i * 7919 % 9001, 'payload' FROM n;";

#[test]
fn a_partial_index_serves_a_literal_condition_that_few_rows_meet() {
    let next = "SELECT id, payload FROM jobs WHERE done = 0 ORDER BY created LIMIT 1";
    assert_eq!(made(JOBS, &[(next, 1.0)]).0, ["jobs(created) WHERE done = 0"]);
    let idle = "SELECT id, payload FROM jobs WHERE started IS NULL AND created > 8000";
    assert_eq!(made(JOBS, &[(idle, 1.0)]).0, ["jobs(created) WHERE started IS NULL"]);
}

#[test]
fn no_partial_index_is_for_a_value_of_many_or_one_that_most_rows_have() {
    let one_of_many = "SELECT id, payload FROM jobs WHERE queue = 7 ORDER BY created LIMIT 1";
    assert_eq!(made(JOBS, &[(one_of_many, 1.0)]).0, ["jobs(queue, created)"]);
    let most = "SELECT id, payload FROM jobs WHERE done = 1 AND created = 500";
    let (most, _) = made(JOBS, &[(most, 1.0)]);
    assert!(most.iter().all(|index| !index.contains("WHERE")), "{most:?}");
}

#[test]
fn an_index_for_every_value_is_chosen_if_other_statements_need_it() {
    let next = "SELECT id, payload FROM jobs WHERE done = 0 ORDER BY created LIMIT 1";
    let last = "SELECT id, payload FROM jobs WHERE done = ? ORDER BY created DESC LIMIT 1";
    assert_eq!(made(JOBS, &[(next, 1.0), (last, 1.0)]).0, ["jobs(done, created)"]);
}

#[test]
fn a_column_of_the_condition_is_not_counted_as_covered() {
    let schema = "CREATE TABLE jobs(id INTEGER PRIMARY KEY, failed TEXT, queue INT, created INT, a, b, c);
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 900)
        INSERT INTO jobs SELECT i, iif(i % 90 = 0, 'why', NULL), i % 7, i * 31 % 901, 1, 2, 3 FROM n;";
    let folder = tempfile::tempdir().unwrap();
    let subject = subject(folder.path(), schema);
    let sql = "SELECT failed, queue FROM jobs WHERE failed IS NOT NULL AND created > 500";
    let connection = subject.connect().unwrap();
    let planner = Planner::new(&subject, &connection, [sql]).unwrap();
    let candidates = planner.candidates(&query(&subject, sql, sql), true);
    let partial = candidates.iter().filter(|candidate| candidate.condition.is_some());
    let partial: Vec<(usize, usize)> =
        partial.map(|candidate| (candidate.parts.len(), candidate.covering)).collect();
    assert_eq!(partial, [(1, 0), (2, 1)]);
}

#[test]
fn a_statement_that_returns_what_it_writes_gets_the_index_for_its_search() {
    let folder = tempfile::tempdir().unwrap();
    let subject = subject(folder.path(), SHOP);
    for (sql, on) in [
        ("UPDATE products SET stock = 1 WHERE title = 'Product 7' RETURNING id", "products(title)"),
        ("DELETE FROM items WHERE product_id = 7 RETURNING id", "items(product_id)"),
    ] {
        let explained = explained(&subject, sql);
        let made: Vec<_> = explained.advice.made.iter().map(|made| &*made.on).collect();
        assert_eq!(made, [on], "{sql}");
    }
}

#[test]
fn indexes_of_a_column_and_of_an_expression_of_it_have_different_names() {
    let folder = tempfile::tempdir().unwrap();
    let subject = subject(folder.path(), SHOP);
    let statements = ["title = 'a'", "title || '' = 'a'", "price / 100 = 7", "price * 100 = 7"];
    let queries = statements.map(|condition| {
        let sql = format!("SELECT id FROM products WHERE {condition}");
        (query(&subject, condition, &sql), None)
    });
    let made = advise(&subject, &queries, &|| 0.0).unwrap().made;
    let names: BTreeSet<_> = made.iter().filter_map(|made| made.sql.split(' ').nth(2)).collect();
    assert_eq!(
        Vec::from_iter(names),
        [
            "products_by_price_per_100",
            "products_by_price_times_100",
            "products_by_title",
            "products_by_title_joined"
        ]
    );
}

#[test]
fn types_with_lengths_keep_no_column_from_an_index() {
    for kind in ["varchar(20)", "DECIMAL(10, 2)", "unsigned int (11)", "\"2d, kind\""] {
        let schema = format!(
            "CREATE TABLE users(id INTEGER PRIMARY KEY, email TEXT, code {kind});
             WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
             INSERT INTO users SELECT i, 'u' || i, i FROM n;"
        );
        for (sql, index) in [
            ("SELECT * FROM users WHERE email = 'u7'", "users(email)"),
            ("SELECT * FROM users WHERE code = 7", "users(code)"),
        ] {
            assert_eq!(made(&schema, &[(sql, 1.0)]).0, [index], "{kind}");
        }
    }
}

#[test]
fn the_rows_of_an_upsert_are_searched_with_an_index() {
    let totals = "CREATE TABLE counts(customer_id INTEGER PRIMARY KEY, n INT);";
    for clause in
        ["DO NOTHING", "(customer_id) DO UPDATE SET n = excluded.n", "DO NOTHING RETURNING n"]
    {
        let sql = format!(
            "INSERT INTO counts SELECT customer_id, total FROM orders WHERE total = 733 ON CONFLICT {clause}"
        );
        let schema = format!("{SHOP} {totals}");
        assert_eq!(made(&schema, &[(&sql, 1.0)]).0, ["orders(total)"], "{clause}");
    }
}

#[test]
fn an_order_of_another_collation_has_an_index_with_it() {
    for sql in [
        "SELECT * FROM products ORDER BY title COLLATE NOCASE LIMIT 5",
        "SELECT p.id FROM products p ORDER BY p.title COLLATE NOCASE LIMIT 5",
    ] {
        assert_eq!(made(SHOP, &[(sql, 1.0)]).0, ["products(title COLLATE NOCASE)"], "{sql}");
    }
}

/// Most rows are not deleted, which statistics do not tell from any other value.
const DELETED: &str = "CREATE TABLE issues(id INTEGER PRIMARY KEY, project INT, deleted_at TEXT, body TEXT);
    CREATE INDEX issues_by_project ON issues(project); CREATE INDEX issues_by_deleted ON issues(deleted_at);
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30000)
    INSERT INTO issues SELECT i, i % 300, iif(i % 10 = 0, '2024-01-01 ' || i, NULL), 'a body of some words' FROM n;";

#[test]
fn an_index_that_only_mends_what_statistics_spoil_is_not_advised() {
    let sql = "SELECT count(body) FROM issues WHERE project = 7 AND deleted_at IS NULL";
    assert_eq!(made(DELETED, &[(sql, 1.0)]).0, [""; 0]);
}

#[test]
fn what_statistics_alone_spoil_is_named_with_the_rows_and_the_index_that_mislead() {
    let folder = tempfile::tempdir().unwrap();
    let subject = subject(folder.path(), DELETED);
    let spoiled = |sql: &[&str]| {
        let queries: Vec<_> = sql.iter().map(|sql| (query(&subject, sql, sql), None)).collect();
        advise(&subject, &queries, &|| 0.0).unwrap().spoiled.unwrap()
    };
    let sql = "SELECT count(body) FROM issues WHERE project = 7 AND deleted_at IS NULL";
    let of_project = spoiled(&[sql]).remove(0);
    assert!(of_project.change.after.steps > 50 * of_project.change.before.steps, "{of_project:?}");
    let (node, read, expected) = of_project.node.unwrap();
    assert_eq!(node, "SEARCH issues USING INDEX issues_by_deleted (deleted_at=?)");
    assert!(read == 27_000.0 && expected < 100.0, "{read} {expected}");
    assert_eq!(of_project.index.as_deref(), Some("issues_by_deleted"));
    let needs_it = "SELECT body FROM issues WHERE deleted_at = '2024-01-01 70'";
    assert_eq!(spoiled(&[sql, needs_it])[0].index, None, "another statement needs the index");
    assert_eq!(spoiled(&["SELECT max(body) FROM issues"]), []);
}

#[test]
fn the_cost_before_an_index_is_that_without_statistics() {
    let folder = tempfile::tempdir().unwrap();
    let subject = subject(folder.path(), DELETED);
    let sql =
        "SELECT body FROM issues WHERE project < 40 AND deleted_at IS NULL ORDER BY body LIMIT 3";
    let query = query(&subject, sql, sql);
    let now = subject.cost(&subject.connect().unwrap(), &query, u32::MAX).unwrap();
    let advice = advise(&subject, &[(query, None)], &|| 0.0).unwrap();
    assert!(advice.analyzed.is_none());
    let change = &advice.made[0].changes[0];
    assert_eq!(
        (change.before.steps, change.after.steps),
        (now.steps, advice.changes[0].after.steps)
    );
}

#[test]
fn an_index_that_is_walked_for_its_order_is_extended_by_what_is_looked_up() {
    let schema =
        "CREATE TABLE readings(id INTEGER PRIMARY KEY, device INT, at INT, value REAL, note TEXT);
        CREATE INDEX readings_by_device ON readings(device);
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
        INSERT INTO readings SELECT i, i * 7919 % 400, i * 30, i * .5, hex(zeroblob(80)) FROM n;";
    for (sql, wanted) in [
        ("SELECT count(DISTINCT device) FROM readings WHERE at > 590000", "readings(device, at)"),
        (
            "SELECT device, value, max(at) FROM readings GROUP BY device",
            "readings(device, at, value)",
        ),
    ] {
        let (made, dropped) = made(schema, &[(sql, 1.0)]);
        assert_eq!((&*made[0], &*dropped[0]), (wanted, "readings_by_device"), "{sql}");
    }
}

#[test]
fn pages_that_the_usual_cache_does_not_hold_cost_more() {
    let folder = tempfile::tempdir().unwrap();
    let schema = "CREATE TABLE events(id INTEGER PRIMARY KEY, kind INT, data TEXT); CREATE INDEX by_kind ON events(kind);
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30000)
        INSERT INTO events SELECT i, i * 7919 % 30000, hex(zeroblob(100)) FROM n;";
    let subject = subject(folder.path(), schema);
    let cost = |sql: &str| {
        subject.cost(&subject.connect().unwrap(), &query(&subject, sql, sql), u32::MAX).unwrap()
    };
    // In the order of rowids, each page is read once. In the other one, most are no longer there for their next row.
    let scanned = cost("SELECT max(data) FROM events NOT INDEXED WHERE kind > 0");
    let looked_up = cost("SELECT max(data) FROM events INDEXED BY by_kind WHERE kind > 0");
    assert_eq!(scanned.reread, 0);
    assert!(looked_up.reread > 10_000, "{looked_up:?}");
    assert!(looked_up.total() > 3 * scanned.total());
    let few = cost("SELECT max(data) FROM events INDEXED BY by_kind WHERE kind < 100");
    assert_eq!(few.reread, 0);
}

#[test]
fn a_wider_index_that_serves_all_statements_is_not_left_out_for_a_narrower_one() {
    let schema = "CREATE TABLE issues(id INTEGER PRIMARY KEY, tenant INT, status TEXT, created INT, body TEXT);
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30000)
        INSERT INTO issues SELECT i, i * 7919 % 31, iif(i % 10, 'closed', 'open'), i * 104729 % 30001, 'a body of some words' FROM n;";
    let listed =
        "SELECT * FROM issues WHERE tenant = 7 AND status = 'open' ORDER BY created DESC LIMIT 5";
    let counted = "SELECT count(*) FROM issues WHERE tenant = 7 AND status IN ('open', 'late')";
    let (made, _) = made(schema, &[(listed, 1.0), (counted, 1.0)]);
    assert_eq!(made, ["issues(tenant, status, created)"]);
}

#[test]
fn an_index_whose_look_ups_take_longer_than_a_scan_is_not_advised() {
    let schema = "CREATE TABLE customers(id INTEGER PRIMARY KEY, country TEXT, phone TEXT, name TEXT);
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
        INSERT INTO customers SELECT i, substr('DEFRUSGB', i * 7919 % 4 * 2 + 1, 2), '+49' || i * 104729 % 100000007, 'Name ' || i FROM n;";
    let sql = "SELECT * FROM customers WHERE country = 'DE' AND phone LIKE '%123' ORDER BY name";
    assert_eq!(made(schema, &[(sql, 1.0)]).0, [""; 0]);
}

#[test]
fn columns_that_are_only_read_are_in_an_index_where_they_spare_many_look_ups() {
    let schema = "CREATE TABLE issues(id INTEGER PRIMARY KEY, tenant INT, updated INT, title TEXT, body TEXT);
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30000)
        INSERT INTO issues SELECT i, i * 7919 % 31, i * 104729 % 30001, 'issue ' || i, hex(zeroblob(90)) FROM n;";
    for (limit, index) in [(50, "issues(tenant, updated)"), (900, "issues(tenant, updated, title)")]
    {
        let sql = format!(
            "SELECT title FROM issues WHERE tenant = 7 ORDER BY updated DESC LIMIT {limit}"
        );
        assert_eq!(made(schema, &[(&sql, 1.0)]).0, [index]);
    }
}

#[test]
fn a_long_text_is_in_no_index_only_to_be_read_from_it() {
    let notes = "CREATE TABLE notes(id INTEGER PRIMARY KEY, deleted INT, kind INT, sent INT, stars INT, body TEXT);
        CREATE INDEX notes_by_kind ON notes(kind);
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
        INSERT INTO notes SELECT i, i % 9 = 0, i % 4, i * 7919 % 20011, 5, printf('%.300c', 'x') || (i % 10) FROM n;";
    for (sql, wanted) in [
        (
            "SELECT id, body FROM notes WHERE body LIKE '%x7' AND deleted = 0 ORDER BY sent DESC LIMIT 20",
            vec!["notes(deleted, sent)"],
        ),
        ("SELECT id FROM notes WHERE kind = 3 AND (body LIKE '%x7' OR body LIKE '%y%')", vec![]),
        ("SELECT sum(stars) FROM notes WHERE kind = 3", vec!["notes(kind, stars)"]),
    ] {
        assert_eq!(made(notes, &[(sql, 1.0)]).0, wanted, "{sql}");
    }
}

/// Readings of devices and of their archive, some without a value.
const READINGS: &str = "CREATE TABLE readings(id INTEGER PRIMARY KEY, device INT, at INT, metric TEXT, value REAL, quality INT);
    CREATE TABLE archive(id INTEGER PRIMARY KEY, device INT, at INT, metric TEXT, value REAL, quality INT);
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
    INSERT INTO readings SELECT i, i * 7919 % 50, 1700000000 + i, CASE WHEN i % 12 = 0 THEN 'rssi' WHEN i % 2 THEN 'temp' ELSE 'hum' END,
      iif(i % 50, i * 0.37, NULL), 0 FROM n;
    INSERT INTO archive SELECT id, device, at - 1000000, metric, value, quality FROM readings WHERE id < 4000;";

#[test]
fn no_second_index_has_the_same_columns_in_another_direction() {
    let recent = "SELECT at, value FROM readings WHERE device = 3 AND metric = 'temp' UNION \
        SELECT at, value FROM archive WHERE device = 3 AND metric = 'temp' ORDER BY at DESC LIMIT 100";
    let range = "SELECT at, value FROM readings WHERE device = 3 AND metric = 'temp' AND at > 1700010000 ORDER BY at";
    let (made, _) = made(READINGS, &[(recent, 1.0), (range, 1.0)]);
    let of_readings = made.iter().filter(|on| on.starts_with("readings("));
    assert_eq!(of_readings.count(), 1, "{made:?}");
}

#[test]
fn a_partial_index_has_also_the_column_of_its_condition_and_columns_to_read() {
    let sum = "SELECT sum(value) FROM readings WHERE metric = 'rssi' AND device > 3";
    let lost = "SELECT count(*) FROM readings WHERE value IS NULL";
    for (sql, wanted) in [
        (sum, "readings(device, value) WHERE metric = 'rssi'"),
        (lost, "readings(value) WHERE value IS NULL"),
    ] {
        assert_eq!(made(READINGS, &[(sql, 1.0)]).0, [wanted], "{sql}");
    }
}

#[test]
fn an_index_that_saves_a_few_microseconds_is_not_worth_its_size() {
    let schema = "CREATE TABLE reactions(message INT, user INT, emoji TEXT, PRIMARY KEY(message, user, emoji));
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 120000)
        INSERT INTO reactions SELECT i / 12, i, 'emoji' || (i % 6) FROM n;";
    let sql = "SELECT message, emoji, count(*) FROM reactions WHERE message IN (10, 20, 30, 40) GROUP BY message, emoji";
    assert_eq!(made(schema, &[(sql, 1.0)]).0, [""; 0]);
}

#[test]
fn an_index_that_sqlite_builds_for_each_execution_is_made_though_it_has_most_columns() {
    let schema = "CREATE TABLE tags(id INTEGER PRIMARY KEY, name TEXT);
        CREATE TABLE tagged(post INT, tag INT, place INT, PRIMARY KEY(post, tag));
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60) INSERT INTO tags SELECT i, 'tag ' || i FROM n;
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30000)
        INSERT INTO tagged SELECT i, i * i % 61, 0 FROM n;";
    let folder = tempfile::tempdir().unwrap();
    let subject = subject(folder.path(), schema);
    let sql =
        "SELECT t.name, count(d.post) FROM tags t LEFT JOIN tagged d ON d.tag = t.id GROUP BY t.id";
    let explained = explained(&subject, sql);
    let made: Vec<&str> = explained.advice.made.iter().map(|made| &*made.on).collect();
    assert_eq!(made, ["tagged(tag, post)"]);
    assert_eq!(causes(&explained), ["AutomaticIndex"]);
}

#[test]
fn a_column_that_is_searched_behind_a_skipped_one_does_not_only_spare_look_ups() {
    let schema = "CREATE TABLE messages(id INTEGER PRIMARY KEY, room INT, sent INT, body TEXT);
        CREATE INDEX messages_by_room ON messages(room);
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30000)
        INSERT INTO messages SELECT i, i % 9, i, 'a body of some words' FROM n;";
    let folder = tempfile::tempdir().unwrap();
    let subject = subject(folder.path(), schema);
    let explained = explained(&subject, "DELETE FROM messages WHERE sent < 3000");
    let made: Vec<_> =
        explained.advice.made.iter().map(|made| (&*made.on, made.index.covering)).collect();
    assert_eq!(made, [("messages(room, sent)", 0)]);
}

#[test]
fn a_statement_counts_only_the_indexes_that_its_plan_has() {
    let folder = tempfile::tempdir().unwrap();
    let subject = subject(folder.path(), SHOP);
    let statements = [
        "SELECT id FROM orders WHERE customer_id = 7 OR total = 733",
        "SELECT id FROM orders WHERE customer_id = 7",
        "UPDATE customers SET name = 'x' WHERE id = 7",
    ];
    let queries = statements.map(|sql| (query(&subject, sql, sql), None));
    let advice = advise(&subject, &queries, &|| 0.0).unwrap();
    let names = |made: &MadeIndex| -> Vec<usize> {
        let is_in = |sql: &str| made.changes.iter().any(|change| change.name == sql);
        (0..3).filter(|place| is_in(statements[*place])).collect()
    };
    let of: BTreeSet<_> = advice.made.iter().map(|made| (&*made.on, names(made))).collect();
    let wanted = [("orders(customer_id)", vec![0, 1]), ("orders(total)", vec![0])];
    assert_eq!(of, BTreeSet::from(wanted));
}

/// Draws numbers that are the same each time.
struct Draw(u64);

impl Draw {
    fn below(&mut self, end: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }

    fn of<'t>(&mut self, all: &'t [String]) -> &'t String {
        &all[self.below(all.len() as u64) as usize]
    }
}

/// Returns a schema with two tables and statements for it, as the benchmark of the advice has them.
fn workload(seed: u64) -> (String, Vec<String>) {
    let mut draw = Draw(seed);
    let (mut schema, mut statements, mut tables) = (String::new(), Vec::new(), Vec::new());
    for table in ["t0", "t1"] {
        let columns: Vec<String> =
            (0..3 + draw.below(4)).map(|number| format!("c{number}")).collect();
        let rows = [400, 2000, 5000][draw.below(3) as usize];
        let kinds: Vec<u64> =
            columns.iter().map(|_| [5, 500, rows / 10, rows / 3][draw.below(4) as usize]).collect();
        let cells = kinds.iter().enumerate().map(|(at, kind)| {
            format!("i * {} % {kind}", [7919, 104_729, 31, 15_485_863, 193, 6007, 89][at])
        });
        let (names, cells) = (columns.join(", "), cells.collect::<Vec<_>>().join(", "));
        schema += &format!(
            "CREATE TABLE {table}(id INTEGER PRIMARY KEY, {names});
             WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {rows}) INSERT INTO {table} SELECT i, {cells} FROM n;"
        );
        if draw.below(2) == 0 {
            schema += &format!("CREATE INDEX {table}_own ON {table}({});", draw.of(&columns));
        }
        tables.push((table, columns, kinds));
    }
    for _ in 0..4 + draw.below(6) {
        let (table, columns, kinds) = &tables[draw.below(2) as usize];
        let mut condition = || {
            let at = draw.below(columns.len() as u64) as usize;
            let value = draw.below(kinds[at]);
            match draw.below(5) {
                0 => format!("{} > {value}", columns[at]),
                1 => format!("{} IN ({value}, {})", columns[at], value / 2),
                _ => format!("{} = {value}", columns[at]),
            }
        };
        let (first, second) = (condition(), condition());
        let (order, shape) = (draw.of(columns), draw.below(6));
        statements.push(match shape {
            0 => format!("SELECT * FROM {table} WHERE {first}"),
            1 => format!("SELECT id FROM {table} WHERE {first} AND {second}"),
            2 => format!(
                "SELECT id, {order} FROM {table} WHERE {first} ORDER BY {order} DESC LIMIT 10"
            ),
            3 => format!("SELECT {order}, count(*) FROM {table} WHERE {first} GROUP BY {order}"),
            4 => format!("SELECT count(*) FROM {table} a JOIN t0 b ON b.c1 = a.id WHERE a.{first}"),
            _ => format!("UPDATE {table} SET {order} = 1 WHERE id = {}", draw.below(300)),
        });
    }
    (schema, statements)
}

const SEEDS: u64 = 40;

#[test]
fn nothing_more_is_advised_once_the_advice_is_carried_out() {
    let mut again = Vec::new();
    for seed in 0..SEEDS {
        let (schema, statements) = workload(seed);
        let advise_on = |schema: &str| {
            let folder = tempfile::tempdir().unwrap();
            let subject = subject(folder.path(), schema);
            let queries: Vec<_> =
                statements.iter().map(|sql| (query(&subject, sql, sql), None)).collect();
            advise(&subject, &queries, &|| 0.0).unwrap()
        };
        let first = advise_on(&schema).sql();
        let second = advise_on(&format!("{schema} {}", first.join(" ")));
        if !second.made.is_empty() || !second.dropped.is_empty() {
            again.push(format!(
                "{seed}: {first:#?} then {:#?} {:#?}",
                second.sql(),
                second.changes
            ));
        }
    }
    assert!(again.is_empty(), "{} of {SEEDS}: {}", again.len(), again.join("\n"));
}

/// Posts of users, and comments. Most posts are published, and few are read often.
const BLOG: &str = "CREATE TABLE users(id INTEGER PRIMARY KEY, email TEXT UNIQUE);
    CREATE TABLE posts(id INTEGER PRIMARY KEY, user_id INT, status TEXT, views INT, body TEXT);
    CREATE TABLE comments(id INTEGER PRIMARY KEY, post_id INT, author_id INT, body TEXT);
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
    INSERT INTO users SELECT i, i || '@example.org' FROM n;
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000)
    INSERT INTO posts SELECT i, i * 7919 % 5000, iif(i % 5 < 3, 'published', 'draft'), i * 104729 % 10007, hex(zeroblob(200)) FROM n;
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30000)
    INSERT INTO comments SELECT i, i * 7919 % 10000, i * 104729 % 5000, hex(zeroblob(100)) FROM n;";

#[test]
fn a_range_is_indexed_by_itself_where_a_column_before_it_misleads_another_statement() {
    let few = "SELECT id FROM posts WHERE status = 'published' AND views > 9990";
    let most = "SELECT id FROM users WHERE id NOT IN (SELECT user_id FROM posts WHERE status = 'published') LIMIT 20";
    assert_eq!(made(BLOG, &[(few, 1.0)]).0, ["posts(status, views)"]);
    assert_eq!(made(BLOG, &[(few, 1.0), (most, 1.0)]).0, ["posts(views)"]);
}

#[test]
fn a_few_rows_of_a_table_without_rowids_are_found_by_its_key() {
    let folder = tempfile::tempdir().unwrap();
    let pairs = "CREATE TABLE pairs(a, b, c, PRIMARY KEY (b, a)) WITHOUT ROWID";
    let subject = subject(folder.path(), pairs);
    for sql in few_rows(&subject.schema, "DELETE FROM pairs WHERE c", 3) {
        assert!(sql.contains("WHERE (b, a) IN (SELECT b, a FROM pairs"), "{sql}");
        subject.connect().unwrap().prepare(&sql).unwrap();
    }
}

#[test]
fn an_index_that_costs_another_statement_more_is_named_with_both() {
    let folder = tempfile::tempdir().unwrap();
    let subject = subject(folder.path(), BLOG);
    let few = "SELECT count(*) FROM comments WHERE author_id = 5";
    let most = "SELECT id FROM users u WHERE EXISTS (SELECT 1 FROM comments c WHERE c.author_id = u.id AND c.body LIKE '%text text%') LIMIT 5";
    let queries =
        [("few", few), ("most", most)].map(|(name, sql)| (query(&subject, name, sql), None));
    let advice = advise(&subject, &queries, &|| 0.0).unwrap();
    assert!(advice.made.is_empty(), "{:?}", advice.made);
    let [declined] = &advice.declined[..] else { panic!("{:?}", advice.declined) };
    assert_eq!(declined.on, ["comments(author_id)"]);
    assert_eq!(declined.own.name, "few");
    assert!(declined.own.after.total() < declined.own.before.total());
    let losses: Vec<&str> = declined.losses.iter().map(|loss| loss.name.as_str()).collect();
    assert_eq!(losses, ["most"]);
}

//! The work of each loop.

use engine::{DbStatus, Value};
use pragmark_explain::observe::Node;
use pragmark_explain::{Query, Subject, values};

use super::{SHOP, explained, query, subject};

#[test]
fn each_loop_has_its_rows_and_its_part_of_the_time() {
    let folder = tempfile::tempdir().unwrap();
    let subject = subject(folder.path(), SHOP);
    let sql = "SELECT c.name, o.total FROM orders o JOIN customers c ON c.id = o.customer_id WHERE o.total < 1000";
    let seen = explained(&subject, sql).observation;
    let [orders, customers] = &seen.nodes[..] else { panic!("{:#?}", seen.nodes) };
    assert_eq!((orders.loops, orders.visited), (Some(1), Some(8000)));
    assert_eq!(orders.kept, customers.loops);
    assert_eq!(customers.visited, Some(seen.rows as i64));
    assert_eq!(customers.kept, Some(seen.rows as i64));
    let has_time = |node: &Node| node.share.is_some_and(|share| share > 0.0);
    assert!(has_time(orders) && has_time(customers), "{:#?}", seen.nodes);
    // Another program may interrupt one execution outside of its loops.
    let all = || {
        let nodes = explained(&subject, sql).observation.nodes;
        nodes.iter().filter_map(|node| node.share).sum::<f64>()
    };
    assert!((0..9).map(|_| all()).any(|share| (0.5..=1.0).contains(&share)));
    assert_eq!(seen.pages[0].0, "orders");
}

#[test]
fn a_statement_that_writes_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let subject = subject(folder.path(), SHOP);
    let seen = explained(&subject, "DELETE FROM orders").observation;
    assert_eq!((seen.changes, seen.is_write), (8000, true));
    let connection = subject.connect().unwrap();
    assert_eq!(connection.query_i64("SELECT count(*) FROM orders").unwrap(), 8000);
    assert_eq!(
        connection
            .query_i64("SELECT count(*) FROM sqlite_schema WHERE name LIKE '%candidate%'")
            .unwrap(),
        0
    );
}

#[test]
fn a_sort_has_its_rows() {
    let folder = tempfile::tempdir().unwrap();
    let subject = subject(folder.path(), SHOP);
    let seen = explained(&subject, "SELECT id FROM orders ORDER BY total").observation;
    assert_eq!(seen.sorted, Some(8000));
}

#[test]
fn a_statement_without_an_end_is_stopped_and_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let subject = subject(folder.path(), "CREATE TABLE t(x)");
    let numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)";
    let read = query(&subject, "read", &format!("{numbers} SELECT count(*) FROM n"));
    let seen = subject.observe(&read).unwrap();
    assert!(seen.is_partial && seen.cost.is_partial());
    let write = query(&subject, "write", &format!("INSERT INTO t {numbers} SELECT i FROM n"));
    assert!(subject.observe(&write).unwrap().is_partial);
    assert_eq!(subject.connect().unwrap().query_i64("SELECT count(*) FROM t").unwrap(), 0);
}

/// Returns a statement with a set of values for each number. Few rows of [`UNEVEN`] have a small number, most have 9.
fn with_each(subject: &Subject, sql: &str, numbers: [i64; 3]) -> Query {
    let values = numbers.map(|number| vec![Value::Integer(number)]).to_vec();
    Query { values, ..query(subject, "q", sql) }
}

const UNEVEN: &str = "CREATE TABLE uneven(id INTEGER PRIMARY KEY, k INT, at INT);
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9000)
    INSERT INTO uneven SELECT i, min(i, 9), -i FROM n;
    CREATE INDEX uneven_k ON uneven(k); ANALYZE";

#[test]
fn each_execution_counts_its_sorts_though_the_statement_is_planned_again_for_its_values() {
    let folder = tempfile::tempdir().unwrap();
    let subject = subject(folder.path(), UNEVEN);
    let sql = "SELECT id FROM uneven WHERE k = :k ORDER BY at LIMIT 10000";
    let cost = |numbers| {
        let connection = subject.connect().unwrap();
        subject.cost(&connection, &with_each(&subject, sql, numbers), u32::MAX).unwrap()
    };
    let (large, mixed) = (cost([9, 9, 9]).temporary, cost([9, 1, 2]).temporary);
    assert!(large >= 8_000 && mixed >= large / 3 && mixed < large / 2, "{large} and {mixed}");
}

#[test]
fn a_limit_holds_for_the_mean_of_all_values() {
    let folder = tempfile::tempdir().unwrap();
    let subject = subject(folder.path(), UNEVEN);
    let query = with_each(&subject, "SELECT max(at) FROM uneven WHERE k = :k", [1, 9, 2]);
    let connection = subject.connect().unwrap();
    let cost = |most: u32| subject.cost(&connection, &query, most).unwrap().steps;
    let whole = cost(u32::MAX);
    assert!(whole > 10_000, "{whole}");
    assert_eq!(cost(whole as u32 + 10), whole);
    let less = whole as u32 / 2;
    assert!(cost(less) >= i64::from(less), "one of three was stopped, so all of them cost more");
}

#[test]
fn a_row_that_is_copied_is_kept_once() {
    let folder = tempfile::tempdir().unwrap();
    let subject = subject(folder.path(), SHOP);
    for sql in [
        "INSERT INTO legacy SELECT 'n' || id, 'x' FROM orders WHERE total > 9000",
        "INSERT INTO orders(total) SELECT total FROM orders WHERE total > 9000",
    ] {
        let seen = explained(&subject, sql).observation;
        assert_eq!(seen.nodes[0].kept, Some(seen.changes), "{sql}");
    }
}

#[test]
fn a_value_is_drawn_that_neither_most_nor_fewest_rows_have() {
    let folder = tempfile::tempdir().unwrap();
    let subject = subject(folder.path(), SHOP);
    let drawn = |sql| query(&subject, "q", sql).values[0].clone();
    let sql = "SELECT id FROM orders WHERE :s IS NULL OR status = :s";
    assert_eq!(drawn(sql), [Value::Text("sent".to_owned())]);
    let sql = "SELECT id FROM orders WHERE date(created_at) = ?";
    let [Value::Text(day)] = &drawn(sql)[..] else { panic!() };
    assert_eq!(day.len(), 10, "{day}");
}

#[test]
fn a_parameter_gets_a_value_of_what_it_is_compared_with() {
    let folder = tempfile::tempdir().unwrap();
    let json = "CREATE TABLE notes(id INTEGER PRIMARY KEY, body TEXT);
        INSERT INTO notes VALUES (1, '{\"kind\":\"memo\"}'), (2, '{\"kind\":\"memo\"}');
        CREATE VIEW kinds AS SELECT n.id, body, o.total FROM notes n JOIN orders o USING (id);";
    let subject = subject(folder.path(), &format!("{SHOP}{json}"));
    let drawn = |sql: &str| query(&subject, "q", sql).values.swap_remove(0);
    let kinds = |sql: &str| {
        let kind = |value: &Value| match value {
            Value::Integer(_) => "integer".to_owned(),
            Value::Text(text) => text.clone(),
            other => format!("{other:?}"),
        };
        drawn(sql).iter().map(kind).collect::<Vec<String>>()
    };
    for (sql, values) in [
        ("SELECT body FROM notes WHERE json_extract(body, '$.kind') = :k", &["memo"][..]),
        ("SELECT body FROM notes n WHERE n.body ->> '$.kind' = :k", &["memo"]),
        ("SELECT id FROM notes WHERE upper(body ->> 'kind') LIKE upper(:k) || '%'", &["MEM"]),
        ("SELECT id FROM notes WHERE body ->> 'kind' LIKE '%' || ? || '%'", &["mem"]),
        ("SELECT kind FROM (SELECT body ->> 'kind' AS kind FROM notes) WHERE kind = :k", &["memo"]),
        ("SELECT id FROM notes WHERE id IN (SELECT value FROM json_each(:ids))", &["[1]"]),
        (
            "SELECT k.id FROM kinds AS k WHERE k.body IS NOT :b AND k.total > :t",
            &["{\"kind\":\"memo\"}", "integer"],
        ),
        ("INSERT INTO notes VALUES (NULL, :body)", &["{\"kind\":\"memo\"}"]),
        ("SELECT id FROM orders WHERE total + 5 > ?1 ORDER BY id LIMIT ?2, ?3", &["integer"; 3]),
        ("SELECT customer_id, count(*) AS n FROM orders GROUP BY 1 HAVING n > :n", &["integer"]),
        (
            "UPDATE orders SET total = total + :d WHERE (customer_id, id) > (:c, :i)",
            &["integer"; 3],
        ),
        ("SELECT id FROM orders a WHERE a.customer_id = coalesce(:c, a.customer_id)", &["integer"]),
    ] {
        assert_eq!(kinds(sql), values, "{sql}");
    }
    let sql = "SELECT id FROM orders WHERE date(created_at) BETWEEN :a AND :b AND :t < total";
    let [Value::Text(first), Value::Text(last), Value::Integer(_)] = &drawn(sql)[..] else {
        panic!()
    };
    assert!(first < last && first.len() == 10, "{first} {last}");
    let connection = subject.connect().unwrap();
    let none = connection.prepare("SELECT total * :rate FROM orders").unwrap();
    assert!(values::draw(&connection, &subject.schema, &none, &[]).is_err());
}

#[test]
fn parameters_of_one_column_share_what_is_read_for_them() {
    let folder = tempfile::tempdir().unwrap();
    let sparse = "UPDATE orders SET status = NULL WHERE id <> 2;";
    let subject = subject(folder.path(), &format!("{SHOP}{sparse}"));
    let pages = |rows: usize| {
        let rows = vec!["(?, ?)"; rows].join(", ");
        let connection = subject.connect().unwrap();
        let sql = format!("INSERT INTO orders(status, total) VALUES {rows}");
        let statement = connection.prepare(&sql).unwrap();
        values::draw(&connection, &subject.schema, &statement, &[]).unwrap();
        connection.db_status(DbStatus::CacheHit, false).unwrap().current
    };
    assert_eq!(pages(300), pages(1));
}

#[test]
fn values_of_a_table_without_rowids_differ_and_some_are_rare() {
    let folder = tempfile::tempdir().unwrap();
    let tags = "CREATE TABLE tags(post INT, tag TEXT, PRIMARY KEY (post, tag)) WITHOUT ROWID;
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
        INSERT INTO tags SELECT i, iif(i % 401, 'usual' || (i % 7), 'rare' || i) FROM n;";
    let subject = subject(folder.path(), tags);
    let values =
        query(&subject, "q", "SELECT post FROM tags WHERE tag = :t ORDER BY post LIMIT 5").values;
    let texts: Vec<String> = values.iter().map(|set| set[0].to_string()).collect();
    assert!(texts.len() > 2 && texts[0].starts_with("usual"), "{texts:?}");
    assert!(texts.last().unwrap().starts_with("rare"), "{texts:?}");
}

#[test]
fn a_page_is_also_asked_for_with_values_that_few_rows_have() {
    let folder = tempfile::tempdir().unwrap();
    let subject = subject(folder.path(), SHOP);
    let sql = "SELECT id FROM orders WHERE status = :s AND total > :t ORDER BY created_at LIMIT 20";
    let values = query(&subject, "q", sql).values;
    let [Value::Text(status), Value::Integer(total)] = &values.last().unwrap()[..] else {
        panic!()
    };
    assert!(status == "open" && *total > 9000, "{status} {total}");
}

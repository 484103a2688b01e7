//! Definitions of full-text indexes, and that an index is what FTS5 itself would have made.

use std::path::Path;
use std::sync::Arc;

use engine::{Connection, Library, OpenFlags};

use super::build::{Source, fill};
use super::*;

/// Two indexes over the same table `t(a, b)`: `f` is FTS5's own, `g` has been filled here.
fn both(rows: &str, segment: usize) -> Connection {
    let library = Arc::new(Library::load(&engine::Source::Embedded).unwrap());
    let memory = Path::new(":memory:");
    let connection = Connection::open(&library, memory, OpenFlags::default(), None).unwrap();
    let index = |name: &str| {
        format!("CREATE VIRTUAL TABLE {name} USING fts5(a, b, content = t, content_rowid = id);")
    };
    connection
        .execute(&format!(
            "CREATE TABLE t(id INTEGER PRIMARY KEY, a, b); INSERT INTO t {rows}; {}{}
             INSERT INTO f(f) VALUES ('rebuild')",
            index("f"),
            index("g"),
        ))
        .unwrap();
    let rows = "SELECT id, CAST(a AS TEXT), CAST(b AS TEXT) FROM t ORDER BY id";
    let source = Source { index: "g", columns: 2, rows, segment };
    assert!(fill(&connection, &source, &mut || Ok(())).unwrap());
    connection
}

/// Compares all words with their places and the sizes of rows, after FTS5 has checked the index.
fn assert_same(connection: &Connection) {
    for index in ["f", "g"] {
        connection
            .execute(&format!(
                "INSERT INTO {index}({index}, rank) VALUES ('integrity-check', 1);
                 DROP TABLE IF EXISTS temp.v{index};
                 CREATE VIRTUAL TABLE temp.v{index} USING fts5vocab(main, {index}, instance)"
            ))
            .unwrap();
    }
    for rows in [
        "SELECT term, doc, col, offset FROM temp.vINDEX ORDER BY term, doc, col, offset",
        "SELECT id, hex(sz) FROM INDEX_docsize ORDER BY id",
        "SELECT hex(block) FROM INDEX_data WHERE id = 1",
    ] {
        let of = |index| connection.query_all(&rows.replace("INDEX", index)).unwrap();
        assert!(of("f") == of("g"), "{rows}");
    }
}

/// Changes the table and both indexes as triggers would.
fn change(connection: &Connection) {
    for index in ["f", "g"] {
        connection
            .execute(&format!(
                "INSERT INTO {index}({index}, rowid, a, b) SELECT 'delete', id, a, b FROM t WHERE id % 3 = 0;
                 INSERT INTO {index}(rowid, a, b) SELECT id + 1000000, b, 'new ' || a FROM t WHERE id % 3 = 0;
                 INSERT INTO {index}({index}, rank) VALUES ('merge', 16)"
            ))
            .unwrap();
    }
    connection
        .execute(
            "INSERT INTO t SELECT id + 1000000, b, 'new ' || a FROM t WHERE id % 3 = 0;
             DELETE FROM t WHERE id % 3 = 0 AND id < 1000000",
        )
        .unwrap();
}

/// SQL for the numbers from 1.
fn numbers(count: u32) -> String {
    format!("WITH n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < {count})")
}

#[test]
fn an_index_is_what_fts5_would_have_made() {
    let long = "x".repeat(40_000);
    let values = [
        "SELECT 1, 2, 3 WHERE 0".to_owned(),
        "VALUES (1, NULL, ''), (2, '', NULL)".to_owned(),
        "VALUES (1, 'Apple, apple! pear', 'ÄÖÜ straße 日本語 apple'), (-7, 42, 1.5), (8e15, x'61620063', 'a')".to_owned(),
        format!("VALUES (1, '{long} a', '{long}b')"),
    ];
    for values in values {
        let connection = both(&values, 1 << 20);
        assert_same(&connection);
        change(&connection);
        assert_same(&connection);
    }
}

#[test]
fn long_lists_of_rows_are_found_by_their_indexes() {
    // Words in every row, in every second one, and many times in one row, over several leaves each.
    let rows = format!(
        "{} SELECT n * 7 - 50000, 'every ' || iif(n % 2, 'odd', 'even') || ' w' || (n % 100), \
         iif(n % 1000 = 500, replace(hex(zeroblob(4000)), '00', 'many '), 'n' || n) FROM n",
        numbers(15000)
    );
    let connection = both(&rows, 1 << 20);
    assert_same(&connection);
    let indexed = "SELECT count(*) FROM g_idx WHERE pgno & 1";
    assert!(connection.query_i64(indexed).unwrap() >= 3);
    for query in ["every AND n2500", "many AND w0", "odd NOT w1", "every AND even AND w98", "e*"] {
        let found = |index| {
            connection
                .query_all(&format!("SELECT rowid FROM {index}('{query}') ORDER BY rowid DESC"))
        };
        assert_eq!(found("f").unwrap(), found("g").unwrap(), "{query}");
    }
    change(&connection);
    assert_same(&connection);
}

#[test]
fn segments_of_parts_of_the_rows_become_one() {
    let rows = format!("{} SELECT n, 'a w' || (n % 50), 'b x' || n FROM n", numbers(3000));
    let connection = both(&rows, 4000);
    assert_same(&connection);
    // FTS5 has given the one that is left the first number that was free.
    let is_one = "SELECT min(segid) = max(segid) AND min(segid) > 3 FROM g_idx";
    assert_eq!(connection.query_i64(is_one).unwrap(), 1);
    change(&connection);
    assert_same(&connection);
}

#[test]
fn the_table_that_an_index_reads_from_is_in_its_definition() {
    for (definition, table) in [
        ("f USING fts5(a, content=t)", Some("t")),
        ("f using FTS5 (a, Content = \"my \"\"t\"\"\" , b);", Some("my \"t\"")),
        ("f USING fts4(content='it''s', a)", Some("it's")),
        ("f USING fts5(a, content=[t], content_rowid=id)", Some("t")),
        ("f USING  fts5(a, content=t)", Some("t")),
        ("f USING\n\tfts5(a, content=t)", Some("t")),
        ("f USING/* , */fts5(a, -- content=u\n content=t)", Some("t")),
        ("f USING \"fts5\"(a, cont=t)", Some("t")),
        ("\"using fts5(content=u)\" USING fts5(a, content=t)", Some("t")),
        ("f USING fts5(a, content='')", Some("")),
        ("f USING fts5(a, tokenize = \"x, content=t\")", None),
        ("f USING fts5(content, t)", None),
        ("f USING fts5(a, content_rowid=t)", None),
        ("f USING fts3", None),
    ] {
        let sql = format!("CREATE VIRTUAL TABLE {definition}");
        let (module, content) = super::definition(&sql).expect(&sql);
        assert!(is_full_text(&module), "{sql}");
        assert_eq!(content.as_deref(), table, "{sql}");
    }
}

#[test]
fn what_is_not_understood_is_said() {
    for definition in [
        "f USING fts5(a, content=my t)",
        "f USING fts5(a, content=)",
        "f USING fts5(a, content=t",
        "f fts5(a)",
    ] {
        let sql = format!("CREATE VIRTUAL TABLE {definition}");
        assert_eq!(super::definition(&sql), None, "{sql}");
    }
    let other = definition("CREATE VIRTUAL TABLE f USING rtree(fts, a, b)").unwrap();
    assert!(!is_full_text(&other.0));
}

#[test]
fn a_trigger_keeps_an_index_up_where_it_inserts_into_it() {
    for (trigger, expected) in [
        ("AFTER INSERT ON docs BEGIN INSERT INTO doc(rowid, a) VALUES (1, 2); END", true),
        ("AFTER insert ON docs BEGIN INSERT OR REPLACE into\n\"DOC\" VALUES (1); END", true),
        ("INSERT ON docs BEGIN DELETE FROM x; INSERT INTO/**/[doc] VALUES (1); END", true),
        ("AFTER INSERT ON docs BEGIN INSERT INTO log VALUES ('doc'); END", false),
        ("AFTER INSERT ON docs BEGIN INSERT INTO docs_log SELECT * FROM doc; END", false),
        ("AFTER UPDATE ON docs BEGIN INSERT INTO doc VALUES (1); END", false),
        ("AFTER DELETE ON docs BEGIN INSERT INTO doc VALUES (1); END", false),
        ("AFTER UPDATE OF a, \"insert\" ON docs BEGIN INSERT INTO doc VALUES (1); END", false),
    ] {
        let sql = format!("CREATE TRIGGER doc_ai {trigger}");
        assert_eq!(inserts_into(&sql, "doc"), expected, "{sql}");
    }
}

#[test]
fn names_are_without_quotes_and_comments_are_left_out() {
    for (sql, expected) in [
        ("a\t-- 'b\nc/* \"d */e1", vec!["a", "c", "e1"]),
        ("'it''s'=\"a\"\"b\",[x]]`y`", vec!["it's", "=", "a\"b", ",", "x", "]", "y"]),
        ("-é_$/'open", vec!["-", "é_$", "/", "open"]),
        ("--x", vec![]),
        ("/* x", vec![]),
    ] {
        let found: Vec<String> = tokens(sql)
            .into_iter()
            .map(|token| name(token).unwrap_or_else(|| token.to_owned()))
            .collect();
        assert_eq!(found, expected, "{sql}");
    }
}

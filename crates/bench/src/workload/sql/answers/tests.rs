//! Changes that are planted in answers are found, and what SQL leaves open is no difference.

use std::path::Path;
use std::sync::Arc;

use engine::{Connection, Library, OpenFlags, Source};
use lab::comparison::{AnswerChange, ExactComparison, Side};
use lab::level::Level;
use lab::trial::Outcome;

use super::Pass;
use crate::workload::common::tests::run;

const VISITS: &str =
    "CREATE TABLE visit(id INTEGER PRIMARY KEY, k INTEGER, day TEXT, price REAL, name TEXT);
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400)
    INSERT INTO visit SELECT i, i % 10, 'd' || (i % 7), i * 0.1, 'n' || (i * 7919 % 400) FROM n;
    CREATE TABLE log(id INTEGER PRIMARY KEY, visit INTEGER, what);
    CREATE TABLE post(id INTEGER PRIMARY KEY, title, made TEXT DEFAULT CURRENT_TIMESTAMP);
    INSERT INTO post(title, made) SELECT name, day FROM visit;
    CREATE VIEW posted AS SELECT *, strftime('%f', 'now') AS read FROM post;
    CREATE TABLE audit(visit INTEGER);
    CREATE TRIGGER noted AFTER INSERT ON log BEGIN INSERT INTO audit VALUES (new.visit); END;";

/// Returns the changes of a statement's answer and of the tables that it writes, between a base and a new side.
pub(super) fn changes(base: &str, new: &str, change: Option<&str>) -> Vec<AnswerChange> {
    let comparison = compared(base, new, change);
    assert_eq!(comparison.statements.len(), 1, "{base} {new}");
    let answer = comparison.statements[0].answer.clone();
    std::iter::once(answer).chain(comparison.written.into_values()).collect()
}

fn compared(base: &str, new: &str, change: Option<&str>) -> ExactComparison {
    let directory = tempfile::tempdir().unwrap();
    let database = directory.path().join("visits.db");
    make(&database);
    let side = |sql: &str, change: Option<&str>| {
        let mut settings = vec![
            ("database", Level::Text(database.display().to_string())),
            ("sql", Level::Text(sql.to_owned())),
            ("unit", "statement".into()),
            ("executions", 2.into()),
            ("answers", 2.into()),
        ];
        settings.extend(change.map(|change| ("schema_change", Level::Text(change.to_owned()))));
        let trial = || match run("sql", &settings) {
            Ok(measured) => Outcome::Measured(Box::new(measured)),
            Err(error) => panic!("{sql}: {error}"),
        };
        Side { name: String::new(), trials: vec![trial(), trial()] }
    };
    ExactComparison::of(&side(base, None), &side(new, change))
}

pub(super) fn make(path: &Path) {
    let library = Arc::new(Library::load(&Source::Embedded).unwrap());
    let connection = Connection::open(&library, path, OpenFlags::default(), None).unwrap();
    connection.execute(VISITS).unwrap();
    connection.close().unwrap();
}

/// Statements, each with ten changes: what is replaced by what.
const PLANTED: [(&str, [(&str, &str); 10]); 4] = [
    (
        "SELECT id FROM visit WHERE k = 3 ORDER BY day",
        [
            ("ORDER BY day", "ORDER BY day DESC"),
            ("ORDER BY day", ""),
            ("ORDER BY day", "ORDER BY name"),
            ("SELECT id", "SELECT id + 1"),
            ("SELECT id", "SELECT id AS visit"),
            ("SELECT id", "SELECT CAST(id AS TEXT) AS id"),
            ("SELECT id", "SELECT id, k"),
            ("k = 3", "k = 3 AND id <> 33"),
            ("k = 3", "k = 4"),
            ("ORDER BY day", "ORDER BY day LIMIT 39"),
        ],
    ),
    (
        "WITH c AS (SELECT k, name, price FROM visit) SELECT k, count(*) AS n, sum(price) AS s FROM c GROUP BY k ORDER BY k",
        [
            ("ORDER BY k", "ORDER BY k DESC"),
            (" ORDER BY k", ""),
            ("ORDER BY k", "ORDER BY s DESC"),
            ("count(*)", "count(*) + 1"),
            ("sum(price)", "sum(price) + 0.001"),
            ("sum(price)", "CAST(sum(price) AS INTEGER)"),
            ("AS n", "AS m"),
            ("FROM visit", "FROM visit WHERE id <> 77"),
            ("GROUP BY k", "GROUP BY k HAVING k > 0"),
            (
                "SELECT k, name, price FROM visit",
                "SELECT k, name, price FROM visit UNION ALL SELECT 3, 'x', 0.5",
            ),
        ],
    ),
    (
        "SELECT id, day, row_number() OVER (ORDER BY id) AS r FROM visit WHERE k < 5 ORDER BY day LIMIT 20",
        [
            ("ORDER BY day", "ORDER BY day DESC"),
            ("ORDER BY day ", ""),
            ("ORDER BY day", "ORDER BY name"),
            ("LIMIT 20", "LIMIT 21"),
            ("day, row", "upper(day) AS day, row"),
            ("AS r", "AS number"),
            ("day, row", "CAST(day AS BLOB) AS day, row"),
            ("LIMIT 20", "LIMIT 20 OFFSET 50"),
            ("day, row", "row"),
            ("k < 5", "k < 5 AND day > 'd0'"),
        ],
    ),
    (
        "INSERT INTO log(visit, what) SELECT id, 1 FROM visit WHERE k = 3 ORDER BY id RETURNING visit",
        [
            ("SELECT id, 1", "SELECT id, 2"),
            ("SELECT id, 1", "SELECT id, 1.0"),
            ("SELECT id, 1", "SELECT id, '1'"),
            ("ORDER BY id", "ORDER BY id DESC"),
            ("RETURNING visit", "RETURNING visit + 1"),
            ("RETURNING visit", "RETURNING visit AS v"),
            ("RETURNING visit", ""),
            ("k = 3", "k = 3 AND id < 390"),
            (
                "INTO log(visit, what) SELECT id, 1",
                "INTO log(id, visit, what) SELECT NULLIF(id, 3) + 1000 * (SELECT count(*) FROM log), id, 1",
            ),
            ("SELECT id, 1", "SELECT id, NULL"),
        ],
    ),
];

#[test]
fn planted_changes_of_answers_are_found() {
    let mut missed = Vec::new();
    for (base, planted) in PLANTED {
        for (from, to) in planted {
            let new = base.replacen(from, to, 1);
            assert_ne!(base, new);
            let changes = changes(base, &new, None);
            if changes.iter().all(|change| change.difference().is_none()) {
                missed.push((new, changes));
            }
        }
    }
    assert!(missed.is_empty(), "{missed:#?}");
}

/// Kinds of answers that SQL leaves open, each with four statements.
const OPEN: [[&str; 4]; 11] = [
    [
        "SELECT id FROM visit WHERE k = 3 LIMIT 5",
        "SELECT id, day FROM visit WHERE day = 'd2' LIMIT 3",
        "SELECT name FROM visit WHERE k > 6 LIMIT 4",
        "SELECT v.id FROM visit v JOIN visit w ON w.k = v.k AND w.id = 7 LIMIT 5",
    ],
    [
        "SELECT id FROM visit WHERE k = 3 ORDER BY day",
        "SELECT id FROM visit WHERE k = 3 ORDER BY day LIMIT 5",
        "SELECT id, k FROM visit ORDER BY k DESC",
        "SELECT id, row_number() OVER (ORDER BY day) AS r FROM visit WHERE k < 3 ORDER BY day",
    ],
    [
        "SELECT group_concat(id) FROM visit WHERE k = 3",
        "SELECT k, group_concat(name, '; ') AS names FROM visit GROUP BY k ORDER BY k",
        "SELECT json_group_array(id) FROM visit WHERE day = 'd1'",
        "SELECT length(group_concat(name)), group_concat(day) FROM visit WHERE k > 7",
    ],
    [
        "SELECT k, id FROM visit WHERE k < 3 GROUP BY k",
        "SELECT day, name, count(*) FROM visit GROUP BY day",
        "SELECT k, day, sum(id) FROM visit GROUP BY k ORDER BY k",
        "SELECT count(*), name FROM visit WHERE k = 3",
    ],
    [
        "SELECT max(day), id FROM visit WHERE k = 3",
        "SELECT k, min(day), name FROM visit GROUP BY k",
        "SELECT id, max(k) FROM visit",
        "SELECT day, max(k), id FROM visit GROUP BY day ORDER BY day",
    ],
    [
        "SELECT id FROM visit WHERE k = 3",
        "SELECT DISTINCT day FROM visit WHERE k > 3",
        "SELECT k, count(*) FROM visit GROUP BY k",
        "SELECT id FROM visit WHERE k = 3 UNION ALL SELECT id FROM visit WHERE day = 'd1'",
    ],
    [
        "SELECT random() FROM visit WHERE k = 3",
        "SELECT id FROM visit ORDER BY random() LIMIT 3",
        "SELECT hex(randomblob(4))",
        "INSERT INTO log(visit, what) VALUES (1, random())",
    ],
    [
        "SELECT julianday('now')",
        "SELECT id, strftime('%f', 'now') FROM visit WHERE k = 3",
        "SELECT unixepoch('subsec')",
        "INSERT INTO log(visit, what) VALUES (1, strftime('%f', 'now'))",
    ],
    [
        "SELECT sum(price) FROM visit",
        "SELECT day, total(price) FROM visit GROUP BY day ORDER BY day",
        "SELECT avg(price), k FROM visit WHERE k > 2 GROUP BY k",
        "SELECT sum(price * 1.1) FROM visit WHERE day > 'd2'",
    ],
    [
        "SELECT (SELECT id FROM visit WHERE k = 3) AS first",
        "SELECT id FROM visit WHERE id = (SELECT id FROM visit WHERE day = 'd4')",
        "SELECT id, lag(id) OVER (ORDER BY day) AS earlier FROM visit WHERE k = 3",
        "INSERT INTO log(visit, what) SELECT id, 1 FROM visit WHERE k = 3 LIMIT 5",
    ],
    [
        "SELECT v.id, w.id AS other FROM visit v JOIN visit w ON w.k = v.k WHERE v.id < 9 ORDER BY v.id",
        "SELECT v.id, w.day FROM visit v LEFT JOIN visit w ON w.k = v.id ORDER BY v.id LIMIT 30",
        "SELECT v.k, group_concat(w.id) FROM visit v JOIN visit w ON w.k = v.k WHERE v.id < 4 GROUP BY v.k",
        "SELECT v.id, w.name, count(*) FROM visit v JOIN visit w ON w.k = v.k AND w.day = v.day GROUP BY v.id",
    ],
];

#[test]
fn answers_that_sql_leaves_open_are_no_differences() {
    let index = "CREATE INDEX further ON visit(k, day DESC, name, price); CREATE INDEX another ON visit(day, k DESC, id DESC, name, price)";
    let (mut counted, mut open) = (Vec::new(), 0);
    for sql in OPEN.as_flattened() {
        let changes = changes(sql, sql, Some(index));
        let is_open = |change: &AnswerChange| {
            matches!(change, AnswerChange::Open { .. } | AnswerChange::SameNumber)
        };
        open += usize::from(changes.iter().any(is_open));
        if changes.iter().any(|change| change.difference().is_some()) {
            counted.push((sql, changes));
        }
    }
    assert!(counted.is_empty(), "{counted:#?}");
    assert!(open >= 20, "only {open} of 44 answers differed at all");
}

#[test]
fn what_sql_leaves_open_is_no_difference_beside_statements_that_write_the_same_table() {
    let writes = "INSERT INTO visit(k, day, price, name) VALUES (3, 'd2', 0.5, 'x'); UPDATE visit SET price = price + 1 WHERE id = 9; DELETE FROM visit WHERE id = 11";
    let index = "CREATE INDEX further ON visit(k, day DESC, name, price DESC); CREATE INDEX another ON visit(day, k DESC, id DESC, name)";
    let queries: Vec<&str> =
        OPEN.as_flattened().iter().copied().filter(|sql| sql.starts_with("SELECT")).collect();
    // Without an index it does not end in time.
    let joined = "SELECT v.id FROM visit v JOIN visit w ON w.id = v.id JOIN visit x ON x.id = w.id WHERE x.k = 3 ORDER BY v.day LIMIT 5";
    let all = format!("{writes}; {}", [&queries[..], &[joined]].concat().join("; "));
    let found = compared(&all, &all, Some(index));
    let written = found.written.values();
    for answer in found.statements.iter().map(|statement| &statement.answer).chain(written) {
        assert_eq!(answer.difference(), None);
    }
    // What the base does not leave open is a difference still.
    let other = all.replace("WHERE k = 3 ORDER BY day;", "WHERE k = 3 ORDER BY name;");
    assert!(all != other);
    let found = compared(&all, &other, Some(index));
    assert!(found.statements.iter().any(|statement| statement.answer.difference().is_some()));
}

#[test]
fn a_row_that_is_chosen_from_ties_and_written_is_open() {
    let take = |order: &str| {
        format!(
            "UPDATE visit SET name = 'taken' WHERE id = (SELECT id FROM visit WHERE k = 3 AND name <> 'taken' ORDER BY {order} LIMIT 1) RETURNING id"
        )
    };
    let index = "CREATE INDEX further ON visit(k, day, id DESC)";
    for (base, new, allowed) in [("day", "day", true), ("day, id", "day, id DESC", false)] {
        let changes = changes(&take(base), &take(new), Some(index));
        let found = changes.iter().any(|change| change.difference().is_some());
        assert_eq!(!found, allowed, "{base} {new}: {changes:?}");
    }
}

#[test]
fn a_row_that_is_chosen_from_ties_and_written_is_open_beside_temporary_tables_and_triggers() {
    let index = "CREATE INDEX further ON visit(k, day, id DESC)";
    for made in [
        "CREATE TEMP TABLE IF NOT EXISTS x(a); INSERT INTO x VALUES (1)",
        "CREATE TRIGGER IF NOT EXISTS r AFTER INSERT ON log BEGIN UPDATE log SET what = 1; END",
    ] {
        let all = format!(
            "BEGIN; {made}; UPDATE visit SET name = 'taken' WHERE id = (SELECT id FROM visit WHERE k = 3 AND name <> 'taken' ORDER BY day LIMIT 1) RETURNING id; COMMIT"
        );
        let found = compared(&all, &all, Some(index));
        let written = found.written.values();
        for answer in found.statements.iter().map(|statement| &statement.answer).chain(written) {
            assert_eq!(answer.difference(), None, "{made}");
        }
    }
}

#[test]
fn only_a_query_that_took_too_long_is_read_again_with_indexes() {
    let needed = ["slow".to_owned(), "refused".to_owned()];
    for (given_up, passes) in [(vec![], 1), (vec!["slow".to_owned()], 2)] {
        let asked = std::cell::Cell::new(0);
        let pass = |_| {
            asked.set(asked.get() + 1);
            let given_up = given_up.iter().cloned().collect();
            Some(Pass { given_up, ..Pass::default() })
        };
        assert!(Pass::ordered(pass, needed.iter()).is_some());
        assert_eq!(asked.get(), passes);
    }
}

#[test]
fn a_row_that_is_found_by_a_whole_unique_key_leaves_nothing_open() {
    let library = Arc::new(Library::load(&Source::Embedded).unwrap());
    let flags = OpenFlags::default();
    let connection = Connection::open(&library, Path::new(":memory:"), flags, None).unwrap();
    connection.execute(VISITS).unwrap();
    let keys = "CREATE TABLE pair(a, b, c, PRIMARY KEY (a, b)); CREATE INDEX of_k ON visit(k, day)";
    connection.execute(keys).unwrap();
    for (sql, reads_one) in [
        ("SELECT * FROM visit WHERE id = ? LIMIT 1", true),
        ("SELECT max(day), name FROM visit WHERE id = 3 ORDER BY k", true),
        ("SELECT c FROM pair WHERE a = ? AND b = ? LIMIT 1", true),
        ("SELECT c FROM pair WHERE a = ? LIMIT 1", false),
        ("SELECT * FROM visit WHERE id IN (1, 2) LIMIT 1", false),
        ("SELECT * FROM visit WHERE id = 1 OR k = 2 LIMIT 1", false),
        ("SELECT * FROM visit WHERE id > 7 LIMIT 1", false),
        ("SELECT * FROM visit WHERE k = 3 LIMIT 1", false),
        ("SELECT max(day), id FROM visit WHERE k = 3", false),
        ("SELECT * FROM visit, log WHERE visit.id = 3 LIMIT 1", false),
        ("SELECT id FROM visit WHERE id = 1 UNION ALL SELECT 2 LIMIT 1", false),
        ("UPDATE visit SET name = '' WHERE id = 3 RETURNING id", false),
    ] {
        assert_eq!(super::reads_one_row(&connection, sql), reads_one, "{sql}");
    }
}

#[test]
fn only_answers_that_the_base_allows_are_open() {
    let index = "CREATE INDEX further ON visit(k, day DESC, name)";
    for (base, from, to, allowed) in [
        ("SELECT id FROM visit WHERE k = 3 ORDER BY day LIMIT 5", "day", "day, id", true),
        ("SELECT id FROM visit WHERE k = 3 ORDER BY day", "day", "day, name, id", true),
        ("SELECT id FROM visit WHERE k = 3 LIMIT 5", "LIMIT", "ORDER BY id DESC LIMIT", true),
        ("SELECT id FROM visit WHERE k = 3 LIMIT 5", "k = 3", "k = 4", false),
        (
            "SELECT id FROM visit WHERE k = 3 ORDER BY day LIMIT 5",
            "LIMIT 5",
            "LIMIT 5 OFFSET 30",
            false,
        ),
        (
            "SELECT id FROM visit WHERE k = 3 ORDER BY day LIMIT 5",
            "id FROM",
            "id + 1 AS id FROM",
            false,
        ),
        (
            "INSERT INTO log(visit, what) SELECT id, 1 FROM visit WHERE k = 3 LIMIT 5",
            "k = 3",
            "k = 4",
            false,
        ),
        ("SELECT group_concat(id) AS g FROM visit WHERE id IN (3, 12)", "3, 12", "2, 13", false),
    ] {
        let changes = changes(base, &base.replacen(from, to, 1), Some(index));
        let found = changes.iter().any(|change| change.difference().is_some());
        assert_eq!(!found, allowed, "{base}: {changes:?}");
    }
}

/// Statements that depend on chance or the present time in a part, each with changes of the rest.
const BY_CHANCE: [(&str, &[(&str, &str)]); 8] = [
    (
        "SELECT id, random() AS r FROM visit WHERE k = 3 ORDER BY day, id",
        &[
            ("AS r", "AS s"),
            ("AS r", "AS r, 1 AS k"),
            ("k = 3", "k = 4"),
            (", id", ", id DESC"),
            ("SELECT id", "SELECT -id AS id"),
        ],
    ),
    (
        "SELECT id FROM visit WHERE day <> strftime('%f') AND k = 3 ORDER BY id",
        &[("k = 3", "k = 4"), ("ORDER BY id", "ORDER BY id DESC")],
    ),
    ("SELECT id, day FROM visit WHERE name <> 'now' AND k = 3", &[("k = 3", "k = 4")]),
    ("SELECT name AS random, id FROM visit WHERE k = 3", &[("k = 3", "k = 4")]),
    ("INSERT INTO log(visit, what) VALUES (1, datetime('now'))", &[("(1,", "(2,")]),
    ("INSERT INTO post(title) VALUES ('a')", &[("'a'", "'b'")]),
    (
        "INSERT INTO log(visit, what) SELECT id, random() FROM visit WHERE k = 3",
        &[("k = 3", "k = 4")],
    ),
    (
        "SELECT id, title FROM posted WHERE id < 9",
        &[("id < 9", "id < 8"), ("title", "title || id AS title")],
    ),
];

#[test]
fn everything_that_does_not_depend_on_chance_is_compared() {
    for (base, planted) in BY_CHANCE {
        let same = changes(base, base, None);
        assert!(same.iter().all(|change| change.difference().is_none()), "{base}: {same:?}");
        for (from, to) in planted {
            let new = base.replacen(from, to, 1);
            let changes = changes(base, &new, None);
            let found = changes.iter().any(|change| change.difference().is_some());
            assert!(found, "{base} {new}: {changes:?}");
        }
    }
}

#[test]
fn time_in_one_statement_leaves_others_compared() {
    let all = "INSERT INTO post(title) VALUES ('a'); SELECT * FROM post WHERE id = 5; SELECT id, title, made FROM post WHERE id < 9 ORDER BY id";
    let new = all.replace("id = 5", "id = 6").replace("ORDER BY id", "ORDER BY id DESC");
    let differences = |new: &str| {
        let statements = compared(all, new, None).statements.into_iter();
        let differ = statements.filter(|statement| statement.answer.difference().is_some());
        differ.count()
    };
    assert_eq!([differences(all), differences(&new)], [0, 2]);
}

#[test]
fn a_statement_that_is_not_tested_leaves_the_tests_of_others_alone() {
    let heavy = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 600000) SELECT count(*) FROM n";
    let oid = "SELECT oid, * FROM visit WHERE oid = 5 ORDER BY day";
    let insert = "INSERT INTO log(visit, what) VALUES (3, 1)";
    let concat = "SELECT group_concat(id) FROM visit WHERE k = 3";
    let limit = "SELECT id FROM visit WHERE k = 3 LIMIT 5";
    let all = [heavy, oid, insert, concat, limit].join("; ");
    let index = "CREATE INDEX further ON visit(k, day DESC, name)";
    let compared = compared(&all, &all, Some(index));
    assert_eq!(compared.statements.len(), 5);
    for statement in compared.statements {
        let is_open = [concat, limit].contains(&statement.sql.trim_end_matches(';'));
        let found = matches!(statement.answer, AnswerChange::Open { .. });
        assert_eq!((found, statement.answer.difference()), (is_open, None), "{}", statement.sql);
    }
}

#[test]
fn changes_of_the_schema_are_compared() {
    for (base, new) in [
        ("DROP TABLE IF EXISTS audit", "DROP TABLE IF EXISTS nosuch"),
        (
            "CREATE VIEW IF NOT EXISTS v AS SELECT 1 AS a",
            "CREATE VIEW IF NOT EXISTS v AS SELECT 2 AS a",
        ),
        (
            "CREATE TABLE IF NOT EXISTS z(a INT)",
            "CREATE TABLE IF NOT EXISTS z(a INT CHECK (a > 0))",
        ),
        (
            "CREATE UNIQUE INDEX IF NOT EXISTS i ON visit(name)",
            "CREATE INDEX IF NOT EXISTS i ON visit(name)",
        ),
        ("PRAGMA user_version = 3", "PRAGMA user_version = 4"),
        ("DROP TRIGGER IF EXISTS noted", "DROP TRIGGER IF EXISTS nosuch"),
    ] {
        let named = |sql: &str| format!("-- name: change\n{sql}");
        let differs = |new: &str| {
            changes(&named(base), &named(new), None)
                .iter()
                .any(|change| change.difference().is_some())
        };
        assert_eq!([differs(base), differs(new)], [false, true], "{base}; {new}");
    }
}

#[test]
fn definitions_of_written_tables_are_compared() {
    let insert = "INSERT INTO audit VALUES (3)";
    let redefine = |columns: &str| {
        format!("DROP TABLE audit; CREATE TABLE 'audit' ( {columns} ) -- as before")
    };
    for (columns, is_same) in [
        ("visit INTEGER", true),
        ("visit INTEGER NOT NULL", false),
        ("visit INTEGER CHECK (visit > 0)", false),
        ("visit INTEGER REFERENCES visit", false),
        ("visit INTEGER COLLATE nocase DEFAULT 1", false),
    ] {
        let changes = changes(insert, insert, Some(&redefine(columns)));
        let found = changes.iter().any(|change| change.difference().is_some());
        assert_eq!(!found, is_same, "{columns}: {changes:?}");
    }
}

#[test]
fn columns_of_one_name_are_compared_each() {
    let base = "SELECT k AS x, name AS x FROM visit WHERE k = 3 LIMIT 5";
    let new = "SELECT k + 1 AS x, name AS x FROM visit WHERE k = 3 LIMIT 5";
    assert!(matches!(
        changes(base, base, None)[..],
        [AnswerChange::Open { .. } | AnswerChange::Same]
    ));
    assert!(changes(base, new, None)[0].difference().is_some());
}

#[test]
fn an_open_answer_names_the_cause_that_it_shows() {
    let index = "CREATE INDEX further ON visit(k, day DESC, name)";
    for (sql, cause) in [
        ("SELECT id FROM visit WHERE k = 3 LIMIT 5", "add an ORDER BY with a unique column"),
        ("SELECT k, day, sum(id) FROM visit GROUP BY k ORDER BY k", "a bare column beside"),
        (
            "SELECT id FROM visit WHERE k = 3 ORDER BY day LIMIT 5",
            "a unique column, such as id, to ORDER BY",
        ),
        ("SELECT id, day FROM visit WHERE k = 3 ORDER BY day", "the order of ties"),
        ("SELECT strftime('%f', \"now\")", "the present time"),
        ("SELECT read FROM posted WHERE id = 1", "the present time"),
    ] {
        let found = changes(sql, sql, Some(index));
        let [AnswerChange::Open { what }] = &found[..] else { panic!("{sql}: {found:?}") };
        assert!(what.contains(cause), "{sql}: {what}");
    }
}

#[test]
fn tables_that_a_trigger_writes_are_compared_too() {
    let insert = "INSERT INTO log(visit, what) VALUES (3, 1)";
    let silent = "DROP TRIGGER noted";
    let changes = changes(insert, insert, Some(silent));
    let found = changes.iter().any(|change| change.difference().is_some());
    assert!(found, "{changes:?}");
}

//! Changes that are planted in answers are found, and what SQL leaves open is no difference.

use std::path::Path;
use std::sync::Arc;

use engine::{Connection, Library, OpenFlags, Source};
use lab::comparison::{AnswerChange, ExactComparison, Side};
use lab::level::Level;
use lab::trial::Outcome;

use crate::workload::common::tests::run;

const VISITS: &str =
    "CREATE TABLE visit(id INTEGER PRIMARY KEY, k INTEGER, day TEXT, price REAL, name TEXT);
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400)
    INSERT INTO visit SELECT i, i % 10, 'd' || (i % 7), i * 0.1, 'n' || (i * 7919 % 400) FROM n;
    CREATE TABLE log(id INTEGER PRIMARY KEY, visit INTEGER, what);
    CREATE TABLE audit(visit INTEGER);
    CREATE TRIGGER noted AFTER INSERT ON log BEGIN INSERT INTO audit VALUES (new.visit); END;";

/// Returns the changes of a statement's answer and of the tables that it writes, between a base and a new side.
fn changes(base: &str, new: &str, change: Option<&str>) -> Vec<AnswerChange> {
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
    let comparison = ExactComparison::of(&side(base, None), &side(new, change));
    assert_eq!(comparison.statements.len(), 1, "{base} {new}");
    let answer = comparison.statements[0].answer.clone();
    std::iter::once(answer).chain(comparison.written.into_values()).collect()
}

fn make(path: &Path) {
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
const OPEN: [[&str; 4]; 10] = [
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
    assert!(open >= 20, "only {open} of 40 answers differed at all");
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

//! Values and indexes of which other builds of SQLite think otherwise: what counts is the engine in use.

use engine::Step;
use pragmark_load::{LoadStrategy, Mode};

use crate::faults::{Workspace, run};

const STORED: &str = "SELECT typeof(v), hex(v), w FROM t ORDER BY rowid";

#[test]
fn a_number_before_a_nul_is_what_the_engine_makes_of_it() {
    let values = ["1\0", "1\x002", "1.5\0", "\x001", "1e3\0", "-7\0 "];
    let definition = "CREATE TABLE t(v INTEGER, w)";
    let own = Workspace::new();
    let connection = own.connection();
    connection.execute(definition).unwrap();
    let mut csv = "v,w\n".to_owned();
    for value in values {
        let mut insert = connection.prepare("INSERT INTO t VALUES (?1, 'x')").unwrap();
        insert.bind_text(1, value).unwrap();
        assert_eq!(insert.step().unwrap(), Step::Done);
        csv += &format!("{value},x\n");
    }
    for strategy in [None, Some(LoadStrategy::Arrays)] {
        let workspace = Workspace::new();
        workspace.connection().execute(definition).unwrap();
        let mut request = workspace.request();
        request.mode = Mode::Append;
        request.strategy = strategy;
        run(&workspace.write("a.csv", &csv), &request).unwrap();
        assert_eq!(workspace.rows(STORED), own.rows(STORED), "{strategy:?}");
    }
}

#[test]
fn an_index_on_a_column_computed_of_others_is_sound() {
    for types in ["c, d", "c REAL, d INTEGER", "c TEXT, d NUMERIC"] {
        let workspace = Workspace::new();
        let sql = format!(
            "CREATE TABLE t({types}, e AS (c || d) VIRTUAL); CREATE INDEX t_e ON t(e);
             INSERT INTO t(c, d) VALUES (1, 2)"
        );
        workspace.connection().execute(&sql).unwrap();
        let mut request = workspace.request();
        request.mode = Mode::Append;
        let rows: String = (0..3_000).map(|n| format!("{n}.0,{n}\n")).collect();
        run(&workspace.write("a.csv", format!("c,d\n{rows}x\0y,\n")), &request).unwrap();
        assert_eq!(workspace.rows("PRAGMA integrity_check"), ["ok"], "{types}");
        assert_eq!(workspace.rows("SELECT count(*) FROM t"), ["3002"]);
    }
}

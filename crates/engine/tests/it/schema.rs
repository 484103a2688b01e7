//! Schemas as SQLite describes them, and rows as bytes.

use crate::support::{engine, memory};
use pragmark_engine::schema::{ForeignKey, PartOf, Schema};
use std::collections::HashSet;

#[test]
fn a_table_is_described_with_its_form_its_keys_and_what_its_indexes_are_for() {
    let connection = memory(&engine());
    connection
        .execute(
            "CREATE TABLE p(id INTEGER PRIMARY KEY, g AS (id + 1), n COLLATE NOCASE UNIQUE);
             CREATE INDEX p_e ON p(lower(n), id DESC) WHERE n > '';
             CREATE TABLE w(k TEXT PRIMARY KEY, a, b REFERENCES p, FOREIGN KEY(a, k) REFERENCES v(x, y) ON DELETE CASCADE) WITHOUT ROWID;
             CREATE VIRTUAL TABLE f USING fts5(t); CREATE VIEW v AS SELECT 1 AS x, 2 AS y;",
        )
        .expect("creates");
    let schema = Schema::read(&connection).expect("reads");
    let own = schema.tables.iter().filter(|table| !table.is_shadow);
    let forms: Vec<(&str, bool)> =
        own.map(|table| (&*table.name, table.is_without_rowid)).collect();
    assert_eq!(forms, [("p", false), ("w", true)]);
    assert_eq!(schema.others, ["CREATE VIEW v AS SELECT 1 AS x, 2 AS y"]);

    let (p, w) = (schema.table("P").expect("there"), schema.table("w").expect("there"));
    let columns: Vec<(&str, &str, bool)> = p
        .columns
        .iter()
        .map(|column| (&*column.name, &*column.collation, column.is_rowid))
        .collect();
    assert_eq!(columns, [("id", "BINARY", true), ("g", "BINARY", false), ("n", "NOCASE", false)]);
    let kinds = |table: &pragmark_engine::schema::Table| {
        let kinds = table.indexes.iter();
        kinds
            .map(|index| (index.is_unique, index.is_partial, index.is_of_constraint, index.is_key))
            .collect::<Vec<_>>()
    };
    assert_eq!(kinds(p), [(true, false, true, false), (false, true, false, false)]);
    assert_eq!(kinds(w), [(true, false, true, true)]);
    let parts: Vec<(&PartOf, bool)> =
        p.indexes[1].parts.iter().map(|part| (&part.of, part.is_descending)).collect();
    assert_eq!(parts, [(&PartOf::Expression(String::new()), false), (&PartOf::Column(0), true)]);
    let key = |parent: &str, columns: &[&str]| ForeignKey {
        parent: parent.to_owned(),
        columns: columns.iter().map(|name| (*name).to_owned()).collect(),
        cascades: parent == "v",
    };
    assert_eq!(w.foreign_keys, [key("v", &["a", "k"]), key("p", &["b"])]);
}

#[test]
fn different_rows_are_different_bytes() {
    let connection = memory(&engine());
    let rows = "SELECT 'ab', 'c' UNION ALL SELECT 'a', 'bc' UNION ALL SELECT x'6162', 'c' UNION ALL SELECT 1, 'c'
        UNION ALL SELECT 1.0, 'c' UNION ALL SELECT NULL, 'c' UNION ALL SELECT '', 'c'
        UNION ALL SELECT CAST(x'ff' AS TEXT), 'c' UNION ALL SELECT x'ff', 'c'";
    let mut all = HashSet::new();
    let count = connection.for_each_row(rows, |row| {
        let mut bytes = Vec::new();
        row.write_row(&mut bytes)?;
        all.insert(bytes);
        Ok(())
    });
    assert_eq!((count.expect("reads"), all.len()), (9, 9));
}

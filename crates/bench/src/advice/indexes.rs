//! Indexes that no statement of a workload uses.

use std::path::Path;
use std::sync::Arc;

use engine::{Connection, EngineError, Library, OpenFlags, Source};
use lab::level::Level;
use lab::tuning_plan::Advice;

use super::tables::forms;
use super::{has_plan, texts};
use crate::error::TrialError;
use script::effect::quoted;

/// Returns changes of the schema that may help these statements, from a copy of the database, which is changed: the removal
/// of indexes that no statement uses, and other forms of the tables.
///
/// # Errors
/// The copy is not a database, or the disk is full.
pub fn schema_advice(copy: &Path, statements: &[String]) -> Result<Vec<Advice>, TrialError> {
    let library = Arc::new(Library::load(&Source::Embedded)?);
    let connection = Connection::open(&library, copy, OpenFlags::default(), None)?;
    connection.execute("ANALYZE")?;
    let statements = statements.iter().filter(|sql| has_plan(sql));
    let statements: &[String] = &statements.cloned().collect::<Vec<_>>();
    let drop = unused(&connection, statements)?;
    let forms = forms(&connection, statements)?;
    connection.close()?;
    Ok(drop.into_iter().chain(forms).collect())
}

/// Returns the removal of the indexes that no statement uses, unless triggers run statements that are not known here.
/// Indexes that a constraint needs, or that begin with a column of a foreign key, stay.
fn unused(connection: &Connection, statements: &[String]) -> Result<Option<Advice>, EngineError> {
    let triggers = "SELECT count(*) FROM sqlite_schema WHERE type = 'trigger'";
    if connection.query_i64(triggers)? > 0 {
        return Ok(None);
    }
    let mut plans = Vec::new();
    for statement in statements {
        match connection.query_plan(statement) {
            Ok(plan) => plans.extend(plan),
            // What a statement uses that cannot be planned is not known.
            Err(_) => return Ok(None),
        }
    }
    let sql = "SELECT i.name, i.tbl_name FROM sqlite_schema AS i WHERE i.type = 'index' AND i.sql IS NOT NULL
        AND (SELECT \"unique\" = 0 FROM pragma_index_list(i.tbl_name) AS list WHERE list.name = i.name)
        AND NOT EXISTS (SELECT 1 FROM pragma_foreign_key_list(i.tbl_name) AS k
            JOIN pragma_index_info(i.name) AS c ON c.seqno = 0 AND c.name = k.\"from\" COLLATE NOCASE)";
    let is_used = |name: &str| {
        let uses = |line: &String| {
            line.split_once(" INDEX ")
                .is_some_and(|(_, rest)| rest == name || rest.starts_with(&format!("{name} (")))
        };
        plans.iter().any(uses)
    };
    let all = texts(connection, sql)?.into_iter().map(|[name, _]| name);
    let names: Vec<String> = all.filter(|name| !is_used(name)).collect();
    let drops: Vec<String> =
        names.iter().map(|name| format!("DROP INDEX {};", quoted(name))).collect();
    Ok((!names.is_empty()).then(|| Advice {
        counted: None,
        change: format!(
            "without the indexes that no statement of the workload uses: {}",
            names.join(", ")
        ),
        settings: [("schema_change".to_owned(), Level::Text(drops.join(" ")))].into(),
        sql: Some(drops.join("\n")),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A database of orders and the statements of a shop.
    fn advice(schema: &str, statements: &[&str]) -> Vec<Advice> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("shop.db");
        let library = Arc::new(Library::load(&Source::Embedded).unwrap());
        let connection = Connection::open(&library, &path, OpenFlags::default(), None).unwrap();
        connection
            .execute(
                "CREATE TABLE orders(id INTEGER PRIMARY KEY, user INTEGER, day INTEGER, note TEXT); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000) INSERT INTO orders SELECT i, i % 100, i % 365, 'note' FROM n",
            )
            .unwrap();
        connection.execute(schema).unwrap();
        connection.close().unwrap();
        let statements: Vec<String> = statements.iter().map(|it| (*it).to_owned()).collect();
        let all = schema_advice(&path, &statements).unwrap().into_iter();
        // Other forms of tables have tests of their own.
        all.filter(|it| !it.change.ends_with(" for orders")).collect()
    }

    fn sql(advice: &[Advice]) -> Vec<&str> {
        advice.iter().filter_map(|it| it.sql.as_deref()).collect()
    }

    #[test]
    fn an_index_that_nothing_uses_is_dropped() {
        let by_user = "CREATE INDEX by_user ON orders(user); ";
        let statement = "SELECT note FROM orders WHERE user = 3";
        assert!(advice(by_user, &[statement]).is_empty());
        let both = format!("{by_user} CREATE INDEX by_note ON orders(note)");
        let found = advice(&both, &[statement]);
        assert_eq!(sql(&found), ["DROP INDEX \"by_note\";"]);
        let unknown = advice(&both, &[statement, "SELECT missing FROM nowhere"]);
        assert!(unknown.is_empty(), "what a statement without a plan uses is not known");
        let settings = ["PRAGMA query_only = 1", "EXPLAIN SELECT 1", statement];
        let found = advice(&both, &settings);
        assert_eq!(sql(&found), ["DROP INDEX \"by_note\";"]);
        let unique = "CREATE UNIQUE INDEX only ON orders(id, note)";
        assert!(advice(unique, &["SELECT 1"]).is_empty());
    }
}

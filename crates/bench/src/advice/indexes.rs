//! Indexes as a change of the application: those that SQLite's planner uses for the statements of a workload on a copy of the
//! database with statistics, and those that no statement uses.
//!
//! Candidates are the columns that a statement names: one at a time, then the used ones with a second column. The gain of
//! an index is measured on the whole workload, so a wrong candidate costs trials and misleads nobody.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use engine::{Connection, EngineError, Library, OpenFlags, Source};
use lab::level::Level;
use lab::tuning_plan::Advice;

use super::tables::forms;
use super::{has_plan, texts, words};
use crate::error::TrialError;
use crate::examination::{literal, quoted};

/// Indexes at most.
const MOST: usize = 3;

/// Candidates of one step at most: each is built on the copy.
const CANDIDATES: usize = 40;

/// How candidates are named.
const CANDIDATE: &str = "pragmark_candidate_";

/// An index that may help.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    table: String,
    columns: Vec<String>,
}

impl Candidate {
    fn create(&self, name: &str) -> String {
        let columns: Vec<String> = self.columns.iter().map(|column| quoted(column)).collect();
        let (name, table) = (quoted(name), quoted(&self.table));
        format!("CREATE INDEX {name} ON {table}({})", columns.join(", "))
    }

    fn name(&self) -> String {
        format!("{}_by_{}", self.table, self.columns.join("_"))
    }

    /// Returns the index as a change of the application; its size is that on the copy.
    fn advice(&self, bytes: i64) -> Advice {
        let create = self.create(&self.name());
        let columns = self.columns.join(", ");
        Advice {
            change: format!("an index on {}({columns}) of {}", self.table, in_words(bytes)),
            settings: [("schema_change".to_owned(), Level::Text(create.clone()))].into(),
            sql: Some(format!("{create};")),
        }
    }
}

/// Returns a size in words.
fn in_words(bytes: i64) -> String {
    let kib = bytes as f64 / 1024.0;
    if kib < 1024.0 { format!("{kib:.0} KiB") } else { format!("{:.1} MiB", kib / 1024.0) }
}

/// Returns changes of the schema that may help these statements, from a copy of the database, which is changed: at most
/// three indexes, the most used first, the removal of indexes that no statement uses, and other forms of the tables.
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
    let tables = tables(&connection)?;
    let single = used(&connection, statements, &singles(&tables, statements))?;
    let names: Vec<Candidate> = single.keys().cloned().collect();
    let wider = pairs(&tables, statements, &names);
    let both = names.into_iter().chain(wider).collect::<Vec<_>>();
    let mut best: Vec<(Candidate, usize)> =
        used(&connection, statements, &both)?.into_iter().collect();
    best.sort_by_key(|(_, uses)| std::cmp::Reverse(*uses));
    best.truncate(MOST);
    let sized = best.into_iter().map(|(it, _)| Ok(it.advice(size(&connection, &it)?)));
    let indexes: Result<Vec<Advice>, EngineError> = sized.collect();
    let indexes = indexes?;
    let forms = forms(&connection, statements)?;
    connection.close()?;
    Ok(indexes.into_iter().chain(drop).chain(forms).collect())
}

/// Returns the columns of each table, except its rowid and the first columns of indexes.
fn tables(connection: &Connection) -> Result<BTreeMap<String, Vec<String>>, EngineError> {
    let sql = "SELECT t.name, c.name FROM sqlite_schema AS t, pragma_table_info(t.name) AS c
        WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND t.sql NOT LIKE 'CREATE VIRTUAL%'
        AND NOT (c.pk = 1 AND c.type = 'INTEGER' COLLATE NOCASE)
        AND NOT EXISTS (SELECT 1 FROM pragma_index_list(t.name) AS i, pragma_index_info(i.name) AS first
            WHERE first.seqno = 0 AND first.name = c.name)";
    let mut tables: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for [table, column] in texts(connection, sql)? {
        tables.entry(table).or_default().push(column);
    }
    Ok(tables)
}

/// Returns the columns of a table that a statement names along with the table.
fn named<'t>(
    (table, columns): (&'t String, &'t Vec<String>),
    words: &'t BTreeSet<String>,
) -> impl Iterator<Item = Candidate> + 't {
    let is_named = words.contains(&table.to_lowercase());
    let columns = columns.iter().filter(|column| words.contains(&column.to_lowercase()));
    columns
        .filter(move |_| is_named)
        .map(|column| Candidate { table: table.clone(), columns: vec![column.clone()] })
}

fn singles(tables: &BTreeMap<String, Vec<String>>, statements: &[String]) -> Vec<Candidate> {
    let mut all = BTreeSet::new();
    for words in statements.iter().map(|sql| words(sql)) {
        all.extend(tables.iter().flat_map(|table| named(table, &words)));
    }
    all.into_iter().take(CANDIDATES).collect()
}

/// Returns each of these with a second column that the same statement names.
fn pairs(
    tables: &BTreeMap<String, Vec<String>>,
    statements: &[String],
    single: &[Candidate],
) -> Vec<Candidate> {
    let mut all = BTreeSet::new();
    for words in statements.iter().map(|sql| words(sql)) {
        for first in
            single.iter().filter(|candidate| words.contains(&candidate.columns[0].to_lowercase()))
        {
            let Some(table) = tables.get_key_value(&first.table) else {
                continue;
            };
            let others = named(table, &words).filter(|other| other.columns != first.columns);
            all.extend(others.map(|other| Candidate {
                table: first.table.clone(),
                columns: [first.columns.clone(), other.columns].concat(),
            }));
        }
    }
    all.into_iter().take(CANDIDATES).collect()
}

/// Returns the candidates that the planner uses where all of them exist, by the number of statements.
fn used(
    connection: &Connection,
    statements: &[String],
    candidates: &[Candidate],
) -> Result<BTreeMap<Candidate, usize>, EngineError> {
    connection.execute("SAVEPOINT candidates")?;
    for (number, candidate) in candidates.iter().enumerate() {
        connection.execute(&candidate.create(&format!("{CANDIDATE}{number}")))?;
    }
    connection.execute("ANALYZE")?;
    let mut used = BTreeMap::new();
    for statement in statements {
        // A statement that cannot be planned here uses no index.
        let plan = connection.query_plan(statement).unwrap_or_default();
        let numbers: BTreeSet<usize> = plan.iter().filter_map(|line| number(line)).collect();
        for candidate in numbers.into_iter().filter_map(|number| candidates.get(number)) {
            *used.entry(candidate.clone()).or_default() += 1;
        }
    }
    connection.execute("ROLLBACK TO candidates; RELEASE candidates")?;
    Ok(used)
}

/// Returns the number of the candidate that a node of a plan uses.
fn number(line: &str) -> Option<usize> {
    let (_, rest) = line.split_once(CANDIDATE)?;
    rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// Returns the size of an index, which is made and removed again, in bytes.
fn size(connection: &Connection, candidate: &Candidate) -> Result<i64, EngineError> {
    let name = format!("{CANDIDATE}0");
    connection.execute(&format!("SAVEPOINT size; {}", candidate.create(&name)))?;
    let sql = format!("SELECT ifnull(sum(pgsize), 0) FROM dbstat WHERE name = {}", literal(&name));
    let bytes = connection.query_i64(&sql)?;
    connection.execute("ROLLBACK TO size; RELEASE size")?;
    Ok(bytes)
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
    fn an_index_is_proposed_where_the_planner_uses_it() {
        let found = advice(
            "",
            &["SELECT note FROM orders WHERE user = ?", "SELECT id FROM orders WHERE id = :id"],
        );
        assert_eq!(sql(&found).len(), 1, "{found:?}");
        assert!(sql(&found)[0].contains("ON \"orders\"(\"user\""), "{found:?}");
        assert!(found[0].change.contains("iB"));
        let ordered = advice("", &["SELECT note FROM orders WHERE user = ? ORDER BY day LIMIT 5"]);
        assert!(sql(&ordered)[0].contains("(\"user\", \"day\")"), "{ordered:?}");
        assert!(advice("", &["SELECT note FROM orders WHERE id = 1"]).is_empty());
    }

    #[test]
    fn an_index_that_exists_is_not_proposed_and_one_that_nothing_uses_is_dropped() {
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

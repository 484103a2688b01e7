//! Queries as SQL: for a full-text table, and the nearest that a plain one can answer.

use script::effect::{literal, quoted};

use super::{LIMIT, Operator, Query, Shape};
use crate::parameters::Choice;
use crate::workload::fts::table::{Kind, TABLE, TableOptions};
use crate::workload::fts::truth::Meaning::{self, Column, Phrase, Prefix, StartsWith, Words};

/// A query in SQL.
pub(crate) struct Sql {
    /// The statement that is timed.
    pub(crate) statement: String,
    /// The rowids of all matching rows, in ascending order.
    pub(crate) rowids: String,
    /// The text bound to every parameter of both.
    pub(crate) bound: String,
}

impl Query {
    /// Returns the query in SQL, or why this table cannot answer it.
    pub(crate) fn sql(&self, options: &TableOptions, columns: &[String]) -> Result<Sql, String> {
        match (&self.pattern, options.kind) {
            (Some((operator, column)), _) => self.pattern_sql(*operator, column, options, columns),
            (None, Kind::Fts5) => Ok(self.match_sql(options)),
            (None, Kind::Plain | Kind::Indexed) => like_sql(&self.meaning(), self.shape(), columns),
        }
    }

    fn match_sql(&self, options: &TableOptions) -> Sql {
        let columns = if options.keeps_texts() { "*" } else { "rowid" };
        let (columns, tail) = match self.shape() {
            Shape::Rows => (columns.to_owned(), String::new()),
            Shape::Limit => (columns.to_owned(), format!(" LIMIT {LIMIT}")),
            Shape::Ranked => (columns.to_owned(), format!(" ORDER BY rank LIMIT {LIMIT}")),
            Shape::Snippets => (
                format!("rowid, snippet({TABLE}, -1, '<b>', '</b>', '…', 16)"),
                format!(" LIMIT {LIMIT}"),
            ),
        };
        let rows = format!("FROM {TABLE} WHERE {TABLE} MATCH ?1");
        Sql {
            statement: format!("SELECT {columns} {rows}{tail}"),
            rowids: format!("SELECT rowid {rows} ORDER BY rowid"),
            bound: self.text.clone(),
        }
    }

    fn pattern_sql(
        &self,
        operator: Operator,
        column: &String,
        options: &TableOptions,
        columns: &[String],
    ) -> Result<Sql, String> {
        if !options.keeps_texts() {
            return Err("patterns require the texts, which this table does not keep".to_owned());
        }
        if !columns.contains(column) {
            return Err(format!("there is no column `{column}`"));
        }
        // The full-text table of external content answers too: its index may know the pattern.
        let (column, operator) = (quoted(column), operator.name());
        let rows = format!("FROM {TABLE} WHERE {column} {operator} ?1");
        Ok(Sql {
            statement: format!("SELECT * {rows}"),
            rowids: format!("SELECT rowid {rows} ORDER BY rowid"),
            bound: self.text.clone(),
        })
    }
}

/// Returns the nearest that LIKE can say, where it can say anything like it.
fn like_sql(meaning: &Meaning, shape: Shape, columns: &[String]) -> Result<Sql, String> {
    let anywhere = |pattern: String| -> String {
        let each: Vec<String> = columns.iter().map(|column| like(column, &pattern)).collect();
        format!("({})", each.join(" OR "))
    };
    let condition = match meaning {
        Words(terms) => {
            let each: Vec<String> =
                terms.iter().map(|term| anywhere(format!("%{term}%"))).collect();
            each.join(" AND ")
        }
        Phrase(terms) => anywhere(format!("%{}%", terms.join(" "))),
        Prefix(term) => anywhere(format!("%{term}%")),
        StartsWith(terms, _) => anywhere(format!("{}%", terms.join(" "))),
        // SQLite would take the name of a column that is none for a text.
        Column(column, _) if !columns.contains(column) => {
            return Err(format!("there is no column `{column}`"));
        }
        Column(column, term) => like(column, &format!("%{term}%")),
        _ => return Err("LIKE cannot express this".to_owned()),
    };
    let tail = match shape {
        Shape::Rows => String::new(),
        Shape::Limit => format!(" LIMIT {LIMIT}"),
        Shape::Ranked => return Err("a plain table has no rank".to_owned()),
        Shape::Snippets => return Err("a plain table has no snippets".to_owned()),
    };
    let rows = format!("FROM {TABLE} WHERE {condition}");
    Ok(Sql {
        statement: format!("SELECT * {rows}{tail}"),
        rowids: format!("SELECT rowid {rows} ORDER BY rowid"),
        bound: String::new(),
    })
}

/// Returns a condition on one column; words of queries contain neither `%` nor `_`.
fn like(column: &str, pattern: &str) -> String {
    format!("{} LIKE {}", quoted(column), literal(pattern))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn like_is_not_asked_what_it_cannot_say() {
        let columns = ["text".to_owned()];
        let sql = |meaning: Meaning| like_sql(&meaning, Shape::Rows, &columns);
        let column = |name: &str, term: &str| Column(name.to_owned(), term.to_owned());
        let known = sql(column("text", "database")).map(|sql| sql.rowids);
        assert_eq!(
            known.unwrap(),
            "SELECT rowid FROM docs WHERE \"text\" LIKE '%database%' ORDER BY rowid"
        );
        let why = sql(column("title", "python")).err().unwrap();
        assert!(why.contains("no column `title`"), "{why}");
        // Its letters are those with the accents or those without, never both.
        assert!(sql(Meaning::Intended("müller".to_owned())).is_err());
    }
}

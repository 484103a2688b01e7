//! Indexes with which statements would not sort.

use super::indexes::{candidates, has_column};
use super::{MissingIndex, SortingIndex};
use crate::analysis::StatementUse;
use crate::plans::SchemaCopy;
use script::effect::quoted;

/// The fewest sorts about which anything is said.
const SORTS: u64 = 20;

/// Returns the index with which SQLite would not sort for the ORDER BY of a statement: over its columns, or over one
/// that is compared and then these. The planner decides.
pub fn of(
    copy: &SchemaCopy,
    usage: &StatementUse,
    sql: &str,
    plan: &[String],
) -> Option<SortingIndex> {
    if usage.sorts < SORTS || !sorts(plan) {
        return None;
    }
    let (table, alias) = from(&usage.sql)?;
    let terms = order_by(&usage.sql)?;
    let is_of_table = |term: &Term| {
        let names = [Some(&table), alias.as_ref()];
        let is_named =
            |name: &String| names.iter().flatten().any(|other| other.eq_ignore_ascii_case(name));
        let column = MissingIndex { table: table.clone(), column: term.column.clone() };
        term.table.as_ref().is_none_or(is_named) && has_column(copy, &column)
    };
    if !terms.iter().all(is_of_table) {
        return None;
    }
    let order: Vec<String> = terms.iter().map(Term::sql).collect();
    let compared = candidates(copy, &usage.sql).into_iter();
    let compared = compared.filter(|column| column.table.eq_ignore_ascii_case(&table));
    let columns = compared
        .map(|column| [vec![quoted(&column.column)], order.clone()].concat())
        .chain([order.clone()]);
    columns.map(|columns| SortingIndex { table: table.clone(), columns }).find(|index| {
        let (table, columns) = (quoted(&index.table), index.columns.join(", "));
        let create = format!("CREATE INDEX pragmark_candidate ON {table}({columns})");
        let plan = copy.plan_with(&create, sql);
        plan.is_some_and(|plan| !sorts(&plan))
    })
}

/// Returns whether SQLite sorts for an ORDER BY, or for the last terms of one.
fn sorts(plan: &[String]) -> bool {
    plan.iter().any(|line| line.contains("USE TEMP B-TREE FOR") && line.ends_with("ORDER BY"))
}

/// A column by which a statement sorts.
#[derive(Debug, PartialEq, Eq)]
struct Term {
    table: Option<String>,
    column: String,
    descending: bool,
}

impl Term {
    /// Returns the column with its direction.
    fn sql(&self) -> String {
        let direction = if self.descending { " DESC" } else { "" };
        format!("{}{direction}", quoted(&self.column))
    }
}

/// Returns the terms of the last ORDER BY, where all of them are columns.
fn order_by(sql: &str) -> Option<Vec<Term>> {
    let lower = sql.to_ascii_lowercase();
    let begin = lower.rfind("order by ")? + "order by ".len();
    let rest = &lower[begin..];
    let ends = [" limit ", " offset ", ")", ";"];
    let end = ends.iter().filter_map(|end| rest.find(end)).min();
    let terms = &sql[begin..begin + end.unwrap_or(rest.len())];
    terms.split(',').map(|text| term(text.trim())).collect()
}

fn term(text: &str) -> Option<Term> {
    let (name, direction) = match text.split_once(' ') {
        None => (text, ""),
        Some((name, direction)) => (name, direction.trim()),
    };
    let table = match name.rsplit_once('.') {
        None => None,
        Some((table, _)) => Some(bare(table)?),
    };
    let descending = match direction.to_ascii_lowercase().as_str() {
        "" | "asc" => false,
        "desc" => true,
        _ => return None,
    };
    Some(Term { table, column: bare(name)?, descending })
}

/// Returns the table that a statement reads first, and its alias.
fn from(sql: &str) -> Option<(String, Option<String>)> {
    const WORDS: [&str; 12] = [
        "where", "join", "inner", "left", "right", "full", "cross", "natural", "order", "group",
        "indexed", "not",
    ];
    let begin = sql.to_ascii_lowercase().find(" from ")? + " from ".len();
    let rest = &sql[begin..];
    let mut words = rest[..rest.find([',', ';', ')']).unwrap_or(rest.len())].split(' ');
    let table = bare(words.next()?)?;
    let next = words.next().filter(|word| !WORDS.contains(&word.to_ascii_lowercase().as_str()));
    let alias = match next {
        Some(word) if word.eq_ignore_ascii_case("as") => words.next(),
        other => other,
    };
    Some((table, alias.and_then(bare)))
}

/// Returns the last part of a name with dots, without quotes; `None` for anything else.
fn bare(name: &str) -> Option<String> {
    let last = name.rsplit('.').next()?.trim_matches(['"', '`', '[', ']']);
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let begins = last.starts_with(|c: char| c.is_alphabetic() || c == '_');
    (begins && last.chars().all(is_name)).then(|| last.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn term(table: Option<&str>, column: &str, descending: bool) -> Term {
        Term { table: table.map(str::to_owned), column: column.to_owned(), descending }
    }

    #[test]
    fn the_terms_of_an_order_are_columns_with_their_directions() {
        for (sql, terms) in [
            ("SELECT * FROM t ORDER BY a", Some(vec![term(None, "a", false)])),
            (
                "SELECT * FROM t AS x order by x.\"a\" DESC, b ASC LIMIT ?",
                Some(vec![term(Some("x"), "a", true), term(None, "b", false)]),
            ),
            ("SELECT * FROM t ORDER BY lower(a)", None),
            ("SELECT * FROM t ORDER BY 1", None),
            ("SELECT * FROM t ORDER BY a COLLATE NOCASE", None),
            ("SELECT * FROM t", None),
        ] {
            assert_eq!(order_by(sql), terms, "{sql}");
        }
        assert_eq!(term(None, "a", true).sql(), "\"a\" DESC");
    }

    #[test]
    fn the_table_is_the_first_one_that_is_read() {
        for (sql, table) in [
            ("SELECT a FROM \"t\" ORDER BY a", Some(("t", None))),
            ("SELECT a FROM t AS x JOIN u", Some(("t", Some("x")))),
            ("SELECT a FROM main.t x, u", Some(("t", Some("x")))),
            ("SELECT a FROM t, u", Some(("t", None))),
            ("SELECT a FROM t left join u", Some(("t", None))),
            ("SELECT a FROM (SELECT 1)", None),
        ] {
            let named = from(sql);
            let named = named.as_ref().map(|(table, alias)| (table.as_str(), alias.as_deref()));
            assert_eq!(named, table, "{sql}");
        }
    }

    #[test]
    fn sorting_the_last_terms_is_sorting() {
        for (line, is) in [
            ("USE TEMP B-TREE FOR ORDER BY", true),
            ("  USE TEMP B-TREE FOR LAST TERM OF ORDER BY", true),
            ("USE TEMP B-TREE FOR LAST 2 TERMS OF ORDER BY", true),
            ("USE TEMP B-TREE FOR GROUP BY", false),
            ("SCAN t", false),
        ] {
            assert_eq!(sorts(&[line.to_owned()]), is, "{line}");
        }
    }
}

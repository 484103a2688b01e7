//! Indexes with which statements would not sort.

use super::SortingIndex;
use super::copy::SchemaCopy;
use super::indexes::{candidates, quoted};
use crate::analysis::StatementUse;

/// The fewest sorts about which anything is said.
const SORTS: u64 = 20;

/// What a plan says of an ORDER BY for which SQLite sorts.
const SORTS_HERE: &str = "USE TEMP B-TREE FOR ORDER BY";

/// The index with which SQLite would not sort for the ORDER BY of a statement: over its columns, or over one that is
/// compared and then these. The planner decides.
pub fn of(
    copy: &SchemaCopy,
    usage: &StatementUse,
    sql: &str,
    plan: &[String],
) -> Option<SortingIndex> {
    if usage.sorts < SORTS || !sorts(plan) {
        return None;
    }
    let order = order_by(&usage.sql)?;
    let table = from(&usage.sql)?;
    let compared = candidates(copy, &usage.sql).into_iter();
    let compared = compared.filter(|it| it.table.eq_ignore_ascii_case(&table));
    let columns = compared
        .map(|it| [vec![quoted(&it.column)], order.clone()].concat())
        .chain([order.clone()]);
    columns
        .map(|columns| SortingIndex {
            table: table.clone(),
            columns,
        })
        .find(|index| {
            let (table, columns) = (quoted(&index.table), index.columns.join(", "));
            let create = format!("CREATE INDEX pragmark_candidate ON {table}({columns})");
            let plan = copy.plan_with(&create, sql);
            plan.is_some_and(|plan| !sorts(&plan))
        })
}

fn sorts(plan: &[String]) -> bool {
    plan.iter().any(|line| line.contains(SORTS_HERE))
}

/// The terms of the last ORDER BY, where all of them are columns, each with its direction.
fn order_by(sql: &str) -> Option<Vec<String>> {
    let lower = sql.to_ascii_lowercase();
    let begin = lower.rfind("order by ")? + "order by ".len();
    let rest = &lower[begin..];
    let ends = [" limit ", " offset ", ")", ";"];
    let end = ends.iter().filter_map(|end| rest.find(end)).min();
    let terms = &sql[begin..begin + end.unwrap_or(rest.len())];
    terms.split(',').map(|term| column(term.trim())).collect()
}

/// A column with its direction, without its table.
fn column(term: &str) -> Option<String> {
    let (name, direction) = match term.split_once(' ') {
        None => (term, ""),
        Some((name, direction)) => (name, direction.trim()),
    };
    let direction = match direction.to_ascii_lowercase().as_str() {
        "" | "asc" => "",
        "desc" => " DESC",
        _ => return None,
    };
    Some(format!("{}{direction}", quoted(&bare(name)?)))
}

/// The table that a statement reads first.
fn from(sql: &str) -> Option<String> {
    let begin = sql.to_ascii_lowercase().find(" from ")? + " from ".len();
    bare(sql[begin..].split([' ', ',', ';']).next()?)
}

/// The last part of a name with dots, without quotes; none for anything else.
fn bare(name: &str) -> Option<String> {
    let last = name.rsplit('.').next()?;
    let last = last.trim_matches(['"', '`', '[', ']']);
    let is_name = |it: char| it.is_alphanumeric() || it == '_';
    let begins = last.starts_with(|it: char| it.is_alphabetic() || it == '_');
    (begins && last.chars().all(is_name)).then(|| last.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_terms_of_an_order_are_columns_with_their_directions() {
        for (sql, terms) in [
            ("SELECT * FROM t ORDER BY a", Some(vec!["\"a\""])),
            (
                "SELECT * FROM t AS x order by x.\"a\" DESC, b ASC LIMIT ?",
                Some(vec!["\"a\" DESC", "\"b\""]),
            ),
            ("SELECT * FROM t ORDER BY lower(a)", None),
            ("SELECT * FROM t ORDER BY 1", None),
            ("SELECT * FROM t ORDER BY a COLLATE NOCASE", None),
            ("SELECT * FROM t", None),
        ] {
            let found = order_by(sql);
            let terms = terms.map(|it| it.into_iter().map(str::to_owned).collect());
            assert_eq!(found, terms, "{sql}");
        }
    }

    #[test]
    fn the_table_is_the_first_one_that_is_read() {
        assert_eq!(from("SELECT a FROM \"t\" ORDER BY a").as_deref(), Some("t"));
        assert_eq!(from("SELECT a FROM (SELECT 1)"), None);
    }
}

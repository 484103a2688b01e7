//! Writes that take too long to be tried, for a few of their rows.

use engine::schema::{PartOf, Schema, Table};
use script::{Kind, Token, significant};

use crate::candidates::without_clauses;
use crate::schema::name;

/// Returns texts that write a few rows only: the first rows that meet the statement's condition; then, in case they are hard to find, the
/// first rows of the table if they meet it. Returns nothing for statements of other forms.
pub fn few_rows(schema: &Schema, sql: &str, rows: u32) -> Vec<String> {
    let main = without_clauses(sql);
    let all: Vec<Token<'_>> =
        significant(main).into_iter().filter(|token| token.kind != Kind::Semicolon).collect();
    // A comment behind it would hide what is appended.
    let end = all.last().map_or(0, |last| last.start + last.text.len());
    let (sql, clauses) = (&main[..end], &sql[main.len()..]);
    let mut depth = 0;
    let outer: Vec<&Token<'_>> = all
        .iter()
        .filter(|token| {
            depth += i32::from(token.text == "(") - i32::from(token.text == ")");
            depth == 0
        })
        .collect();
    let place = |word: &str| outer.iter().position(|token| token.is(word));
    let start = |place: usize| outer[place].start;
    if place("limit").is_some() {
        return Vec::new();
    }
    let condition = place("where").map_or(end, start);
    let target = match (place("into"), place("update"), place("delete")) {
        (Some(_), ..) if place("select").is_some() => {
            return vec![format!("{sql} LIMIT {rows} {clauses}")];
        }
        (None, Some(update), _) if place("from").is_none() => {
            let is_or = outer.get(update + 1).is_some_and(|token| token.is("or"));
            let table = outer.get(update + if is_or { 3 } else { 1 });
            table.zip(place("set")).map(|(table, set)| &sql[table.start..start(set)])
        }
        (None, None, Some(delete)) => {
            outer.get(delete + 2).map(|table| &sql[table.start..condition])
        }
        _ => None,
    };
    let Some(target) = target.map(str::trim) else { return Vec::new() };
    let (head, own) = sql.split_at(condition);
    let table = significant(target).iter().find_map(|token| schema.table(&token.name()?));
    let key = table.and_then(key).unwrap_or("rowid".to_owned());
    let few = format!("{head} WHERE ({key}) IN (SELECT {key} FROM {target}");
    let first = format!("{few} {own} LIMIT {rows})");
    let and = own.get("where".len()..).map(|own| format!(" AND ({own})")).unwrap_or_default();
    vec![first, format!("{few} LIMIT {rows}){and}")]
}

/// Returns the columns of the primary key of a table without a rowid.
fn key(table: &Table) -> Option<String> {
    let mut indexes = table.indexes.iter().filter(|_| table.is_without_rowid);
    let key = indexes.find(|index| index.is_key)?;
    let column = |part: &PartOf| match part {
        PartOf::Column(number) => name(&table.columns[*number].name),
        PartOf::Expression(text) => text.clone(),
    };
    Some(key.parts.iter().map(|part| column(&part.of)).collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_is_bounded_where_it_chooses_its_rows() {
        for (sql, expected) in [
            (
                "UPDATE OR IGNORE p AS q SET a = (SELECT 1 FROM v WHERE x = q.id) WHERE b > ?",
                "UPDATE OR IGNORE p AS q SET a = (SELECT 1 FROM v WHERE x = q.id)  \
                 WHERE (rowid) IN (SELECT rowid FROM p AS q WHERE b > ? LIMIT 20)",
            ),
            (
                "DELETE FROM main.p -- all\n RETURNING id;",
                "DELETE FROM main.p WHERE (rowid) IN (SELECT rowid FROM main.p  LIMIT 20)",
            ),
            ("INSERT INTO p SELECT * FROM v; -- all", "INSERT INTO p SELECT * FROM v LIMIT 20 "),
            (
                "WITH a AS (SELECT 1) INSERT INTO p SELECT * FROM a ON CONFLICT DO NOTHING",
                "WITH a AS (SELECT 1) INSERT INTO p SELECT * FROM a LIMIT 20 ON CONFLICT DO NOTHING",
            ),
        ] {
            assert_eq!(few_rows(&Schema::default(), sql, 20)[0], expected);
        }
        let second = few_rows(&Schema::default(), "DELETE FROM p WHERE a OR b", 3).pop();
        let expected =
            "DELETE FROM p  WHERE (rowid) IN (SELECT rowid FROM p LIMIT 3) AND ( a OR b)";
        assert_eq!(second.as_deref(), Some(expected));
    }

    #[test]
    fn other_writes_are_not_bounded() {
        for sql in [
            "UPDATE p SET a = v.b FROM v WHERE v.id = p.id",
            "INSERT INTO p VALUES (1)",
            "DELETE FROM p LIMIT 5",
            "CREATE TABLE p(a)",
        ] {
            assert_eq!(few_rows(&Schema::default(), sql, 20), [""; 0], "{sql}");
        }
    }
}

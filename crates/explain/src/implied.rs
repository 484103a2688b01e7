//! Statements that SQLite executes with another one: its triggers' statements, and searches of child tables for foreign keys. The
//! query plan does not show them.

use engine::schema::{ForeignKey, Schema, Table};
use script::effect::{names, quoted, written};
use script::{Kind, closing, significant};

/// Returns the statements that SQLite executes with this one, with parameters for the values of its rows.
pub(crate) fn implied(schema: &Schema, sql: &str) -> Vec<String> {
    let mut all = Vec::new();
    add(schema, sql, &mut all);
    all
}

/// Adds what is implied, and what that implies in turn: a cascade searches for the rows that refer to those that it deletes.
fn add(schema: &Schema, sql: &str, all: &mut Vec<String>) {
    let (tables, words) = (written(sql), names(sql));
    let is_of = |name: &str| tables.iter().any(|table| table.eq_ignore_ascii_case(name));
    let deletes = words.iter().any(|word| word == "delete" || word == "replace");
    let searches = keys(schema).filter(|(_, key)| is_of(&key.parent)).map(|(child, key)| {
        let what = if key.cascades && deletes { "DELETE" } else { "SELECT 1" };
        let terms = key.columns.iter().map(|column| format!("{} = ?", quoted(column)));
        let terms: Vec<String> = terms.collect();
        format!("{what} FROM {} WHERE {}", quoted(child), terms.join(" AND "))
    });
    let triggers = schema.others.iter().filter_map(|sql| trigger(sql));
    let bodies = triggers.filter(|(table, _)| is_of(table)).flat_map(|(_, body)| body);
    for statement in searches.chain(bodies) {
        if !all.contains(&statement) {
            all.push(statement.clone());
            add(schema, &statement, all);
        }
    }
}

/// Returns the foreign key whose rows are searched by these columns of a table, and by which a statement has them searched without
/// naming them.
pub(crate) fn key<'t>(
    schema: &Schema,
    table: &'t Table,
    columns: &[String],
    sql: &str,
) -> Option<&'t ForeignKey> {
    let is_in = |all: &[String], name: &str| all.iter().any(|one| one.eq_ignore_ascii_case(name));
    let reached = implied(schema, sql).iter().flat_map(|sql| written(sql)).collect::<Vec<_>>();
    let (reached, names) = ([written(sql), reached].concat(), names(sql));
    let mut keys = table.foreign_keys.iter().filter(|key| is_in(&reached, &key.parent));
    keys.find(|key| key.columns.first() == columns.first() && !is_in(&names, &key.columns[0]))
}

/// Returns all foreign keys, each with its table.
pub(crate) fn keys(schema: &Schema) -> impl Iterator<Item = (&str, &ForeignKey)> {
    schema
        .tables
        .iter()
        .flat_map(|table| table.foreign_keys.iter().map(|key| (table.name.as_str(), key)))
}

/// Returns the table of a trigger and the statements of its body, with parameters for the old and new values.
fn trigger(sql: &str) -> Option<(String, Vec<String>)> {
    let all = significant(sql);
    all.get(1..4)?.iter().find(|token| token.is("trigger"))?;
    let on = all.iter().position(|token| token.is("on"))?;
    let begin = on + all[on..].iter().position(|token| token.is("begin"))?;
    let end = all.iter().rposition(|token| token.is("end"))?;
    let (mut statements, mut statement) = (Vec::new(), String::new());
    let (mut place, mut last) = (begin + 1, all[begin].start + all[begin].text.len());
    while place < end {
        let token = all[place];
        let is_row = (token.is("new") || token.is("old"))
            && all.get(place + 1).is_some_and(|dot| dot.text == ".");
        let raised = token.is("raise").then(|| closing(&all, place + 1)).flatten();
        let (after, instead) = match raised {
            _ if is_row => (place + 2, "?"),
            Some(close) => (close, "NULL"),
            None if token.kind == Kind::Semicolon => (place, ""),
            None => (place, token.text),
        };
        statement.push_str(&sql[last..token.start]);
        statement.push_str(instead);
        last = all[after].start + all[after].text.len();
        place = after + 1;
        if token.kind == Kind::Semicolon {
            statements.push(std::mem::take(&mut statement).trim().to_owned());
        }
    }
    Some((all[on + 1].name()?, statements))
}

#[cfg(test)]
mod tests {
    use super::trigger;

    #[test]
    fn the_statements_of_a_trigger_stand_for_themselves() {
        let (table, body) = trigger(
            "CREATE TRIGGER \"add up\" AFTER UPDATE OF total ON orders WHEN new.total > 0 BEGIN
               UPDATE totals SET total = total + CASE WHEN NEW.\"total\" > 1 THEN 1 END WHERE id = old.id;
               SELECT RAISE(ABORT, 'no; never') WHERE EXISTS (SELECT 1 FROM closed WHERE day = new.day);
             END",
        )
        .unwrap();
        assert_eq!(table, "orders");
        assert_eq!(
            body,
            [
                "UPDATE totals SET total = total + CASE WHEN ? > 1 THEN 1 END WHERE id = ?",
                "SELECT NULL WHERE EXISTS (SELECT 1 FROM closed WHERE day = ?)"
            ]
        );
        assert!(trigger("CREATE VIEW open AS SELECT 1").is_none());
    }
}

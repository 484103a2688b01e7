//! Values for the parameters of a statement, taken from the columns that they are compared with.

use engine::schema::{Part, PartOf, Schema, Table};
use engine::{Connection, Statement, Value};
use script::effect::{names, quoted};
use script::{Hint, Kind, Token, hints, tokens};

use crate::candidates::{Call, call};
use crate::schema::ends;
use crate::text::closing;

/// Rows of a page, for `LIMIT ?`.
const PAGE: i64 = 20;

/// The rows from which values are taken, as parts of the range of rowids.
const PLACES: [f64; 3] = [0.5, 0.2, 0.8];

/// Returns values for the parameters of a statement: a list for each of some executions, which are one without
/// parameters. Given values are by the name of the parameter, without the sign before it.
///
/// # Errors
/// Names a parameter that is compared with no column, or whose column has no values.
pub fn draw(
    connection: &Connection,
    schema: &Schema,
    statement: &Statement<'_, '_>,
    given: &[(String, Value)],
) -> Result<Vec<Vec<Value>>, String> {
    let sql = statement.sql();
    let count = usize::try_from(statement.parameter_count()).unwrap_or(0);
    let occurrences = occurrences(&sql, statement);
    if count == 0 {
        return Ok(vec![Vec::new()]);
    }
    let is_compared = |occurrence: &Occurrence| occurrence.compared(schema).is_some();
    let has_other = |occurrence: &Occurrence| {
        occurrences.iter().any(|other| other.index == occurrence.index && is_compared(other))
    };
    let set = |place: f64| {
        let mut values = vec![Value::Null; count];
        for occurrence in &occurrences {
            // As the first one of `:p IS NULL OR column = :p`.
            if !is_compared(occurrence) && has_other(occurrence) {
                continue;
            }
            let Some(slot) = values.get_mut(occurrence.index - 1) else { continue };
            if *slot == Value::Null {
                *slot = occurrence.value(connection, schema, given, place)?;
            }
        }
        Ok(values)
    };
    let sets: Result<Vec<Vec<Value>>, String> = PLACES.into_iter().map(set).collect();
    let mut sets = sets?;
    sets.dedup();
    Ok(sets)
}

/// A parameter where the text has it.
struct Occurrence {
    index: usize,
    /// The parameter as the text writes it.
    text: String,
    /// The word before it.
    before: String,
    hint: Option<Hint>,
    /// The function of a column that it is compared with.
    call: Option<Call>,
    /// The names in the statement.
    names: Vec<String>,
    /// Whether it becomes a value of a new row.
    is_inserted: bool,
}

fn occurrences(sql: &str, statement: &Statement<'_, '_>) -> Vec<Occurrence> {
    let all: Vec<Token<'_>> = tokens(sql).filter(Token::counts).collect();
    let is_insert = all.iter().any(|token| token.is("values"));
    let parameters = all.iter().enumerate().filter(|(_, token)| token.kind == Kind::Parameter);
    let mut last = 0;
    let occurrence = |((place, token), hint): ((usize, &Token<'_>), Option<Hint>)| {
        let numbers = 1..=statement.parameter_count();
        let named = |index: &i32| statement.parameter_name(*index).as_deref() == Some(token.text);
        let index = match token.text {
            "?" => last + 1,
            _ => numbers.clone().find(named).map_or(last + 1, |index| index as usize),
        };
        last = last.max(index);
        Occurrence {
            index,
            call: called(sql, &all, place),
            names: names(sql),
            text: token.text.to_owned(),
            before: place
                .checked_sub(1)
                .map_or(String::new(), |before| all[before].text.to_lowercase()),
            hint,
            is_inserted: is_insert,
        }
    };
    parameters.zip(hints(sql)).map(occurrence).collect()
}

/// Returns the function of a column whose value is compared with the parameter at this place.
fn called(sql: &str, all: &[Token<'_>], place: usize) -> Option<Call> {
    let is_operator = |token: &&Token<'_>| "<>=".contains(token.text);
    let end = place - all[..place].iter().rev().take_while(is_operator).count();
    let is_call = |first: &usize| end < place && closing(all, first + 1) == Some(end - 1);
    (0..end.saturating_sub(2)).find(is_call).and_then(|first| call(sql, all, first))
}

impl Occurrence {
    /// Returns the table and the number of the column that it is compared with or written to, and the term in SQL.
    fn compared<'s>(&self, schema: &'s Schema) -> Option<(&'s Table, usize, String)> {
        if let Some((table, number)) = self.hint.as_ref().and_then(|hint| column(schema, hint)) {
            return Some((table, number, quoted(&table.columns[number].name)));
        }
        let call = self.call.as_ref()?;
        let mut tables = self.names.iter().filter_map(|name| schema.table(name));
        let found = tables.find_map(|table| Some((table, table.column(&call.column)?)));
        found.map(|(table, number)| (table, number, call.text.clone()))
    }

    fn value(
        &self,
        connection: &Connection,
        schema: &Schema,
        given: &[(String, Value)],
        place: f64,
    ) -> Result<Value, String> {
        let name = self.text.trim_start_matches([':', '@', '$', '?']);
        if let Some((_, value)) = given.iter().find(|(given, _)| given == name) {
            return Ok(value.clone());
        }
        match self.before.as_str() {
            "limit" => return Ok(Value::Integer(PAGE)),
            "offset" => return Ok(Value::Integer(0)),
            _ => {}
        }
        let Some((table, column, term)) = self.compared(schema) else {
            let name = if name.is_empty() { self.index.to_string() } else { name.to_owned() };
            return Err(format!(
                "the parameter {} is compared with no column of a table: give it a value with --set {name}=…",
                self.text
            ));
        };
        let taken = taken(connection, table, &term, place, self.before == "=");
        let value = taken
            .ok_or_else(|| format!("{}.{} has no values", table.name, table.columns[column].name));
        if self.is_inserted && is_key(table, column) {
            return Ok(new_key(table, column, value.unwrap_or(Value::Null)));
        }
        Ok(match (self.before.as_str(), value?) {
            ("like", Value::Text(text)) => pattern(&text, '%'),
            ("glob", Value::Text(text)) => pattern(&text, '*'),
            (_, value) => value,
        })
    }
}

/// Returns the table and the number of the column that a hint means.
fn column<'s>(schema: &'s Schema, hint: &Hint) -> Option<(&'s Table, usize)> {
    let named = hint.table.iter().chain(hint.tables.iter().filter(|_| hint.table.is_none()));
    named.into_iter().find_map(|name| {
        let table = schema.table(name)?;
        Some((table, table.column(&hint.column)?))
    })
}

/// Returns a value of a term from about this part of the table. In the middle, the first of all, it is one that neither most nor fewest of
/// some rows have, if it is looked for.
fn taken(
    connection: &Connection,
    table: &Table,
    term: &str,
    place: f64,
    is_equal: bool,
) -> Option<Value> {
    const ROWS: u32 = 1000;
    let name = quoted(&table.name);
    let [least, most] = ends(&name);
    let from = format!(
        "FROM {name} WHERE {term} IS NOT NULL AND rowid >= {least} + CAST(({most} - {least}) * {place} AS INTEGER)"
    );
    let usual = format!(
        "WITH drawn AS (SELECT {term} AS value, rowid AS id {from} ORDER BY rowid LIMIT {ROWS}),
           counts AS (SELECT value, min(id) AS id, count(*) AS rows FROM drawn GROUP BY value)
         SELECT value FROM counts ORDER BY rows, id LIMIT 1 OFFSET (SELECT (count(*) - 1) / 2 FROM counts)"
    );
    let by_rowid = format!("SELECT {term} {from} ORDER BY rowid LIMIT 1");
    let first = format!("SELECT {term} FROM {name} WHERE {term} IS NOT NULL LIMIT 1");
    let usual = (is_equal && place == PLACES[0]).then_some(usual);
    let mut queries = usual.into_iter().chain([by_rowid, first]);
    queries.find_map(|query| connection.query_value(&query).ok())
}

/// Returns whether two rows must differ in the column.
fn is_key(table: &Table, column: usize) -> bool {
    let is_first =
        |parts: &[Part]| parts.first().is_some_and(|part| part.of == PartOf::Column(column));
    table.columns[column].is_rowid
        || table.indexes.iter().any(|index| index.is_unique && is_first(&index.parts))
}

/// Returns a value that no row has, as far as one can be made from an existing one.
fn new_key(table: &Table, column: usize, existing: Value) -> Value {
    match existing {
        _ if table.columns[column].is_rowid => Value::Null,
        Value::Integer(number) => Value::Integer(number ^ (1 << 61)),
        Value::Text(text) => Value::Text(format!("{text} (new)")),
        other => other,
    }
}

/// Returns a pattern for texts that begin as this one does.
fn pattern(text: &str, any: char) -> Value {
    let mut beginning: String = text.chars().take(4).collect();
    beginning.push(any);
    Value::Text(beginning)
}

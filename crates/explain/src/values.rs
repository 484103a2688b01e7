//! Values for the parameters of a statement, taken from the columns that they are compared with.

use engine::schema::{Part, PartOf, Schema, Table};
use engine::{Connection, Statement, Value};
use script::effect::quoted;
use script::{Hint, Kind, Token, hints, tokens};

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
    let set = |place: f64| {
        let mut values = vec![Value::Null; count];
        for occurrence in &occurrences {
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

impl Occurrence {
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
        let column = self.hint.as_ref().and_then(|hint| column(schema, hint));
        let Some((table, column)) = column else {
            let name = if name.is_empty() { self.index.to_string() } else { name.to_owned() };
            return Err(format!(
                "the parameter {} is compared with no column of a table: give it a value with --set {name}=…",
                self.text
            ));
        };
        let taken = taken(connection, table, column, place);
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

/// Returns a value of the column from about this part of the table.
fn taken(connection: &Connection, table: &Table, column: usize, place: f64) -> Option<Value> {
    let (name, column) = (quoted(&table.name), quoted(&table.columns[column].name));
    let by_rowid = format!(
        "SELECT {column} FROM {name} WHERE {column} IS NOT NULL AND rowid >= (SELECT min(rowid) + CAST((max(rowid) - \
         min(rowid)) * {place} AS INTEGER) FROM {name}) ORDER BY rowid LIMIT 1"
    );
    let first = format!("SELECT {column} FROM {name} WHERE {column} IS NOT NULL LIMIT 1");
    connection.query_value(&by_rowid).or_else(|_| connection.query_value(&first)).ok()
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

//! Values for the parameters of a statement, taken from the columns that they are compared with.

use std::collections::{BTreeMap, BTreeSet};

use engine::schema::{Part, PartOf, Schema, Table};
use engine::{Connection, Statement, Value};
use script::effect::{literal, quoted};
use script::{Parameter, Role, Token, ending_at, parameters, significant, tables, unqualified};

use crate::schema::ends;

/// Rows of a page, for `LIMIT ?`.
const PAGE: i64 = 20;

/// The rows from which values are taken, as parts of the range of rowids.
const PLACES: [f64; 3] = [0.5, 0.2, 0.8];

/// Returns values for the parameters of a statement: a list for each of some executions, which are one without
/// parameters. Given values are by the name of the parameter, without the sign before it. A statement with LIMIT is also executed with rare
/// values, for which it may read much more.
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
    if count == 0 {
        return Ok(vec![Vec::new()]);
    }
    let all = significant(&sql);
    let text = Text { sql: &sql, tables: known_tables(schema, &all), all: &all, schema };
    let occurrences: Vec<Occurrence<'_>> =
        parameters(&all).into_iter().map(|parameter| text.occurrence(parameter)).collect();
    let used = occurrences.iter().filter(|occurrence| occurrence.usage.is_some());
    let used: BTreeSet<usize> = used.map(|occurrence| occurrence.number).collect();
    let set = |place: Option<f64>| {
        let (mut values, mut known) = (vec![Value::Null; count], BTreeMap::new());
        for occurrence in &occurrences {
            // As the first one of `:p IS NULL OR column = :p`.
            if occurrence.usage.is_none() && used.contains(&occurrence.number) {
                continue;
            }
            let Some(slot) = values.get_mut(occurrence.number - 1) else { continue };
            if *slot == Value::Null {
                *slot = occurrence.value(connection, given, place, &mut known)?;
            }
        }
        Ok(values)
    };
    let is_limited = text.all.iter().any(|token| token.is("limit"));
    let places = PLACES.into_iter().map(Some).chain(is_limited.then_some(None));
    let sets: Result<Vec<Vec<Value>>, String> = places.map(set).collect();
    let mut sets = sets?;
    sets.dedup();
    Ok(sets)
}

/// Returns the tables of a statement with their aliases, and those of views that it names.
fn known_tables(schema: &Schema, all: &[Token<'_>]) -> Vec<(String, Option<String>)> {
    let mut known = tables(all);
    for sql in &schema.others {
        let view = significant(sql);
        let at = view.iter().position(|token| token.is("as")).unwrap_or(0);
        let is_named =
            |name: String| known.iter().any(|(table, _)| table.eq_ignore_ascii_case(&name));
        if view[..at].iter().any(|token| token.is("view"))
            && view[..at].iter().filter_map(Token::name).any(is_named)
        {
            known.extend(tables(&view[at..]));
        }
    }
    known
}

/// A parameter where the text has it.
struct Occurrence<'s> {
    /// Its number, from 1.
    number: usize,
    /// The parameter as the text writes it.
    text: &'s str,
    usage: Option<Usage<'s>>,
}

/// The meaning of a parameter.
enum Usage<'s> {
    /// A number of rows.
    Rows(i64),
    /// A value of a column, or of an expression of it.
    Value {
        table: &'s Table,
        column: usize,
        /// The expression in SQL.
        term: String,
        /// The operator of the comparison, in lower case; empty for a value of a new row.
        operator: String,
        /// Whether it is a part of the operand, an array of values, or the whole operand.
        form: Form,
    },
}

#[derive(Clone, Copy, PartialEq)]
enum Form {
    Whole,
    Part,
    Array,
}

/// A statement.
struct Text<'s> {
    sql: &'s str,
    all: &'s [Token<'s>],
    tables: Vec<(String, Option<String>)>,
    schema: &'s Schema,
}

impl<'s> Text<'s> {
    fn occurrence(&self, Parameter { place, number, role }: Parameter<'s>) -> Occurrence<'s> {
        let usage = role.and_then(|role| self.usage(place, role));
        Occurrence { number, text: self.all[place].text, usage }
    }

    fn usage(&self, place: usize, role: Role<'s>) -> Option<Usage<'s>> {
        let before = |back: usize| place.checked_sub(back).map(|at| &self.all[at]);
        let is_like = |token: &Token<'_>| token.is("like") || token.is("glob");
        let form = match before(1) {
            _ if before(2).is_some_and(|token| token.is("json_each")) => Form::Array,
            Some(token) if is_like(token) => Form::Whole,
            _ => Form::Part,
        };
        match role {
            Role::Limit => Some(Usage::Rows(PAGE)),
            Role::Offset => Some(Usage::Rows(0)),
            Role::Compared { operator, operand } => self.compared(operator, operand, form),
            Role::Inserted { table, column, item } => {
                let table = self.schema.table(&table)?;
                let column = column.map_or(Some(item), |name| table.column(&name))?;
                let term = quoted(&table.columns.get(column)?.name);
                Some(Usage::Value { table, column, term, operator: String::new(), form })
            }
        }
    }

    /// Returns what is compared with an operand: a value of its first column, or of what the statement calls so.
    fn compared(&self, operator: &str, operand: &[Token<'s>], form: Form) -> Option<Usage<'s>> {
        if operand.first()?.is("count") {
            return Some(Usage::Rows(1));
        }
        let Some((table, column)) =
            self.column(operand, true).or_else(|| self.column(operand, false))
        else {
            // `… AS name` ahead of it.
            let [named] = operand else { return None };
            let ahead = self.all.partition_point(|token| token.start < named.start);
            let is_name = |pair: &[Token<'_>]| pair[0].is("as") && pair[1].name() == named.name();
            let at = self.all[..ahead].windows(2).rposition(is_name)?;
            return self.compared(operator, ending_at(self.all, at.checked_sub(1)?)?, form);
        };
        let of_column = || quoted(&table.columns[column].name);
        let term = unqualified(self.sql, operand).unwrap_or_else(of_column);
        Some(Usage::Value { table, column, term, operator: operator.to_lowercase(), form })
    }

    /// Returns the first column of an operand, by the name of the table before it if that counts.
    fn column(&self, operand: &[Token<'s>], by_table: bool) -> Option<(&'s Table, usize)> {
        let name = |token: &Token<'s>| token.name().filter(|_| !token.is_text());
        (0..operand.len()).find_map(|at| {
            let column = name(&operand[at])?;
            let is_qualified = by_table && at > 1 && operand[at - 1].text == ".";
            let of = is_qualified.then(|| operand[at - 2].name()).flatten();
            let is_of = |name: &String| of.as_ref().is_none_or(|of| of.eq_ignore_ascii_case(name));
            let mut tables = self
                .tables
                .iter()
                .filter(|(table, alias)| is_of(table) || alias.as_ref().is_some_and(is_of));
            tables.find_map(|(table, _)| {
                let table = self.schema.table(table)?;
                Some((table, table.column(&column)?))
            })
        })
    }
}

/// Values that were taken, by table, column, term and operator, so that the parameters of a list share them.
type Known<'s> = BTreeMap<(&'s str, usize, &'s str, &'s str), Option<Value>>;

impl<'s> Occurrence<'s> {
    fn value(
        &'s self,
        connection: &Connection,
        given: &[(String, Value)],
        place: Option<f64>,
        known: &mut Known<'s>,
    ) -> Result<Value, String> {
        let name = self.text.trim_start_matches([':', '@', '$', '?']);
        if let Some((_, value)) = given.iter().find(|(given, _)| given == name) {
            return Ok(value.clone());
        }
        let (table, column, term, operator, form) = match &self.usage {
            Some(Usage::Rows(rows)) => return Ok(Value::Integer(*rows)),
            Some(Usage::Value { table, column, term, operator, form }) => {
                (table, *column, term, operator.as_str(), *form)
            }
            None => {
                let name = if name.is_empty() { self.number.to_string() } else { name.to_owned() };
                return Err(format!(
                    "the parameter {} is compared with no column of a table: give it a value with --set {name}=…",
                    self.text
                ));
            }
        };
        let name = &table.columns[column].name;
        // An expression may have no values, or need what only the statement has.
        let taken = || {
            let terms = [term, &quoted(name)];
            terms.iter().find_map(|term| taken(connection, table, term, operator, place))
        };
        let key = (table.name.as_str(), column, term.as_str(), operator);
        let value = known.entry(key).or_insert_with(taken).clone();
        let value = value.ok_or_else(|| format!("{}.{name} has no values", table.name));
        if operator.is_empty() && is_key(table, column) {
            return Ok(new_key(table, column, value.unwrap_or(Value::Null)));
        }
        let any = |sign: &'static str| if form == Form::Whole { sign } else { "" };
        Ok(match (operator, value?) {
            ("like", Value::Text(text)) => pattern(&text, any("%")),
            ("glob", Value::Text(text)) => pattern(&text, any("*")),
            (_, Value::Text(text)) if form == Form::Array => {
                let array = format!("SELECT json_array({})", literal(&text));
                connection.query_value(&array).map_err(|error| error.to_string())?
            }
            (_, value) if form == Form::Array => Value::Text(format!("[{value}]")),
            (_, value) => value,
        })
    }
}

/// Returns a value of a term from about this part of the table, or a rare one. In the middle, the first of all, it is one that neither most
/// nor fewest of some rows have, if it is looked for. The ends of a range lie to both sides of it. Of a table without rowids, the first rows
/// are numbered and stand for all.
fn taken(
    connection: &Connection,
    table: &Table,
    term: &str,
    operator: &str,
    place: Option<f64>,
) -> Option<Value> {
    const ROWS: u32 = 1000;
    const NUMBERED: u32 = 20 * ROWS;
    let mut name = quoted(&table.name);
    if table.is_without_rowid {
        name = format!("(SELECT row_number() OVER () AS rowid, * FROM {name} LIMIT {NUMBERED})");
    }
    let [least, most] = ends(&name);
    let at = place.unwrap_or(PLACES[0]);
    let from = format!(
        "FROM {name} WHERE {term} IS NOT NULL AND rowid >= {least} + CAST(({most} - {least}) * {at} AS INTEGER)"
    );
    let chosen = match (operator, place) {
        (">" | "between", None) => Some(("value", 1.0)),
        ("<", None) => Some(("value", 0.0)),
        (_, None) => Some(("rows, id", 0.0)),
        (">" | "between", _) => Some(("value", 0.45)),
        ("<", _) => Some(("value", 0.55)),
        ("=", Some(place)) if place == PLACES[0] => Some(("rows, id", 0.5)),
        _ => None,
    };
    let chosen = chosen.map(|(order, part)| {
        format!(
            "WITH drawn AS (SELECT {term} AS value, rowid AS id {from} ORDER BY rowid LIMIT {ROWS}),
               counts AS (SELECT value, min(id) AS id, count(*) AS rows FROM drawn GROUP BY value)
             SELECT value FROM counts ORDER BY {order}
             LIMIT 1 OFFSET (SELECT CAST((count(*) - 1) * {part} AS INTEGER) FROM counts)"
        )
    });
    let by_rowid = format!("SELECT {term} {from} ORDER BY rowid LIMIT 1");
    let whole = quoted(&table.name);
    let first = format!("SELECT {term} FROM {whole} WHERE {term} IS NOT NULL LIMIT 1");
    let mut queries = chosen.into_iter().chain([by_rowid, first]);
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

/// Returns most of a text, or a pattern for texts that begin so.
fn pattern(text: &str, any: &str) -> Value {
    /// The most characters, as people type them.
    const MOST: usize = 12;
    let length = text.chars().count().saturating_sub(1).clamp(1, MOST);
    Value::Text(text.chars().take(length).collect::<String>() + any)
}

//! Values for the parameters of a statement, taken from the columns that they are compared with.

use engine::schema::{Part, PartOf, Schema, Table};
use engine::{Connection, Statement, Value};
use script::effect::{literal, quoted};
use script::{Kind, Role, Token, ending_at, inserted, role, tables, tokens};

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
    let all: Vec<Token<'_>> = tokens(&sql).filter(Token::counts).collect();
    let text = Text { sql: &sql, tables: known_tables(schema, &all), all: &all, schema };
    let occurrences = text.occurrences(statement);
    let has_use = |index: usize| {
        occurrences.iter().any(|other| other.index == index && other.usage.is_some())
    };
    let set = |place: Option<f64>| {
        let mut values = vec![Value::Null; count];
        for occurrence in &occurrences {
            // As the first one of `:p IS NULL OR column = :p`.
            if occurrence.usage.is_none() && has_use(occurrence.index) {
                continue;
            }
            let Some(slot) = values.get_mut(occurrence.index - 1) else { continue };
            if *slot == Value::Null {
                *slot = occurrence.value(connection, given, place)?;
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
        let view: Vec<Token<'_>> = tokens(sql).filter(Token::counts).collect();
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
    index: usize,
    /// The parameter as the text writes it.
    text: &'s str,
    usage: Option<Usage<'s>>,
}

/// What a parameter stands for.
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
    fn occurrences(&self, statement: &Statement<'_, '_>) -> Vec<Occurrence<'s>> {
        let parameters = self.all.iter().enumerate();
        let parameters = parameters.filter(|(_, token)| token.kind == Kind::Parameter);
        let mut last = 0;
        let occurrence = |(place, token): (usize, &Token<'s>)| {
            let mut numbers = 1..=statement.parameter_count();
            let named =
                |index: &i32| statement.parameter_name(*index).as_deref() == Some(token.text);
            let index = match token.text {
                "?" => last + 1,
                _ => numbers.find(named).map_or(last + 1, |index| index as usize),
            };
            last = last.max(index);
            Occurrence { index, text: token.text, usage: self.usage(place) }
        };
        parameters.map(occurrence).collect()
    }

    fn usage(&self, place: usize) -> Option<Usage<'s>> {
        let before = |back: usize| place.checked_sub(back).map(|at| &self.all[at]);
        let is_like = |token: &Token<'_>| token.is("like") || token.is("glob");
        let form = match before(1) {
            _ if before(2).is_some_and(|token| token.is("json_each")) => Form::Array,
            Some(token) if is_like(token) => Form::Whole,
            _ => Form::Part,
        };
        match role(self.all, place)? {
            Role::Limit => Some(Usage::Rows(PAGE)),
            Role::Offset => Some(Usage::Rows(0)),
            Role::Compared { operator, operand } => self.compared(operator, operand, form),
            Role::Inserted(item) => {
                let (table, columns) = inserted(self.all, place)?;
                let table = self.schema.table(&table)?;
                let named = columns.get(item).map(|name| table.column(name));
                let column = if columns.is_empty() { item } else { named?? };
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
            let ahead = self.all.iter().position(|token| token.start == named.start)?;
            let is_name = |pair: &[Token<'_>]| pair[0].is("as") && pair[1].name() == named.name();
            let at = self.all[..ahead].windows(2).rposition(is_name)?;
            return self.compared(operator, ending_at(self.all, at.checked_sub(1)?)?, form);
        };
        let is_table = |at: usize| {
            let is_number = operand[at].text.starts_with(|c: char| c.is_ascii_digit());
            !is_number && operand.get(at + 1).is_some_and(|dot| dot.text == ".")
        };
        let (mut term, mut end) = (String::new(), operand[0].start);
        for (at, token) in operand.iter().enumerate() {
            term += &self.sql[end..token.start];
            let is_left_out = is_table(at) || (at > 0 && is_table(at - 1));
            term += if is_left_out { "" } else { token.text };
            end = token.start + token.text.len();
        }
        Some(Usage::Value { table, column, term, operator: operator.to_lowercase(), form })
    }

    /// Returns the first column of an operand, by the name of the table before it if that counts.
    fn column(&self, operand: &[Token<'s>], by_table: bool) -> Option<(&'s Table, usize)> {
        let name = |token: &Token<'s>| token.name().filter(|_| !token.text.starts_with('\''));
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

impl Occurrence<'_> {
    fn value(
        &self,
        connection: &Connection,
        given: &[(String, Value)],
        place: Option<f64>,
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
                let name = if name.is_empty() { self.index.to_string() } else { name.to_owned() };
                return Err(format!(
                    "the parameter {} is compared with no column of a table: give it a value with --set {name}=…",
                    self.text
                ));
            }
        };
        let name = &table.columns[column].name;
        // An expression may have no values, or need what only the statement has.
        let terms = [term, &quoted(name)];
        let mut taken =
            terms.iter().filter_map(|term| taken(connection, table, term, operator, place));
        let value = taken.next().ok_or_else(|| format!("{}.{name} has no values", table.name));
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
/// nor fewest of some rows have, if it is looked for. The ends of a range lie to both sides of it.
fn taken(
    connection: &Connection,
    table: &Table,
    term: &str,
    operator: &str,
    place: Option<f64>,
) -> Option<Value> {
    const ROWS: u32 = 1000;
    let name = quoted(&table.name);
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
    let first = format!("SELECT {term} FROM {name} WHERE {term} IS NOT NULL LIMIT 1");
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

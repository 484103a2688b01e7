//! Values for the parameters of a statement, taken from the columns that they are compared with.

use engine::schema::{Part, PartOf, Schema, Table};
use engine::{Connection, Statement, Value};
use script::effect::{literal, quoted};
use script::{Kind, Token, tables, tokens};

use crate::schema::ends;
use crate::text::{closing, opening};

/// Rows of a page, for `LIMIT ?`.
const PAGE: i64 = 20;

/// The rows from which values are taken, as parts of the range of rowids.
const PLACES: [f64; 3] = [0.5, 0.2, 0.8];

/// Words that end an operand.
const ENDS: &str = "where on having select when then else case and or set by returning from join using values not union limit offset";

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
    let text = Text { sql: &sql, tables: tables(&all), all, schema };
    let occurrences = text.occurrences(statement);
    let has_role =
        |index: usize| occurrences.iter().any(|other| other.index == index && other.role.is_some());
    let set = |place: Option<f64>| {
        let mut values = vec![Value::Null; count];
        for occurrence in &occurrences {
            // As the first one of `:p IS NULL OR column = :p`.
            if occurrence.role.is_none() && has_role(occurrence.index) {
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

/// A parameter where the text has it.
struct Occurrence<'s> {
    index: usize,
    /// The parameter as the text writes it.
    text: &'s str,
    role: Option<Role<'s>>,
}

/// What a parameter stands for.
enum Role<'s> {
    /// A number of rows.
    Rows(i64),
    /// A value of a column.
    Value(Meant<'s>),
}

/// The value of a column or of an expression of it.
struct Meant<'s> {
    table: &'s Table,
    column: usize,
    /// The expression in SQL.
    term: String,
    /// The operator of the comparison, in lower case; `values` for a value of a new row.
    operator: String,
    /// Whether it is a part of the operand.
    is_part: bool,
    /// Whether it is an array of values.
    is_array: bool,
}

/// A statement.
struct Text<'s> {
    sql: &'s str,
    all: Vec<Token<'s>>,
    /// Its tables with their aliases.
    tables: Vec<(String, Option<String>)>,
    schema: &'s Schema,
}

fn is_operator(token: &Token<'_>) -> bool {
    const WORDS: [&str; 7] = ["is", "in", "like", "glob", "between", "match", "regexp"];
    matches!(token.text, "=" | "<" | ">" | "!") || WORDS.iter().any(|word| token.is(word))
}

fn is_end(token: &Token<'_>) -> bool {
    token.kind == Kind::Semicolon || ENDS.split(' ').any(|word| token.is(word))
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
            Occurrence { index, text: token.text, role: self.role(place) }
        };
        parameters.map(occurrence).collect()
    }

    /// Returns what the parameter at this place stands for: the operand on the other side of the comparison around it, its column in a new
    /// row, or a number of rows.
    fn role(&self, place: usize) -> Option<Role<'s>> {
        let all = &self.all;
        let is_array = place > 1 && all[place - 2].is("json_each");
        let select = |pair: &[Token<'_>]| pair[0].text == "(" && pair[1].is("select");
        let around = all[..place].windows(2).rposition(select).filter(|_| is_array);
        let (mut at, mut commas, mut item) = (around.map_or(place, |open| open + 1), 0, 0);
        let (operator, operand) = loop {
            let token = match at.checked_sub(1) {
                Some(before) => &all[before],
                None => break self.right(place)?,
            };
            at -= 1;
            let between =
                || all[..at].iter().rposition(|token| token.is("between") || is_end(token));
            match token.text {
                ")" => at = opening(all, at)?,
                "(" => (item, commas) = (commas, 0),
                "," => commas += 1,
                _ if token.is("values") => return self.inserted(at, item),
                _ if token.is("offset") => return Some(Role::Rows(0)),
                _ if token.is("limit") => {
                    let is_offset = all.get(place + 1).is_some_and(|comma| comma.text == ",");
                    return Some(Role::Rows(if is_offset { 0 } else { PAGE }));
                }
                _ if is_operator(token) && commas == 0 => break (token.text, self.left(at)?),
                _ if token.is("and") && between().is_some_and(|at| all[at].is("between")) => {
                    break ("<", self.left(between()?)?);
                }
                _ if is_end(token) || is_operator(token) => break self.right(place)?,
                _ => {}
            }
        };
        let operand = match operand {
            [open, fields @ .., _]
                if open.text == "(" && closing(operand, 0) == Some(fields.len() + 1) =>
            {
                fields.split(|token| token.text == ",").nth(item)?
            }
            operand => operand,
        };
        let before = all.get(place.wrapping_sub(1));
        let is_part = !before.is_some_and(is_operator);
        let meant = |meant| Meant { operator: operator.to_lowercase(), is_part, is_array, ..meant };
        Some(match self.meant(operand)? {
            Role::Value(value) => Role::Value(meant(value)),
            rows => rows,
        })
    }

    /// Returns the operand before the operator at this place.
    fn left(&self, operator: usize) -> Option<&[Token<'s>]> {
        let all = &self.all;
        let signs = all[..=operator].iter().rev();
        let signs = signs.take_while(|token| is_operator(token) || token.is("not")).count();
        let end = operator + 1 - signs;
        let mut start = end;
        while let Some(before) = start.checked_sub(1) {
            let token = &all[before];
            // Not `->` and `->>`.
            let signs = all[..before].iter().rev().take_while(|token| token.text == ">").count();
            let is_arrow =
                token.text == ">" && before > signs && all[before - 1 - signs].text == "-";
            let is_stop = matches!(token.text, "(" | ",") || is_end(token) || is_operator(token);
            if is_stop && !is_arrow {
                break;
            }
            start = if token.text == ")" { opening(all, before)? } else { before };
        }
        Some(&all[start..end])
    }

    /// Returns the operator after this place, and the operand after it.
    fn right(&self, place: usize) -> Option<(&'s str, &[Token<'s>])> {
        let all = &self.all;
        let is_stop = |token: &Token<'_>| token.text == "," || is_end(token);
        let operator =
            (place..all.len()).find(|at| is_operator(&all[*at]) || is_stop(&all[*at]))?;
        let signs = all[operator..].iter().take_while(|token| is_operator(token)).count();
        let (begin, mut end) = (operator + signs, operator + signs);
        while let Some(token) =
            all.get(end).filter(|token| token.text != ")" && !is_stop(token) && !is_operator(token))
        {
            end = if token.text == "(" { closing(all, end)? } else { end } + 1;
        }
        (signs > 0).then(|| (all[operator].text, &all[begin..end]))
    }

    /// Returns the column of a new row that has this number among the values after this place.
    fn inserted(&self, values: usize, item: usize) -> Option<Role<'s>> {
        let all = &self.all[..values];
        let open =
            all.last().filter(|token| token.text == ")").and_then(|_| opening(all, values - 1));
        let table = self.schema.table(&all[open.unwrap_or(values).checked_sub(1)?].name()?)?;
        let column = match open {
            Some(open) => {
                let mut names = all[open + 1..].iter().filter(|token| token.text != ",");
                table.column(&names.nth(item)?.name()?)?
            }
            None => item,
        };
        let term = quoted(&table.columns.get(column)?.name);
        Some(Role::Value(Meant {
            table,
            column,
            term,
            operator: "values".to_owned(),
            is_part: false,
            is_array: false,
        }))
    }

    /// Returns what an operand stands for, by its first column or what the statement calls so.
    fn meant(&self, operand: &[Token<'s>]) -> Option<Role<'s>> {
        if operand.first()?.is("count") {
            return Some(Role::Rows(1));
        }
        let name = |token: &Token<'s>| token.name().filter(|_| !token.text.starts_with('\''));
        let found = (0..operand.len()).find_map(|at| {
            let is_qualified = operand.get(at + 1).is_some_and(|dot| dot.text == ".");
            let first = name(&operand[at])?;
            let is_of = |(table, alias): &&(String, Option<String>)| {
                !is_qualified
                    || [Some(table), alias.as_ref()]
                        .into_iter()
                        .flatten()
                        .any(|name| name.eq_ignore_ascii_case(&first))
            };
            let column = if is_qualified { name(operand.get(at + 2)?)? } else { first.clone() };
            let mut tables = self.tables.iter().filter(is_of);
            tables.find_map(|(table, _)| {
                let table = self.schema.table(table)?;
                Some((table, table.column(&column)?))
            })
        });
        let Some((table, column)) = found else {
            // `… AS name` ahead of it.
            let [named] = operand else { return None };
            let ahead = self.all.iter().position(|token| token.start == named.start)?;
            let is_name = |pair: &[Token<'_>]| pair[0].is("as") && pair[1].name() == named.name();
            let at = self.all[..ahead].windows(2).rposition(is_name)?;
            return self.meant(self.left(at.checked_sub(1)?)?);
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
        Some(Role::Value(Meant {
            table,
            column,
            term,
            operator: String::new(),
            is_part: false,
            is_array: false,
        }))
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
        let meant = match &self.role {
            Some(Role::Value(meant)) => meant,
            Some(Role::Rows(rows)) => return Ok(Value::Integer(*rows)),
            None => {
                let name = if name.is_empty() { self.index.to_string() } else { name.to_owned() };
                return Err(format!(
                    "the parameter {} is compared with no column of a table: give it a value with --set {name}=…",
                    self.text
                ));
            }
        };
        let Meant { table, column, operator, .. } = meant;
        let name = &table.columns[*column].name;
        // An expression may have no values, or need what only the statement has.
        let terms = [&meant.term, &quoted(name)];
        let mut taken =
            terms.iter().filter_map(|term| taken(connection, table, term, operator, place));
        let value = taken.next().ok_or_else(|| format!("{}.{name} has no values", table.name));
        if operator == "values" && is_key(table, *column) {
            return Ok(new_key(table, *column, value.unwrap_or(Value::Null)));
        }
        Ok(match (operator.as_str(), value?) {
            ("like", Value::Text(text)) => pattern(&text, if meant.is_part { "" } else { "%" }),
            ("glob", Value::Text(text)) => pattern(&text, if meant.is_part { "" } else { "*" }),
            (_, Value::Text(text)) if meant.is_array => {
                let array = format!("SELECT json_array({})", literal(&text));
                connection.query_value(&array).map_err(|error| error.to_string())?
            }
            (_, value) if meant.is_array => Value::Text(format!("[{value}]")),
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

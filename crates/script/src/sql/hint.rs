//! Hints in the text of a statement: the purpose of its parameters, and whether its answer may change from one
//! execution to the next.

use crate::sql::token::{Kind, Token, closing, opening, tokens};

/// The column that a parameter is compared with or written to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hint {
    /// The table, where the text names it; an alias is resolved.
    pub table: Option<String>,
    /// The column.
    pub column: String,
    /// The tables of the statement, in their order: the column is one of theirs.
    pub tables: Vec<String>,
}

/// Functions and words with a different value each time.
const VOLATILE: &str =
    "random randomblob current_time current_date current_timestamp last_insert_rowid";

/// Returns whether a statement names a function whose value is another each time, or the present time.
pub(crate) fn is_volatile(sql: &str) -> bool {
    tokens(sql).any(|token| {
        VOLATILE.split(' ').any(|name| token.is(name)) || token.text.eq_ignore_ascii_case("'now'")
    })
}

/// Returns a hint for each parameter, in their order in the text.
pub fn hints(sql: &str) -> Vec<Option<Hint>> {
    let all = tokens(sql).filter(Token::counts).enumerate();
    let parameters = all.filter(|(_, token)| token.kind == Kind::Parameter);
    parameters.map(|(index, _)| hint(sql, index)).collect()
}

/// Returns the hint for a parameter, given its place among all tokens that count.
pub(crate) fn hint(sql: &str, parameter: usize) -> Option<Hint> {
    let all: Vec<Token<'_>> = tokens(sql).filter(Token::counts).collect();
    let tables = tables(&all);
    let (table, column) = match role(&all, parameter)? {
        Role::Compared { operand: [column], .. } => (None, column.name()?),
        Role::Compared { operand: [table, dot, column], .. } if dot.text == "." => {
            (Some(table.name()?), column.name()?)
        }
        Role::Inserted(item) => {
            let (table, mut columns) = inserted(&all, parameter)?;
            (Some(table), (item < columns.len()).then(|| columns.swap_remove(item))?)
        }
        _ => return None,
    };
    Some(Hint {
        table: table.map(|name| {
            let known = tables.iter().find(|(_, alias)| same(alias.as_deref(), &name));
            known.map_or(name, |(table, _)| table.clone())
        }),
        column,
        tables: tables.into_iter().map(|(table, _)| table).collect(),
    })
}

fn same(alias: Option<&str>, name: &str) -> bool {
    alias.is_some_and(|alias| alias.eq_ignore_ascii_case(name))
}

/// Returns the tables of a statement with their aliases.
pub fn tables(all: &[Token<'_>]) -> Vec<(String, Option<String>)> {
    const AHEAD: [&str; 4] = ["from", "join", "into", "update"];
    let mut tables = Vec::new();
    for (index, token) in all.iter().enumerate() {
        if !AHEAD.iter().any(|word| token.is(word)) {
            continue;
        }
        // `UPDATE OR IGNORE t`.
        let mut rest = &all[index + 1..];
        while rest.first().is_some_and(|token| token.is("or")) {
            rest = rest.get(2..).unwrap_or(&[]);
        }
        while let Some(name) = rest.first().and_then(Token::name) {
            rest = &rest[1..];
            let aliased = rest.first().is_some_and(|token| token.is("as"));
            rest = &rest[usize::from(aliased)..];
            let alias = rest.first().filter(|token| !is_keyword(token)).and_then(Token::name);
            rest = &rest[usize::from(alias.is_some())..];
            tables.push((name, alias));
            match rest.first() {
                Some(comma) if comma.text == "," => rest = &rest[1..],
                _ => break,
            }
        }
    }
    tables
}

/// Returns whether a word that follows the name of a table is a keyword instead of an alias.
fn is_keyword(token: &Token<'_>) -> bool {
    const WORDS: &str = "where set values join on order group limit inner left cross natural using returning \
        default select indexed not union right full";
    WORDS.split(' ').any(|word| token.is(word))
}

/// What a parameter is for.
#[derive(Debug)]
pub enum Role<'a> {
    /// The number of rows to return.
    Limit,
    /// The number of rows to skip.
    Offset,
    /// A part of a comparison or an assignment.
    Compared {
        /// The operator's first sign or its word; `<` for the second end of `BETWEEN`.
        operator: &'a str,
        /// The other side.
        operand: &'a [Token<'a>],
    },
    /// The value with this number, from 0, in a new row.
    Inserted(usize),
}

/// Words that end an operand.
const ENDS: &str = "where on having select when then else case and or not set by returning from join using values union limit offset";

fn is_operator(token: &Token<'_>) -> bool {
    const WORDS: [&str; 7] = ["is", "in", "like", "glob", "between", "match", "regexp"];
    matches!(token.text, "=" | "<" | ">" | "!") || WORDS.iter().any(|word| token.is(word))
}

fn is_end(token: &Token<'_>) -> bool {
    token.kind == Kind::Semicolon || ENDS.split(' ').any(|word| token.is(word))
}

/// Returns what the parameter at this place is for, whatever calls, lists and signs are around it: `column = ?`, `? < column`,
/// `column BETWEEN ? AND ?`, `column IN (?, ?)`, `(a, b) > (?, ?)`, `lower(column) = lower(?)`, `SET column = ?`, `VALUES (?, ?)`.
pub fn role<'a>(all: &'a [Token<'a>], place: usize) -> Option<Role<'a>> {
    let is_array = place > 1 && all[place - 2].is("json_each");
    let select = |pair: &[Token<'_>]| pair[0].text == "(" && pair[1].is("select");
    let around = all[..place].windows(2).rposition(select).filter(|_| is_array);
    let (mut at, mut commas, mut item) = (around.map_or(place, |open| open + 1), 0, 0);
    let (operator, operand) = loop {
        let Some(before) = at.checked_sub(1) else { break after(all, place)? };
        at = before;
        let token = &all[at];
        let between = || all[..at].iter().rposition(|token| token.is("between") || is_end(token));
        match token.text {
            ")" => at = opening(all, at)?,
            "(" => (item, commas) = (commas, 0),
            "," => commas += 1,
            _ if token.is("values") => return Some(Role::Inserted(item)),
            _ if token.is("offset") => return Some(Role::Offset),
            _ if token.is("limit") => {
                let is_offset = all.get(place + 1).is_some_and(|comma| comma.text == ",");
                return Some(if is_offset { Role::Offset } else { Role::Limit });
            }
            _ if is_operator(token) && commas == 0 => break (token.text, ending_at(all, at)?),
            _ if token.is("and") && between().is_some_and(|at| all[at].is("between")) => {
                break ("<", ending_at(all, between()?)?);
            }
            _ if token.is("not") && at > 0 && all[at - 1].is("is") => {}
            _ if is_end(token) || is_operator(token) => break after(all, place)?,
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
    Some(Role::Compared { operator, operand })
}

/// Returns the operand that ends at this place, which may be that of an operator or a word after it.
pub fn ending_at<'a>(all: &'a [Token<'a>], place: usize) -> Option<&'a [Token<'a>]> {
    let signs = all[..=place].iter().rev();
    let signs = signs.take_while(|token| is_operator(token) || token.is("not")).count();
    let end = place + 1 - signs;
    let mut start = end;
    while let Some(before) = start.checked_sub(1) {
        let token = &all[before];
        // Not `->` and `->>`.
        let signs = all[..before].iter().rev().take_while(|token| token.text == ">").count();
        let is_arrow = token.text == ">" && before > signs && all[before - 1 - signs].text == "-";
        let is_stop = matches!(token.text, "(" | ",") || is_end(token) || is_operator(token);
        if is_stop && !is_arrow {
            break;
        }
        start = if token.text == ")" { opening(all, before)? } else { before };
    }
    Some(&all[start..end])
}

/// Returns the operator after this place, and the operand after it.
fn after<'a>(all: &'a [Token<'a>], place: usize) -> Option<(&'a str, &'a [Token<'a>])> {
    let is_stop = |token: &Token<'_>| token.text == "," || is_end(token);
    let operator = (place..all.len()).find(|at| is_operator(&all[*at]) || is_stop(&all[*at]))?;
    let signs = all[operator..].iter().take_while(|token| is_operator(token)).count();
    let (begin, mut end) = (operator + signs, operator + signs);
    let goes_on = |token: &&Token<'_>| token.text != ")" && !is_stop(token) && !is_operator(token);
    while let Some(token) = all.get(end).filter(goes_on) {
        end = if token.text == "(" { closing(all, end)? } else { end } + 1;
    }
    (signs > 0).then(|| (all[operator].text, &all[begin..end]))
}

/// Returns the table that a row is inserted into, and the names of the values; all columns without names.
pub fn inserted(all: &[Token<'_>], place: usize) -> Option<(String, Vec<String>)> {
    let values = all[..place].iter().rposition(|token| token.is("values"))?;
    let open = (all[values - 1].text == ")").then(|| opening(all, values - 1)).flatten();
    let names = open.map_or(&[][..], |open| &all[open + 1..values - 1]);
    let table = all[open.unwrap_or(values).checked_sub(1)?].name()?;
    Some((table, names.iter().filter(|name| name.text != ",").filter_map(Token::name).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the hint of the last parameter, as `table.column`.
    fn last(sql: &str) -> Option<String> {
        let all: Vec<Token<'_>> = tokens(sql).filter(Token::counts).collect();
        let parameter = all.iter().rposition(|it| it.kind == Kind::Parameter).unwrap();
        hint(sql, parameter).map(|hint| match hint.table {
            Some(table) => format!("{table}.{}", hint.column),
            None => format!("{}.{}", hint.tables.join("|"), hint.column),
        })
    }

    #[test]
    fn hints_come_in_the_order_of_the_parameters() {
        let all = hints("SELECT a FROM t WHERE b = ? AND c > :x LIMIT ?");
        let columns: Vec<_> =
            all.iter().map(|it| it.as_ref().map(|it| it.column.as_str())).collect();
        assert_eq!(columns, [Some("b"), Some("c"), None]);
    }

    #[test]
    fn a_parameter_belongs_to_the_column_that_it_meets() {
        for (sql, wanted) in [
            ("SELECT * FROM users WHERE id = :id", "users.id"),
            (
                "SELECT * FROM users AS u JOIN \"my orders\" o ON o.user = u.id WHERE o.\"at\" >= ?1",
                "my orders.at",
            ),
            ("SELECT * FROM a, b WHERE b.x <= :x", "b.x"),
            ("SELECT * FROM a, b WHERE y IS NOT :x", "a|b.y"),
            ("SELECT * FROM t WHERE (a, b) > (?, lower(?)) AND NOT c = 1", "t.b"),
            ("SELECT * FROM t WHERE t.c LIKE '%' || ? || '%'", "t.c"),
            ("SELECT * FROM t WHERE ? < t.c", "t.c"),
            ("SELECT * FROM t WHERE c BETWEEN ? AND ?", "t.c"),
            ("SELECT * FROM t WHERE c IN (?, ?, ?)", "t.c"),
            ("SELECT * FROM t WHERE c NOT LIKE @p", "t.c"),
            ("UPDATE OR IGNORE t SET c = :c", "t.c"),
            ("DELETE FROM t WHERE c == $c", "t.c"),
            ("INSERT INTO t(a, [b c]) VALUES (1, :v)", "t.b c"),
        ] {
            assert_eq!(last(sql).as_deref(), Some(wanted), "{sql}");
        }
        for sql in
            ["SELECT :x", "SELECT * FROM t LIMIT :x", "INSERT INTO t VALUES (?)", "SELECT f(:x)"]
        {
            assert_eq!(last(sql), None, "{sql}");
        }
    }

    #[test]
    fn the_present_time_and_chance_are_volatile() {
        assert!(is_volatile("SELECT datetime('now')"));
        assert!(is_volatile("INSERT INTO t VALUES (CURRENT_TIMESTAMP)"));
        assert!(is_volatile("SELECT Random() FROM t"));
        assert!(!is_volatile("SELECT 'random', randomness FROM t -- random()"));
    }
}

//! Hints in the text of a statement: the purpose of its parameters, and whether its answer may change from one
//! execution to the next.

use std::collections::BTreeMap;

use crate::sql::effect::has_chance;
use crate::sql::token::{Kind, Token, closing, opening};

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

/// Returns whether a statement names a function whose value is another each time, or the present time.
pub(crate) fn is_volatile(all: &[Token<'_>]) -> bool {
    has_chance(all) || all.iter().any(|token| token.is("last_insert_rowid"))
}

/// Returns a hint for each parameter, in their order in the text.
pub fn hints(all: &[Token<'_>]) -> Vec<Option<Hint>> {
    let tables = tables(all);
    parameters(all).into_iter().map(|parameter| hint(&tables, parameter.role?)).collect()
}

/// Returns the hint for a parameter with this role in a statement on these tables.
pub(crate) fn hint(tables: &[(String, Option<String>)], role: Role<'_>) -> Option<Hint> {
    let (table, column) = match role {
        Role::Compared { operand: [column], .. } => (None, column.name()?),
        Role::Compared { operand: [table, dot, column], .. } if dot.text == "." => {
            (Some(table.name()?), column.name()?)
        }
        Role::Inserted { table, column, .. } => (Some(table), column?),
        _ => return None,
    };
    Some(Hint {
        table: table.map(|name| {
            let known = tables.iter().find(|(_, alias)| same(alias.as_deref(), &name));
            known.map_or(name, |(table, _)| table.clone())
        }),
        column,
        tables: tables.iter().map(|(table, _)| table.clone()).collect(),
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

/// A parameter where the text has it.
#[derive(Debug)]
pub struct Parameter<'a> {
    /// Its place among the tokens.
    pub place: usize,
    /// Its number in SQLite, from 1.
    pub number: usize,
    /// Its purpose, if the text shows that.
    pub role: Option<Role<'a>>,
}

/// The purpose of a parameter.
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
    /// A value of a new row.
    Inserted {
        /// The table.
        table: String,
        /// The column, if the text names it.
        column: Option<String>,
        /// The number of the value, from 0.
        item: usize,
    },
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

/// A level of parentheses, as far as it has been read.
#[derive(Default)]
struct Level {
    /// The parenthesis that opens it.
    open: usize,
    /// The last word or sign that decides what comes after it. For the second end of BETWEEN it is this word.
    stop: Option<usize>,
    /// The commas since then.
    commas: usize,
    /// The BETWEEN whose AND has not come yet.
    between: Option<usize>,
    is_second: bool,
}

impl Level {
    fn read(&mut self, all: &[Token<'_>], place: usize) {
        let token = &all[place];
        let (is_end, is_operator) = (is_end(token), is_operator(token));
        let is_not = token.is("not") && place > 0 && all[place - 1].is("is");
        self.commas += usize::from(token.text == ",");
        if is_not || !(is_end || is_operator) {
            return;
        }
        let between = self.between.take_if(|_| is_end).filter(|_| token.is("and"));
        (self.is_second, self.commas) = (between.is_some(), 0);
        self.stop = Some(between.unwrap_or(place));
        if token.is("between") {
            self.between = Some(place);
        }
    }
}

/// Returns the parameters of a statement in the order of its text, each with what it is for, whatever calls, lists and signs are around
/// it: `column = ?`, `? < column`, `column BETWEEN ? AND ?`, `column IN (?, ?)`, `(a, b) > (?, ?)`, `lower(column) = lower(?)`,
/// `SET column = ?`, `VALUES (?, ?)`.
pub fn parameters<'a>(all: &'a [Token<'a>]) -> Vec<Parameter<'a>> {
    let (mut parameters, mut levels) = (Vec::new(), vec![Level::default()]);
    let (mut named, mut largest) = (BTreeMap::new(), 0_usize);
    for (place, token) in all.iter().enumerate() {
        let depth = levels.len();
        match token.text {
            "(" => levels.push(Level { open: place, ..Level::default() }),
            ")" => levels.truncate(depth.max(2) - 1),
            _ if token.kind == Kind::Parameter => {
                // SQLite gives `?` the number after the largest so far, and names a number each, too.
                let new = largest.saturating_add(1);
                let number = match (token.text, token.text[1..].parse()) {
                    ("?", _) => new,
                    (_, Ok(number)) if token.text.starts_with('?') => number,
                    (name, _) => *named.entry(name).or_insert(new),
                };
                largest = largest.max(number);
                parameters.push(Parameter { place, number, role: role(all, &levels, place) });
            }
            _ => levels[depth - 1].read(all, place),
        }
    }
    parameters
}

/// Returns what the parameter at this place is for, by what stands before it in its levels of parentheses.
fn role<'a>(all: &'a [Token<'a>], mut levels: &[Level], place: usize) -> Option<Role<'a>> {
    let is_array = place > 1 && all[place - 2].is("json_each");
    let is_select = |level: &Level| all[level.open].text == "(" && all[level.open + 1].is("select");
    if let Some(list) = levels.iter().rposition(is_select).filter(|_| is_array) {
        levels = &levels[..list];
    }
    let is_nested = |level: &Level| level.stop.is_none();
    let inner = levels.iter().rev().take_while(|level| is_nested(level)).last();
    let item = inner.map_or(0, |level| level.commas);
    let decided = levels.iter().rev().find_map(|level| Some((level, level.stop?)));
    let (operator, operand) = match decided.map(|(level, stop)| (level, stop, &all[stop])) {
        Some((_, stop, token)) if token.is("values") => return inserted(all, stop, item),
        Some((_, _, token)) if token.is("offset") => return Some(Role::Offset),
        Some((_, _, token)) if token.is("limit") => {
            let is_offset = all.get(place + 1).is_some_and(|comma| comma.text == ",");
            let is_direct = inner.is_none();
            return Some(if is_offset && is_direct { Role::Offset } else { Role::Limit });
        }
        Some((level, stop, _)) if level.is_second => ("<", ending_at(all, stop)?),
        Some((level, stop, token)) if is_operator(token) && level.commas == 0 => {
            (token.text, ending_at(all, stop)?)
        }
        _ => after(all, place)?,
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

/// Returns the role of a value of a row after this `VALUES`.
fn inserted<'a>(all: &[Token<'_>], values: usize, item: usize) -> Option<Role<'a>> {
    let last = values.checked_sub(1)?;
    let open = if all[last].text == ")" { Some(opening(all, last)?) } else { None };
    let mut names = all[open.map_or(last, |open| open + 1)..last].split(|token| token.text == ",");
    let column = match open {
        Some(_) => Some(names.nth(item)?.first()?.name()?),
        None => None,
    };
    let table = all[open.unwrap_or(values).checked_sub(1)?].name()?;
    Some(Role::Inserted { table, column, item })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::token::significant;

    /// Returns the hint of the last parameter, as `table.column`.
    fn last(sql: &str) -> Option<String> {
        hints(&significant(sql)).pop().unwrap().map(|hint| match hint.table {
            Some(table) => format!("{table}.{}", hint.column),
            None => format!("{}.{}", hint.tables.join("|"), hint.column),
        })
    }

    #[test]
    fn hints_come_in_the_order_of_the_parameters() {
        let all = hints(&significant("SELECT a FROM t WHERE b = ? AND c > :x LIMIT ?"));
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
    fn rows_that_go_into_no_table_and_arguments_of_a_limit_are_no_hint() {
        for (sql, wanted) in [
            ("VALUES (1, ?)", "[None]"),
            ("SELECT * FROM t WHERE (a, b) IN (VALUES (1, ?))", "[None]"),
            ("SELECT * FROM t LIMIT max(?, 5)", "[Some(Limit)]"),
            ("SELECT * FROM t LIMIT ?, ?", "[Some(Offset), Some(Limit)]"),
        ] {
            let all = significant(sql);
            let roles: Vec<_> =
                parameters(&all).into_iter().map(|parameter| parameter.role).collect();
            assert_eq!(format!("{roles:?}"), wanted, "{sql}");
        }
    }

    #[test]
    fn parameters_have_the_numbers_that_sqlite_gives_them() {
        let all = significant("SELECT ?, :a, ?7, :b, ?, @a, :a FROM t WHERE x = ?2");
        let numbers: Vec<usize> =
            parameters(&all).iter().map(|parameter| parameter.number).collect();
        assert_eq!(numbers, [1, 2, 7, 8, 9, 10, 2, 2]);
    }

    #[test]
    fn tens_of_thousands_of_parameters_are_read_at_once() {
        let list = vec!["?"; 30_000].join(", ");
        let of_list = hints(&significant(&format!("SELECT * FROM t WHERE c IN ({list})")));
        let rows = vec!["(?, (?), lower(?))"; 10_000].join(", ");
        let of_rows = hints(&significant(&format!("INSERT INTO t(a, b, c) VALUES {rows}")));
        for all in [of_list, of_rows] {
            assert_eq!((all.len(), &all[29_999].as_ref().unwrap().column[..]), (30_000, "c"));
        }
    }

    #[test]
    fn the_present_time_and_chance_are_volatile() {
        let is_volatile = |sql| is_volatile(&significant(sql));
        assert!(is_volatile("SELECT datetime('now')"));
        assert!(is_volatile("INSERT INTO t VALUES (CURRENT_TIMESTAMP)"));
        assert!(is_volatile("SELECT Random() FROM t"));
        assert!(!is_volatile("SELECT 'random', randomness FROM t -- random()"));
    }
}

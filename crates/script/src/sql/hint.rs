//! Hints in the text of a statement: the purpose of its parameters, and whether its answer may change from one
//! execution to the next.

use crate::sql::token::{Kind, Token, tokens};

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
    let (table, column) = compared(&all, parameter).or_else(|| written(&all, parameter))?;
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

/// Returns the column that the parameter is compared with: `column = ?`, `? < column`, `column BETWEEN ? AND ?`,
/// `column IN (?, ?)`, `SET column = ?`.
fn compared(all: &[Token<'_>], parameter: usize) -> Option<(Option<String>, String)> {
    let before = operands_before(all, parameter);
    before.and_then(|end| column_ending(all, end)).or_else(|| {
        let after = &all[parameter + 1..];
        let operator = after.iter().take_while(|token| is_operator(token)).count();
        (operator > 0).then(|| column_beginning(&after[operator..])).flatten()
    })
}

/// Returns where the left side of the comparison ends that has the parameter on its right side.
fn operands_before(all: &[Token<'_>], parameter: usize) -> Option<usize> {
    let mut end = parameter;
    // The second limit of BETWEEN, and further members of IN.
    if end >= 3 && all[end - 1].is("and") && all[end - 3].is("between") {
        end -= 2;
    }
    while end >= 2 && all[end - 1].text == "," && all[end - 2].kind == Kind::Parameter {
        end -= 2;
    }
    if end >= 2 && all[end - 1].text == "(" && all[end - 2].is("in") {
        end -= 1;
    }
    let operator = all[..end].iter().rev().take_while(|token| is_operator(token)).count();
    (operator > 0).then(|| end - operator)
}

fn is_operator(token: &Token<'_>) -> bool {
    const WORDS: [&str; 6] = ["is", "in", "like", "glob", "between", "not"];
    matches!(token.text, "=" | "<" | ">" | "!") || WORDS.iter().any(|word| token.is(word))
}

/// Returns the column `[table.]column` that ends ahead of this position.
fn column_ending(all: &[Token<'_>], end: usize) -> Option<(Option<String>, String)> {
    let column = all.get(end.checked_sub(1)?)?.name()?;
    let qualified = end >= 3 && all[end - 2].text == ".";
    let table = qualified.then(|| all[end - 3].name()).flatten();
    Some((table, column))
}

/// Returns the column `[table.]column` at the beginning.
fn column_beginning(tokens: &[Token<'_>]) -> Option<(Option<String>, String)> {
    let first = tokens.first()?.name()?;
    match tokens.get(1).map(|token| token.text) {
        Some(".") => Some((Some(first), tokens.get(2)?.name()?)),
        Some("(") => None,
        _ => Some((None, first)),
    }
}

/// Returns the column that the parameter is written to: `INSERT INTO t(a, b) VALUES (?, ?)`.
fn written(all: &[Token<'_>], parameter: usize) -> Option<(Option<String>, String)> {
    let values = all[..parameter].iter().rposition(|token| token.is("values"))?;
    let open = all[..parameter].iter().rposition(|token| token.text == "(")?;
    let close = all[..values].iter().rposition(|token| token.text == ")")?;
    let columns = all[..close].iter().rposition(|token| token.text == "(")?;
    if open < values {
        return None;
    }
    let number = all[open..parameter].iter().filter(|token| token.text == ",").count();
    let column = all[columns + 1..close].iter().filter(|token| token.text != ",").nth(number)?;
    let table = all.get(columns.checked_sub(1)?)?.name()?;
    Some((Some(table), column.name()?))
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

//! Conditions in the text of a statement: where one begins and ends, and comparisons that no row meets.

use engine::{Connection, Value};
use script::{Kind, Token, closing, significant};

/// Words that end a condition.
const ENDS: &str = "and or then where join left inner cross group having order limit window union except intersect returning";

/// Returns whether what comes after a token is a condition of its own.
pub(crate) fn begins_condition(before: &Token<'_>) -> bool {
    before.text == "(" || ["where", "and", "or", "on", "when"].iter().any(|word| before.is(word))
}

/// Returns whether a condition ends before a token.
pub(crate) fn ends_condition(token: &Token<'_>) -> bool {
    let is_end = token.text == ")" || token.kind == Kind::Semicolon;
    is_end || ENDS.split(' ').any(|word| token.is(word))
}

/// Functions that give texts, each with whether it leaves its own results as they are.
const TEXTS: [(&str, bool); 8] = [
    ("date", true),
    ("time", true),
    ("datetime", true),
    ("lower", true),
    ("upper", true),
    ("strftime", false),
    ("substr", false),
    ("substring", false),
];

/// A comparison of a function with a literal that it never gives.
pub(crate) struct Never {
    pub(crate) call: String,
    /// Where it begins in the text.
    pub(crate) start: usize,
    pub(crate) literal: String,
    /// The literal that was meant, if that is known.
    pub(crate) meant: Option<String>,
}

/// Returns the first such comparison of a statement.
pub(crate) fn never(connection: &Connection, sql: &str) -> Option<Never> {
    let all = significant(sql);
    (1..all.len()).find_map(|place| {
        let (_, repeats) = TEXTS.iter().find(|(name, _)| all[place].is(name))?;
        let close = closing(&all, place + 1).filter(|_| all[place + 1].text == "(")?;
        let literal = all.get(close + 2).filter(|_| all[close + 1].text == "=")?;
        // Neither is a part of a sum, nor has the comparison a collation.
        if !begins_condition(&all[place - 1]) || !all.get(close + 3).is_none_or(ends_condition) {
            return None;
        }
        let start = all[place].start;
        let call = sql[start..=all[close].start].to_owned();
        if literal.is_number() {
            let (literal, meant) = (literal.text.to_owned(), Some(format!("'{}'", literal.text)));
            return Some(Never { call, start, literal, meant });
        }
        // Parts of seconds change the text, and an argument's collation applies to the comparison.
        let is_open = |token: &Token<'_>| {
            let text = token.text.to_lowercase();
            token.kind == Kind::Parameter || text == "collate" || text.starts_with("'subsec")
        };
        if !repeats || !literal.is_text() || all[place..close].iter().any(is_open) {
            return None;
        }
        let literal = literal.text;
        let name = all[place].text;
        let given = connection.query_value(&format!("SELECT quote({name}({literal}))")).ok()?;
        let Value::Text(given) = given else { return None };
        let changes_case = name.eq_ignore_ascii_case("lower") || name.eq_ignore_ascii_case("upper");
        let meant = changes_case.then(|| given.clone());
        (given != literal).then(|| Never { call, start, literal: literal.to_owned(), meant })
    })
}

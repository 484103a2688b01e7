//! Comparisons that no row meets.

use engine::{Connection, Value};
use script::{Kind, Token, closing, significant};

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
    (0..all.len()).find_map(|place| {
        let (_, repeats) = TEXTS.iter().find(|(name, _)| all[place].is(name))?;
        let close = closing(&all, place + 1).filter(|_| all[place + 1].text == "(")?;
        let literal = all.get(close + 2).filter(|_| all[close + 1].text == "=")?.text;
        let is_end = |token: &Token<'_>| {
            let ends = ["and", "or", "group", "order", "limit"];
            token.text == ")"
                || token.kind == Kind::Semicolon
                || ends.iter().any(|word| token.is(word))
        };
        if !all.get(close + 3).is_none_or(is_end) {
            return None;
        }
        let start = all[place].start;
        let call = sql[start..=all[close].start].to_owned();
        if literal.starts_with(|c: char| c.is_ascii_digit()) {
            let (literal, meant) = (literal.to_owned(), Some(format!("'{literal}'")));
            return Some(Never { call, start, literal, meant });
        }
        // Those with parts of seconds are other texts.
        if !repeats || !literal.starts_with('\'') || call.to_lowercase().contains("'subsec") {
            return None;
        }
        let name = all[place].text;
        let given = connection.query_value(&format!("SELECT quote({name}({literal}))")).ok()?;
        let Value::Text(given) = given else { return None };
        let changes_case = name.eq_ignore_ascii_case("lower") || name.eq_ignore_ascii_case("upper");
        let meant = changes_case.then(|| given.clone());
        (given != literal).then(|| Never { call, start, literal: literal.to_owned(), meant })
    })
}

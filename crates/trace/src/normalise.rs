//! Texts of statements without what differs from one execution to the next.

use std::iter::Peekable;
use std::str::CharIndices;

use script::effect::first_word;

/// Returns the text with `?` for every literal and parameter, without comments and with single spaces. Names in single quotes, such
/// as `FROM 't'`, stay. Lists of parameters in parentheses become one, so `IN (1, 2)` equals `IN (?, ?, ?)`, and so do the rows after
/// `VALUES`.
pub fn normalised(sql: &str) -> String {
    let mut out = String::with_capacity(sql.len());
    let chars = sql.char_indices().peekable();
    let mut tokens = Tokens { sql, chars, words: [""; 2], is_vacuum: first_word(sql) == "vacuum" };
    while let Some(token) = tokens.next() {
        tokens.remember(&token);
        append(&mut out, token);
    }
    shorten_lists(out)
}

/// A piece of SQL.
enum Token<'a> {
    Space,
    Value,
    Word(&'a str),
    Sign(char),
}

fn append(out: &mut String, token: Token<'_>) {
    let glued = |out: &String| out.ends_with(['(', ' ', '.']) || out.is_empty();
    match token {
        Token::Space if glued(out) => {}
        Token::Space => out.push(' '),
        Token::Value => out.push('?'),
        Token::Word(word) => out.push_str(word),
        Token::Sign(sign) => {
            if matches!(sign, ',' | ')' | ';') && out.ends_with(' ') {
                out.pop();
            }
            out.push(sign);
            if sign == ',' {
                out.push(' ');
            }
        }
    }
}

/// `(?, ?, ?)` as `(?)`, and several of these as one; without a semicolon at the end.
fn shorten_lists(mut text: String) -> String {
    while text.contains("?, ?") {
        text = text.replace("?, ?", "?");
    }
    while text.contains("(?), (?)") {
        text = text.replace("(?), (?)", "(?)");
    }
    text.truncate(text.trim_end_matches([' ', ';']).len());
    text
}

struct Tokens<'a> {
    sql: &'a str,
    chars: Peekable<CharIndices<'a>>,
    /// The two words before, the nearest first; a `.` counts as one.
    words: [&'a str; 2],
    /// `VACUUM INTO` names a file and not a table.
    is_vacuum: bool,
}

/// Words after which a text in single quotes is a name.
const BEFORE_NAMES: [&str; 12] = [
    ".", "from", "join", "into", "update", "table", "index", "view", "trigger", "exists",
    "references", "as",
];

impl<'a> Tokens<'a> {
    fn next(&mut self) -> Option<Token<'a>> {
        let (at, first) = self.chars.next()?;
        let second = self.chars.peek().map(|(_, next)| *next);
        Some(match first {
            '-' if second == Some('-') => self.comment(|_, next| next == '\n'),
            '/' if second == Some('*') => self.comment(|before, next| before == '*' && next == '/'),
            _ if first.is_whitespace() => Token::Space,
            '\'' if self.is_name() => self.name(at, '\''),
            '\'' => self.quoted('\'', Token::Value),
            '"' | '`' => self.name(at, first),
            '[' => self.name(at, ']'),
            'x' | 'X' if second == Some('\'') => {
                self.chars.next();
                self.quoted('\'', Token::Value)
            }
            '?' | ':' | '@' | '$' => self.parameter(first),
            _ if first.is_ascii_digit() => self.number(),
            '.' if second.is_some_and(|c| c.is_ascii_digit()) => self.number(),
            _ if is_word(first) => Token::Word(self.word(at)),
            sign => Token::Sign(sign),
        })
    }

    fn remember(&mut self, token: &Token<'a>) {
        let word = match token {
            Token::Space => return,
            Token::Word(word) => word,
            Token::Sign('.') => ".",
            Token::Sign(_) | Token::Value => "",
        };
        self.words = [word, self.words[0]];
    }

    /// Returns whether a text in single quotes is a name here.
    fn is_name(&self) -> bool {
        let [before, earlier] = self.words;
        let is = |word: &str| word.eq_ignore_ascii_case(before);
        // `a IS DISTINCT FROM 'b'` compares.
        BEFORE_NAMES.into_iter().any(is)
            && !self.is_vacuum
            && !earlier.eq_ignore_ascii_case("distinct")
    }

    fn comment(&mut self, is_end: impl Fn(char, char) -> bool) -> Token<'a> {
        // The second sign of the beginning cannot be the first of the end.
        self.chars.next();
        let mut before = ' ';
        for (_, next) in self.chars.by_ref() {
            if is_end(before, next) {
                break;
            }
            before = next;
        }
        Token::Space
    }

    fn quoted(&mut self, quote: char, token: Token<'a>) -> Token<'a> {
        while let Some((_, next)) = self.chars.next() {
            if next != quote {
                continue;
            }
            if self.chars.next_if(|(_, after)| *after == quote).is_none() {
                break;
            }
        }
        token
    }

    fn name(&mut self, begin: usize, quote: char) -> Token<'a> {
        self.quoted(quote, Token::Space);
        Token::Word(&self.sql[begin..self.offset()])
    }

    fn parameter(&mut self, first: char) -> Token<'a> {
        let begin = self.offset();
        let name = self.word(begin);
        match first {
            '?' => Token::Value,
            _ if name.is_empty() => Token::Sign(first),
            _ => Token::Value,
        }
    }

    fn number(&mut self) -> Token<'a> {
        let mut before = '0';
        while let Some((_, next)) = self.chars.next_if(|(_, next)| {
            is_word(*next)
                || *next == '.'
                || (matches!(next, '+' | '-') && matches!(before, 'e' | 'E'))
        }) {
            before = next;
        }
        Token::Value
    }

    fn word(&mut self, begin: usize) -> &'a str {
        while self.chars.next_if(|(_, next)| is_word(*next)).is_some() {}
        &self.sql[begin..self.offset()]
    }

    fn offset(&mut self) -> usize {
        self.chars.peek().map_or(self.sql.len(), |(at, _)| *at)
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Returns the length of the text in quotes, the comment or the character at the beginning.
pub fn piece(sql: &str, before: Option<char>) -> usize {
    let until = |from: usize, end: &str| {
        sql[from..].find(end).map_or(sql.len(), |at| from + at + end.len())
    };
    let in_word = before.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let mut chars = sql.chars();
    let first = chars.next().unwrap_or(' ');
    match (first, chars.next()) {
        ('-', Some('-')) => until(2, "\n"),
        ('/', Some('*')) => until(2, "*/"),
        ('\'' | '"' | '`', _) => quoted(sql, first),
        ('[', _) => until(1, "]"),
        ('x' | 'X', Some('\'')) if !in_word => 1 + quoted(&sql[1..], '\''),
        _ => first.len_utf8(),
    }
}

/// Returns the length of the text in quotes, whose quotes are doubled within it.
fn quoted(sql: &str, quote: char) -> usize {
    let mut chars = sql.char_indices().skip(1).peekable();
    while let Some((at, next)) = chars.next() {
        if next == quote && chars.next_if(|(_, after)| *after == quote).is_none() {
            return at + 1;
        }
    }
    sql.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_differs_in_values_only_is_the_same() {
        let cases = [
            ("SELECT * FROM t WHERE a = 1", "SELECT * FROM t WHERE a = ?"),
            ("SELECT  *\nFROM t -- why\n WHERE a='it''s'", "SELECT * FROM t WHERE a=?"),
            ("SELECT a1, \"b 2\", [c 3], `d` FROM t", "SELECT a1, \"b 2\", [c 3], `d` FROM t"),
            ("SELECT :a, @b, $c, ?12, x'00ff', 1.5e-3, .5, 0xff;", "SELECT ?"),
            ("a IN (1,2 ,3)", "a IN (?)"),
            ("INSERT INTO t(a, b) VALUES (1, 'x'), (2, 'y');", "INSERT INTO t(a, b) VALUES (?)"),
            ("/* note */ SELECT a/**/b", "SELECT a b"),
            ("SELECT 'open", "SELECT ?"),
            ("SELECT 'a' AS 'b' FROM 'c d' WHERE e='f'", "SELECT ? AS 'b' FROM 'c d' WHERE e=?"),
            ("INSERT INTO main.'t' VALUES ('v')", "INSERT INTO main.'t' VALUES (?)"),
            ("VACUUM INTO 'copy.db'", "VACUUM INTO ?"),
            (
                "SELECT a IS NOT DISTINCT FROM 'b', 'c' LIKE 'd'",
                "SELECT a IS NOT DISTINCT FROM ? LIKE ?",
            ),
            ("ATTACH 'file' AS x", "ATTACH ? AS x"),
        ];
        for (sql, expected) in cases {
            assert_eq!(normalised(sql), expected, "{sql}");
        }
    }

    proptest! {
        #[test]
        fn any_text_has_a_stable_form(sql in "[a-z0-9 '\"?:,()./*\\-\\[\\]`\u{e4}]{0,60}") {
            let once = normalised(&sql);
            prop_assert!(!once.starts_with(' ') || once.trim().is_empty());
        }
    }

    #[test]
    fn pieces_of_a_statement_end_where_sqlite_sees_their_end() {
        for (sql, length) in [
            ("'it''s' x", 7),
            ("'open", 5),
            ("\"a b\".c", 5),
            ("[a'b] c", 5),
            ("x'00' y", 5),
            ("-- don't\nSELECT", 9),
            ("/* 'a' */b", 9),
            ("ä'", 2),
        ] {
            assert_eq!(piece(sql, None), length, "{sql}");
        }
        assert_eq!(piece("x'00'", Some('a')), 1, "the end of a word");
    }
}

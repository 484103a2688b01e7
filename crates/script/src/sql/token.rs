//! Where a statement ends, by the rules of `sqlite3_complete`: a semicolon, but within `CREATE TRIGGER` only one after
//! `END`. `END` by itself is COMMIT.

/// How far the text of a statement goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// Its semicolon ends here.
    Semicolon(usize),
    /// A backslash is here.
    Backslash(usize),
    /// The text ends without either.
    Text,
    /// A quote that begins here has no end.
    OpenQuote(usize),
}

/// The state of reading a statement.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Nothing that counts.
    Start,
    /// A statement that ends at the next semicolon.
    Normal,
    /// `EXPLAIN` alone.
    Explain,
    /// `CREATE`, or `CREATE TEMP`.
    Create,
    /// The inside of a trigger.
    Trigger,
    /// A semicolon in a trigger.
    Semicolon,
    /// `; END` in a trigger.
    End,
}

impl State {
    fn after(self, token: &Token<'_>) -> State {
        let semicolon = token.kind == Kind::Semicolon;
        match self {
            State::Start | State::Explain if token.is("create") => State::Create,
            State::Start if token.is("explain") => State::Explain,
            State::Explain if !semicolon && !ends_explain(token) => State::Explain,
            State::Create if token.is("temp") || token.is("temporary") => State::Create,
            State::Create if token.is("trigger") => State::Trigger,
            State::Trigger | State::End | State::Semicolon if !semicolon => {
                if self == State::Semicolon && token.is("end") {
                    State::End
                } else {
                    State::Trigger
                }
            }
            State::Trigger | State::Semicolon => State::Semicolon,
            _ if semicolon => State::Start,
            _ => State::Normal,
        }
    }
}

/// Words after which `EXPLAIN` explains no trigger; others may stand between it and `CREATE`, as `QUERY PLAN` does.
fn ends_explain(token: &Token<'_>) -> bool {
    ["explain", "temp", "temporary", "trigger", "end"].iter().any(|word| token.is(word))
}

/// Returns where the statement at the beginning of a text ends.
pub(crate) fn statement(text: &str) -> End {
    let mut state = State::Start;
    for token in tokens(text).filter(Token::counts) {
        match token.kind {
            Kind::Backslash => return End::Backslash(token.start),
            Kind::Quoted(false) => return End::OpenQuote(token.start),
            _ => state = state.after(&token),
        }
        if state == State::Start {
            return End::Semicolon(token.start + 1);
        }
    }
    End::Text
}

/// Returns whether a text ends with a whole statement, as `sqlite3_complete` says.
pub fn is_complete(text: &str) -> bool {
    let mut state = None;
    for token in tokens(text) {
        if token.kind == Kind::Quoted(false) || is_open_comment(&token) {
            return false;
        }
        if !token.counts() {
            continue;
        }
        state = Some(state.unwrap_or(State::Start).after(&token));
    }
    state == Some(State::Start)
}

fn is_open_comment(token: &Token<'_>) -> bool {
    let text = token.text;
    token.kind == Kind::Comment
        && text.starts_with("/*")
        && (text.len() < 4 || !text.ends_with("*/"))
}

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// White space.
    Space,
    /// A comment.
    Comment,
    /// A string, or a name in quotes; `false` where its end is missing.
    Quoted(bool),
    /// A keyword, a name or a number.
    Word,
    /// A host parameter: `:name`, `@name`, `$name`, `?` or `?1`.
    Parameter,
    /// The end of a statement.
    Semicolon,
    /// The beginning of a meta command.
    Backslash,
    /// A single character of an operator, or one that SQL does not have.
    Sign,
}

/// A token with its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token<'a> {
    /// Its kind.
    pub kind: Kind,
    /// Its text.
    pub text: &'a str,
    /// Where it begins, in bytes.
    pub start: usize,
}

impl Token<'_> {
    /// Returns whether it is this keyword.
    pub fn is(&self, keyword: &str) -> bool {
        self.kind == Kind::Word && self.text.eq_ignore_ascii_case(keyword)
    }

    /// Returns whether it means anything to SQLite.
    pub fn counts(&self) -> bool {
        !matches!(self.kind, Kind::Space | Kind::Comment)
    }

    /// Returns whether it is a number, or its first digits.
    pub fn is_number(&self) -> bool {
        self.text.starts_with(|c: char| c.is_ascii_digit())
    }

    /// Returns whether it is a text in single quotes.
    pub fn is_text(&self) -> bool {
        self.text.starts_with('\'')
    }

    /// Returns whether it is a number or a text in single quotes.
    pub fn is_literal(&self) -> bool {
        self.is_number() || self.is_text()
    }

    /// Returns the name without quotes, if the token is a name.
    pub fn name(&self) -> Option<String> {
        match self.kind {
            Kind::Word => Some(self.text.to_owned()),
            Kind::Quoted(true) => {
                let quote = &self.text[..1];
                let inner = &self.text[1..self.text.len() - 1];
                Some(inner.replace(&quote.repeat(2), quote))
            }
            _ => None,
        }
    }
}

/// Returns the tokens of a text.
pub fn tokens(text: &str) -> impl Iterator<Item = Token<'_>> {
    let mut start = 0;
    std::iter::from_fn(move || {
        let rest = &text[start..];
        if rest.is_empty() {
            return None;
        }
        let (kind, length) = first(rest.as_bytes());
        let token = Token { kind, text: &rest[..length], start };
        start += length;
        Some(token)
    })
}

/// Returns the tokens of a text that mean anything to SQLite.
pub fn significant(text: &str) -> Vec<Token<'_>> {
    tokens(text).filter(Token::counts).collect()
}

/// Returns the place of the parenthesis that closes the one at this place.
pub fn closing(all: &[Token<'_>], open: usize) -> Option<usize> {
    partner(all, open..all.len())
}

/// Returns the place of the parenthesis that opens the one at this place.
pub fn opening(all: &[Token<'_>], close: usize) -> Option<usize> {
    partner(all, (0..=close).rev())
}

fn partner(all: &[Token<'_>], mut places: impl Iterator<Item = usize>) -> Option<usize> {
    let mut depth = 0;
    places.find(|place| {
        depth += i32::from(all[*place].text == "(") - i32::from(all[*place].text == ")");
        depth == 0
    })
}

/// Returns the text of these tokens without the name of the table before its columns; nothing if they are columns of several tables.
pub fn unqualified(sql: &str, all: &[Token<'_>]) -> Option<String> {
    let (mut text, mut end, mut at) = (String::new(), all.first()?.start, 0);
    let mut qualifier = None;
    while let Some(token) = all.get(at) {
        text += &sql[end..token.start];
        let is_before_dot = all.get(at + 1).is_some_and(|dot| dot.text == ".");
        if let Some(name) = token.name().filter(|_| is_before_dot && !token.is_number()) {
            let name = name.to_lowercase();
            at += 2;
            end = all.get(at)?.start;
            if *qualifier.get_or_insert_with(|| name.clone()) != name {
                return None;
            }
        } else {
            text += token.text;
            end = token.start + token.text.len();
            at += 1;
        }
    }
    Some(text)
}

/// Returns the kind and the length of the first token.
fn first(rest: &[u8]) -> (Kind, usize) {
    match rest[0] {
        b' ' | b'\t' | b'\n' | b'\r' | 0x0c => (Kind::Space, 1),
        b'-' if rest.get(1) == Some(&b'-') => (Kind::Comment, until(rest, b"\n")),
        b'/' if rest.get(1) == Some(&b'*') => (Kind::Comment, 2 + until(&rest[2..], b"*/")),
        b'\'' | b'"' | b'`' => quoted(rest, rest[0]),
        b'[' => quoted(rest, b']'),
        b';' => (Kind::Semicolon, 1),
        b'\\' => (Kind::Backslash, 1),
        b'?' => (Kind::Parameter, 1 + digits(&rest[1..])),
        b':' | b'@' | b'$' if word(&rest[1..]) > 0 => (Kind::Parameter, 1 + word(&rest[1..])),
        byte if is_word(byte) => (Kind::Word, word(rest)),
        _ => (Kind::Sign, 1),
    }
}

/// Returns whether a byte may be in a name or a number, by SQLite's rules.
fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$') || byte >= 0x80
}

fn word(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|byte| is_word(**byte)).count()
}

fn digits(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|byte| byte.is_ascii_digit()).count()
}

/// Returns the length up to the end of `mark`, or of everything without one.
fn until(bytes: &[u8], mark: &[u8]) -> usize {
    let found = bytes.windows(mark.len()).position(|window| window == mark);
    found.map_or(bytes.len(), |position| position + mark.len())
}

/// Returns a quoted text: a doubled quote means one; brackets cannot be doubled.
fn quoted(bytes: &[u8], close: u8) -> (Kind, usize) {
    let mut position = 1;
    while position < bytes.len() {
        if bytes[position] == close {
            if close == b']' || bytes.get(position + 1) != Some(&close) {
                return (Kind::Quoted(true), position + 1);
            }
            position += 1;
        }
        position += 1;
    }
    (Kind::Quoted(false), bytes.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends_at_last_semicolon(text: &str) {
        let last = text.rfind(';').unwrap();
        assert_eq!(statement(text), End::Semicolon(last + 1), "{text}");
    }

    #[test]
    fn semicolons_within_statements_do_not_end_them() {
        for text in [
            "SELECT 1;",
            "  -- a; b\n /* c; d */ SELECT ';', \"e;f\", [g;h], `i;j`; ",
            "SELECT 'it''s; so';",
            "CREATE TRIGGER t AFTER INSERT ON a BEGIN SELECT 1; DELETE FROM b; END;",
            "create temporary trigger t after insert on a begin select case when 1 then 2 end; end;",
            "EXPLAIN QUERY PLAN CREATE TEMP TRIGGER t BEGIN SELECT 1; END;",
            "END;",
            "BEGIN;",
            "CREATE TABLE trigger_log(a);",
        ] {
            ends_at_last_semicolon(text);
        }
    }

    #[test]
    fn what_is_not_ended_says_so() {
        assert_eq!(statement("SELECT 1"), End::Text);
        assert_eq!(statement(" SELECT 'a"), End::OpenQuote(8));
        assert_eq!(statement("SELECT 1 \\gset"), End::Backslash(9));
        assert_eq!(statement("CREATE TRIGGER t BEGIN SELECT 1;"), End::Text);
    }

    #[test]
    fn only_the_name_of_the_table_is_left_out() {
        for (sql, plain) in [
            ("json_extract(t.data, '$.t.x')", Some("json_extract(data, '$.t.x')")),
            ("e . data  ->> '$.name.first'", Some("data  ->> '$.name.first'")),
            ("\"my t\".a + [My T].at * 1.5", Some("a + at * 1.5")),
            ("coalesce(t.a, st.b)", None),
            ("main.t.a", None),
        ] {
            assert_eq!(unqualified(sql, &significant(sql)).as_deref(), plain, "{sql}");
        }
    }

    #[test]
    fn completeness_is_that_of_a_text_to_its_end() {
        assert!(is_complete("SELECT 1; SELECT 2;  -- done"));
        assert!(!is_complete("SELECT 1; SELECT 2"));
        assert!(!is_complete(""));
        assert!(!is_complete("CREATE TRIGGER t BEGIN SELECT 1;"));
    }
}

//! Where a statement ends, by the rules of `sqlite3_complete`: a semicolon, but within `CREATE TRIGGER` only one after
//! `END`. `END` by itself is COMMIT.

use super::token::{Kind, Token, tokens};

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

/// Where the statement at the beginning of a text ends.
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

/// Whether a text ends with a whole statement, as `sqlite3_complete` says.
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
    fn completeness_is_that_of_a_text_to_its_end() {
        assert!(is_complete("SELECT 1; SELECT 2;  -- done"));
        assert!(!is_complete("SELECT 1; SELECT 2"));
        assert!(!is_complete(""));
        assert!(!is_complete("CREATE TRIGGER t BEGIN SELECT 1;"));
    }
}

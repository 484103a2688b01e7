//! The words of SQL as `sqlite_master` keeps it: as it was written, with comments and quotes of every kind.

/// A part of a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token {
    /// A keyword, a name or a number.
    Bare(String),
    /// What stands in quotes, without them.
    Quoted(String),
    /// Any other character.
    Mark(char),
}

impl Token {
    /// Whether it is this keyword.
    pub(super) fn is(&self, keyword: &str) -> bool {
        matches!(self, Token::Bare(word) if word.eq_ignore_ascii_case(keyword))
    }

    /// The name that it is, quoted or not; `None` of a mark.
    pub(super) fn name(&self) -> Option<&str> {
        match self {
            Token::Bare(name) | Token::Quoted(name) => Some(name),
            Token::Mark(_) => None,
        }
    }
}

/// The parts of a statement, without blanks and comments.
pub(super) fn tokens(sql: &str) -> Vec<Token> {
    let (mut tokens, mut rest) = (Vec::new(), sql);
    while let Some(first) = rest.chars().next() {
        rest = match first {
            _ if first.is_whitespace() => &rest[first.len_utf8()..],
            '-' if rest.starts_with("--") => behind(rest, "\n"),
            '/' if rest.starts_with("/*") => behind(&rest[2..], "*/"),
            '\'' | '"' | '`' | '[' => {
                let (name, rest) = quoted(&rest[1..], if first == '[' { ']' } else { first });
                tokens.push(Token::Quoted(name));
                rest
            }
            _ if is_of_word(first) => {
                let end = rest.find(|character| !is_of_word(character));
                let (word, rest) = rest.split_at(end.unwrap_or(rest.len()));
                tokens.push(Token::Bare(word.to_owned()));
                rest
            }
            _ => {
                tokens.push(Token::Mark(first));
                &rest[first.len_utf8()..]
            }
        };
    }
    tokens
}

fn is_of_word(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '_' | '$') || !character.is_ascii()
}

/// What follows an end; nothing where there is none.
fn behind<'t>(text: &'t str, end: &str) -> &'t str {
    text.split_once(end).map_or("", |(_, rest)| rest)
}

/// A text up to its quote, and what follows. A quote is doubled to be part of the text, except a bracket.
fn quoted(text: &str, quote: char) -> (String, &str) {
    let mut name = String::new();
    let mut rest = text;
    loop {
        let Some((part, more)) = rest.split_once(quote) else {
            return (name + rest, "");
        };
        name += part;
        rest = match more.strip_prefix(quote) {
            Some(more) if quote != ']' => more,
            _ => return (name, more),
        };
        name.push(quote);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_without_quotes_and_comments_are_left_out() {
        let bare = |word: &str| Token::Bare(word.to_owned());
        let quoted = |word: &str| Token::Quoted(word.to_owned());
        for (sql, expected) in [
            ("a\t-- 'b\nc/* \"d */e1", vec![bare("a"), bare("c"), bare("e1")]),
            (
                "'it''s'=\"a\"\"b\",[x]]`y`",
                vec![
                    quoted("it's"),
                    Token::Mark('='),
                    quoted("a\"b"),
                    Token::Mark(','),
                    quoted("x"),
                    Token::Mark(']'),
                    quoted("y"),
                ],
            ),
            ("-é_$/'open", vec![Token::Mark('-'), bare("é_$"), Token::Mark('/'), quoted("open")]),
            ("--x", vec![]),
            ("/* x", vec![]),
        ] {
            assert_eq!(tokens(sql), expected, "{sql}");
        }
    }
}

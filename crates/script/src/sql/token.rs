//! The tokens of SQL (<https://sqlite.org/lang.html>), as far as their ends must be known.

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Space,
    Comment,
    /// A string, or a name in quotes; `false` where its end is missing.
    Quoted(bool),
    /// A keyword, a name or a number.
    Word,
    /// A host parameter: `:name`, `@name`, `$name`, `?` or `?1`.
    Parameter,
    Semicolon,
    Backslash,
    /// A single character of an operator, or one that SQL does not have.
    Sign,
}

/// A token with its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token<'a> {
    pub(crate) kind: Kind,
    pub(crate) text: &'a str,
    /// Where it begins, in bytes.
    pub(crate) start: usize,
}

impl Token<'_> {
    /// Whether it is this keyword.
    pub(crate) fn is(&self, keyword: &str) -> bool {
        self.kind == Kind::Word && self.text.eq_ignore_ascii_case(keyword)
    }

    /// Whether it means anything to SQLite.
    pub(crate) fn counts(&self) -> bool {
        !matches!(self.kind, Kind::Space | Kind::Comment)
    }

    /// Returns the name without quotes, if the token is a name.
    pub(crate) fn name(&self) -> Option<String> {
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

/// The tokens of a text.
pub(crate) fn tokens(text: &str) -> impl Iterator<Item = Token<'_>> {
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

/// The kind and the length of the first token.
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

/// Whether a byte may be in a name or a number, by SQLite's rules.
fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$') || byte >= 0x80
}

fn word(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|byte| is_word(**byte)).count()
}

fn digits(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|byte| byte.is_ascii_digit()).count()
}

/// The length up to the end of `mark`, or of all where there is none.
fn until(bytes: &[u8], mark: &[u8]) -> usize {
    let found = bytes.windows(mark.len()).position(|window| window == mark);
    found.map_or(bytes.len(), |position| position + mark.len())
}

/// A quoted text: a doubled quote stands for one; brackets have no such form.
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

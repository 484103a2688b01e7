//! The words, numbers and signs of an expression.

use crate::error::Mistake;

/// A part of an expression.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token<'a> {
    /// A whole number without a sign.
    Whole(u64),
    /// A number with a fraction or an exponent.
    Number(f64),
    /// A variable, without its colon.
    Variable(&'a str),
    /// A keyword or the name of a function.
    Word(&'a str),
    /// An operator, a bracket or a comma.
    Sign(&'static str),
}

/// The signs, longer ones first.
const SIGNS: [&str; 21] = [
    "<>", "!=", "<=", ">=", "<<", ">>", "+", "-", "*", "/", "%", "<", ">", "=", "&", "|", "#", "~",
    "(", ")", ",",
];

/// Whether a byte may be in a name; all beyond ASCII may.
pub(crate) fn is_in_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

/// The parts of an expression, in their order.
pub(super) fn tokens(text: &str) -> Result<Vec<Token<'_>>, Mistake> {
    let mut rest = text.trim_start();
    let mut tokens = Vec::new();
    while !rest.is_empty() {
        let (token, length) = token(rest)?;
        tokens.push(token);
        rest = rest[length..].trim_start();
    }
    Ok(tokens)
}

fn token(rest: &str) -> Result<(Token<'_>, usize), Mistake> {
    let bytes = rest.as_bytes();
    if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
        return Ok((Token::Sign(sign), sign.len()));
    }
    if bytes[0].is_ascii_digit() || (bytes[0] == b'.' && digits(&bytes[1..]) > 0) {
        return number(rest);
    }
    let name = |bytes: &[u8]| bytes.iter().take_while(|byte| is_in_name(**byte)).count();
    match bytes[0] {
        b':' if name(&bytes[1..]) > 0 => {
            let length = 1 + name(&bytes[1..]);
            Ok((Token::Variable(&rest[1..length]), length))
        }
        byte if is_in_name(byte) => {
            let length = name(bytes);
            Ok((Token::Word(&rest[..length]), length))
        }
        _ => {
            let found = rest.chars().next().unwrap_or_default();
            Err(Mistake::new(format!("unexpected character `{found}`")))
        }
    }
}

fn digits(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|byte| byte.is_ascii_digit()).count()
}

fn number(rest: &str) -> Result<(Token<'_>, usize), Mistake> {
    let bytes = rest.as_bytes();
    let whole = digits(bytes);
    let mut length = whole;
    if bytes.get(length) == Some(&b'.') {
        length += 1 + digits(&bytes[length + 1..]);
    }
    length += exponent(&bytes[length..]);
    let text = &rest[..length];
    let out_of_range = || Mistake::new(format!("the number {text} is out of range"));
    let token = if length == whole {
        Token::Whole(text.parse().map_err(|_| out_of_range())?)
    } else {
        let number: f64 = text.parse().map_err(|_| out_of_range())?;
        Token::Number(Some(number).filter(|number| number.is_finite()).ok_or_else(out_of_range)?)
    };
    Ok((token, length))
}

/// The length of an exponent, 0 where there is none.
fn exponent(bytes: &[u8]) -> usize {
    if !matches!(bytes.first(), Some(b'e' | b'E')) {
        return 0;
    }
    let sign = usize::from(matches!(bytes.get(1), Some(b'+' | b'-')));
    match digits(&bytes[1 + sign..]) {
        0 => 0,
        digits => 1 + sign + digits,
    }
}

//! Tokens of a statement.

use script::Token;

/// Returns the place of the parenthesis that closes the one at this place.
pub(crate) fn closing(all: &[Token<'_>], open: usize) -> Option<usize> {
    let mut depth = 0;
    (open..all.len()).find(|place| {
        depth += match all[*place].text {
            "(" => 1,
            ")" => -1,
            _ => 0,
        };
        depth == 0
    })
}

/// Returns the place of the parenthesis that opens the one at this place.
pub(crate) fn opening(all: &[Token<'_>], close: usize) -> Option<usize> {
    (0..close).rev().find(|place| all[*place].text == "(" && closing(all, *place) == Some(close))
}

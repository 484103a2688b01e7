//! Text from files as Markdown: nothing in it is taken for markup.

use crate::document::{Piece, Sentence, Term};

/// A sentence with its names as code and its figures in bold. Terms have a mark for their footnote where
/// `note` gives one.
pub(super) fn dressed(sentence: &Sentence, mut note: impl FnMut(&'static Term) -> bool) -> String {
    let dress = |piece: &Piece| match piece {
        Piece::Words(words) | Piece::Number(words) => escaped(words),
        Piece::Code(name) => code(name),
        Piece::Figure(figure) => format!("**{}**", escaped(figure)),
        Piece::Link { text, .. } => format!("*{}*", escaped(text)),
        Piece::Term(term) if note(term) => format!("{}[^{}]", escaped(term.word), term.anchor),
        Piece::Term(term) => escaped(term.word),
    };
    sentence.0.iter().map(dress).collect()
}

/// Text in which nothing is taken for markup, and which stays in its cell.
pub(super) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '<' => safe.push_str("&lt;"),
            '&' => safe.push_str("&amp;"),
            '\n' | '\r' => safe.push(' '),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '~' => {
                safe.push('\\');
                safe.push(character);
            }
            other => safe.push(other),
        }
    }
    safe
}

/// A code span that holds any text; bars are escaped because cells end at them even in code.
pub(super) fn code(text: &str) -> String {
    let text = text.replace(['\n', '\r'], " ").replace('|', "\\|");
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    let space = if longest > 0 { " " } else { "" };
    format!("{fence}{space}{text}{space}{fence}")
}

/// A text in a fence that names its language and that nothing in the text can close.
pub(super) fn fenced_as(language: &str, text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!(
        "{fence}{language}\n{}\n{fence}",
        text.trim_end_matches('\n')
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_from_files_cannot_become_markup() {
        assert_eq!(escaped("a|b <i>*x*</i>"), "a\\|b &lt;i>\\*x\\*&lt;/i>");
        assert_eq!(code("a`b"), "`` a`b ``");
        assert_eq!(code("a|b"), "`a\\|b`");
    }

    #[test]
    fn a_fence_is_longer_than_any_within() {
        assert_eq!(fenced_as("text", "a"), "```text\na\n```");
        assert!(fenced_as("text", "````").starts_with("`````text\n"));
    }
}

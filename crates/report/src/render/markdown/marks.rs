//! Text from files as Markdown: nothing in it is taken for markup.

use lab::text::{lines, one_line};

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
    sentence.0.iter().map(dress).fold(String::new(), joined)
}

/// Two pieces one after the other; backticks that meet would be one longer fence.
fn joined(before: String, piece: String) -> String {
    let between = if before.ends_with('`') && piece.starts_with('`') { "<!-- -->" } else { "" };
    before + between + &piece
}

/// Text in which nothing is taken for markup, and which stays in its cell.
pub(super) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in one_line(text).chars() {
        match character {
            '<' => safe.push_str("&lt;"),
            '&' => safe.push_str("&amp;"),
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
    if text.is_empty() {
        return String::new();
    }
    let text = one_line(text).replace('|', "\\|");
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    let space = if longest > 0 { " " } else { "" };
    format!("{fence}{space}{text}{space}{fence}")
}

/// A paragraph whose first characters are not taken for the mark of a list, a quote or a rule.
pub(super) fn unmarked(text: String) -> String {
    let digits = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let at = text.len() - digits.len();
    let is_number = at > 0 && digits.starts_with(['.', ')']);
    if is_number || text.starts_with(['>', '-', '+', '=']) {
        format!("{}\\{digits}", &text[..at])
    } else {
        text
    }
}

/// A text in a fence that names its language and that nothing in the text can close.
pub(super) fn fenced_as(language: &str, text: &str) -> String {
    let text = lines(text);
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}{language}\n{}\n{fence}", text.trim_end_matches('\n'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_from_files_cannot_become_markup() {
        assert_eq!(escaped("a|b <i>*x*</i>"), "a\\|b &lt;i>\\*x\\*&lt;/i>");
        assert_eq!(code("a`b"), "`` a`b ``");
        assert_eq!(code("a|b"), "`a\\|b`");
        assert_eq!(escaped("a\r\n# b\u{1b}"), "a \\# b\u{fffd}");
    }

    #[test]
    fn a_paragraph_begins_with_no_mark() {
        let marked = ["1. a", "2) a", "> a", "- a", "+ a", "=== a"];
        let expected = ["1\\. a", "2\\) a", "\\> a", "\\- a", "\\+ a", "\\=== a"];
        assert_eq!(marked.map(|text| unmarked(text.to_owned())), expected);
        assert_eq!(unmarked("10 a".to_owned()), "10 a");
    }

    #[test]
    fn code_next_to_code_stays_apart() {
        let sentence = Sentence::code("a").and_code("").and_code("b`<i>");
        assert_eq!(dressed(&sentence, |_| false), "`a`<!-- -->`` b`<i> ``");
    }

    #[test]
    fn a_fence_is_longer_than_any_within() {
        assert_eq!(fenced_as("text", "a"), "```text\na\n```");
        assert!(fenced_as("text", "````").starts_with("`````text\n"));
    }
}

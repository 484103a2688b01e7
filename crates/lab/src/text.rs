//! Text from files, made fit to be displayed: a name or a question is data wherever it is printed.
//!
//! A control character moves a cursor, colours a terminal or begins a line of its own; a bidirectional
//! override reverses what follows it, so that a reader sees other text than a program does
//! (<https://trojansource.codes>). Both are replaced by U+FFFD, and line breaks by spaces.

use std::borrow::Cow;

use serde::Serialize;

/// Returns the text that is displayed for an active character.
const REPLACED: char = char::REPLACEMENT_CHARACTER;

/// Returns whether a program that displays this character does something else than to draw it: a control
/// character, a line separator, a bidirectional override or isolate, or a character of a range that
/// is never drawn.
pub fn is_active(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{2028}'..='\u{202e}'
                | '\u{2066}'..='\u{2069}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

/// Returns the name of a variant that has one in records, such as a purpose or a role.
pub fn word(named: impl Serialize) -> String {
    let name = serde_json::to_value(named).ok();
    name.and_then(|name| name.as_str().map(str::to_owned)).unwrap_or_default()
}

/// Returns the text in one line without active characters.
pub fn one_line(text: &str) -> Cow<'_, str> {
    with_breaks(text, |_| ' ')
}

/// Returns the text without active characters other than line feeds and tabs.
pub fn lines(text: &str) -> Cow<'_, str> {
    let kept = |character| match character {
        '\n' | '\t' => character,
        _ => ' ',
    };
    with_breaks(text, kept)
}

/// Returns the text with every active character replaced, and what separates words or lines as `breaks` wants it.
fn with_breaks(text: &str, breaks: impl Fn(char) -> char) -> Cow<'_, str> {
    if !text.contains(is_active) {
        return Cow::Borrowed(text);
    }
    let drawn = |character: char| match character {
        '\t'..='\r' | '\u{85}' | '\u{2028}' | '\u{2029}' => breaks(character),
        character if is_active(character) => REPLACED,
        character => character,
    };
    Cow::Owned(text.replace("\r\n", "\n").chars().map(drawn).collect())
}

/// Returns a decimal number with its thousands set apart: `12,345.6`.
pub fn grouped(number: &str) -> String {
    let (whole, fraction) = number.split_once('.').map_or((number, None), |(w, f)| (w, Some(f)));
    let (sign, digits) = whole.strip_prefix('-').map_or(("", whole), |digits| ("-", digits));
    let mut text = String::from(sign);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if let Some(fraction) = fraction {
        text.push('.');
        text.push_str(fraction);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn active_characters_are_replaced_and_line_breaks_are_spaces() {
        let hostile = "a\r\nb\u{1b}[31m\0\u{9b}2J\u{202e}c\u{2028}d\u{7f}\te";
        let expected = "a b\u{fffd}[31m\u{fffd}\u{fffd}2J\u{fffd}c d\u{fffd} e";
        assert_eq!(one_line(hostile), expected);
        assert_eq!(lines("a\r\nb\rc\td\u{1b}"), "a\nb c\td\u{fffd}");
    }

    #[test]
    fn text_of_any_script_stays_as_it_is() {
        for text in ["5 % – ±0.3 ×2", "שלום", "数据库", "naïve", "👩‍💻", ""] {
            assert!(matches!(one_line(text), Cow::Borrowed(same) if same == text));
        }
    }

    #[test]
    fn nothing_active_is_left_of_any_character() {
        for character in '\0'..=char::MAX {
            let text = character.to_string();
            assert!(!one_line(&text).contains(is_active), "{text:?}");
            let left = lines(&text);
            assert!(!left.replace(['\n', '\t'], "").contains(is_active), "{text:?}");
        }
    }

    #[test]
    fn numbers_are_grouped_by_thousands() {
        let numbers = ["0", "999", "1,000", "1,234,567", "-1,000", "12,345.67", "-0.25"];
        for text in numbers {
            assert_eq!(grouped(&text.replace(',', "")), text);
        }
    }
}

//! Comments in the text to paste. They carry questions and names out of files, which must stay comments in
//! every language.

use lab::text::one_line;

/// What a compiler, an interpreter or a template engine acts on even within a comment, and what is
/// written instead:
///
/// - Java reads `\u000a` as a line break, C joins a line that ends in `\` or `??/` with the next one;
/// - Rails evaluates `<%= … %>` in `database.yml`;
/// - Python takes `coding: NAME` in one of the first two lines for the encoding of the file, and some
///   encodings turn other characters into line breaks.
const ACTED_ON: [(&str, &str); 5] =
    [("\\", "/"), ("??/", "?? /"), ("<%", "< %"), ("coding:", "coding :"), ("coding=", "coding =")];

/// One line of comment behind `mark`, with its line feed; nothing in the text ends it or is acted on.
pub fn comment(mark: &str, text: &str) -> String {
    let text = one_line(text).into_owned();
    let replaced =
        |text: String, (acted_on, written): &(&str, &str)| text.replace(acted_on, written);
    let text = ACTED_ON.iter().fold(text, replaced);
    format!("{mark} {}\n", text.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_is_one_line_of_which_nothing_is_acted_on() {
        for (text, written) in [
            ("a\nimport os\r\nb\u{2028}c\u{c}d", "# a import os b c d\n"),
            (r"x \u000a evil(); \", "# x /u000a evil(); /\n"),
            (r"trigraph ??\", "# trigraph ?? /\n"),
            ("<%= `id` %>", "# < %= `id` %>\n"),
            ("coding: utf_7 +AAo-", "# coding : utf_7 +AAo-\n"),
            ("coding=unicode_escape", "# coding =unicode_escape\n"),
            ("cod\u{1b}ing", "# cod\u{fffd}ing\n"),
        ] {
            assert_eq!(comment("#", text), written);
        }
    }
}

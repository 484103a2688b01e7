//! Lines of text broken to the width of the window.

use lab::text::one_line;

use super::Style;
use crate::document::{Piece, Sentence, Term, Tone};

/// Narrower windows are treated as this wide: below it tables cannot be laid out.
const NARROWEST: usize = 40;
/// Wider lines are hard to read, however wide the window.
const WIDEST: usize = 110;

/// Colour of a piece of text: one of the sixteen that every theme sets for its own background.
#[derive(Clone, Copy, Debug)]
pub(super) enum Paint {
    /// As it comes.
    Plain,
    /// Headings and numbers.
    Strong,
    /// Small print.
    Dim,
    /// The meaning of a sign.
    Tone(Tone),
}

impl Paint {
    /// The text between the codes that colour it.
    pub(super) fn on(self, text: &str, colour: bool) -> String {
        match self.code().filter(|_| colour) {
            Some(code) => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
            None => text.to_owned(),
        }
    }

    fn code(self) -> Option<&'static str> {
        match self {
            Paint::Plain => None,
            Paint::Strong => Some("1"),
            Paint::Dim => Some("2"),
            Paint::Tone(Tone::Good) => Some("32"),
            Paint::Tone(Tone::Bad) => Some("31"),
            Paint::Tone(Tone::Doubt) => Some("33"),
            Paint::Tone(Tone::Neutral) => Some("2"),
            Paint::Tone(_) => None,
        }
    }
}

/// Text that grows line by line.
pub(super) struct Text {
    out: String,
    /// The width to which lines are broken.
    pub(super) width: usize,
    colour: bool,
    terms: Vec<&'static Term>,
    /// Whether the last thing was a table.
    after_table: bool,
    /// Whether the last thing was the caption of a table.
    after_caption: bool,
}

impl Text {
    /// Nothing yet.
    pub(super) fn new(style: Style) -> Text {
        Text {
            out: String::new(),
            width: style.width.clamp(NARROWEST, WIDEST),
            colour: style.colour,
            terms: Vec::new(),
            after_table: false,
            after_caption: false,
        }
    }

    /// A sentence without any dress; its terms are explained at the end.
    pub(super) fn flat(&mut self, sentence: &Sentence) -> String {
        self.note_terms(sentence);
        sentence.plain()
    }

    /// Notes the terms of a sentence, to be explained at the end.
    pub(super) fn note_terms(&mut self, sentence: &Sentence) {
        for piece in &sentence.0 {
            match piece {
                Piece::Term(term) if !self.terms.contains(term) => self.terms.push(term),
                _ => {}
            }
        }
    }

    /// Explains the terms that were used.
    pub(super) fn explain_terms(&mut self) {
        if self.terms.is_empty() {
            return;
        }
        self.gap();
        self.rule();
        for term in std::mem::take(&mut self.terms) {
            self.item(Paint::Dim, "·", &format!("{}: {}", term.word, term.meaning));
        }
    }

    /// An empty line, unless the last one is.
    pub(super) fn gap(&mut self) {
        if !self.out.is_empty() && !self.out.ends_with("\n\n") {
            self.out.push('\n');
        }
    }

    /// An empty line where the last thing was a table.
    pub(super) fn gap_after_table(&mut self) {
        if self.after_table {
            self.gap();
        }
    }

    /// The caption of a table that follows.
    pub(super) fn caption(&mut self, text: &str) {
        self.gap();
        self.line(Paint::Dim, text);
        self.after_caption = true;
    }

    /// A line across the window.
    pub(super) fn rule(&mut self) {
        let rule = "─".repeat(self.width);
        self.push(Paint::Dim, "", &rule);
    }

    /// A heading.
    pub(super) fn heading(&mut self, text: &str) {
        self.line(Paint::Strong, text);
    }

    /// A paragraph.
    pub(super) fn line(&mut self, paint: Paint, text: &str) {
        for line in wrap(text, self.width) {
            self.push(paint, "", &line);
        }
    }

    /// A paragraph behind a mark; its further lines stand under the first. Only the mark and the
    /// first word are coloured, so that colour stays an accent.
    pub(super) fn item(&mut self, paint: Paint, mark: &str, text: &str) {
        self.after_table = false;
        let indent = mark.chars().count() + 1;
        for (index, line) in wrap(text, self.width - indent).into_iter().enumerate() {
            if index == 0 {
                let mark = paint.on(mark, self.colour);
                self.out.push_str(&format!("{mark} {line}\n"));
            } else {
                self.push(Paint::Plain, &" ".repeat(indent), &line);
            }
        }
    }

    /// A paragraph that belongs to the item above it.
    pub(super) fn under(&mut self, paint: Paint, text: &str) {
        const INDENT: &str = "  ";
        for line in wrap(text, self.width - INDENT.len()) {
            self.push(paint, INDENT, &line);
        }
    }

    /// SQL to paste. Lines are broken between tokens, so that it stays the same to SQLite.
    pub(super) fn sql(&mut self, code: &str) {
        const INDENT: &str = "  ";
        let mut quote = None;
        for line in code.lines() {
            // The rest of a text that goes over several lines has none.
            let indent = if quote.is_none() { INDENT } else { "" };
            for line in broken(&one_line(line), self.width - INDENT.len(), &mut quote) {
                self.push(Paint::Plain, indent, line);
            }
        }
    }

    /// Code to paste, whose lines and indentation stay as they are, however narrow the terminal.
    pub(super) fn code(&mut self, code: &str) {
        for line in code.lines() {
            self.push(Paint::Plain, "  ", one_line(line).trim_end());
        }
    }

    /// Lines that are laid out already.
    pub(super) fn block(&mut self, block: &str) {
        if !self.after_caption {
            self.gap();
        }
        for line in block.lines() {
            self.push(Paint::Plain, "", one_line(line).trim_end());
        }
        self.after_table = true;
    }

    /// The text.
    pub(super) fn finish(self) -> String {
        self.out
    }

    fn push(&mut self, paint: Paint, indent: &str, line: &str) {
        self.after_table = false;
        self.after_caption = false;
        let line = paint.on(line, self.colour);
        self.out.push_str(indent);
        self.out.push_str(&line);
        self.out.push('\n');
    }
}

/// The text in lines of at most `width` characters, broken at spaces; a longer word is broken
/// where it must be. All text except tables passes here, so nothing active gets through.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut filled = 0;
    // A number stays with its sign.
    let text = one_line(text).replace(" %", "\u{a0}%");
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let length = word.chars().count();
        if filled > 0 && filled + 1 + length > width {
            lines.push(String::new());
            filled = 0;
        }
        if filled > 0 {
            last(&mut lines).push(' ');
            filled += 1;
        }
        for character in word.chars() {
            if filled == width {
                lines.push(String::new());
                filled = 0;
            }
            last(&mut lines).push(if character == '\u{a0}' { ' ' } else { character });
            filled += 1;
        }
    }
    lines
}

/// A line of SQL in lines of at most `width` characters where spaces and commas outside of quotes and comments allow it. `quote` ends the
/// text that the line begins in, and then the one that it ends in.
fn broken<'s>(sql: &'s str, width: usize, quote: &mut Option<char>) -> Vec<&'s str> {
    let (mut lines, mut start, mut end) = (Vec::new(), 0, 0);
    for (place, character) in sql.char_indices() {
        match (*quote, character) {
            (Some(close), _) => *quote = quote.filter(|_| character != close),
            (None, '\'' | '"' | '`') => *quote = Some(character),
            (None, '[') => *quote = Some(']'),
            (None, '-') if sql[place..].starts_with("--") => break,
            (None, ' ' | ',') => {
                let next = place + usize::from(character == ',');
                if end > start && sql[start..next].chars().count() > width {
                    lines.push(sql[start..end].trim_end());
                    start = end + sql[end..].len() - sql[end..].trim_start().len();
                }
                end = next;
            }
            _ => {}
        }
    }
    if end > start && sql[start..].chars().count() > width {
        lines.push(sql[start..end].trim_end());
        start = end + sql[end..].len() - sql[end..].trim_start().len();
    }
    lines.push(&sql[start..]);
    lines
}

fn last(lines: &mut [String]) -> &mut String {
    lines.last_mut().expect("there is always a line")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_broken_at_spaces_and_long_words_where_they_must_be() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("a verylongword b", 6), ["a", "verylo", "ngword", "b"]);
        assert_eq!(wrap("", 7), [""]);
        assert_eq!(wrap("about 5 %", 8), ["about", "5 %"]);
    }

    #[test]
    fn sql_is_broken_between_tokens_only() {
        let sql = "SELECT a FROM t WHERE b = 'needs  manual review' AND c IN (1,22,333,4444) -- for all of it";
        for width in 5..100 {
            let lines = broken(sql, width, &mut None);
            let alike = |text: &str| text.replace(' ', "");
            assert_eq!(alike(&lines.concat()), alike(sql), "{width}");
            assert!(lines.iter().any(|line| line.contains("'needs  manual review'")), "{width}");
            assert!(lines.last().unwrap().ends_with("-- for all of it"), "{width}");
        }
        assert_eq!(broken("SELECT a, b FROM t", 12, &mut None), ["SELECT a, b", "FROM t"]);
        assert_eq!(broken("(1,22,333)", 6, &mut None), ["(1,22,", "333)"]);
        assert_eq!(broken("", 6, &mut None), [""]);
        let mut text = Text::new(Style { width: 20, colour: false });
        text.sql("INSERT INTO t\n  VALUES ('one two\n  three four  ',\n  'a long text to keep');");
        let kept = "  INSERT INTO t\n    VALUES ('one two\n  three four  ',\n    'a long text to keep');\n";
        assert_eq!(text.finish(), kept);
    }

    #[test]
    fn code_to_paste_keeps_its_lines_and_indentation() {
        let mut text = Text::new(Style { width: 20, colour: false });
        text.code("def set_up(connection):\n    connection.execute(\"PRAGMA temp_store\")\n");
        assert_eq!(
            text.finish(),
            "  def set_up(connection):\n      connection.execute(\"PRAGMA temp_store\")\n"
        );
    }

    #[test]
    fn further_lines_of_an_item_stand_under_its_first() {
        let mut text = Text::new(Style { width: 40, colour: false });
        text.item(Paint::Plain, "1.", "word word word word word word word word word");
        assert_eq!(text.finish(), "1. word word word word word word word\n   word word\n");
    }
}

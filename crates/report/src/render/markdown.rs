//! A document as Markdown (GitHub flavour: it needs tables and footnotes), for an issue, a wiki or a diff.

use lab::text::{lines, one_line};

use super::rows::{of_map, with_text};
use crate::document::{
    Bars, Block, Cell, Chart, Code, Column, Count, Document, Item, Kind, List, Piece, Plot, Role,
    Row, Section, Sentence, Table, Term,
};

/// The whole document.
pub fn markdown(document: &Document) -> String {
    let mut text = Markdown::default();
    let on = document.on.as_ref().map(|on| format!(" on {}", escaped(on)));
    let title = escaped(&document.title);
    text.part(format!("# {title}{}", on.unwrap_or_default()));
    let about: Vec<String> = document.about.iter().map(|about| text.dressed(about)).collect();
    if !about.is_empty() {
        text.part(about.join("  \n"));
    }
    text.blocks(&document.head);
    for section in document.sections.iter().filter(|section| section.kind != Kind::Glossary) {
        text.section(section);
    }
    let notes = std::mem::take(&mut text.terms).into_iter();
    let notes = notes.map(|term| format!("[^{}]: {}", term.anchor, escaped(term.meaning)));
    let notes: Vec<String> = notes.collect();
    if !notes.is_empty() {
        text.part(notes.join("\n"));
    }
    text.parts.join("\n\n") + "\n"
}

/// Text that grows part by part, with an empty line between parts.
#[derive(Default)]
struct Markdown {
    parts: Vec<String>,
    terms: Vec<&'static Term>,
}

impl Markdown {
    fn part(&mut self, part: String) {
        self.parts.push(part);
    }

    /// A sentence; a term has a footnote where it is first used.
    fn dressed(&mut self, sentence: &Sentence) -> String {
        let terms = &mut self.terms;
        with_terms(sentence, |term| {
            let is_new = !terms.contains(&term);
            if is_new {
                terms.push(term);
            }
            is_new
        })
    }

    fn section(&mut self, section: &Section) {
        let qualifier = section.qualifier.as_ref();
        let qualifier =
            qualifier.map_or(String::new(), |qualifier| format!(" · {}", escaped(qualifier)));
        let title = self.dressed(&section.title);
        match section.kind {
            Kind::Folded => self
                .part(format!("<details><summary>{}</summary>", escaped(&section.title.plain()))),
            _ => self.part(format!("## {title}{qualifier}")),
        }
        if !section.eyebrow.is_empty() {
            let eyebrow = self.dressed(&section.eyebrow);
            self.part(eyebrow);
        }
        self.blocks(&section.blocks);
        if section.kind == Kind::Folded {
            self.part("</details>".to_owned());
        }
    }

    fn blocks(&mut self, blocks: &[Block]) {
        blocks.iter().for_each(|block| self.block(block));
    }

    fn block(&mut self, block: &Block) {
        match block {
            Block::Heading(heading) => self.part(format!("**{}**", escaped(heading))),
            Block::Paragraph(sentence, role) => self.paragraph(sentence, *role),
            Block::List(list) => self.list(list),
            Block::Facts(facts) => self.facts(facts),
            Block::Entries(entries) => {
                let entries: Vec<String> =
                    entries.iter().map(|entry| self.dressed(entry)).collect();
                self.part(entries.join(", "));
            }
            Block::Tally(title, counts) => self.tally(title, counts),
            Block::Table(it) => self.table(it),
            Block::Chart(chart) => self.chart(chart),
            Block::Code(Code { language, text }) => self.part(fenced_as(language, text)),
            Block::Fold(fold) => {
                let title = escaped(&fold.title);
                self.part(format!("<details><summary>{title}</summary>"));
                self.blocks(&fold.blocks);
                self.part("</details>".to_owned());
            }
            Block::Depth { full, .. } => self.blocks(full),
        }
    }

    fn paragraph(&mut self, sentence: &Sentence, role: Role) {
        let text = unmarked(self.dressed(sentence));
        self.part(match role {
            Role::Answer | Role::Body => text,
            Role::Small => format!("<sub>{text}</sub>"),
            Role::Quote => format!("> {text}"),
        });
    }

    fn facts(&mut self, facts: &[(Sentence, Sentence)]) {
        let mut fact = |(name, value): &(Sentence, Sentence)| {
            format!("- {}: {}", self.dressed(name), self.dressed(value))
        };
        let facts: Vec<String> = facts.iter().map(&mut fact).collect();
        self.part(facts.join("\n"));
    }

    fn list(&mut self, list: &List) {
        let mark = if list.numbered { "1." } else { "-" };
        let items = list.items.iter();
        let items: Vec<String> = items.map(|item| format!("{mark} {}", self.item(item))).collect();
        self.part(items.join("\n"));
    }

    fn item(&mut self, item: &Item) -> String {
        let mut line = unmarked(self.dressed(&item.text));
        if let Some((figure, interval)) = &item.lead {
            line.push_str(&format!(" {} {}", escaped(figure), escaped(interval)));
        }
        line = match (&item.badge, item.sign) {
            (None, Some("!")) => format!("**Warning:** {line}"),
            (None, Some(sign)) => format!("{sign} {line}"),
            (None, None) => line,
            (Some(badge), None) => format!("{line} *({})*", escaped(badge)),
            (Some(badge), Some(_)) => format!("**{}:** {line}", escaped(badge)),
        };
        for below in &item.below {
            line.push_str(&format!("<br>{}", self.dressed(below)));
        }
        line
    }

    fn tally(&mut self, title: &str, counts: &[Count]) {
        self.part(format!("{}: {}", escaped(title), escaped(&Count::line(counts))));
    }

    fn chart(&mut self, chart: &Chart) {
        let remark = chart.remark.as_ref();
        let remark = remark.map_or(String::new(), |remark| format!(" ({})", escaped(remark)));
        let caption = self.dressed(&chart.caption);
        match (&chart.plot, &chart.figures) {
            (Plot::Bars(it), _) => self.bars(&caption, it),
            (Plot::Map(map), _) => {
                self.part(format!("{caption}{remark}:"));
                self.table(&of_map(map));
                let reasons = map.reasons.iter().enumerate();
                let reasons = reasons.map(|(index, it)| format!("({}) {}", index + 1, escaped(it)));
                let reasons: Vec<String> = reasons.collect();
                if !reasons.is_empty() {
                    self.part(reasons.join("; "));
                }
            }
            (_, Some(figures)) => {
                self.part(format!("{caption}:"));
                self.table(figures);
            }
            (_, None) => {}
        }
        let notes: Vec<String> =
            chart.notes.iter().map(|note| format!("- {}", self.dressed(note))).collect();
        if !notes.is_empty() {
            self.part(notes.join("\n"));
        }
    }

    fn bars(&mut self, caption: &str, bars: &Bars) {
        let bars = bars.bars.iter();
        let bars = bars.map(|bar| format!("{} {}", escaped(&bar.text), self.dressed(&bar.name)));
        let bars: Vec<String> = bars.collect();
        self.part(format!("{caption}: {}.", bars.join(", ")));
    }
}

/// Spaces between the columns of a table of data.
const GAP: usize = 2;

impl Markdown {
    /// Adds a table; one of data stands in a fence with its columns one below the other.
    fn table(&mut self, table: &Table) {
        if table.data {
            return self.part(fenced_as("text", &aligned(table)));
        }
        let columns = with_text(table);
        let headings: Vec<String> =
            columns.iter().map(|column| self.heading(&table.columns[*column])).collect();
        let rule =
            columns.iter().map(|column| if table.columns[*column].right { "--:" } else { "---" });
        let rule: Vec<&str> = rule.collect();
        let mut lines =
            vec![format!("| {} |", headings.join(" | ")), format!("|{}|", rule.join("|"))];
        let rows = table.rows.iter().chain(&table.foot);
        lines.extend(rows.map(|row| self.row(row, &columns)));
        self.part(lines.join("\n"));
    }

    fn heading(&mut self, column: &Column) -> String {
        let heading = self.dressed(&column.heading);
        match &column.below {
            Some(below) => format!("{heading} {}", escaped(below)),
            None => heading,
        }
    }

    fn row(&mut self, row: &Row, columns: &[usize]) -> String {
        let cells = columns.iter().map(|column| row.cells.get(*column));
        let cells = cells.map(|one| one.map_or(String::new(), |cell| self.cell(cell)));
        format!("| {} |", cells.collect::<Vec<_>>().join(" | "))
    }

    fn cell(&mut self, cell: &Cell) -> String {
        let text = self.dressed(&cell.text);
        let text = if cell.strong && !text.is_empty() { format!("**{text}**") } else { text };
        let sign = cell.sign.map_or(String::new(), |sign| format!("{sign} "));
        let below = cell.below.iter().map(|below| format!("<br>{}", self.dressed(below)));
        let below: String = below.collect();
        format!("{sign}{text}{below}").trim_end().to_owned()
    }
}

fn aligned(table: &Table) -> String {
    let headings = table.columns.iter().map(|column| column.heading.plain()).collect();
    let cells = |row: &Row| row.cells.iter().map(|cell| cell.text.plain()).collect();
    let rows = table.rows.iter().map(cells);
    let lines: Vec<Vec<String>> = [headings].into_iter().chain(rows).collect();
    let width = |column: usize| {
        let cells = lines.iter().filter_map(|line| line.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0) + GAP
    };
    let widths: Vec<usize> = (0..table.columns.len()).map(width).collect();
    let line = |cells: &Vec<String>| {
        let cells = cells.iter().zip(widths.iter().chain(std::iter::repeat(&GAP)));
        let cells = cells.map(|(cell, width)| format!("{:width$}", one_line(cell)));
        cells.collect::<String>().trim_end().to_owned()
    };
    lines.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// A sentence with its names as code and its figures in bold. Terms have a mark for their footnote where
/// `note` gives one.
fn with_terms(sentence: &Sentence, mut note: impl FnMut(&'static Term) -> bool) -> String {
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
fn escaped(text: &str) -> String {
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
fn code(text: &str) -> String {
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
fn unmarked(text: String) -> String {
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
fn fenced_as(language: &str, text: &str) -> String {
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
        assert_eq!(with_terms(&sentence, |_| false), "`a`<!-- -->`` b`<i> ``");
    }

    #[test]
    fn a_fence_is_longer_than_any_within() {
        assert_eq!(fenced_as("text", "a"), "```text\na\n```");
        assert!(fenced_as("text", "````").starts_with("`````text\n"));
    }
}

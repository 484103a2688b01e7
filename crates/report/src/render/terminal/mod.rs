//! A document as plain text for a window.
//!
//! It is made for a window of 60 columns as for one of 200, with colour and without, and reads
//! the same in a pipe: colour only repeats what words and signs say.

mod table;
mod text;

use crate::document::{
    Bars, Block, Chart, Count, Document, Kind, List, Plot, Role, Section, Sentence,
};

use text::{Paint, Text};

/// How the text is to look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Columns of the window; fewer than 40 count as 40.
    pub width: usize,
    /// Whether ANSI colours may be used.
    pub colour: bool,
}

/// The document in brief.
pub fn terminal(document: &Document, style: Style) -> String {
    let mut text = Text::new(style);
    let on = document.on.as_ref().map(|on| format!(" on {on}"));
    text.heading(&format!("{}{}", document.title, on.unwrap_or_default()));
    for line in &document.about {
        let line = text.flat(line);
        text.line(Paint::Dim, &line);
    }
    blocks(&mut text, &document.head);
    for section in document.sections.iter().filter(|section| !section.kind.is_full_only()) {
        add_section(&mut text, section);
    }
    text.explain_terms();
    text.finish()
}

fn add_section(text: &mut Text, section: &Section) {
    text.gap();
    if section.kind == Kind::Chapter {
        text.rule();
    }
    let title = text.flat(&section.title);
    text.heading(&title);
    if !section.eyebrow.is_empty() {
        let eyebrow = text.flat(&section.eyebrow);
        text.line(Paint::Dim, &eyebrow);
    }
    blocks(text, &section.blocks);
}

fn blocks(text: &mut Text, blocks: &[Block]) {
    blocks.iter().for_each(|one| block(text, one));
}

fn block(text: &mut Text, block: &Block) {
    match block {
        Block::Heading(heading) => {
            text.gap();
            text.heading(heading);
        }
        Block::Paragraph(sentence, role) => paragraph(text, sentence, *role),
        Block::List(it) => list(text, it),
        Block::Facts(facts) => {
            for (name, value) in facts {
                let line = format!("{}: {}", name.plain(), text.flat(value));
                text.item(Paint::Plain, "·", &line);
            }
        }
        Block::Entries(entries) => {
            let entries: Vec<String> = entries.iter().map(Sentence::plain).collect();
            text.line(Paint::Plain, &entries.join(", "));
        }
        Block::Tally(title, counts) => tally(text, title, counts),
        Block::Table(it) => table::add(text, it),
        Block::Chart(it) => chart(text, it),
        // SQL may be broken between its tokens; other languages have indentation.
        Block::Code(code) if code.language == "sql" => text.sql(&code.text),
        Block::Code(code) => text.code(&code.text),
        Block::Fold(fold) => {
            text.gap();
            text.heading(&fold.title);
            blocks(text, &fold.blocks);
        }
        Block::Depth { brief, .. } => blocks(text, brief),
    }
}

fn paragraph(text: &mut Text, sentence: &Sentence, role: Role) {
    let line = text.flat(sentence);
    if role == Role::Small {
        text.gap();
    }
    let paint = match role {
        Role::Small | Role::Quote => Paint::Dim,
        Role::Answer | Role::Body => Paint::Plain,
    };
    text.line(paint, &line);
}

fn list(text: &mut Text, list: &List) {
    text.gap_after_table();
    for (index, item) in list.items.iter().enumerate() {
        let number = format!("{}.", index + 1);
        let (paint, mark) = match (list.numbered, item.sign) {
            (true, _) => (Paint::Strong, number.as_str()),
            (false, Some(sign)) => (Paint::Tone(item.tone), sign),
            (false, None) => (Paint::Plain, "–"),
        };
        let line = text.flat(&item.text);
        let lead = item.lead.as_ref();
        let lead = lead.map_or(String::new(), |(_, interval)| format!(" {interval}"));
        let line = match (&item.badge, item.sign) {
            (None, _) => format!("{line}{lead}"),
            (Some(badge), None) => format!("{line}{lead} ({badge})"),
            (Some(badge), Some(_)) => format!("{badge}: {line}{lead}"),
        };
        text.item(paint, mark, &line);
        for below in &item.below {
            let below = text.flat(below);
            text.under(Paint::Dim, &below);
        }
    }
}

fn tally(text: &mut Text, title: &str, counts: &[Count]) {
    text.line(Paint::Plain, &format!("{title}: {}", Count::line(counts)));
}

fn chart(text: &mut Text, chart: &Chart) {
    let caption = text.flat(&chart.caption);
    match (&chart.plot, &chart.figures) {
        (Plot::Bars(all), _) => bars(text, &caption, all),
        (Plot::Map(map), _) => {
            text.caption(&caption);
            table::add(text, &super::rows::of_map(map));
        }
        (_, Some(figures)) => {
            text.caption(&caption);
            table::add(text, figures);
        }
        (_, None) => {}
    }
    for note in &chart.notes {
        let note = text.flat(note);
        text.item(Paint::Plain, "·", &note);
    }
}

fn bars(text: &mut Text, caption: &str, bars: &Bars) {
    let bars = bars.bars.iter();
    let bars: Vec<String> = bars.map(|bar| format!("{} {}", bar.text, bar.name.plain())).collect();
    text.item(Paint::Plain, "·", &format!("{caption}: {}", bars.join(", ")));
}

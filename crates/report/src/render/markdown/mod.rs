//! A document as Markdown (GitHub flavour: it needs tables and footnotes), for an issue, a wiki or a diff.

mod marks;
mod table;

use crate::document::{
    Bars, Block, Chart, Code, Count, Document, Item, Kind, List, Plot, Role, Section, Sentence,
    Term,
};
use crate::figures;
use marks::{escaped, fenced_as, unmarked};

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
    let sections = document.sections.iter();
    for section in sections.filter(|section| section.kind != Kind::Glossary) {
        text.section(section);
    }
    text.finish()
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
        marks::dressed(sentence, |term| {
            let is_new = !terms.contains(&term);
            if is_new {
                terms.push(term);
            }
            is_new
        })
    }

    fn finish(mut self) -> String {
        let notes = std::mem::take(&mut self.terms).into_iter();
        let notes = notes.map(|term| format!("[^{}]: {}", term.anchor, escaped(term.meaning)));
        let notes: Vec<String> = notes.collect();
        if !notes.is_empty() {
            self.part(notes.join("\n"));
        }
        self.parts.join("\n\n") + "\n"
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
        let counts = counts.iter();
        let counts =
            counts.map(|one| format!("{} {} {}", one.sign, figures::count(one.count), one.words));
        let counts: Vec<String> = counts.collect();
        self.part(format!("{}: {}", escaped(title), escaped(&counts.join(", "))));
    }

    fn chart(&mut self, chart: &Chart) {
        let remark = chart.remark.as_ref();
        let remark = remark.map_or(String::new(), |remark| format!(" ({})", escaped(remark)));
        let caption = self.dressed(&chart.caption);
        match (&chart.plot, &chart.figures) {
            (Plot::Bars(it), _) => self.bars(&caption, it),
            (Plot::Map(map), _) => {
                self.part(format!("{caption}{remark}:"));
                self.table(&super::rows::of_map(map));
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

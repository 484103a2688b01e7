//! Blocks on the page.

use super::Writer;
use super::markup::Html;
use crate::document::{Block, Code, Count, Fold, Item, List, Piece, Role, Sentence, Term, Tone};

/// The class that gives a tone its colours.
pub(super) fn tone_class(tone: Tone) -> &'static str {
    match tone {
        Tone::Plain => "t-plain",
        Tone::Better => "t-better",
        Tone::Worse => "t-worse",
        Tone::Same => "t-same",
        Tone::Baseline => "t-baseline",
        Tone::Bound => "t-bound",
        Tone::Missing => "t-missing",
        Tone::Good => "t-good",
        Tone::Middle => "t-middle",
        Tone::Bad => "t-bad",
        Tone::Doubt => "t-doubt",
        Tone::Neutral => "t-neutral",
    }
}

impl Writer {
    /// A sentence with its pieces dressed.
    pub(super) fn sentence(&mut self, html: &mut Html, sentence: &Sentence) {
        sentence.0.iter().for_each(|piece| self.piece(html, piece));
    }

    fn piece(&mut self, html: &mut Html, piece: &Piece) {
        match piece {
            Piece::Words(text) => html.text(text),
            Piece::Code(text) => html.leaf("code", &[], text),
            Piece::Figure(text) => html.leaf("strong", &[("class", "num")], text),
            Piece::Number(text) => html.leaf("span", &[("class", "num")], text),
            Piece::Term(term) => self.term(html, term),
            Piece::Link { text, to } => html.leaf("a", &[("href", &format!("#{to}"))], text),
        }
    }

    /// A term, linked to its meaning where the page has a section for that.
    fn term(&mut self, html: &mut Html, term: &Term) {
        let link = format!("#{}", term.anchor);
        if self.has_glossary {
            html.leaf(
                "a",
                &[("class", "term"), ("href", &link), ("title", term.meaning)],
                term.word,
            )
        } else {
            html.leaf("abbr", &[("title", term.meaning)], term.word)
        }
    }

    /// Blocks one below the other.
    pub(super) fn blocks(&mut self, html: &mut Html, blocks: &[Block]) {
        for block in blocks {
            self.block(html, block);
            html.line();
        }
    }

    fn block(&mut self, html: &mut Html, block: &Block) {
        match block {
            Block::Heading(heading) => html.leaf("h3", &[], heading),
            Block::Paragraph(sentence, role) => {
                let class = match role {
                    Role::Answer => "answer",
                    Role::Body => "body",
                    Role::Small => "small",
                    Role::Quote => "quote",
                };
                html.class("p", class, |html| self.sentence(html, sentence));
            }
            Block::List(list) => self.list(html, list),
            Block::Facts(facts) => self.facts(html, facts),
            Block::Entries(entries) => html.class("ul", "pairs", |html| {
                for entry in entries {
                    html.element("li", &[], |html| self.sentence(html, entry));
                }
            }),
            Block::Tally(title, counts) => tally(html, title, counts),
            Block::Table(table) => self.table(html, table),
            Block::Chart(chart) => self.chart(html, chart),
            Block::Code(Code { text, .. }) => {
                html.element("pre", &[], |html| html.leaf("code", &[], text));
            }
            Block::Fold(fold) => self.fold(html, fold),
            Block::Depth { full, .. } => self.blocks(html, full),
        }
    }

    fn fold(&mut self, html: &mut Html, fold: &Fold) {
        let class = if fold.printed { "more print" } else { "more" };
        let mut attributes = vec![("class", class)];
        attributes.extend(fold.anchor.as_deref().map(|anchor| ("id", anchor)));
        attributes.extend(fold.open.then_some(("open", "")));
        html.element("details", &attributes, |html| {
            html.leaf("summary", &[], &fold.title);
            self.blocks(html, &fold.blocks);
        });
    }

    /// Names with what is said of them; a name that is a term is linked to here.
    fn facts(&mut self, html: &mut Html, facts: &[(Sentence, Sentence)]) {
        html.class("dl", "facts", |html| {
            for (name, value) in facts {
                html.element("div", &[], |html| {
                    match &name.0[..] {
                        [Piece::Term(term)] => html.leaf("dt", &[("id", term.anchor)], term.word),
                        _ => html.element("dt", &[], |html| self.sentence(html, name)),
                    }
                    html.element("dd", &[], |html| self.sentence(html, value));
                });
            }
        });
    }

    fn list(&mut self, html: &mut Html, list: &List) {
        let (name, class) = if list.numbered { ("ol", "ranked") } else { ("ul", "items") };
        html.class(name, class, |html| {
            for item in &list.items {
                html.class("li", tone_class(item.tone), |html| self.item(html, item));
            }
        });
    }

    fn item(&mut self, html: &mut Html, item: &Item) {
        if let Some((figure, interval)) = &item.lead {
            html.class("p", "gain", |html| {
                html.leaf("b", &[], figure);
                html.text(" ");
                html.leaf("span", &[("class", "between")], interval);
                lead(html, item);
            });
        }
        html.element("div", &[], |html| {
            html.class("p", "what", |html| {
                if item.lead.is_none() {
                    lead(html, item);
                }
                self.sentence(html, &item.text);
            });
            for below in &item.below {
                html.class("p", "below", |html| self.sentence(html, below));
            }
        });
    }
}

/// The badge of an item, or its sign.
fn lead(html: &mut Html, item: &Item) {
    match (&item.badge, item.sign) {
        (Some(badge), _) => {
            html.text(" ");
            html.leaf("span", &[("class", "badge")], badge);
            html.text(" ");
        }
        (None, Some(sign)) => html.leaf("span", &[("class", "sign")], sign),
        (None, None) => {}
    }
}

/// A bar of counts, and the counts.
fn tally(html: &mut Html, title: &str, counts: &[Count]) {
    let all: usize = counts.iter().map(|count| count.count).sum();
    let percent = |count: usize| 100.0 * count as f64 / all.max(1) as f64;
    html.class("div", "tally", |html| {
        html.leaf("h2", &[("class", "tally-title")], title);
        html.drawing("bar", |html| {
            let mut from = 0.0;
            for count in counts {
                let percent = percent(count.count);
                let (x, width) = (format!("{from:.2}%"), format!("{percent:.2}%"));
                let class = [("class", tone_class(count.tone)), ("x", &x)];
                let size = [("width", &*width), ("height", "100%")];
                html.empty("rect", &[class, size].concat());
                from += percent;
            }
        });
        html.class("ul", "counts", |html| {
            for count in counts {
                html.class("li", tone_class(count.tone), |html| {
                    html.sign(count.sign);
                    html.leaf("b", &[], &count.count.to_string());
                    html.text(&format!(" {}", count.words));
                });
            }
        });
    });
}

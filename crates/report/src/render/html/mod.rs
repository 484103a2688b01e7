//! A document as one page: a file that holds everything, needs no network and works from a disk.
//!
//! Its markup is in templates, which escape what is filled in; style sheet and script are allowed by their
//! hashes alone, so that nothing else could run or be fetched, whatever stood in the data.

mod charts;

use std::borrow::Cow;
use std::cell::Cell;

use askama::Template;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use lab::text::{lines, one_line};
use sha2::{Digest, Sha256};

use crate::document::{
    Block, Column, Document, Kind, Mark, Piece, Plot, Role, Row, Section, Sentence, Table, Tone,
};
use crate::{Result, document};

const STYLE: &str = concat!(
    include_str!("../../../templates/page.css"),
    include_str!("../../../templates/charts.css")
);
const SCRIPT: &str = include_str!("../../../templates/page.js");

#[derive(Template)]
#[template(path = "page.html")]
struct Page<'a> {
    version: &'static str,
    title: Cow<'a, str>,
    question: Option<Cow<'a, str>>,
    on: Option<Cow<'a, str>>,
    style: &'static str,
    style_hash: String,
    script: &'static str,
    script_hash: String,
    about: &'a [Sentence],
    head: &'a [Block],
    highlights: Sections<'a>,
    contents: Contents<'a>,
    sections: Sections<'a>,
    view: &'a View,
}

/// The whole document as a page.
///
/// # Errors
/// When the template cannot be filled in.
pub fn html(document: &Document) -> Result<String> {
    let is_highlight = |section: &&Section| section.kind == Kind::Highlights;
    let (highlights, others): (Vec<&Section>, Vec<&Section>) =
        document.sections.iter().partition(is_highlight);
    let view = View {
        question: document.question.clone(),
        has_glossary: others.iter().any(|section| section.kind == Kind::Glossary),
        charts: Cell::new(0),
    };
    let page = Page {
        version: env!("CARGO_PKG_VERSION"),
        title: one_line(&document.title),
        question: document.question.as_deref().map(one_line),
        on: document.on.as_deref().map(one_line),
        style: STYLE,
        style_hash: hash(STYLE),
        script: SCRIPT,
        script_hash: hash(SCRIPT),
        about: &document.about,
        head: &document.head,
        highlights: Sections { view: &view, sections: &highlights },
        contents: Contents::of(&view, &others),
        sections: Sections { view: &view, sections: &others },
        view: &view,
    };
    Ok(lines(&page.render()?).into_owned())
}

/// The SHA-256 of a text as a content security policy names it.
fn hash(text: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(text.as_bytes())))
}

/// From this number of chapters on the list scrolls by itself on a narrow screen.
const LONG: usize = 12;

#[derive(Template)]
#[template(path = "contents.html", whitespace = "suppress")]
struct Contents<'a> {
    view: &'a View,
    chapters: usize,
    /// The groups in the order in which they first occur, those without a source last.
    groups: Vec<(Option<&'a str>, Vec<&'a Section>)>,
    others: Vec<&'a Section>,
}

impl<'a> Contents<'a> {
    fn of(view: &'a View, sections: &[&'a Section]) -> Contents<'a> {
        let is_chapter =
            |section: &&Section| section.kind == Kind::Chapter && section.group.is_some();
        let (chapters, others): (Vec<&Section>, Vec<&Section>) =
            sections.iter().copied().partition(is_chapter);
        let grouped = chapters.iter().map(|section| (section.group.as_deref(), *section));
        let mut groups = crate::words::grouped(grouped);
        groups.sort_by_key(|(group, _)| group.is_some_and(|group| group.starts_with("Without")));
        Contents { view, chapters: chapters.len(), groups, others }
    }
}

#[derive(Template)]
#[template(path = "sections.html", whitespace = "suppress")]
struct Sections<'a> {
    view: &'a View,
    sections: &'a [&'a Section],
}

#[derive(Template)]
#[template(path = "blocks.html", whitespace = "suppress")]
struct Blocks<'a> {
    view: &'a View,
    blocks: &'a [Block],
}

#[derive(Template)]
#[template(path = "sentence.html", whitespace = "suppress")]
struct Pieces<'a> {
    view: &'a View,
    sentence: &'a Sentence,
}

/// The state that the parts of a page share.
struct View {
    /// The question of the page, which its only chapter does not repeat.
    question: Option<String>,
    /// Whether terms have a section to link to.
    has_glossary: bool,
    /// The charts so far, so that their parts can be named.
    charts: Cell<usize>,
}

impl View {
    fn title(&self, section: &Section) -> Sentence {
        let is_question = self.question.as_deref() == Some(&section.title.plain());
        if is_question { "Results".into() } else { section.title.clone() }
    }

    fn sentence<'a>(&'a self, sentence: &'a Sentence) -> Pieces<'a> {
        Pieces { view: self, sentence }
    }

    fn blocks<'a>(&'a self, blocks: &'a [Block]) -> Blocks<'a> {
        Blocks { view: self, blocks }
    }

    fn next_chart(&self) -> String {
        self.charts.set(self.charts.get() + 1);
        format!("chart-{}", self.charts.get())
    }

    /// The rows of a table, and the rows of its foot if it has one.
    fn bodies<'t>(&self, table: &'t Table) -> Vec<(&'t [Row], bool)> {
        let foot = Some((&table.foot[..], true)).filter(|(rows, _)| !rows.is_empty());
        [(&table.rows[..], false)].into_iter().chain(foot).collect()
    }

    /// The cells of a row, with an empty one where it has none, and their classes.
    fn cells<'t>(&self, row: &'t Row, table: &Table) -> Vec<(Cow<'t, document::Cell>, String)> {
        let cells = row.cells.iter().map(Cow::Borrowed);
        let missing = std::iter::repeat_with(|| Cow::Owned(document::Cell::default()));
        let classes = |(cell, column): (Cow<'t, document::Cell>, &Column)| {
            let tone = (cell.tone != Tone::Plain).then(|| cell.tone.into());
            let kinds = [tone, column.right.then_some("r"), column.prose.then_some("prose")];
            (cell, kinds.into_iter().flatten().collect::<Vec<_>>().join(" "))
        };
        cells.chain(missing).zip(&table.columns).map(classes).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_written_as_a_policy_takes_them() {
        assert_eq!(hash(""), "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=");
    }

    #[test]
    fn text_and_attributes_cannot_become_markup() {
        let hostile = document::Document {
            sections: vec![Section::new("\"><script>", Kind::Chapter, "<i>&", Vec::new())],
            ..Document::default()
        };
        let page = html(&hostile).unwrap();
        assert!(page.contains("id=\"&#34;&#62;&#60;script&#62;\""), "{page}");
        assert!(page.contains(">&#60;i&#62;&#38;</h2>"), "{page}");
        let hostile = Block::code("\0", "\u{1b}\u{202e}a\n\tb");
        let page = html(&Document { head: vec![hostile], ..Document::default() }).unwrap();
        assert!(page.contains("<code>\u{fffd}\u{fffd}a\n\tb</code>"), "{page}");
    }

    #[test]
    fn style_and_script_stay_as_they_were_hashed() {
        assert_eq!((lines(STYLE), lines(SCRIPT)), (STYLE.into(), SCRIPT.into()));
    }
}

//! A document as one page: a file that holds everything, needs no network and works from a disk.
//!
//! The frame is a template; style sheet and script are allowed by their hashes alone, so that nothing else
//! could run or be fetched, whatever stood in the data.

mod blocks;
mod charts;
mod markup;
mod table;

use std::borrow::Cow;

use askama::Template;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use lab::text::one_line;
use sha2::{Digest, Sha256};

use crate::Result;
use crate::document::{Document, Kind, Section, Sentence};
use blocks::tone_class;
use markup::Html;

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
    head: String,
    highlights: String,
    contents: String,
    sections: String,
}

/// The whole document as a page.
///
/// # Errors
/// When the template cannot be filled in.
pub fn html(document: &Document) -> Result<String> {
    let is_highlight = |section: &&Section| section.kind == Kind::Highlights;
    let (highlights, others): (Vec<&Section>, Vec<&Section>) =
        document.sections.iter().partition(is_highlight);
    let mut writer = Writer {
        question: document.question.clone(),
        has_glossary: others.iter().any(|section| section.kind == Kind::Glossary),
        charts: 0,
    };
    let mut written = |write: &dyn Fn(&mut Writer, &mut Html)| {
        let mut html = Html::default();
        write(&mut writer, &mut html);
        html.finish()
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
        head: written(&|writer, html| {
            for line in &document.about {
                html.class("p", "about", |html| writer.sentence(html, line));
            }
            writer.blocks(html, &document.head);
        }),
        highlights: written(&|writer, html| writer.sections(html, &highlights)),
        contents: written(&|writer, html| writer.contents(html, &others)),
        sections: written(&|writer, html| writer.sections(html, &others)),
    };
    Ok(page.render()?)
}

/// The SHA-256 of a text as a content security policy names it.
fn hash(text: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(text.as_bytes())))
}

/// From this number of chapters on the list scrolls by itself on a narrow screen.
const LONG: usize = 12;

/// Sections of one group.
type Group<'a> = (Option<&'a str>, Vec<&'a Section>);

/// The groups in the order in which they first occur, those without a source last.
fn grouped<'a>(sections: &[&'a Section]) -> Vec<Group<'a>> {
    let sections = sections.iter();
    let mut groups =
        crate::words::grouped(sections.map(|section| (section.group.as_deref(), *section)));
    groups.sort_by_key(|(group, _)| group.is_some_and(|group| group.starts_with("Without")));
    groups
}

/// Writes blocks.
struct Writer {
    /// The question of the page, which its only chapter does not repeat.
    question: Option<String>,
    /// Whether terms have a section to link to.
    has_glossary: bool,
    /// The charts so far, so that their parts can be named.
    charts: usize,
}

impl Writer {
    /// The contents of a page.
    fn contents(&self, html: &mut Html, sections: &[&Section]) {
        let is_chapter =
            |section: &&Section| section.kind == Kind::Chapter && section.group.is_some();
        let (chapters, others): (Vec<&Section>, Vec<&Section>) =
            sections.iter().copied().partition(is_chapter);
        let groups = grouped(&chapters);
        let has_headings = groups.len() > 1;
        let class = if chapters.len() > LONG { "toc long" } else { "toc" };
        html.element("nav", &[("class", class), ("aria-label", "Contents")], |html| {
            html.leaf("h2", &[], "Contents");
            for (heading, sections) in &groups {
                if let Some(heading) = heading.filter(|_| has_headings) {
                    html.leaf("h3", &[], heading);
                }
                html.element("ol", &[], |html| {
                    sections.iter().for_each(|section| self.entry(html, section))
                });
            }
            html.element("ul", &[], |html| others.iter().for_each(|other| self.entry(html, other)));
        });
    }

    fn entry(&self, html: &mut Html, section: &Section) {
        html.element("li", &[], |html| {
            let link = format!("#{}", section.anchor);
            html.leaf("a", &[("href", &link)], &self.title(section).plain());
            if let Some(qualifier) = &section.qualifier {
                html.text(" ");
                html.leaf("span", &[("class", "qualifier")], qualifier);
            }
            if section.counts.is_empty() {
                return;
            }
            html.class("span", "marks", |html| {
                for count in &section.counts {
                    let title = format!("{} {}", count.count, count.words);
                    let class = tone_class(count.tone);
                    html.element("span", &[("class", class), ("title", &title)], |html| {
                        html.text(count.sign);
                        html.leaf("span", &[("class", "n")], &count.count.to_string());
                    });
                }
            });
        });
    }

    /// The title of a section.
    fn title(&self, section: &Section) -> Sentence {
        let is_question = self.question.as_deref() == Some(&section.title.plain());
        if is_question { "Results".into() } else { section.title.clone() }
    }

    fn sections(&mut self, html: &mut Html, sections: &[&Section]) {
        for section in sections {
            self.section(html, section);
            html.line();
        }
    }

    fn section(&mut self, html: &mut Html, section: &Section) {
        let (class, folded) = match section.kind {
            Kind::Highlights => ("findings", false),
            Kind::Chapter => ("experiment", false),
            Kind::Background => ("plain", false),
            Kind::Folded | Kind::Glossary => ("plain", true),
        };
        let title = format!("{}-title", section.anchor);
        let attributes = [
            ("class", class),
            ("id", section.anchor.as_str()),
            ("aria-labelledby", title.as_str()),
        ];
        html.element("section", &attributes, |html| {
            if !folded {
                self.heading(html, section, &title);
                return self.blocks(html, &section.blocks);
            }
            html.class("details", "chapter", |html| {
                html.element("summary", &[], |html| self.heading(html, section, &title));
                self.blocks(html, &section.blocks);
            });
        });
    }

    fn heading(&mut self, html: &mut Html, section: &Section, id: &str) {
        html.element("h2", &[("id", id)], |html| self.sentence(html, &self.title(section)));
        if !section.eyebrow.is_empty() {
            html.class("p", "eyebrow", |html| self.sentence(html, &section.eyebrow));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_written_as_a_policy_takes_them() {
        assert_eq!(hash(""), "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=");
    }
}

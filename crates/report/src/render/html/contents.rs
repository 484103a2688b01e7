//! The table of contents: chapters by their groups, then the background.

use super::blocks::tone_class;
use super::markup::Html;
use crate::document::{Kind, Section};

/// From this number of chapters on the list scrolls by itself on a narrow screen.
const LONG: usize = 12;

/// Sections of one group.
type Group<'a> = (Option<&'a str>, Vec<&'a Section>);

/// The contents of a page.
pub(super) fn contents(html: &mut Html, sections: &[&Section]) {
    let is_chapter = |section: &&Section| section.kind == Kind::Chapter && section.group.is_some();
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
                sections.iter().for_each(|section| entry(html, section))
            });
        }
        html.element("ul", &[], |html| others.iter().for_each(|other| entry(html, other)));
    });
}

/// The groups in the order in which they first occur, those without a source last.
fn grouped<'a>(sections: &[&'a Section]) -> Vec<Group<'a>> {
    let sections = sections.iter();
    let mut groups =
        crate::words::grouped(sections.map(|section| (section.group.as_deref(), *section)));
    groups.sort_by_key(|(group, _)| group.is_some_and(|group| group.starts_with("Without")));
    groups
}

fn entry(html: &mut Html, section: &Section) {
    html.element("li", &[], |html| {
        let link = format!("#{}", section.anchor);
        html.leaf("a", &[("href", &link)], &section.title.plain());
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

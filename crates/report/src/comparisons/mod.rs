//! Comparisons as documents: of counters, of two runs, of many runs over time, the gate of guard, and the machines of a
//! fleet.
//!
//! All have one form: who is compared, what changed, then chapters with the tables behind that, and at the end what is
//! not compared. The cells of their tables are in [`cells`].

mod cells;
mod exact;
mod fleet;
mod guard;
mod history;
mod runs;

use lab::comparison::{Difference, Unmatched};

use crate::document::{Block, Cell, Column, Document, Item, Kind, Row, Section, Sentence, Table};

pub use exact::{differing_rows, exact};
pub use fleet::fleet;
pub use guard::{guarded, junit};
pub use history::history;
pub use runs::runs;

/// A chapter by its anchor, its title and its blocks; left out without blocks.
type Chapter<'a> = (&'a str, &'a str, Vec<Block>);

/// Returns the sections of one comparison: what changed first, then the chapters.
fn sections<'a>(
    changed: Vec<Block>,
    chapters: impl IntoIterator<Item = Chapter<'a>>,
) -> Vec<Section> {
    let chapters = chapters.into_iter();
    let chapters =
        chapters.filter_map(|(anchor, title, blocks)| Section::chapter(anchor, title, blocks));
    let highlights = Section::new("changes", Kind::Highlights, "What changed", changed);
    std::iter::once(highlights).chain(chapters).collect()
}

/// Adds the sections of one of several comparisons with the same base, each named after its new side.
fn add_qualified(
    document: &mut Document,
    name: Option<&str>,
    suffix: &str,
    sections: Vec<Section>,
) {
    document.sections.extend(sections.into_iter().map(|section| Section {
        qualifier: name.map(str::to_owned),
        anchor: format!("{}{suffix}", section.anchor),
        ..section
    }));
}

/// Returns a sentence that names one side.
fn side(role: &str, name: &str) -> Sentence {
    Sentence::from(format!("{role}: ")).and_code(name)
}

/// Lists what only one side has.
fn unmatched(
    unmatched: &Unmatched,
    new_side: &str,
    words: impl Fn(&str, &str) -> Sentence,
) -> Vec<Item> {
    let base = unmatched.only_base.iter().map(|name| words(name, "the base"));
    let new = unmatched.only_new.iter().map(|name| words(name, new_side));
    base.chain(new).map(Item::new).collect()
}

/// Lists the runs that could not be read, each with the reason.
fn not_read(unreadable: &[(String, String)]) -> Option<Section> {
    let items = unreadable
        .iter()
        .map(|(name, why)| Item::doubt(None, Sentence::code(name).words(format!(": {why}"))));
    let list = Block::list(items).into_iter().collect();
    Section::chapter("unreadable", "What could not be read", list)
}

/// Returns the table of circumstances or settings that differ.
fn differences(all: &[Difference]) -> Block {
    let columns = [Column::left("what"), Column::left("base").prose(), Column::left("new").prose()];
    let row = |difference: &Difference| {
        let Difference { what, base, new } = difference;
        Row::new([what, base, new].map(|text| Cell::new(text.as_str())))
    };
    Block::table(Table::new("differences", columns, all.iter().map(row)))
}

//! Content without form: sections of headings, paragraphs, lists, tables, charts and text to
//! paste. Topics make it, renderers show it, and neither knows the other.
//!
//! There are two depths. A *brief* form (a terminal) leaves out what only a *full* one (a page, Markdown)
//! has room for; [`Block::Depth`] and [`Column::full_only`] say what that is.

mod chart;
mod sentence;
mod table;

pub use chart::{
    Band, BandDot, Bands, Bar, Bars, Bend, Chart, Course, CourseLevel, CourseMark, CoursePoint,
    Curve, Forest, ForestRow, Line, Map, MapCell, MapRow, Mark, Marks, Plot, Point, Scale,
};
pub use sentence::{Piece, Sentence, Term, joined, plain};
pub use table::{Abridge, Cell, Column, Row, Strip, Table, led};

use crate::figures;

/// A whole report or answer.
#[derive(Clone, Debug, Default)]
pub struct Document {
    /// Its subject.
    pub title: String,
    /// The question that it answers, if it is one: the title of its page.
    pub question: Option<String>,
    /// The scope of the title, such as a machine.
    pub on: Option<String>,
    /// How it came about, a line each.
    pub about: Vec<Sentence>,
    /// Blocks before the sections.
    pub head: Vec<Block>,
    /// The sections in order.
    pub sections: Vec<Section>,
}

/// A part of a document with a title of its own.
#[derive(Clone, Debug, Default)]
pub struct Section {
    /// The name under which it is linked to: letters, digits and hyphens.
    pub anchor: String,
    /// Its kind.
    pub kind: Kind,
    /// The sections of one group stand together in the contents, under this heading.
    pub group: Option<String>,
    /// A line above the title, such as its number.
    pub eyebrow: Sentence,
    /// The title.
    pub title: Sentence,
    /// Tells it apart from another section of the same title.
    pub qualifier: Option<String>,
    /// Counts that the contents show after the title.
    pub counts: Vec<Count>,
    /// Its blocks.
    pub blocks: Vec<Block>,
}

/// Kinds of sections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// The most important, first.
    Highlights,
    /// A chapter.
    #[default]
    Chapter,
    /// Background: at the end, in full forms only.
    Background,
    /// The same, folded until it is wanted.
    Folded,
    /// Explanations that terms link to: left out of forms that have footnotes.
    Glossary,
}

impl Section {
    /// A section without an eyebrow.
    pub fn new(anchor: &str, kind: Kind, title: &str, blocks: Vec<Block>) -> Section {
        Section {
            anchor: anchor.to_owned(),
            kind,
            title: title.into(),
            blocks,
            ..Section::default()
        }
    }

    /// A chapter; none without a block.
    pub fn chapter(anchor: &str, title: &str, blocks: Vec<Block>) -> Option<Section> {
        (!blocks.is_empty()).then(|| Section::new(anchor, Kind::Chapter, title, blocks))
    }
}

impl Kind {
    /// Whether brief forms leave it out.
    pub fn is_full_only(self) -> bool {
        matches!(self, Kind::Background | Kind::Folded | Kind::Glossary)
    }
}

/// A piece of a section.
#[derive(Clone, Debug)]
pub enum Block {
    /// A heading within a section.
    Heading(String),
    /// Sentences.
    Paragraph(Sentence, Role),
    /// Items.
    List(List),
    /// Names with what is said of them.
    Facts(Vec<(Sentence, Sentence)>),
    /// Short entries, set in columns where there is room.
    Entries(Vec<Sentence>),
    /// How many of what: a bar, or a line.
    Tally(String, Vec<Count>),
    /// Rows and columns.
    Table(Box<Table>),
    /// A chart with its figures.
    Chart(Box<Chart>),
    /// Text to paste.
    Code(Code),
    /// Blocks that are folded away in forms that can fold.
    Fold(Fold),
    /// One thing for brief forms, another for full ones.
    Depth {
        /// Blocks of brief forms.
        brief: Vec<Block>,
        /// Blocks of full forms.
        full: Vec<Block>,
    },
}

/// Purpose of a paragraph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The answer to the question of the section.
    Answer,
    /// Ordinary text.
    Body,
    /// Explanations.
    Small,
    /// A remark by others.
    Quote,
}

/// Items one below the other.
#[derive(Clone, Debug, Default)]
pub struct List {
    /// Whether they are numbered.
    pub numbered: bool,
    /// The items.
    pub items: Vec<Item>,
}

/// One item.
#[derive(Clone, Debug, Default)]
pub struct Item {
    /// A figure that leads the item, with its interval.
    pub lead: Option<(String, String)>,
    /// One sign before it.
    pub sign: Option<&'static str>,
    /// A word that says what kind of item it is: `preliminary`.
    pub badge: Option<String>,
    /// The meaning of the sign and the badge.
    pub tone: Tone,
    /// The item.
    pub text: Sentence,
    /// Smaller lines below it.
    pub below: Vec<Sentence>,
}

/// Meaning of a colour; words and signs say it, too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, strum::Display, strum::IntoStaticStr)]
#[strum(prefix = "t-", serialize_all = "lowercase")]
pub enum Tone {
    /// Nothing.
    #[default]
    Plain,
    /// Better than the baseline.
    Better,
    /// Worse than the baseline.
    Worse,
    /// No detectable difference, or not compared.
    Same,
    /// The baseline.
    Baseline,
    /// Something that bounds what is compared.
    Bound,
    /// Nothing was measured.
    Missing,
    /// Confirmed, or safe.
    Good,
    /// Between good and bad.
    Middle,
    /// Refuted, or unsafe.
    Bad,
    /// Something that weakens a conclusion.
    Doubt,
    /// Neither.
    Neutral,
}

/// One sign, and its meaning.
pub type Sign = (&'static str, Tone);

/// How many of what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Count {
    /// One sign.
    pub sign: &'static str,
    /// The counted things.
    pub words: String,
    /// How many there are.
    pub count: usize,
    /// Their meaning.
    pub tone: Tone,
}

impl Count {
    /// Returns several in one line.
    pub(crate) fn line(counts: &[Count]) -> String {
        let words = counts.iter().map(|one| {
            let count = figures::count(one.count);
            format!("{} {count} {}", one.sign, one.words)
        });
        words.collect::<Vec<_>>().join(", ")
    }
}

/// Text to paste.
#[derive(Clone, Debug)]
pub struct Code {
    /// Its language, as Markdown names it.
    pub language: &'static str,
    /// The text.
    pub text: String,
}

/// Blocks that are folded away.
#[derive(Clone, Debug)]
pub struct Fold {
    /// A name under which it is linked to.
    pub anchor: Option<String>,
    /// Its title.
    pub title: String,
    /// Whether it begins open.
    pub open: bool,
    /// Whether it is printed although it is folded.
    pub printed: bool,
    /// Its blocks.
    pub blocks: Vec<Block>,
}

/// Makes the blocks of parts that stand one below the other: each a block, one that may be missing, or several.
macro_rules! blocks {
    ($($part:expr),* $(,)?) => {{
        let mut blocks: Vec<$crate::document::Block> = Vec::new();
        $(blocks.extend($part);)*
        blocks
    }};
}
pub(crate) use blocks;

/// A block by itself can be chained with others.
impl IntoIterator for Block {
    type Item = Block;
    type IntoIter = std::iter::Once<Block>;

    fn into_iter(self) -> Self::IntoIter {
        std::iter::once(self)
    }
}

impl Block {
    /// A heading within a section.
    pub fn heading(text: impl Into<String>) -> Block {
        Block::Heading(text.into())
    }

    /// A heading with a table below it, and how to read that; nothing where it has no rows.
    pub fn explained(heading: &str, table: Table, how: impl Into<Sentence>) -> Vec<Block> {
        let heading = (!table.rows.is_empty()).then(|| Block::heading(heading));
        blocks![heading, Block::remarked(table, how)]
    }

    /// A table and how to read it; nothing where it has no rows.
    pub fn remarked(table: Table, how: impl Into<Sentence>) -> Vec<Block> {
        let how = (!table.rows.is_empty()).then(|| Block::small(how));
        blocks![Block::rows(table), how]
    }

    /// A table by itself; nothing where it has no rows.
    pub fn rows(table: Table) -> Vec<Block> {
        if table.rows.is_empty() { Vec::new() } else { vec![Block::table(table)] }
    }

    /// Text to paste.
    pub fn code(language: &'static str, text: impl Into<String>) -> Block {
        Block::Code(Code { language, text: text.into() })
    }

    /// A paragraph.
    pub fn paragraph(text: impl Into<Sentence>) -> Block {
        Block::Paragraph(text.into(), Role::Body)
    }

    /// An explanation.
    pub fn small(text: impl Into<Sentence>) -> Block {
        Block::Paragraph(text.into(), Role::Small)
    }

    /// Items without numbers; nothing where there are none.
    pub fn list(items: impl IntoIterator<Item = Item>) -> Option<Block> {
        let items: Vec<Item> = items.into_iter().collect();
        let numbered = false;
        (!items.is_empty()).then_some(Block::List(List { numbered, items }))
    }

    /// A table.
    pub fn table(table: Table) -> Block {
        Block::Table(Box::new(table))
    }

    /// A chart.
    pub fn chart(chart: Chart) -> Block {
        Block::Chart(Box::new(chart))
    }

    /// Makes folded blocks that are printed.
    pub fn fold(title: impl Into<String>, blocks: Vec<Block>) -> Block {
        Block::Fold(Fold { printed: true, ..Fold::new(title, blocks) })
    }

    /// Makes folded blocks that are of no use on paper.
    pub fn unprinted(title: impl Into<String>, blocks: Vec<Block>) -> Block {
        Block::Fold(Fold::new(title, blocks))
    }

    /// Makes blocks for full forms only.
    pub fn full(full: Vec<Block>) -> Block {
        let brief = Vec::new();
        Block::Depth { brief, full }
    }

    /// Makes blocks for brief forms only.
    pub fn brief(brief: Vec<Block>) -> Block {
        let full = Vec::new();
        Block::Depth { brief, full }
    }
}

impl Fold {
    /// Folded, and not printed.
    pub fn new(title: impl Into<String>, blocks: Vec<Block>) -> Fold {
        Fold { anchor: None, title: title.into(), open: false, printed: false, blocks }
    }
}

impl Item {
    /// An item of text alone.
    pub fn new(text: impl Into<Sentence>) -> Item {
        Item { text: text.into(), ..Item::default() }
    }

    /// An item with a sign before it.
    pub fn signed((sign, tone): Sign, text: impl Into<Sentence>) -> Item {
        Item { sign: Some(sign), tone, ..Item::new(text) }
    }

    /// An item that weakens a conclusion: a word for it, and why.
    pub fn doubt(badge: Option<&str>, text: impl Into<Sentence>) -> Item {
        Item { badge: badge.map(str::to_owned), ..Item::signed(("!", Tone::Doubt), text) }
    }
}

//! A report as its readers meet it: sentences, lists, tables and charts, wherever they stand.

use lab::analysis::ExperimentAnalysis;
use pragmark_report as report;
use report::document::{Block, Cell, Chart, Document, Item, Kind, Plot, Row, Section, Table};
use tuning::Analysis;

/// The report of a run and what it was made of.
pub struct Reading<'a> {
    pub analysis: &'a Analysis,
    pub document: Document,
}

/// The section of an experiment.
pub struct Chapter<'a> {
    pub experiment: &'a ExperimentAnalysis,
    pub section: &'a Section,
}

impl<'a> Reading<'a> {
    pub fn of(analysis: &'a Analysis) -> Reading<'a> {
        Reading { analysis, document: report::report(analysis) }
    }

    /// The sections of the experiments.
    pub fn chapters(&self) -> impl Iterator<Item = Chapter<'_>> {
        let sections = self.document.sections.iter();
        let sections = sections
            .filter(|section| section.kind == Kind::Chapter && section.anchor != "directories");
        let experiments = self.analysis.experiments.iter();
        experiments.zip(sections).map(|(experiment, section)| Chapter { experiment, section })
    }

    /// The list of findings; none where there are none.
    pub fn findings(&self) -> Vec<&Item> {
        let sections = self.document.sections.iter();
        let highlights = sections.filter(|section| section.kind == Kind::Highlights);
        let blocks = highlights.flat_map(|highlight| all(&highlight.blocks));
        let lists = blocks.filter_map(|block| match block {
            Block::List(list) => Some(&list.items),
            _ => None,
        });
        lists.flatten().collect()
    }
}

impl Chapter<'_> {
    pub fn blocks(&self) -> Vec<&Block> {
        all(&self.section.blocks)
    }

    /// The sentences of its paragraphs, lists and notes.
    pub fn sentences(&self) -> Vec<String> {
        self.blocks().into_iter().flat_map(sentences).collect()
    }

    /// The sentence that begins so; none where there is none.
    pub fn sentence(&self, beginning: &str) -> Option<String> {
        self.sentences().into_iter().find(|sentence| sentence.starts_with(beginning))
    }

    /// The tables of this label, figures of charts among them.
    pub fn tables(&self, label: &str) -> Vec<&Table> {
        let tables = self.blocks().into_iter().filter_map(table);
        tables.filter(|table| table.label == label).collect()
    }

    /// Its variants from best to worst, as they are listed.
    pub fn order(&self) -> Vec<usize> {
        let mut order = self.experiment.ranking.clone();
        let all = 0..self.experiment.variants.len();
        order.extend(all.filter(|it| !self.experiment.ranking.contains(it)));
        order
    }

    /// The rows of the variants, by variant.
    pub fn rows(&self) -> Vec<(usize, &Row)> {
        let table = self.tables("Every variant in figures").into_iter().next();
        let rows = table.into_iter().flat_map(|table| &table.rows);
        self.order().into_iter().zip(rows).collect()
    }

    /// What its variants are called, by variant.
    pub fn names(&self) -> Vec<(usize, String)> {
        let rows = self.rows().into_iter();
        rows.map(|(variant, row)| (variant, row.cells[0].text.plain())).collect()
    }

    /// The variants that a sentence names.
    pub fn mentioned(&self, sentence: &str) -> Vec<usize> {
        let mut names = self.names();
        // Names may be parts of longer ones.
        names.sort_by_key(|(_, name)| std::cmp::Reverse(name.len()));
        let mut rest = sentence.to_owned();
        let mut mentioned = Vec::new();
        for (variant, name) in names {
            if let Some(at) = whole(&rest, &name) {
                rest.replace_range(at..at + name.len(), "…");
                mentioned.push(variant);
            }
        }
        mentioned
    }
}

/// Where a name stands in a text as a whole.
fn whole(text: &str, name: &str) -> Option<usize> {
    let is_part = |c: char| c.is_alphanumeric() || "=_-".contains(c);
    let is_whole = |at: &usize| {
        let (before, after) = (&text[..*at], &text[at + name.len()..]);
        !before.ends_with(is_part) && !after.starts_with(is_part)
    };
    text.match_indices(name).map(|(at, _)| at).find(is_whole)
}

/// Blocks with those within them, for brief and full forms.
pub fn all(blocks: &[Block]) -> Vec<&Block> {
    blocks.iter().flat_map(within).collect()
}

fn within(block: &Block) -> Vec<&Block> {
    match block {
        Block::Fold(fold) => all(&fold.blocks),
        Block::Depth { brief, full } => [all(brief), all(full)].concat(),
        block => vec![block],
    }
}

fn table(block: &Block) -> Option<&Table> {
    match block {
        Block::Table(table) => Some(table),
        Block::Chart(chart) => chart.figures.as_ref(),
        _ => None,
    }
}

fn sentences(block: &Block) -> Vec<String> {
    match block {
        Block::Paragraph(sentence, _) => vec![sentence.plain()],
        Block::List(list) => list.items.iter().flat_map(of_item).collect(),
        Block::Chart(chart) => chart.notes.iter().map(|note| note.plain()).collect(),
        _ => Vec::new(),
    }
}

fn of_item(item: &Item) -> Vec<String> {
    let lead = item.lead.iter().map(|(figure, interval)| format!("{figure} {interval}"));
    let below = item.below.iter().map(|below| below.plain());
    [item.text.plain()].into_iter().chain(lead).chain(below).collect()
}

/// Every text of a block, cells and marks among them.
pub fn texts(block: &Block) -> Vec<String> {
    let cells = table(block).into_iter().flat_map(cells);
    let marks = match block {
        Block::Chart(chart) => marks(chart),
        _ => Vec::new(),
    };
    sentences(block).into_iter().chain(cells).chain(marks).collect()
}

fn cells(table: &Table) -> Vec<String> {
    let rows = table.rows.iter().chain(&table.foot);
    let cells = rows.flat_map(|row| &row.cells);
    let text = |cell: &Cell| {
        let below = cell.below.iter().map(|below| below.plain());
        [cell.text.plain()].into_iter().chain(below).collect::<Vec<_>>()
    };
    cells.flat_map(text).collect()
}

fn marks(chart: &Chart) -> Vec<String> {
    match &chart.plot {
        Plot::Forest(forest) => {
            let rows = forest.rows.iter().chain(&forest.bounds);
            rows.flat_map(|row| row.cells.iter().cloned().chain([row.words.clone()])).collect()
        }
        Plot::Map(map) => {
            let cells = map.rows.iter().flat_map(|row| &row.cells);
            cells.flat_map(|cell| [cell.text.clone(), cell.below.clone()]).collect()
        }
        Plot::Bars(bars) => bars.bars.iter().map(|bar| bar.text.clone()).collect(),
        Plot::Curve(_) | Plot::Course(_) | Plot::Bands(_) => Vec::new(),
    }
}

//! A document as data, for programs that read an answer which has no record of its own.

use serde_json::{Map, Value, json};

use crate::document::{Block, Cell, Document, Item, Sentence, Table};

/// Returns the title, what it is about, and the sections: their sentences as text, their tables as rows by the headings of the
/// columns, with numbers where a cell has one. Headings that stand twice are numbered: `time`, `time 2`.
pub fn data(document: &Document) -> Value {
    let sections = document.sections.iter().map(
        |section| json!({ "title": section.title.plain(), "content": contents(&section.blocks) }),
    );
    json!({
        "title": document.title,
        "about": texts(&document.about),
        "content": contents(&document.head),
        "sections": sections.collect::<Vec<_>>(),
    })
}

fn texts(sentences: &[Sentence]) -> Vec<String> {
    sentences.iter().map(Sentence::plain).collect()
}

fn contents(blocks: &[Block]) -> Vec<Value> {
    blocks.iter().flat_map(content).collect()
}

fn content(block: &Block) -> Vec<Value> {
    match block {
        Block::Heading(text) => vec![json!({ "heading": text })],
        Block::Paragraph(text, _) => vec![json!({ "text": text.plain() })],
        Block::List(list) => {
            let item = |item: &Item| {
                let Item { lead, badge, text, below, .. } = item;
                json!({ "badge": badge, "lead": lead, "text": text.plain(), "below": texts(below) })
            };
            list.items.iter().map(item).collect()
        }
        Block::Facts(facts) => {
            let facts = facts.iter().map(|(name, fact)| (name.plain(), fact.plain().into()));
            vec![json!({ "facts": facts.collect::<Map<String, Value>>() })]
        }
        Block::Entries(entries) => vec![json!({ "entries": texts(entries) })],
        Block::Tally(text, counts) => {
            let counts = counts.iter().map(|count| (count.words.clone(), count.count.into()));
            vec![json!({ "text": text, "counts": counts.collect::<Map<String, Value>>() })]
        }
        Block::Table(table) => vec![json!({ "table": table.label, "rows": rows(table) })],
        Block::Chart(chart) => {
            let rows = chart.figures.as_ref().map(rows);
            vec![json!({ "chart": chart.caption.plain(), "rows": rows })]
        }
        Block::Code(code) => vec![json!({ "code": code.text, "language": code.language })],
        Block::Fold(fold) => contents(&fold.blocks),
        Block::Depth { full, .. } => contents(full),
    }
}

fn rows(table: &Table) -> Vec<Value> {
    let value = |cell: &Cell| match cell.value.filter(|value| value.is_finite()) {
        Some(value) => json!(value),
        None => json!(cell.text.plain()),
    };
    let headings: Vec<String> = table.columns.iter().map(|column| column.heading.plain()).collect();
    let names = headings.iter().enumerate().map(|(place, heading)| {
        match headings[..place].iter().filter(|other| *other == heading).count() {
            0 => heading.clone(),
            before => format!("{heading} {}", before + 1),
        }
    });
    let names: Vec<String> = names.collect();
    let row = |cells: &[Cell]| -> Value {
        let named = names.iter().cloned().zip(cells.iter().map(value));
        named.collect::<Map<String, Value>>().into()
    };
    table.rows.iter().chain(&table.foot).map(|each| row(&each.cells)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{Column, Kind, Row, Section};

    #[test]
    fn tables_are_rows_by_heading_and_sentences_are_text() {
        let columns = ["statement", "steps", "steps"].map(Column::left);
        let steps = Cell { value: Some(1_812.0), ..Cell::new("1,812") };
        let rows = [Row::new([Cell::new("find_user"), steps, Cell::new("–")])];
        let table = Block::table(Table::new("statements", columns, rows));
        let empty = Block::table(Table::new("nothing", [], Vec::<Row>::new()));
        let blocks = vec![Block::paragraph("It scans."), table, empty];
        let section = Section::new("s", Kind::Chapter, "What it does", blocks);
        let document = Document { sections: vec![section], ..Document::default() };
        let expected = json!([
            { "text": "It scans." },
            { "table": "statements", "rows": [{ "statement": "find_user", "steps": 1_812.0, "steps 2": "–" }] },
            { "table": "nothing", "rows": [] },
        ]);
        assert_eq!(data(&document)["sections"][0]["content"], expected);
        // A table without columns has nothing to draw, and is no reason to fail.
        let style = crate::Style { width: 60, colour: false };
        crate::render::terminal(&document, style);
    }
}

//! Figures that no experiment supports, and lists that repeat themselves.

use pragmark_report as report;
use report::document::{Block, Sentence};

use crate::agreement::reading::{Reading, all, texts};

/// The largest difference that is called detectable, in per cent.
const LARGEST_DETECTABLE: f64 = 900.0;

pub fn faults(reading: &Reading<'_>) -> Vec<String> {
    let sections = reading.document.sections.iter();
    let blocks: Vec<&Block> = sections.flat_map(|section| all(&section.blocks)).collect();
    let mut faults = Vec::new();
    for block in blocks {
        for text in texts(block) {
            faults.extend(nonsense(&text).map(|why| format!("{why}: {text}")));
        }
        faults.extend(repeated(block).map(|repeated| format!("said twice in a list: {repeated}")));
    }
    faults
}

fn nonsense(text: &str) -> Option<&'static str> {
    if ["NaN", "inf ", "∞ times", "× "].iter().any(|it| text.contains(it)) {
        return Some("no number");
    }
    let detectable = text.split("detectable difference ").skip(1);
    let mut detectable = detectable.filter_map(|rest| number(rest.split(' ').next()?));
    detectable
        .any(|detectable| detectable > LARGEST_DETECTABLE)
        .then_some("a detectable difference beyond sense")
}

fn number(text: &str) -> Option<f64> {
    text.replace(',', "").parse().ok()
}

/// An item that a list has twice.
fn repeated(block: &Block) -> Option<String> {
    let Block::List(list) = block else {
        return None;
    };
    let said = |sentence: &Sentence| sentence.plain();
    let mut items: Vec<(String, Vec<String>)> = list
        .items
        .iter()
        .map(|item| (said(&item.text), item.below.iter().map(said).collect()))
        .collect();
    items.sort_unstable();
    let twice = items.windows(2).find(|two| two[0] == two[1])?;
    Some(twice[0].0.clone())
}

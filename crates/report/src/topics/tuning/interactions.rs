//! Recommended settings whose gains depend on each other.

use tuning::Interaction;
use tuning::TuningAnalysis;

use super::level_words;
use crate::document::{Block, Cell, Column, Row, Table};
use crate::figures;

/// The pairs that the model of the search knows; nothing where it knows none.
pub(super) fn blocks(tuning: &TuningAnalysis) -> Vec<Block> {
    if tuning.interactions.is_empty() {
        return Vec::new();
    }
    let columns = [
        Column::left("setting"),
        Column::left("with"),
        Column::right("together ÷ product of both alone"),
    ];
    let row = |interaction: &Interaction| {
        let [one, other] = &interaction.settings;
        let named = |name: &String| {
            let level = level_words(tuning.recommended.get(name));
            Cell::code(format!("{name}={level}"))
        };
        let ratio = figures::ratio(interaction.ratio, interaction.range);
        Row::new([named(one), named(other), Cell::number(Some(ratio))])
    };
    let rows = tuning.interactions.iter().map(row);
    let table = Table::new("Settings whose gains depend on each other", columns, rows);
    let how = "By the model of all trials of the search, compared with the current settings: above ×1, one setting brings more with \
               the other. Pairs are listed whose range excludes ×1, at 95 % for all pairs together; others may exist.";
    vec![
        Block::Heading("Settings whose gains depend on each other".to_owned()),
        Block::table(table),
        Block::small(how),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::tests::{analysis, text};
    use super::*;
    use lab::stats::Interval;

    #[test]
    fn pairs_are_listed_with_their_levels_and_ranges() {
        let mut tuning = analysis(Vec::new());
        assert!(blocks(&tuning).is_empty());
        tuning.interactions = vec![Interaction {
            settings: ["journal_mode".to_owned(), "cache_size".to_owned()],
            ratio: 1.5,
            range: Interval { low: 1.2, high: 1.9 },
        }];
        let text = text(blocks(&tuning));
        let row = text.lines().find(|line| line.contains("journal_mode=wal"));
        assert!(row.unwrap().contains("×1.5 \\[1.2, 1.9"), "{text}");
    }
}

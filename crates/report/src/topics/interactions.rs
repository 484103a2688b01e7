//! Joint effects of two settings that neither has alone.

use lab::analysis::effects::{Contrast, Effects, PairEffect};
use lab::level::Level;

use super::subject::{Subject, Wording, ratio_cell};
use crate::document::{
    Abridge, Block, Cell, Chart, Column, Map, MapCell, MapRow, Plot, Row, Sentence, Table, Tone,
};
use crate::figures;
use crate::words::{TOO_FEW_ROUNDS, mark};

/// A table of the interactions that were found; for those who can see, maps of the pairs instead.
pub(super) fn blocks(subject: &Subject<'_>) -> Vec<Block> {
    let Some(effects) = &subject.experiment.effects else { return Vec::new() };
    let overview = overview(effects, subject.metric());
    let only = effects.pairs.len() == 1;
    let pairs = effects.pairs.iter().filter(|pair| only || pair.is_found());
    let maps: Vec<Block> =
        overview.into_iter().chain(pairs.map(|pair| map(pair, subject.wording()))).collect();
    let full = if maps.is_empty() {
        maps
    } else {
        vec![Block::fold("Interactions between settings", maps)]
    };
    let brief = table(effects, subject.wording()).map(Block::table).into_iter().collect();
    vec![Block::Depth { brief, full }]
}

fn table(effects: &Effects, of: Wording<'_>) -> Option<Table> {
    let found = effects.interactions();
    let rows = found.iter().map(|(pair, interaction)| {
        let contrast = &interaction.contrast;
        let (sign, tone) = mark(contrast.compared(of.metric));
        let [one, other] =
            [0, 1].map(|side| of.setting(&pair.factors[side], &interaction.levels[side]));
        Row::new([
            Cell::new(one),
            Cell::new(other),
            Cell::new(ratio_cell(contrast.ratio, contrast.interval)).signed(sign, tone),
        ])
    });
    (!found.is_empty()).then(|| {
        Table::new(
            "Interactions",
            [
                Column::left("together"),
                Column::left("with"),
                Column::left("ratio to the product of both alone"),
            ],
            rows,
        )
        .abridged(Abridge::End)
    })
}

/// Returns a map of the strongest interaction of each two factors; none for a single pair.
fn overview(effects: &Effects, metric: &str) -> Option<Block> {
    if effects.pairs.len() < 2 {
        return None;
    }
    let mut names: Vec<&String> = effects.pairs.iter().flat_map(|pair| &pair.factors).collect();
    names.sort_unstable();
    names.dedup();
    let (columns, rows) = (&names[..names.len() - 1], &names[1..]);
    let rows = rows.iter().enumerate().map(|(index, row)| {
        let cells = columns[..=index].iter().map(|column| {
            let is_of_both =
                |pair: &&PairEffect| pair.factors.contains(row) && pair.factors.contains(column);
            let pair = effects.pairs.iter().find(is_of_both);
            pair.map_or_else(|| without("not crossed"), |pair| strongest(pair, metric))
        });
        let (name, cells) = ((*row).clone(), cells.collect());
        MapRow { name, cells }
    });
    let map = Map {
        columns: columns.iter().map(|name| (*name).clone()).collect(),
        rows: rows.collect(),
        ..Map::default()
    };
    let remark = "×1: they do together what each does alone; ▲ better, ▼ worse than that";
    Some(chart("Two settings together: the strongest interaction of each pair", remark, map))
}

fn chart(caption: &str, remark: &str, map: Map) -> Block {
    let chart = Chart::new(Sentence::marked(caption), Plot::Map(map));
    Block::chart(chart.with_remark(remark))
}

/// The strongest interaction of a pair that was found.
fn strongest(pair: &PairEffect, metric: &str) -> MapCell {
    let found = pair.cells.iter().filter(|cell| cell.contrast.is_found());
    let strongest = found.max_by(|a, b| a.contrast.size().total_cmp(&b.contrast.size()));
    match strongest {
        Some(strongest) => MapCell {
            below: strongest.levels.each_ref().map(Level::to_string).join(" + "),
            ..cell(&strongest.contrast, metric)
        },
        None => MapCell {
            tone: Tone::Same,
            text: "≈".to_owned(),
            below: "none detected".to_owned(),
            ..MapCell::default()
        },
    }
}

fn map(pair: &PairEffect, of: Wording<'_>) -> Block {
    // Narrow screens have more room downwards.
    let (rows, columns) =
        if pair.levels[0].len() >= pair.levels[1].len() { (0, 1) } else { (1, 0) };
    let cell_of = |row_index: usize, row: &Level, column_index: usize, column: &Level| {
        let levels = if rows == 0 { [row, column] } else { [column, row] };
        match (row_index, column_index, pair.cell(levels)) {
            (0, _, _) | (_, 0, _) => MapCell { text: "×1".to_owned(), ..MapCell::default() },
            (.., Some(found)) => cell(&found.contrast, of.metric),
            (.., None) => without("not measured"),
        }
    };
    let map_row = |(index, row): (usize, &Level)| {
        let cells = pair.levels[columns].iter().enumerate();
        let cells = cells.map(|(place, column)| cell_of(index, row, place, column));
        let (name, cells) = (of.level(&pair.factors[rows], row).plain(), cells.collect());
        MapRow { name, cells }
    };
    let column_names = pair.levels[columns].iter();
    let column_names = column_names.map(|name| of.level(&pair.factors[columns], name).plain());
    let map = Map {
        row_factor: Some(pair.factors[rows].clone()),
        column_factor: Some(pair.factors[columns].clone()),
        columns: column_names.collect(),
        rows: pair.levels[rows].iter().enumerate().map(map_row).collect(),
        reasons: Vec::new(),
    };
    let caption = format!("`{}` with `{}`", pair.factors[rows], pair.factors[columns]);
    chart(
        &caption,
        "both together, divided by the product of both alone; ▲ better, ▼ worse, ≈ the interval includes ×1",
        map,
    )
}

fn cell(contrast: &Contrast, metric: &str) -> MapCell {
    if !contrast.is_supported() {
        return without(TOO_FEW_ROUNDS);
    }
    let (sign, tone) = mark(contrast.compared(metric));
    let ratio = figures::ratio_alone(contrast.ratio, contrast.interval);
    MapCell {
        tone,
        times: contrast.size(),
        text: format!("{sign} {ratio}"),
        below: figures::interval_of_ratio(contrast.ratio, contrast.interval),
        reason: None,
    }
}

fn without(words: &str) -> MapCell {
    MapCell { tone: Tone::Missing, text: words.to_owned(), ..MapCell::default() }
}

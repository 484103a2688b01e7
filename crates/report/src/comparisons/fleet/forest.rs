//! The ratio of a variant on each machine as a forest plot, with the summaries below.

use lab::fleet::{DiskSummary, FleetAnalysis, FleetExperiment, FleetVariant, MachineRatio};
use lab::metric::higher_is_better;
use lab::stats::Interval;

use super::{DRAWN, of_disk};
use crate::document::{
    Abridge, Block, Cell, Chart, Column, Forest, ForestRow, Mark, Marks, Plot, Row, Scale,
    Sentence, Table, Tone,
};
use crate::figures::ratio;

/// The ratio on each machine, and the summaries below them.
pub(super) fn block(
    experiment: &FleetExperiment,
    variant: &FleetVariant,
    analysis: &FleetAnalysis,
) -> Option<Block> {
    let tone = |interval| tone(interval, &experiment.metric);
    if variant.machines.is_empty() {
        return None;
    }
    let mut sorted: Vec<&MachineRatio> = variant.machines.iter().collect();
    sorted.sort_by(|one, other| other.ratio.total_cmp(&one.ratio));
    let all = sorted.len();
    let drawn: Vec<ForestRow> = sorted
        .iter()
        .enumerate()
        .filter(|(place, _)| all <= DRAWN || *place < DRAWN / 2 || place + DRAWN / 2 >= all)
        .map(|(_, it)| machine_row(it, tone(it.interval), analysis))
        .collect();
    let remark = (all > DRAWN).then(|| {
        format!("drawn: the {} largest and the {} smallest of {all} ratios.", DRAWN / 2, DRAWN / 2)
    });
    let plot = Plot::Forest(Forest {
        scale: Scale::Ratio,
        baseline: Some(1.0),
        columns: vec!["ratio".to_owned()],
        rows: drawn,
        bounds: variant
            .summaries
            .iter()
            .map(|summary| summary_forest_row(summary, tone(summary.interval)))
            .collect(),
    });
    let chart = Chart {
        remark,
        figures: Some(ratios(&sorted, analysis)),
        ..Chart::new(Sentence::code(&variant.name).words(" to the baseline on each machine"), plot)
    };
    Some(Block::chart(chart))
}

/// Whether a ratio with this interval is better than the baseline by this metric.
pub(super) fn tone(interval: Interval, metric: &str) -> Tone {
    let (above, below) = if higher_is_better(metric) {
        (Tone::Better, Tone::Worse)
    } else {
        (Tone::Worse, Tone::Better)
    };
    match interval {
        interval if interval.low > 1.0 => above,
        interval if interval.high < 1.0 => below,
        _ => Tone::Same,
    }
}

fn machine_row(it: &MachineRatio, tone: Tone, analysis: &FleetAnalysis) -> ForestRow {
    let machine = &analysis.machines[it.machine];
    let text = ratio(it.ratio, it.interval);
    ForestRow {
        tone,
        id: machine.agent.clone(),
        name: Sentence::code(&machine.agent),
        detail: Sentence::from(machine.attributes.class.as_str()),
        marks: Some(Marks {
            dot: it.ratio,
            range: it.interval,
            interval: Some(it.interval),
            mark: Mark::Circle,
        }),
        words: format!("{}: {text}", machine.agent),
        cells: vec![text],
        ..ForestRow::default()
    }
}

fn summary_forest_row(it: &DiskSummary, tone: Tone) -> ForestRow {
    let text = ratio(it.ratio, it.interval);
    let name = of_disk(it);
    ForestRow {
        tone,
        id: name.clone(),
        name: Sentence::from(name.as_str()),
        detail: Sentence::from("mean; thin line: another machine"),
        marks: Some(Marks {
            dot: it.ratio,
            range: it.prediction.unwrap_or(it.interval),
            interval: Some(it.interval),
            mark: Mark::Diamond,
        }),
        words: format!("{name}: {text}"),
        cells: vec![text],
        ..ForestRow::default()
    }
}

fn ratios(sorted: &[&MachineRatio], analysis: &FleetAnalysis) -> Table {
    let columns = [Column::left("machine"), Column::right("ratio"), Column::right("blocks")];
    let row = |it: &&MachineRatio| {
        Row::new([
            Cell::code(&analysis.machines[it.machine].agent),
            Cell { value: Some(it.ratio), ..Cell::number(Some(ratio(it.ratio, it.interval))) },
            Cell::number(Some(it.blocks.to_string())),
        ])
    };
    Table {
        sortable: true,
        abridge: Abridge::End,
        ..Table::new("ratio on each machine", columns, sorted.iter().map(row))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_larger_ratio_is_better_only_where_the_metric_says_so() {
        let above = Interval { low: 1.2, high: 1.4 };
        let below = Interval { low: 0.6, high: 0.8 };
        let tones = |metric: &str| [above, below].map(|it| tone(it, metric));
        assert_eq!(tones("rows_per_s"), [Tone::Better, Tone::Worse]);
        for metric in ["seconds", "seconds.index", "p99_us", "db_bytes"] {
            assert_eq!(tones(metric), [Tone::Worse, Tone::Better], "{metric}");
        }
        let open = Interval { low: 0.9, high: 1.1 };
        assert_eq!(tone(open, "seconds"), Tone::Same);
    }
}

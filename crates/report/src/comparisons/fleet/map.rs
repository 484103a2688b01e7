//! The map of the fleet: the ratio of every variant on every machine, machines of one class together.

use lab::fleet::{FleetAnalysis, FleetExperiment, FleetVariant, MachineRatio};

use super::forest::tone;
use super::{DRAWN, counted};
use crate::document::{Block, Chart, Fold, Map, MapCell, MapRow, Plot, Tone};
use crate::figures;

/// The map, folded where there are many machines; none for a single one.
pub(super) fn block(experiment: &FleetExperiment, analysis: &FleetAnalysis) -> Option<Block> {
    let map = map(experiment, analysis);
    if map.rows.len() < 2 {
        return None;
    }
    let machines = counted(map.rows.len(), "machine");
    let is_long = map.rows.len() > DRAWN;
    let chart = Chart::new("Ratio to the baseline on each machine, by class", Plot::Map(map));
    let chart = Block::chart(chart.with_remark(
        "blue is better than the baseline, orange worse, as far as the interval at 95 % of the machine tells",
    ));
    Some(Block::full(vec![if is_long {
        Block::Fold(Fold::new(format!("Map of {machines}"), vec![chart]))
    } else {
        chart
    }]))
}

fn map(experiment: &FleetExperiment, analysis: &FleetAnalysis) -> Map {
    let mut machines: Vec<usize> = (0..analysis.machines.len()).collect();
    let class = |it: &usize| &analysis.machines[*it].attributes.class;
    machines.retain(|machine| {
        experiment.variants.iter().any(|variant| of(variant, *machine).is_some())
    });
    machines.sort_by_key(|machine| (class(machine), &analysis.machines[*machine].agent));
    let row = |machine: usize| MapRow {
        name: format!("{}: {}", class(&machine), analysis.machines[machine].agent),
        cells: experiment
            .variants
            .iter()
            .map(|variant| {
                of(variant, machine).map_or_else(missing, |it| cell(it, &experiment.metric))
            })
            .collect(),
    };
    Map {
        row_factor: Some("machine".to_owned()),
        column_factor: Some("variant".to_owned()),
        columns: experiment.variants.iter().map(|variant| variant.name.clone()).collect(),
        rows: machines.into_iter().map(row).collect(),
        reasons: vec!["fewer than three blocks".to_owned()],
    }
}

fn of(variant: &FleetVariant, machine: usize) -> Option<&MachineRatio> {
    let found = variant.machines.binary_search_by_key(&machine, |it| it.machine);
    found.ok().map(|it| &variant.machines[it])
}

fn cell(it: &MachineRatio, metric: &str) -> MapCell {
    MapCell {
        tone: tone(it.interval, metric),
        times: it.ratio.max(1.0 / it.ratio),
        text: figures::ratio_alone(it.ratio, it.interval),
        ..MapCell::default()
    }
}

fn missing() -> MapCell {
    MapCell { tone: Tone::Missing, text: "–".to_owned(), reason: Some(1), ..MapCell::default() }
}

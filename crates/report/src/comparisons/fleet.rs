//! One run on many machines: where they disagree, the ratios on each and on all, claims by class, and the machines.

use std::collections::BTreeMap;

use lab::claims::Verdict;
use lab::comparison::{
    Agreement, DiskSummary, Explanation, FleetAnalysis, FleetClaim, FleetExperiment, FleetVariant,
    Machine, MachineRatio, Ratio, Standing, Unanswered,
};
use lab::metric::Unit;
use lab::stats::Interval;

use super::cells::{mark, measured};
use crate::document::{
    Abridge, Block, Cell, Chart, Column, Document, Fold, Forest, ForestRow, Item, Kind, Map,
    MapCell, MapRow, Mark, Marks, Plot, Row, Scale, Section, Sentence, Table, Tone, blocks, led,
};
use crate::figures::{count, ratio_alone, significant, with_unit};
use crate::words::{plural, verdict_counts, verdict_mark};

/// Machines that a plot shows one by one; of more, the most extreme ones.
const DRAWN: usize = 40;

/// Explanation of the summaries.
const LEAD: &str = "Ratios to the baseline, compared within each machine. The mean over machines is a random-effects \
summary (DerSimonian and Laird) with the interval of Hartung and Knapp; I² is the share of the variation that is between \
machines. Different kinds of disks are never averaged, and unknown ones have no mean.";

/// Returns the report of a fleet; `pages` are the page of each group by its name.
pub fn fleet(analysis: &FleetAnalysis, run: &str, pages: &[(String, String)]) -> Document {
    let experiments = analysis.experiments.iter().enumerate();
    let title = "What holds everywhere, and what depends on the machine";
    let agreement = Section::new("agreement", Kind::Highlights, title, highlights(analysis));
    let mut sections = vec![agreement];
    sections.extend(experiments.map(|(index, experiment)| Section {
        anchor: format!("experiment-{}", index + 1),
        title: Sentence::marked(&experiment.question),
        eyebrow: Sentence::code(&experiment.key),
        blocks: of_experiment(experiment, analysis),
        ..Section::default()
    }));
    let machines = machines(analysis, pages);
    sections.push(Section::new("machines", Kind::Chapter, "The machines", machines));
    Document {
        title: "A run over a fleet".to_owned(),
        on: Some(format!(
            "{} in {}",
            counted(analysis.machines.len(), "machine"),
            plural(analysis.classes.len(), "class", "classes")
        )),
        about: vec![Sentence::from("run: ").and_code(run)],
        sections,
        ..Document::default()
    }
}

fn counted(count: usize, what: &str) -> String {
    plural(count, what, &format!("{what}s"))
}

/// Returns missing answers and disagreements first, then the effects that all machines share.
fn highlights(analysis: &FleetAnalysis) -> Vec<Block> {
    let experiments = || analysis.experiments.iter();
    let variants = || {
        experiments().flat_map(|experiment| {
            experiment.variants.iter().map(move |variant| (experiment, variant))
        })
    };
    let (disagreeing, agreeing): (Vec<_>, Vec<_>) =
        variants().partition(|(_, variant)| variant.disagrees());
    let mut items: Vec<Item> = analysis.unanswered.iter().map(unanswered).collect();
    items.extend(disagreeing.into_iter().map(|(of, variant)| disagreement(of, variant, analysis)));
    items.extend(apart(analysis));
    let claims = experiments()
        .flat_map(|experiment| experiment.claims.iter().map(move |claim| (experiment, claim)));
    let differing = claims.filter(|(_, claim)| claim.overall == Agreement::Differ);
    items.extend(differing.map(|(experiment, claim)| divided(experiment, claim)));
    items.extend(agreeing.into_iter().flat_map(|(of, variant)| {
        variant.summaries.iter().filter_map(move |summary| everywhere(of, variant, summary))
    }));
    if items.is_empty() {
        items.push(Item::new(nothing_found(analysis)));
    }
    Block::list(items).into_iter().collect()
}

/// Returns one item for each machine whose ratios the others of its kind do not show, with the first of these ratios.
fn apart(analysis: &FleetAnalysis) -> Vec<Item> {
    let mut of_machine: BTreeMap<usize, Vec<Sentence>> = BTreeMap::new();
    for experiment in &analysis.experiments {
        for variant in &experiment.variants {
            for check in variant.checks.iter().filter(|check| !check.agrees) {
                let text = named(experiment, variant).words(" ").figure(measured(check.own));
                let text = text.words(", others ").figure(measured(check.others));
                of_machine.entry(check.machine).or_default().push(text);
            }
        }
    }
    let item = |(machine, mut ratios): (usize, Vec<Sentence>)| {
        let text = format!(
            "{}: the other machines of its kind measured other ratios of {}. Its figures count: look for the cause, or run again without it (--on).",
            analysis.machines[machine].agent,
            counted(ratios.len(), "variant")
        );
        ratios.truncate(3);
        Item { below: ratios, ..Item::doubt(Some("does not agree"), Sentence::from(text)) }
    };
    of_machine.into_iter().map(item).collect()
}

/// Returns the item of a group without a whole answer.
fn unanswered(Unanswered { class, why }: &Unanswered) -> Item {
    let text = Sentence::from(format!("{class}: the run has not ended: {why}"));
    Item::doubt(Some("not measured in full"), text)
}

/// Returns the words for summaries and machines that do not differ.
fn nothing_found(analysis: &FleetAnalysis) -> &'static str {
    let variants = || analysis.experiments.iter().flat_map(|experiment| &experiment.variants);
    let is_summarised = variants().any(|variant| !variant.summaries.is_empty());
    let is_compared = variants().any(|variant| variant.machines.len() > 1);
    match (is_summarised, is_compared) {
        (true, _) => {
            "No ratio to the baseline differs detectably from 1 over the machines, and no machines differ detectably in direction."
        }
        (false, true) => {
            "There is no summary over machines: it needs three blocks of a variant on two machines with the same known kind of disk. No machines differ detectably in direction."
        }
        (false, false) => {
            "There is no summary over machines: it needs three blocks of a variant on two machines with the same known kind of disk."
        }
    }
}

fn disagreement(
    experiment: &FleetExperiment,
    variant: &FleetVariant,
    analysis: &FleetAnalysis,
) -> Item {
    let names = |indices: &[usize]| {
        let shown = indices.iter().take(3).map(|index| analysis.machines[*index].agent.as_str());
        let shown = shown.collect::<Vec<_>>().join(", ");
        match indices.len().saturating_sub(3) {
            0 => shown,
            more => format!("{shown} and {more} more"),
        }
    };
    let (above, below) = (names(&variant.above), names(&variant.below));
    let text = named(experiment, variant).words(format!(
        ": the machines disagree. The ratio is above 1 on {above} and below 1 on {below}."
    ));
    Item {
        below: variant.explained.iter().map(|one| Sentence::from(explained(one))).collect(),
        ..Item::doubt(Some("machines disagree"), text)
    }
}

fn named(experiment: &FleetExperiment, variant: &FleetVariant) -> Sentence {
    Sentence::from(format!("{}: ", experiment.key)).and_code(&variant.name)
}

fn explained(explanation: &Explanation) -> String {
    format!("Correlates with the {}: {}.", explanation.attribute, explanation.how)
}

fn divided(experiment: &FleetExperiment, claim: &FleetClaim) -> Item {
    let text = Sentence::from(format!("{}: the verdict on “", experiment.key))
        .words(&claim.says)
        .words("” depends on the machine.");
    Item::doubt(Some("verdicts differ"), text)
}

/// Returns the item of a difference that the summary of one kind of disk finds.
fn everywhere(
    experiment: &FleetExperiment,
    variant: &FleetVariant,
    summary: &DiskSummary,
) -> Option<Item> {
    if summary.ratio.interval.contains(1.0) {
        return None;
    }
    let expected = match summary.prediction {
        Some(prediction) => format!(" On another such machine expect {}.", between(prediction)),
        None => String::new(),
    };
    let text = named(experiment, variant)
        .words(format!(" on {}: ", of_disk(summary)))
        .figure(measured(summary.ratio))
        .words(format!(" to the baseline in {}.{expected}", experiment.metric));
    Some(Item::new(text))
}

fn of_disk(summary: &DiskSummary) -> String {
    format!("{} with {} disks", counted(summary.machines, "machine"), summary.disk)
}

fn between(interval: Interval) -> String {
    format!("×{} to ×{}", significant(interval.low), significant(interval.high))
}

fn of_experiment(experiment: &FleetExperiment, analysis: &FleetAnalysis) -> Vec<Block> {
    let (baseline, metric) = (&experiment.baseline, &experiment.metric);
    let of_variant = |variant: &FleetVariant| {
        let attributes = variant.explained.iter().map(|one| Item::new(explained(one)));
        blocks![forest(experiment, variant, analysis), Block::list(attributes)]
    };
    blocks![
        Block::small(format!("{LEAD} The baseline is {baseline}, the metric {metric}.")),
        summaries(experiment),
        by_class(experiment, analysis),
        claims(experiment, analysis),
        map_block(experiment, analysis),
        experiment.variants.iter().flat_map(of_variant),
    ]
}

/// Returns the summaries, a row for each variant and kind of disk.
fn summaries(experiment: &FleetExperiment) -> Block {
    let figures = ["machines", "mean ratio", "on another machine", "I²"].map(Column::right);
    let columns = ["variant", "disks"].map(Column::left).into_iter().chain(figures);
    let rows = experiment.variants.iter().flat_map(|variant| {
        let rows = variant.summaries.iter().map(|summary| summary_row(variant, summary));
        let rows: Vec<Row> = rows.collect();
        if rows.is_empty() { vec![unsummarised(variant)] } else { rows }
    });
    Block::table(Table::new("summary over machines", columns, rows))
}

fn summary_row(variant: &FleetVariant, summary: &DiskSummary) -> Row {
    Row::new([
        Cell::code(&variant.name),
        Cell::new(summary.disk.to_string()),
        Cell::number(Some(summary.machines.to_string())),
        Cell::number(Some(measured(summary.ratio))),
        Cell::number(summary.prediction.map(between)),
        Cell::number(Some(format!("{:.0} %", summary.inconsistency * 100.0))),
    ])
}

fn unsummarised(variant: &FleetVariant) -> Row {
    let why = match variant.machines.len() {
        0 => "no machine has three blocks",
        _ => "no two machines with the same known kind of disk have three blocks",
    };
    let cells = [Cell::code(&variant.name), Cell::new(why)];
    Row::new(cells.into_iter().chain([0; 4].map(|_| Cell::number(None))))
}

/// Returns the ratios of classes that answer as a whole, a column each.
fn by_class(experiment: &FleetExperiment, analysis: &FleetAnalysis) -> Option<Block> {
    if experiment.variants.iter().all(|variant| variant.classes.is_empty()) {
        return None;
    }
    let classes = || analysis.classes.iter();
    let columns =
        led(Column::left("variant"), classes().map(|class| Column::right(class.as_str())));
    let row = |variant: &FleetVariant| {
        let ratio = |class| variant.classes.get(class).map(|ratio| measured(*ratio));
        Row::led(Cell::code(&variant.name), classes().map(|class| Cell::number(ratio(class))))
    };
    let rows = experiment.variants.iter().map(row);
    let table = Table::new("ratio by class", columns, rows);
    Some(Block::Fold(Fold {
        open: true,
        printed: true,
        ..Fold::new("Ratio by class, from all blocks of its machines", vec![Block::table(table)])
    }))
}

/// Returns the claims by class.
fn claims(experiment: &FleetExperiment, analysis: &FleetAnalysis) -> Option<Block> {
    if experiment.claims.is_empty() {
        return None;
    }
    let classes = analysis.classes.iter();
    let columns = [Column::left("claim").prose(), Column::left("all classes")]
        .into_iter()
        .chain(classes.map(|class| Column::left(class.as_str())));
    let row = |claim: &FleetClaim| {
        let of_classes = analysis.classes.iter().map(|class| verdict_of_class(claim, class));
        let first = [Cell::new(claim.says.as_str()), agreement_cell(claim.overall)];
        Row::new(first.into_iter().chain(of_classes))
    };
    let rows = experiment.claims.iter().map(row);
    Some(Block::table(Table::new("claims by class", columns, rows)))
}

fn verdict_of_class(claim: &FleetClaim, class: &str) -> Cell {
    match (claim.by_class.get(class), claim.of_class(class)) {
        (Some(all), Some(agreement @ (Agreement::Differ | Agreement::Undecided))) => {
            let sign = if agreement == Agreement::Differ { "≠" } else { "?" };
            let without = claim.without_verdict.get(class).copied();
            Cell::new(counted_verdicts(all, without.unwrap_or(0))).signed((sign, Tone::Doubt))
        }
        (_, Some(agreement)) => agreement_cell(agreement),
        (_, None) => Cell::number(None),
    }
}

fn counted_verdicts(all: &[Verdict], without: usize) -> String {
    let counts = verdict_counts(|verdict| all.iter().filter(|one| **one == verdict).count());
    let words = counts.iter().map(|count| format!("{} {}", count.count, count.words));
    let without = (without > 0).then(|| format!("{without} without a verdict"));
    words.chain(without).collect::<Vec<_>>().join(", ")
}

fn agreement_cell(agreement: Agreement) -> Cell {
    match agreement {
        Agreement::Differ => Cell::new("differs").signed(("≠", Tone::Doubt)),
        Agreement::Undecided => Cell::new("not decided everywhere").signed(("?", Tone::Doubt)),
        Agreement::All(verdict) => Cell::new(verdict.to_string()).signed(verdict_mark(verdict)),
    }
}

/// Returns a forest plot of the ratio on each machine, with the summaries below.
fn forest(
    experiment: &FleetExperiment,
    variant: &FleetVariant,
    analysis: &FleetAnalysis,
) -> Option<Block> {
    if variant.machines.is_empty() {
        return None;
    }
    let mut sorted: Vec<&MachineRatio> = variant.machines.iter().collect();
    sorted.sort_by(|one, other| other.ratio.ratio.total_cmp(&one.ratio.ratio));
    let all = sorted.len();
    let is_drawn = |place: usize| all <= DRAWN || place < DRAWN / 2 || place + DRAWN / 2 >= all;
    let drawn = sorted.iter().enumerate().filter(|(place, _)| is_drawn(*place));
    let rows = drawn.map(|(_, on_machine)| machine_row(on_machine, &experiment.metric, analysis));
    let bounds = variant.summaries.iter();
    let bounds = bounds.map(|summary| summary_forest_row(summary, &experiment.metric));
    let remark = (all > DRAWN).then(|| {
        let (half, all) = (DRAWN / 2, count(all));
        format!("drawn: the {half} largest and the {half} smallest of {all} ratios.")
    });
    let plot = Plot::Forest(Forest {
        scale: Scale::Ratio,
        baseline: Some(1.0),
        columns: vec!["ratio".to_owned()],
        rows: rows.collect(),
        bounds: bounds.collect(),
    });
    let chart = Chart {
        remark,
        figures: Some(ratios(&sorted, analysis)),
        ..Chart::new(Sentence::code(&variant.name).words(" to the baseline on each machine"), plot)
    };
    Some(Block::chart(chart))
}

fn machine_row(on_machine: &MachineRatio, metric: &str, analysis: &FleetAnalysis) -> ForestRow {
    let Machine { agent, attributes, .. } = &analysis.machines[on_machine.machine];
    ForestRow {
        name: Sentence::code(agent),
        detail: Sentence::from(attributes.class.as_str()),
        ..forest_row(agent, on_machine.ratio, on_machine.ratio.interval, Mark::Circle, metric)
    }
}

fn summary_forest_row(summary: &DiskSummary, metric: &str) -> ForestRow {
    let range = summary.prediction.unwrap_or(summary.ratio.interval);
    ForestRow {
        detail: Sentence::from("mean; thin line: another machine"),
        ..forest_row(&of_disk(summary), summary.ratio, range, Mark::Diamond, metric)
    }
}

fn forest_row(name: &str, ratio: Ratio, range: Interval, mark: Mark, metric: &str) -> ForestRow {
    let text = measured(ratio);
    let interval = Some(ratio.interval);
    ForestRow {
        tone: self::mark(ratio.change(metric)).1,
        id: name.to_owned(),
        name: Sentence::from(name),
        marks: Some(Marks { dot: ratio.ratio, range, interval, mark }),
        words: format!("{name}: {text}"),
        cells: vec![text],
        ..ForestRow::default()
    }
}

fn ratios(sorted: &[&MachineRatio], analysis: &FleetAnalysis) -> Table {
    let table = Table::of(
        "ratio on each machine",
        sorted,
        &[
            (Column::left("machine"), &|one| Cell::code(&analysis.machines[one.machine].agent)),
            (Column::right("ratio"), &|one| {
                Cell::figure(Some(one.ratio.ratio), |_| measured(one.ratio))
            }),
            (Column::right("blocks"), &|one| Cell::number(Some(one.blocks.to_string()))),
        ],
    );
    table.sortable().abridged(Abridge::End)
}

/// Returns the map of the ratio of every variant on every machine, machines of one class together: folded if there are many
/// machines, none for a single one.
fn map_block(experiment: &FleetExperiment, analysis: &FleetAnalysis) -> Option<Block> {
    let map = map(experiment, analysis);
    let all = map.rows.len();
    if all < 2 {
        return None;
    }
    let chart = Chart::new("Ratio to the baseline on each machine, by class", Plot::Map(map));
    let chart = Block::chart(chart.with_remark(
        "blue is better than the baseline, orange worse, as far as the interval at 95 % of the machine tells",
    ));
    let title = format!("Map of {}", counted(all, "machine"));
    let is_long = all > DRAWN;
    Some(Block::full(vec![if is_long { Block::unprinted(title, vec![chart]) } else { chart }]))
}

fn map(experiment: &FleetExperiment, analysis: &FleetAnalysis) -> Map {
    let on = |variant: &FleetVariant, machine: usize| {
        let found = variant.machines.binary_search_by_key(&machine, |one| one.machine);
        found.ok().map(|place| variant.machines[place].ratio)
    };
    let variants = &experiment.variants;
    let class = |machine: usize| &analysis.machines[machine].attributes.class;
    let mut machines: Vec<usize> = (0..analysis.machines.len()).collect();
    machines.retain(|machine| variants.iter().any(|variant| on(variant, *machine).is_some()));
    machines.sort_by_key(|machine| (class(*machine), &analysis.machines[*machine].agent));
    let cell = |variant: &FleetVariant, machine: usize| match on(variant, machine) {
        Some(ratio) => MapCell {
            tone: mark(ratio.change(&experiment.metric)).1,
            times: ratio.ratio.max(1.0 / ratio.ratio),
            text: ratio_alone(ratio.ratio, ratio.interval),
            ..MapCell::default()
        },
        None => MapCell {
            tone: Tone::Missing,
            text: "–".to_owned(),
            reason: Some(1),
            ..MapCell::default()
        },
    };
    let row = |machine: usize| MapRow {
        name: format!("{}: {}", class(machine), analysis.machines[machine].agent),
        cells: variants.iter().map(|variant| cell(variant, machine)).collect(),
    };
    let rows: Vec<MapRow> = machines.into_iter().map(row).collect();
    let has_gap = rows.iter().flat_map(|row| &row.cells).any(|cell| cell.reason.is_some());
    Map {
        row_factor: Some("machine".to_owned()),
        column_factor: Some("variant".to_owned()),
        columns: variants.iter().map(|variant| variant.name.clone()).collect(),
        rows,
        reasons: has_gap.then(|| "fewer than three blocks".to_owned()).into_iter().collect(),
    }
}

fn machines(analysis: &FleetAnalysis, pages: &[(String, String)]) -> Vec<Block> {
    let text = |text: &Option<String>| Cell::new(text.as_deref().unwrap_or("unknown"));
    let table = Table::of(
        "the machines",
        &analysis.machines,
        &[
            (Column::left("machine"), &|machine| Cell::code(&machine.agent)),
            (Column::left("class"), &|machine| Cell::new(machine.attributes.class.as_str())),
            (Column::left("disk"), &|machine| Cell::new(machine.attributes.disk.to_string())),
            (Column::right("fsync, median"), &|machine| {
                let seconds = machine.attributes.fsync_ns.map(|ns| ns as f64 / 1e9);
                Cell::figure(seconds, |seconds| with_unit(seconds, Unit::Seconds))
            }),
            (Column::left("processor"), &|machine| text(&machine.attributes.cpu)),
            (Column::left("file system"), &|machine| text(&machine.attributes.file_system)),
            (Column::left("kernel"), &|machine| text(&machine.attributes.kernel)),
            (Column::right("blocks"), &|machine| Cell::number(Some(machine.blocks.to_string()))),
            (Column::left("agrees"), &|machine| Cell::new(standing(machine.standing))),
        ],
    );
    let table = table.sortable().abridged(Abridge::End);
    let table = Block::table(table);
    let listed = if analysis.machines.len() > DRAWN {
        Block::fold(counted(analysis.machines.len(), "machine"), vec![table])
    } else {
        table
    };
    let page = |(group, page): &(String, String)| {
        Item::new(Sentence::from(format!("{group}: the whole report is in ")).and_code(page))
    };
    let list = Block::list(pages.iter().map(page));
    let list = list.map(|list| {
        if pages.len() > DRAWN {
            let groups = count(pages.len());
            let brief = format!("The reports of the {groups} groups are in groups.");
            let full = Block::fold(format!("The reports of {groups} groups"), vec![list]);
            Block::Depth { brief: vec![Block::small(brief)], full: vec![full] }
        } else {
            list
        }
    });
    blocks![listed, Block::small(checked(analysis)), list]
}

fn standing(standing: Standing) -> &'static str {
    match standing {
        Standing::NotChecked => "not checked",
        Standing::Agrees => "yes",
        Standing::Differs => "no",
    }
}

/// Returns how the machines were checked, and which were not.
fn checked(analysis: &FleetAnalysis) -> String {
    let reruns: usize = analysis.machines.iter().map(|machine| machine.reruns).sum();
    let not_checked = analysis.machines.iter();
    let not_checked = not_checked.filter(|machine| machine.standing == Standing::NotChecked);
    let why = match not_checked.count() {
        0 => String::new(),
        count => format!(
            " {} not checked: it, or every other machine of the same class and kind of disk, lacks three blocks of the same variants.",
            plural(count, "machine is", "machines are")
        ),
    };
    format!(
        "A machine agrees if its ratios differ from the others of its class, beyond noise, by at most a quarter, or by at most as much as the others differ from each other. A second agent carried out {} for this comparison.{why}",
        counted(reruns, "block")
    )
}

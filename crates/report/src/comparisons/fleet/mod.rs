//! One run on many machines: where they disagree, the ratios on each and on all, claims by class, and the machines.

mod forest;
mod map;

use lab::claims::Verdict;
use lab::fleet::{
    Agreement, DiskSummary, FleetAnalysis, FleetClaim, FleetExperiment, FleetVariant, Unanswered,
};
use lab::stats::Interval;

use crate::document::{
    Block, Cell, Column, Document, Fold, Item, Kind, Row, Section, Sentence, Table, Tone, led,
};
use crate::figures::{ratio, with_unit};
use crate::words::{verdict_counts, verdict_mark};
use lab::metric::Unit;

/// Machines that a plot shows one by one; of more, the most extreme ones.
const DRAWN: usize = 40;

/// What the summaries are.
const LEAD: &str = "Ratios to the baseline, compared within each machine. The mean over machines is a random-effects \
summary (DerSimonian and Laird) with the interval of Hartung and Knapp; I² is the share of the variation that is between \
machines. Different kinds of disks are never averaged, and unknown ones have no mean.";

/// The report of a fleet; `pages` are the page of each group by its name.
pub fn fleet(analysis: &FleetAnalysis, run: &str, pages: &[(String, String)]) -> Document {
    let experiments = analysis.experiments.iter().enumerate();
    let mut sections = vec![Section::new(
        "agreement",
        Kind::Highlights,
        "What holds everywhere, and what depends on the machine",
        highlights(analysis),
    )];
    sections.extend(experiments.map(|(index, it)| {
        let anchor = format!("experiment-{}", index + 1);
        let mut section = Section::new(&anchor, Kind::Chapter, "", of_experiment(it, analysis));
        section.title = Sentence::marked(&it.question);
        section.eyebrow = Sentence::code(&it.key);
        section
    }));
    sections.push(Section::new(
        "machines",
        Kind::Chapter,
        "The machines",
        machines(analysis, pages),
    ));
    Document {
        title: "A run over a fleet".to_owned(),
        on: Some(format!(
            "{} in {}",
            counted(analysis.machines.len(), "machine"),
            counted(analysis.classes.len(), "class")
        )),
        about: vec![Sentence::from("run: ").and_code(run)],
        sections,
        ..Document::default()
    }
}

fn counted(count: usize, what: &str) -> String {
    match (count, what) {
        (1, _) => format!("1 {what}"),
        (_, "class") => format!("{count} classes"),
        _ => format!("{count} {what}s"),
    }
}

/// What is missing and disagreements first, then what is alike.
fn highlights(analysis: &FleetAnalysis) -> Vec<Block> {
    let mut items: Vec<Item> = analysis.unanswered.iter().map(unanswered).collect();
    for experiment in &analysis.experiments {
        let variants = experiment.variants.iter();
        let disagreeing = variants.filter(|variant| variant.disagrees());
        items
            .extend(disagreeing.map(|disagreeing| disagreement(experiment, disagreeing, analysis)));
    }
    for experiment in &analysis.experiments {
        let claims = experiment.claims.iter();
        let claims = claims.filter(|claim| claim.overall == Agreement::Differ);
        items.extend(claims.map(|claim| divided(experiment, claim)));
    }
    for experiment in &analysis.experiments {
        for variant in experiment.variants.iter().filter(|variant| !variant.disagrees()) {
            items.extend(
                variant
                    .summaries
                    .iter()
                    .filter_map(|summary| everywhere(experiment, variant, summary)),
            );
        }
    }
    if items.is_empty() {
        items.push(Item::new(nothing_found(analysis)));
    }
    Block::list(items).into_iter().collect()
}

/// A group that has no whole answer.
fn unanswered(it: &Unanswered) -> Item {
    let text = Sentence::from(format!("{}: the run has not ended: {}", it.class, it.why));
    Item::doubt(Some("not measured in full"), text)
}

/// Where neither summaries nor machines differ.
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
        let shown = indices.iter().take(3).map(|index| analysis.machines[*index].agent.clone());
        let shown = shown.collect::<Vec<_>>().join(", ");
        match indices.len().saturating_sub(3) {
            0 => shown,
            more => format!("{shown} and {more} more"),
        }
    };
    let text = named(experiment, variant).words(format!(
        ": the machines disagree. The ratio is above 1 on {} and below 1 on {}.",
        names(&variant.above),
        names(&variant.below)
    ));
    Item {
        below: variant.explained.iter().map(|it| Sentence::from(explained(it))).collect(),
        ..Item::doubt(Some("machines disagree"), text)
    }
}

fn named(experiment: &FleetExperiment, variant: &FleetVariant) -> Sentence {
    Sentence::from(format!("{}: ", experiment.key)).and_code(&variant.name)
}

fn explained(it: &lab::fleet::Explanation) -> String {
    format!("Goes together with the {}: {}.", it.attribute, it.how)
}

fn divided(experiment: &FleetExperiment, claim: &FleetClaim) -> Item {
    let text = Sentence::from(format!("{}: the verdict on “", experiment.key))
        .words(&claim.says)
        .words("” depends on the machine.");
    Item::doubt(Some("verdicts differ"), text)
}

/// A difference that the summary of one kind of disk finds.
fn everywhere(
    experiment: &FleetExperiment,
    variant: &FleetVariant,
    summary: &DiskSummary,
) -> Option<Item> {
    if summary.interval.contains(1.0) {
        return None;
    }
    let expected = match summary.prediction {
        Some(prediction) => format!(" On another such machine expect {}.", between(prediction)),
        None => String::new(),
    };
    let text = named(experiment, variant)
        .words(format!(" on {}: ", of_disk(summary)))
        .figure(ratio(summary.ratio, summary.interval))
        .words(format!(" to the baseline in {}.{expected}", experiment.metric));
    Some(Item::new(text))
}

fn of_disk(summary: &DiskSummary) -> String {
    format!("{} with {} disks", counted(summary.machines, "machine"), summary.disk)
}

fn between(interval: Interval) -> String {
    let end = |value: f64| crate::figures::significant(value);
    format!("×{} to ×{}", end(interval.low), end(interval.high))
}

fn of_experiment(experiment: &FleetExperiment, analysis: &FleetAnalysis) -> Vec<Block> {
    let mut blocks = vec![
        Block::small(format!(
            "{LEAD} The baseline is {}, the metric {}.",
            experiment.baseline, experiment.metric
        )),
        summaries(experiment),
    ];
    blocks.extend(by_class(experiment, analysis));
    blocks.extend(claims(experiment, analysis));
    blocks.extend(map::block(experiment, analysis));
    for variant in &experiment.variants {
        blocks.extend(forest::block(experiment, variant, analysis));
        let attributes = variant.explained.iter().map(|it| Item::new(explained(it)));
        blocks.extend(Block::list(attributes));
    }
    blocks
}

/// The summaries, a line for each variant and kind of disk.
fn summaries(experiment: &FleetExperiment) -> Block {
    let columns = [
        Column::left("variant"),
        Column::left("disks"),
        Column::right("machines"),
        Column::right("mean ratio"),
        Column::right("on another machine"),
        Column::right("I²"),
    ];
    let rows = experiment.variants.iter().flat_map(|variant| {
        let rows = variant.summaries.iter().map(|summary| summary_row(variant, summary));
        let rows: Vec<Row> = rows.collect();
        if rows.is_empty() { vec![unsummarised(variant)] } else { rows }
    });
    Block::table(Table::new("summary over machines", columns, rows))
}

fn summary_row(variant: &FleetVariant, it: &DiskSummary) -> Row {
    Row::new([
        Cell::code(&variant.name),
        Cell::new(it.disk.to_string()),
        Cell::number(Some(it.machines.to_string())),
        Cell::number(Some(ratio(it.ratio, it.interval))),
        Cell::number(it.prediction.map(between)),
        Cell::number(Some(format!("{:.0} %", it.inconsistency * 100.0))),
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

/// The ratios of classes that answer as a whole, a column each.
fn by_class(experiment: &FleetExperiment, analysis: &FleetAnalysis) -> Option<Block> {
    if experiment.variants.iter().all(|variant| variant.classes.is_empty()) {
        return None;
    }
    let classes = analysis.classes.iter();
    let columns = led(Column::left("variant"), classes.map(|class| Column::right(class.as_str())));
    let row = |variant: &FleetVariant| {
        let classes = analysis.classes.iter().map(|class| {
            let it = variant.classes.get(class);
            Cell::number(it.map(|it| ratio(it.ratio, it.interval)))
        });
        Row::led(Cell::code(&variant.name), classes)
    };
    let rows = experiment.variants.iter().map(row);
    let table = Table::new("ratio by class", columns, rows);
    Some(Block::Fold(Fold {
        open: true,
        printed: true,
        ..Fold::new("Ratio by class, from all blocks of its machines", vec![Block::table(table)])
    }))
}

/// Claims by classes.
fn claims(experiment: &FleetExperiment, analysis: &FleetAnalysis) -> Option<Block> {
    if experiment.claims.is_empty() {
        return None;
    }
    let classes = analysis.classes.iter();
    let columns = [Column::left("claim").prose(), Column::left("all classes")]
        .into_iter()
        .chain(classes.map(|class| Column::left(class.as_str())));
    let row = |claim: &FleetClaim| {
        let of_classes = analysis.classes.iter();
        let of_classes = of_classes.map(|class| verdict_of_class(claim, class));
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
            Cell::new(counted_verdicts(all, without.unwrap_or(0))).signed(sign, Tone::Doubt)
        }
        (_, Some(agreement)) => agreement_cell(agreement),
        (_, None) => Cell::number(None),
    }
}

fn counted_verdicts(all: &[Verdict], without: usize) -> String {
    let counts = verdict_counts(|verdict| all.iter().filter(|it| **it == verdict).count());
    let words = counts.iter().map(|count| format!("{} {}", count.count, count.words));
    let without = (without > 0).then(|| format!("{without} without a verdict"));
    words.chain(without).collect::<Vec<_>>().join(", ")
}

fn agreement_cell(agreement: Agreement) -> Cell {
    match agreement {
        Agreement::Differ => Cell::new("differs").signed("≠", Tone::Doubt),
        Agreement::Undecided => Cell::new("not decided everywhere").signed("?", Tone::Doubt),
        Agreement::All(verdict) => {
            let (sign, tone) = verdict_mark(verdict);
            Cell::new(verdict.to_string()).signed(sign, tone)
        }
    }
}

fn machines(analysis: &FleetAnalysis, pages: &[(String, String)]) -> Vec<Block> {
    let columns = [
        Column::left("machine"),
        Column::left("class"),
        Column::left("disk"),
        Column::right("fsync, median"),
        Column::left("processor"),
        Column::left("file system"),
        Column::left("kernel"),
        Column::right("blocks"),
    ];
    let rows = analysis.machines.iter().map(|machine| {
        let about = &machine.attributes;
        let text = |text: &Option<String>| Cell::new(text.as_deref().unwrap_or("unknown"));
        let fsync_s = about.fsync_ns.map(|ns| ns as f64 / 1e9);
        Row::new([
            Cell::code(&machine.agent),
            Cell::new(about.class.as_str()),
            Cell::new(about.disk.to_string()),
            Cell::figure(fsync_s, |seconds| with_unit(seconds, Unit::Seconds)),
            text(&about.cpu),
            text(&about.file_system),
            text(&about.kernel),
            Cell::number(Some(machine.blocks.to_string())),
        ])
    });
    let table = Table {
        sortable: true,
        abridge: crate::document::Abridge::End,
        ..Table::new("the machines", columns, rows)
    };
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
            Block::Depth {
                brief: vec![Block::small(format!(
                    "The reports of the {} groups are in groups.",
                    pages.len()
                ))],
                full: vec![Block::fold(
                    format!("The reports of {} groups", pages.len()),
                    vec![list],
                )],
            }
        } else {
            list
        }
    });
    [listed].into_iter().chain(list).collect()
}

//! Runs compared with a base: their circumstances, ratios to each run's own baseline, and counters.

use lab::analysis::{ComparisonResult, Summary};
use lab::comparison::{
    Change, Count, Doubt, ExperimentComparison, Figure, Incomparable, RunComparison, Severity,
    StatementComparison, VariantComparison,
};
use lab::metric;

use super::{add_qualified, cells, differences, not_read, side, unmatched};
use crate::document::{
    Block, Cell, Column, Document, Item, Kind, Row, Section, Sentence, Table, blocks,
};
use crate::figures::percent;
use crate::words::{mark, metric_cell, metric_heading};

/// Returns the changes from the base to each other run. `settle` are commands that measure both sides together,
/// `unreadable` are runs that could not be read, with the reason.
pub fn runs(
    comparisons: &[RunComparison],
    settle: &[String],
    unreadable: &[(String, String)],
) -> Document {
    let base = comparisons.first().map(|comparison| side("base", &comparison.base));
    let new = comparisons.iter().map(|comparison| side("new", &comparison.new));
    let mut document = Document {
        title: "Runs compared".to_owned(),
        about: base.into_iter().chain(new).collect(),
        ..Document::default()
    };
    for (number, comparison) in (1..).zip(comparisons) {
        let name = (comparisons.len() > 1).then_some(comparison.new.as_str());
        let own = sections(comparison, number);
        add_qualified(&mut document, name, "", own);
    }
    document.sections.extend(settling(settle));
    document.sections.extend(not_read(unreadable));
    document
}

fn sections(comparison: &RunComparison, number: usize) -> Vec<Section> {
    let section = |name: &str, kind, title: &str, blocks| {
        Section::new(&format!("{name}-{number}"), kind, title, blocks)
    };
    let differing = "Different circumstances";
    let mut sections = vec![
        section("circumstances", Kind::Highlights, differing, circumstances(comparison)),
        section("changes", Kind::Highlights, "What changed", summary(comparison)),
    ];
    for (index, experiment) in (1..).zip(&comparison.experiments) {
        let anchor = format!("experiment-{number}-{index}");
        let blocks = experiment_blocks(experiment);
        sections.push(Section::new(&anchor, Kind::Chapter, &experiment.key, blocks));
    }
    let items = unmatched(&comparison.unmatched, "the new run", |name, run| {
        format!("only in {run}: {name}").into()
    });
    let list = Block::list(items);
    sections.extend(
        list.map(|list| section("rest", Kind::Chapter, "What is not compared", vec![list])),
    );
    sections
}

fn summary(comparison: &RunComparison) -> Vec<Block> {
    let mut items = Vec::new();
    for experiment in &comparison.experiments {
        for variant in &experiment.variants {
            let start = Sentence::from(format!("{}: ", experiment.key)).and_code(&variant.label);
            items.extend(change_item(&start, variant));
            items.extend(statement_items(&start, variant));
        }
    }
    if items.is_empty() {
        items.push(Item::new(nothing_changed(&comparison.experiments)));
    }
    Block::list(items).into_iter().collect()
}

/// Returns why no change is named: there was none, or nothing to see it by.
fn nothing_changed(experiments: &[ExperimentComparison]) -> String {
    if experiments.is_empty() {
        return "The runs have no experiment with the same name, workload and metric.".to_owned();
    }
    let variants = || experiments.iter().flat_map(|experiment| &experiment.variants);
    let mut reasons: Vec<Incomparable> =
        variants().filter_map(|variant| variant.incomparable).collect();
    let has_few = reasons.contains(&Incomparable::FewRounds);
    reasons.dedup();
    let ratios = if variants().all(|variant| variant.baseline) {
        "The runs have no variant besides the baseline in common, so there is no ratio to compare"
    } else if variants().any(|variant| variant.change.is_some()) {
        "No ratio to the baseline changed detectably"
    } else {
        match reasons[..] {
            [Incomparable::OtherBaseline] => {
                "The runs have different baselines, so no ratio can be compared"
            }
            [Incomparable::Unmeasured] => "No variant was measured in both runs",
            [Incomparable::BaselineUnmeasured] => {
                "A run did not measure the baseline, so no ratio can be compared"
            }
            _ if has_few => {
                "No ratio to the baseline has enough rounds in both runs to be compared"
            }
            _ => "No variant can be compared: the tables say why",
        }
    };
    format!(
        "{ratios}, and no statement has another plan, another answer or other counters that repeat exactly."
    )
}

fn change_item(start: &Sentence, variant: &VariantComparison) -> Option<Item> {
    let change = variant.change.filter(|change| change.verdict != Change::NotDetectable)?;
    let words = if change.verdict == Change::Better { "better" } else { "worse" };
    let words = format!(" is {words} compared with the baseline than in the base: ");
    let text = start.clone().words(words).figure(cells::measured(change.ratio)).words(".");
    Some(Item::signed(cells::mark(change.verdict), text))
}

fn statement_items(start: &Sentence, variant: &VariantComparison) -> Vec<Item> {
    let is_grave = |statement: &&StatementComparison| {
        statement.severity() >= Severity::More || statement.plan.is_some()
    };
    let item = |statement: &StatementComparison| {
        let words = match statement.severity() {
            Severity::Answer => "has another answer".to_owned(),
            Severity::Scan => {
                let scans = statement.plan.as_ref().map(|plan| plan.scans.join(", "));
                format!("now reads {} whole", scans.unwrap_or_default())
            }
            Severity::More => "needs more work".to_owned(),
            _ => "has another plan".to_owned(),
        };
        let start = start.clone().words(": ").and_code(&statement.name);
        Item::new(start.words(format!(" {words}.")))
    };
    variant.exact.statements.iter().filter(is_grave).map(item).collect()
}

fn doubt_words(doubt: &Doubt) -> String {
    match doubt {
        Doubt::OtherMachine => {
            "The runs are of different machines or disks: ratios may differ for that reason alone."
                .to_owned()
        }
        Doubt::TrialsAlone { run } => format!(
            "{run} is a table of trials: its machine, engines, settings and statements, and which blocks were disturbed, are not known."
        ),
        Doubt::TablesAlone { run } => format!(
            "{run} is from the tables of an export: the settings of its variants, their statements, and which blocks were disturbed, are not known."
        ),
        Doubt::Unfinished { run } => format!("{run} was stopped before its end."),
        Doubt::AaCheck { run, experiment } => format!(
            "{experiment} in {run}: the A/A check saw a difference between two measurements of the baseline."
        ),
        Doubt::Preliminary { run, experiment } => {
            format!("{experiment} in {run} is preliminary: it has fewer than seven rounds.")
        }
    }
}

fn circumstances(comparison: &RunComparison) -> Vec<Block> {
    let doubts = comparison.doubts.iter();
    let trials_alone = |doubt: &Doubt| matches!(doubt, Doubt::TrialsAlone { .. });
    let what_differs = if !comparison.differences.is_empty() {
        differences(&comparison.differences)
    } else {
        Block::paragraph(if doubts.clone().any(trials_alone) {
            "Not known: a table of trials does not name machine, engines and settings."
        } else {
            "Machine, system, engines, version of pragmark, scale and seed are the same."
        })
    };
    let how = Block::small(
        "Machines drift, so absolute times of two runs are facts and no verdict. Ratios to the baseline were measured \
         within each run in the same blocks; their intervals hold together with 95 % confidence.",
    );
    let doubts = Block::list(doubts.map(|doubt| Item::doubt(None, doubt_words(doubt))));
    blocks![what_differs, doubts, how]
}

fn experiment_blocks(experiment: &ExperimentComparison) -> Vec<Block> {
    let mut blocks = Vec::new();
    if !experiment.settings.is_empty() {
        blocks.push(Block::small("Settings of the baseline that differ:"));
        blocks.push(differences(&experiment.settings));
    }
    let heading = metric_heading(&experiment.metric);
    let median = |summary: Option<&Summary>| {
        metric_cell(summary.map(|summary| summary.median), &experiment.metric)
    };
    blocks.push(Block::table(Table::of(
        "variants",
        &experiment.variants,
        &[
            (Column::left("variant"), &|variant| Cell::code(&variant.label)),
            (Column::right(format!("{heading}, base")), &|variant| median(variant.base.as_ref())),
            (Column::right(format!("{heading}, new")), &|variant| median(variant.new.as_ref())),
            (Column::left("ratio to the baseline, new / base"), &|variant| {
                Cell::number(variant.change.map(|change| cells::measured(change.ratio)))
            }),
            (Column::left("verdict").prose(), &|variant| verdict(variant)),
        ],
    )));
    let counters: Vec<Row> = experiment.variants.iter().flat_map(counter_rows).collect();
    let columns = ["variant", "counter"].map(Column::left).into_iter().chain(cells::columns());
    if !counters.is_empty() {
        blocks.push(Block::small("Counters that differ:"));
        blocks.push(Block::table(Table::new("counters that changed", columns, counters)));
    }
    blocks
}

fn verdict(variant: &VariantComparison) -> Cell {
    let Some(change) = variant.change else {
        let why = match variant.incomparable {
            _ if variant.baseline => {
                return Cell::new("baseline").signed(mark(ComparisonResult::Baseline));
            }
            Some(Incomparable::OtherBaseline) => "another baseline",
            Some(Incomparable::Unmeasured) => "not measured in both",
            Some(Incomparable::BaselineUnmeasured) => "baseline not measured in both runs",
            Some(Incomparable::FewRounds) | None => "too few rounds",
        };
        return Cell::new(why).signed(mark(ComparisonResult::Unmeasured));
    };
    let words = match change.verdict {
        Change::Better => "better".to_owned(),
        Change::Worse => "worse".to_owned(),
        _ => {
            let detectable = percent(change.detectable);
            format!("no detectable change (smallest detectable: {detectable})")
        }
    };
    Cell::new(words).signed(cells::mark(change.verdict))
}

/// Returns the counters that changed: exact ones are verdicts, counts of a single pass are facts.
fn counter_rows(variant: &VariantComparison) -> Vec<Row> {
    let of_all = variant.exact.totals.iter().map(|figure| (None, figure));
    let of_statements = variant.exact.statements.iter().flat_map(|statement| {
        statement.figures.iter().map(move |figure| (Some(statement.name.as_str()), figure))
    });
    let changed = |figure: &Figure| figure.ratio().is_some_and(|ratio| ratio != 1.0);
    let exact = of_all.chain(of_statements).filter(|(_, figure)| changed(figure));
    // Counters of work that ends by time only say how fast it was, unless they are per unit of work.
    let once = variant.counted_once.iter().filter(|figure| figure.metric.contains("_per_"));
    let all = exact.chain(once.map(|figure| (None, figure)));
    let known = all.filter(|(_, figure)| metric::find(&figure.metric).is_some());
    let row = |(statement, figure): (Option<&str>, &Figure)| {
        let heading = metric_heading(&figure.metric);
        let of = statement.map_or(String::new(), |name| format!(" of {name}"));
        let first = [Cell::code(&variant.label), Cell::new(heading + &of)];
        let counter = match figure.base {
            Count::Once(_) => cells::counter_of_a_pass(figure),
            _ => cells::counter(figure),
        };
        Row::new(first.into_iter().chain(counter))
    };
    known.map(row).collect()
}

fn settling(commands: &[String]) -> Option<Section> {
    let blocks = vec![
        Block::paragraph("To learn which side is faster, measure both in one run on one machine:"),
        Block::code("sh", commands.join("\n")),
    ];
    (!commands.is_empty())
        .then(|| Section::new("settle", Kind::Chapter, "What would settle it", blocks))
}

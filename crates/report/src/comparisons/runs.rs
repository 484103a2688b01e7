//! Runs compared with a base: what differs in their circumstances, ratios to each run's own baseline, and counters.

use lab::exact::{Count, Figure, Statement, Weight};
use lab::metric;
use lab::runs::{
    Difference, Doubt, ExperimentComparison, Incomparable, RatioChange, RatioVerdict,
    RunComparison, VariantComparison,
};

use super::figures;
use crate::document::{
    Block, Cell, Code, Column, Document, Item, Kind, Row, Section, Sentence, Table, Tone,
};
use crate::figures::{figure, percent, ratio};
use crate::words::metric_heading;

/// What changed from the base to each other run; `settle` are commands that measure both sides together, `unreadable` are
/// runs that could not be read, with the reason.
pub fn runs(
    comparisons: &[RunComparison],
    settle: &[String],
    unreadable: &[(String, String)],
) -> Document {
    let mut document = Document { title: "Runs compared".to_owned(), ..Document::default() };
    let base = comparisons.first().map(|comparison| comparison.base.as_str());
    document.about.extend(base.map(|id| Sentence::from("base: ").and_code(id)));
    for (number, comparison) in comparisons.iter().enumerate() {
        document.about.push(Sentence::from("new: ").and_code(&comparison.new));
        let several = comparisons.len() > 1;
        for mut section in sections(comparison, number) {
            section.qualifier = several.then(|| comparison.new.clone());
            document.sections.push(section);
        }
    }
    document.sections.extend(settling(settle));
    document.sections.extend(Section::chapter(
        "unreadable",
        "What could not be read",
        super::not_read(unreadable),
    ));
    document
}

fn sections(comparison: &RunComparison, number: usize) -> Vec<Section> {
    let anchor = |name: &str| format!("{name}-{}", number + 1);
    let mut sections = vec![
        Section::new(
            &anchor("circumstances"),
            Kind::Highlights,
            "What differs in the circumstances",
            circumstances(comparison),
        ),
        Section::new(&anchor("changes"), Kind::Highlights, "What changed", summary(comparison)),
    ];
    for (index, experiment) in comparison.experiments.iter().enumerate() {
        let anchor = format!("{}-{}", anchor("experiment"), index + 1);
        let blocks = experiment_blocks(experiment);
        sections.push(Section::new(&anchor, Kind::Chapter, &experiment.key, blocks));
    }
    let only = |names: &[String], run: &str| {
        let item = |name: &String| Item::new(format!("only in {run}: {name}"));
        names.iter().map(item).collect::<Vec<_>>()
    };
    let items = only(&comparison.only_base, "the base").into_iter();
    let list = Block::list(items.chain(only(&comparison.only_new, "the new run")));
    sections.extend(list.map(|list| {
        Section::new(&anchor("rest"), Kind::Chapter, "What is not compared", vec![list])
    }));
    sections
}

fn summary(comparison: &RunComparison) -> Vec<Block> {
    let mut items = Vec::new();
    for experiment in &comparison.experiments {
        for it in &experiment.variants {
            items.extend(it.change.and_then(|change| change_item(experiment, it, change)));
            items.extend(statement_items(experiment, it));
        }
    }
    if items.is_empty() {
        items.push(Item::new(nothing_changed(&comparison.experiments)));
    }
    Block::list(items).into_iter().collect()
}

/// Why no change is named: there was none, or nothing to see it by.
fn nothing_changed(experiments: &[ExperimentComparison]) -> String {
    if experiments.is_empty() {
        return "The runs have no experiment with the same name, workload and metric.".to_owned();
    }
    let variants = || experiments.iter().flat_map(|experiment| &experiment.variants);
    let reasons = || variants().filter_map(|variant| variant.incomparable);
    let ratios = match reasons().next() {
        _ if variants().all(|variant| variant.baseline) => {
            "The runs have no variant besides the baseline in common, so there is no ratio to compare"
        }
        _ if variants().any(|variant| variant.change.is_some()) => {
            "No ratio to the baseline changed detectably"
        }
        Some(Incomparable::OtherBaseline)
            if reasons().all(|reason| reason == Incomparable::OtherBaseline) =>
        {
            "The runs have different baselines, so no ratio can be compared"
        }
        Some(Incomparable::Unmeasured)
            if reasons().all(|reason| reason == Incomparable::Unmeasured) =>
        {
            "No variant was measured in both runs"
        }
        Some(Incomparable::BaselineUnmeasured)
            if reasons().all(|reason| reason == Incomparable::BaselineUnmeasured) =>
        {
            "A run did not measure the baseline, so no ratio can be compared"
        }
        _ if reasons().all(|reason| reason != Incomparable::FewRounds) => {
            "No variant can be compared: the tables say why"
        }
        _ => "No ratio to the baseline has enough rounds in both runs to be compared",
    };
    format!(
        "{ratios}, and no statement has another plan, another answer or other counters that repeat exactly."
    )
}

fn change_item(
    experiment: &ExperimentComparison,
    it: &VariantComparison,
    change: RatioChange,
) -> Option<Item> {
    let (words, sign, tone) = match change.verdict {
        RatioVerdict::Better => ("better", "▲", Tone::Better),
        RatioVerdict::Worse => ("worse", "▼", Tone::Worse),
        RatioVerdict::NotDetectable => return None,
    };
    let start = Sentence::from(format!("{}: ", experiment.key)).and_code(&it.label);
    let text = start.words(format!(" is {words} compared with the baseline than in the base: "));
    Some(Item {
        sign: Some(sign),
        tone,
        ..Item::new(text.figure(ratio(change.ratio, change.interval)).words("."))
    })
}

fn statement_items(experiment: &ExperimentComparison, it: &VariantComparison) -> Vec<Item> {
    let grave =
        |statement: &&Statement| statement.weight() >= Weight::More || statement.plan.is_some();
    let item = |statement: &Statement| {
        let words = match statement.weight() {
            Weight::Answer => "has another answer".to_owned(),
            Weight::Scan => {
                let scans = statement.plan.as_ref().map_or(&[][..], |plan| &plan.scans);
                format!("now reads {} whole", scans.join(", "))
            }
            Weight::More => "needs more work".to_owned(),
            _ => "has another plan".to_owned(),
        };
        let start = Sentence::from(format!("{}: ", experiment.key)).and_code(&it.label);
        Item::new(start.words(": ").and_code(&statement.name).words(format!(" {words}.")))
    };
    it.exact.statements.iter().filter(grave).map(item).collect()
}

fn doubt(it: &Doubt) -> String {
    match it {
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
    let trials_alone = |doubt: &Doubt| matches!(doubt, Doubt::TrialsAlone { .. });
    let mut blocks = match comparison.differences.is_empty() {
        true if comparison.doubts.iter().any(trials_alone) => vec![Block::paragraph(
            "Not known: a table of trials says nothing of machine, engines and settings.",
        )],
        true => vec![Block::paragraph(
            "Machine, system, engines, version of pragmark, scale and seed are the same.",
        )],
        false => vec![differences(&comparison.differences)],
    };
    let doubts = comparison.doubts.iter();
    blocks.extend(Block::list(doubts.map(|it| Item::doubt(None, doubt(it)))));
    blocks.push(Block::small(
        "Machines drift, so absolute times of two runs are facts and no verdict. Ratios to the baseline were measured \
         within each run in the same blocks; their intervals hold together with 95 % confidence.",
    ));
    blocks
}

fn differences(all: &[Difference]) -> Block {
    let columns = [Column::left("what"), Column::left("base").prose(), Column::left("new").prose()];
    let row = |difference: &Difference| {
        Row::new(
            [&difference.what, &difference.base, &difference.new]
                .map(|text| Cell::new(text.as_str())),
        )
    };
    Block::table(Table::new("differences", columns, all.iter().map(row)))
}

fn experiment_blocks(experiment: &ExperimentComparison) -> Vec<Block> {
    let mut blocks = Vec::new();
    if !experiment.settings.is_empty() {
        blocks.push(Block::small("Settings of the baseline that differ:"));
        blocks.push(differences(&experiment.settings));
    }
    let heading = metric_heading(&experiment.metric);
    let columns = [
        Column::left("variant"),
        Column::right(format!("{heading}, base")),
        Column::right(format!("{heading}, new")),
        Column::left("ratio to the baseline, new / base"),
        Column::left("verdict").prose(),
    ];
    let rows = experiment.variants.iter().map(|variant| variant_row(&experiment.metric, variant));
    blocks.push(Block::table(Table::new("variants", columns, rows)));
    if let Some(table) = counters(experiment) {
        blocks.push(Block::small("Counters that differ:"));
        blocks.push(table);
    }
    blocks
}

fn variant_row(metric: &str, it: &VariantComparison) -> Row {
    let median = |summary: Option<&lab::analysis::Summary>| {
        Cell::figure(summary.map(|summary| summary.median), |value| figure(value, metric))
    };
    let (change, verdict) = match it.change {
        Some(change) => (Cell::number(Some(ratio(change.ratio, change.interval))), verdict(change)),
        None if it.baseline => {
            (Cell::number(None), Cell::new("baseline").signed("◆", Tone::Baseline))
        }
        None => (Cell::number(None), Cell::new(why_not(it)).signed("–", Tone::Missing)),
    };
    Row::new([
        Cell::code(&it.label),
        median(it.base.as_ref()),
        median(it.new.as_ref()),
        change,
        verdict,
    ])
}

/// Why the ratios of a variant are not compared.
fn why_not(it: &VariantComparison) -> &'static str {
    match it.incomparable {
        Some(Incomparable::OtherBaseline) => "another baseline",
        Some(Incomparable::Unmeasured) => "not measured in both",
        Some(Incomparable::BaselineUnmeasured) => "baseline not measured in both",
        Some(Incomparable::FewRounds) | None => "too few rounds",
    }
}

fn verdict(change: RatioChange) -> Cell {
    match change.verdict {
        RatioVerdict::Better => Cell::new("better").signed("▲", Tone::Better),
        RatioVerdict::Worse => Cell::new("worse").signed("▼", Tone::Worse),
        RatioVerdict::NotDetectable => Cell::new(format!(
            "no detectable change (smallest detectable: {})",
            percent(change.detectable)
        ))
        .signed("≈", Tone::Same),
    }
}

/// Counters that changed: those that repeat exactly are verdicts, those of a single counting pass are facts.
fn counters(experiment: &ExperimentComparison) -> Option<Block> {
    let rows: Vec<Row> = experiment.variants.iter().flat_map(counter_rows).collect();
    let columns = [
        Column::left("variant"),
        Column::left("counter"),
        Column::right("base"),
        Column::right("new"),
        Column::left("new / base"),
    ];
    (!rows.is_empty()).then(|| Block::table(Table::new("counters that changed", columns, rows)))
}

fn counter_rows(it: &VariantComparison) -> Vec<Row> {
    let is_verdict = |figure: &&Figure| figure.ratio().is_some_and(|ratio| ratio != 1.0);
    let of_all = it.exact.totals.iter().map(|figure| (None, figure));
    let of_statements = it.exact.statements.iter().flat_map(|statement| {
        let figures = statement.figures.iter();
        figures.map(move |figure| (Some(statement.name.as_str()), figure))
    });
    let exact = of_all.chain(of_statements).filter(|(_, it)| is_verdict(it));
    // Raw counts of work that ends by time say how fast it was.
    let per_unit = |figure: &&Figure| figure.metric.contains("_per_");
    let once = it.counted_once.iter().filter(per_unit).map(|once| (None, once));
    let row = |(statement, figure): (Option<&str>, &Figure)| {
        let is_once = matches!(figure.base, Count::Once(_));
        let heading = match statement {
            Some(name) => format!("{} of {name}", metric_heading(&figure.metric)),
            None => metric_heading(&figure.metric),
        };
        Row::new([
            Cell::code(&it.label),
            Cell::new(heading),
            Cell::number(Some(figures::count(figure.base, &figure.metric))),
            Cell::number(Some(figures::count(figure.new, &figure.metric))),
            if is_once {
                Cell::new(how_much_once(figure)).signed("?", Tone::Doubt)
            } else {
                figures::ratio(figure)
            },
        ])
    };
    let known = |(_, it): &(Option<&str>, &Figure)| metric::find(&it.metric).is_some();
    exact.chain(once).filter(known).map(row).collect()
}

/// How much a counter of a single counting pass differs.
fn how_much_once(figure: &Figure) -> String {
    match (figure.base, figure.new) {
        (Count::Once(base), Count::Once(new)) if base > 0.0 && new > 0.0 => {
            format!("{}, counted once", figures::times(new / base))
        }
        _ => "counted once".to_owned(),
    }
}

fn settling(commands: &[String]) -> Option<Section> {
    let blocks = vec![
        Block::paragraph(
            "Only measuring both sides in turns, in one run on one machine, says which is faster:",
        ),
        Block::Code(Code { language: "sh", text: commands.join("\n") }),
    ];
    (!commands.is_empty())
        .then(|| Section::new("settle", Kind::Chapter, "What would settle it", blocks))
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab::exact::Change;

    #[test]
    fn a_counter_of_a_single_pass_says_how_much_it_differs() {
        let of = |base: f64, new: f64| {
            how_much_once(&Figure {
                metric: "bytes_written_per_row".to_owned(),
                base: Count::Once(base),
                new: Count::Once(new),
                change: Change::NotExact,
            })
        };
        assert_eq!(of(10.0, 20.0), "×2, counted once");
        assert_eq!(of(15.1, 15.12), "0.1 % more, counted once");
        assert_eq!(of(0.0, 1.0), "counted once");
    }
}

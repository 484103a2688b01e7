//! What was counted on two sides, and which statements changed.

use lab::exact::{
    AnswerChange, Comparison, Count, Figure, PlanChange, SideFacts, Statement, Weight,
};

use super::figures;
use crate::document::{
    Abridge, Block, Cell, Column, Document, Item, Kind, Row, Section, Sentence, Table, Tone, joined,
};
use crate::figures::count;
use crate::words::metric_heading;

/// How much of a statement a table quotes, in characters.
const QUOTED: usize = 70;
/// Counters of the whole work that the summary names if they changed.
const IN_SUMMARY: [&str; 7] =
    ["vm_steps", "reads", "syncs", "pages_written", "bytes_written", "cache_misses", "db_bytes"];
/// How many statements are named in a sentence.
const NAMED: usize = 5;

/// What changed from the base to each other side.
pub fn exact(comparisons: &[Comparison]) -> Document {
    let mut document =
        Document { title: "What changed, by counters".to_owned(), ..Document::default() };
    let several = comparisons.len() > 1;
    document.about.extend(comparisons.first().map(|comparison| side("base", &comparison.base)));
    document.about.extend(comparisons.iter().map(|comparison| side("new", &comparison.new)));
    document.about.push(
        "Counters, plans and answers are the same on every machine; no time is measured.".into(),
    );
    for (number, comparison) in comparisons.iter().enumerate() {
        let qualifier = several.then(|| comparison.new.name.clone());
        for mut section in sections(comparison) {
            section.qualifier.clone_from(&qualifier);
            if number > 0 {
                section.anchor = format!("{}-{}", section.anchor, number + 1);
            }
            document.sections.push(section);
        }
    }
    document
}

fn side(what: &str, facts: &SideFacts) -> Sentence {
    let name = facts.name.strip_prefix(&format!("{what}: "));
    let start = Sentence::from(format!("{what}: ")).and_code(name.unwrap_or(&facts.name));
    match (&facts.problem, facts.version.as_str()) {
        (Some(problem), _) => start.words(format!(" ({problem})")),
        (None, version) => {
            start.words(format!(" (SQLite {version}, {} repetitions)", facts.repetitions))
        }
    }
}

fn sections(comparison: &Comparison) -> Vec<Section> {
    let chapter = Section::chapter;
    let highlights = Section::new("changes", Kind::Highlights, "What changed", summary(comparison));
    let chapters = [
        chapter("statements", "Statements that changed", statements(comparison)),
        chapter("plans", "Query plans that changed", plans(comparison)),
        chapter("totals", "The whole work", totals(comparison)),
        chapter("not-compared", "What is not compared", not_compared(comparison)),
    ];
    let chapters = chapters.into_iter().flatten();
    std::iter::once(highlights).chain(chapters).collect()
}

fn summary(comparison: &Comparison) -> Vec<Block> {
    if !comparison.is_complete() {
        let text = "A side could not be measured, so nothing is compared.";
        return vec![Block::paragraph(text)];
    }
    let items = [
        weighed(comparison, Weight::Answer, "answered differently", Tone::Bad),
        weighed(
            comparison,
            Weight::Scan,
            "read a table whole that was searched before, and need more VM steps",
            Tone::Worse,
        ),
        weighed(comparison, Weight::More, "need more work", Tone::Worse),
        weighed(comparison, Weight::Less, "need less work", Tone::Better),
        weighed(
            comparison,
            Weight::Mixed,
            "have another plan, or counters that changed in both directions",
            Tone::Neutral,
        ),
        weighed(
            comparison,
            Weight::Same,
            "have the same plan and no counter that changed",
            Tone::Same,
        ),
        whole(comparison),
    ];
    Block::list(items.into_iter().flatten()).into_iter().collect()
}

/// How many statements have this weight, and the first of them.
fn weighed(comparison: &Comparison, weight: Weight, words: &str, tone: Tone) -> Option<Item> {
    let all = comparison.statements.iter();
    let mut names: Vec<&str> =
        all.filter(|it| it.weight() == weight).map(|it| it.name.as_str()).collect();
    if weight == Weight::Less {
        names.reverse();
    }
    let number = names.len();
    let mut text = Sentence::from(format!(
        "{} of {} statements {words}",
        count(number),
        count(comparison.statements.len())
    ));
    if weight != Weight::Same && number > 0 {
        text = text.words(": ");
        for (index, name) in names.iter().take(NAMED).enumerate() {
            text = text.words(if index > 0 { ", " } else { "" }).and_code(*name);
        }
        if number > NAMED {
            text = text.words(format!(" and {} others", count(number - NAMED)));
        }
    }
    (number > 0).then(|| Item { sign: Some(sign(weight)), tone, ..Item::new(text.words(".")) })
}

fn sign(weight: Weight) -> &'static str {
    match weight {
        Weight::Answer => "✗",
        Weight::Scan | Weight::More => "▼",
        Weight::Less => "▲",
        Weight::Mixed => "≠",
        Weight::Same => "=",
    }
}

/// What the whole work needs more or less of.
fn whole(comparison: &Comparison) -> Option<Item> {
    let changed = IN_SUMMARY.iter().filter_map(|metric| {
        let it = comparison.total(metric)?;
        let ratio = it.ratio().filter(|ratio| *ratio != 1.0 && ratio.is_finite())?;
        let name = format!("{} ", metric_heading(metric));
        Some(Sentence::from(name).figure(figures::times(ratio)))
    });
    let changed = joined(changed, ", ");
    (!changed.is_empty())
        .then(|| Item::new(Sentence::from("The whole work: ").and(changed).words(".")))
}

fn statements(comparison: &Comparison) -> Vec<Block> {
    let changed = comparison.statements.iter();
    let changed =
        changed.filter(|changed| changed.weight() != Weight::Same || changed.is_inexact());
    let rows: Vec<Row> = changed.map(row).collect();
    if rows.is_empty() {
        return Vec::new();
    }
    let counters =
        ["executions", "vm_steps", "scan_steps", "sorts", "auto_index_rows", "rows_per_call"];
    let counters = counters.map(|metric| Column {
        about: Some(metric.to_owned()),
        ..Column::right(metric_heading(metric))
    });
    let first = [Column::left("statement"), Column::left("change")];
    let columns = first.into_iter().chain(counters);
    let mut table = Table::new("statements that changed", columns, rows);
    table.sortable = true;
    table.dense = true;
    table.abridge = Abridge::End;
    let remark = "Counters are means per execution, base → new; what is the same is one figure. Statements are in the \
                  order of how many VM steps they need more in all.";
    vec![Block::table(table), Block::small(remark)]
}

fn row(it: &Statement) -> Row {
    let mut name = Cell::code(&it.name).with_below(shortened(&it.sql));
    name.title = Some(it.sql.clone());
    let figure = |metric: &str| figures::both(it.figure(metric));
    Row::new([
        name,
        change(it),
        figure("executions"),
        figure("vm_steps"),
        figure("scan_steps"),
        figure("sorts"),
        figure("auto_index_rows"),
        figure("rows_per_call"),
    ])
}

fn change(it: &Statement) -> Cell {
    let ratio = it.figure("vm_steps").and_then(Figure::ratio);
    let steps = match (ratio.filter(|ratio| ratio.is_finite()), it.more_steps) {
        (Some(ratio), _) if ratio != 1.0 => format!("{} VM steps", figures::times(ratio)),
        (_, Some(more)) if more != 0.0 => format!("{more:+} VM steps in all"),
        _ => String::new(),
    };
    let (words, tone) = match it.weight() {
        Weight::Answer => ("other answer".to_owned(), Tone::Bad),
        Weight::Scan => (scan_words(it), Tone::Worse),
        Weight::More => ("more work".to_owned(), Tone::Worse),
        Weight::Less => ("less work".to_owned(), Tone::Better),
        Weight::Mixed if it.plan.is_some() => ("other plan".to_owned(), Tone::Neutral),
        Weight::Mixed => ("both directions".to_owned(), Tone::Neutral),
        Weight::Same => ("does not repeat".to_owned(), Tone::Doubt),
    };
    let words = if steps.is_empty() { words } else { format!("{words}, {steps}") };
    let rewritten = it.new_sql.as_ref().map_or("", |_| "the text changed, too");
    Cell::new(words)
        .signed(if it.weight() == Weight::Same { "?" } else { sign(it.weight()) }, tone)
        .with_below(rewritten)
}

fn scan_words(it: &Statement) -> String {
    let tables = it.plan.as_ref().map_or(&[][..], |plan| &plan.scans);
    format!("now SCAN {}", tables.join(", "))
}

/// The plans of both sides, next to each other.
fn plans(comparison: &Comparison) -> Vec<Block> {
    let changed = comparison.statements.iter();
    let changed = changed.filter_map(|changed| Some((changed, changed.plan.as_ref()?)));
    let rows: Vec<Row> = changed.map(plan_row).collect();
    if rows.is_empty() {
        return Vec::new();
    }
    let columns =
        [Column::left("statement"), Column::left("base").prose(), Column::left("new").prose()];
    let mut blocks = vec![Block::table(Table::new("query plans", columns, rows))];
    if comparison.base.version != comparison.new.version {
        blocks.push(Block::small(
            "Plans of two versions of SQLite are compared by meaning: wording that changed between versions, the depth of \
             nodes and the numbers of subqueries do not count.",
        ));
    }
    blocks
}

fn plan_row((it, plan): (&Statement, &PlanChange)) -> Row {
    let nodes = |nodes: &[String]| {
        let nodes: Vec<&str> = nodes.iter().map(|node| node.trim_start()).collect();
        Cell::new(nodes.join("; "))
    };
    let name = Cell::code(&it.name).with_below(shortened(&it.sql));
    Row::new([name, nodes(&plan.base), nodes(&plan.new)])
}

fn totals(comparison: &Comparison) -> Vec<Block> {
    let row = |figure: &Figure| {
        Row::new([
            Cell::new(metric_heading(&figure.metric)),
            Cell::number(Some(figures::count(figure.base, &figure.metric))),
            Cell::number(Some(figures::count(figure.new, &figure.metric))),
            figures::ratio(figure),
        ])
    };
    let is_zero = |count: Count| count.exact() == Some(0.0);
    let says = |figure: &&Figure| !(is_zero(figure.base) && is_zero(figure.new));
    let counted: Vec<&Figure> = comparison.totals.iter().filter(says).collect();
    if counted.is_empty() {
        return Vec::new();
    }
    let columns = [
        Column::left("counter"),
        Column::right("base"),
        Column::right("new"),
        Column::left("new / base"),
    ];
    vec![Block::table(Table::new(
        "counters of the whole work",
        columns,
        counted.into_iter().map(row),
    ))]
}

fn not_compared(comparison: &Comparison) -> Vec<Block> {
    let only = |names: &[String], side: &str| {
        let text = |name: &String| Sentence::code(name).words(format!(" is only in {side}."));
        names.iter().map(text).map(Item::new).collect::<Vec<_>>()
    };
    let inexact = comparison.statements.iter().filter(|statement| statement.is_inexact());
    let inexact = inexact.map(|inexact| {
        let words =
            " has counters that differ between repetitions of one side, so they are no verdict.";
        Item::doubt(None, Sentence::code(&inexact.name).words(words))
    });
    let answers = comparison.statements.iter().filter_map(|statement| match &statement.answer {
        AnswerChange::NotCompared { why } => {
            let words = format!(": answers are not compared, because {why}.");
            Some(Item::new(Sentence::code(&statement.name).words(words)))
        }
        _ => None,
    });
    let items = only(&comparison.only_base, "the base").into_iter();
    let items = items.chain(only(&comparison.only_new, "the new side"));
    Block::list(items.chain(inexact).chain(answers)).into_iter().collect()
}

/// The beginning of a statement, without line breaks.
fn shortened(sql: &str) -> String {
    let line = sql.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(QUOTED) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

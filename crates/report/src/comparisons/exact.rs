//! Two sides compared by counters: which statements changed, their plans, and the counters of the whole work.

use lab::comparison::{
    AnswerChange, Change, Count, DifferingRow, DifferingRows, ExactComparison, Figure, PlanChange,
    Severity, SideFacts, StatementComparison, Unmatched,
};

use super::{add_qualified, cells, sections, unmatched};
use crate::document::{
    Abridge, Block, Cell, Column, Document, Item, Row, Section, Sentence, Sign, Table, Tone,
    blocks, joined, led,
};
use crate::figures::count;
use crate::words::{metric_column, metric_heading, plural};

/// Most characters of a statement that a table quotes.
const QUOTED: usize = 70;
/// Counters of the whole work that the summary names if they changed.
const IN_SUMMARY: [&str; 7] =
    ["vm_steps", "reads", "syncs", "pages_written", "bytes_written", "cache_misses", "db_bytes"];
/// Counters of each statement that changed.
const OF_STATEMENT: [&str; 6] =
    ["executions", "vm_steps", "scan_steps", "sorts", "auto_index_rows", "rows_per_call"];
/// Most statements that a sentence names.
const NAMED: usize = 5;

/// Returns the changes from the base to each other side.
pub fn exact(comparisons: &[ExactComparison]) -> Document {
    let several = comparisons.len() > 1;
    let base = comparisons.first().map(|comparison| side("base", &comparison.base));
    let new = comparisons.iter().map(|comparison| side("new", &comparison.new));
    let how = "Counters, plans and answers are the same on every machine; no time is measured.";
    let mut document = Document {
        title: "What changed, by counters".to_owned(),
        about: base.into_iter().chain(new).chain([how.into()]).collect(),
        ..Document::default()
    };
    for (number, comparison) in comparisons.iter().enumerate() {
        let name = several.then_some(comparison.new.name.as_str());
        let suffix = if number > 0 { format!("-{}", number + 1) } else { String::new() };
        add_qualified(&mut document, name, &suffix, comparison_sections(comparison));
    }
    document
}

fn side(role: &str, facts: &SideFacts) -> Sentence {
    let name = facts.name.strip_prefix(&format!("{role}: "));
    super::side(role, name.unwrap_or(&facts.name)).words(match &facts.problem {
        Some(problem) => format!(" ({problem})"),
        None => {
            let stand_ins = match facts.stand_ins.as_slice() {
                [] => String::new(),
                some => {
                    format!("; with stand-ins, which may give other answers: {}", some.join(", "))
                }
            };
            format!(" (SQLite {}, {} repetitions{stand_ins})", facts.version, facts.repetitions)
        }
    })
}

fn comparison_sections(comparison: &ExactComparison) -> Vec<Section> {
    let chapters = [
        ("rows", "Rows that differ", differing_rows(comparison.rows())),
        ("statements", "Statements that changed", statements(comparison)),
        ("plans", "Query plans that changed", plans(comparison)),
        ("totals", "The whole work", totals(comparison)),
        ("not-compared", "What is not compared", not_compared(comparison)),
    ];
    sections(summary(comparison), chapters)
}

fn summary(comparison: &ExactComparison) -> Vec<Block> {
    if !comparison.is_complete() {
        let text = "A side could not be measured, so nothing is compared.";
        return vec![Block::paragraph(text)];
    }
    let all = [
        Severity::Answer,
        Severity::Scan,
        Severity::More,
        Severity::Less,
        Severity::Mixed,
        Severity::Same,
    ];
    let items = all.map(|severity| statements_of(comparison, severity));
    let tables = comparison.written.iter().filter_map(|(name, change)| {
        let words = format!(" is different afterwards: {}.", change.difference()?);
        let text = Sentence::from("The table ").and_code(name).and(Sentence::marked(&words));
        Some(Item::signed(severity_words(Severity::Answer).0, text))
    });
    let items = tables
        .chain(items.into_iter().chain([same_answers(comparison), whole(comparison)]).flatten());
    Block::list(items).into_iter().collect()
}

/// Returns the sign of a severity, its tone, and the words for one statement that has it, and for several.
fn severity_words(severity: Severity) -> (Sign, [&'static str; 2]) {
    let (change, words) = match severity {
        Severity::Answer => return (("✗", Tone::Bad), ["answered differently"; 2]),
        Severity::Scan => (
            Change::Worse,
            [
                "scans a table that it searched before, and needs more VM steps",
                "scan a table that they searched before, and need more VM steps",
            ],
        ),
        Severity::More => (Change::Worse, ["needs more work", "need more work"]),
        Severity::Less => (Change::Better, ["needs less work", "need less work"]),
        Severity::Mixed => (
            Change::Other,
            [
                "has another plan, or counters that changed in both directions",
                "have another plan, or counters that changed in both directions",
            ],
        ),
        Severity::Same => (
            Change::Same,
            [
                "has the same plan and unchanged counters",
                "have the same plan and unchanged counters",
            ],
        ),
    };
    (cells::mark(change), words)
}

/// Counts the statements of this severity and names the first of them.
fn statements_of(comparison: &ExactComparison, severity: Severity) -> Option<Item> {
    let own = comparison.statements.iter().filter(|statement| statement.severity() == severity);
    let mut names: Vec<&str> = own.clone().map(|statement| statement.name.as_str()).collect();
    let untested = own.filter(|statement| statement.answer.is_untested()).count();
    if severity == Severity::Less {
        names.reverse();
    }
    let (sign, words) = severity_words(severity);
    let (number, all) = (count(names.len()), count(comparison.statements.len()));
    let words = words[usize::from(names.len() > 1)];
    let mut text = Sentence::from(format!("{number} of {all} statements {words}"));
    if severity != Severity::Same {
        let named = names.iter().take(NAMED).map(|name| Sentence::code(*name));
        text = text.words(": ").and(joined(named, ", "));
        if names.len() > NAMED {
            text = text.words(format!(" and {} others", count(names.len() - NAMED)));
        }
    }
    let mut same = comparison.statements.iter().filter(|own| own.severity() == Severity::Same);
    if severity == Severity::Same && same.any(StatementComparison::is_inexact) {
        text = text.words(", as far as counters repeat");
    }
    if untested > 0 {
        text = text
            .words(format!("; whether SQL leaves it open was not tested for {}", count(untested)));
    }
    (!names.is_empty()).then(|| Item::signed(sign, text.words(".")))
}

/// Counts the statements that answer the same.
fn same_answers(comparison: &ExactComparison) -> Option<Item> {
    let is_open = |of: &StatementComparison| matches!(of.answer, AnswerChange::Open { .. });
    let is_same =
        |of: &&StatementComparison| matches!(of.answer, AnswerChange::Same) || is_open(of);
    let (same, all) =
        (comparison.statements.iter().filter(is_same).count(), comparison.statements.len());
    let words = if same == 1 { "answers" } else { "answer" };
    let are_open = comparison.statements.iter().any(is_open);
    let determined = if are_open { ", as far as SQL determines it" } else { "" };
    let text =
        format!("{} of {} statements {words} the same{determined}.", count(same), count(all));
    (same > 0).then(|| Item::signed(severity_words(Severity::Same).0, text))
}

/// Names the counters of the whole work that changed.
fn whole(comparison: &ExactComparison) -> Option<Item> {
    let changed = IN_SUMMARY.iter().filter_map(|metric| {
        let total = comparison.total(metric).filter(|total| !total.is_negligible())?;
        let ratio = total.ratio().filter(|ratio| ratio.is_finite())?;
        let name = format!("{} ", metric_heading(metric));
        Some(Sentence::from(name).figure(cells::times(ratio)))
    });
    let changed = joined(changed, ", ");
    (!changed.is_empty())
        .then(|| Item::new(Sentence::from("The whole work: ").and(changed).words(".")))
}

fn statements(comparison: &ExactComparison) -> Vec<Block> {
    let changed = comparison
        .statements
        .iter()
        .filter(|statement| statement.severity() != Severity::Same || statement.is_inexact());
    let first = [Column::left("statement"), Column::left("change")];
    let columns = first.into_iter().chain(OF_STATEMENT.map(metric_column));
    let table = Table::new("statements that changed", columns, changed.map(statement_row))
        .sortable()
        .dense()
        .abridged(Abridge::End);
    let remark = "Counters are means per execution, base → new; unchanged counters are one figure. Statements that need the most additional VM steps come first.";
    Block::remarked(table, remark)
}

fn statement_row(statement: &StatementComparison) -> Row {
    let name = Cell { title: Some(statement.sql.clone()), ..name_cell(statement) };
    let counters = OF_STATEMENT.map(|metric| cells::both(statement.figure(metric)));
    Row::new([name, change(statement)].into_iter().chain(counters))
}

/// Returns the name of a statement with the beginning of its text, without line breaks.
fn name_cell(statement: &StatementComparison) -> Cell {
    let line = statement.sql.split_whitespace().collect::<Vec<_>>().join(" ");
    let beginning = match line.char_indices().nth(QUOTED) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    };
    Cell::code(&statement.name).with_below(beginning)
}

fn change(statement: &StatementComparison) -> Cell {
    let ratio = statement.figure("vm_steps").and_then(Figure::ratio);
    let steps = match (ratio.filter(|ratio| ratio.is_finite()), statement.more_steps) {
        (Some(ratio), _) if ratio != 1.0 => format!(", {} VM steps", cells::times(ratio)),
        (_, Some(more)) if more != 0.0 => format!(", {more:+} VM steps in all"),
        _ => String::new(),
    };
    let severity = statement.severity();
    let sign = match severity {
        Severity::Same => cells::mark(Change::NotExact),
        _ => severity_words(severity).0,
    };
    let words = match (severity, &statement.plan) {
        (Severity::Answer, _) => statement.answer.difference().unwrap_or_default(),
        (Severity::Scan, plan) => {
            let scans = plan.as_ref().map(|plan| plan.scans.join(", "));
            format!("now SCAN {}", scans.unwrap_or_default())
        }
        (Severity::More, _) => "more work".to_owned(),
        (Severity::Less, _) => "less work".to_owned(),
        (Severity::Mixed, Some(_)) => "other plan".to_owned(),
        (Severity::Mixed, None) => "both directions".to_owned(),
        (Severity::Same, _) => "does not repeat".to_owned(),
    };
    let rewritten = statement.new_sql.as_ref().map_or("", |_| "the text changed, too");
    Cell::new(Sentence::marked(&format!("{words}{steps}"))).signed(sign).with_below(rewritten)
}

/// Returns the first rows that differ in answers, each with its name.
pub fn differing_rows<'a>(all: impl Iterator<Item = (String, &'a DifferingRows)>) -> Vec<Block> {
    let all: Vec<(Cell, &DifferingRows)> =
        all.map(|(name, rows)| (Cell::code(name), rows)).collect();
    let lines = all.iter().flat_map(|(name, differing)| {
        let rows = differing.rows.iter();
        rows.map(|row| Row::new([name.clone()].into_iter().chain(differing_row(row))))
    });
    let lines: Vec<Row> = lines.collect();
    if lines.is_empty() {
        return Vec::new();
    }
    let counts = all.iter().map(|(name, differing)| {
        Item::new(name.text.clone().words(format!(": {}.", which(differing))))
    });
    let counts = Block::list(counts);
    let columns = [Column::left("answer of"), Column::left("row"), Column::left("column")];
    let columns = columns.into_iter().chain(["base", "new"].map(|side| Column::left(side).prose()));
    let table = Table::new("rows that differ", columns, lines).dense();
    let remark = "The first three rows of the first execution that differs, with values as in SQL.";
    blocks![counts, Block::table(table), Block::small(remark)]
}

fn differing_row(row: &DifferingRow) -> [Cell; 4] {
    let values = |values: &Option<Vec<String>>| match values {
        Some(values) => Cell::new(values.join(", ")),
        None => Cell::new("no such row"),
    };
    let columns = if row.base.is_some() && row.new.is_some() {
        row.columns.join(", ")
    } else {
        String::new()
    };
    [Cell::new(row.row.as_str()), Cell::new(columns), values(&row.base), values(&row.new)]
}

/// Returns how many rows differ, and in which execution.
fn which(differing: &DifferingRows) -> String {
    let counts = [
        (differing.changed, "changed"),
        (differing.missing, "missing"),
        (differing.additional, "additional"),
    ];
    let counts = counts.into_iter().filter(|(number, _)| *number > 0);
    let counts = counts.map(|(number, word)| format!("{} {word}", plural(number, "row", "rows")));
    let mut words = counts.collect::<Vec<_>>().join(", ");
    if words.is_empty() {
        words.push_str("the same rows in another order");
    }
    if differing.is_partial {
        words.push_str(" among the first rows; the rest was not compared");
    }
    let values = differing.values.iter().map(|(name, value)| format!("{name} = {value}"));
    let values = values.collect::<Vec<_>>().join(", ");
    if values.is_empty() { words } else { format!("with {values}: {words}") }
}

/// Returns the plans of both sides, next to each other.
fn plans(comparison: &ExactComparison) -> Vec<Block> {
    let nodes = |nodes: &[String]| {
        let nodes: Vec<&str> = nodes.iter().map(|node| node.trim_start()).collect();
        Cell::new(nodes.join("; "))
    };
    let row = |statement: &StatementComparison| {
        let PlanChange { base, new, .. } = statement.plan.as_ref()?;
        Some(Row::new([name_cell(statement), nodes(base), nodes(new)]))
    };
    let rows: Vec<Row> = comparison.statements.iter().filter_map(row).collect();
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

fn totals(comparison: &ExactComparison) -> Vec<Block> {
    let is_zero = |count: Count| count.exact() == Some(0.0);
    let counted = comparison.totals.iter().filter(|figure| {
        !(is_zero(figure.base) && is_zero(figure.new)) && figure.change != Change::Missing
    });
    let row = |figure: &Figure| {
        Row::led(Cell::new(metric_heading(&figure.metric)), cells::counter(figure))
    };
    let columns = led(Column::left("counter"), cells::columns());
    let remark = "Rows, steps and sorts are means per execution, all others totals.";
    Block::remarked(Table::new("counters of the whole work", columns, counted.map(row)), remark)
}

fn not_compared(comparison: &ExactComparison) -> Vec<Block> {
    let only = unmatched(&comparison.unmatched, "the new side", |name, side| {
        Sentence::code(name).words(format!(" is only in {side}."))
    });
    let statements = || comparison.statements.iter();
    let inexact = statements().filter(|statement| statement.is_inexact()).map(|statement| {
        let words =
            " has counters that differ between repetitions of one side, so they are no verdict.";
        Item::doubt(None, Sentence::code(&statement.name).words(words))
    });
    let answers = statements().map(|statement| (statement.name.as_str(), &statement.answer));
    let tables = comparison.written.iter().map(|(name, change)| (name.as_str(), change));
    let answers = answers.chain(tables).filter_map(|(name, change)| {
        let words = match change {
            AnswerChange::NotCompared { why } => {
                format!(": answers are not compared, because {why}.")
            }
            AnswerChange::Open { what } => format!(": {what}."),
            _ => return None,
        };
        Some(Item::new(Sentence::code(name).and(Sentence::marked(&words))))
    });
    let files = (comparison.unmatched != Unmatched::default()).then(|| {
        Item::new(Sentence::from("Counters of files, because statements were added or removed."))
    });
    Block::list(files.into_iter().chain(only).chain(inexact).chain(answers)).into_iter().collect()
}

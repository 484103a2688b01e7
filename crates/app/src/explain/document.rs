//! Explanations as a document.

use std::path::Path;

use ::explain::advisor::{Advice, Change, MadeIndex};
use ::explain::faults::{Cause, Fault, Remedy};
use ::explain::observe::{Cost, Node, Observation};
use engine::Value;
use report::document::{
    Bar, Bars, Block, Cell, Chart, Code, Column, Document, Item, Kind, Plot, Row, Section,
    Sentence, Table, Tone,
};
use report::figures::{percent, significant};

use super::{Explained, file_name};
use crate::trace::time;
use crate::words::{grouped, plural};

/// Values longer than this are cut.
const LONG: usize = 40;

/// Returns the explanations, after what helps all statements together.
pub(super) fn document(of: &Path, all: &[Explained], whole: Option<&Advice>) -> Document {
    let title = match all {
        [only] => format!("{} on {}", only.query.name, file_name(of)),
        several => format!("{} statements on {}", several.len(), file_name(of)),
    };
    let summary = whole.map(|advice| together(advice));
    let each = all.iter().enumerate().map(|(number, it)| section(number + 1, it, all.len() > 1));
    Document {
        title,
        about: vec![
            "Executed on a copy with pragmark's own SQLite, first with an empty cache; what a statement writes is undone."
                .into(),
        ],
        sections: summary.into_iter().chain(each).collect(),
        ..Document::default()
    }
}

/// Returns the section on the whole workload.
fn together(advice: &Advice) -> Section {
    let mut blocks = Vec::new();
    if advice.made.is_empty() && advice.analyzed.is_none() {
        blocks.push(Block::paragraph(
            "No index that was tried makes the statements cheaper as a whole.",
        ));
    }
    blocks.extend(Block::list(advice.made.iter().map(brings)));
    blocks.extend(to_paste(advice));
    blocks.extend(changes(&advice.changes));
    let failed = advice.failed.iter();
    let failed = failed.map(|(name, why)| Item::doubt(None, format!("{name} was left out: {why}")));
    blocks.extend(Block::list(failed));
    blocks.extend(untried(advice));
    Section::new("together", Kind::Highlights, "What to change", blocks)
}

fn brings(made: &MadeIndex) -> Item {
    let effects = made
        .changes
        .iter()
        .map(|change| format!("{} {}", change.name, effect(change.before, change.after)));
    let mut item = Item::new(
        Sentence::code(made.on.clone())
            .words(format!(" takes {}: ", size(made.bytes)))
            .words(effects.collect::<Vec<String>>().join("; ")),
    );
    item.tone = Tone::Good;
    item
}

fn effect(before: Cost, after: Cost) -> String {
    let steps = |cost: Cost| grouped(cost.steps.unsigned_abs());
    format!("{} → {} steps", steps(before), steps(after))
}

fn size(bytes: i64) -> String {
    let kib = bytes as f64 / 1024.0;
    if kib < 1024.0 { format!("{kib:.0} KiB") } else { format!("{:.1} MiB", kib / 1024.0) }
}

/// Returns the SQL of the advice.
fn to_paste(advice: &Advice) -> Option<Block> {
    let made = advice.made.iter().map(|made| made.sql.clone());
    let dropped = advice
        .dropped
        .iter()
        .map(|dropped| format!("{} -- {} serves instead", dropped.sql, dropped.instead));
    // New indexes need statistics as much as the tables do.
    let analyzed = advice.analyzed.iter().map(|_| "ANALYZE;".to_owned());
    let lines: Vec<String> = made.chain(dropped).chain(analyzed).collect();
    (!lines.is_empty()).then(|| Block::Code(Code { language: "sql", text: lines.join("\n") }))
}

/// Returns the table of what every statement costs before and after.
fn changes(changes: &[Change]) -> Option<Block> {
    let number = |value: i64| Cell::figure(Some(value as f64), |value| grouped(value as u64));
    let rows = changes.iter().map(|change| {
        let ratio = change.after.total() as f64 / change.before.total().max(1) as f64;
        let mut cell = Cell::figure(Some(ratio), |ratio| format!("×{}", significant(ratio)));
        cell.tone = match ratio {
            ..0.95 => Tone::Better,
            ..1.05 => Tone::Same,
            _ => Tone::Worse,
        };
        Row::new([
            Cell::new(change.name.clone()),
            number(change.before.steps),
            number(change.after.steps),
            number(change.before.pages),
            number(change.after.pages),
            cell,
        ])
    });
    let columns = [
        Column::left("statement"),
        Column::right("steps now"),
        Column::right("then"),
        Column::right("pages now"),
        Column::right("then"),
        Column::right("cost"),
    ];
    let is_changed = changes.iter().any(|change| change.before != change.after);
    is_changed.then(|| Block::table(Table::new("cost of each statement", columns, rows)))
}

fn untried(advice: &Advice) -> Option<Block> {
    let count = u64::try_from(advice.untried).unwrap_or(u64::MAX);
    (count > 0).then(|| {
        let indexes = plural(count, "candidate for an index was", "candidates for indexes were");
        Block::small(format!("{indexes} not tried for want of time."))
    })
}

fn section(number: usize, it: &Explained, is_one_of_several: bool) -> Section {
    let mut blocks = vec![
        Block::Code(Code { language: "sql", text: it.query.sql.clone() }),
        Block::paragraph(summary(&it.observation)),
    ];
    blocks.extend(values(it));
    blocks.extend(plan(&it.observation));
    let remarks = remarks(&it.observation).into_iter().map(Block::small);
    blocks.extend(remarks);
    let faults: Vec<Item> = it.faults.iter().map(|fault| item(fault, &it.advice)).collect();
    blocks.push(Block::Heading("What is wrong".to_owned()));
    blocks.push(Block::list(faults).unwrap_or_else(|| Block::paragraph(nothing(it))));
    blocks.extend(rewritten(&it.faults));
    if !is_one_of_several {
        blocks.extend(to_paste(&it.advice));
        blocks.extend(untried(&it.advice));
    }
    let title = if is_one_of_several { it.query.name.as_str() } else { "What it does" };
    Section::new(&format!("statement-{number}"), Kind::Chapter, title, blocks)
}

fn nothing(it: &Explained) -> &'static str {
    if it.observation.is_partial {
        "It was stopped before its end, so no index was tried."
    } else {
        "Nothing was found: no index that was tried makes it cheaper."
    }
}

/// Returns an execution in one sentence.
fn summary(seen: &Observation) -> Sentence {
    let rows = match (seen.is_write, seen.changes) {
        (true, changes) => plural(changes.unsigned_abs(), "row changed", "rows changed"),
        (false, _) => plural(seen.rows, "row", "rows"),
    };
    let time = time(seen.time.as_nanos() as f64);
    let (steps, pages) = (seen.cost.steps.unsigned_abs(), seen.cost.pages.unsigned_abs());
    let (steps, pages) =
        (plural(steps, "step", "steps"), plural(pages, "page access", "page accesses"));
    let partial = if seen.is_partial { ", then stopped" } else { "" };
    Sentence::default().figure(time).words(format!(" for {rows}: {steps}, {pages}{partial}."))
}

/// Returns the values with which it was executed.
fn values(it: &Explained) -> Option<Block> {
    let values = it.query.values.first()?;
    let shown = it.parameters.iter().zip(values).map(|(name, value)| {
        let text = match value {
            Value::Text(text) => format!("'{text}'"),
            other => other.to_string(),
        };
        let cut = text.chars().count() > LONG;
        let text: String = text.chars().take(LONG).collect();
        format!("{name} = {text}{}", if cut { "…" } else { "" })
    });
    let shown: Vec<String> = shown.collect();
    (!shown.is_empty()).then(|| Block::small(format!("With {}.", shown.join(", "))))
}

/// Returns the plan with the work of each node: a table, and a picture with bars as long as the time of each node.
fn plan(seen: &Observation) -> Option<Block> {
    let count = |value: Option<i64>| {
        Cell::figure(value.map(|value| value as f64), |value| grouped(value as u64))
    };
    let row = |node: &Node| {
        let name = format!("{}{}", "  ".repeat(node.depth), node.detail);
        let expected = node.expected.map(|rows| rows.max(1.0).round());
        Row::new([
            Cell::code(name),
            Cell::figure(node.share, percent),
            count(node.loops),
            count(node.visited),
            count(node.kept),
            Cell::figure(expected, |rows| grouped(rows as u64)),
        ])
    };
    let columns = [
        Column::left("plan"),
        Column::right("time"),
        Column::right("times"),
        Column::right("rows read"),
        Column::right("rows kept"),
        Column::right("expected each"),
    ];
    let table = Table::new("the plan with its work", columns, seen.nodes.iter().map(row));
    let bar = |node: &Node| {
        Some(Bar {
            name: Sentence::code(format!("{}{}", "\u{a0}\u{a0}".repeat(node.depth), node.detail)),
            share: node.share?,
            text: percent(node.share?),
            filled: true,
        })
    };
    let bars: Vec<Bar> = seen.nodes.iter().filter_map(bar).collect();
    let table = Block::table(table);
    if bars.is_empty() {
        return (!seen.nodes.is_empty()).then_some(table);
    }
    let chart = Chart::new("Where the time goes", Plot::Bars(Bars { bars }));
    Some(Block::Depth { brief: vec![table.clone()], full: vec![table, Block::chart(chart)] })
}

/// Returns what the plan does not show.
fn remarks(seen: &Observation) -> Vec<String> {
    let mut remarks = Vec::new();
    let pages = seen.pages.iter().filter(|(name, _)| !name.is_empty()).take(4);
    let pages: Vec<String> =
        pages.map(|(name, count)| format!("{} of {name}", grouped(*count))).collect();
    if !pages.is_empty() {
        remarks
            .push(format!("Pages read from the file with an empty cache: {}.", pages.join(", ")));
    }
    if let Some(rows) = seen.sorted {
        remarks.push(format!("{} sorted.", plural(rows.unsigned_abs(), "row is", "rows are")));
    }
    if seen.spilled > 0 {
        remarks.push(format!("Sorting wrote {} to temporary files.", size(seen.spilled as i64)));
    }
    remarks
}

fn item(fault: &Fault, advice: &Advice) -> Item {
    let mut item = Item::new(cause(&fault.cause).and(remedy(&fault.remedy, advice)));
    item.tone = Tone::Bad;
    item
}

fn cause(cause: &Cause) -> Sentence {
    let count = |number: i64| grouped(number.unsigned_abs());
    match cause {
        Cause::Statistics { node: Some((node, expected, actual)) } => Sentence::default()
            .words(format!(
                "SQLite expects {} rows and gets {} in ",
                significant(expected.max(1.0)),
                significant(*actual)
            ))
            .and_code(node.clone())
            .words(", because it has no statistics that say so."),
        Cause::Statistics { node: None } => "Without statistics, SQLite chooses a plan that costs more.".into(),
        Cause::Filter { table, visited, kept } => {
            let wanted = match kept {
                Some(kept) => format!(" to find {}.", count(*kept)),
                None => " to find a few.".to_owned(),
            };
            Sentence::default()
                .words(format!("{} rows of ", count(*visited)))
                .and_code(table.clone())
                .words(" are read")
                .words(wanted)
        }
        Cause::Function { call } => {
            Sentence::default().words("No index has ").and_code(call.clone()).words(", so it is computed for every row.")
        }
        Cause::Collation { column, collation, is_pattern } => {
            let how = if *is_pattern { "LIKE ignores case" } else { "the comparison ignores case" };
            let how = if collation == "NOCASE" { how.to_owned() } else { format!("the comparison is {collation}") };
            Sentence::default().words("The index of ").and_code(column.clone()).words(format!(" cannot be used: {how}, and the index does not."))
        }
        Cause::Position { index, column } => Sentence::code(index.clone())
            .words(" has ")
            .and_code(column.clone())
            .words(" behind columns that the statement does not compare."),
        Cause::Direction { index } => Sentence::code(index.clone())
            .words(" has these columns, but not in the directions of the ORDER BY."),
        Cause::Or => "One side of the OR has no index, so all rows are read.".into(),
        Cause::AutomaticIndex { rows } => {
            format!("SQLite builds an index of {} rows for each execution.", count(*rows)).into()
        }
        Cause::Sort { rows } => format!("{} rows are sorted.", count(*rows)).into(),
        Cause::NotCovering { index } => Sentence::default()
            .words("Each row that ")
            .and_code(index.clone())
            .words(" finds is looked up in the table for columns that the index lacks."),
        Cause::Offset { rows } => format!(
            "OFFSET reads {} rows to skip them. Go on after the last row seen instead: WHERE key > :last ORDER BY key LIMIT n.",
            count(*rows)
        )
        .into(),
        Cause::CountForExists => "All rows are counted to learn whether there is one: EXISTS stops at the first.".into(),
        Cause::Correlated { times, visited } => format!(
            "The subquery runs {} times and reads {} rows. Join a subquery with GROUP BY instead.",
            count(*times),
            count(*visited)
        )
        .into(),
        Cause::Affinity { text, number } => Sentence::code(text.clone())
            .words(" holds texts and ")
            .and_code(number.clone())
            .words(" numbers, so the index of the texts cannot be used. Store both alike, or compare texts."),
        Cause::Wildcard { pattern, visited } => Sentence::default()
            .words("The pattern ")
            .and_code(pattern.clone())
            .words(format!(
                " begins with a wildcard, so {} rows are read. FTS5 with the trigram tokenizer finds parts of words.",
                count(*visited)
            )),
    }
}

/// Returns what mends it, with what was counted.
fn remedy(remedy: &Remedy, advice: &Advice) -> Sentence {
    let counted = |before: Cost, after: Cost| {
        let pages = |cost: Cost| grouped(cost.pages.unsigned_abs());
        format!("{}, {} → {} pages.", effect(before, after), pages(before), pages(after))
    };
    match remedy {
        Remedy::Index(number) => {
            let Some(made) = advice.made.get(*number) else { return Sentence::default() };
            let counted = made.changes.first().map(|change| counted(change.before, change.after));
            Sentence::default()
                .words(" With an index on ")
                .and_code(made.on.clone())
                .words(format!(" ({}): {}", size(made.bytes), counted.unwrap_or_default()))
        }
        Remedy::Analyze(before, after) => Sentence::default()
            .words(" With ")
            .and_code("ANALYZE")
            .words(format!(": {}", counted(*before, *after))),
        Remedy::Rewrite { before, after, .. } => {
            format!(" The statement below gives the same rows: {}", counted(*before, *after)).into()
        }
        Remedy::Untried => " Not tried here.".into(),
    }
}

/// Returns the texts that replace the statement.
fn rewritten(faults: &[Fault]) -> Vec<Block> {
    let texts = faults.iter().filter_map(|fault| match &fault.remedy {
        Remedy::Rewrite { sql, .. } => Some(sql.clone()),
        _ => None,
    });
    texts.map(|text| Block::Code(Code { language: "sql", text })).collect()
}

//! Explanations as a document.

use ::explain::Query;
use ::explain::advisor::{Advice, Change, Declined, LEAST, MadeIndex, SMALL, Spoiled};
use ::explain::faults::{Cause, Fault, Remedy, helps};
use ::explain::observe::{Cost, Node, Observation, WITHOUT_PARENT};
use engine::Value;
use lab::metric::Unit;
use report::document::{
    Bar, Bars, Block, Cell, Chart, Code, Column, Document, Item, Kind, Plot, Row, Section,
    Sentence, Table, Tone, joined,
};
use report::figures::{about_ratio, percent, significant, with_unit};
use report::sql::shortened;

use super::difference::access;
use super::{Explained, FEW_ROWS, heading};
use crate::trace::time;
use crate::words::{grouped, plural};

/// Values longer than this are cut.
const LONG: usize = 40;

/// So few uses of temporary b-trees more or less are not shown.
const FEW: u64 = 100;

/// Texts of sound statements longer than this are cut.
const SHORT: usize = 50;

/// Returns the explanations, after what helps.
pub(super) fn document(of: &str, version: &str, all: &[Explained], advice: &Advice) -> Document {
    let sections = match all {
        [only] => {
            vec![answer(only, advice), section("plan", "What it does", Kind::Chapter, work(only))]
        }
        several => {
            let (faulty, sound): (Vec<&Explained>, Vec<&Explained>) =
                several.iter().partition(|explained| !explained.faults.is_empty());
            let each = faulty.iter().enumerate().map(|(number, it)| {
                let found = vec![summary(it), faults(it, advice)];
                let blocks = [found, rewritten(&it.faults), work(it)].concat();
                section(&format!("statement-{}", number + 1), &it.query.name, Kind::Chapter, blocks)
            });
            let sound = sound_statements(&sound);
            [vec![together(several, advice)], each.collect(), vec![sound]].concat()
        }
    };
    Document {
        title: match all {
            [only] => format!("{} on {of}", heading(&only.query.name)),
            several => format!("{} statements on {of}", several.len()),
        },
        about: vec![Sentence::marked(&format!(
            "Executed on a copy with pragmark's own SQLite {version}, first with an empty cache; writes are undone. Others may plan otherwise: `--vary engine=default,system`."
        ))],
        sections: sections.into_iter().filter(|section| !section.blocks.is_empty()).collect(),
        ..Document::default()
    }
}

fn section(anchor: &str, title: &str, kind: Kind, blocks: Vec<Block>) -> Section {
    Section::new(anchor, kind, title, blocks)
}

/// Returns the statements for which nothing is advised: a line each where there is little room, and otherwise all of their work.
fn sound_statements(all: &[&Explained]) -> Section {
    let full = all.iter().flat_map(|explained| {
        let heading = Block::Heading(explained.query.name.clone());
        [vec![heading, summary(explained)], work(explained)].concat()
    });
    let full = vec![Block::fold("Their plans", full.collect())];
    let row = |explained: &&Explained| {
        let Explained { query, observation: seen, .. } = explained;
        let words: Vec<&str> = query.sql.split_whitespace().collect();
        let rows = if seen.is_write { seen.changes.unsigned_abs() } else { seen.rows };
        Row::new([
            Cell::new(query.name.clone()),
            Cell::code(shortened(&words.join(" "), SHORT)),
            Cell::figure(Some(seen.time.as_nanos() as f64), time),
            Cell::figure(Some(rows as f64), |rows| grouped(rows as u64)),
            Cell::new(accesses(seen)),
        ])
    };
    let columns = [
        Column::left("statement"),
        Column::left("text"),
        Column::right("time"),
        Column::right("rows"),
        Column::left("access"),
    ];
    let table = Table::new("other statements", columns, all.iter().map(row));
    let blocks = match all {
        [] => Vec::new(),
        _ => vec![Block::Depth { brief: vec![Block::table(table)], full }],
    };
    section("sound", "Other statements", Kind::Chapter, blocks)
}

/// Returns how a statement reads its tables.
fn accesses(seen: &Observation) -> String {
    let mut ways: Vec<String> = Vec::new();
    for node in seen.nodes.iter().filter(|node| node.object.is_some()) {
        let way = access(&node.detail);
        if !ways.contains(&way) {
            ways.push(way);
        }
    }
    match (ways.is_empty(), seen.is_write) {
        (true, true) => "written without a search".to_owned(),
        _ => ways.join(", "),
    }
}

/// Returns what helps a single statement.
fn answer(it: &Explained, advice: &Advice) -> Section {
    let mut blocks = vec![summary(it), faults(it, advice)];
    // Other statements may need an index that this one does not.
    let (texts, mut indexes) = (rewritten(&it.faults), to_paste(advice, "-- "));
    if texts.is_empty() || is_better_as_it_is(it, advice) {
        blocks.extend(indexes.into_iter().chain(texts));
    } else {
        if !indexes.is_empty() {
            indexes.insert(0, Block::small("Or for the statement as it is:"));
        }
        blocks.extend(texts.into_iter().chain(indexes));
    }
    if it.observation.is_write {
        let words = "The time ends before the commit. `pragmark tune FILE` tries settings that make commits cheaper.";
        blocks.push(Block::small(Sentence::marked(words)));
    }
    blocks.extend(not_tried(advice));
    section("helps", "What helps", Kind::Highlights, blocks)
}

/// Returns whether indexes help a statement much more than another text of it.
fn is_better_as_it_is(it: &Explained, advice: &Advice) -> bool {
    let own = advice.changes.iter().find(|change| change.name == it.query.name);
    let least = it.faults.iter().filter_map(|fault| match &fault.remedy {
        Remedy::Rewrite { after, .. } => Some(after.total()),
        _ => None,
    });
    own.zip(least.min())
        .is_some_and(|(own, least)| least as f64 > SMALL && own.after.total() * 2 < least)
}

/// Returns what helps several statements as a whole.
fn together(all: &[Explained], advice: &Advice) -> Section {
    let mut blocks = Vec::new();
    if advice.made.is_empty() {
        let none = match advice.analyzed {
            Some(_) => {
                "Statistics make the statements cheaper as a whole, and no index that was tried adds to that."
            }
            None => "No index that was tried makes the statements cheaper as a whole.",
        };
        blocks.push(Block::paragraph(none));
    }
    blocks.extend(to_paste(advice, ""));
    blocks.push(changes(all, &advice.changes, |explained| Cell::new(explained.query.name.clone())));
    blocks.extend(not_tried(advice));
    section("helps", "What helps", Kind::Highlights, blocks)
}

/// Returns what is wrong with a statement, one item for each remedy.
fn faults(it: &Explained, advice: &Advice) -> Block {
    let mut items: Vec<(&Remedy, Sentence)> = Vec::new();
    for fault in &it.faults {
        let cause = cause(&fault.cause);
        match items.iter_mut().find(|(remedy, _)| *remedy == &fault.remedy) {
            Some((_, causes)) => *causes = std::mem::take(causes).words(" ").and(cause),
            None => items.push((&fault.remedy, cause)),
        }
    }
    let items = items.into_iter().map(|(remedy, causes)| Item {
        tone: Tone::Bad,
        ..Item::new(causes.and(mended(remedy, it, advice)))
    });
    Block::list(items).unwrap_or_else(|| Block::paragraph(nothing(it, advice)))
}

/// Returns the text of a statement, its values and its plan.
fn work(it: &Explained) -> Vec<Block> {
    let mut blocks = vec![Block::Code(Code { language: "sql", text: it.query.sql.clone() })];
    blocks.extend(values(&it.query, &it.parameters));
    blocks.extend(plan(&it.observation));
    blocks.extend(remarks(&it.observation).into_iter().map(Block::small));
    blocks
}

/// Returns the cost of an execution before and after, with what falls first.
fn effect(before: Cost, after: Cost) -> String {
    let both = |count: fn(Cost) -> i64| {
        format!("{} → {}", at_least(before, count(before)), at_least(after, count(after)))
    };
    let (steps, pages) = (both(|cost| cost.steps), both(|cost| cost.pages));
    let [rows, left] = [before, after].map(|cost| grouped(cost.temporary.unsigned_abs()));
    let temporary = match before.temporary.abs_diff(after.temporary) {
        ..FEW => String::new(),
        _ => format!(", {rows} → {left} uses of temporary b-trees"),
    };
    if after.steps > before.steps {
        format!("{pages} pages, {steps} steps{temporary}")
    } else {
        format!("{steps} steps, {pages} pages{temporary}")
    }
}

/// Returns a count of an execution, which is more if it was stopped.
fn at_least(cost: Cost, count: i64) -> String {
    let more = if cost.is_partial() { "more than " } else { "" };
    format!("{more}{}", grouped(count.unsigned_abs()))
}

fn size(bytes: i64) -> String {
    with_unit(bytes as f64, Unit::Bytes)
}

/// Returns the SQL of the advice, with this before statements that drop indexes, and why indexes go.
pub(crate) fn to_paste(advice: &Advice, before_drops: &str) -> Vec<Block> {
    let is_for_keys =
        |line: &str| advice.made.iter().any(|made| made.is_for_keys && made.sql == line);
    let marked = |line: String| match line.starts_with("DROP ") {
        true => format!("{before_drops}{line}"),
        false if is_for_keys(&line) => format!("{line} -- only for foreign_keys = ON"),
        false => line,
    };
    let lines: Vec<String> = advice.sql().into_iter().map(marked).collect();
    let code = Block::Code(Code { language: "sql", text: lines.join("\n") });
    let pairs = advice.dropped.iter().map(|dropped| {
        Sentence::marked(&format!("`{}` can replace `{}`", dropped.instead, dropped.name))
    });
    let pairs: Vec<Sentence> = pairs.collect();
    let redundant = (!pairs.is_empty()).then(|| {
        let except = ", except for statements that need rows in the order of rowids.";
        Block::small(joined(pairs, ", ").words(except))
    });
    let blocks: Vec<Block> = std::iter::once(code).chain(redundant).collect();
    if lines.is_empty() { Vec::new() } else { blocks }
}

/// Returns the table of all statements, each with its name and what it costs before and after.
pub(crate) fn changes(
    all: &[Explained],
    changes: &[Change],
    name: impl Fn(&Explained) -> Cell,
) -> Block {
    let number = |value: i64| Cell::figure(Some(value as f64), |value| grouped(value as u64));
    let rows = all.iter().map(|explained| {
        let (query, seen) = (&explained.query, &explained.observation);
        let name = name(explained);
        let time = Cell::figure(Some(seen.time.as_nanos() as f64), time);
        let Some(change) = changes.iter().find(|change| change.name == query.name) else {
            return Row::new([name, time]);
        };
        let ratio = change.after.total() as f64 / change.before.total().max(1) as f64;
        let mut cell = Cell::figure(Some(ratio), |ratio| format!("×{}", significant(ratio)));
        cell.tone = match ratio {
            ..0.95 => Tone::Better,
            ..1.05 => Tone::Same,
            _ => Tone::Worse,
        };
        let (before, after) = (change.before, change.after);
        Row::new([
            name,
            time,
            number(before.steps),
            number(after.steps),
            number(before.pages),
            number(after.pages),
            cell,
        ])
    });
    let columns = [
        Column::left("statement"),
        Column::right("time now"),
        Column::right("steps now"),
        Column::right("then"),
        Column::right("pages now"),
        Column::right("then"),
        Column::right("work"),
    ];
    Block::table(Table::new("work of each statement", columns, rows))
}

/// Returns the statements that statistics alone make slower, those that could not be executed, and the candidates that were not tried.
pub(crate) fn not_tried(advice: &Advice) -> Vec<Block> {
    let failed = advice.failed.iter();
    let failed = failed.map(|(name, why)| Item::doubt(None, format!("{name} was left out: {why}")));
    let spoiled = advice.spoiled.iter().flatten().map(|it| Item::doubt(None, spoiled(it)));
    let declined = advice.declined.iter().map(|it| Item::doubt(None, declined(it)));
    Block::list(declined.chain(spoiled).chain(failed)).into_iter().chain(untried(advice)).collect()
}

/// Returns the indexes that would help a statement, and the statements that would cost more with them.
fn declined(of: &Declined) -> Sentence {
    let names = joined(of.on.iter().map(|on| Sentence::code(on.clone())), " and ");
    let counted = |change: &Change| {
        let effect = effect(change.before, change.after);
        Sentence::code(&change.name).words(format!(" ({effect})"))
    };
    let noun =
        if of.on.len() == 1 { "Not advised: an index on " } else { "Not advised: indexes on " };
    let losses = joined(of.losses.iter().map(counted), " and ");
    let helped = Sentence::from(noun).and(names).words(" would help ").and(counted(&of.own));
    helped.words(", but cost more in ").and(losses).words(".")
}

/// Returns how much slower statistics alone make a statement, and why.
fn spoiled(of: &Spoiled) -> Sentence {
    let Change { name, before, after } = &of.change;
    let ratio = about_ratio(after.total() as f64 / before.total() as f64).replace('×', "");
    let why = of.node.iter().map(|(node, read, expected)| {
        format!(
            ": SQLite then reads {} rows in `{node}`, where it expects {}",
            grouped(*read as u64),
            grouped(expected.max(1.0).round() as u64)
        )
    });
    let why: String = why.collect();
    let without = of.index.iter().map(|index| format!(" Without `{index}` it would not."));
    let (counted, without) = (effect(*before, *after), without.collect::<String>());
    Sentence::marked(&format!(
        "`ANALYZE` alone would make {name} slower: {ratio} times as much work ({counted}){why}.{without}"
    ))
}

fn untried(advice: &Advice) -> Option<Block> {
    let count = u64::try_from(advice.untried).unwrap_or(u64::MAX);
    (count > 0).then(|| {
        let indexes = plural(count, "candidate for an index was", "candidates for indexes were");
        Block::small(format!("{indexes} not tried, because time ran out."))
    })
}

fn nothing(it: &Explained, advice: &Advice) -> Sentence {
    let own = advice.changes.iter().find(|change| change.name == it.query.name);
    let words = if it.observation.is_partial {
        "It was stopped before its end, and no index that was tried lets it come there.".to_owned()
    } else if it.observation.changes_nothing() {
        "It changed no row here, so its cost says little: with other values it may do more work."
            .to_owned()
    } else if let (true, [], Some(own), [_, others @ ..]) =
        (it.observation.is_write, &advice.made[..], own, &advice.dropped[..])
    {
        let names = joined(advice.dropped.iter().map(|index| Sentence::code(&index.name)), " and ");
        let effect = effect(own.before, own.after);
        let repeats = match others {
            [] => "It maintains an index that repeats another one. Without ",
            _ => "It maintains indexes that repeat others. Without ",
        };
        return Sentence::from(repeats).and(names).words(format!(": {effect}."));
    } else if it.observation.cost.total() as f64 <= SMALL {
        "No fault was found. It costs too little to need an index.".to_owned()
    } else {
        let least = percent(LEAST);
        format!("No fault was found, and no index that was tried saves {least} of its work.")
    };
    Sentence::from(words)
}

/// Returns an execution in one sentence.
fn summary(it: &Explained) -> Block {
    let seen = &it.observation;
    let rows = match (seen.is_write, seen.changes) {
        (true, changes) => plural(changes.unsigned_abs(), "row changed", "rows changed"),
        (false, _) => plural(seen.rows, "row", "rows"),
    };
    let time = time(seen.time.as_nanos() as f64);
    let (steps, pages) = (seen.cost.steps.unsigned_abs(), seen.cost.pages.unsigned_abs());
    let (steps, pages) =
        (plural(steps, "step", "steps"), plural(pages, "page access", "page accesses"));
    let partial = if seen.is_partial { ", then stopped" } else { "" };
    let refused = seen.refused.iter().map(|why| {
        if why == WITHOUT_PARENT {
            return format!(" With foreign_keys = ON it fails, at COMMIT at the latest: {why}.");
        }
        let exists = why.starts_with("UNIQUE");
        let cause = if exists { ": this row exists already" } else { "" };
        format!(" SQLite refused to write ({why}){cause}. The work is counted up to there.")
    });
    let refused: String = refused.collect();
    let drawn = match it.query.values.len() {
        0 | 1 => String::new(),
        several => format!(" with the first of {several} sets of values"),
    };
    let words = format!(" for {rows}{drawn}: {steps}, {pages}{partial}.{refused}");
    Block::paragraph(Sentence::default().figure(time).words(words))
}

/// Returns the values with which it was executed.
pub(super) fn values(query: &Query, parameters: &[super::Parameter]) -> Option<Block> {
    let values = query.values.first()?;
    let shown = parameters.iter().zip(values).map(|(parameter, value)| {
        let text = match value {
            Value::Text(text) => format!("'{text}'"),
            other => other.to_string(),
        };
        let cut = text.chars().count() > LONG;
        let text: String = text.chars().take(LONG).collect();
        let drawn = if parameter.is_drawn { " from the data" } else { "" };
        format!("{} = {text}{}{drawn}", parameter.name, if cut { "…" } else { "" })
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

/// Returns the facts that the plan does not show.
pub(super) fn remarks(seen: &Observation) -> Vec<String> {
    let mut remarks = Vec::new();
    let pages = seen.pages.iter().filter(|(name, _)| !name.is_empty()).take(4);
    let pages: Vec<String> =
        pages.map(|(name, count)| format!("{} of {name}", grouped(*count))).collect();
    if !pages.is_empty() {
        remarks
            .push(format!("Pages read from the file with an empty cache: {}.", pages.join(", ")));
    }
    for (table, rows) in seen.repeated().into_iter().filter(|(_, rows)| *rows >= FEW as i64) {
        let rows = count(&rows);
        remarks.push(format!("Foreign keys repeat scans: they read {rows} more rows of {table}."));
    }
    // SQLite's counter has the rows read for a partial one, too.
    let is_shown = seen
        .nodes
        .iter()
        .any(|node| node.detail.starts_with("CREATE AUTOMATIC INDEX") && node.visited.is_some());
    if seen.auto_index_rows > 0 && !is_shown {
        let rows = grouped(seen.auto_index_rows.unsigned_abs());
        remarks.push(format!("SQLite builds an index of {rows} rows for each execution."));
    }
    if seen.spilled > 0 {
        remarks.push(format!("Sorting wrote {} to temporary files.", size(seen.spilled as i64)));
    }
    remarks
}

fn cause(cause: &Cause) -> Sentence {
    let words =
        cause_in_plan(cause).or_else(|| cause_in_text(cause)).or_else(|| cause_in_form(cause));
    Sentence::marked(&words.unwrap_or_default())
}

/// Returns a cause that an index or statistics remove.
fn cause_in_plan(cause: &Cause) -> Option<String> {
    Some(match cause {
        Cause::Statistics { node: Some((node, expected, actual)) } => format!(
            "SQLite expects {} rows and gets {} in `{node}`, because it has no statistics that say so.",
            about(expected.max(1.0)),
            about(*actual)
        ),
        Cause::Statistics { node: None } => {
            "Without statistics, SQLite chooses a plan that costs more.".to_owned()
        }
        Cause::Filter { table, visited, kept } => {
            let wanted = kept.as_ref().filter(|kept| *kept < visited);
            let wanted = wanted.map(|kept| format!(" to find {}", count(kept)));
            format!("{} rows of `{table}` are read{}.", count(visited), wanted.unwrap_or_default())
        }
        Cause::Function { call } => {
            format!("No index contains `{call}`, so it is computed for every row.")
        }
        Cause::Collation { column, collation, is_pattern } => {
            let how = if *is_pattern { "LIKE ignores case" } else { "the comparison has it" };
            format!("No index of `{column}` has the collation {collation}: {how}.")
        }
        Cause::Position { index, column } => {
            format!("`{index}` has `{column}` behind columns that the statement does not compare.")
        }
        Cause::Partial { index } => format!("`{index}` has only the rows of its WHERE clause."),
        Cause::Direction { index } => {
            format!("`{index}` has these columns, but not in the directions of the ORDER BY.")
        }
        Cause::Or => "A side of the OR has no index, so all rows are read.".to_owned(),
        Cause::AutomaticIndex { on, rows, times: ..=1 } => {
            format!("SQLite builds an index on `{on}` of {} rows for each execution.", count(rows))
        }
        Cause::AutomaticIndex { on, rows, times } => format!(
            "SQLite builds an index on `{on}` {} times in each execution, of {} rows in all.",
            count(times),
            count(rows)
        ),
        Cause::Trigger { name, table, visited } => {
            format!("The trigger `{name}` reads {} rows of `{table}`.", count(visited))
        }
        Cause::ForeignKey { child, columns, visited } => format!(
            "With foreign_keys = ON, {} rows of `{child}` are read to find those that refer to a changed row by `{child}({})`.",
            count(visited),
            columns.join(&format!(")` and `{child}("))
        ),
        Cause::Sort { rows } => format!("{} rows are sorted.", count(rows)),
        Cause::Group { rows } => format!("{} rows are sorted to group them.", count(rows)),
        Cause::Distinct { times } => {
            format!("SQLite finds duplicates with temporary b-trees, used {} times.", count(times))
        }
        Cause::List { table, rows } => {
            format!("{} rows of `{table}` are copied to a list for each execution.", count(rows))
        }
        Cause::NotCovering { index } => format!(
            "Each row that `{index}` finds is looked up in the table for columns that the index lacks."
        ),
        _ => return None,
    })
}

/// Returns a cause that another text removes, or that no index does.
fn cause_in_text(cause: &Cause) -> Option<String> {
    Some(match cause {
        Cause::Range { call, column, operand } => range(call, column, operand.as_deref()),
        Cause::Since { expression, column } => format!(
            "`{expression}` is computed for every row: compare `{column}` with a time, which an index can find."
        ),
        Cause::Plain { call, column, is_always } => plain(call, column, *is_always),
        Cause::MinMax => {
            "SQLite finds min() or max() alone at an end of an index, but reads all rows for both."
                .to_owned()
        }
        Cause::Optional { condition } => format!(
            "SQLite plans for all values at once, and `{condition}` keeps it from using an index: write a statement for each set of conditions that has values."
        ),
        Cause::Hint { hint } => format!("`{hint}` keeps SQLite from a cheaper plan."),
        Cause::Materialized => {
            "MATERIALIZED stores all rows of the common table expression before they are searched."
                .to_owned()
        }
        Cause::Never { call, literal, meant } => never(call, literal, meant.as_deref()),
        Cause::NotIn { nulls } => format!(
            "The list of NOT IN has {} NULLs, so the condition is true for no row. Leave them out: `NOT IN (SELECT column FROM … WHERE column IS NOT NULL)`.",
            count(nulls)
        ),
        Cause::Offset { rows } => format!(
            "OFFSET reads {} rows to skip them. If no key is NULL, continue after the last row seen instead: `WHERE (key, id) > (:key, :id) ORDER BY key, id LIMIT n`, or `<` with DESC.",
            count(rows)
        ),
        Cause::CountForExists => {
            "All rows are counted to learn whether there is one: EXISTS stops at the first."
                .to_owned()
        }
        Cause::Correlated { times, visited } => format!(
            "The subquery runs {} times and reads {} rows. Join a subquery with GROUP BY instead.",
            count(times),
            count(visited)
        ),
        Cause::Affinity { text, number } => format!(
            "`{text}` holds texts and `{number}` numbers, so no index of the texts can be used. Store both with the same type, or compare texts."
        ),
        Cause::Wildcard { pattern, visited } => format!(
            "The pattern `{pattern}` begins with a wildcard, so {} rows are read. FTS5 with the trigram tokenizer finds parts of words.",
            count(visited)
        ),
        _ => return None,
    })
}

/// Returns a cause that another form of the statement removes.
fn cause_in_form(cause: &Cause) -> Option<String> {
    Some(match cause {
        Cause::Walked { index, column, rows } => format!(
            "SQLite reads {} rows by `{index}` and uses few of them. `+{column}` leaves it free to use another index.",
            count(rows)
        ),
        Cause::Sides => {
            "The OR compares columns of two tables, so no index finds its rows. Each side can use one in a SELECT of its own."
                .to_owned()
        }
        Cause::Pattern { parameter } => format!(
            "SQLite searches an index for LIKE only if the pattern is one literal or parameter: bind `{parameter}` with its % at the end."
        ),
        Cause::Product { table, rows } => format!(
            "No condition joins `{table}` to the tables that are read before it, so its rows are combined with all of theirs: {} rows. If that is not meant, add the condition.",
            count(rows)
        ),
        Cause::WithoutMatch { table } => format!(
            "LEFT JOIN reads all matching rows of `{table}` only to discard them: NOT EXISTS stops at the first."
        ),
        Cause::Latest { table, call } => format!(
            "`{call}` is computed for every group of `{table}`, before the condition selects rows: a subquery computes it for selected rows only."
        ),
        Cause::Random { rows } => format!(
            "{} rows are read and sorted by chance. `WHERE rowid >= abs(random() % (SELECT max(rowid) FROM …)) LIMIT 1` reads one; rows behind gaps are more likely.",
            count(rows)
        ),
        // Listed, so that a new cause cannot be without words.
        Cause::Statistics { .. } | Cause::Filter { .. } | Cause::Function { .. }
        | Cause::Collation { .. } | Cause::Position { .. } | Cause::Partial { .. }
        | Cause::Direction { .. } | Cause::Or | Cause::AutomaticIndex { .. }
        | Cause::Trigger { .. } | Cause::ForeignKey { .. } | Cause::Sort { .. }
        | Cause::Group { .. } | Cause::Distinct { .. } | Cause::List { .. }
        | Cause::NotCovering { .. } | Cause::Range { .. } | Cause::Since { .. }
        | Cause::Plain { .. } | Cause::MinMax
        | Cause::Optional { .. } | Cause::Hint { .. } | Cause::Materialized | Cause::Never { .. }
        | Cause::NotIn { .. } | Cause::Offset { .. } | Cause::CountForExists
        | Cause::Correlated { .. } | Cause::Affinity { .. } | Cause::Wildcard { .. } => return None,
    })
}

/// Returns why no row meets a comparison of `call` with a literal.
fn never(call: &str, literal: &str, meant: Option<&str>) -> String {
    let of = if literal.starts_with('\'') { "" } else { "is a text and " };
    let meant = meant.map_or(String::new(), |meant| format!(" Compare it with `{meant}`."));
    format!("`{call}` {of}never equals `{literal}`, so the condition is true for no row.{meant}")
}

/// Returns why `call` reads all rows, though the column has the same values, or at least those that are wanted.
fn plain(call: &str, column: &str, is_always: bool) -> String {
    let is_default =
        ["coalesce(", "ifnull("].iter().any(|name| call.to_lowercase().starts_with(name));
    let same = if is_always {
        ", and is the same value in every row"
    } else {
        "; a row with NULL there is not wanted either"
    };
    let is_open = is_always && is_default;
    let until = if is_open { " Rows with NULL there would differ." } else { "" };
    format!(
        "`{call}` keeps SQLite from searching an index on `{column}`{same}: compare the column.{until}"
    )
}

/// Returns why `call` reads all rows, and on what a range in its place relies.
fn range(call: &str, column: &str, operand: Option<&str>) -> String {
    let form = operand.map_or(String::new(), |operand| {
        format!(" The rows are the same only if `{operand}` has the format of `{call}`.")
    });
    format!(
        "`{call}` keeps SQLite from searching an index on `{column}`: compare the column with the ends of the range.{form}"
    )
}

/// Returns a mean number of rows.
fn about(rows: f64) -> String {
    if rows < 10.0 && rows.fract() != 0.0 {
        significant(rows)
    } else {
        grouped(rows.round() as u64)
    }
}

fn count(number: &i64) -> String {
    grouped(number.unsigned_abs())
}

/// Returns what mends it, with what was counted.
fn mended(remedy: &Remedy, it: &Explained, advice: &Advice) -> Sentence {
    let counted = |before: Cost, after: Cost| {
        // The sentence above is on one execution.
        let is_drawn = it.parameters.iter().any(|parameter| parameter.is_drawn);
        let has_rare = is_drawn && script::tokens(&it.query.sql).any(|token| token.is("limit"));
        let rare = if has_rare { ", one of them with rare values" } else { "" };
        let mean = match it.query.values.len() {
            0 | 1 => String::new(),
            several => format!(", the mean of {several} executions{rare}"),
        };
        let few = format!(", for at most {FEW_ROWS} of its rows");
        let few = if it.is_for_few_rows() { &few } else { "" };
        format!("{}{mean}{few}.", effect(before, after))
    };
    match remedy {
        Remedy::Indexes(step) => {
            let is_own = |made: &&MadeIndex| made.step == *step && helps(made, &it.query);
            let made: Vec<_> = advice.made.iter().filter(is_own).collect();
            let noun = if made.len() == 1 { " With an index on " } else { " With indexes on " };
            let names = joined(made.iter().map(|made| Sentence::code(made.on.clone())), " and ");
            let bytes = made.iter().map(|made| made.bytes).sum();
            let mut changes = made.iter().flat_map(|made| &made.changes);
            let change = changes.find(|change| change.name == it.query.name);
            let counted = change.map(|change| counted(change.before, change.after));
            // Neither this copy nor SQLite's planner knows which values a program binds.
            let is_partial = made.iter().any(|made| made.index.condition.is_some());
            let only = if !is_partial {
                ""
            } else if it.parameters.is_empty() {
                " SQLite uses a partial index only if the statement implies its condition."
            } else {
                " SQLite uses a partial index only if the statement implies its condition; with a parameter, the value that is bound when it plans decides."
            };
            let covered = covered(made.iter().map(|made| made.index.covering).sum());
            let counted = counted.unwrap_or_default();
            let words = format!(" ({}): {counted}{covered}{only}", size(bytes));
            Sentence::default().words(noun).and(names).words(words)
        }
        Remedy::Analyze(before, after) => Sentence::default()
            .words(" With ")
            .and_code("ANALYZE")
            .words(format!(": {}", counted(*before, *after))),
        Remedy::Rewrite { before, after, indexes, .. } => {
            let with = if indexes.is_empty() { "" } else { ", with its index," };
            let counted = counted(*before, *after);
            format!(" The statement below{with} gave the same rows here: {counted}").into()
        }
        Remedy::Untried => " Not tried here.".into(),
    }
}

/// Returns the price of columns that are in indexes only to be read from them.
fn covered(columns: usize) -> String {
    let (last, them) = match columns {
        0 => return String::new(),
        1 => ("last column only spares".to_owned(), "it"),
        several => (format!("last {several} columns only spare"), "them"),
    };
    format!(" The {last} look-ups; each write of {them} updates the index.")
}

/// Returns the texts that replace the statement.
fn rewritten(faults: &[Fault]) -> Vec<Block> {
    let texts = faults.iter().filter_map(|fault| match &fault.remedy {
        Remedy::Rewrite { sql, indexes, .. } => {
            let lines = indexes.iter().map(|index| format!("{index}\n"));
            Some(lines.collect::<String>() + sql.trim_end().trim_end_matches(';') + ";")
        }
        _ => None,
    });
    let shown = texts.map(|text| {
        [Block::small("Instead of the statement:"), Block::Code(Code { language: "sql", text })]
    });
    shown.flatten().collect()
}

//! Query plans, and the findings that follow from them.

use std::collections::BTreeMap;

use indicatif::HumanCount;
use report::document::{Abridge, Block, Cell, Column, Item, Row, Sentence, Table};
use report::sql::shortened;
use trace::analysis::Analysis;
use trace::plans::{Plans, UnusedIndex};

use super::words::{lesson, plural};

/// How much of a statement is quoted, in characters.
const QUOTED: usize = 60;
/// How many indexes of a database are named.
const NAMED: usize = 5;

/// What plans say that deserves a look.
pub fn findings(analysis: &Analysis, plans: &Plans) -> Vec<Item> {
    let scans = analysis.statements.iter().filter(|it| plans.patterns.contains(&it.sql));
    let searches = scans.map(|it| {
        let words = format!(
            " searches texts with a wildcard at the beginning, which no index helps: {} steps in full scans. A \
             full-text index (FTS5) finds words, and with its trigram tokenizer parts of words.",
            HumanCount(it.scan_steps)
        );
        let about = Sentence::code(shortened(&it.sql, QUOTED)).words(words);
        Item::new(lesson(about, Some("fts-baselines")))
    });
    searches.chain(sorting(analysis, plans)).chain(unused(&plans.unused)).collect()
}

/// The statements that sort each time although an index could have their order.
fn sorting<'a>(analysis: &'a Analysis, plans: &'a Plans) -> impl Iterator<Item = Item> + 'a {
    let statements = analysis.statements.iter();
    statements.filter_map(|it| {
        let index = plans.sorting.get(&it.sql)?;
        let sorts = plural(it.sorts, "time", "times");
        let words = format!(" sorted its rows {sorts}. With an index on ");
        let columns = index.columns.join(", ").replace('"', "");
        let about = Sentence::code(shortened(&it.sql, QUOTED)).words(words);
        let about = about.and_code(format!("{}({columns})", index.table));
        Some(Item::new(
            about.words(
                ", SQLite reads them in order. Writes to the table then maintain that index.",
            ),
        ))
    })
}

/// An item for each database with indexes that no statement uses.
fn unused(indexes: &[UnusedIndex]) -> Vec<Item> {
    let mut databases: BTreeMap<&str, Vec<&UnusedIndex>> = BTreeMap::new();
    for index in indexes {
        databases.entry(&index.database).or_default().push(index);
    }
    let item = |(database, indexes): (&str, Vec<&UnusedIndex>)| {
        let named = indexes.iter().take(NAMED);
        let names: Vec<String> = named.map(|it| format!("{} ({})", it.index, it.table)).collect();
        let others = indexes.len().saturating_sub(NAMED);
        let others = match others {
            0 => String::new(),
            others => format!(" and {others} others"),
        };
        let words = format!(
            ": no recorded statement uses {} {}{others}. Writes to the table maintain an index whether or not it is used.",
            if indexes.len() == 1 { "the index" } else { "the indexes" },
            names.join(", "),
        );
        let name = if database.is_empty() { "in memory" } else { database };
        Item::new(lesson(Sentence::code(name).words(words), Some("index-timing")))
    };
    databases.into_iter().map(item).collect()
}

/// The plans of all statements, and which have none.
pub fn blocks(analysis: &Analysis, plans: &Plans) -> Vec<Block> {
    let rows: Vec<Row> = analysis
        .statements
        .iter()
        .filter_map(|it| Some((it, plans.plans.get(&it.sql)?)))
        .map(|(it, plan)| {
            let nodes: Vec<&str> = plan.iter().map(|node| node.trim_start()).collect();
            let mut name = Cell::code(shortened(&it.sql, QUOTED));
            name.title = Some(it.sql.clone());
            Row::new([name, Cell::new(nodes.join("; "))])
        })
        .collect();
    let mut blocks = Vec::new();
    if !rows.is_empty() {
        let columns = [Column::left("statement"), Column::left("query plan").prose()];
        let mut table = Table::new("query plans", columns, rows);
        table.abridge = Abridge::End;
        blocks.push(Block::table(table));
        blocks.push(Block::small(
            "These are the plans of pragmark's own version of SQLite for the schema at the latest execution of each \
             statement. The version that the program used may have chosen others.",
        ));
    }
    blocks.extend(unknown(plans));
    blocks
}

fn unknown(plans: &Plans) -> Option<Block> {
    let mut reasons: BTreeMap<&str, u64> = BTreeMap::new();
    for why in plans.unknown.values() {
        *reasons.entry(why).or_default() += 1;
    }
    let item = |(why, count): (&str, u64)| {
        Item::doubt(
            None,
            format!("{} without a plan: {why}.", plural(count, "statement", "statements")),
        )
    };
    Block::list(reasons.into_iter().map(item))
}

//! Changes of the indexes, with what they bring.

use engine::schema::Schema;

use crate::candidates::Candidate;
use crate::implied::key;
use crate::observe::Cost;
use crate::subject::Query;

/// Changes of the indexes, with what they bring.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Advice {
    /// Indexes to make, the one that brings most first.
    pub made: Vec<MadeIndex>,
    /// Indexes that are redundant then.
    pub dropped: Vec<DroppedIndex>,
    /// The effect of ANALYZE alone, if the planner then chooses better plans.
    pub analyzed: Option<Vec<Change>>,
    /// The statements for which the planner chooses a worse plan after ANALYZE alone; none if it was not tried.
    pub spoiled: Option<Vec<Spoiled>>,
    /// The cost of every statement before and after all of it.
    pub changes: Vec<Change>,
    /// Indexes that would help a statement much and are not advised, because others lose by them.
    pub declined: Vec<Declined>,
    /// Candidates that were not tried for want of time.
    pub untried: usize,
    /// Statements that cannot be executed here, with the reason.
    pub failed: Vec<(String, String)>,
}

impl Advice {
    /// Returns the statements that carry it out. Everything was counted with statistics, so they end with ANALYZE.
    pub fn sql(&self) -> Vec<String> {
        let made = self.made.iter().map(|made| made.sql.clone());
        let dropped = self.dropped.iter().map(|dropped| dropped.sql.clone());
        let is_counted = !self.made.is_empty() || self.analyzed.is_some();
        made.chain(dropped).chain(is_counted.then(|| "ANALYZE;".to_owned())).collect()
    }

    /// Removes indexes that are not needed any more.
    pub(crate) fn remove(&mut self, is_removed: impl Fn(&Candidate) -> bool) {
        self.forget(|index, _| is_removed(index));
        self.made.retain(|made| !is_removed(&made.index));
    }

    /// Removes changes that an index has no part in any more. What later ones bring the statement counts from before them.
    pub(crate) fn forget(&mut self, is_gone: impl Fn(&Candidate, &Change) -> bool) {
        for place in (0..self.made.len()).rev() {
            let MadeIndex { index, changes, step, .. } = &mut self.made[place];
            let (index, step) = (index.clone(), *step);
            let gone: Vec<Change> =
                changes.extract_if(.., |change| is_gone(&index, change)).collect();
            for gone in gone {
                let is_same = |change: &Change| change.name == gone.name;
                let mut of_step = self.made.iter().filter(|made| made.step == step);
                if of_step.any(|made| made.changes.iter().any(is_same)) {
                    continue;
                }
                let later = self.made.iter_mut().filter(|made| made.step > step);
                let later = later.flat_map(|made| &mut made.changes);
                later
                    .filter(|change| is_same(change) && change.before == gone.after)
                    .for_each(|change| change.before = gone.before);
            }
        }
    }

    /// Marks indexes that only serve foreign keys, which SQLite does not check by default, and puts them at the end.
    pub(crate) fn mark_keys<'q>(
        &mut self,
        schema: &Schema,
        queries: impl Iterator<Item = &'q Query> + Clone,
    ) {
        for made in &mut self.made {
            let Some(table) = schema.table(&made.index.table) else { continue };
            let columns = made.index.columns(schema);
            let is_helped = |change: &&Change| change.after.total() < change.before.total();
            let helped = made.changes.iter().filter(is_helped);
            let mut helped = helped
                .flat_map(|change| queries.clone().find(|query| query.name == change.name))
                .peekable();
            made.is_for_keys = helped.peek().is_some()
                && helped.all(|query| key(schema, table, &columns, &query.sql).is_some());
        }
        self.made.sort_by_key(|made| made.is_for_keys);
    }
}

/// An index that helps.
#[derive(Clone, Debug, PartialEq)]
pub struct MadeIndex {
    /// The index.
    pub index: Candidate,
    /// Its table and terms in words: `orders(customer_id, created_at)`.
    pub on: String,
    /// The statement that makes it.
    pub sql: String,
    /// Its size on the copy, in bytes.
    pub bytes: i64,
    /// The number of its step. Indexes of one step were tried together, and may help only together.
    pub step: usize,
    /// The costs of the statements that its step changed, before and after it.
    pub changes: Vec<Change>,
    /// Whether it only serves to find rows by foreign keys, which SQLite checks with `foreign_keys = ON`.
    pub is_for_keys: bool,
}

/// Indexes that would help a statement, and with which others cost more.
#[derive(Clone, Debug, PartialEq)]
pub struct Declined {
    /// The table and terms of each.
    pub on: Vec<String>,
    /// The cost of the statement with all that is advised, and with these besides.
    pub own: Change,
    /// The same of each statement that costs more with them.
    pub losses: Vec<Change>,
}

/// An index to drop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DroppedIndex {
    /// Its name.
    pub name: String,
    /// The index that serves instead.
    pub instead: String,
    /// The statement that drops it.
    pub sql: String,
}

/// A statement whose plan statistics alone make worse.
#[derive(Clone, Debug, PartialEq)]
pub struct Spoiled {
    /// Its cost without and with them.
    pub change: Change,
    /// The node of the new plan that reads most rows: its description, these rows, and those that SQLite expects.
    pub node: Option<(String, f64, f64)>,
    /// The index without which statistics make no statement worse.
    pub index: Option<String>,
}

/// The cost of a statement before and after a change.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The statement.
    pub name: String,
    /// Its cost before.
    pub before: Cost,
    /// Its cost after.
    pub after: Cost,
}

#[cfg(test)]
mod tests {
    use engine::schema::Table;

    use super::*;

    #[test]
    fn an_index_that_helps_no_statement_serves_no_foreign_key() {
        let table = Table { name: "orders".to_owned(), ..Table::default() };
        let schema = Schema { tables: vec![table], ..Schema::default() };
        let index = Candidate {
            table: "orders".to_owned(),
            parts: Vec::new(),
            covering: 0,
            condition: None,
        };
        let (on, sql) = (String::new(), String::new());
        let made = MadeIndex {
            index,
            on,
            sql,
            bytes: 0,
            step: 0,
            changes: Vec::new(),
            is_for_keys: false,
        };
        let mut advice = Advice { made: vec![made], ..Advice::default() };
        advice.mark_keys(&schema, std::iter::empty());
        assert!(!advice.made[0].is_for_keys);
    }
}

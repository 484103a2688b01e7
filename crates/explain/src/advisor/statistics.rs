//! Statistics of the tables that the statements use: plans that they mend, and plans that they spoil.

use std::collections::BTreeSet;

use engine::EngineError;
use script::effect::{literal, quoted};

use super::{Advice, CHANGE, Change, MARGIN, MORE, Measured, SMALL, Spoiled, Work, changed};
use crate::observe::Cost;

impl Work<'_> {
    /// Returns the tables that the statements use.
    fn tables(&self) -> Result<BTreeSet<String>, EngineError> {
        let mut tables = BTreeSet::new();
        for measured in &self.queries {
            let rows = self.connection.query_all(&format!(
                "SELECT tbl_name FROM sqlite_schema WHERE name IN (SELECT name FROM tables_used({}))",
                literal(&measured.query.sql)
            ))?;
            tables.extend(rows.iter().map(|row| row[0].to_string()));
        }
        Ok(tables)
    }

    /// Collects statistics of the tables that are used, and notes what that brings, if it is worth something, and what it spoils; plans with
    /// statistics are the ones that indexes are compared with. A table with a collation that the connection lacks gets none, and is named.
    pub(super) fn analyze(&mut self, advice: &mut Advice) -> Result<(), EngineError> {
        let before = self.costs();
        for table in self.tables()? {
            match self.connection.execute(&format!("ANALYZE {}", quoted(&table))) {
                Err(error) if error.is_not_understood() => {
                    advice.failed.push((format!("ANALYZE of {table}"), error.message()));
                }
                analyzed => analyzed?,
            }
        }
        let costs = self.costs_where(|_| true, None)?;
        self.measure_again(costs)?;
        let total = |costs: &[Cost]| costs.iter().map(Cost::total).sum::<i64>();
        let (old, new) = (total(&before), total(&self.costs()));
        let spoiled = (0..before.len()).filter(|place| {
            let (old, new) = (before[*place].total(), self.queries[*place].cost.total());
            new as f64 > SMALL && new > old.saturating_mul(MARGIN)
        });
        let spoiled: Vec<usize> = spoiled.collect();
        let spoiled = spoiled.into_iter().map(|place| self.spoiled(place, &before));
        advice.spoiled = Some(spoiled.collect::<Result<_, EngineError>>()?);
        let changes = self.changes_since(&before);
        let is_worth = old as f64 > SMALL && (new as f64) < old as f64 * (1.0 - CHANGE);
        if is_worth {
            self.queries.iter_mut().for_each(|measured| measured.said = measured.cost);
        }
        advice.analyzed = is_worth.then(|| changed(changes));
        Ok(())
    }

    /// Returns why a statement costs more with statistics than before, and the existing index without which none does.
    fn spoiled(&mut self, place: usize, before: &[Cost]) -> Result<Spoiled, EngineError> {
        let Measured { query, cost, is_write, .. } = &self.queries[place];
        let values = query.values.first().map_or(&[][..], Vec::as_slice);
        // A statement that is stopped while it writes ends the transaction.
        let seen = (!is_write).then(|| self.subject.execute(self.connection, &query.sql, values));
        self.connection.limit_steps(u32::MAX)?;
        let nodes = seen.transpose()?.map_or_else(Vec::new, |seen| seen.nodes);
        let node = nodes.into_iter().filter_map(|node| {
            let (expected, loops) = (node.expected?, node.loops?.max(1) as f64);
            Some((node.detail, node.visited? as f64, expected * loops))
        });
        let node = node.max_by(|(_, a, _), (_, b, _)| a.total_cmp(b));
        let change = Change { name: query.name.clone(), before: before[place], after: *cost };
        let (now, mut index) = (self.shelf.visible(), None);
        for name in self.used(&self.queries[place])? {
            let Some(used) = self.shelf.find(&name).filter(|_| index.is_none()) else { continue };
            self.shelf.show(&now.iter().copied().filter(|other| *other != used).collect())?;
            let costs = self.costs_where(|_| true, Some(MORE))?;
            let is_worse = costs
                .iter()
                .zip(before)
                .any(|(then, before)| then.total() as f64 > before.total() as f64 * (1.0 + CHANGE));
            index = (!is_worse).then_some(name);
        }
        self.shelf.show(&now)?;
        Ok(Spoiled { change, node, index })
    }
}

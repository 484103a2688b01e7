//! Indexes that were chosen: what they bring, and which of them and of the existing ones others make redundant.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use engine::EngineError;
use engine::schema::Index;

use super::{
    Advice, CHANGE, COVERING, Change, Declined, DroppedIndex, Group, LEAST, MORE, MadeIndex,
    Measured, Work, changed, served,
};
use crate::candidates::Candidate;
use crate::observe::Cost;
use crate::schema;

impl Work<'_> {
    /// Makes indexes that were chosen, and notes what they bring.
    pub(super) fn keep(&mut self, chosen: Group, advice: &mut Advice) -> Result<(), EngineError> {
        // Statistics come with the index, also where they alone make a plan worse.
        let mut before: Vec<Cost> = self.queries.iter().map(|measured| measured.said).collect();
        // Whether existing indexes are redundant is judged at the end.
        let existing = self.shelf.visible().into_iter();
        let existing = existing.filter(|place| self.shelf.candidate(*place).is_none());
        self.shelf.show(&self.with(&chosen).into_iter().chain(existing).collect())?;
        self.shelf.make_all(&chosen)?;
        let costs = self.costs_with(&chosen, None)?;
        self.measure_again(costs)?;
        let shown = self.shelf.visible();
        let step = advice.made.last().map_or(0, |made| made.step + 1);
        let is_shown = |index: &Candidate| {
            shown
                .iter()
                .any(|place| self.shelf.candidate(*place).is_some_and(|other| other.is_same(index)))
        };
        // What a wider index replaces, it brings, too.
        for made in advice.made.iter().rev().filter(|made| !is_shown(&made.index)) {
            for change in &made.changes {
                let is_same = |measured: &Measured| measured.query.name == change.name;
                let own = self.queries.iter().position(is_same);
                own.into_iter().for_each(|place| before[place] = change.before);
            }
        }
        advice.remove(|index| !is_shown(index));
        let used: Vec<Vec<Used>> =
            self.queries.iter().map(|measured| used(&measured.plan)).collect();
        for place in chosen {
            let Some(mut index) = self.shelf.candidate(place).cloned() else { continue };
            let uses = |number: &usize| {
                used[*number].iter().find(|used| self.shelf.find(&used.index) == Some(place))
            };
            let searched = (0..used.len()).filter_map(|number| Some(uses(&number)?.terms)).max();
            let others = index.parts.len().saturating_sub(searched.unwrap_or(0));
            index.covering = index.covering.min(others);
            // Statistics alone may change the others; writes maintain it.
            let is_own = |(number, change): &(usize, Change)| {
                uses(number).is_some() || change.after.total() > change.before.total()
            };
            let changes = self.changes_since(&before).into_iter().enumerate().filter(is_own);
            let (places, changes): (Vec<usize>, Vec<Change>) = changes.unzip();
            let schema = &self.subject.schema;
            advice.made.push(MadeIndex {
                on: index.on(schema),
                sql: format!("{};", index.create(schema, &index.name(schema))),
                bytes: self.shelf.bytes(place)?,
                step,
                changes: changed(changes),
                is_for_keys: false,
                index,
            });
            places
                .into_iter()
                .for_each(|place| self.queries[place].said = self.queries[place].cost);
        }
        Ok(())
    }

    /// Drops indexes that others serve as well: new ones, and existing ones whose terms a new one has.
    pub(super) fn drop_redundant(&mut self, advice: &mut Advice) -> Result<(), EngineError> {
        for place in self.shelf.visible() {
            if (self.spent)() > 1.0 {
                return Ok(());
            }
            let Some(candidate) = self.shelf.candidate(place) else { continue };
            let candidate = candidate.clone();
            if advice.made.len() > 1 && self.is_dropped(place, false)? {
                advice.remove(|index| index.is_same(&candidate));
            }
        }
        for made in &advice.made {
            let Some(table) = self.subject.schema.table(&made.index.table) else { continue };
            if made.index.condition.is_none() {
                for name in served(table, &made.index.parts) {
                    self.drop_for(name, &made.on, false, &mut advice.dropped)?;
                }
            }
        }
        Ok(())
    }

    /// Drops existing indexes that repeat the beginning of another existing one, where statements that write cost less then.
    pub(super) fn drop_repeated(&mut self, advice: &mut Advice) -> Result<(), EngineError> {
        for table in &self.subject.schema.tables {
            let mut others: Vec<&Index> = table.indexes.iter().collect();
            others.retain(|index| !index.is_partial);
            // The longest one stays.
            others.sort_by_key(|index| Reverse(index.parts.len()));
            for other in others {
                let is_visible = self
                    .shelf
                    .find(&other.name)
                    .is_some_and(|place| self.shelf.visible().contains(&place));
                let repeated = served(table, &other.parts).into_iter();
                for name in repeated.filter(|name| is_visible && *name != other.name) {
                    self.drop_for(name, &other.name, true, &mut advice.dropped)?;
                }
            }
        }
        Ok(())
    }

    /// Drops an existing index for another one that serves instead, as [`Work::is_dropped`] allows.
    fn drop_for(
        &mut self,
        name: &str,
        instead: &str,
        spares_writes: bool,
        dropped: &mut Vec<DroppedIndex>,
    ) -> Result<(), EngineError> {
        let place = self.shelf.find(name).filter(|place| self.shelf.visible().contains(place));
        if let Some(place) = place
            && (self.spent)() <= 1.0
            && self.is_dropped(place, spares_writes)?
        {
            let sql = format!("DROP INDEX {};", schema::name(name));
            dropped.push(DroppedIndex { name: name.to_owned(), instead: instead.to_owned(), sql });
        }
        Ok(())
    }

    /// Drops an index, unless a statement costs more without it, or none that writes costs less although one has to.
    fn is_dropped(&mut self, place: usize, spares_writes: bool) -> Result<bool, EngineError> {
        let now = self.shelf.visible();
        self.shelf.show(&now.iter().copied().filter(|other| *other != place).collect())?;
        let costs = self.costs_where(|_| true, Some(MORE))?;
        let is_worse = (self.queries.iter().zip(&costs).enumerate()).any(|(place, (now, then))| {
            let is_stopped = *then != now.cost && then.steps >= i64::from(self.most(place, MORE));
            is_stopped || then.total() as f64 > now.cost.total() as f64 * (1.0 + CHANGE)
        });
        let mut both = self.queries.iter().zip(&costs);
        let spares = both.any(|(now, then)| now.is_write && then.total() < now.cost.total());
        let is_dropped = !is_worse && (spares || !spares_writes);
        if !is_dropped {
            self.shelf.show(&now)?;
        } else {
            self.measure_again(costs)?;
        }
        Ok(is_dropped)
    }

    /// Returns the indexes that would help single statements much, and with which others cost more.
    pub(super) fn declined(&mut self) -> Result<Vec<Declined>, EngineError> {
        let (before, now) = (self.costs(), self.shelf.visible());
        let mut declined: Vec<Declined> = Vec::new();
        for place in 0..self.queries.len() {
            let group = self.queries[place].favourite.clone();
            if group.is_subset(&now) || self.is_late() {
                continue;
            }
            self.shelf.show(&now.union(&group).copied().collect())?;
            let costs = self.costs_with(&group, None)?;
            self.shelf.show(&now)?;
            let change = |(at, after): (usize, Cost)| {
                let name = self.queries[at].query.name.clone();
                Change { name, before: before[at], after }
            };
            let own = change((place, costs[place]));
            let (was, is) = (own.before.total() as f64, own.after.total() as f64);
            let all = costs.into_iter().enumerate().map(change);
            let is_loss = |change: &Change| {
                change.after.total() as f64 > change.before.total() as f64 * (1.0 + CHANGE)
            };
            let losses: Vec<Change> = all.filter(is_loss).collect();
            if was - is > COVERING.max(LEAST * was) && !losses.is_empty() {
                let missing = group.difference(&now);
                let candidates = missing.filter_map(|place| self.shelf.candidate(*place));
                let on = candidates.map(|index| index.on(&self.subject.schema)).collect();
                declined.push(Declined { on, own, losses });
            }
        }
        Ok(declined)
    }

    /// Returns whether the plan of a statement has a candidate.
    pub(super) fn uses(&self, index: &Candidate, name: &str) -> bool {
        let mut own = self.queries.iter().filter(|measured| measured.query.name == name);
        own.any(|measured| {
            let places =
                used(&measured.plan).into_iter().filter_map(|used| self.shelf.find(&used.index));
            let mut candidates = places.filter_map(|place| self.shelf.candidate(place));
            candidates.any(|candidate| candidate.is_same(index))
        })
    }

    /// Returns the names of the indexes in the plan of a statement, with its values bound.
    pub(super) fn used(&self, measured: &Measured) -> Result<Vec<String>, EngineError> {
        let plan = self.plan(&measured.query, &measured.implied)?;
        Ok(used(&plan).into_iter().map(|used| used.index).collect())
    }
}

/// An index in a plan.
struct Used {
    index: String,
    /// The number of its columns that are searched.
    terms: usize,
}

/// Returns the indexes in a plan, as in `USING INDEX name FOR IN-OPERATOR` or `USING INDEX name (ANY(a) AND b>? AND b<?)`; names of
/// candidates have no spaces.
fn used(plan: &[String]) -> Vec<Used> {
    let used = |line: &String| {
        let (_, rest) = line.split_once(" INDEX ")?;
        let (index, terms) = rest.split_once(' ').unwrap_or((rest, ""));
        let column = |term: &str| {
            let term = term.trim_start_matches('(').trim_start_matches("ANY(");
            term.split(['=', '<', '>', ')']).next().unwrap_or_default().to_owned()
        };
        let terms = if terms.starts_with('(') { terms.split(" AND ") } else { "".split(" AND ") };
        let columns: BTreeSet<String> =
            terms.map(column).filter(|name| !name.is_empty() && name != "rowid").collect();
        Some(Used { index: index.to_owned(), terms: columns.len() })
    };
    plan.iter().filter_map(used).collect()
}

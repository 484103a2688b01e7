//! Indexes for a whole workload, judged by what its statements cost with them on a copy: those that read and those that
//! write, each as often as it is executed.

mod kept;
mod statistics;

use std::collections::{BTreeMap, BTreeSet};

use engine::schema::{Part, Table};
use engine::{Connection, EngineError};

pub use crate::advice::{Advice, Change, Declined, DroppedIndex, MadeIndex, Spoiled};
use crate::candidates::{Candidate, Planner};
use crate::implied::implied;
use crate::observe::Cost;
use crate::shelf::{CACHE, PREFIX, Set, Shelf};
use crate::subject::{Query, Subject};

/// The most indexes that are advised, if there are no more statements.
const MOST: usize = 10;

/// The least part of the cost of a statement that an index has to save.
pub const LEAST: f64 = 0.3;

/// The largest database whose statistics are always collected, in bytes.
const QUICK: i64 = 32 << 20;

/// A part of a cost that counts as a change of it.
const CHANGE: f64 = 0.1;

/// A cost below which a statement needs no index: about 12 µs.
pub const SMALL: f64 = 1000.0;

/// The cost of an execution besides its steps, such as binding its values and committing. So a few instructions more or less do not make a
/// small statement count as much as a large one.
const FIXED: f64 = 500.0;

/// The part of the most that is saved that counts as nearly as much.
const CLOSE: f64 = 0.9;

/// The least cost that covered columns have to save besides, about 0.1 ms: writes maintain them, too.
const COVERING: f64 = 10_000.0;

/// The bytes of an index, and of its columns that only spare look-ups, for which it has to save one unit of cost.
const BYTES: (f64, f64) = (1024.0, 32.0);

/// Favourites of the planner that are measured for each statement: among partial indexes that only search and sort, among all partial ones,
/// four times among those that only search and sort, and among all.
const FAVOURITES: [fn(&Candidate) -> bool; 7] = [
    |candidate| candidate.condition.is_some() && candidate.covering == 0,
    |candidate| candidate.condition.is_some(),
    searches,
    searches,
    searches,
    searches,
    |_| true,
];

fn searches(candidate: &Candidate) -> bool {
    candidate.covering == 0
}

/// A favourite that costs this many times what the best one does is none, unless it covers no columns and the difference is small.
const NEAR: i64 = 3;

/// More steps than this are not waited for while something is tried.
const MORE: i64 = 5_000_000;

/// The part of the time that is for choosing among indexes that help single statements.
const CHOOSING: f64 = 0.4;

/// The part of the time after which no more indexes are chosen one by one.
const LAST: f64 = 0.9;

/// Steps for which each favourite is executed at first.
const FIRST: i64 = 200_000;

/// An execution with an index may take this many times the steps that it takes without, and is stopped then.
const MARGIN: i64 = 2;

/// Finds indexes for a workload, on a copy that is changed and changed back. A statement may come with its known cost on the copy as it is.
/// `spent` returns the part of the time for trying that is over. When nine tenths are over, the cheapest indexes of each statement are made
/// together, once.
///
/// # Errors
/// SQLite's, such as a full disk. A statement that cannot be executed is named in the advice.
pub fn advise(
    subject: &Subject,
    queries: &[(Query, Option<Cost>)],
    spent: &dyn Fn() -> f64,
) -> Result<Advice, EngineError> {
    let connection = subject.connect()?;
    // Pages that are asked of the cache are counted, not those that are missing in it.
    connection.execute(&format!("{CACHE}; BEGIN"))?;
    let shelf = Shelf::new(&connection, &subject.schema)?;
    let known = BTreeMap::new();
    let mut work =
        Work { subject, connection: &connection, shelf, known, queries: Vec::new(), spent };
    let mut advice = Advice::default();
    for (query, cost) in queries {
        match work.measured(query, *cost) {
            Ok(measured) => work.queries.push(measured),
            Err(error) => advice.failed.push((query.name.clone(), error.to_string())),
        }
    }
    let (before, existing) = (work.costs(), work.shelf.visible());
    // Statistics of a large table take long to collect.
    if subject.size.bytes <= QUICK || before.iter().any(|cost| cost.total() as f64 > SMALL) {
        work.analyze(&mut advice)?;
        let statements = queries.iter().map(|(query, _)| query.sql.as_str());
        let mut planner = Planner::new(subject, &connection, statements)?;
        let (mut places, mut untried) = ((0..work.queries.len()).collect(), None);
        // What helps a statement besides may not have helped it before.
        loop {
            let shown = work.shelf.visible();
            work.choose_all(&planner, places, &mut advice)?;
            untried.get_or_insert(advice.untried);
            if work.shelf.visible() == shown || work.is_late() {
                break;
            }
            planner.made = advice.made.iter().map(|made| made.index.clone()).collect();
            let dear = |place: &usize| work.queries[*place].cost.total() as f64 > SMALL;
            places = (0..work.queries.len()).filter(dear).collect();
        }
        advice.untried = untried.unwrap_or_default();
        work.drop_redundant(&mut advice)?;
        advice.forget(|index, change| {
            change.after.total() < change.before.total() && !work.uses(index, &change.name)
        });
        let is_discarded = advice.analyzed.is_none() && !work.saves_since(&before);
        if advice.made.is_empty() || !is_discarded {
            advice.declined = work.declined()?;
        }
        if is_discarded {
            (advice.made, advice.dropped) = Default::default();
            work.undo(&existing, before.clone())?;
        }
        work.drop_repeated(&mut advice)?;
        advice.mark_keys(&subject.schema, queries.iter().map(|(query, _)| query));
    }
    advice.changes = work.changes_since(&before);
    connection.execute("ROLLBACK")?;
    Ok(advice)
}

/// A statement with what it costs now.
struct Measured {
    query: Query,
    /// The statements that SQLite executes with it.
    implied: Vec<String>,
    cost: Cost,
    /// Its plan, as long as which a statement that reads costs what it costs now.
    plan: Vec<String>,
    is_write: bool,
    /// Its cost as the advice has said so far: at first, without statistics.
    said: Cost,
    /// The least that it is known to cost with new ones.
    best: i64,
    /// The new ones with which it costs least.
    favourite: Group,
}

/// Indexes that are tried together, by their places on the shelf.
type Group = Set;

/// Indexes that are tried together, with the savings for which they were chosen, and those beside the present indexes.
struct Tried {
    group: Group,
    promise: f64,
    gain: Option<Gain>,
}

/// The gain of indexes.
#[derive(Clone, Debug, Default)]
struct Gain {
    /// The statements whose cost they change, by their places.
    changed: BTreeSet<usize>,
    /// Their savings: the sum of the logarithms of the costs, so that one large statement does not hide the others, nor one that
    /// runs often: how often it runs counts by its logarithm, too. Whether they are worth it is decided by the sum of all costs.
    saved: f64,
    /// The costs of the statements that they change, before and with them.
    before: f64,
    left: f64,
    /// The part of the costs with them that is for sorting.
    sorting: f64,
    /// The cost that they have to save because of their size.
    price: f64,
    /// Whether they are worth their place.
    is_worth: bool,
    /// Whether a statement was stopped, so that it costs more than is counted.
    is_open: bool,
}

/// Returns the number of the indexes that save most; among those that save nearly as much, of those that leave least, where each
/// column counts for a fiftieth, each that is only covered for a quarter, and the price for a hundredth, or less in a large database, where every
/// index is large. Sorting counts twice, because it
/// grows with the rows of each key, and a copy of today has fewer of them than the database will have. Covered columns have to save
/// something more.
fn best(shelf: &Shelf<'_>, tried: &[Tried], database: i64) -> Option<usize> {
    struct Worth<'t> {
        number: usize,
        /// Columns that search or sort, and those that are only covered.
        columns: usize,
        covered: usize,
        gain: &'t Gain,
    }
    let worth = tried.iter().enumerate().filter_map(|(number, tried)| {
        let gain = tried.gain.as_ref().filter(|gain| gain.is_worth)?;
        let parts = tried.group.iter().filter_map(|place| shelf.candidate(*place));
        let (all, covered) = parts.fold((0, 0), |(all, covered), candidate| {
            (all + candidate.parts.len(), covered + candidate.covering)
        });
        Some(Worth { number, columns: all - covered, covered, gain })
    });
    let worth: Vec<Worth<'_>> = worth.collect();
    let saved = |one: &Worth<'_>| one.gain.before - one.gain.left;
    let plain = worth.iter().filter(|one| one.covered == 0);
    let plain = plain.max_by(|a, b| saved(a).total_cmp(&saved(b)));
    let is_enough = |one: &&Worth<'_>| {
        let least = plain.map(|plain| {
            let price = one.gain.price - plain.gain.price;
            saved(plain) + COVERING.max(LEAST * plain.gain.left).max(price)
        });
        one.covered == 0 || least.is_none_or(|least| saved(one) > least)
    };
    let most = worth.iter().filter(is_enough).map(|one| one.gain.saved).fold(0.0, f64::max);
    let near = worth.iter().filter(is_enough).filter(|one| one.gain.saved > most * CLOSE);
    let part_of_price = 0.01 * (QUICK as f64 / database as f64).min(1.0);
    let score = |one: &Worth<'_>| {
        one.gain.left * (1.0 + 0.02 * one.columns as f64 + 0.25 * one.covered as f64)
            + one.gain.sorting
            + part_of_price * one.gain.price
    };
    near.min_by(|a, b| score(a).total_cmp(&score(b))).map(|one| one.number)
}

/// Returns a limit of steps that leaves room for small statements.
fn steps_of(steps: i64) -> u32 {
    steps.clamp(10_000, i64::from(u32::MAX)) as u32
}

/// Returns the logarithm of the ratio of two costs of a statement, the larger the more often it runs.
fn saved(query: &Query, now: Cost, then: i64) -> f64 {
    query.weight.ln_1p() * ((now.total() as f64 + FIXED) / (then as f64 + FIXED)).ln()
}

struct Work<'s> {
    subject: &'s Subject,
    connection: &'s Connection,
    shelf: Shelf<'s>,
    /// The cost of a statement with a plan, and with a set of indexes if it writes; and the steps after which it was to be stopped.
    known: BTreeMap<(usize, Vec<String>, Set), (Cost, u32)>,
    /// Statements with what they cost now.
    queries: Vec<Measured>,
    spent: &'s dyn Fn() -> f64,
}

impl Work<'_> {
    fn cost(&self, query: &Query, most: u32) -> Result<Cost, EngineError> {
        self.subject.cost(self.connection, query, most)
    }

    fn measured(&self, query: &Query, known: Option<Cost>) -> Result<Measured, EngineError> {
        let implied = implied(&self.subject.schema, &query.sql);
        let is_write = !self.connection.prepare(&query.sql)?.is_read_only();
        // A write is executed again with each index, on this connection, where it asks for fewer pages than on a new one.
        let known = known.filter(|_| !is_write);
        let cost = known.map_or_else(|| self.cost(query, u32::MAX), Ok)?;
        Ok(Measured {
            query: query.clone(),
            cost,
            said: cost,
            plan: self.plan(query, &implied)?,
            implied,
            is_write,
            best: i64::MAX,
            favourite: Group::new(),
        })
    }

    /// Returns the plan of a statement, with its values bound, and of those executed with it.
    fn plan(&self, query: &Query, implied: &[String]) -> Result<Vec<String>, EngineError> {
        let values = query.values.first().map_or(&[][..], Vec::as_slice);
        let mut plan = self.connection.query_plan_with(&query.sql, values)?;
        // What has a meaning only in its trigger has no plan by itself.
        plan.extend(implied.iter().flat_map(|sql| self.connection.query_plan(sql)).flatten());
        Ok(plan)
    }

    /// Returns to the existing indexes without new statistics: what statistics spoil and indexes mend is better left as it is.
    fn undo(&mut self, existing: &Set, before: Vec<Cost>) -> Result<(), EngineError> {
        self.shelf.show(existing)?;
        self.connection.execute("ROLLBACK; BEGIN; PRAGMA writable_schema = RESET")?;
        self.measure_again(before)
    }

    fn costs(&self) -> Vec<Cost> {
        self.queries.iter().map(|measured| measured.cost).collect()
    }

    fn is_late(&self) -> bool {
        (self.spent)() > LAST
    }

    fn changes_since(&self, before: &[Cost]) -> Vec<Change> {
        let changes = self.queries.iter().zip(before).map(|(measured, before)| Change {
            name: measured.query.name.clone(),
            before: *before,
            after: measured.cost,
        });
        changes.collect()
    }

    /// Returns whether a statement costs so much less than before that indexes are worth it.
    fn saves_since(&self, before: &[Cost]) -> bool {
        self.queries.iter().zip(before).any(|(measured, before)| {
            let (now, before) = (measured.cost.total() as f64, before.total() as f64);
            before > SMALL && before - now > LEAST * before
        })
    }

    /// Chooses indexes for all statements, of those that help single ones at these places. Those that cost most come first, as time may run out.
    fn choose_all(
        &mut self,
        planner: &Planner<'_>,
        mut places: Vec<usize>,
        advice: &mut Advice,
    ) -> Result<(), EngineError> {
        // The rest of the time is for choosing among them.
        let last = LAST - CHOOSING * (LAST - (self.spent)());
        let weighted = |place: &usize| {
            let Measured { query, cost, .. } = &self.queries[*place];
            query.weight * cost.total() as f64
        };
        places.sort_by(|a, b| weighted(b).total_cmp(&weighted(a)));
        let mut promised: Vec<(Group, usize, f64)> = Vec::new();
        let mut cheapest = Group::new();
        for place in places {
            // Partial ones need counts of tables.
            let is_over = (self.spent)() > last;
            let candidates = planner.candidates(&self.queries[place].query, !is_over);
            if is_over {
                advice.untried += candidates.len();
                continue;
            }
            let wanted = self.wanted(place, &candidates)?;
            let favourites = self.favourites(place, wanted)?;
            cheapest.extend(self.plain(&favourites).into_iter().flatten());
            promised.extend(favourites.into_iter().map(|(group, promise)| (group, place, promise)));
        }
        let groups: BTreeSet<&Group> = promised.iter().map(|(group, ..)| group).collect();
        let tried = groups.into_iter().map(|group| Tried {
            group: group.clone(),
            promise: self.promise(group, &promised),
            gain: None,
        });
        let mut tried: Vec<Tried> = tried.collect();
        self.choose(&mut tried, advice)?;
        if self.is_late() && tried.iter().any(|tried| tried.gain.is_none()) {
            self.add_all(&tried, cheapest, advice)?;
        }
        Ok(())
    }

    /// Returns the best of the favourites of a statement, or one that is nearly as good and covers no columns.
    fn plain<'f>(&self, favourites: &'f [(Group, f64)]) -> Option<&'f Group> {
        let (first, most) = favourites.first()?;
        let is_plain =
            |(group, promise): &&(Group, f64)| !self.covers(group) && *promise > most * CLOSE;
        favourites.iter().find(is_plain).map(|(group, _)| group).or(Some(first))
    }

    /// Returns the cost below which a group is a favourite beside the best one.
    fn near(&self, group: &Group, best: i64) -> i64 {
        let slack = if self.covers(group) { 0 } else { COVERING as i64 };
        best.saturating_mul(NEAR).max(best.saturating_add(slack))
    }

    fn covers(&self, group: &Group) -> bool {
        let mut candidates = group.iter().filter_map(|place| self.shelf.candidate(*place));
        candidates.any(|candidate| candidate.covering > 0)
    }

    /// Returns the cost that a group has to save beside others because of its size. An index of the same columns as another one, or of some
    /// of them, brings little more than an order.
    fn price(&self, now: &Set, group: &Group) -> f64 {
        let others = now.iter().filter_map(|place| self.shelf.candidate(*place));
        let has = |a: &Candidate, b: &Candidate| {
            let mut parts = b.parts.iter();
            parts.all(|part| a.parts.iter().any(|other| other.of == part.of))
        };
        let is_twin = |of: &Candidate| {
            others.clone().any(|other| {
                let is_near = other.table == of.table && other.condition == of.condition;
                is_near && !other.is_served_by(of) && (has(other, of) || has(of, other))
            })
        };
        let price = |place: &usize| {
            let candidate = self.shelf.candidate(*place).filter(|_| !now.contains(place))?;
            let (all, covered) = self.shelf.expected(*place);
            let dear = if is_twin(candidate) { all } else { covered };
            Some(all / BYTES.0 + dear / BYTES.1)
        };
        group.iter().filter_map(price).sum()
    }

    /// Returns a group that was not tried and that one with covered columns serves: they may bring little besides.
    fn narrower(&self, of: &Group, left: &[Tried]) -> Option<Group> {
        let is_narrower = |tried: &&Tried| {
            tried.gain.is_none() && !self.covers(&tried.group) && self.serves(of, &tried.group)
        };
        let narrower = left.iter().find(is_narrower).filter(|_| self.covers(of));
        narrower.map(|tried| tried.group.clone())
    }

    /// Returns whether a group serves every search that another one serves.
    fn serves(&self, group: &Group, other: &Group) -> bool {
        let candidate = |place: &usize| self.shelf.candidate(*place);
        let wider = |other| {
            group.iter().filter_map(candidate).any(|wider| Candidate::is_served_by(other, wider))
        };
        other.iter().filter_map(candidate).all(wider)
    }

    /// Returns the savings that a group promises for all statements. A wider index also promises those of a narrower one that it replaces.
    fn promise(&self, group: &Group, promised: &[(Group, usize, f64)]) -> f64 {
        let mut most: BTreeMap<usize, f64> = BTreeMap::new();
        for (_, place, promise) in promised.iter().filter(|(other, ..)| self.serves(group, other)) {
            let most = most.entry(*place).or_default();
            *most = most.max(*promise);
        }
        most.values().sum()
    }

    /// Returns the candidates that SQLite's planner uses for a statement. It chooses among partial indexes, four times among indexes that
    /// search or sort, then among all that are left, also those that cover columns. Indexes of one plan, such as of both sides of an OR, may help
    /// only together.
    fn wanted(
        &mut self,
        place: usize,
        candidates: &[Candidate],
    ) -> Result<Vec<Group>, EngineError> {
        let now = self.shelf.visible();
        let mut left = Set::new();
        for candidate in candidates {
            left.extend(self.shelf.add(candidate)?);
        }
        let mut groups: Vec<Group> = Vec::new();
        for is_offered in FAVOURITES {
            let offered = |place: &usize| self.shelf.candidate(*place).is_some_and(is_offered);
            let offered = left.iter().copied().filter(offered);
            self.shelf.show(&now.iter().copied().chain(offered).collect())?;
            let used = self.used(&self.queries[place])?;
            let used = used.iter().filter_map(|name| self.shelf.find(name));
            let used: Group = used.filter(|place| left.contains(place)).collect();
            left.retain(|place| !used.contains(place));
            let single = used.iter().filter(|_| used.len() > 1).map(|place| Group::from([*place]));
            let single: Vec<Group> = single.collect();
            groups.extend((!used.is_empty()).then_some(used));
            groups.extend(single);
        }
        self.shelf.show(&now)?;
        Ok(groups)
    }

    /// Returns the groups that make a statement cheaper, each with the savings that it promises: the best one first, then others that are
    /// nearly as good.
    fn favourites(
        &mut self,
        place: usize,
        mut groups: Vec<Group>,
    ) -> Result<Vec<(Group, f64)>, EngineError> {
        let now = self.shelf.visible();
        let Measured { cost, is_write, .. } = self.queries[place];
        let mut measured: Vec<(i64, Group)> = Vec::new();
        // All are executed for a few steps, then for more, until one ends: so a bad plan takes no longer than a good one. Savings
        // smaller than a change are not waited for.
        let last = (cost.total() as f64 * (1.0 - CHANGE)) as i64;
        let (mut most, mut best) = ((last / 64).max(FIRST), i64::MAX);
        while !groups.is_empty() {
            let mut unended = Vec::new();
            for group in groups {
                let steps = most.min(last).min(self.near(&group, best));
                let steps = if is_write { u32::MAX } else { steps_of(steps) };
                self.shelf.show(&now.union(&group).copied().collect())?;
                let then = self.cost_of(place, steps)?;
                if then.steps >= i64::from(steps) {
                    unended.push(group);
                } else {
                    best = best.min(then.total() + self.price(&now, &group) as i64);
                    measured.push((then.total(), group));
                }
            }
            if best < i64::MAX || most >= last {
                break;
            }
            groups = unended;
            most *= 8;
        }
        self.shelf.show(&now)?;
        self.queries[place].best = best;
        let query = &self.queries[place].query;
        measured.sort_by_key(|(then, _)| *then);
        let is_near = |(then, group): &(i64, Group)| {
            (*then as f64) < cost.total() as f64 * (1.0 - CHANGE) && *then < self.near(group, best)
        };
        let near = measured.into_iter().filter(is_near);
        let near: Vec<(Group, f64)> =
            near.map(|(then, group)| (group, saved(query, cost, then))).collect();
        self.queries[place].favourite =
            near.first().map_or(Group::new(), |(group, _)| group.clone());
        Ok(near)
    }

    /// Adds the indexes that save most, again and again, until none saves enough.
    fn choose(&mut self, left: &mut Vec<Tried>, advice: &mut Advice) -> Result<(), EngineError> {
        while advice.made.len() < MOST.max(self.queries.len()) {
            left.sort_by(|a, b| b.promise.total_cmp(&a.promise));
            let mut most = 0.0;
            for tried in left.iter_mut() {
                if self.is_late() || tried.promise < most * CLOSE {
                    break;
                }
                if tried.gain.is_none() {
                    let gain = self.gain(&tried.group, 0)?;
                    tried.promise = gain.saved;
                    tried.gain = Some(gain);
                }
                most = tried
                    .gain
                    .as_ref()
                    .filter(|gain| gain.is_worth)
                    .map_or(most, |gain| gain.saved.max(most));
            }
            let Some(number) = best(&self.shelf, left, self.subject.size.bytes) else { break };
            if let Some(group) = self.narrower(&left[number].group, left) {
                let gain = self.gain(&group, 0)?;
                left.iter_mut()
                    .filter(|tried| tried.group == group)
                    .for_each(|tried| tried.gain = Some(gain.clone()));
                continue;
            }
            if let Tried { group, gain: Some(gain), .. } = &mut left[number]
                && gain.is_open
            {
                *gain = self.gain(group, (gain.before - gain.left) as i64)?;
                gain.is_worth &= !gain.is_open;
                continue;
            }
            let Tried { mut group, mut gain, .. } = left.remove(number);
            group.retain(|place| !self.shelf.visible().contains(place));
            // Members that the others can do without are left out.
            for place in group.clone() {
                let fewer: Group = group.iter().copied().filter(|other| *other != place).collect();
                let then = self.gain(&fewer, 0)?;
                if then.is_worth
                    && !then.is_open
                    && gain.as_ref().is_some_and(|gain| then.saved > gain.saved * CLOSE)
                {
                    (group, gain) = (fewer, Some(then));
                }
            }
            self.keep(group, advice)?;
            let changed = gain.map_or_else(BTreeSet::new, |gain| gain.changed);
            // Others bring what they brought, unless they change the cost of the same statements.
            for Tried { gain, .. } in left.iter_mut() {
                gain.take_if(|gain| !gain.changed.is_disjoint(&changed));
            }
        }
        Ok(())
    }

    /// Adds the cheapest index for each statement by itself, all together, where there was no time to choose among them. An index that
    /// serves nothing then is dropped afterwards.
    fn add_all(
        &mut self,
        left: &[Tried],
        cheapest: Group,
        advice: &mut Advice,
    ) -> Result<(), EngineError> {
        // What was tried and is not worth its place does not come in with others.
        let is_rejected = |place: &usize| {
            let own = |tried: &Tried| tried.group.contains(place);
            let is_worthless = |gain: &Gain| !gain.is_worth;
            left.iter().any(|tried| own(tried) && tried.gain.as_ref().is_some_and(is_worthless))
        };
        let mut group = cheapest.clone();
        group.retain(|place| !self.shelf.visible().contains(place) && !is_rejected(place));
        let mut gain = self.gain(&group, 0)?;
        if gain.is_open {
            gain = self.gain(&group, (gain.before - gain.left) as i64)?;
        }
        let is_kept = gain.is_worth && !gain.is_open;
        let is_untried =
            |tried: &&Tried| tried.gain.is_none() && !(is_kept && tried.group.is_subset(&cheapest));
        advice.untried += left.iter().filter(is_untried).count();
        if is_kept { self.keep(group, advice) } else { Ok(()) }
    }

    /// Returns the present indexes and a group, without those that it extends, so that writes maintain no more of them than now.
    fn with(&self, group: &Group) -> Set {
        let mut set = self.shelf.visible();
        for candidate in group.iter().filter_map(|place| self.shelf.candidate(*place)) {
            let table = self.subject.schema.table(&candidate.table);
            let table = table.filter(|_| candidate.condition.is_none());
            for name in table.map_or(Vec::new(), |table| served(table, &candidate.parts)) {
                set.retain(|place| self.shelf.find(name) != Some(*place));
            }
            set.retain(|place| {
                self.shelf.candidate(*place).is_none_or(|other| !other.is_served_by(candidate))
            });
        }
        set.extend(group);
        set
    }

    /// Returns what indexes save. A statement is waited for if it costs up to `more` steps more than usual.
    fn gain(&mut self, group: &Group, more: i64) -> Result<Gain, EngineError> {
        let now = self.shelf.visible();
        self.shelf.show(&self.with(group))?;
        let costs = self.costs_with(group, Some(more))?;
        self.shelf.show(&now)?;
        let mut gain = Gain { price: self.price(&now, group), ..Gain::default() };
        let (mut total, mut is_worth) = (0.0, false);
        let least = if self.covers(group) { COVERING } else { 0.0 };
        for (place, (measured, then)) in self.queries.iter().zip(costs).enumerate() {
            let query = &measured.query;
            if then != measured.cost && then.steps >= i64::from(self.most(place, more)) {
                gain.changed.insert(place);
                gain.is_open |= then.steps > measured.cost.steps;
                if then.steps < measured.cost.steps {
                    continue;
                }
            }
            let sorting = query.weight * then.sorting() as f64;
            let (now, then) = (measured.cost.total() as f64, then.total() as f64);
            total += query.weight * (now - then);
            gain.saved += saved(query, measured.cost, then as i64);
            if (now - then).abs() > CHANGE * now {
                gain.changed.insert(place);
                gain.before += query.weight * now;
                gain.left += query.weight * then;
                gain.sorting += sorting;
            }
            is_worth |= now - then > least.max(LEAST * now) && now > SMALL;
        }
        gain.is_worth = is_worth && gain.saved > 0.0 && total > gain.price;
        Ok(gain)
    }

    /// Returns the steps after which a statement is stopped while something is tried.
    fn most(&self, place: usize, more: i64) -> u32 {
        let Measured { cost: Cost { steps, .. }, best, is_write, .. } = self.queries[place];
        // A statement that is stopped while it writes ends the transaction.
        if is_write {
            return u32::MAX;
        }
        let usual = steps.saturating_mul(MARGIN).min(steps.saturating_add(MORE));
        let most = usual.min(best.saturating_mul(NEAR).max(best.saturating_add(COVERING as i64)));
        steps_of(if more > 0 { most.max(steps.saturating_add(more)) } else { most })
    }

    /// Returns the costs of all statements with what is shown; those that do not name the table of an index cost what they cost now.
    fn costs_with(&mut self, group: &Group, tried: Option<i64>) -> Result<Vec<Cost>, EngineError> {
        let has_others = !self.subject.schema.others.is_empty();
        let tables: Vec<String> = group
            .iter()
            .filter_map(|place| self.shelf.candidate(*place))
            .map(|candidate| candidate.table.clone())
            .collect();
        let concerns = |measured: &Measured| {
            let mut texts = std::iter::once(&measured.query.sql).chain(&measured.implied);
            let names = |sql: &String| {
                let names = script::effect::names(sql);
                names.iter().any(|name| tables.iter().any(|table| name.eq_ignore_ascii_case(table)))
            };
            has_others || texts.any(names)
        };
        self.costs_where(concerns, tried)
    }

    /// Returns the costs of all statements. Those that meet the condition are executed again if they write or have another plan;
    /// while something is tried, as far as [`Work::most`].
    fn costs_where(
        &mut self,
        concerns: impl Fn(&Measured) -> bool,
        tried: Option<i64>,
    ) -> Result<Vec<Cost>, EngineError> {
        let mut costs = Vec::new();
        for place in 0..self.queries.len() {
            let most = tried.map_or(u32::MAX, |more| self.most(place, more));
            let may_differ = concerns(&self.queries[place]);
            costs.push(if may_differ {
                self.cost_of(place, most)?
            } else {
                self.queries[place].cost
            });
        }
        Ok(costs)
    }

    /// Returns the cost of a statement with the indexes that are shown; what is known is not executed again.
    fn cost_of(&mut self, place: usize, most: u32) -> Result<Cost, EngineError> {
        let Measured { query, implied, cost, plan: now, is_write, .. } = &self.queries[place];
        let plan = self.plan(query, implied)?;
        if !is_write && plan == *now {
            return Ok(*cost);
        }
        let set = if *is_write { self.shelf.visible() } else { Set::new() };
        let key = (place, self.nameless(query, plan), set);
        if let Some((cost, stopped)) = self.known.get(&key)
            && (cost.steps < i64::from(*stopped) || *stopped >= most)
        {
            return Ok(*cost);
        }
        // What was only planned with is made, and has better statistics then.
        if self.shelf.make_all(&self.shelf.visible())? {
            return self.cost_of(place, most);
        }
        let cost = self.cost(query, most)?;
        self.known.insert(key, (cost, most));
        Ok(cost)
    }

    /// Returns a plan without the names of candidates that are searched: with another one that has the same terms a statement costs the same,
    /// unless it ends after some rows.
    fn nameless(&self, query: &Query, plan: Vec<String>) -> Vec<String> {
        if script::tokens(&query.sql).any(|token| token.is("limit")) {
            return plan;
        }
        let line = |line: String| match (line.find(PREFIX), line.find(" (")) {
            (Some(start), Some(end)) if line.trim_start().starts_with("SEARCH") => {
                format!("{}{}", &line[..start], &line[end..])
            }
            _ => line,
        };
        plan.into_iter().map(line).collect()
    }

    /// Notes what each statement costs from now on, and its plan.
    fn measure_again(&mut self, costs: Vec<Cost>) -> Result<(), EngineError> {
        for (place, cost) in costs.into_iter().enumerate() {
            let plan = self.plan(&self.queries[place].query, &self.queries[place].implied)?;
            let measured = &mut self.queries[place];
            (measured.cost, measured.plan) = (cost, plan);
        }
        Ok(())
    }
}

/// Returns the names of indexes that one of all rows with these terms makes redundant.
fn served<'t>(table: &'t Table, by: &[Part]) -> Vec<&'t str> {
    let indexes = table.indexes.iter().filter(|index| {
        let is_free = !index.is_unique && !index.is_partial && !index.is_of_constraint;
        is_free && by.starts_with(&index.parts)
    });
    indexes.map(|index| index.name.as_str()).collect()
}

/// Returns those that change a cost by more than a twentieth.
fn changed(changes: Vec<Change>) -> Vec<Change> {
    let is_changed = |change: &Change| {
        let (before, after) = (change.before.total() as f64, change.after.total() as f64);
        (after - before).abs() > 0.05 * before
    };
    changes.into_iter().filter(is_changed).collect()
}

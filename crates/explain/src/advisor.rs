//! Indexes for a whole workload, judged by what its statements cost with them on a copy: those that read and those that
//! write, each as often as it is executed.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use engine::{Connection, EngineError, ErrorKind};
use script::effect::{literal, quoted};

use crate::candidates::{Candidate, Planner};
use crate::observe::Cost;
use crate::schema;
use crate::schema::{Part, Table};
use crate::subject::{Query, Subject};

/// The most indexes that are advised.
const MOST: usize = 10;

/// The least part of the cost of a statement that an index has to save.
const LEAST: f64 = 0.3;

/// A part of a cost that counts as a change of it.
const CHANGE: f64 = 0.1;

/// A cost below which a statement needs no index.
const SMALL: f64 = 1000.0;

/// The cost of an execution besides its steps, such as binding its values and committing. So a few instructions more or less do not make a
/// small statement count as much as a large one.
const FIXED: f64 = 500.0;

/// The least part of the cost of its statements that covered columns have to save besides.
const COVERING: f64 = 0.05;

/// Favourites of the planner that are measured for each statement.
const FAVOURITES: usize = 4;

/// A favourite that costs this many times what the best one does is none.
const NEAR: i64 = 3;

/// More steps than this are not waited for while something is tried.
const MORE: i64 = 5_000_000;

/// An execution with an index may take this many times the steps that it takes without, and is stopped then.
const MARGIN: i64 = 2;

/// Changes of the indexes, with what they bring.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Advice {
    /// Indexes to make, the one that brings most first.
    pub made: Vec<MadeIndex>,
    /// Indexes that are redundant then.
    pub dropped: Vec<DroppedIndex>,
    /// The effect of ANALYZE alone, if the planner then chooses better plans.
    pub analyzed: Option<Vec<Change>>,
    /// The cost of every statement before and after all of it.
    pub changes: Vec<Change>,
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

/// Finds indexes for a workload, on a copy that is changed and changed back.
///
/// # Errors
/// SQLite's, such as a full disk. A statement that cannot be executed is named in the advice.
pub fn advise(
    subject: &Subject,
    queries: &[Query],
    deadline: Option<Instant>,
) -> Result<Advice, EngineError> {
    let connection = subject.connect()?;
    connection.execute("BEGIN")?;
    let mut work =
        Work { subject, connection: &connection, queries: Vec::new(), deadline, ceiling: None };
    let mut advice = Advice::default();
    for query in queries {
        match work.measured(query) {
            Ok(measured) => work.queries.push(measured),
            Err(error) => advice.failed.push((query.name.clone(), error.to_string())),
        }
    }
    let before = work.costs();
    advice.analyzed = work.analyze(&mut advice.failed)?;
    let planner = Planner::new(subject, &connection)?;
    // As long as a statement costs very much, trying anything else with it takes longest.
    let mut treated = BTreeSet::new();
    while let Some(heavy) = work.heavy(&treated).filter(|_| !work.is_late()) {
        treated.insert(heavy);
        let measured = &work.queries[heavy];
        let (groups, best) = work.favourites(measured, planner.candidates(&measured.query))?;
        work.ceiling = Some((heavy, best.saturating_mul(NEAR)));
        work.choose(groups, &mut advice)?;
        work.ceiling = None;
    }
    let candidates = work.shortlist(&planner, &mut advice.untried)?;
    work.choose(candidates, &mut advice)?;
    work.drop_redundant(&mut advice)?;
    advice.changes = work.changes_since(&before);
    connection.execute("ROLLBACK")?;
    Ok(advice)
}

/// A statement with what it costs now.
struct Measured {
    query: Query,
    cost: Cost,
    /// Its plan, as long as which a statement that reads costs what it costs now.
    plan: Vec<String>,
    is_write: bool,
}

/// Indexes that are tried together.
type Group = Vec<Candidate>;

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
    /// Whether they are worth their place.
    is_worth: bool,
}

/// Returns the number of the indexes that save most; among those that save nearly as much, of those that leave least, where each
/// column counts for a twentieth and each that is only covered for a quarter.
fn best(tried: &[(Group, Option<Gain>)]) -> Option<usize> {
    let known = tried.iter().enumerate();
    let known = known.filter_map(|(number, (group, gain))| Some((number, group, gain.as_ref()?)));
    let worth: Vec<(usize, &Group, &Gain)> = known.filter(|(.., gain)| gain.is_worth).collect();
    let most = worth.iter().map(|(.., gain)| gain.saved).fold(0.0, f64::max);
    let covers = |group: &Group| group.iter().any(|candidate| candidate.covering > 0);
    let plain = worth.iter().filter(|(_, group, _)| !covers(group));
    let plain = plain.map(|(.., gain)| gain.before - gain.left).fold(0.0, f64::max);
    let near = worth.iter().filter(|(_, group, gain)| {
        let is_enough = gain.before - gain.left > plain + COVERING * gain.before;
        gain.saved > most * 0.9 && (!covers(group) || is_enough)
    });
    let score = |(_, group, gain): &(usize, &Group, &Gain)| {
        let columns: usize = group.iter().map(|candidate| candidate.parts.len()).sum();
        let covered: usize = group.iter().map(|candidate| candidate.covering).sum();
        gain.left * (1.0 + 0.05 * (columns - covered) as f64 + 0.25 * covered as f64)
    };
    near.min_by(|a, b| score(a).total_cmp(&score(b))).map(|(number, ..)| *number)
}

struct Work<'s> {
    subject: &'s Subject,
    connection: &'s Connection,
    /// Statements with what they cost now.
    queries: Vec<Measured>,
    deadline: Option<Instant>,
    /// The place of a statement, and steps after which trying something with it is of no use.
    ceiling: Option<(usize, i64)>,
}

impl Work<'_> {
    fn cost(&self, query: &Query, most: u32) -> Result<Cost, EngineError> {
        self.subject.cost(self.connection, query, most)
    }

    fn measured(&self, query: &Query) -> Result<Measured, EngineError> {
        Ok(Measured {
            query: query.clone(),
            cost: self.cost(query, u32::MAX)?,
            plan: self.plan(query)?,
            is_write: !self.connection.prepare(&query.sql)?.is_read_only(),
        })
    }

    /// Returns the plan of a statement, with its values bound.
    fn plan(&self, query: &Query) -> Result<Vec<String>, EngineError> {
        let values = query.values.first().map_or(&[][..], Vec::as_slice);
        self.connection.query_plan_with(&query.sql, values)
    }

    fn costs(&self) -> Vec<Cost> {
        self.queries.iter().map(|measured| measured.cost).collect()
    }

    fn is_late(&self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() > deadline)
    }

    fn changes_since(&self, before: &[Cost]) -> Vec<Change> {
        let changes = self.queries.iter().zip(before).map(|(measured, before)| Change {
            name: measured.query.name.clone(),
            before: *before,
            after: measured.cost,
        });
        changes.collect()
    }

    /// Collects statistics. Returns what that brings, if it is worth something; plans with statistics are the ones that
    /// indexes are compared with.
    /// A table with a collation that the connection lacks has none, and is named.
    fn analyze(
        &mut self,
        failed: &mut Vec<(String, String)>,
    ) -> Result<Option<Vec<Change>>, EngineError> {
        let before = self.costs();
        let words = |error: &EngineError| {
            error.as_sqlite().map_or(error.to_string(), |error| error.message().to_owned())
        };
        match self.connection.execute("ANALYZE") {
            Err(error) if is_refused(&error) => {
                for table in &self.subject.schema.tables {
                    let sql = format!("ANALYZE {}", quoted(&table.name));
                    match self.connection.execute(&sql) {
                        Err(error) if is_refused(&error) => {
                            failed.push((format!("ANALYZE of {}", table.name), words(&error)));
                        }
                        analyzed => analyzed?,
                    }
                }
            }
            analyzed => analyzed?,
        }
        self.measure_again(self.costs_where(|_| true, false)?)?;
        let total = |costs: &[Cost]| costs.iter().map(Cost::total).sum::<i64>();
        let (old, new) = (total(&before), total(&self.costs()));
        let changes = self.changes_since(&before);
        let is_worth = old as f64 > SMALL && (new as f64) < old as f64 * (1.0 - CHANGE);
        Ok(is_worth.then(|| changed(changes)))
    }

    /// Returns the place of the one of several statements that costs most, if it costs more than all others together, or very much,
    /// and was not treated yet.
    fn heavy(&self, treated: &BTreeSet<usize>) -> Option<usize> {
        let total = |measured: &Measured| measured.cost.total();
        let places = self.queries.iter().enumerate().filter(|(place, _)| !treated.contains(place));
        let (place, heavy) = places.max_by_key(|(_, measured)| total(measured))?;
        let all: i64 = self.queries.iter().map(total).sum();
        let is_heavy = 2 * total(heavy) > all || heavy.cost.steps > MORE;
        (self.queries.len() > 1 && is_heavy).then_some(place)
    }

    /// Returns the candidates that make a statement cheaper, each measured with it alone.
    fn shortlist(
        &self,
        planner: &Planner<'_>,
        untried: &mut usize,
    ) -> Result<Vec<Group>, EngineError> {
        let mut all: Vec<Group> = Vec::new();
        let mut queries: Vec<&Measured> = self.queries.iter().collect();
        let total = |measured: &Measured| measured.query.weight * measured.cost.total() as f64;
        queries.sort_by(|a, b| total(b).total_cmp(&total(a)));
        for measured in queries {
            let candidates = planner.candidates(&measured.query);
            if self.is_late() {
                *untried += candidates.len();
                continue;
            }
            for group in self.favourites(measured, candidates)?.0 {
                if !all.contains(&group) {
                    all.push(group);
                }
            }
        }
        Ok(all)
    }

    /// Returns the candidates that SQLite's planner uses for a statement and that make it cheaper: the best ones, and narrower
    /// ones that are nearly as good. The planner chooses among all, then among the others, and so on. Those of one plan,
    /// such as of both sides of an OR, may help only together. Returns the cost with the best ones, too.
    fn favourites(
        &self,
        Measured { query, cost: now, .. }: &Measured,
        candidates: Vec<Candidate>,
    ) -> Result<(Vec<Group>, i64), EngineError> {
        self.connection.execute("SAVEPOINT favourites")?;
        let mut left: BTreeMap<String, Candidate> = BTreeMap::new();
        for (number, candidate) in candidates.into_iter().enumerate() {
            let name = format!("pragmark_candidate_{number}");
            if self.make(&candidate, &name)? {
                left.insert(name, candidate);
            }
        }
        let mut measured: Vec<(i64, Group)> = Vec::new();
        for _ in 0..FAVOURITES {
            let used: BTreeSet<String> = self.used(query)?.into_iter().collect();
            let used: Vec<String> =
                used.into_iter().filter(|name| left.contains_key(name)).collect();
            if used.is_empty() {
                break;
            }
            let best = measured.iter().map(|(cost, _)| *cost).min().unwrap_or(i64::MAX);
            let most = now.steps.min(best.saturating_mul(NEAR)).clamp(10_000, i64::from(u32::MAX));
            let cost = self.cost(query, most as u32)?.total();
            let group: Group = used.iter().filter_map(|name| left.remove(name)).collect();
            for name in used {
                self.connection.execute(&format!("DROP INDEX {}", quoted(&name)))?;
            }
            if group.len() > 1 {
                measured.extend(group.iter().map(|candidate| (cost, vec![candidate.clone()])));
            }
            measured.push((cost, group));
        }
        self.connection.execute("ROLLBACK TO favourites; RELEASE favourites")?;
        let least = now.total() as f64 * (1.0 - CHANGE);
        let best = measured.iter().map(|(cost, _)| *cost).min().unwrap_or(i64::MAX);
        measured.retain(|(cost, _)| (*cost as f64) < least && *cost <= best.saturating_mul(NEAR));
        Ok((measured.into_iter().map(|(_, group)| group).collect(), best))
    }

    /// Makes an index with statistics. Returns whether SQLite accepts it.
    fn make(&self, candidate: &Candidate, name: &str) -> Result<bool, EngineError> {
        let create = candidate.create(&self.subject.schema, name);
        match self.connection.execute(&create) {
            Ok(()) => {}
            Err(error) if is_refused(&error) => return Ok(false),
            Err(error) => return Err(error),
        }
        self.connection.execute(&format!("ANALYZE {}", quoted(name)))?;
        Ok(true)
    }

    /// Returns the names of the indexes in the plan of a statement, with its values bound.
    fn used(&self, query: &Query) -> Result<Vec<String>, EngineError> {
        let plan = self.plan(query)?;
        let name = |line: &String| {
            let (_, rest) = line.split_once(" INDEX ")?;
            Some(rest.split(" (").next().unwrap_or(rest).to_owned())
        };
        Ok(plan.iter().filter_map(name).collect())
    }

    /// Adds the indexes that save most, again and again, until none saves enough.
    fn choose(&mut self, groups: Vec<Group>, advice: &mut Advice) -> Result<(), EngineError> {
        let mut left: Vec<(Group, Option<Gain>)> =
            groups.into_iter().map(|group| (group, None)).collect();
        while advice.made.len() < MOST {
            for (group, gain) in left.iter_mut().filter(|(_, gain)| gain.is_none()) {
                if self.is_late() {
                    break;
                }
                *gain = Some(self.gain(group)?);
            }
            let Some(number) = best(&left) else { break };
            let (chosen, gain) = left.remove(number);
            let changed = gain.map_or_else(BTreeSet::new, |gain| gain.changed);
            // What begins alike would do the same work a little better.
            let begins_alike = |candidate: &Candidate| {
                let same = |other: &Candidate| {
                    other.table == candidate.table && other.parts[0] == candidate.parts[0]
                };
                chosen.iter().any(same)
            };
            left.retain(|(group, _)| !group.iter().any(begins_alike));
            self.keep(chosen, advice)?;
            // Others bring what they brought, unless they change the cost of the same statements.
            for (_, gain) in &mut left {
                gain.take_if(|gain| !gain.changed.is_disjoint(&changed));
            }
        }
        if self.is_late() {
            advice.untried += left.iter().filter(|(_, gain)| gain.is_none()).count();
        }
        Ok(())
    }

    /// Returns what indexes save.
    fn gain(&self, group: &Group) -> Result<Gain, EngineError> {
        self.connection.execute("SAVEPOINT gain")?;
        let mut is_made = true;
        for (number, candidate) in group.iter().enumerate() {
            is_made &= self.make(candidate, &format!("pragmark_candidate_{number}"))?;
            // An index that extends another one replaces it, so that writes maintain no more than now.
            let table = self.subject.schema.table(&candidate.table);
            for name in table.map_or(Vec::new(), |table| served(table, &candidate.parts)) {
                self.connection.execute(&format!("DROP INDEX IF EXISTS {}", schema::name(name)))?;
            }
        }
        let costs = if is_made { self.costs_with(group, true)? } else { self.costs() };
        self.connection.execute("ROLLBACK TO gain; RELEASE gain")?;
        let mut gain = Gain::default();
        let (mut total, mut is_worth, mut is_stopped) = (0.0, false, false);
        for (place, (measured, then)) in self.queries.iter().zip(costs).enumerate() {
            let query = &measured.query;
            is_stopped |= then.steps >= i64::from(self.most(place));
            let (now, then) = (measured.cost.total() as f64, then.total() as f64);
            total += query.weight * (now - then);
            gain.saved += query.weight.ln_1p() * ((now + FIXED) / (then + FIXED)).ln();
            if (now - then).abs() > CHANGE * now {
                gain.changed.insert(place);
                gain.before += query.weight * now;
                gain.left += query.weight * then;
            }
            is_worth |= now - then > LEAST * now && now > SMALL;
        }
        // What makes a statement cost a multiple was stopped, so the sum is not known.
        gain.is_worth = is_worth && !is_stopped && gain.saved > 0.0 && total > 0.0;
        Ok(gain)
    }

    /// Returns the steps after which a statement is stopped while something is tried.
    fn most(&self, place: usize) -> u32 {
        let now = self.queries[place].cost.steps;
        let ceiling =
            self.ceiling.filter(|(of, _)| *of == place).map_or(i64::MAX, |(_, most)| most);
        let most = now.saturating_mul(MARGIN).min(now.saturating_add(MORE)).min(ceiling);
        most.clamp(10_000, i64::from(u32::MAX)) as u32
    }

    /// Returns the costs of all statements; those that do not name the table of the index cost what they cost now.
    fn costs_with(&self, group: &[Candidate], is_tried: bool) -> Result<Vec<Cost>, EngineError> {
        let has_others = !self.subject.schema.others.is_empty();
        let concerns = |query: &Query| {
            let names = script::effect::names(&query.sql);
            let is_named = |candidate: &Candidate| {
                names.iter().any(|name| name.eq_ignore_ascii_case(&candidate.table))
            };
            has_others || group.iter().any(is_named)
        };
        self.costs_where(concerns, is_tried)
    }

    /// Returns the costs of all statements. Those that meet the condition are executed again if they write or have another plan;
    /// while something is tried, as far as [`Work::most`].
    fn costs_where(
        &self,
        concerns: impl Fn(&Query) -> bool,
        is_tried: bool,
    ) -> Result<Vec<Cost>, EngineError> {
        let mut costs = Vec::new();
        for (place, Measured { query, cost, plan, is_write }) in self.queries.iter().enumerate() {
            let most = if is_tried { self.most(place) } else { u32::MAX };
            let may_differ = concerns(query) && (*is_write || self.plan(query)? != *plan);
            costs.push(if may_differ { self.cost(query, most)? } else { *cost });
        }
        Ok(costs)
    }

    fn keep(&mut self, chosen: Group, advice: &mut Advice) -> Result<(), EngineError> {
        let before = self.costs();
        let mut names = Vec::new();
        for candidate in &chosen {
            names.push(candidate.name(&self.subject.schema));
            self.make(candidate, &names[names.len() - 1])?;
        }
        self.measure_again(self.costs_with(&chosen, false)?)?;
        let step = advice.made.last().map_or(0, |made| made.step + 1);
        for (index, name) in chosen.into_iter().zip(names) {
            let schema = &self.subject.schema;
            let text = literal(&name);
            let size = format!("SELECT ifnull(sum(pgsize), 0) FROM dbstat WHERE name = {text}");
            advice.made.push(MadeIndex {
                on: format!("{}({})", schema::name(&index.table), index.terms(schema)),
                sql: format!("{};", index.create(schema, &name)),
                bytes: self.connection.query_i64(&size)?,
                step,
                changes: changed(self.changes_since(&before)),
                index,
            });
        }
        Ok(())
    }

    /// Notes what each statement costs from now on, and its plan.
    fn measure_again(&mut self, costs: Vec<Cost>) -> Result<(), EngineError> {
        for (place, cost) in costs.into_iter().enumerate() {
            let plan = self.plan(&self.queries[place].query)?;
            let measured = &mut self.queries[place];
            (measured.cost, measured.plan) = (cost, plan);
        }
        Ok(())
    }

    /// Drops existing indexes that a new one serves as well.
    fn drop_redundant(&mut self, advice: &mut Advice) -> Result<(), EngineError> {
        for made in &advice.made {
            let Some(table) = self.subject.schema.table(&made.index.table) else { continue };
            for name in served(table, &made.index.parts) {
                self.connection.execute("SAVEPOINT redundant")?;
                let sql = format!("DROP INDEX {}", schema::name(name));
                self.connection.execute(&sql)?;
                let costs = self.costs_with(std::slice::from_ref(&made.index), true)?;
                let is_worse = |(now, then): (&Measured, &Cost)| {
                    then.total() as f64 > now.cost.total() as f64 * (1.0 + CHANGE)
                };
                if self.queries.iter().zip(&costs).any(is_worse) {
                    self.connection.execute("ROLLBACK TO redundant; RELEASE redundant")?;
                    continue;
                }
                self.connection.execute("RELEASE redundant")?;
                self.measure_again(costs)?;
                let (name, instead) = (name.to_owned(), made.on.clone());
                advice.dropped.push(DroppedIndex { name, instead, sql: format!("{sql};") });
            }
        }
        Ok(())
    }
}

/// Returns whether SQLite refuses a statement as such, as it does with an index on a function that may differ each time.
fn is_refused(error: &EngineError) -> bool {
    error.as_sqlite().is_some_and(|error| error.kind() == ErrorKind::Other)
}

/// Returns the names of indexes that one with these terms makes redundant.
fn served<'t>(table: &'t Table, parts: &[Part]) -> Vec<&'t str> {
    let indexes = table.indexes.iter().filter(|index| {
        let is_free = !index.is_unique && !index.is_partial && !index.is_of_constraint;
        is_free && parts.len() >= index.parts.len() && parts[..index.parts.len()] == index.parts[..]
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

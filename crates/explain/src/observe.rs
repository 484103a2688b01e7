//! The work of one execution of a statement, loop by loop.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use engine::schema::ForeignKey;
use engine::{
    Connection, DbStatus, EngineError, Instruction, ScanNode, Statement, StatementCounter, Step,
    Value,
};

use crate::implied::keys;
use crate::subject::{Query, Subject, bind};

/// Instructions after which an execution is stopped: about two seconds.
pub const MOST_STEPS: u32 = 50_000_000;

/// The largest database, in pages, whose pages are told apart by table and index: for that each tree is walked.
const MOST_PAGES: i64 = 100_000;

/// Counts rows without a parent instead of refusing them: no transaction is committed.
const DEFERRED: &str = "PRAGMA defer_foreign_keys = ON";

/// The work of one execution of a statement.
#[derive(Clone, Debug, PartialEq)]
pub struct Observation {
    /// The nodes of the plan, in the order of SQLite's own explanation.
    pub nodes: Vec<Node>,
    /// Rows that it returned.
    pub rows: u64,
    /// Rows that it changed.
    pub changes: i64,
    /// The shortest time of its executions.
    pub time: Duration,
    /// Its counters.
    pub cost: Cost,
    /// Rows that each trigger reads of each table that it scans: its name, the table, and the rows; without a name for what foreign keys
    /// do to rows that refer to changed ones.
    pub triggered: Vec<(Option<String>, String, i64)>,
    /// Rows that are sorted for an ORDER BY.
    pub sorted: Option<i64>,
    /// Rows of automatic indexes.
    pub auto_index_rows: i64,
    /// Bytes of temporary files.
    pub spilled: u64,
    /// Pages read from the file with an empty cache, by table and index, the most first.
    pub pages: Vec<(String, u64)>,
    /// Whether it was stopped before its end.
    pub is_partial: bool,
    /// The constraint that refused what it writes, in SQLite's words.
    pub refused: Option<String>,
    /// Whether it writes.
    pub is_write: bool,
}

impl Observation {
    /// Returns whether it is a write that found no row to change.
    pub fn changes_nothing(&self) -> bool {
        self.is_write && self.changes == 0 && self.refused.is_none()
    }

    /// Returns the rows of each table that foreign keys read in scans that the plan does not show.
    pub fn repeated(&self) -> BTreeMap<&str, i64> {
        let mut all = BTreeMap::new();
        for (_, table, rows) in self.triggered.iter().filter(|(name, ..)| name.is_none()) {
            *all.entry(table.as_str()).or_default() += rows;
        }
        all
    }
}

/// The cost of an execution, by counters that are the same each time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Instructions of SQLite's virtual machine.
    pub steps: i64,
    /// Pages that it asked the cache for.
    pub pages: i64,
    /// How often a row was put into a sorter or a temporary b-tree, or looked up there; 0 where the engine does not tell.
    pub temporary: i64,
    /// About how many of the pages are read from the file once more, because SQLite's usual cache has no room for all.
    pub reread: i64,
}

/// Instructions that take about as long as a page that is found in the cache: 0.12 µs, where an instruction takes 0.012 µs.
const STEPS_OF_PAGE: i64 = 10;

/// Instructions that take about as long as a page that the operating system has in memory: 0.4 µs, where an instruction takes 0.01 µs.
const STEPS_OF_READ: i64 = 40;

/// Bytes of SQLite's cache, if nothing else is set.
const USUAL_CACHE: i64 = 2_000 << 10;

/// Pages on the path to a row in a table of some size. All but the last stay in the cache.
const PATH: i64 = 3;

/// Instructions that take about as long as a row of a temporary b-tree: its search and its share of the sort are one instruction.
const STEPS_OF_TEMPORARY: i64 = 10;

impl Cost {
    /// Returns all of them as one number.
    pub fn total(&self) -> i64 {
        self.steps + STEPS_OF_PAGE * self.pages + self.sorting() + STEPS_OF_READ * self.reread
    }

    /// Returns the part of [`Cost::total`] that is for sorters and temporary b-trees besides their steps.
    pub(crate) fn sorting(&self) -> i64 {
        STEPS_OF_TEMPORARY * self.temporary
    }

    /// Returns whether the execution was stopped, so that it costs more.
    pub fn is_partial(&self) -> bool {
        self.steps >= i64::from(MOST_STEPS)
    }
}

/// A node of a plan with its work.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Node {
    /// Its depth in the tree, from 0.
    pub depth: usize,
    /// Its description by SQLite.
    pub detail: String,
    /// The index, or else the table that it reads.
    pub object: Option<String>,
    /// The number of times that its loop was begun.
    pub loops: Option<i64>,
    /// Rows visited.
    pub visited: Option<i64>,
    /// Visited rows that met the conditions, where that is known.
    pub kept: Option<i64>,
    /// Rows that the planner expected in each loop.
    pub expected: Option<f64>,
    /// Its part of the time, from 0 to 1, where the engine tells.
    pub share: Option<f64>,
}

/// Returns whether a node reads rows of a table.
fn reads(detail: &str) -> bool {
    detail.starts_with("SCAN ") || detail.starts_with("SEARCH ")
}

impl Node {
    /// Returns whether it sorts rows for an ORDER BY.
    fn sorts_for_order(&self) -> bool {
        self.detail.starts_with("USE TEMP B-TREE") && self.detail.ends_with("ORDER BY")
    }

    /// Returns the number of rows that each of its loops keeps, or else visits.
    pub fn actual(&self) -> Option<f64> {
        let (loops, rows) = (self.loops?, self.kept.or(self.visited)?);
        (loops > 0).then(|| rows as f64 / loops as f64)
    }
}

impl Subject {
    /// Executes a statement with an empty cache, and observes it. What it writes is undone.
    ///
    /// # Errors
    /// SQLite's.
    pub fn observe(&self, query: &Query) -> Result<Observation, EngineError> {
        let connection = self.connect()?;
        let values = query.values.first().map_or(&[][..], Vec::as_slice);
        let mut observation = self.execute(&connection, &query.sql, values)?;
        let read = self.page_reads();
        // With a full cache.
        if !observation.is_partial && observation.time < WARM {
            let again = self.execute(&connection, &query.sql, values)?;
            observation.time = observation.time.min(again.time);
        }
        observation.pages = pages(&connection, &read)?;
        Ok(observation)
    }

    /// Estimates how many of the pages that a statement asks for are read once more. More than the database has are looked up in any
    /// order, and the usual cache has a part of the last ones on their paths.
    fn reread(&self, pages: i64) -> i64 {
        let (size, cached) = (self.size.bytes, USUAL_CACHE.min(self.size.bytes));
        let again = (pages - size / self.size.page).max(0) / PATH;
        (again as f64 * (1.0 - cached as f64 / size as f64)) as i64
    }

    /// Executes a statement by `execute`, which gets it bound, on a connection of its own. Its writes are undone.
    ///
    /// # Errors
    /// SQLite's.
    pub fn execute_by<T>(
        &self,
        query: &Query,
        execute: impl FnOnce(&Connection, &mut Statement<'_, '_>) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        let connection = self.connect()?;
        connection.execute(&format!("BEGIN; {DEFERRED}"))?;
        connection.limit_steps(MOST_STEPS)?;
        let mut statement = connection.prepare(&query.sql)?;
        bind(&mut statement, query.values.first().map_or(&[][..], Vec::as_slice))?;
        execute(&connection, &mut statement)
    }

    /// Executes a statement once and observes it. What it writes is undone.
    pub(crate) fn execute(
        &self,
        connection: &Connection,
        sql: &str,
        values: &[Value],
    ) -> Result<Observation, EngineError> {
        connection.execute(&format!("SAVEPOINT observed; {DEFERRED}"))?;
        let observed = self.execute_once(connection, sql, values);
        // A statement that was stopped while it wrote has ended the transaction.
        if connection.in_transaction() {
            connection.execute("ROLLBACK TO observed; RELEASE observed")?;
        }
        observed
    }

    fn execute_once(
        &self,
        connection: &Connection,
        sql: &str,
        values: &[Value],
    ) -> Result<Observation, EngineError> {
        let mut statement = connection.prepare(sql)?;
        bind(&mut statement, values)?;
        let is_write = !statement.is_read_only();
        connection.limit_steps(MOST_STEPS)?;
        self.page_reads();
        let accesses = accesses(connection)?;
        let changes = connection.total_changes();
        let start = Instant::now();
        let (rows, end) = count(connection, &mut statement)?;
        let time = start.elapsed();
        let pages = accesses_since(connection, accesses)?;
        let program = program(connection, &statement)?;
        let nodes = match statement.scan_nodes() {
            // A plan of one instruction, such as a count of all rows, has no loop.
            Ok(nodes) if !nodes.is_empty() => {
                tree(&nodes, statement.cycles(), &program, &|node| self.is_named(sql, &nodes, node))
            }
            Ok(_) | Err(EngineError::Unsupported(..)) => {
                planned(&connection.query_plan_with(sql, values)?)
            }
            Err(error) => return Err(error),
        };
        let sorting = nodes.iter().filter(|node| node.sorts_for_order());
        let sorted = sorting.filter_map(|node| node.visited).max();
        let counter = |counter| statement.counter(counter);
        // Engines before 3.53 do not count it.
        let spilled =
            connection.db_status(DbStatus::TempSpill, true).map_or(0, |spilled| spilled.current);
        Ok(Observation {
            nodes,
            rows,
            changes: connection.total_changes() - changes,
            time,
            triggered: triggered(connection, &program)?,
            cost: Cost {
                steps: counter(StatementCounter::VmSteps),
                pages,
                temporary: temporary(&program),
                reread: self.reread(pages),
            },
            sorted,
            auto_index_rows: counter(StatementCounter::AutoIndexRows),
            spilled: u64::try_from(spilled).unwrap_or(0),
            pages: Vec::new(),
            is_partial: matches!(end, End::Stopped),
            refused: match end {
                End::Refused(why) => Some(why),
                End::Done => without_parent(connection)?,
                End::Stopped => None,
            },
            is_write,
        })
    }

    /// Returns whether a node belongs to the text, and not to a search for rows that refer to a changed one, which comes later.
    fn is_named(&self, sql: &str, nodes: &[ScanNode], node: &ScanNode) -> bool {
        let table = |node: &ScanNode| {
            let object = node.object.as_deref().unwrap_or_default();
            let table = self.schema.table_of_index(object).map_or(object, |table| &table.name);
            table.to_ascii_lowercase()
        };
        let own = table(node);
        let written = script::effect::written(sql);
        let refers = |(child, key): (&str, &ForeignKey)| {
            child.eq_ignore_ascii_case(&own)
                && written.iter().any(|name| name.eq_ignore_ascii_case(&key.parent))
        };
        let mut earlier = nodes.iter().take_while(|other| other.id != node.id);
        !keys(&self.schema).any(refers)
            || script::effect::names(sql).contains(&own)
                && !earlier.any(|other| table(other) == own)
    }

    /// Executes a statement with each of its values, and returns what an execution costs in the mean. What it writes is
    /// undone.
    ///
    /// # Errors
    /// SQLite's; executions that take more than `most` or [`MOST_STEPS`] instructions in the mean are stopped and counted as far as they came.
    pub fn cost(
        &self,
        connection: &Connection,
        query: &Query,
        most: u32,
    ) -> Result<Cost, EngineError> {
        connection.execute(&format!("SAVEPOINT counted; {DEFERRED}"))?;
        let counted = (|| {
            let executions = query.values.len().max(1) as i64;
            // One set of values may take more than the others, so all of them have one limit.
            let most = i64::from(most.min(MOST_STEPS)) * executions;
            let before = accesses(connection)?;
            let (mut steps, mut uses) = (0, 0);
            for values in &query.values {
                if steps >= most {
                    break;
                }
                connection.limit_steps(u32::try_from(most - steps).unwrap_or(u32::MAX))?;
                // SQLite may plan again for other values, and a program counts from its own start.
                let mut statement = connection.prepare(&query.sql)?;
                bind(&mut statement, values)?;
                count(connection, &mut statement)?;
                steps += statement.counter(StatementCounter::VmSteps);
                connection.limit_steps(u32::MAX)?;
                uses += temporary(&program(connection, &statement)?);
            }
            let pages = accesses_since(connection, before)? / executions;
            let reread = self.reread(pages);
            let (steps, temporary) = (steps / executions, uses / executions);
            Ok(Cost { steps, pages, reread, temporary })
        })();
        // Making an index may take more.
        connection.limit_steps(u32::MAX)?;
        connection.execute("ROLLBACK TO counted; RELEASE counted")?;
        counted
    }
}

/// Returns whether an engine was compiled with an option.
fn has(connection: &Connection, option: &str) -> Result<bool, EngineError> {
    Ok(connection.query_i64(&format!("SELECT sqlite_compileoption_used('{option}')"))? == 1)
}

/// Returns how many of the places of the file that were read belong to each table and index; all under an empty name for a
/// large database, and where the engine cannot tell.
fn pages(connection: &Connection, read: &BTreeSet<i64>) -> Result<Vec<(String, u64)>, EngineError> {
    let size = connection.query_i64("PRAGMA page_size")?;
    let is_large = connection.query_i64("PRAGMA page_count")? > MOST_PAGES;
    if is_large || !has(connection, "ENABLE_DBSTAT_VTAB")? {
        return Ok(vec![(String::new(), read.len() as u64)]);
    }
    let mut pages: BTreeMap<String, u64> = BTreeMap::new();
    for row in connection.query_all("SELECT pageno, name FROM dbstat")? {
        if let [Value::Integer(page), name] = row.as_slice()
            && read.contains(&((page - 1) * size))
        {
            *pages.entry(name.to_string()).or_default() += 1;
        }
    }
    let mut pages: Vec<(String, u64)> = pages.into_iter().collect();
    pages.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    Ok(pages)
}

/// Executions that take less than this are repeated, to time one whose pages are in the cache.
const WARM: Duration = Duration::from_millis(400);

/// The end of an execution.
enum End {
    Done,
    /// It took too many steps.
    Stopped,
    /// A constraint was not met, such as by a row that exists already.
    Refused(String),
}

/// Returns the number of rows, and how the statement ended.
fn count(
    connection: &Connection,
    statement: &mut Statement<'_, '_>,
) -> Result<(u64, End), EngineError> {
    let mut rows = 0;
    loop {
        match statement.step() {
            Ok(Step::Row) => rows += 1,
            Ok(Step::Done) => return Ok((rows, End::Done)),
            Err(error) if error.is_interrupted() => return Ok((rows, End::Stopped)),
            // Unless that has ended the transaction in which indexes are tried.
            Err(error) if error.is_constraint() && connection.in_transaction() => {
                return Ok((rows, End::Refused(error.message())));
            }
            Err(error) => return Err(error),
        }
    }
}

/// The words of SQLite for a row without its parent.
pub const WITHOUT_PARENT: &str = "FOREIGN KEY constraint failed";

/// Returns whether rows lack their parents, which COMMIT would refuse.
fn without_parent(connection: &Connection) -> Result<Option<String>, EngineError> {
    let lacking = connection.db_status(DbStatus::DeferredKeys, false)?.current;
    Ok((lacking > 0).then(|| WITHOUT_PARENT.to_owned()))
}

/// Returns the number of pages that the connection asked its cache for.
fn accesses(connection: &Connection) -> Result<i64, EngineError> {
    let read = |counter| connection.db_status(counter, false).map(|status| status.current);
    Ok(read(DbStatus::CacheHit)? + read(DbStatus::CacheMiss)?)
}

fn accesses_since(connection: &Connection, before: i64) -> Result<i64, EngineError> {
    Ok(accesses(connection)? - before)
}

/// Returns the instructions of a statement, where the engine shows them.
fn program(
    connection: &Connection,
    statement: &Statement<'_, '_>,
) -> Result<Vec<Instruction>, EngineError> {
    let is_shown = has(connection, "ENABLE_BYTECODE_VTAB")?;
    if is_shown { connection.program(statement) } else { Ok(Vec::new()) }
}

/// Returns how often a row was put into a sorter or a temporary b-tree, or looked up there.
fn temporary(program: &[Instruction]) -> i64 {
    let opened = program.iter().filter(|step| step.opcode == "OpenEphemeral");
    let opened: BTreeSet<(&Option<String>, i64)> =
        opened.map(|step| (&step.part, step.operands[0])).collect();
    let is_use = |step: &&Instruction| match step.opcode.as_str() {
        "SorterInsert" => true,
        "IdxInsert" | "Found" | "NotFound" => opened.contains(&(&step.part, step.operands[0])),
        _ => false,
    };
    program.iter().filter(is_use).map(|step| step.executions).sum()
}

/// Instructions that take a row which has met all conditions.
const TAKING: [&str; 9] = [
    "ResultRow", "SorterInsert", "Sequence", "AggStep", "AggStep1", "IdxInsert", "RowSetAdd",
    "Delete", "Insert",
];

/// Returns the rows that triggers and foreign keys read in scans: how often their cursors that begin at an end of a table were moved.
fn triggered(
    connection: &Connection,
    program: &[Instruction],
) -> Result<Vec<(Option<String>, String, i64)>, EngineError> {
    let mut all = Vec::new();
    for part in program.chunk_by(|_, next| next.address != 0) {
        let Some(name) = &part[0].part else { continue };
        let name = name.strip_prefix("TRIGGER ").map(str::to_owned);
        let of = |opcodes: &'static [&str]| {
            part.iter().filter(move |step| opcodes.contains(&step.opcode.as_str()))
        };
        for scan in of(&["Rewind", "Last"]) {
            let cursor = scan.operands[0];
            let is_own = |step: &&Instruction| step.operands[0] == cursor;
            let rows = of(&["Next", "Prev"]).filter(is_own).map(|step| step.executions).sum();
            let Some(open) = of(&["OpenRead", "OpenWrite"]).find(is_own) else { continue };
            let table =
                format!("SELECT tbl_name FROM sqlite_schema WHERE rootpage = {}", open.operands[1]);
            let tables = connection.query_all(&table)?;
            all.extend(tables.first().map(|row| (name.clone(), row[0].to_string(), rows)));
        }
    }
    Ok(all)
}

/// Returns the nodes of a plan whose work was not counted.
fn planned(plan: &[String]) -> Vec<Node> {
    let node = |line: &String| {
        let detail = line.trim_start();
        let depth = (line.len() - detail.len()) / 2;
        Node { depth, detail: detail.to_owned(), ..Node::default() }
    };
    plan.iter().map(node).collect()
}

fn tree(
    nodes: &[ScanNode],
    cycles: Option<i64>,
    program: &[Instruction],
    is_named: &dyn Fn(&ScanNode) -> bool,
) -> Vec<Node> {
    let depth = |node: &ScanNode| {
        let parent = |id: i32| nodes.iter().find(|node| node.id == id).map(|node| node.parent);
        std::iter::successors(parent(node.id), |id| parent(*id)).filter(|id| *id != 0).count()
    };
    let is_loop = |node: &&ScanNode| node.loops.is_some() && reads(&node.detail) && is_named(node);
    // Rows of a subquery are taken elsewhere than rows of the statement.
    let is_simple = nodes.iter().filter(is_loop).all(|node| node.parent == 0);
    let last = nodes.iter().rposition(|node| is_loop(&node));
    // A row that DISTINCT leaves out has met the conditions, too.
    let is_distinct = nodes.iter().any(|node| node.detail.contains("DISTINCT"));
    let node = |(place, node): (usize, &ScanNode)| {
        let next =
            nodes[place + 1..].iter().find(is_loop).filter(|next| next.parent == node.parent);
        let kept = match next {
            Some(next) => next.loops,
            None if is_simple && last == Some(place) => {
                let main = || program.iter().filter(|step| step.part.is_none());
                let taking = main().filter(|step| {
                    TAKING.contains(&step.opcode.as_str())
                        || (is_distinct && step.opcode == "Found")
                });
                // Who takes the rows of a co-routine asks once more than it has.
                let yields = main().filter(|step| step.opcode == "Yield");
                taking
                    .chain(yields.min_by_key(|step| step.executions))
                    .map(|step| step.executions)
                    .max()
            }
            None => None,
        };
        let kept = kept.filter(|kept| node.visited.is_some_and(|visited| *kept <= visited));
        Node {
            depth: depth(node),
            detail: node.detail.clone(),
            object: node.object.clone(),
            loops: node.loops,
            visited: node.visited,
            kept: kept.filter(|_| is_loop(&node)),
            expected: node.expected.filter(|_| is_loop(&node)),
            share: node
                .cycles
                .zip(cycles)
                .filter(|(_, all)| *all > 0)
                .map(|(own, all)| (own as f64 / all as f64).min(1.0)),
        }
    };
    nodes.iter().enumerate().map(node).collect()
}

//! The answers of a trial: of the statements, and of the tables that they wrote.
//!
//! Scripts are executed as they are, and again with the rows of every table in another order: forwards and backwards, by
//! temporary views that hide the tables and their indexes; backwards at a later time, too. Where statements take too long or
//! fail so, a further pass in each direction leaves more to SQLite. Parts that differ between the passes depend on chance or
//! the present time, or SQL leaves them open.

mod contents;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Instant;

use lab::trial::{Answer, AnswerRows, Facet, StatementRecord};
use script::effect::{depends_on_chance, in_main, names, quoted, written};

use self::contents::{changes, contents, entries, key_of};
use super::client::{Answered, ScriptClient, Workload, may_change_tables};
use super::database::{self, TrialDatabase};
use super::parameters::{Extent, Parameters};
use super::suite::Suite;
use crate::workload::prelude::*;

/// Instructions of the virtual machine that a statement may take with its rows in another order, and a table's contents.
const STEPS: u32 = 20_000_000;

/// Answers by the name of the statement, each over more executions than the one before.
type Answers = BTreeMap<String, Vec<Answer>>;

/// The order in which the rows of tables are read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rows {
    /// As SQLite chooses.
    AsChosen,
    /// By the key.
    ByKey { backwards: bool, of: Ordered },
}

/// The tables whose rows are read in another order.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ordered {
    All,
    /// All, but a join may read rows of equal values by an automatic index.
    AllWithIndexes,
    /// Those that are not written.
    Read,
}

/// The answers of one pass over the scripts, and the contents of the tables that they wrote.
#[derive(Default)]
struct Pass {
    answers: Answers,
    contents: Answers,
    /// Executions of each script. Of a statement in a branch of it there are fewer.
    executions: usize,
    /// Statements that took too long.
    given_up: BTreeSet<String>,
    /// Rows of statements and of tables, as far as they are kept.
    rows: [BTreeMap<String, Vec<AnswerRows>>; 2],
}

impl Pass {
    /// Reads these answers with the rows of all tables in another order as far as statements end in time, and of tables that
    /// are not written where one that writes does not. A statement that SQLite refuses so has no answer.
    fn ordered<'a>(
        pass: impl Fn(Ordered) -> Option<Pass>,
        mut needed: impl Iterator<Item = &'a String>,
    ) -> Option<Pass> {
        let Some(mut found) = pass(Ordered::All) else { return pass(Ordered::Read) };
        if needed.any(|name| found.given_up.contains(name) && !found.answers.contains_key(name)) {
            let other = pass(Ordered::AllWithIndexes);
            for (name, answers) in other.map(|other| other.answers).unwrap_or_default() {
                found.answers.entry(name).or_insert(answers);
            }
        }
        Some(found)
    }

    /// Marks the facets of these statements' answers, and of the tables, that differ in the passes with rows in another order.
    fn mark_open(&mut self, others: &[Option<Pass>; 2], statements: &BTreeSet<String>) {
        let of =
            |part: fn(&Pass) -> &Answers| others.each_ref().map(|other| other.as_ref().map(part));
        for name in statements {
            if let Some(answers) = self.answers.get_mut(name) {
                mark_open(answers, of(|pass| &pass.answers).map(|all| all?.get(name)));
            }
        }
        for (name, answers) in &mut self.contents {
            mark_open(answers, of(|pass| &pass.contents).map(|all| all?.get(name)));
        }
    }
}

/// The answers of the statements, and the tables that they wrote.
pub(super) struct AnswersAndTables {
    answers: Answers,
    rows: BTreeMap<String, Vec<AnswerRows>>,
    pub(super) written: Vec<StatementRecord>,
}

impl AnswersAndTables {
    /// Gives a statement its answers.
    pub(super) fn complete(&mut self, statement: &mut StatementRecord) {
        statement.set_answers(self.answers.remove(&statement.name).unwrap_or_default());
        statement.rows = self.rows.remove(&statement.name).unwrap_or_default();
    }
}

/// Returns the answers of the statements of all scripts, by name, and the tables that they wrote. Scripts that write get the
/// database as it was before the work. What SQL leaves open is tested on request, since that takes longer than the answers themselves.
///
/// # Errors
/// As the work itself.
pub(super) fn read(
    trial: &Trial<'_>,
    parameters: &Parameters,
    database: &TrialDatabase,
    extent: Extent,
    tests_open: bool,
) -> Result<AnswersAndTables> {
    let connection = sqlite::open(trial, &database.path)?;
    let workload = workload(trial, &connection)?;
    let mut writes_by_chance = written_tables(&connection, &workload).into_values();
    let suite = workload.suite;
    let writes = !suite.statements().all(|statement| is_read(&connection, &statement.sql));
    let may_be_open: BTreeSet<String> = suite
        .statements()
        .filter(|statement| may_be_open(&connection, statement))
        .map(|statement| statement.name.clone())
        .collect();
    let needs_test = !may_be_open.is_empty() || writes_by_chance.any(|by_chance| by_chance);
    connection.close()?;
    let pass = |rows: Rows, extent: Extent| {
        if writes {
            database::create(trial, parameters)?;
        }
        let room = if rows == Rows::AsChosen { parameters.answer_rows } else { 0 };
        pass(trial, &database.path, extent, rows, (writes, room), &may_be_open)
    };
    let tests_open = tests_open && needs_test;
    // The time is for all passes together.
    let end = extent.limit.map(|limit| Instant::now() + limit);
    let limit = extent.limit.map(|limit| if tests_open { limit / 3 } else { limit });
    let mut found = pass(Rows::AsChosen, Extent { limit, ..extent })?;
    if tests_open {
        let others = [(false, 2), (true, 1)].map(|(backwards, directions)| {
            let now = Instant::now();
            let end = end.map(|end| now + end.saturating_duration_since(now) / directions);
            let pass = |of| {
                let limit = end.map(|end| end.saturating_duration_since(Instant::now()));
                let is_late = of != Ordered::All && limit.is_some_and(|limit| limit.is_zero());
                let extent = Extent { executions: found.executions, limit };
                (!is_late).then(|| pass(Rows::ByKey { backwards, of }, extent).ok()).flatten()
            };
            Pass::ordered(pass, may_be_open.iter().filter(|_| writes))
        });
        found.mark_open(&others, &may_be_open);
    } else if needs_test {
        let all = found.answers.values_mut().chain(found.contents.values_mut()).flatten();
        all.filter(|answer| answer.by_chance).for_each(Answer::set_untested);
    }
    let [rows, mut contents] = found.rows;
    let written = found.contents.into_iter().map(|(name, answers)| {
        let rows = contents.remove(&name).unwrap_or_default();
        let mut record = StatementRecord { name, rows, ..StatementRecord::default() };
        record.set_answers(answers);
        record
    });
    Ok(AnswersAndTables { answers: found.answers, rows, written: written.collect() })
}

/// Marks the facets that differ where the rows of tables are read in another order. Answers over more executions than were
/// tested are left out.
fn mark_open(answers: &mut Vec<Answer>, others: [Option<&Vec<Answer>>; 2]) {
    let over = |executions: u64| -> Vec<&Answer> {
        let all = others.iter().flatten();
        all.filter_map(|other| other.iter().find(|other| other.executions == executions)).collect()
    };
    let tested = answers.iter().filter(|answer| over(answer.executions).len() == 2).count();
    if tested > 0 {
        answers.truncate(tested);
    }
    for answer in answers {
        let others = over(answer.executions);
        let [forwards, _] = others[..] else {
            answer.set_untested();
            continue;
        };
        // Only these show the keys of the order, and the rows without a limit.
        let shown = forwards
            .facets
            .iter()
            .filter(|(facet, _)| matches!(facet, Facet::Keys(_) | Facet::Unlimited));
        answer.facets.extend(shown.map(|(facet, sum)| (facet.clone(), sum.clone())));
        for other in others {
            if other.rows != answer.rows {
                answer.open.insert(Facet::Number);
            }
            let differs = |facet: &Facet| other.facet(facet) != answer.facet(facet);
            let open: Vec<Facet> = answer.known().into_iter().filter(differs).collect();
            answer.open.extend(open.into_iter().filter(|facet| *facet != Facet::Names));
        }
    }
}

fn is_read(connection: &Connection, sql: &str) -> bool {
    // IF EXISTS only reads once the work has dropped the trigger.
    !may_change_tables(sql) && connection.prepare(sql).is_ok_and(|prepared| prepared.is_read_only())
}

/// Returns whether it is tested which parts of a statement's answer are open.
fn may_be_open(connection: &Connection, statement: &script::Statement) -> bool {
    let sql = &statement.sql;
    statement.volatile || script::may_be_open(sql) && !reads_one_row(connection, sql)
}

/// Returns whether a query only looks up a row by the whole of a unique key, so that SQLite's bytecode has no loop.
fn reads_one_row(connection: &Connection, sql: &str) -> bool {
    let plan = connection.query_plan_with(sql, &[]).unwrap_or_default();
    let loops = ["Next", "Prev", "VNext"];
    let is_loop = |row: &Statement<'_, '_>| Ok(loops.contains(&row.column_text(1)?));
    let program = connection.query_rows(&format!("EXPLAIN {sql}"), is_loop);
    is_read(connection, sql)
        && matches!(&plan[..], [line] if line.starts_with("SEARCH") && line.ends_with("=?)"))
        && program.is_ok_and(|program| !program.contains(&true))
}

fn workload(trial: &Trial<'_>, connection: &Connection) -> Result<Workload> {
    let seed = trial.seed.child("answers");
    let mut workload = Workload::read(connection, trial.settings, trial.directory, seed, 0)?;
    let by_chance = by_chance(connection, &workload.suite);
    workload.suite.mark_volatile(|statement| {
        names(&statement.sql).iter().any(|name| by_chance.contains(name))
    });
    Ok(workload)
}

/// Returns the views that depend on chance or the present time, and the written tables into which a default or a trigger brings it, in
/// lower case.
fn by_chance(connection: &Connection, suite: &Suite) -> BTreeSet<String> {
    let own: BTreeSet<String> =
        suite.statements().flat_map(|statement| written(&statement.sql)).collect();
    let sql = "SELECT type, tbl_name, sql FROM sqlite_master WHERE sql IS NOT NULL";
    let found = connection.query_rows(sql, |row| {
        let (kind, table, sql) = (row.column_text(0)?, row.column_text(1)?, row.column_text(2)?);
        let counts = kind == "view" || own.contains(&table.to_lowercase());
        Ok(match kind {
            _ if !counts || !depends_on_chance(sql) => Vec::new(),
            "trigger" => written(sql),
            _ => vec![table.to_lowercase()],
        })
    });
    found.unwrap_or_default().into_iter().flatten().collect()
}

/// Executes the scripts on a database with the rows of its tables in an order, and keeps rows as far as there is room.
fn pass(
    trial: &Trial<'_>,
    path: &Path,
    extent: Extent,
    rows: Rows,
    (writes, room): (bool, usize),
    needed: &BTreeSet<String>,
) -> Result<Pass> {
    let is_needed = |statement: &script::Statement| needed.contains(&statement.name);
    let connection = match rows {
        Rows::ByKey { backwards: true, .. } => sqlite::open_ahead(trial, path)?,
        _ => sqlite::open(trial, path)?,
    };
    // An answer does not depend on when the disk has it.
    connection.execute("PRAGMA synchronous = off")?;
    let mut workload = workload(trial, &connection)?;
    let tables = written_tables(&connection, &workload);
    if let Rows::ByKey { backwards, of } = rows {
        connection.limit_steps(STEPS)?;
        hide_tables(&connection, &mut workload, &tables, (backwards, of))?;
        workload.suite.adapt(&connection, is_needed);
    }
    let before = entries(&connection)?;
    let suite = &workload.suite;
    let has_needed = |script: &usize| {
        let mut statements = suite.scripts[*script].statements.iter();
        rows == Rows::AsChosen || writes || statements.any(is_needed)
    };
    let scripts: Vec<usize> = (0..suite.scripts.len()).filter(has_needed).collect();
    let mut client = ScriptClient::prepare(&connection, workload)?;
    client.keep_rows(room);
    let Answered { answers, executions, outcome } = client.answers(extent, &scripts, writes);
    let (rows_of_statements, given_up) = (client.take_rows(), client.given_up());
    drop(client);
    if rows == Rows::AsChosen || writes {
        outcome?;
    }
    let (mut contents, mut rows_of_tables) = contents(&connection, &tables, room)?;
    if let Some((name, answer, rows)) = changes(&before, &entries(&connection)?) {
        contents.insert(name.clone(), vec![answer]);
        rows_of_tables.insert(name, vec![rows]);
    }
    for answer in contents.values_mut().flatten() {
        answer.executions = executions as u64;
    }
    connection.close()?;
    let rows = [rows_of_statements, rows_of_tables];
    Ok(Pass { answers, contents, executions, given_up, rows })
}

/// Returns the tables that the statements of a workload write, by their text and by SQLite's bytecode, which knows of triggers and
/// foreign keys; with whether chance decides the contents.
fn written_tables(connection: &Connection, workload: &Workload) -> BTreeMap<String, bool> {
    let roots = connection
        .query_rows("SELECT rootpage, tbl_name FROM sqlite_master WHERE rootpage > 0", |row| {
            Ok((row.column_i64(0), row.column_text(1)?.to_owned()))
        });
    let roots: BTreeMap<i64, String> = roots.unwrap_or_default().into_iter().collect();
    let by_chance = by_chance(connection, &workload.suite);
    let mut tables = BTreeMap::new();
    for statement in workload.suite.statements() {
        let mut own = written(&statement.sql);
        let explain = format!("EXPLAIN {}", statement.sql);
        // The operation and its operands p1 to p3: `OpenWrite` has the root and the database in p2 and p3, `Clear` in p1 and p2.
        let program = connection.query_rows(&explain, |row| {
            let operands = [2, 3, 4].map(|column| row.column_i64(column));
            Ok(match (row.column_text(1)?, operands) {
                ("OpenWrite", [_, root, 0]) | ("Clear", [root, 0, _]) => roots.get(&root),
                _ => None,
            })
        });
        let written = program.unwrap_or_default().into_iter().flatten();
        own.extend(written.map(|table| table.to_lowercase()));
        for table in own {
            let by_chance = statement.volatile || by_chance.contains(&table);
            *tables.entry(table).or_default() |= by_chance;
        }
    }
    tables
}

/// Hides tables behind temporary views with their rows in an order, and the views over them behind copies that read those.
/// Where SQLite refuses a statement that writes then, because it names a rowid or an index, its tables stay as they are.
fn hide_tables(
    connection: &Connection,
    workload: &mut Workload,
    written_tables: &BTreeMap<String, bool>,
    (backwards, of): (bool, Ordered),
) -> Result<()> {
    connection.execute("PRAGMA temp_store = memory")?;
    let direction = if backwards { "DESC" } else { "ASC" };
    if backwards {
        connection.execute("PRAGMA reverse_unordered_selects = 1")?;
    }
    let entries = connection.query_rows(
        "SELECT name, type, sql FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%' AND sql NOT LIKE 'CREATE VIRTUAL%'",
        |row| Ok([0, 1, 2].map(|column| row.column_value(column).to_string())),
    )?;
    let (mut texts, mut hidden) = (BTreeMap::new(), BTreeSet::new());
    for [name, kind, sql] in entries {
        let is_written = written_tables.contains_key(&name.to_lowercase());
        if is_written && of == Ordered::Read {
            continue;
        }
        if kind == "view" {
            // "CREATE VIEW" becomes "CREATE TEMP VIEW".
            if connection.execute(&format!("CREATE TEMP{}", &sql["CREATE".len()..])).is_ok() {
                hidden.insert(name.to_lowercase());
            }
            continue;
        }
        let keys = key_of(connection, &name);
        let key: Vec<String> = keys.iter().map(|column| format!("{column} {direction}")).collect();
        let quoted = quoted(&name);
        let rows = format!("FROM main.{quoted} ORDER BY {} LIMIT -1", key.join(", "));
        connection.execute(&format!("CREATE TEMP VIEW {quoted} AS SELECT * {rows}"))?;
        hidden.insert(name.to_lowercase());
        // A copy would not show what is written.
        if !is_written && !sql.to_lowercase().contains("collate") {
            let copy = format!("CREATE TEMP TABLE {quoted} AS SELECT * {rows}");
            texts.insert(name.to_lowercase(), copy);
        }
    }
    for statement in workload.suite.scripts.iter_mut().flat_map(|script| &mut script.statements) {
        statement.sql = in_main(&statement.sql, |name| hidden.contains(name));
        if connection.prepare(&statement.sql).is_err() && !written(&statement.sql).is_empty() {
            for name in names(&statement.sql) {
                let _ = connection.execute(&format!("DROP VIEW IF EXISTS temp.{}", quoted(&name)));
                hidden.remove(&name);
            }
        }
    }
    copy_joined_tables(connection, workload, &texts);
    let automatic = u8::from(of == Ordered::AllWithIndexes);
    Ok(connection.execute(&format!("PRAGMA automatic_index = {automatic}"))?)
}

/// Replaces views by copies of their tables with an index, where a join would make an automatic one: that has the rows with equal
/// values in the order of their other columns, whatever the order of the view. Without an index a join may take too long.
fn copy_joined_tables(
    connection: &Connection,
    workload: &Workload,
    copies: &BTreeMap<String, String>,
) {
    for statement in workload.suite.statements() {
        let tables = script::tables(&script::significant(&statement.sql));
        let plan = connection.query_plan_with(&statement.sql, &[]).unwrap_or_default();
        for (scanned, index) in plan.iter().filter_map(|line| line.split_once(" USING AUTOMATIC")) {
            let scanned = scanned.rsplit(' ').next();
            let is_scanned = |(table, alias): &&(String, Option<String>)| {
                scanned
                    .is_some_and(|name| alias.as_ref().unwrap_or(table).eq_ignore_ascii_case(name))
            };
            let table = tables.iter().find(is_scanned).map(|(table, _)| table.to_lowercase());
            let Some((table, copy)) = table.and_then(|name| copies.get_key_value(&name)) else {
                continue;
            };
            let columns = index.split_once('(').map_or("", |(_, columns)| columns);
            let columns = columns
                .trim_end_matches(')')
                .split(" AND ")
                .map(|column| quoted(column.split_once('=').map_or(column, |(name, _)| name)));
            let columns = columns.collect::<Vec<_>>().join(", ");
            let name = quoted(table);
            // A copy that is too large stays a view, and one that exists gets a further index.
            let _ = connection.execute(&format!(
                "SAVEPOINT copying; DROP VIEW temp.{name}; {copy}; RELEASE copying"
            ));
            let _ = connection.execute("ROLLBACK TO copying; RELEASE copying");
            // Copies have the order of the pass already.
            let _ = connection.execute("PRAGMA reverse_unordered_selects = 0");
            let index = quoted(&format!("{table}: {columns}"));
            let _ = connection.execute(&format!("CREATE INDEX temp.{index} ON {name}({columns})"));
        }
    }
}

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;

//! Execution: how long a query takes, warm or cold, and which rows it finds.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs::File;
use std::path::Path;
use std::time::{Duration, Instant};

use regex::Regex;

use super::queries::{Query, Sql};
use super::table::TextTable;
use crate::measure::CpuTime;
use crate::workload::prelude::*;

choice! {
    /// Contents of the memory when a query runs.
    enum Cache {
        /// The pages that the same query left there.
        Warm = "warm",
        /// Nothing: the connection is new and the kernel has dropped the file from its cache.
        Cold = "cold",
    }
}

/// A query with its answer, or with the reason why it has none.
pub(super) struct Response<'q> {
    pub(super) query: &'q Query,
    pub(super) answer: Result<Answer, String>,
}

/// The result of a query.
pub(super) struct Answer {
    /// The rowids of all matching rows, in ascending order.
    pub(super) rowids: Vec<i64>,
    /// The time of each execution, from preparing the statement to its last row.
    pub(super) times: Vec<Duration>,
    /// CPU time of all these executions.
    pub(super) cpu: CpuTime,
}

/// One execution.
struct Execution {
    rows: usize,
    time: Duration,
    cpu: CpuTime,
}

impl Answer {
    /// Returns the median time in seconds.
    pub(super) fn median(&self) -> f64 {
        let mut times = self.times.clone();
        times.sort_unstable();
        let (low, high) = (times[(times.len() - 1) / 2], times[times.len() / 2]);
        (low + high).as_secs_f64() / 2.0
    }

    /// Returns `repeat` times for each query. The times of a query that its limit stopped early are repeated, so that
    /// slow queries weigh as much as quick ones.
    pub(super) fn weighed(&self, repeat: usize) -> impl Iterator<Item = Duration> + '_ {
        self.times.iter().copied().cycle().take(repeat)
    }
}

/// Runs queries on one database.
pub(super) struct Executor<'t, 'p> {
    pub(super) trial: &'t Trial<'p>,
    pub(super) table: TextTable<'t>,
    pub(super) path: &'t Path,
    pub(super) cache: Cache,
    /// How often a query runs.
    pub(super) repeat: usize,
    /// After this much time a query does not run again; it runs once at least.
    pub(super) limit: Option<Duration>,
}

impl Executor<'_, '_> {
    /// Runs a query; every execution must return as many rows as match.
    pub(super) fn execute(&self, query: &Query, sql: &Sql) -> Result<Answer> {
        let connection = self.table.connection;
        let rowids = rowids(connection, sql)?;
        let wanted = query.shape().of(rowids.len());
        let mut times = Vec::new();
        let mut spent = Duration::ZERO;
        let mut cpu = CpuTime::default();
        if self.cache == Cache::Warm {
            timed(connection, sql)?;
        }
        while times.is_empty()
            || times.len() < self.repeat && self.limit.is_none_or(|limit| spent < limit)
        {
            let execution = match self.cache {
                Cache::Warm => timed(connection, sql)?,
                Cache::Cold => self.execute_cold(sql)?,
            };
            let what = format!("the count of rows of the {} query `{}`", query.class, query.text);
            expect(&what, execution.rows, wanted)?;
            times.push(execution.time);
            spent += execution.time;
            cpu = cpu.plus(execution.cpu);
        }
        Ok(Answer { rowids, times, cpu })
    }

    fn execute_cold(&self, sql: &Sql) -> Result<Execution> {
        // Makes the kernel forget the pages of a file, which are written back first.
        let problem = TrialError::io("drop from the kernel's cache", self.path);
        let file = File::open(self.path).map_err(&problem)?;
        crate::platform::forget(&file).map_err(problem)?;
        let connection = sqlite::open(self.trial, self.path)?;
        self.table.options.load_extension(&connection)?;
        add_regexp(&connection)?;
        let execution = timed(&connection, sql)?;
        connection.close()?;
        Ok(execution)
    }
}

/// Returns how many rows there are, and how long it took to get them.
fn timed(connection: &Connection, sql: &Sql) -> Result<Execution> {
    let cpu = CpuTime::now()?;
    let start = Instant::now();
    let mut statement = connection.prepare(&sql.statement)?;
    if statement.parameter_count() > 0 {
        statement.bind_text(1, &sql.bound)?;
    }
    let mut rows = 0;
    while statement.step()? == Step::Row {
        rows += 1;
    }
    let time = start.elapsed();
    Ok(Execution { rows, time, cpu: CpuTime::now()?.since(cpu) })
}

/// Returns the rowids of all matching rows.
pub(super) fn rowids(connection: &Connection, sql: &Sql) -> Result<Vec<i64>> {
    let mut statement = connection.prepare(&sql.rowids)?;
    if statement.parameter_count() > 0 {
        statement.bind_text(1, &sql.bound)?;
    }
    let mut rowids = Vec::new();
    while statement.step()? == Step::Row {
        rowids.push(statement.column_i64(0));
    }
    Ok(rowids)
}

/// Runs a query once. Returns its time, or `None` if the table does not understand it.
pub(super) fn answered_once(connection: &Connection, sql: &Sql) -> Result<Option<Duration>> {
    Ok(understood(timed(connection, sql))?.ok().map(|execution| execution.time))
}

/// Separates SQL that the engine does not understand, or for which the table lacks something such as the positions of a phrase, from
/// errors that fail the trial.
pub(super) fn understood<T>(done: Result<T>) -> Result<Result<T, EngineError>> {
    match done {
        Err(TrialError::Engine(error)) if error.is_not_understood() => Ok(Err(error)),
        done => done.map(Ok),
    }
}

/// Why a cold query cannot run here.
pub(super) fn check_cold(cache: Cache) -> Result<()> {
    if cache == Cache::Cold && !cfg!(target_os = "linux") {
        let why = "cache = cold requires Linux, which can drop a file from its cache";
        return Err(TrialError::cannot_run(why));
    }
    Ok(())
}

/// Adds the function behind the operator REGEXP, with patterns of the crate `regex`; a pattern is
/// compiled when it is first used.
pub(super) fn add_regexp(connection: &Connection) -> Result<()> {
    let compiled: RefCell<HashMap<String, Regex>> = RefCell::default();
    connection.create_predicate("regexp", 2, move |texts| {
        let [Some(pattern), Some(text)] = texts else { return Ok(false) };
        let mut compiled = compiled.borrow_mut();
        if let Some(regex) = compiled.get(*pattern) {
            return Ok(regex.is_match(text));
        }
        let regex = Regex::new(pattern).map_err(|error| error.to_string())?;
        let answer = regex.is_match(text);
        compiled.insert((*pattern).to_owned(), regex);
        Ok(answer)
    })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_that_was_asked_less_often_weighs_as_much() {
        let times = [3, 4].map(Duration::from_millis);
        let answer = Answer { rowids: Vec::new(), times: times.to_vec(), cpu: CpuTime::default() };
        let weighed: Vec<u128> = answer.weighed(5).map(|time| time.as_millis()).collect();
        assert_eq!(weighed, [3, 4, 3, 4, 3]);
        assert_eq!(answer.weighed(2).count(), 2);
    }
}

//! The statements of a recording, and the share of them that can be replayed: the statements that SQLite can prepare here,
//! without the functions, collations and virtual tables that the application defines itself.
//!
//! Statements are prepared on the databases as they were when recording began. Statements whose tables did not exist then are
//! prepared on a database in memory with the tables of the whole recording.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use engine::{Connection, EngineError, OpenFlags, Value};
use script::effect::first_word;
use trace::{Bound, Call, Text, Values};

use super::source::{Fate, LeftOut, Recording};
use crate::error::{Result, TrialError};
use crate::target::sqlite;
use crate::trial::Trial;

/// The calls of a recording.
#[derive(Debug, Default)]
pub(super) struct Survey {
    /// The calls of each statement.
    pub(super) statements: BTreeMap<i64, Executions>,
    /// Whether a process was killed while it committed, so that it is not known whether the commit is in the database.
    pub(super) has_open_commit: bool,
    /// Start of the first call and end of the last one, in microseconds.
    span_us: Option<(i64, i64)>,
}

/// The calls of a statement, without calls that do not belong to a replay, such as errors of the moment.
#[derive(Debug, Default)]
pub(super) struct Executions {
    /// The first connection that executed it.
    pub(super) connection: i64,
    /// Calls that can be executed.
    pub(super) whole: Amount,
    /// Calls that cannot be executed, by the object that the trace lacks.
    pub(super) lacking: BTreeMap<&'static str, Amount>,
    /// Whether the text `now` was bound.
    pub(super) binds_now: bool,
}

/// A number of calls and their time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Amount {
    pub(super) calls: u64,
    pub(super) time_ns: f64,
}

impl Amount {
    pub(super) fn add(&mut self, other: Amount) {
        self.calls += other.calls;
        self.time_ns += other.time_ns;
    }
}

impl Survey {
    /// Notes a call.
    pub(super) fn note(&mut self, recording: &Recording, call: &Call) {
        let end = call.start_us + call.duration_ns.unwrap_or(0) / 1_000;
        let span = self.span_us.get_or_insert((call.start_us, end));
        *span = (span.0.min(call.start_us), span.1.max(end));
        self.has_open_commit |= call.ticket.is_some() && call.duration_ns.is_none();
        let fate = recording.fate_by_itself(call);
        if fate == Fate::Apart {
            return;
        }
        let amount = Amount { calls: 1, time_ns: call.duration_ns.unwrap_or(0) as f64 };
        let executions = self.statements.entry(call.statement);
        let executions = executions
            .or_insert_with(|| Executions { connection: call.connection, ..Executions::default() });
        executions.binds_now |= binds_now(call);
        match fate {
            Fate::Missing(what) => executions.lacking.entry(what).or_default().add(amount),
            _ => executions.whole.add(amount),
        }
    }

    /// Returns the time from the first to the last statement, in seconds.
    pub(super) fn seconds(&self) -> f64 {
        self.span_us.map_or(0.0, |(first, last)| (last - first) as f64 / 1e6)
    }
}

impl Executions {
    /// Returns the calls that are replayed, and the objects that the others lack.
    pub(super) fn fates<'r>(
        &'r self,
        left_out: Option<&'r LeftOut>,
    ) -> (Amount, Vec<(&'r str, Amount)>) {
        let lacking = self.lacking.iter().map(|(what, amount)| (*what, *amount));
        match left_out {
            None => (self.whole, lacking.collect()),
            Some(LeftOut::Setting) => (Amount::default(), Vec::new()),
            Some(LeftOut::Missing(what)) => {
                let mut all = self.whole;
                lacking.for_each(|(_, amount)| all.add(amount));
                (Amount::default(), vec![(what, all)])
            }
        }
    }
}

fn binds_now(call: &Call) -> bool {
    let Values::Bound(values) = &call.values else { return false };
    let mut values = values.iter().map(Bound::value);
    values.any(|value| matches!(value, Value::Text(text) if text.eq_ignore_ascii_case("now")))
}

/// The share of a recording that can be replayed.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Coverage {
    /// Statements executed in the recording, except settings of the variant and errors of the moment.
    pub(super) all: Amount,
    /// Statements that can be replayed.
    pub(super) replayed: Amount,
    /// Missing objects, with the number of statements that need each.
    pub(super) missing: BTreeMap<String, u64>,
}

impl Coverage {
    /// Returns the share of statements that can be replayed, in percent.
    pub(super) fn percent(&self) -> f64 {
        share(self.replayed.calls as f64, self.all.calls as f64)
    }

    /// Returns the share of their time in the recording, in percent.
    pub(super) fn time_percent(&self) -> f64 {
        share(self.replayed.time_ns, self.all.time_ns)
    }

    /// Refuses a recording if a smaller share of it can be replayed.
    ///
    /// # Errors
    /// The missing objects.
    pub(super) fn check(&self, least: usize) -> Result<()> {
        if self.percent().min(self.time_percent()) >= least as f64 {
            return Ok(());
        }
        let missing: Vec<String> = self
            .missing
            .iter()
            .map(|(what, calls)| format!("{what} ({calls} statements)"))
            .collect();
        Err(TrialError::cannot_run(format!(
            "{:.1} % of the statements and {:.1} % of their time can be replayed, below min_coverage = {least}; missing: {}",
            self.percent(),
            self.time_percent(),
            missing.join(", ")
        )))
    }
}

fn share(part: f64, all: f64) -> f64 {
    if all > 0.0 { 100.0 * part / all } else { 100.0 }
}

/// Looks for missing objects, and leaves out the statements that need them.
///
/// # Errors
/// A database cannot be opened.
pub(super) fn examine(
    trial: &Trial<'_>,
    recording: &mut Recording,
    survey: &Survey,
) -> Result<Coverage> {
    let forms = forms(recording, survey);
    let mut missing: HashMap<i64, String> = HashMap::new();
    let mut files: BTreeSet<Option<&Path>> = forms.values().map(|(file, _)| *file).collect();
    while let Some(file) = files.pop_first() {
        let of_file = forms.iter().filter(|(_, (of, _))| *of == file);
        let texts: Vec<(i64, &Text)> = of_file.map(|(form, (_, text))| (*form, *text)).collect();
        let real = file.map(|file| sqlite::open(trial, file)).transpose()?;
        let whole = with_all_tables(trial, real.as_ref(), recording)?;
        for (form, text) in texts {
            if let Some(what) = lacks(real.as_ref(), &whole, &text.sql) {
                missing.insert(form, what);
            }
        }
    }
    for text in recording.texts.values() {
        if let Some(what) = missing.get(&text.normalised) {
            let left_out = LeftOut::Missing(what.clone());
            recording.left_out.entry(text.id).or_insert(left_out);
        }
    }
    Ok(count(recording, survey))
}

/// Returns one text of each normalised statement, with the database on which it is executed.
fn forms<'r>(
    recording: &'r Recording,
    survey: &Survey,
) -> HashMap<i64, (Option<&'r Path>, &'r Text)> {
    let mut forms = HashMap::new();
    for (statement, executions) in &survey.statements {
        if let Some(text) = recording.texts.get(statement) {
            let file = recording.database_of(executions.connection);
            let file = file.map(|database| database.path.as_path());
            forms.entry(text.normalised).or_insert((file, text));
        }
    }
    forms
}

/// Creates a database in memory with the tables that existed and those that the application created.
fn with_all_tables(
    trial: &Trial<'_>,
    real: Option<&Connection>,
    recording: &Recording,
) -> Result<Connection> {
    let memory = Path::new(":memory:");
    let connection = Connection::open(&trial.library, memory, OpenFlags::default(), None)?;
    let mut making: Vec<String> = Vec::new();
    if let Some(real) = real {
        let schema = "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY rowid";
        let rows = real.query_all(schema)?;
        making.extend(rows.iter().flatten().map(Value::to_string));
    }
    let mut texts: Vec<&Text> = recording.texts.values().collect();
    texts.sort_by_key(|text| text.id);
    let made = texts.iter().filter(|text| first_word(&text.sql) == "create");
    making.extend(made.map(|text| text.sql.clone()));
    for sql in making {
        // An object that cannot be created shows when statements that use it are prepared.
        let _ = connection.execute(&sql);
    }
    Ok(connection)
}

/// Returns the missing object that a statement needs.
fn lacks(real: Option<&Connection>, whole: &Connection, sql: &str) -> Option<String> {
    let prepared = |connection: &Connection| connection.prepare(sql).map(drop);
    match real.map(prepared) {
        Some(Ok(())) => None,
        Some(Err(error)) if missing(&error).is_some() => missing(&error),
        _ => prepared(whole).err().and_then(|error| missing(&error)),
    }
}

/// Returns the missing object that SQLite's error names.
fn missing(error: &EngineError) -> Option<String> {
    let message = error.as_sqlite()?.message();
    let after = |words: &str| message.strip_prefix(words).map(str::to_owned);
    after("no such function: ")
        .map(|name| format!("function {name}"))
        .or_else(|| after("no such collation sequence: ").map(|name| format!("collation {name}")))
        .or_else(|| after("no such module: ").map(|name| format!("virtual table module {name}")))
        .or_else(|| after("no such tokenizer: ").map(|name| format!("tokenizer {name}")))
        .or_else(|| {
            let name = after("wrong number of arguments to function ")?;
            Some(format!("function {name} with these arguments"))
        })
}

fn count(recording: &Recording, survey: &Survey) -> Coverage {
    let mut coverage = Coverage::default();
    for (statement, executions) in &survey.statements {
        let (replayed, missing) = executions.fates(recording.left_out.get(statement));
        coverage.replayed.add(replayed);
        coverage.all.add(replayed);
        for (what, amount) in missing {
            *coverage.missing.entry(what.to_owned()).or_default() += amount.calls;
            coverage.all.add(amount);
        }
    }
    coverage
}

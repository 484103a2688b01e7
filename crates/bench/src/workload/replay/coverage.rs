//! How much of a recording can be replayed: the statements that SQLite can prepare here, without the functions,
//! collations and virtual tables that the application has made itself.
//!
//! Statements are prepared on the databases as they were when recording began, and those whose tables did not exist then
//! on a database in memory with the tables of the whole recording.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use engine::{Connection, EngineError, OpenFlags, Value};
use script::effect::first_word;
use trace::Text;

use super::source::{LeftOut, Recording};
use super::survey::{Amount, Survey};
use crate::error::TrialError;
use crate::target::sqlite;
use crate::trial::Trial;

/// How much of a recording can be replayed.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Coverage {
    /// Statements executed in the recording, except settings of the variant and errors of the moment.
    pub(super) all: Amount,
    /// Those that can be replayed.
    pub(super) replayed: Amount,
    /// What is missing, with the number of statements that need it.
    pub(super) missing: BTreeMap<String, u64>,
}

impl Coverage {
    /// The share of statements that can be replayed, in percent.
    pub(super) fn percent(&self) -> f64 {
        share(self.replayed.calls as f64, self.all.calls as f64)
    }

    /// The same of their time in the recording.
    pub(super) fn time_percent(&self) -> f64 {
        share(self.replayed.time_ns, self.all.time_ns)
    }

    /// Refuses a recording of which less can be replayed.
    ///
    /// # Errors
    /// What is missing.
    pub(super) fn check(&self, least: usize) -> Result<(), TrialError> {
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

/// Looks for what is missing, and leaves out the statements that need it.
///
/// # Errors
/// A database cannot be opened.
pub(super) fn examine(
    trial: &Trial<'_>,
    recording: &mut Recording,
    survey: &Survey,
) -> Result<Coverage, TrialError> {
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

/// One text of each normalised statement, with the database on which it is executed.
fn forms<'r>(
    recording: &'r Recording,
    survey: &Survey,
) -> HashMap<i64, (Option<&'r Path>, &'r Text)> {
    let mut forms = HashMap::new();
    for (statement, executions) in &survey.statements {
        if let Some(text) = recording.texts.get(statement) {
            let file = recording.database_of(executions.connection);
            let file = file.map(|it| it.path.as_path());
            forms.entry(text.normalised).or_insert((file, text));
        }
    }
    forms
}

/// A database in memory with the tables that were there and those that the application made.
fn with_all_tables(
    trial: &Trial<'_>,
    real: Option<&Connection>,
    recording: &Recording,
) -> Result<Connection, TrialError> {
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
    let made = texts.iter().filter(|it| first_word(&it.sql) == "create");
    making.extend(made.map(|text| text.sql.clone()));
    for sql in making {
        // What cannot be made shows when statements that use it are prepared.
        let _ = connection.execute(&sql);
    }
    Ok(connection)
}

/// What a statement needs that is not there.
fn lacks(real: Option<&Connection>, whole: &Connection, sql: &str) -> Option<String> {
    let prepared = |connection: &Connection| connection.prepare(sql).map(drop);
    match real.map(prepared) {
        Some(Ok(())) => None,
        Some(Err(error)) if missing(&error).is_some() => missing(&error),
        _ => prepared(whole).err().and_then(|error| missing(&error)),
    }
}

/// What is missing by the words of SQLite's error.
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

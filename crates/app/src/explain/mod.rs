//! Explanations of statements: the work of each loop, what is wrong, and what helps, tried on a copy.

mod alike;
mod copies;
mod difference;
pub(crate) mod document;
pub(crate) mod recorded;
mod sides;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ::explain::advisor::{Advice, advise};
use ::explain::faults::{Fault, faults};
use ::explain::observe::Observation;
use ::explain::{Needs, Query, Subject, few_rows, values};
use engine::schema::Schema;
use engine::{EngineError, Source, SqliteError, Value, ffi};
use lab::experiment::nearest;
use report::document::{Document, Sentence};
use rustix::time::{ClockId, clock_gettime};
use script::{Form, Names, parse};

use self::copies::{Copies, Copy};
use crate::error::Error;
use crate::files::read_text;
use crate::interface::Interface;
use crate::measure::{Vary, check_replayable};
use crate::words::plural;

/// The largest file of statements.
const MOST_TEXT: u64 = 16 << 20;

/// Returns the time for trying indexes: two minutes at most, and less for few statements.
fn tried(statements: usize) -> Duration {
    let statements = u32::try_from(statements).unwrap_or(u32::MAX);
    (Duration::from_secs(15) + Duration::from_secs(5).saturating_mul(statements))
        .min(Duration::from_secs(120))
}

/// The largest database that is copied in bytes, which takes a fraction of a second. Of a larger one only the changes are.
const MOST_COPIED: u64 = 64 << 20;

/// How many times that time may pass by the clock, where other programs keep the processor busy. So their work changes no advice.
const PATIENCE: u32 = 3;

/// A request for explanations.
#[derive(Clone, Debug)]
pub struct ExplainRequest {
    /// The statements.
    pub what: What,
    /// Their databases, unless a trace has one; several are compared.
    pub databases: Vec<PathBuf>,
    /// Engines and statistics to compare.
    pub vary: Vec<Vary>,
    /// Values of parameters by their names; others are taken from the database.
    pub values: Vec<(String, String)>,
    /// Extensions that the database needs.
    pub extensions: Vec<PathBuf>,
    /// Stand-ins for collations and functions of its application, a line each.
    pub stand_ins: String,
    /// The directory for a copy of the database.
    pub directory: PathBuf,
}

impl ExplainRequest {
    fn needs(&self) -> Needs<'_> {
        Needs { extensions: &self.extensions, stand_ins: &self.stand_ins }
    }
}

/// Statements.
#[derive(Clone, Debug)]
pub enum What {
    /// Texts.
    Statements(Vec<String>),
    /// Files of statements.
    Files(Vec<PathBuf>),
    /// Statements of a trace with their recorded values: all, or the one of this number in the table of statements.
    Trace(PathBuf, Option<usize>),
}

/// A statement that was explained.
pub(crate) struct Explained {
    pub(crate) query: Query,
    /// Its parameters, in the order of its values.
    parameters: Vec<Parameter>,
    pub(crate) observation: Observation,
    faults: Vec<Fault>,
}

/// Rows to which a slow write is limited while indexes are tried.
const FEW_ROWS: u32 = 20;

impl Explained {
    /// Returns whether indexes were tried for a few of its rows.
    fn is_for_few_rows(&self) -> bool {
        self.observation.is_partial && self.observation.is_write
    }
}

/// A parameter of a statement.
struct Parameter {
    name: String,
    /// Whether its value was taken from the data.
    is_drawn: bool,
}

/// Statements that were explained.
pub struct Explanation {
    /// The explanation.
    pub document: Document,
    /// The advised indexes that have all rows: their tables, and their columns up to the first expression.
    pub indexes: Vec<(String, Vec<String>)>,
    /// How many statements ANALYZE alone makes slower; none if it was not tried.
    pub spoiled: Option<usize>,
    /// The first error of a statement, if others were explained. Of a recording, only the application can execute all.
    pub failed: Option<Error>,
}

/// Explains statements, if one of them fails the others. The advice is for all of them together. A comparison has plans side by side instead of advice.
///
/// # Errors
/// The database or the trace cannot be used, or no statement can be executed: it is invalid, or a parameter has no value.
pub fn explain(request: &ExplainRequest, ui: &dyn Interface) -> Result<Explanation, Error> {
    let copies = Copies::new(&request.directory, MOST_COPIED)?;
    let mut explained = explained_on(request, &copies, ui);
    if copies.are_outdated()? {
        ui.say("another process is writing to the database, so pragmark copies all of it");
        explained = explained_on(request, &Copies::new(&request.directory, u64::MAX)?, ui);
    }
    let mut explanation = explained?;
    if !request.stand_ins.is_empty() {
        let stand_ins = request.stand_ins.replace('\n', ", ");
        let words = Sentence::from("With stand-ins, which may give other answers and plans: ");
        explanation.document.about.push(words.and_code(&stand_ins).words("."));
    }
    Ok(explanation)
}

fn explained_on(
    request: &ExplainRequest,
    copies: &Copies,
    ui: &dyn Interface,
) -> Result<Explanation, Error> {
    let (statements, copy) = statements(request, copies)?;
    let (statements, remarks) = match request.what {
        What::Trace(..) => (statements, Vec::new()),
        _ => alike::first_of_each(statements),
    };
    let (statements, mut left_out) = planned(statements)?;
    let is_recording = matches!(request.what, What::Trace(_, None));
    let failed = |left_out: LeftOut| left_out.first.filter(|_| !is_recording);
    let are_several = is_recording || statements.len() > 1;
    if request.databases.len() > 1 || !request.vary.is_empty() {
        let statements = (statements, &mut left_out);
        let document = sides::compared(request, (copies, &copy), statements, are_several, ui)?;
        let failed = failed(left_out);
        return Ok(Explanation { document, indexes: Vec::new(), spoiled: None, failed });
    }
    let subject = copy.open(&Source::Explaining, request.needs()).map_err(of_engine)?;
    let task = ui.show_task();
    task.update(format!(
        "executing {}",
        plural(statements.len() as u64, "statement", "statements")
    ));
    refuse_unknown(&request.values, &subject, &statements)?;
    let observed = observe_each(&subject, statements, &request.values, are_several);
    let is_whole = matches!(&observed, Ok((_, failed)) if failed.first.is_none());
    if let (false, What::Trace(trace, _)) = (is_whole, &request.what) {
        // What only the application has is the cause of errors such as a table that could not be made.
        check_replayable(trace, &request.stand_ins, ui)?;
    }
    let (mut all, others) = observed?;
    left_out.why.extend(others.why);
    left_out.first = others.first;
    if all.is_empty() && !is_recording {
        return Err(left_out.first.unwrap_or_else(|| Error::mistake("there is no statement")));
    }
    task.update("trying indexes".to_owned());
    let mut advice = advice_for(&subject, &all, tried(all.len()), PATIENCE)?;
    task.update("trying other texts".to_owned());
    advice.failed.append(&mut left_out.why);
    for it in &mut all {
        it.faults = faults(&subject, &it.query, &it.observation, &advice).map_err(of_engine)?;
    }
    let whole = advice.made.iter().filter(|made| made.index.condition.is_none());
    let indexes = whole.map(|made| (made.index.table.clone(), made.index.columns(&subject.schema)));
    let version = &subject.library().identity().version;
    let mut document = document::document(&title(request), version, &all, &advice);
    document.about.extend(remarks);
    Ok(Explanation {
        document,
        indexes: indexes.collect(),
        spoiled: advice.spoiled.as_ref().map(Vec::len),
        failed: failed(left_out),
    })
}

/// The first words of statements without a plan (<https://sqlite.org/lang.html>); a text without a statement has none.
const WITHOUT_PLAN: [&str; 17] = [
    "", "ALTER", "ANALYZE", "ATTACH", "BEGIN", "COMMIT", "CREATE", "DETACH", "DROP", "END",
    "EXPLAIN", "PRAGMA", "REINDEX", "RELEASE", "ROLLBACK", "SAVEPOINT", "VACUUM",
];

/// Separates statements with a plan from others. BEGIN and COMMIT are not needed, as the writes of each statement are undone,
/// and ATTACH would reach another file than the copy.
///
/// # Errors
/// None has a plan.
fn planned(statements: Vec<Statement>) -> Result<(Vec<Statement>, LeftOut), Error> {
    // SQLite names a mistake in any other word.
    let has_plan = |word: &str| !WITHOUT_PLAN.contains(&word);
    let (planned, others): (Vec<Statement>, Vec<Statement>) =
        statements.into_iter().partition(|statement| has_plan(&first_word(&statement.sql)));
    let why = |statement: &Statement| {
        (statement.name.clone(), format!("{} has no plan", first_word(&statement.sql)))
    };
    let left_out = LeftOut { why: others.iter().map(why).collect(), first: None };
    match (planned.is_empty(), left_out.why.first()) {
        (true, Some((name, why))) => Err(Error::mistake(format!("{name}: {why}"))
            .hint("SELECT, INSERT, UPDATE and DELETE have one; `pragmark measure --index` measures an index")),
        _ => Ok((planned, left_out)),
    }
}

/// Returns the first word of a statement in capitals.
fn first_word(sql: &str) -> String {
    let word = script::tokens(sql).find(script::Token::counts);
    word.map_or(String::new(), |word| word.text.to_uppercase())
}

/// Returns the name of the file that the statements belong to.
fn title(request: &ExplainRequest) -> String {
    match &request.what {
        What::Trace(trace, _) => file_name(trace),
        _ => request.databases.first().map_or(String::new(), |database| file_name(database)),
    }
}

/// Returns the statements and a copy of their database.
fn statements(request: &ExplainRequest, copies: &Copies) -> Result<(Vec<Statement>, Copy), Error> {
    let statements = match &request.what {
        What::Trace(trace, number) => {
            let copy = copies.empty();
            let stand_ins = &request.stand_ins;
            return Ok((recorded::statements(trace, *number, stand_ins, &copy.path)?, copy));
        }
        What::Statements(texts) => named(texts)?,
        What::Files(files) => of_files(files)?,
    };
    let [database, ..] = request.databases.as_slice() else {
        return Err(Error::mistake("name the database with --db, or a trace instead of SQL"));
    };
    Ok((statements, copies.of(database)?))
}

/// Statements that cannot be executed here.
#[derive(Default)]
pub(crate) struct LeftOut {
    /// Their names, each with the reason.
    pub(crate) why: Vec<(String, String)>,
    /// The first error.
    first: Option<Error>,
}

/// Executes statements and observes them; of several, one that cannot be executed is left out.
///
/// # Errors
/// The only statement cannot be executed.
pub(crate) fn observe_each(
    subject: &Subject,
    statements: Vec<Statement>,
    given: &[(String, String)],
    are_several: bool,
) -> Result<(Vec<Explained>, LeftOut), Error> {
    let (mut all, mut left_out) = (Vec::new(), LeftOut::default());
    for statement in statements {
        let name = statement.name.clone();
        let explained = observed(subject, statement, given);
        all.extend(unless_left_out(explained, name, are_several, &mut left_out)?);
    }
    Ok((all, left_out))
}

/// Returns a result. The error of one of several statements is noted instead, with its name.
fn unless_left_out<T>(
    result: Result<T, Error>,
    name: String,
    are_several: bool,
    left_out: &mut LeftOut,
) -> Result<Option<T>, Error> {
    match result {
        Err(error) if are_several => {
            let own = error.message.split_once(&format!("{name}: "));
            let mut why = own.map_or(&*error.message, |(_, why)| why).to_owned();
            let missing = bench::missing_object(&why);
            if let Some(options) = bench::options_for(missing.iter()) {
                why = format!("{why}; {options}");
            }
            left_out.why.push((name, why));
            left_out.first.get_or_insert(error);
            Ok(None)
        }
        result => result.map(Some),
    }
}

/// Tries indexes for all statements together, for this time of the processor, and at most so many times of it by the clock.
///
/// # Errors
/// SQLite's, such as a full disk.
pub(crate) fn advice_for(
    subject: &Subject,
    all: &[Explained],
    time: Duration,
    patience: u32,
) -> Result<Advice, Error> {
    let tried = all.iter().filter_map(|explained| {
        let Explained { query, observation, .. } = explained;
        if !explained.is_for_few_rows() {
            return Some((query.clone(), (query.values.len() < 2).then_some(observation.cost)));
        }
        // What is stopped while it writes ends the transaction in which indexes are tried.
        few_rows(&subject.schema, &query.sql, FEW_ROWS).into_iter().find_map(|sql| {
            let query = Query { sql, ..query.clone() };
            let cost = subject.cost(&subject.connect().ok()?, &query, u32::MAX).ok()?;
            (!cost.is_partial()).then_some((query, Some(cost)))
        })
    });
    let tried: Vec<_> = tried.collect();
    let processor =
        || Duration::try_from(clock_gettime(ClockId::ProcessCPUTime)).unwrap_or_default();
    let (start, used) = (Instant::now(), processor());
    let spent = || {
        let of = |past: Duration, time: Duration| past.as_secs_f64() / time.as_secs_f64();
        of(start.elapsed(), patience * time).max(of(processor() - used, time))
    };
    advise(subject, &tried, &spent).map_err(of_engine)
}

/// Executes a statement and observes it.
fn observed(
    subject: &Subject,
    statement: Statement,
    given: &[(String, String)],
) -> Result<Explained, Error> {
    // Rows that the application deleted later are not here, so others of the table stand for them.
    let drawn = statement.has_changed.then(|| Statement { values: None, ..statement.clone() });
    let (mut query, mut parameters) = with_values(subject, statement, given)?;
    let observe =
        |query: &Query| subject.observe(query).map_err(|error| in_statement(&query.name, error));
    let mut observation = observe(&query)?;
    if observation.changes_nothing()
        && let Some((other, names)) =
            drawn.and_then(|drawn| with_values(subject, drawn, given).ok())
    {
        let single = |values: &Vec<Value>| Query { values: vec![values.clone()], ..other.clone() };
        let tried = other.values.iter().map(single);
        let tried = tried.map(|query| observe(&query).map(|seen| (query, seen)));
        let tried = tried.collect::<Result<Vec<_>, Error>>()?.into_iter();
        let changing = tried.filter(|(_, seen)| seen.changes > 0);
        // The application's own rows were not refused.
        if let Some((other, seen)) = changing.min_by_key(|(_, seen)| seen.refused.is_some()) {
            (query, parameters, observation) = (other, names, seen);
        }
    }
    if observation.is_partial {
        query.values.truncate(1);
    }
    Ok(Explained { query, parameters, observation, faults: Vec::new() })
}

/// Refuses values of parameters that no statement has, before any is executed.
fn refuse_unknown(
    given: &[(String, String)],
    subject: &Subject,
    statements: &[Statement],
) -> Result<(), Error> {
    if given.is_empty() {
        return Ok(());
    }
    let connection = subject.connect().map_err(of_engine)?;
    let mut known: BTreeSet<String> = BTreeSet::new();
    // A statement that SQLite refuses is reported with its error later.
    for prepared in statements.iter().flat_map(|statement| connection.prepare(&statement.sql)) {
        let names = (1..=prepared.parameter_count()).map(|index| parameter(&prepared, index));
        known.extend(names.map(|name| name.trim_start_matches(SIGNS).to_owned()));
    }
    let Some((name, _)) = given.iter().find(|(name, _)| !known.contains(name)) else {
        return Ok(());
    };
    let error = Error::mistake(format!("--set {name}=…: no statement has a parameter {name}"));
    Err(match known.is_empty() {
        true => error.hint("settings are compared by `pragmark measure --vary`"),
        false => error.hint(format!("they have {}", Vec::from_iter(known).join(", "))),
    })
}

/// A statement with its recorded values, if there are any.
#[derive(Clone, Default)]
pub(crate) struct Statement {
    pub(crate) name: String,
    pub(crate) sql: String,
    pub(crate) weight: f64,
    pub(crate) values: Option<Vec<Vec<Value>>>,
    /// Its file and line, with its name if it has one.
    pub(crate) place: Option<String>,
    /// Whether it changed rows where it was recorded.
    pub(crate) has_changed: bool,
}

impl Statement {
    /// Of a script with this weight.
    pub(crate) fn of(statement: script::Statement, weight: u32) -> Statement {
        let script::Statement { name, sql, .. } = statement;
        let sql = without_explain(&sql).to_owned();
        Statement { name, sql, weight: f64::from(weight), ..Statement::default() }
    }
}

/// Returns a statement without the `EXPLAIN QUERY PLAN` or `EXPLAIN ANALYZE` that is often before it.
fn without_explain(sql: &str) -> &str {
    let all = script::significant(sql);
    let is = |place: usize, word: &str| all.get(place).is_some_and(|token| token.is(word));
    let words = match (is(0, "explain"), is(1, "query") && is(2, "plan"), is(1, "analyze")) {
        (true, true, _) => 3,
        (true, _, true) => 2,
        (is_explained, ..) => usize::from(is_explained),
    };
    all.get(words).map_or(sql, |first| &sql[first.start..])
}

/// Returns the table or column that was meant where SQLite knows none.
fn meant(schema: &Schema, message: &str) -> Option<String> {
    let (kind, name) = message.strip_prefix("no such ")?.split_once(": ")?;
    let tables = schema.tables.iter();
    let names: Vec<&str> = match kind {
        "table" => tables.map(|table| table.name.as_str()).collect(),
        "column" => {
            tables.flat_map(|table| &table.columns).map(|column| column.name.as_str()).collect()
        }
        _ => return None,
    };
    let nearest = nearest(name.rsplit('.').next()?, names)?;
    Some(format!("did you mean `{nearest}`?"))
}

/// The name of a statement without others.
const ALONE: &str = "the statement";

/// Returns the name of a statement as a title begins with it.
fn heading(name: &str) -> &str {
    if name == ALONE { "The statement" } else { name }
}

/// Returns the statements of texts.
fn named(texts: &[String]) -> Result<Vec<Statement>, Error> {
    let mut all = Vec::new();
    for text in texts {
        all.extend(of_text(ALONE, ALONE, text)?);
    }
    if all.len() > 1 {
        let all = all.iter_mut().enumerate();
        for (number, statement) in all.filter(|(_, other)| other.name.starts_with(ALONE)) {
            statement.name = format!("statement {}", number + 1);
        }
    }
    Ok(all)
}

fn of_files(files: &[PathBuf]) -> Result<Vec<Statement>, Error> {
    let mut all = Vec::new();
    for file in files {
        crate::measure::refuse_other_than_sql(file)?;
        let text = read_text("the file of statements", file, MOST_TEXT)?;
        let title = file.with_extension("").display().to_string();
        all.extend(of_text(&file.display().to_string(), &title, &text)?);
    }
    Ok(all)
}

/// Returns the statements of a text from this file, whose names begin with the title.
fn of_text(file: &str, title: &str, text: &str) -> Result<Vec<Statement>, Error> {
    let scripts = parse(file, title, text, Form::Statements, &mut Names::default());
    let scripts = scripts.map_err(Error::mistake)?;
    let statements = scripts.into_iter().flat_map(|script| {
        let weight = script.weight;
        script.statements.into_iter().map(move |statement| {
            let (line, name) = (statement.line, format!(": {}", statement.name));
            let own = Some(name).filter(|_| !statement.name.starts_with(title)).unwrap_or_default();
            let place = (file != ALONE).then(|| format!("{file}:{line}{own}"));
            Statement { place, ..Statement::of(statement, weight) }
        })
    });
    let statements: Vec<Statement> = statements.collect();
    if statements.is_empty() {
        return Err(Error::mistake(format!("{file}: there is no statement")));
    }
    Ok(statements)
}

/// Signs before the name of a parameter.
const SIGNS: [char; 4] = [':', '@', '$', '?'];

/// Returns the name of a parameter with the sign before it; its number if it has no name.
fn parameter(prepared: &engine::Statement<'_, '_>, index: i32) -> String {
    prepared.parameter_name(index).unwrap_or(format!("?{index}"))
}

fn with_values(
    subject: &Subject,
    statement: Statement,
    given: &[(String, String)],
) -> Result<(Query, Vec<Parameter>), Error> {
    let connection = subject.connect().map_err(of_engine)?;
    let Statement { name, sql, weight, values, place, .. } = statement;
    let place = place.as_deref().unwrap_or(&name);
    let prepared = connection.prepare(&sql).map_err(|error| {
        let meant = error.as_sqlite().and_then(|error| meant(&subject.schema, error.message()));
        let error = in_statement(place, error);
        if meant.is_some() { error.hint_if(meant) } else { error }
    })?;
    let is_given = |name: &str| {
        values.is_some() || given.iter().any(|(given, _)| *given == name.trim_start_matches(SIGNS))
    };
    let parameters = (1..=prepared.parameter_count()).map(|index| parameter(&prepared, index));
    let parameters = parameters.map(|name| Parameter { is_drawn: !is_given(&name), name });
    let parameters = parameters.collect();
    let given: Vec<(String, Value)> =
        given.iter().map(|(name, value)| (name.clone(), value_of(value))).collect();
    let values = match values {
        Some(values) => values,
        None => values::draw(&connection, &subject.schema, &prepared, &given)
            .map_err(|why| Error::mistake(format!("{place}: {why}")))?,
    };
    Ok((Query { name, sql, weight, values }, parameters))
}

/// Returns the value that a text on the command line stands for: a number if it looks like one.
fn value_of(text: &str) -> Value {
    match (text.parse(), text.parse()) {
        (Ok(integer), _) => Value::Integer(integer),
        (_, Ok(real)) => Value::Real(real),
        _ => Value::Text(text.to_owned()),
    }
}

/// Turns an error of a statement into one that says what to do.
fn in_statement(name: &str, error: EngineError) -> Error {
    let Some(sqlite) = error.as_sqlite() else { return of_engine(error) };
    let message = sqlite.message().to_owned();
    match sqlite.primary() {
        ffi::SQLITE_ERROR
        | ffi::SQLITE_AUTH
        | ffi::SQLITE_CONSTRAINT
        | ffi::SQLITE_MISMATCH
        | ffi::SQLITE_TOOBIG => Error::mistake(format!("{name}: {message}")).hint_if(hint(sqlite)),
        _ => Error::unusable(format!("{name}: {message}")).hint_if(hint(sqlite)),
    }
}

/// Returns the way out of an error of SQLite.
fn hint(error: &SqliteError) -> Option<&'static str> {
    let lacks = ["no such function", "no such collation", "no such module"];
    match error.primary() {
        ffi::SQLITE_CORRUPT | ffi::SQLITE_NOTADB => {
            Some("`pragmark inspect FILE --quick-check` lists the damage of a database")
        }
        _ if error.message().starts_with("near \"%\"") => {
            Some("SQLite's own parameters are ? and :name; write them in place of %s")
        }
        _ if lacks.iter().any(|lack| error.message().starts_with(lack)) => Some(
            "if an extension has it, name the extension with --load-extension; a stand-in is another way: --stand-in unicase=nocase, or --stand-in 'slugify=lower(?1)'",
        ),
        _ => None,
    }
}

fn of_engine(error: EngineError) -> Error {
    match error.as_sqlite() {
        Some(sqlite) => Error::unusable(sqlite.message()).hint_if(hint(sqlite)),
        None => Error::unusable(error),
    }
}

/// Returns the last part of a path.
fn file_name(path: &Path) -> String {
    path.file_name().map_or(String::new(), |name| name.to_string_lossy().into_owned())
}

//! A script in pgbench's language for the work of a recorded application: its transactions by their frequency, with
//! values drawn from the recorded distributions.
//!
//! Shapes of transactions: which statements the application executes together, and how often.

mod form;
mod snapshot;
mod values;

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

use engine::{Step, Value};
use form::{Form, Origin};
use serde_json::Value as Json;
use snapshot::SnapshotCopy;
use values::{Fit, Values};

use crate::analysis::{Event, Kind};
use crate::seal::Unfinished;
use crate::{Grown, Result, Trace, TraceError};

/// The most shapes of transactions that a script has.
const SHAPES: usize = 30;
/// About how many executions of a statement are sampled.
const SAMPLES: u64 = 20_000;

/// A script, and how much of the recorded work it represents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fitted {
    /// The script.
    pub text: String,
    /// The database that it is for.
    pub database: String,
    /// The amount of traffic that it represents.
    pub fitted: Amount,
    /// The amount that it leaves out: rare transactions, long ones, and transactions with a statement that failed or
    /// does not work on the snapshot, such as one that uses a temporary table.
    pub left_out: Amount,
    /// Other databases of the trace, with the number of their statements.
    pub others: Vec<(String, u64)>,
    /// The fate of the recorded writes, if the database was empty when recording began.
    pub grown: Option<Grown>,
}

/// Statements by what they have in common.
#[derive(Default)]
struct Forms {
    numbers: HashMap<String, usize>,
    forms: Vec<Form>,
    /// The form of each statement, and whether scripts can have it.
    of_statements: HashMap<i64, (usize, bool)>,
}

/// Fits a script to the work with one database, the one with most statements unless `database` names it. The
/// database as it was when recording began, with the recorded changes of its schema, is written to `snapshot`; one that was
/// empty then, as it was at the end.
///
/// # Errors
/// When the trace cannot be read, has no such database or no statements, has no snapshot of it, or `snapshot` exists
/// or cannot be written.
pub fn to_script(trace: &Trace, database: Option<&str>, snapshot: &Path) -> Result<Fitted> {
    let mut forms = Forms::read(trace)?;
    let (database, others) = databases(trace, database)?;
    let connections: HashSet<i64> = trace
        .connections()?
        .into_iter()
        .filter(|snapshot| snapshot.database == database)
        .map(|snapshot| snapshot.id)
        .collect();
    if snapshot.exists() {
        return Err(TraceError::Exists(snapshot.to_owned()));
    }
    let unfinished = Unfinished::of(snapshot);
    let (copy, grown) = SnapshotCopy::write(trace, &database, &connections, unfinished.path())?;
    let (shapes, counts) = shapes_of(trace, &forms, &connections)?;
    let executed = counts.keys().copied();
    let usable: HashSet<usize> =
        executed.filter(|form| copy.can_execute(&forms.forms[*form].key())).collect();
    let (shapes, left_out) = shapes.most_frequent(SHAPES, |form| usable.contains(&form));
    if shapes.is_empty() {
        let left_out = left_out.transactions;
        return Err(TraceError::NoTransactions { database, left_out, longest: LONGEST });
    }
    let chosen: HashSet<usize> = shapes.iter().flat_map(|(shape, _)| shape).copied().collect();
    let values = values_of(trace, &forms, &connections, &chosen, &counts)?;
    let fits = chosen.iter().map(|number| {
        let fits = fits_of((*number, &forms.forms[*number]), values.get(number), &copy)?;
        Ok((*number, fits))
    });
    let fits: BTreeMap<usize, Vec<Fit>> = fits.collect::<Result<_>>()?;
    let mut ignores = false;
    for number in &chosen {
        let form = &mut forms.forms[*number];
        let are_new = fits[number].iter().any(|fit| matches!(fit, Fit::New(_)));
        let key = form.key();
        if copy.has_unique_keys(&key) || !are_new && copy.gives_rowids(&key) {
            ignores |= form.ignore_collisions();
        }
    }
    copy.close()?;
    unfinished.name(snapshot)?;
    let mut text = form::script(&shapes, &forms.forms, &fits);
    if ignores {
        text.insert_str(0, "-- OR IGNORE was added where keys may exist\n");
    }
    Ok(Fitted { text, database, fitted: amount(&shapes), left_out, others, grown })
}

impl Forms {
    fn read(trace: &Trace) -> Result<Forms> {
        let mut forms = Forms::default();
        trace.each_row("SELECT id, readonly, sql FROM statement", |row| {
            if let [Value::Integer(id), readonly, Value::Text(sql)] = row {
                forms.add(*id, *readonly == Value::Integer(1), sql);
            }
            Ok(())
        })?;
        Ok(forms)
    }

    fn add(&mut self, id: i64, readonly: bool, sql: &str) {
        let form = Form::of(sql);
        let next = self.forms.len();
        let number = *self.numbers.entry(form.key()).or_insert(next);
        if number == next {
            self.forms.push(form);
        }
        self.of_statements.insert(id, (number, is_work(sql, readonly)));
    }
}

/// Returns whether a script executes such a statement; it does not set up connections or change the schema.
fn is_work(sql: &str, readonly: bool) -> bool {
    const OTHERS: [&str; 7] =
        ["PRAGMA", "ATTACH", "DETACH", "VACUUM", "ANALYZE", "EXPLAIN", "REINDEX"];
    let word = sql.trim_start().get(..7).unwrap_or(sql.trim_start()).to_ascii_uppercase();
    Kind::of(sql.trim_start(), readonly) != Kind::Schema
        && !OTHERS.iter().any(|other| word.starts_with(other))
}

/// The database that is meant, and the others with the number of their statements.
type Databases = (String, Vec<(String, u64)>);

fn databases(trace: &Trace, wanted: Option<&str>) -> Result<Databases> {
    let mut all: Vec<(String, u64)> = Vec::new();
    let sql = "SELECT database, count(*) FROM event JOIN connection ON connection.id = connection
        GROUP BY database ORDER BY count(*) DESC, database";
    trace.each_row(sql, |row| {
        if let [Value::Text(database), Value::Integer(count)] = row {
            all.push((database.clone(), count.unsigned_abs()));
        }
        Ok(())
    })?;
    let number = match wanted {
        None => 0,
        Some(wanted) => {
            let is_meant = |name: &str| name == wanted || Path::new(name).ends_with(wanted);
            let number = all.iter().position(|(name, _)| is_meant(name));
            number.ok_or_else(|| TraceError::NoDatabase(wanted.to_owned()))?
        }
    };
    if all.is_empty() {
        return Err(TraceError::NoDatabase(String::new()));
    }
    let (database, _) = all.remove(number);
    Ok((database, all))
}

/// The shapes of all transactions, and how often each form was executed.
type Counted = (Shapes, HashMap<usize, u64>);

fn shapes_of(trace: &Trace, forms: &Forms, connections: &HashSet<i64>) -> Result<Counted> {
    let (mut shapes, mut counts) = (Shapes::default(), HashMap::new());
    let mut take = |event: &Event| {
        let form = forms.of_statements.get(&event.statement).copied();
        if !connections.contains(&event.connection) || form.is_some_and(|(_, is_work)| !is_work) {
            return;
        }
        let form = form.map(|(form, _)| form);
        shapes.take(event, form);
        if let Some(form) = form {
            *counts.entry(form).or_default() += 1;
        }
    };
    trace.for_each_event(&mut take)?;
    Ok((shapes, counts))
}

/// Returns the values of each slot of the forms that were chosen.
fn values_of(
    trace: &Trace,
    forms: &Forms,
    connections: &HashSet<i64>,
    chosen: &HashSet<usize>,
    counts: &HashMap<usize, u64>,
) -> Result<HashMap<usize, Vec<Values>>> {
    let mut all: HashMap<usize, Vec<Values>> = HashMap::new();
    let mut seen: HashMap<usize, u64> = HashMap::new();
    let mut written = Written { trace, known: HashMap::new() };
    trace.each_row("SELECT statement, connection, \"values\" FROM event ORDER BY id", |row| {
        let [Value::Integer(statement), Value::Integer(connection), values] = row else {
            return Ok(());
        };
        let form = forms.of_statements.get(statement).map(|(form, _)| *form);
        let Some(form) = form.filter(|form| chosen.contains(form)) else { return Ok(()) };
        let seen = seen.entry(form).or_default();
        *seen += 1;
        let step = (counts.get(&form).copied().unwrap_or(1) / SAMPLES).max(1);
        let slots = forms.forms[form].slots.len();
        if slots == 0 || !seen.is_multiple_of(step) || !connections.contains(connection) {
            return Ok(());
        }
        let to = all.entry(form).or_default();
        to.resize_with(slots, Values::default);
        written.add_values(*statement, values, to)
    })?;
    Ok(all)
}

/// The texts of statements as forms; the latest are kept.
struct Written<'t> {
    trace: &'t Trace,
    known: HashMap<i64, Form>,
}

impl Written<'_> {
    /// Adds the values of one execution.
    fn add_values(&mut self, statement: i64, values: &Value, to: &mut [Values]) -> Result<()> {
        let trace = self.trace;
        let bound: Vec<Json> = match values {
            Value::Text(values) => serde_json::from_str(values).unwrap_or_default(),
            _ => Vec::new(),
        };
        // Where values could not be read one by one, the whole statement is written.
        let expanded = bound.first().and_then(|value| value.get("expanded"));
        let whole;
        let form = match expanded.and_then(Json::as_str) {
            Some(sql) => {
                whole = Form::of(sql);
                &whole
            }
            None => self.of(statement)?,
        };
        let mut before = None;
        for (slot, values) in form.slots.iter().zip(to) {
            let value = match slot {
                Origin::Written(value) => value.clone(),
                Origin::Bound(index) => match bound.get(*index) {
                    Some(value) => trace.in_place(value)?,
                    None => Json::Null,
                },
            };
            values.add(&value);
            before.iter().for_each(|before| values.add_beside(&value, before));
            before = Some(value);
        }
        Ok(())
    }

    /// The most forms that are kept.
    const MOST: usize = 10_000;

    fn of(&mut self, statement: i64) -> Result<&Form> {
        if self.known.len() >= Self::MOST {
            self.known.clear();
        }
        Ok(match self.known.entry(statement) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(entry) => entry.insert(Form::of(&self.trace.statement(statement)?)),
        })
    }
}

fn fits_of(
    (form_number, form): (usize, &Form),
    values: Option<&Vec<Values>>,
    copy: &SnapshotCopy,
) -> Result<Vec<Fit>> {
    let key = form.key();
    let hints = script::hints(&script::significant(&key));
    let inserts = Kind::of(key.trim_start(), false) == Kind::Insert;
    let mut fits: Vec<Fit> = Vec::new();
    let mut begin: Option<Fit> = None;
    for (number, values) in values.into_iter().flatten().enumerate() {
        let hint = hints.get(number).and_then(Option::as_ref);
        let fit = values.fit(inserts);
        let mut beside = fits.last().and_then(|before| values.fit_of_ends(before, &fit));
        // The begin may be a text, from which no end can be calculated.
        if let (None, Some(before), Some(own)) = (&beside, fits.last_mut(), &begin) {
            beside = values.fit_of_ends(own, &fit);
            *before = beside.as_ref().map_or(before.clone(), |_| own.clone());
        }
        begin = Some(fit.clone());
        fits.push(match (&fit, values.repeated(), hint) {
            _ if beside.is_some() => beside.unwrap_or(fit),
            (Fit::Text(..), Some(texts), _) => {
                copy.kept(format!("pragmark_texts_{form_number}_{number}"), texts)?
            }
            (Fit::Constant(_), ..) | (.., None) => fit,
            (.., Some(hint)) => copy.drawn(values, hint).unwrap_or(fit),
        });
    }
    Ok(fits)
}

impl Trace {
    /// Passes the rows of a query as values.
    fn each_row(&self, sql: &str, mut visit: impl FnMut(&[Value]) -> Result<()>) -> Result<()> {
        let mut statement = self.named(self.database().prepare(sql))?;
        let mut row = Vec::new();
        while self.named(statement.step())? == Step::Row {
            row.clear();
            row.extend((0..statement.column_count()).map(|column| statement.column_value(column)));
            visit(&row)?;
        }
        Ok(())
    }

    /// Returns a value with the long one instead of its number.
    fn in_place(&self, value: &Json) -> Result<Json> {
        match value.get("blob").and_then(Json::as_i64) {
            Some(number) => Ok(crate::export::long_value(self.long_value(number)?)),
            None => Ok(value.clone()),
        }
    }
}

/// The most statements of a shape; longer transactions are left out.
const LONGEST: usize = 300;

/// The forms of the statements of a transaction, in order.
pub type Shape = Vec<usize>;

/// Transactions and their statements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// Transactions.
    pub transactions: u64,
    /// Their statements.
    pub statements: u64,
}

impl Amount {
    fn add(&mut self, transactions: u64, statements: u64) {
        self.transactions += transactions;
        self.statements += transactions * statements;
    }
}

/// A transaction that has not ended: nothing of it counts if a script cannot have it.
#[derive(Debug, Default)]
struct Open {
    forms: Shape,
    statements: u64,
    is_left_out: bool,
}

/// Counts transactions by their shape.
#[derive(Debug, Default)]
pub struct Shapes {
    open: HashMap<i64, Open>,
    counts: HashMap<Shape, u64>,
    /// Transactions that are too long, or have a statement that failed or whose text is not known.
    left_out: Amount,
}

impl Shapes {
    /// Takes a statement by its form; `None` if its text is not known.
    pub fn take(&mut self, event: &Event, form: Option<usize>) {
        let open = self.open.entry(event.connection).or_default();
        open.statements += 1;
        let is_usable = event.result.unwrap_or(0) == 0 && event.duration_ns.is_some();
        match form {
            Some(form) if is_usable && open.forms.len() < LONGEST => open.forms.push(form),
            _ => open.is_left_out = true,
        }
        if event.autocommit || event.duration_ns.is_none() {
            let ended = self.open.remove(&event.connection);
            self.end(ended.unwrap_or_default());
        }
    }

    fn end(&mut self, ended: Open) {
        if ended.is_left_out {
            self.left_out.add(1, ended.statements)
        } else {
            *self.counts.entry(ended.forms).or_default() += 1
        }
    }

    /// The most frequent shapes of usable forms with their counts, most frequent first, and what is left out.
    pub fn most_frequent(
        mut self,
        most: usize,
        is_usable: impl Fn(usize) -> bool,
    ) -> (Vec<(Shape, u64)>, Amount) {
        for open in self.open.into_values() {
            self.left_out.add(1, open.statements);
        }
        let (mut all, others): (Vec<_>, Vec<_>) = self
            .counts
            .into_iter()
            .partition(|(shape, _)| shape.iter().all(|form| is_usable(*form)));
        for (shape, count) in others {
            self.left_out.add(count, shape.len() as u64);
        }
        all.sort_by(|a, b| (b.1, &a.0).cmp(&(a.1, &b.0)));
        for (shape, count) in all.iter().skip(most) {
            self.left_out.add(*count, shape.len() as u64);
        }
        all.truncate(most);
        (all, self.left_out)
    }
}

/// Returns the amount of traffic that these shapes represent.
pub fn amount(shapes: &[(Shape, u64)]) -> Amount {
    let mut amount = Amount::default();
    for (shape, count) in shapes {
        amount.add(*count, shape.len() as u64);
    }
    amount
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transactions_are_counted_by_what_they_execute() {
        let mut shapes = Shapes::default();
        let event = |autocommit, result| Event {
            connection: 1,
            duration_ns: Some(1),
            autocommit,
            result: Some(result),
            ..Event::default()
        };
        for _ in 0..3 {
            shapes.take(&event(false, 0), Some(1));
            shapes.take(&event(true, 0), Some(2));
        }
        shapes.take(&event(true, 0), Some(3));
        shapes.take(&event(true, 19), Some(3));
        shapes.take(&event(true, 0), None);
        shapes.take(&event(true, 0), Some(9));
        (0..310).for_each(|_| shapes.take(&event(false, 0), Some(1)));
        let (all, left_out) = shapes.most_frequent(1, |form| form != 9);
        assert_eq!(all, [(vec![1, 2], 3)]);
        // Another shape, a failure, a text that is not known, one that is too long, and a form that is not usable.
        let expected = Amount { transactions: 5, statements: 314 };
        assert_eq!(left_out, expected);
    }
}

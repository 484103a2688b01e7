//! The transactions of a trace, to be crashed: those that write to one database, one after another in the order of
//! their commits.
//!
//! Transactions of several connections are executed on one. Reads are left out, as they leave nothing that a crash could
//! take; settings and attached databases are kept.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};

use crash::{Action, Execution, InitialDatabases, Script};
use script::effect;
use trace::{Bound, Call, Trace, Values};

use crate::workload::prelude::*;
use crate::workload::replay::source::{self, Fate, Recording};

/// The settings that the variant of a crash trial decides, whatever the application sets.
const DECIDED: [&str; 7] = [
    "journal_mode", "synchronous", "locking_mode", "page_size", "fullfsync",
    "checkpoint_fullfsync", "busy_timeout",
];

/// How many more transactions are read than are crashed, as some may change nothing.
const FURTHER: usize = 1_000;

/// The part of a trace that a crash trial uses.
pub(super) struct Traffic {
    /// The statements.
    pub(super) script: Script,
    /// The databases as they were, the main one first.
    pub(super) files: Vec<PathBuf>,
    /// Their names in the application.
    pub(super) names: Vec<String>,
    /// The transactions that write to the main one.
    pub(super) transactions: usize,
    /// Whether the statements belong to all of them.
    pub(super) is_whole: bool,
}

/// Calls of one connection that belong together, with the ticket of the commit if there was one.
#[derive(Default)]
struct Group {
    connection: i64,
    events: Vec<i64>,
    ticket: Option<u64>,
    /// The start of the last call.
    start_us: i64,
    /// Whether something in it is kept although nothing is committed.
    prepares: bool,
    /// Whether it does more than to choose settings that the variant decides.
    works: bool,
}

/// Reads of a trace what is to be crashed: at most so many of its transactions, and a few more in case some of them change
/// nothing. `database` is the name or the end of the path of the database; empty for the one that was written most often.
///
/// # Errors
/// The trace cannot be read, or nothing in it writes to that database.
pub(super) fn read(path: &Path, directory: &Path, database: &str, most: usize) -> Result<Traffic> {
    let trace = source::open(path)?;
    let mut recording = Recording::read(&trace, path, directory)?;
    let groups = groups(&trace, &recording)?;
    let main = main(&recording, &groups, (path, database))?;
    // Moves the main database to the beginning, and gives all of them their names in the sandbox; their files.
    recording.databases.swap(0, main);
    let databases = recording.databases.iter_mut().enumerate();
    let files = databases
        .map(|(number, it)| {
            std::mem::replace(&mut it.path, InitialDatabases::database(number).into())
        })
        .collect();
    let decided = DECIDED.map(|name| (name.to_owned(), "".into()));
    recording.confine(&Settings::from(decided));
    let recorded = recording.databases[0].recorded.clone();
    let own = groups.into_iter().filter(|group| database_of(&recording, group) == Some(&recorded));
    let own: Vec<Group> = own.collect();
    let commits = own.iter().filter(|group| group.ticket.is_some());
    let transactions = commits.filter(|group| group.works).count();
    let most = most.saturating_add(FURTHER);
    let groups = first(ordered(own), most);
    let calls = calls(&trace, &mut recording, &groups)?;
    let actions = actions(&recording, &calls, groups);
    let path = Some(path.to_owned());
    let names = recording.databases.into_iter().map(|database| database.recorded);
    Ok(Traffic {
        transactions,
        is_whole: transactions <= most,
        script: Script { path, actions },
        files,
        names: names.collect(),
    })
}

/// The calls of each connection, divided where its transactions end, without those that only read.
fn groups(trace: &Trace, recording: &Recording) -> Result<Vec<Group>> {
    let mut groups = Vec::new();
    let mut open: BTreeMap<i64, Group> = BTreeMap::new();
    trace.for_each_call(|call| {
        let group = open.entry(call.connection).or_default();
        group.connection = call.connection;
        group.events.push(call.event);
        group.ticket = group.ticket.or(call.ticket);
        group.start_us = call.start_us;
        let word = first_word(recording, &call);
        group.prepares |= ["attach", "pragma"].contains(&word.as_str());
        group.works |= !chooses(recording, &call);
        if call.autocommit {
            let ended = open.remove(&call.connection);
            groups.extend(ended.filter(|group| group.ticket.is_some() || group.prepares));
        }
        Ok::<(), TrialError>(())
    })?;
    Ok(groups)
}

/// The statement of a call; nothing where it is not known.
fn sql<'a>(recording: &'a Recording, call: &'a Call) -> &'a str {
    let text = recording.texts.get(&call.statement);
    match &call.values {
        Values::Expanded(sql) => sql,
        _ => text.map_or("", |text| &text.sql),
    }
}

fn first_word(recording: &Recording, call: &Call) -> String {
    effect::first_word(sql(recording, call))
}

/// Whether a call chooses a setting that the variant decides.
fn chooses(recording: &Recording, call: &Call) -> bool {
    let text = sql(recording, call).to_ascii_lowercase();
    first_word(recording, call) == "pragma" && DECIDED.iter().any(|name| text.contains(name))
}

/// The groups up to that many commits.
fn first(groups: Vec<Group>, commits: usize) -> Vec<Group> {
    let mut left = commits;
    let within = groups.into_iter().take_while(|group| {
        let fits = left > 0;
        left = left.saturating_sub(usize::from(group.ticket.is_some()));
        fits
    });
    within.collect()
}

/// The calls of these groups, by their events.
fn calls(trace: &Trace, recording: &mut Recording, groups: &[Group]) -> Result<HashMap<i64, Call>> {
    let wanted: HashSet<i64> = groups.iter().flat_map(|group| &group.events).copied().collect();
    let mut calls = HashMap::new();
    trace.for_each_call(|mut call| {
        if wanted.contains(&call.event) {
            recording.bind_attached(&mut call);
            calls.insert(call.event, call);
        }
        Ok::<(), TrialError>(())
    })?;
    Ok(calls)
}

fn database_of<'r>(recording: &'r Recording, group: &Group) -> Option<&'r String> {
    let connection = recording.connections.get(&group.connection)?;
    Some(&connection.database)
}

/// The number of the database to crash.
fn main(recording: &Recording, groups: &[Group], (path, wanted): (&Path, &str)) -> Result<usize> {
    let mut commits: HashMap<&String, usize> = HashMap::new();
    for group in groups.iter().filter(|group| group.ticket.is_some()) {
        if let Some(database) = database_of(recording, group) {
            *commits.entry(database).or_default() += 1;
        }
    }
    let databases = recording.databases.iter().enumerate();
    let fitting =
        databases.filter(|(_, it)| wanted.is_empty() || Path::new(&it.recorded).ends_with(wanted));
    let written = fitting.filter_map(|(number, it)| Some((commits.get(&it.recorded)?, number)));
    let most = written.max_by_key(|(commits, number)| (**commits, std::cmp::Reverse(*number)));
    most.map(|(_, number)| number).ok_or_else(|| {
        let which = match wanted {
            "" => "a database".to_owned(),
            name => format!("a database {name}"),
        };
        TrialError::cannot_run(format!(
            "{} has no transaction that writes to {which}, so a crash could lose nothing",
            path.display()
        ))
    })
}

/// Transactions in the order of their commits, and everything else that is kept between them, by the time of its start.
fn ordered(groups: Vec<Group>) -> Vec<Group> {
    let (mut writing, others): (Vec<Group>, Vec<Group>) =
        groups.into_iter().partition(|group| group.ticket.is_some());
    writing.sort_by_key(|group| group.ticket);
    let mut latest = i64::MIN;
    let mut timed = Vec::new();
    for group in writing {
        latest = latest.max(group.start_us);
        timed.push((latest, 1, group));
    }
    timed.extend(others.into_iter().map(|group| (group.start_us, 0, group)));
    // Stable, so that commits stay in their order.
    timed.sort_by_key(|(time, rank, _)| (*time, *rank));
    timed.into_iter().map(|(_, _, group)| group).collect()
}

/// The statements that are executed.
fn actions(recording: &Recording, calls: &HashMap<i64, Call>, groups: Vec<Group>) -> Vec<Action> {
    let mut attached = HashSet::new();
    let mut actions = Vec::new();
    for group in groups {
        for event in &group.events {
            let call = calls.get(event);
            let Some(execution) = call.and_then(|call| execution(recording, call)) else {
                continue;
            };
            let first = effect::first_word(&execution.sql);
            let kept = match (first.as_str(), group.ticket) {
                ("select" | "values" | "explain" | "detach", _) => false,
                // Several connections attach the same file, and all of them are one here.
                ("attach", _) => {
                    attached.insert(format!("{} {:?}", execution.sql, execution.values))
                }
                ("pragma", None) => true,
                (_, ticket) => ticket.is_some(),
            };
            if kept {
                actions.push(Action::Execution(execution));
            }
        }
    }
    actions
}

/// A call as it is executed; `None` if it is left out or cannot be executed.
fn execution(recording: &Recording, call: &Call) -> Option<Execution> {
    if recording.fate(call) != Fate::Replayed {
        return None;
    }
    let text = || recording.texts.get(&call.statement).map(|text| text.sql.clone());
    let (sql, values) = match &call.values {
        Values::Bound(values) => (text()?, values.iter().map(Bound::value).cloned().collect()),
        Values::Expanded(sql) => (sql.clone(), Vec::new()),
        Values::Missing(_) => return None,
    };
    Some(Execution {
        sql,
        values,
        location: format!("event {}", call.event),
        fails: call.result.is_some_and(|code| code != 0),
        changes: call.changes,
    })
}

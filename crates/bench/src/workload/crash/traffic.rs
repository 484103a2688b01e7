//! The transactions of a trace, to be crashed: those that write to one database, one after another in the order of
//! their commits.
//!
//! Transactions of several connections are executed on one. Reads are left out, as they leave nothing that a crash could
//! take; settings and attached databases are kept.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};

use crash::{Act, Beginning, Execution, Script};
use lab::level::Settings;
use script::effect;
use trace::{Bound, Call, Values};

use crate::error::TrialError;
use crate::workload::replay::source::{self, Fate, Recording};

/// The settings that the variant of a crash trial decides, whatever the application sets.
const DECIDED: [&str; 7] = [
    "journal_mode",
    "synchronous",
    "locking_mode",
    "page_size",
    "fullfsync",
    "checkpoint_fullfsync",
    "busy_timeout",
];

/// What a trace has for a crash trial.
pub(super) struct Traffic {
    /// The statements.
    pub(super) script: Script,
    /// The databases as they were, the main one first.
    pub(super) files: Vec<PathBuf>,
    /// What the application calls them.
    pub(super) names: Vec<String>,
    /// The transactions that write to the main one.
    pub(super) transactions: usize,
}

/// Calls of one connection that belong together, with the ticket of the commit if there was one.
#[derive(Default)]
struct Group {
    calls: Vec<usize>,
    ticket: Option<u64>,
}

/// Reads a trace. `database` is the name or the end of the path of the database; empty for the one that was written
/// most often.
///
/// # Errors
/// The trace cannot be read, or nothing in it writes to that database.
pub(super) fn read(path: &Path, directory: &Path, database: &str) -> Result<Traffic, TrialError> {
    let trace = source::open(path)?;
    let mut recording = Recording::read(&trace, path, directory)?;
    let mut calls = Vec::new();
    trace.for_each_call(|call| {
        calls.push(call);
        Ok::<(), TrialError>(())
    })?;
    let groups = groups(&calls);
    let main = main(&recording, &calls, &groups, (path, database))?;
    let files = arrange(&mut recording, main);
    let decided = DECIDED.map(|name| (name.to_owned(), "".into()));
    recording.confine(&Settings::from(decided));
    calls.iter_mut().for_each(|it| recording.bind_attached(it));
    let recorded = recording.databases[0].recorded.clone();
    let groups: Vec<Group> = groups
        .into_iter()
        .filter(|group| database_of(&recording, &calls, group) == Some(&recorded))
        .collect();
    let (acts, transactions) = acts(&recording, &calls, ordered(&calls, groups));
    let path = Some(path.to_owned());
    let names = recording.databases.into_iter().map(|it| it.recorded);
    Ok(Traffic {
        transactions,
        script: Script { path, acts },
        files,
        names: names.collect(),
    })
}

/// The calls of each connection, divided where its transactions end.
fn groups(calls: &[Call]) -> Vec<Group> {
    let mut groups = Vec::new();
    let mut open: BTreeMap<i64, Group> = BTreeMap::new();
    for (index, call) in calls.iter().enumerate() {
        let group = open.entry(call.connection).or_default();
        group.calls.push(index);
        group.ticket = group.ticket.or(call.ticket);
        if call.autocommit {
            groups.extend(open.remove(&call.connection));
        }
    }
    groups
}

fn database_of<'r>(recording: &'r Recording, calls: &[Call], group: &Group) -> Option<&'r String> {
    let call = &calls[*group.calls.first()?];
    Some(&recording.connections.get(&call.connection)?.database)
}

/// The number of the database to crash.
fn main(
    recording: &Recording,
    calls: &[Call],
    groups: &[Group],
    (path, wanted): (&Path, &str),
) -> Result<usize, TrialError> {
    let mut commits: HashMap<&String, usize> = HashMap::new();
    for group in groups.iter().filter(|group| group.ticket.is_some()) {
        if let Some(database) = database_of(recording, calls, group) {
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

/// Moves the main database to the beginning, and gives all of them their names in the sandbox; their files.
fn arrange(recording: &mut Recording, main: usize) -> Vec<PathBuf> {
    recording.databases.swap(0, main);
    let databases = recording.databases.iter_mut().enumerate();
    databases
        .map(|(number, it)| std::mem::replace(&mut it.path, Beginning::database(number).into()))
        .collect()
}

/// Transactions in the order of their commits, and everything else that is kept between them, by the time of its start.
fn ordered(calls: &[Call], groups: Vec<Group>) -> Vec<Group> {
    let start = |group: &Group| group.calls.last().map_or(0, |call| calls[*call].start_us);
    let (mut writing, others): (Vec<Group>, Vec<Group>) =
        groups.into_iter().partition(|group| group.ticket.is_some());
    writing.sort_by_key(|group| group.ticket);
    let mut latest = i64::MIN;
    let mut timed = Vec::new();
    for group in writing {
        latest = latest.max(start(&group));
        timed.push((latest, 1, group));
    }
    timed.extend(others.into_iter().map(|group| (start(&group), 0, group)));
    // Stable, so that commits stay in their order.
    timed.sort_by_key(|(time, rank, _)| (*time, *rank));
    timed.into_iter().map(|(_, _, group)| group).collect()
}

/// The statements that are executed, and the number of transactions that write.
fn acts(recording: &Recording, calls: &[Call], groups: Vec<Group>) -> (Vec<Act>, usize) {
    let mut attached = HashSet::new();
    let (mut acts, mut transactions) = (Vec::new(), 0);
    for group in groups {
        let before = acts.len();
        for number in &group.calls {
            let call = &calls[*number];
            let Some(execution) = execution(recording, call) else {
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
                acts.push(Act::Execution(execution));
            }
        }
        transactions += usize::from(group.ticket.is_some() && acts.len() > before);
    }
    (acts, transactions)
}

/// A call as it is executed; none where it is left out or cannot be executed.
fn execution(recording: &Recording, call: &Call) -> Option<Execution> {
    if recording.fate(call) != Fate::Replayed {
        return None;
    }
    let text = || {
        recording
            .texts
            .get(&call.statement)
            .map(|text| text.sql.clone())
    };
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

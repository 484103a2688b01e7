//! The outcomes of calls in the replay, and their differences from the recording.

use std::collections::HashMap;

use engine::{EngineError, SqliteError, ffi};
use lab::trial::ReadBack;
use serde::{Deserialize, Serialize};
use trace::{Call, Values};

use crate::drive::answers::AnswerDigest;
use crate::drive::messages::StatementCounters;

/// SQLite's result codes that depend on the moment: locks, interruptions, memory, disks, and a schema that changed
/// after the statement was prepared (<https://sqlite.org/rescode.html>).
const OF_THE_MOMENT: [i32; 7] = [5, 6, 7, 9, 10, 13, 17];

/// Returns whether a call failed for a reason that a replay does not repeat, such as another connection's lock.
pub(super) fn failed_by_chance(call: &Call) -> bool {
    let primary = call.result.unwrap_or(0) & 0xff;
    OF_THE_MOMENT.contains(&primary)
}

/// Returns whether a call was still running when recording of its process ended, for example by SIGKILL, and had committed
/// nothing: whatever it wrote was rolled back.
pub(super) fn was_cut_off(call: &Call) -> bool {
    call.duration_ns.is_none() && call.ticket.is_none()
}

/// Returns whether a call executes the text of its statement, as another call may.
pub(super) fn has_parameters(call: &Call) -> bool {
    matches!(call.values, Values::Bound(_))
}

/// The outcome of a call in the replay.
pub(super) struct CallOutcome {
    pub(super) rows: u64,
    pub(super) changes: i64,
    pub(super) error: Option<EngineError>,
}

impl CallOutcome {
    /// Returns whether another connection's lock was in the way.
    pub(super) fn is_busy(&self) -> bool {
        let code = self.error.as_ref().and_then(EngineError::as_sqlite).map(SqliteError::primary);
        matches!(code, Some(ffi::SQLITE_BUSY | ffi::SQLITE_LOCKED))
    }

    fn code(&self) -> i32 {
        let Some(error) = &self.error else { return 0 };
        error.as_sqlite().map_or(1, |error| error.extended())
    }
}

/// A difference between a call and the recording.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Difference {
    /// The event of the call.
    pub(super) event: i64,
    /// Its statement.
    pub(super) statement: i64,
    /// The difference in words.
    pub(super) what: String,
    /// Its cause: the same words for other numbers of rows.
    cause: String,
}

impl Difference {
    /// Returns the difference between a recorded call and its outcome in the replay, if any, and if its changes are compared.
    pub(super) fn between(
        call: &Call,
        done: &CallOutcome,
        compares_changes: bool,
    ) -> Option<Difference> {
        let (cause, what) = match call.result {
            Some(code) if !same_code(code, done.code()) => (None, error_words(code, done)),
            None if done.error.is_some() => (None, error_words(0, done)),
            _ if call.rows != done.rows => (
                Some("returned other rows"),
                format!("returned {} instead of {}", rows(done.rows), call.rows),
            ),
            _ if compares_changes && call.changes != done.changes => (
                Some("changed other rows"),
                format!(
                    "changed {} instead of {}",
                    rows(done.changes.unsigned_abs()),
                    call.changes
                ),
            ),
            _ => return None,
        };
        let cause = cause.map_or_else(|| what.clone(), str::to_owned);
        Some(Difference { event: call.event, statement: call.statement, what, cause })
    }

    /// Returns whether a table is missing, which the application has made otherwise than by a recorded statement.
    pub(super) fn lacks_a_table(&self) -> bool {
        self.what.starts_with("failed (no such table")
    }
}

/// The differences of a replay, by normalised statement and cause.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Differences {
    pub(super) count: u64,
    groups: HashMap<String, DifferenceGroup>,
}

/// Differences of one normalised statement with one cause.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct DifferenceGroup {
    pub(super) count: u64,
    /// The one of the first event.
    pub(super) first: Difference,
}

impl Differences {
    /// Number of groups at most, to bound the memory: further differences are only counted.
    const GROUPS: usize = 1_000;

    /// Adds one of a normalised statement.
    pub(super) fn note(&mut self, form: i64, difference: Difference) {
        self.count += 1;
        let key = format!("{form} {}", difference.cause);
        self.add_group(key, DifferenceGroup { count: 1, first: difference });
    }

    /// Adds the differences of another part of the replay.
    pub(super) fn add(&mut self, other: Differences) {
        self.count += other.count;
        other.groups.into_iter().for_each(|(key, group)| self.add_group(key, group));
    }

    fn add_group(&mut self, key: String, group: DifferenceGroup) {
        if let Some(known) = self.groups.get_mut(&key) {
            known.count += group.count;
            if group.first.event < known.first.event {
                known.first = group.first;
            }
        } else if self.groups.len() < Differences::GROUPS {
            self.groups.insert(key, group);
        }
    }

    /// Returns the groups, in the order of their first events.
    pub(super) fn groups(&self) -> Vec<&DifferenceGroup> {
        let mut groups: Vec<_> = self.groups.values().collect();
        groups.sort_by_key(|group| group.first.event);
        groups
    }
}

/// Returns whether two result codes are the same. A recording may have the primary code only.
fn same_code(one: i32, other: i32) -> bool {
    one == other || (one & 0xff == other & 0xff && (one < 0x100 || other < 0x100))
}

fn error_words(recorded: i32, done: &CallOutcome) -> String {
    let was = match recorded {
        0 => "succeeded in the recording".to_owned(),
        code => format!("failed with SQLite's result code {code} in the recording"),
    };
    match &done.error {
        None => format!("succeeded, but {was}"),
        Some(error) => format!("failed ({}), but {was}", error.message()),
    }
}

/// Returns a number of rows in words.
pub(super) fn rows(count: u64) -> String {
    match count {
        1 => "1 row".to_owned(),
        count => format!("{count} rows"),
    }
}

/// The outcomes of the calls of one or several threads.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Summary {
    pub(super) differences: Differences,
    /// Number of calls that were compared.
    pub(super) compared: u64,
    /// Number of busy errors.
    pub(super) busy: u64,
    /// Counters, by normalised statement.
    pub(super) counters: HashMap<i64, StatementCounters>,
    /// Digests of the answers, by normalised statement: in a counting trial only, because they take time.
    pub(super) answers: HashMap<i64, AnswerDigest>,
    /// Settings in force on the connections.
    pub(super) connections: Vec<ReadBack>,
}

impl Summary {
    /// Adds the summary of other threads.
    pub(super) fn add(&mut self, other: Summary) {
        self.differences.add(other.differences);
        self.compared += other.compared;
        self.busy += other.busy;
        for (form, counters) in other.counters {
            self.counters.entry(form).or_default().add(counters);
        }
        for (form, digest) in other.answers {
            self.answers.entry(form).and_modify(|sum| sum.add(digest)).or_insert(digest);
        }
        self.connections.extend(other.connections);
    }

    /// Returns the share of compared statements that did the same as in the recording, in percent.
    pub(super) fn agreement(&self) -> f64 {
        match self.compared {
            0 => 100.0,
            compared => 100.0 * (1.0 - self.differences.count as f64 / compared as f64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(rows: u64, changes: i64, result: Option<i32>) -> Call {
        Call {
            event: 7,
            connection: 1,
            statement: 1,
            start_us: 0,
            duration_ns: Some(1),
            rows,
            changes,
            result,
            ticket: None,
            prepared: true,
            early: false,
            autocommit: true,
            transaction: 0,
            values: Values::Bound(Vec::new()),
        }
    }

    fn what(call: &Call, rows: u64, changes: i64) -> Option<String> {
        let done = CallOutcome { rows, changes, error: None };
        Difference::between(call, &done, true).map(|it| it.what)
    }

    #[test]
    fn rows_changes_and_errors_are_compared() {
        assert_eq!(what(&call(2, 0, Some(0)), 2, 0), None);
        assert_eq!(what(&call(2, 0, Some(0)), 1, 0).unwrap(), "returned 1 row instead of 2");
        assert_eq!(what(&call(0, 3, None), 0, 4).unwrap(), "changed 4 rows instead of 3");
        let done = CallOutcome { rows: 0, changes: 4, error: None };
        assert!(Difference::between(&call(0, 3, None), &done, false).is_none());
        assert_eq!(
            what(&call(0, 0, Some(1555)), 0, 1).unwrap(),
            "succeeded, but failed with SQLite's result code 1555 in the recording"
        );
    }

    #[test]
    fn differences_are_grouped_by_statement_and_cause() {
        let difference = |event, rows| {
            let done = CallOutcome { rows, changes: 0, error: None };
            Difference::between(&Call { event, ..call(2, 0, Some(0)) }, &done, true).unwrap()
        };
        let (mut one, mut other) = (Differences::default(), Differences::default());
        one.note(1, difference(9, 3));
        one.note(2, difference(5, 0));
        other.note(1, difference(7, 4));
        one.add(other);
        let found: Vec<_> = one.groups().iter().map(|it| (it.count, it.first.event)).collect();
        assert_eq!((one.count, found), (3, vec![(1, 5), (2, 7)]));
    }

    #[test]
    fn an_extended_code_is_compared_with_a_primary_one_and_with_its_own_kind() {
        assert!(same_code(19, 2067) && same_code(2067, 2067));
        assert!(!same_code(1555, 2067) && !same_code(0, 1));
    }

    #[test]
    fn what_never_ended_counts_only_if_it_committed() {
        let mut call = call(0, 0, None);
        call.duration_ns = Some(1);
        assert!(!was_cut_off(&call));
        call.duration_ns = None;
        assert!(was_cut_off(&call));
        call.ticket = Some(3);
        assert!(!was_cut_off(&call));
    }

    #[test]
    fn what_a_lock_refused_is_not_repeated() {
        assert!(failed_by_chance(&call(0, 0, Some(517))));
        assert!(!failed_by_chance(&call(0, 0, Some(2067))));
    }
}

//! Lanes: connections that were never open at the same time, one after the other.

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};

use super::commits::is_over;
use crate::error::TrialError;
use crate::workload::replay::tape::{Calls, Mark, Span, Take};

/// The calls of connections.
pub(super) type Spans = BTreeMap<i64, Span>;

/// Connections that a thread opens one after the other.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(in crate::workload::replay) struct Lane {
    /// The number of the process that executes it, from 0.
    pub(in crate::workload::replay) process: usize,
    /// The connections with the number of their calls.
    connections: Vec<(i64, u64)>,
}

impl Lane {
    /// The connections.
    pub(super) fn connections(&self) -> impl Iterator<Item = i64> {
        self.connections.iter().map(|(connection, _)| *connection)
    }

    /// The calls of the lane.
    pub(super) fn calls<'l>(&'l self, take: &'l Take) -> LaneCalls<'l> {
        LaneCalls { take, further: &self.connections, calls: None }
    }
}

/// The lanes of a recording, of which each process has its own; by connection: its recorded process. Processes that were
/// never used at the same time are one.
pub(super) fn lanes(spans: &Spans, processes: &HashMap<i64, i64>) -> Vec<Lane> {
    let of = |connection: &i64| processes.get(connection).copied().unwrap_or(0);
    let mut used = Spans::new();
    for (connection, span) in spans {
        let process = used.entry(of(connection)).or_insert(Span::NONE);
        *process = process.and(span);
    }
    let processes: HashMap<i64, usize> = in_sequences(&used, |_| 0).into_iter().collect();
    let process = |connection: &i64| processes[&of(connection)];
    let mut lanes: Vec<Lane> = Vec::new();
    for (connection, lane) in in_sequences(spans, process) {
        if lane == lanes.len() {
            lanes.push(Lane { process: process(&connection), connections: Vec::new() });
        }
        let calls = spans[&connection].calls;
        lanes[lane].connections.push((connection, calls));
    }
    lanes
}

/// Gives each span, in the order of their beginnings, to the first sequence of the same group that was over by then; the
/// keys with the numbers of their sequences.
fn in_sequences(spans: &Spans, group: impl Fn(&i64) -> usize) -> Vec<(i64, usize)> {
    let mut ordered: Vec<(&i64, &Span)> = spans.iter().collect();
    ordered.sort_by_key(|(_, span)| span.first);
    let mut sequences: Vec<(usize, i64)> = Vec::new();
    let mut all = Vec::with_capacity(ordered.len());
    for (key, span) in ordered {
        let group = group(key);
        let is_free = |(of, ended): &(usize, i64)| *of == group && is_over(*ended, span.first);
        let free = sequences.iter().position(is_free);
        let number = free.unwrap_or(sequences.len());
        if number == sequences.len() {
            sequences.push((group, span.last));
        }
        sequences[number].1 = span.last;
        all.push((*key, number));
    }
    all
}

/// The calls of a lane, one after the other.
#[derive(Debug)]
pub(in crate::workload::replay) struct LaneCalls<'l> {
    take: &'l Take,
    further: &'l [(i64, u64)],
    /// The connection whose calls are read, and how many are left.
    calls: Option<(i64, Calls<'l>, u64)>,
}

/// A call in its lane.
#[derive(Debug)]
pub(super) struct InLane<C> {
    pub(super) connection: i64,
    pub(super) call: C,
    /// Whether it is the last one of its connection.
    pub(super) closes: bool,
}

impl<'l> LaneCalls<'l> {
    /// The next call without its values; none after the last one.
    pub(super) fn mark(&mut self) -> Result<Option<InLane<Mark>>, TrialError> {
        self.next(Calls::mark)
    }

    /// The next call with its values; none after the last one.
    pub(super) fn call(&mut self) -> Result<Option<InLane<trace::Call>>, TrialError> {
        self.next(Calls::call)
    }

    fn next<C>(
        &mut self,
        read: impl Fn(&mut Calls<'l>) -> Result<Option<C>, TrialError>,
    ) -> Result<Option<InLane<C>>, TrialError> {
        if self.calls.as_ref().is_none_or(|(.., left)| *left == 0) {
            let Some(((connection, count), further)) = self.further.split_first() else {
                return Ok(None);
            };
            self.further = further;
            self.calls = Some((*connection, self.take.calls(*connection), *count));
        }
        let Some((connection, calls, left)) = &mut self.calls else {
            return Ok(None);
        };
        *left -= 1;
        Ok(read(calls)?.map(|call| InLane { connection: *connection, call, closes: *left == 0 }))
    }
}

//! The assignment of connections to threads: connections that were never open at the same time share a thread.

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};

use super::ROUNDED;
use crate::error::Result;
use crate::workload::replay::calls::{CallHeader, CallSpool, Calls, Span};

/// The spans of the calls of connections.
pub(super) type Spans = BTreeMap<i64, Span>;

/// The connections that a thread opens one after the other.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct ThreadPlan {
    /// The number of the process that executes it, from 0.
    pub(crate) process: usize,
    /// The connections with the number of their calls.
    connections: Vec<(i64, u64)>,
}

impl ThreadPlan {
    /// Returns the connections.
    pub(super) fn connections(&self) -> impl Iterator<Item = i64> {
        self.connections.iter().map(|(connection, _)| *connection)
    }

    /// Returns the calls of the thread.
    pub(super) fn calls<'l>(&'l self, call_spool: &'l CallSpool) -> ThreadCalls<'l> {
        ThreadCalls { call_spool, further: &self.connections, calls: None }
    }
}

/// Assigns connections to threads. `processes` holds the recorded process of each connection; each process has threads of its own.
/// Processes that were never used at the same time become one.
pub(super) fn assign(spans: &Spans, processes: &HashMap<i64, i64>) -> Vec<ThreadPlan> {
    let of = |connection: &i64| processes.get(connection).copied().unwrap_or(0);
    let mut used = Spans::new();
    for (connection, span) in spans {
        let process = used.entry(of(connection)).or_insert(Span::NONE);
        *process = process.and(span);
    }
    let processes: HashMap<i64, usize> = in_sequences(&used, |_| 0).into_iter().collect();
    let process = |connection: &i64| processes[&of(connection)];
    let mut threads: Vec<ThreadPlan> = Vec::new();
    for (connection, thread) in in_sequences(spans, process) {
        if thread == threads.len() {
            threads.push(ThreadPlan { process: process(&connection), connections: Vec::new() });
        }
        threads[thread].connections.push((connection, spans[&connection].calls));
    }
    threads
}

/// Gives each span, in the order of their beginnings, to the first sequence of the same group that was over by then. Returns
/// the keys with the numbers of their sequences.
fn in_sequences(spans: &Spans, group: impl Fn(&i64) -> usize) -> Vec<(i64, usize)> {
    let mut ordered: Vec<(&i64, &Span)> = spans.iter().collect();
    ordered.sort_by_key(|(_, span)| span.first);
    let mut sequences: Vec<(usize, i64)> = Vec::new();
    let mut all = Vec::with_capacity(ordered.len());
    for (key, span) in ordered {
        let group = group(key);
        let is_free = |(of, ended): &(usize, i64)| *of == group && is_over(*ended, span.first);
        let number = sequences.iter().position(is_free).unwrap_or(sequences.len());
        if number == sequences.len() {
            sequences.push((group, span.last));
        }
        sequences[number].1 = span.last;
        all.push((*key, number));
    }
    all
}

/// The calls of a thread, one after the other.
#[derive(Debug)]
pub(crate) struct ThreadCalls<'l> {
    call_spool: &'l CallSpool,
    further: &'l [(i64, u64)],
    /// The connection whose calls are read, and the number of calls left.
    calls: Option<(i64, Calls<'l>, u64)>,
}

/// A call of a thread.
#[derive(Debug)]
pub(super) struct ThreadCall<C> {
    pub(super) connection: i64,
    pub(super) call: C,
    /// Whether it is the last one of its connection.
    pub(super) closes: bool,
}

impl<'l> ThreadCalls<'l> {
    /// Reads the next call without its values; `None` after the last one.
    pub(super) fn header(&mut self) -> Result<Option<ThreadCall<CallHeader>>> {
        self.next(Calls::header)
    }

    /// Reads the next call with its values; `None` after the last one.
    pub(super) fn call(&mut self) -> Result<Option<ThreadCall<trace::Call>>> {
        self.next(Calls::call)
    }

    fn next<C>(
        &mut self,
        read: impl Fn(&mut Calls<'l>) -> Result<Option<C>>,
    ) -> Result<Option<ThreadCall<C>>> {
        if self.calls.as_ref().is_none_or(|(.., left)| *left == 0) {
            let Some(((connection, count), further)) = self.further.split_first() else {
                return Ok(None);
            };
            self.further = further;
            self.calls = Some((*connection, self.call_spool.calls(*connection), *count));
        }
        let Some((connection, calls, left)) = &mut self.calls else { return Ok(None) };
        *left -= 1;
        Ok(read(calls)?.map(|call| ThreadCall {
            connection: *connection,
            call,
            closes: *left == 0,
        }))
    }
}

/// Returns whether something that ended at a moment was certainly over at another.
pub(super) fn is_over(end: i64, moment: i64) -> bool {
    end.saturating_add(ROUNDED) <= moment
}

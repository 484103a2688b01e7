//! The order of a replay, from the times and the commits of the recording.
//!
//! Connections that were never open at the same time share a **thread**. Each transaction that writes has a **turn**.
//! Committed transactions take turns in the order of their tickets; a transaction that was rolled back has its turn between the
//! commits around it. A turn begins when the previous turn has ended, and when other threads have executed the reading
//! statements that had ended before it began. A statement that holds no lock begins when all turns have ended whose commits had
//! ended before it began. Statements within a transaction do not wait, because they may hold a lock. Every event that is waited
//! for came earlier in the recording, so a replay cannot stand still.
//!
//! Calls are read from their spool, connection by connection, and the plan is written to spools, so that memory grows with the
//! commits of a recording and not with its statements.
//!
//! The assignment of connections to threads: connections that were never open at the same time share a thread.

mod steps;
mod turns;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap, HashSet};
use std::path::Path;

use serde::{Deserialize, Serialize};
use trace::Call;

use self::turns::{Turn, TurnOrder};
use super::spool::{Spool, SpoolWriter};
use crate::error::Result;
use crate::workload::replay::calls::{CallSpool, Calls, Span};

pub(super) use self::steps::{Step, Steps};

/// Nanoseconds by which a start may be later than recorded, because it is recorded in microseconds.
const ROUNDED: i64 = 1_000;

/// The plan of a replay.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Plan {
    /// The calls of all threads.
    calls: CallSpool,
    pub(super) threads: Vec<ThreadPlan>,
    /// The steps of each thread.
    steps: Spool,
    /// For each turn of a thread: the number of steps that other threads must have executed before it, unless an earlier turn
    /// requires as many.
    before: Spool,
    /// Number of calls at the end of the recording that are not replayed, because a commit before them is missing; another
    /// process gets 0.
    #[serde(skip)]
    pub(super) cut: u64,
}

impl Plan {
    /// Returns the part that another process needs to execute these threads.
    ///
    /// # Errors
    /// A spool cannot be opened once more.
    pub(super) fn part(&self, threads: &[usize]) -> Result<Plan> {
        let streams = || threads.iter().map(|thread| *thread as i64);
        let connections = threads.iter().flat_map(|thread| &self.threads[*thread].connections);
        Ok(Plan {
            calls: self.calls.part(connections.map(|(connection, _)| *connection))?,
            threads: self.threads.clone(),
            steps: self.steps.part(streams())?,
            before: self.before.part(streams())?,
            cut: 0,
        })
    }

    /// Returns the steps of a thread with their calls.
    pub(super) fn steps(&self, thread: usize) -> Steps<'_> {
        Steps {
            calls: self.threads[thread].calls(&self.calls),
            steps: self.steps.stream(thread as i64),
            before: self.before.stream(thread as i64),
        }
    }
}

/// The commits of a recording.
#[derive(Clone, Debug, Default)]
pub(super) struct Commits {
    /// Number of commits that were begun.
    pub(super) begun: u64,
    /// Commits that no call has as its ticket, because the statement made several.
    pub(super) further: Vec<u64>,
    /// The connections to databases with a rollback journal.
    pub(super) waiting: HashSet<i64>,
}

/// Plans the replay of calls, with threads of their own for the connections of each process. The spools of the plan are written
/// to this directory.
///
/// # Errors
/// A spool cannot be read or written; the times of the recording contradict the order of its commits.
pub(super) fn plan(
    calls: CallSpool,
    commits: &Commits,
    processes: &HashMap<i64, i64>,
    directory: &Path,
) -> Result<Plan> {
    let (ends, kept) = turns::cut(&calls, commits)?;
    let spans = kept.as_ref().unwrap_or(&calls.spans);
    let threads = assign(spans, processes);
    let mut turns = Vec::with_capacity(threads.len());
    for thread in &threads {
        turns.push(turns::of_thread(thread, &calls, &commits.waiting)?);
    }
    let turns = TurnOrder::number(turns, &ends)?;
    let mut steps = SpoolWriter::create(&directory.join("replay-steps.tape"))?;
    for (number, thread) in threads.iter().enumerate() {
        steps::write((number, thread, &calls), &turns, (&ends, commits), &mut steps)?;
    }
    let before = before(&threads, &calls, &turns, directory)?;
    let all = |spans: &Spans| spans.values().map(|span| span.calls).sum::<u64>();
    let cut = all(&calls.spans) - all(spans);
    Ok(Plan { cut, steps: steps.finish()?, before, threads, calls })
}

/// Writes the reading steps that must have been executed before each turn, because they did not see it.
fn before(
    threads: &[ThreadPlan],
    call_spool: &CallSpool,
    turns: &TurnOrder,
    directory: &Path,
) -> Result<Spool> {
    let reads = threads.iter().zip(&turns.of_threads);
    let mut reads: Vec<Reads<'_>> =
        reads.map(|(thread, turns)| Reads::of(thread.calls(call_spool), turns)).collect();
    let mut required = vec![0; threads.len()];
    let mut writer = SpoolWriter::create(&directory.join("replay-before.tape"))?;
    for (own, moment) in turns.moments() {
        let mut record: Vec<(usize, u64)> = Vec::new();
        for (thread, reads) in reads.iter_mut().enumerate().filter(|(thread, _)| *thread != own) {
            let steps = reads.until(moment)?;
            if steps > required[thread] {
                required[thread] = steps;
                record.push((thread, steps));
            }
        }
        writer.append(own as i64, &record)?;
    }
    writer.finish()
}

/// The reading steps of a thread, in the order of their ends.
struct Reads<'l> {
    calls: ThreadCalls<'l>,
    turns: &'l [Turn],
    /// Number of steps that were read.
    steps: u64,
    /// The read that starts next: its start, its end, and the number of steps up to it.
    next: Option<(i64, i64, u64)>,
    has_ended: bool,
    /// Reads that had started and were not over: their ends, and the number of steps up to them.
    open: BinaryHeap<Reverse<(i64, u64)>>,
    most: u64,
}

impl<'l> Reads<'l> {
    fn of(calls: ThreadCalls<'l>, turns: &'l [Turn]) -> Reads<'l> {
        Reads {
            calls,
            turns,
            steps: 0,
            next: None,
            has_ended: false,
            open: BinaryHeap::new(),
            most: 0,
        }
    }

    /// Returns the number of steps up to the last read that was over at a moment. Earlier moments change nothing.
    ///
    /// # Errors
    /// The spool cannot be read.
    fn until(&mut self, moment: i64) -> Result<u64> {
        loop {
            if self.next.is_none() && !self.has_ended {
                self.next = self.read()?;
                self.has_ended = self.next.is_none();
            }
            match self.next.filter(|(start, ..)| *start <= moment) {
                Some((_, end, steps)) => self.open.push(Reverse((end, steps))),
                None => break,
            }
            self.next = None;
        }
        while let Some(Reverse((end, steps))) = self.open.peek().copied()
            && is_over(end, moment)
        {
            self.most = self.most.max(steps);
            self.open.pop();
        }
        Ok(self.most)
    }

    /// Returns the next step that belongs to no turn.
    fn read(&mut self) -> Result<Option<(i64, i64, u64)>> {
        while let Some(read) = self.calls.header()? {
            let step = self.steps;
            self.steps += 1;
            while let Some((turn, later)) = self.turns.split_first()
                && turn.last < step
            {
                self.turns = later;
            }
            let turn = self.turns.first();
            if turn.is_none_or(|turn| step < turn.first) {
                return Ok(Some((read.call.start_ns(), read.call.end_ns(), self.steps)));
            }
        }
        Ok(None)
    }
}

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
pub(crate) struct ThreadCalls<'l> {
    call_spool: &'l CallSpool,
    further: &'l [(i64, u64)],
    /// The connection whose calls are read, and the number of calls left.
    calls: Option<(Calls<'l>, u64)>,
}

/// A call of a thread.
pub(super) struct ThreadCall {
    pub(super) call: Call,
    /// Whether it is the last one of its connection.
    pub(super) closes: bool,
}

impl<'l> ThreadCalls<'l> {
    /// Reads the next call without its values; `None` after the last one.
    pub(super) fn header(&mut self) -> Result<Option<ThreadCall>> {
        self.next(Calls::header)
    }

    /// Returns the next call with its values.
    pub(super) fn call(&mut self) -> Result<Option<ThreadCall>> {
        self.next(Calls::call)
    }

    fn next(
        &mut self,
        read: fn(&mut Calls<'l>) -> Result<Option<Call>>,
    ) -> Result<Option<ThreadCall>> {
        if self.calls.as_ref().is_none_or(|(_, left)| *left == 0) {
            let Some(((connection, count), further)) = self.further.split_first() else {
                return Ok(None);
            };
            self.further = further;
            self.calls = Some((self.call_spool.calls(*connection), *count));
        }
        let Some((calls, left)) = &mut self.calls else { return Ok(None) };
        *left -= 1;
        Ok(read(calls)?.map(|call| ThreadCall { call, closes: *left == 0 }))
    }
}

/// Returns whether something that ended at a moment was certainly over at another.
pub(super) fn is_over(end: i64, moment: i64) -> bool {
    end.saturating_add(ROUNDED) <= moment
}

#[cfg(test)]
mod tests;

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

mod assignment;
mod steps;
mod turns;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet};
use std::path::Path;

use serde::{Deserialize, Serialize};

pub(super) use self::assignment::ThreadPlan;
use self::assignment::{Spans, ThreadCalls, assign, is_over};
pub(super) use self::steps::{Step, Steps};
use self::turns::{Turn, TurnOrder};
use super::calls::CallSpool;
use super::spool::{Spool, SpoolIndex, SpoolWriter};
use crate::error::Result;

/// Nanoseconds by which a start may be later than recorded, because it is recorded in microseconds.
const ROUNDED: i64 = 1_000;

/// The plan of a replay.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) threads: Vec<ThreadPlan>,
    /// The steps of each thread.
    steps: Spool,
    /// For each turn of a thread: the number of steps that other threads must have executed before it, unless an earlier turn
    /// requires as many.
    before: Spool,
    /// Number of calls at the end of the recording that are not replayed, because a commit before them is missing.
    pub(super) cut: u64,
}

impl Plan {
    /// Returns the steps of a thread with their calls.
    pub(super) fn steps<'p>(&'p self, thread: usize, call_spool: &'p CallSpool) -> Steps<'p> {
        let streams = (self.steps.stream(thread as i64), self.before.stream(thread as i64));
        Steps::of(self.threads[thread].calls(call_spool), streams)
    }

    /// Returns some threads for another process, with the connections whose calls it needs.
    pub(super) fn index(&self, threads: &[usize]) -> (PlanIndex, Vec<i64>) {
        let streams = || threads.iter().map(|thread| *thread as i64);
        let connections = threads.iter().flat_map(|thread| self.threads[*thread].connections());
        let index = PlanIndex {
            threads: self.threads.clone(),
            steps: self.steps.index(streams()),
            before: self.before.index(streams()),
        };
        (index, connections.collect())
    }

    /// Returns the threads of another process's plan.
    ///
    /// # Errors
    /// A spool cannot be read.
    pub(super) fn open(index: PlanIndex) -> Result<Plan> {
        Ok(Plan {
            threads: index.threads,
            steps: Spool::open(index.steps)?,
            before: Spool::open(index.before)?,
            cut: 0,
        })
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

/// The part of a plan that another process needs to execute some threads.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct PlanIndex {
    threads: Vec<ThreadPlan>,
    steps: SpoolIndex,
    before: SpoolIndex,
}

/// Plans the replay of calls, with threads of their own for the connections of each process. The spools of the plan are written
/// to this directory.
///
/// # Errors
/// A spool cannot be read or written; the times of the recording contradict the order of its commits.
pub(super) fn plan(
    call_spool: &CallSpool,
    commits: &Commits,
    processes: &HashMap<i64, i64>,
    directory: &Path,
) -> Result<Plan> {
    let (ends, kept) = turns::cut(call_spool, commits)?;
    let spans = kept.as_ref().unwrap_or(&call_spool.spans);
    let threads = assign(spans, processes);
    let mut turns = Vec::with_capacity(threads.len());
    for thread in &threads {
        turns.push(turns::of_thread(thread, call_spool, &commits.waiting)?);
    }
    let turns = TurnOrder::number(turns, &ends)?;
    let mut steps = SpoolWriter::create(&directory.join("replay-steps.tape"))?;
    for (number, thread) in threads.iter().enumerate() {
        steps::write((number, thread, call_spool), &turns, (&ends, commits), &mut steps)?;
    }
    let before = before(&threads, call_spool, &turns, directory)?;
    let all = |spans: &Spans| spans.values().map(|span| span.calls).sum::<u64>();
    Ok(Plan { cut: all(&call_spool.spans) - all(spans), steps: steps.finish()?, before, threads })
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
                return Ok(Some((read.call.start, read.call.end, self.steps)));
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests;

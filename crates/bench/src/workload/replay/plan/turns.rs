//! The commits of a recording, and the turns of transactions that write.

use std::collections::HashSet;

use trace::Call;

use super::{Commits, Spans, ThreadCall, ThreadPlan};
use crate::error::{Result, TrialError};
use crate::workload::replay::calls::{CallSpool, Calls, Span};

/// Tracks where the transactions of a connection begin.
#[derive(Debug, Default)]
pub(super) struct Tracker {
    open: bool,
}

impl Tracker {
    /// Returns whether a call begins a transaction or is a statement outside of one.
    pub(super) fn begins(&mut self, call: &Call) -> bool {
        let begins = !self.open;
        // The effect of a statement without an end is not known.
        self.open = if call.duration_ns.is_some() { !call.autocommit } else { self.open };
        begins
    }
}

/// The ends of commits.
#[derive(Debug, Default)]
pub(super) struct CommitEnds {
    /// By ticket less one; the greatest number for tickets that no call has.
    of_tickets: Vec<i64>,
    /// The same for a ticket and all later ones: it grows with the ticket.
    at_least: Vec<i64>,
}

impl CommitEnds {
    /// Returns the number of commits.
    pub(super) fn count(&self) -> u64 {
        self.of_tickets.len() as u64
    }

    /// Returns the number of commits that had ended at a moment.
    pub(super) fn until(&self, moment: i64) -> u64 {
        self.at_least.partition_point(|end| *end <= moment) as u64
    }

    /// Leaves out all commits after the first `count`.
    fn truncated(mut self, count: u64) -> CommitEnds {
        self.of_tickets.resize(count as usize, i64::MAX);
        let mut least = i64::MAX;
        self.at_least = self.of_tickets.clone();
        for end in self.at_least.iter_mut().rev() {
            least = least.min(*end);
            *end = least;
        }
        self
    }
}

/// Returns the ends of the commits and, if a commit is missing, the spans of the calls before it.
///
/// # Errors
/// The spool cannot be read.
pub(super) fn cut(
    call_spool: &CallSpool,
    commits: &Commits,
) -> Result<(CommitEnds, Option<Spans>)> {
    let (ends, last) = read(call_spool, commits)?;
    let known = |ticket: &u64| {
        let end = ends.of_tickets.get(*ticket as usize - 1);
        end.is_some_and(|end| *end != i64::MAX) || commits.further.binary_search(ticket).is_ok()
    };
    let whole = (1..).take_while(known).count() as u64;
    if whole == commits.begun.max(last) {
        return Ok((ends.truncated(whole), None));
    }
    let ends = ends.truncated(whole);
    let before = ends.of_tickets.iter().rev().find(|end| **end != i64::MAX);
    let until = before.copied().unwrap_or(i64::MIN);
    let mut spans = Spans::new();
    for connection in call_spool.spans.keys() {
        let span = kept(call_spool.calls(*connection), until, whole)?;
        spans.extend((span.calls > 0).then_some((*connection, span)));
    }
    Ok((ends, Some(spans)))
}

/// Returns the ends of all commits of calls, and the last ticket. A ticket that is greater than the number of calls comes after a
/// missing one.
fn read(call_spool: &CallSpool, commits: &Commits) -> Result<(CommitEnds, u64)> {
    let calls: u64 = call_spool.spans.values().map(|span| span.calls).sum();
    let most = calls + commits.further.len() as u64;
    let mut last = commits.further.last().copied().unwrap_or(0);
    let mut ends = CommitEnds::default();
    for connection in call_spool.spans.keys() {
        let mut calls = call_spool.calls(*connection);
        while let Some(header) = calls.header()? {
            let Some(ticket) = header.ticket.filter(|ticket| *ticket > 0) else { continue };
            last = last.max(ticket);
            if ticket <= most {
                ends.of_tickets.resize(ends.of_tickets.len().max(ticket as usize), i64::MAX);
                ends.of_tickets[ticket as usize - 1] = header.end_ns();
            }
        }
    }
    Ok((ends, last))
}

/// Returns the calls of a connection up to the first transaction that began after a moment or has a later commit.
fn kept(mut calls: Calls<'_>, until: i64, whole: u64) -> Result<Span> {
    let (mut span, mut transaction) = (Span::NONE, Span::NONE);
    let mut tracker = Tracker::default();
    while let Some(header) = calls.header()? {
        if tracker.begins(&header) {
            span = span.and(&std::mem::replace(&mut transaction, Span::NONE));
        }
        if header.start_ns() > until || header.ticket.is_some_and(|ticket| ticket > whole) {
            return Ok(span);
        }
        transaction.add(&header);
    }
    Ok(span.and(&transaction))
}

/// A turn of a thread.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turn {
    /// The number of its transaction in the thread.
    pub(super) transaction: u64,
    /// The step with which it begins.
    pub(super) first: u64,
    /// The step with which it ends.
    pub(super) last: u64,
    /// The moment at which it began.
    start: i64,
    /// End of its commit, if its connection waits for readers; else the least number.
    commit: i64,
    /// Its ticket; 0 if it was rolled back after it had written.
    pub(super) ticket: u64,
    /// Its number among all turns, from 1. Before it is known: the start of the last statement of a transaction that was
    /// rolled back.
    number: i64,
}

impl Turn {
    pub(super) fn number(&self) -> u64 {
        self.number as u64
    }
}

/// A transaction while it is read.
#[derive(Debug, Default)]
struct Open {
    number: u64,
    first: u64,
    start: i64,
    tickets: u64,
    has_written: bool,
    last: (u64, i64),
}

impl Open {
    /// Returns the turn of a transaction that was rolled back after it had written.
    fn undone(&self) -> Option<Turn> {
        (self.has_written && self.tickets == 0).then_some(Turn {
            transaction: self.number,
            first: self.first,
            last: self.last.0,
            start: self.start,
            commit: i64::MIN,
            ticket: 0,
            number: self.last.1,
        })
    }

    /// Returns the turn that ends with a commit: the first one of a transaction begins with it.
    fn committed(&self, step: u64, call: &Call, ticket: u64, waits: bool) -> Turn {
        let is_first = self.tickets == 0;
        Turn {
            transaction: self.number,
            first: if is_first { self.first } else { step },
            last: step,
            start: if is_first { self.start } else { call.start_ns() },
            commit: if waits { call.end_ns() } else { i64::MIN },
            ticket,
            number: 0,
        }
    }
}

/// Returns the turns of a thread in their order.
///
/// # Errors
/// The spool cannot be read.
pub(super) fn of_thread(
    thread: &ThreadPlan,
    call_spool: &CallSpool,
    waiting: &HashSet<i64>,
) -> Result<Vec<Turn>> {
    let (mut turns, mut tracker, mut open) = (Vec::new(), Tracker::default(), Open::default());
    let mut calls = thread.calls(call_spool);
    let mut step = 0;
    while let Some(ThreadCall { call, closes }) = calls.header()? {
        if tracker.begins(&call) {
            turns.extend(open.undone());
            open = Open {
                number: open.number + 1,
                first: step,
                start: call.start_ns(),
                ..Open::default()
            };
        }
        if let Some(ticket) = call.ticket.filter(|ticket| *ticket > 0) {
            turns.push(open.committed(step, &call, ticket, waiting.contains(&call.connection)));
            open.tickets += 1;
        }
        open.has_written |= tracker.open && call.transaction == 2;
        open.last = (step, call.start_ns());
        if closes {
            tracker = Tracker::default();
        }
        step += 1;
    }
    turns.extend(open.undone());
    Ok(turns)
}

/// The turns of all threads.
pub(super) struct TurnOrder {
    pub(super) of_threads: Vec<Vec<Turn>>,
    /// By ticket: the number of the last turn that was committed with it or before; 0 for ticket 0.
    pub(super) of_tickets: Vec<u64>,
    count: usize,
}

impl TurnOrder {
    /// Gives the turns of threads their numbers.
    ///
    /// # Errors
    /// The order of the commits contradicts the times.
    pub(super) fn number(of_threads: Vec<Vec<Turn>>, ends: &CommitEnds) -> Result<TurnOrder> {
        let mut turns = TurnOrder {
            of_tickets: vec![0; ends.count() as usize + 1],
            count: of_threads.iter().map(Vec::len).sum(),
            of_threads,
        };
        turns.count_up(&turns.undone(ends));
        for turn in turns.of_threads.iter_mut().flatten() {
            if turn.ticket > 0 {
                turn.number = turns.of_tickets[turn.ticket as usize] as i64;
            }
        }
        if !turns.of_threads.iter().all(|turns| turns.is_sorted_by_key(Turn::number)) {
            return Err(TrialError::cannot_run(
                "the times of the recording contradict the order of its commits",
            ));
        }
        Ok(turns)
    }

    /// Returns the turns that were rolled back: the number of commits before them, their beginnings, and their places.
    fn undone(&self, ends: &CommitEnds) -> Vec<(u64, i64, usize, usize)> {
        let mut all = Vec::new();
        for (thread, turns) in self.of_threads.iter().enumerate() {
            let mut most = ends.count();
            for (index, turn) in turns.iter().enumerate().rev() {
                if turn.ticket > 0 {
                    most = turn.ticket - 1;
                    continue;
                }
                let earlier = turns[..index].iter().rev().find(|turn| turn.ticket > 0);
                let least = earlier.map_or(0, |turn| turn.ticket);
                all.push((ends.until(turn.number).min(most).max(least), turn.start, thread, index));
            }
        }
        all.sort_unstable();
        all
    }

    /// Counts turns: committed ones in the order of their tickets, others after the commits before them.
    fn count_up(&mut self, undone: &[(u64, i64, usize, usize)]) {
        let committed = self.of_threads.iter().flatten().map(|turn| turn.ticket);
        for ticket in committed.filter(|ticket| *ticket > 0) {
            self.of_tickets[ticket as usize] = 1;
        }
        let (mut undone, mut number) = (undone.iter().peekable(), 0);
        for ticket in 0..self.of_tickets.len() {
            number += self.of_tickets[ticket];
            self.of_tickets[ticket] = match (self.of_tickets[ticket], ticket.checked_sub(1)) {
                (0, Some(before)) => self.of_tickets[before],
                (is_committed, _) => number * is_committed,
            };
            let ticket = ticket as u64;
            while let Some((.., thread, index)) = undone.next_if(|(commits, ..)| *commits == ticket)
            {
                number += 1;
                self.of_threads[*thread][*index].number = number as i64;
            }
        }
    }

    /// Returns for each turn, in order, its thread and the moment before which reading statements must have ended not to see it:
    /// its start, or with a rollback journal the end of its commit or of a later one that ended before.
    pub(super) fn moments(&self) -> Vec<(usize, i64)> {
        let mut moments = vec![(0, 0, i64::MIN); self.count];
        for (thread, turns) in self.of_threads.iter().enumerate() {
            for turn in turns {
                moments[turn.number as usize - 1] = (thread, turn.start, turn.commit);
            }
        }
        let mut least = i64::MAX;
        for (.., commit) in moments.iter_mut().rev().filter(|(.., commit)| *commit != i64::MIN) {
            least = least.min(*commit);
            *commit = least;
        }
        let moment = |(thread, start, commit): (usize, i64, i64)| match commit {
            i64::MIN => (thread, start),
            commit => (thread, commit),
        };
        moments.into_iter().map(moment).collect()
    }
}

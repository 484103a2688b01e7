//! The turns of transactions that write, and their order.

use std::collections::HashSet;

use super::commits::Ends;
use super::lane::Lane;
use crate::error::TrialError;
use crate::workload::replay::tape::{Mark, Take};

/// Where the transactions of a connection begin.
#[derive(Debug, Default)]
pub(super) struct Tracker {
    open: bool,
}

impl Tracker {
    /// Whether a transaction begins with a call, or it is a statement outside of one.
    pub(super) fn begins(&mut self, mark: &Mark) -> bool {
        let begins = !self.open;
        // Of a statement without an end, what followed is not known.
        self.open = if mark.has_ended { !mark.autocommit } else { self.open };
        begins
    }
}

/// A turn of a lane.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turn {
    /// The number of its transaction in the lane.
    pub(super) transaction: u64,
    /// The step with which it begins.
    pub(super) first: u64,
    /// The step with which it ends.
    pub(super) last: u64,
    /// When it began.
    start: i64,
    /// When its commit ended, if its connection waits for those that read; else the least number.
    commit: i64,
    /// Its ticket; 0 if it was rolled back after it had written.
    pub(super) ticket: u64,
    /// Its number among all turns, from 1. Before that is known: when the last statement of a transaction that was rolled
    /// back started.
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
    /// The turn of a transaction that was rolled back after it had written.
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

    /// The turn that ends with a commit: the first one of a transaction begins with it.
    fn committed(&self, step: u64, mark: &Mark, ticket: u64, waits: bool) -> Turn {
        let is_first = self.tickets == 0;
        Turn {
            transaction: self.number,
            first: if is_first { self.first } else { step },
            last: step,
            start: if is_first { self.start } else { mark.start },
            commit: if waits { mark.end } else { i64::MIN },
            ticket,
            number: 0,
        }
    }
}

/// The turns of a lane in their order.
///
/// # Errors
/// The tape cannot be read.
pub(super) fn of_lane(
    lane: &Lane,
    take: &Take,
    waiting: &HashSet<i64>,
) -> Result<Vec<Turn>, TrialError> {
    let (mut turns, mut tracker, mut open) = (Vec::new(), Tracker::default(), Open::default());
    let mut calls = lane.calls(take);
    let mut step = 0;
    while let Some(it) = calls.mark()? {
        let mark = it.call;
        if tracker.begins(&mark) {
            turns.extend(open.undone());
            open =
                Open { number: open.number + 1, first: step, start: mark.start, ..Open::default() };
        }
        if let Some(ticket) = mark.ticket.filter(|ticket| *ticket > 0) {
            let waits = waiting.contains(&it.connection);
            turns.push(open.committed(step, &mark, ticket, waits));
            open.tickets += 1;
        }
        open.has_written |= tracker.open && mark.transaction == 2;
        open.last = (step, mark.start);
        if it.closes {
            tracker = Tracker::default();
        }
        step += 1;
    }
    turns.extend(open.undone());
    Ok(turns)
}

/// The turns of all lanes.
#[derive(Debug)]
pub(super) struct Turns {
    pub(super) of_lanes: Vec<Vec<Turn>>,
    /// By ticket: the number of the last turn that was committed with it or before; that of ticket 0 is 0.
    of_tickets: Vec<u64>,
    count: usize,
}

impl Turns {
    /// Gives the turns of lanes their numbers.
    ///
    /// # Errors
    /// The order of the commits contradicts the times.
    pub(super) fn number(of_lanes: Vec<Vec<Turn>>, ends: &Ends) -> Result<Turns, TrialError> {
        let mut turns = Turns {
            of_tickets: vec![0; ends.count() as usize + 1],
            count: of_lanes.iter().map(Vec::len).sum(),
            of_lanes,
        };
        let undone = turns.undone(ends);
        turns.count_up(&undone);
        for turn in turns.of_lanes.iter_mut().flatten() {
            if turn.ticket > 0 {
                turn.number = turns.of_tickets[turn.ticket as usize] as i64;
            }
        }
        match turns.of_lanes.iter().all(|it| it.is_sorted_by_key(Turn::number)) {
            true => Ok(turns),
            false => Err(TrialError::cannot_run(
                "the times of the recording contradict the order of its commits",
            )),
        }
    }

    /// The turns that were rolled back: after how many commits, when they began, and where they are.
    fn undone(&self, ends: &Ends) -> Vec<(u64, i64, usize, usize)> {
        let mut all = Vec::new();
        for (lane, turns) in self.of_lanes.iter().enumerate() {
            let mut most = ends.count();
            for (index, turn) in turns.iter().enumerate().rev() {
                if turn.ticket > 0 {
                    most = turn.ticket - 1;
                    continue;
                }
                let earlier = turns[..index].iter().rev().find(|it| it.ticket > 0);
                let least = earlier.map_or(0, |it| it.ticket);
                let commits = ends.until(turn.number).min(most).max(least);
                all.push((commits, turn.start, lane, index));
            }
        }
        all.sort_unstable();
        all
    }

    /// Counts turns: committed ones in the order of their tickets, others after the commits before them.
    fn count_up(&mut self, undone: &[(u64, i64, usize, usize)]) {
        let committed = self.of_lanes.iter().flatten().map(|turn| turn.ticket);
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
            while let Some((.., lane, index)) = undone.next_if(|(commits, ..)| *commits == ticket) {
                number += 1;
                self.of_lanes[*lane][*index].number = number as i64;
            }
        }
    }

    /// The number of the last turn that was committed with a ticket or before it.
    pub(super) fn of_ticket(&self, ticket: u64) -> u64 {
        self.of_tickets[ticket as usize]
    }

    /// For each turn in their order its lane, and until when reading statements that had ended did not see it: its start,
    /// and with a rollback journal the end of its commit, or of a later one that ended before.
    pub(super) fn moments(&self) -> Vec<(usize, i64)> {
        let mut moments = vec![(0, 0, i64::MIN); self.count];
        for (lane, turns) in self.of_lanes.iter().enumerate() {
            for turn in turns {
                moments[turn.number as usize - 1] = (lane, turn.start, turn.commit);
            }
        }
        let mut least = i64::MAX;
        for (.., commit) in moments.iter_mut().rev().filter(|(.., it)| *it != i64::MIN) {
            least = least.min(*commit);
            *commit = least;
        }
        let moment = |(lane, start, commit): (usize, i64, i64)| match commit {
            i64::MIN => (lane, start),
            commit => (lane, commit),
        };
        moments.into_iter().map(moment).collect()
    }
}

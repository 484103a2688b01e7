//! The reading steps of a lane: those that belong to no turn.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::commits::is_over;
use super::lane::LaneCalls;
use super::turns::Turn;
use crate::error::TrialError;

/// The reading steps of a lane, in the order of their ends.
pub(super) struct Reads<'l> {
    calls: LaneCalls<'l>,
    turns: &'l [Turn],
    /// The steps that are read.
    steps: u64,
    /// The read that starts next: its start, its end, and the number of steps up to it.
    next: Option<(i64, i64, u64)>,
    has_ended: bool,
    /// Those that had started and were not over: their ends, and the number of steps up to them.
    open: BinaryHeap<Reverse<(i64, u64)>>,
    most: u64,
}

impl<'l> Reads<'l> {
    pub(super) fn of(calls: LaneCalls<'l>, turns: &'l [Turn]) -> Reads<'l> {
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

    /// The number of steps up to the last read that was over at a moment. Earlier moments change nothing.
    ///
    /// # Errors
    /// The tape cannot be read.
    pub(super) fn until(&mut self, moment: i64) -> Result<u64, TrialError> {
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

    /// The next step that belongs to no turn.
    fn read(&mut self) -> Result<Option<(i64, i64, u64)>, TrialError> {
        while let Some(it) = self.calls.mark()? {
            let step = self.steps;
            self.steps += 1;
            while let Some((turn, later)) = self.turns.split_first()
                && turn.last < step
            {
                self.turns = later;
            }
            let turn = self.turns.first();
            if turn.is_none_or(|turn| step < turn.first) {
                return Ok(Some((it.call.start, it.call.end, self.steps)));
            }
        }
        Ok(None)
    }
}

//! The steps of a lane, on a tape.

use std::collections::HashMap;

use trace::Call;

use super::Commits;
use super::commits::Ends;
use super::lane::{InLane, Lane, LaneCalls};
use super::turns::{Tracker, Turn, Turns};
use crate::error::TrialError;
use crate::workload::replay::tape::{Input, Mark, Reel, Take, Writer, put};

/// The bits of a step.
const CLOSES: u64 = 1;
const KEEPS: u64 = 2;

/// One execution of a statement.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::workload::replay) struct Step {
    /// Turns that must have ended before.
    pub(in crate::workload::replay) after: u64,
    /// The turn that it begins; 0 for none.
    pub(in crate::workload::replay) begins: u64,
    /// The turn that ends with it; 0 for none.
    pub(in crate::workload::replay) ends: u64,
    /// How many steps of other lanes must have been executed before the turn that it begins.
    pub(in crate::workload::replay) before: Vec<(usize, u64)>,
    /// The pause before it in the recording, in nanoseconds.
    pub(in crate::workload::replay) pause_ns: u64,
    /// Whether it is the last of its connection.
    pub(in crate::workload::replay) closes: bool,
    /// Whether the same prepared statement is executed once more.
    pub(in crate::workload::replay) keeps: bool,
}

impl Step {
    fn put(&self, out: &mut Vec<u8>) {
        let bit = |is: bool, bit| if is { bit } else { 0 };
        put(out, bit(self.closes, CLOSES) | bit(self.keeps, KEEPS));
        for number in [self.after, self.begins, self.ends, self.pause_ns] {
            put(out, number);
        }
    }

    fn read(record: &[u8]) -> Option<Step> {
        let mut input = Input::new(record);
        let bits = input.number()?;
        Some(Step {
            after: input.number()?,
            begins: input.number()?,
            ends: input.number()?,
            before: Vec::new(),
            pause_ns: input.number()?,
            closes: bits & CLOSES != 0,
            keeps: bits & KEEPS != 0,
        })
    }
}

/// Writes the steps of the lane of this number.
///
/// # Errors
/// A tape cannot be read or written.
pub(super) fn write(
    (number, lane, take): (usize, &Lane, &Take),
    turns: &Turns,
    (ends, commits): (&Ends, &Commits),
    writer: &mut Writer,
) -> Result<(), TrialError> {
    let mut draft = Draft {
        turns,
        own: &turns.of_lanes[number],
        committed: &turns.of_lanes[number],
        ends,
        commits,
        step: 0,
        tracker: Tracker::default(),
        transaction: 0,
        is_locked: false,
        ended: take.began(),
    };
    let kept = kept(lane.calls(take))?;
    let mut calls = lane.calls(take);
    let mut record = Vec::new();
    while let Some(it) = calls.mark()? {
        let keeps = kept.contains(draft.step);
        let step = Step { keeps, ..draft.step(&it) };
        record.clear();
        step.put(&mut record);
        writer.append(number as i64, &record)?;
    }
    Ok(())
}

/// A set of steps, a bit each.
#[derive(Default)]
struct Steplist(Vec<u64>);

impl Steplist {
    fn insert(&mut self, step: u64) {
        let word = (step / 64) as usize;
        self.0.resize(self.0.len().max(word + 1), 0);
        self.0[word] |= 1 << (step % 64);
    }

    fn contains(&self, step: u64) -> bool {
        let word = self.0.get((step / 64) as usize);
        word.is_some_and(|word| word & 1 << (step % 64) != 0)
    }
}

/// The steps whose prepared statements are executed once more.
fn kept(mut calls: LaneCalls<'_>) -> Result<Steplist, TrialError> {
    let (mut kept, mut step) = (Steplist::default(), 0);
    let mut latest: HashMap<i64, u64> = HashMap::new();
    while let Some(it) = calls.mark()? {
        let former = latest.insert(it.call.statement, step);
        if let Some(former) = former.filter(|_| !it.call.prepared) {
            kept.insert(former);
        }
        if it.closes {
            latest.clear();
        }
        step += 1;
    }
    Ok(kept)
}

/// What is known of a lane while its steps are made.
struct Draft<'t> {
    turns: &'t Turns,
    /// The turns of the lane that have not ended.
    own: &'t [Turn],
    /// Those from the present transaction on.
    committed: &'t [Turn],
    ends: &'t Ends,
    commits: &'t Commits,
    step: u64,
    tracker: Tracker,
    transaction: u64,
    is_locked: bool,
    /// When the last call ended; at first, when recording began.
    ended: i64,
}

impl Draft<'_> {
    fn step(&mut self, it: &InLane<Mark>) -> Step {
        let mark = &it.call;
        if self.tracker.begins(mark) {
            self.transaction += 1;
            self.is_locked = false;
        }
        let after = match self.is_locked {
            true => 0,
            false => self.turns.of_ticket(self.commits_before(it)),
        };
        self.is_locked |= mark.transaction != 0 && !mark.autocommit;
        let pause = mark.start.saturating_sub(self.ended);
        let mut step =
            Step { after, pause_ns: pause.max(0) as u64, closes: it.closes, ..Step::default() };
        self.give_turn(&mut step);
        self.ended = mark.end;
        self.step += 1;
        if it.closes {
            self.tracker = Tracker::default();
        }
        step
    }

    /// How many commits a call saw; none that comes later in the lane.
    fn commits_before(&mut self, it: &InLane<Mark>) -> u64 {
        let is_past = |turn: &&Turn| turn.transaction < self.transaction || turn.ticket == 0;
        let past = self.committed.iter().take_while(is_past).count();
        self.committed = &self.committed[past..];
        let own = self.committed.first();
        let commits = match self.commits.waiting.contains(&it.connection) {
            true => self.ends.until(it.call.end),
            false => self.ends.until(it.call.start),
        };
        commits.min(own.map_or(u64::MAX, |turn| turn.ticket - 1))
    }

    fn give_turn(&mut self, step: &mut Step) {
        let ended = self.own.iter().take_while(|turn| turn.last < self.step);
        self.own = &self.own[ended.count()..];
        let Some(turn) = self.own.first() else { return };
        if turn.first == self.step {
            step.after = turn.number() - 1;
            step.begins = turn.number();
        }
        if turn.last == self.step {
            step.ends = turn.number();
        }
    }
}

/// The steps of a lane with their calls, one after the other.
pub(in crate::workload::replay) struct Steps<'p> {
    calls: LaneCalls<'p>,
    steps: Reel<'p>,
    before: Reel<'p>,
}

impl<'p> Steps<'p> {
    pub(super) fn of(calls: LaneCalls<'p>, (steps, before): (Reel<'p>, Reel<'p>)) -> Steps<'p> {
        Steps { calls, steps, before }
    }

    /// The next step with its call; none after the last one.
    ///
    /// # Errors
    /// A tape cannot be read.
    pub(in crate::workload::replay) fn step(&mut self) -> Result<Option<(Step, Call)>, TrialError> {
        let Some(InLane { call, .. }) = self.calls.call()? else {
            return Ok(None);
        };
        let step = self.steps.record()?.and_then(Step::read);
        let Some(mut step) = step else {
            return Err(self.steps.torn());
        };
        if step.begins > 0 {
            let mut required = Input::new(self.before.record()?.unwrap_or_default());
            while let Some((lane, steps)) = required.number().zip(required.number()) {
                step.before.push((lane as usize, steps));
            }
        }
        Ok(Some((step, call)))
    }
}

//! The steps of a thread, on a spool.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use trace::Call;

use super::turns::{CommitEnds, Tracker, Turn, TurnOrder};
use super::{Commits, ThreadCall, ThreadCalls, ThreadPlan};
use crate::error::Result;
use crate::workload::replay::calls::CallSpool;
use crate::workload::replay::spool::{SpoolWriter, Stream};

/// One execution of a statement.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Step {
    /// Number of turns that must have ended before.
    pub(crate) after: u64,
    /// The turn that it begins; 0 for none.
    pub(crate) begins: u64,
    /// The turn that ends with it; 0 for none.
    pub(crate) ends: u64,
    /// Number of steps that other threads must have executed before the turn that it begins.
    #[serde(skip)]
    pub(crate) before: Vec<(usize, u64)>,
    /// The pause before it in the recording, in nanoseconds.
    pub(crate) pause_ns: u64,
    /// Whether it is the last step of its connection.
    pub(crate) closes: bool,
    /// Whether the same prepared statement is executed once more.
    pub(crate) keeps: bool,
}

/// Writes the steps of the thread of this number.
///
/// # Errors
/// A spool cannot be read or written.
pub(super) fn write(
    (number, thread, call_spool): (usize, &ThreadPlan, &CallSpool),
    turns: &TurnOrder,
    (ends, commits): (&CommitEnds, &Commits),
    writer: &mut SpoolWriter,
) -> Result<()> {
    let mut builder = StepBuilder {
        turns,
        own: &turns.of_threads[number],
        committed: &turns.of_threads[number],
        ends,
        commits,
        step: 0,
        tracker: Tracker::default(),
        transaction: 0,
        is_locked: false,
        ended: call_spool.began(),
    };
    let kept = kept(thread.calls(call_spool))?;
    let mut calls = thread.calls(call_spool);
    while let Some(call) = calls.header()? {
        let keeps = kept.contains(builder.step);
        writer.append(number as i64, &Step { keeps, ..builder.step(&call) })?;
    }
    Ok(())
}

/// A set of steps, as bits.
#[derive(Default)]
struct StepSet(Vec<u64>);

impl StepSet {
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

/// Returns the steps whose prepared statements are executed once more.
fn kept(mut calls: ThreadCalls<'_>) -> Result<StepSet> {
    let (mut kept, mut step) = (StepSet::default(), 0);
    let mut latest: HashMap<i64, u64> = HashMap::new();
    while let Some(call) = calls.header()? {
        let former = latest.insert(call.call.statement, step);
        if let Some(former) = former.filter(|_| !call.call.prepared) {
            kept.insert(former);
        }
        if call.closes {
            latest.clear();
        }
        step += 1;
    }
    Ok(kept)
}

/// Builds the steps of a thread.
struct StepBuilder<'t> {
    turns: &'t TurnOrder,
    /// The turns of the thread that have not ended.
    own: &'t [Turn],
    /// The turns from the present transaction on.
    committed: &'t [Turn],
    ends: &'t CommitEnds,
    commits: &'t Commits,
    step: u64,
    tracker: Tracker,
    transaction: u64,
    is_locked: bool,
    /// End of the last call, or the beginning of the recording.
    ended: i64,
}

impl StepBuilder<'_> {
    fn step(&mut self, ThreadCall { call, closes }: &ThreadCall) -> Step {
        if self.tracker.begins(call) {
            self.transaction += 1;
            self.is_locked = false;
        }
        let after = if self.is_locked {
            0
        } else {
            self.turns.of_tickets[self.commits_before(call) as usize]
        };
        self.is_locked |= call.transaction != 0 && !call.autocommit;
        let pause = call.start_ns().saturating_sub(self.ended);
        let mut step =
            Step { after, pause_ns: pause.max(0) as u64, closes: *closes, ..Step::default() };
        self.give_turn(&mut step);
        self.ended = call.end_ns();
        self.step += 1;
        if *closes {
            self.tracker = Tracker::default();
        }
        step
    }

    /// Returns how many commits a call saw, without commits that come later in the thread.
    fn commits_before(&mut self, call: &Call) -> u64 {
        let is_past = |turn: &&Turn| turn.transaction < self.transaction || turn.ticket == 0;
        let past = self.committed.iter().take_while(is_past).count();
        self.committed = &self.committed[past..];
        let own = self.committed.first();
        let waits = self.commits.waiting.contains(&call.connection);
        let commits = self.ends.until(if waits { call.end_ns() } else { call.start_ns() });
        commits.min(own.map_or(u64::MAX, |turn| turn.ticket - 1))
    }

    fn give_turn(&mut self, step: &mut Step) {
        let past = self.own.iter().take_while(|turn| turn.last < self.step).count();
        self.own = &self.own[past..];
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

/// The steps of a thread with their calls, one after the other.
pub(crate) struct Steps<'p> {
    pub(super) calls: ThreadCalls<'p>,
    pub(super) steps: Stream<'p>,
    pub(super) before: Stream<'p>,
}

impl Steps<'_> {
    /// Reads the next step with its call; `None` after the last one.
    ///
    /// # Errors
    /// A spool cannot be read.
    pub(crate) fn step(&mut self) -> Result<Option<(Step, Call)>> {
        let Some(ThreadCall { call, .. }) = self.calls.call()? else { return Ok(None) };
        let mut step: Step = self.steps.read()?.ok_or_else(|| self.steps.spool.torn())?;
        if step.begins > 0 {
            step.before = self.before.read()?.unwrap_or_default();
        }
        Ok(Some((step, call)))
    }
}

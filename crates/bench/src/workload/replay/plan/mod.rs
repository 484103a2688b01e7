//! The order of a replay, from the times and the commits of the recording.
//!
//! Connections that were never open at the same time share a **lane**, which a thread executes. Transactions that write
//! have a **turn**: those that were committed in the order of their tickets, those that were rolled back between the
//! commits that surrounded them. A turn begins when the one before it has ended, and when the reading statements of
//! other lanes that had ended before it began have been executed. A statement that holds no lock begins when the turns
//! whose commits had ended before it began have ended. Statements within a transaction wait for nothing, because they
//! may hold a lock. Everything that is waited for came earlier in the recording, so a replay cannot stand still.
//!
//! Calls are read from their tape, connection by connection, and the plan is written to tapes, so that what has to be in
//! memory grows with the commits of a recording and not with its statements.

mod commits;
mod lane;
mod reads;
mod schedule;
mod turns;

use std::collections::{HashMap, HashSet};
use std::path::Path;

use serde::{Deserialize, Serialize};

pub(super) use self::lane::Lane;
use self::reads::Reads;
pub(super) use self::schedule::{Step, Steps};
use self::turns::Turns;
use super::tape::{Take, Tape, TapeIndex, Writer, put};
use crate::error::TrialError;

/// Nanoseconds by which a start, which is recorded in microseconds, may be later than it is said to be.
const ROUNDED: i64 = 1_000;

/// A replay.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) lanes: Vec<Lane>,
    /// The steps of each lane.
    steps: Tape,
    /// Before each turn of a lane: how many steps of which other lanes must have been executed, as far as no earlier turn
    /// says so.
    before: Tape,
    /// Calls at the end of the recording that are not replayed, because a commit before them is missing.
    pub(super) cut: u64,
}

impl Plan {
    /// The steps of a lane with their calls.
    pub(super) fn steps<'p>(&'p self, lane: usize, take: &'p Take) -> Steps<'p> {
        let reels = (self.steps.reel(lane as i64), self.before.reel(lane as i64));
        Steps::of(self.lanes[lane].calls(take), reels)
    }

    /// Some lanes for another process, with the connections whose calls it needs.
    pub(super) fn index(&self, lanes: &[usize]) -> (PlanIndex, Vec<i64>) {
        let reels = || lanes.iter().map(|lane| *lane as i64);
        let connections = lanes.iter().flat_map(|lane| self.lanes[*lane].connections());
        let index = PlanIndex {
            lanes: self.lanes.clone(),
            steps: self.steps.index(reels()),
            before: self.before.index(reels()),
        };
        (index, connections.collect())
    }

    /// The lanes of another process's plan.
    ///
    /// # Errors
    /// A tape cannot be read.
    pub(super) fn open(index: PlanIndex) -> Result<Plan, TrialError> {
        Ok(Plan {
            lanes: index.lanes,
            steps: Tape::open(index.steps)?,
            before: Tape::open(index.before)?,
            cut: 0,
        })
    }
}

/// The commits of a recording.
#[derive(Clone, Debug, Default)]
pub(super) struct Commits {
    /// How many were begun.
    pub(super) begun: u64,
    /// Those that no call has as its ticket, because the statement made several.
    pub(super) further: Vec<u64>,
    /// The connections to databases with a rollback journal.
    pub(super) waiting: HashSet<i64>,
}

/// What another process needs to execute some lanes of a plan.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct PlanIndex {
    lanes: Vec<Lane>,
    steps: TapeIndex,
    before: TapeIndex,
}

/// Plans the replay of calls, with lanes of their own for the connections of each process; the tapes of the plan are in
/// this directory.
///
/// # Errors
/// A tape cannot be read or written; the times of the recording contradict the order of its commits.
pub(super) fn plan(
    take: &Take,
    commits: &Commits,
    processes: &HashMap<i64, i64>,
    directory: &Path,
) -> Result<Plan, TrialError> {
    let (ends, kept) = commits::cut(take, commits)?;
    let spans = kept.as_ref().unwrap_or(&take.spans);
    let lanes = lane::lanes(spans, processes);
    let mut turns = Vec::with_capacity(lanes.len());
    for lane in &lanes {
        turns.push(turns::of_lane(lane, take, &commits.waiting)?);
    }
    let turns = Turns::number(turns, &ends)?;
    let mut steps = Writer::create(&directory.join("replay-steps.tape"))?;
    for (number, lane) in lanes.iter().enumerate() {
        schedule::write((number, lane, take), &turns, (&ends, commits), &mut steps)?;
    }
    let before = before(&lanes, take, &turns, directory)?;
    let all = |spans: &lane::Spans| spans.values().map(|span| span.calls).sum::<u64>();
    Ok(Plan { cut: all(&take.spans) - all(spans), steps: steps.finish()?, before, lanes })
}

/// The steps that must have been executed before each turn: reading ones that did not see it.
fn before(
    lanes: &[Lane],
    take: &Take,
    turns: &Turns,
    directory: &Path,
) -> Result<Tape, TrialError> {
    let reads = lanes.iter().zip(&turns.of_lanes);
    let mut reads: Vec<Reads<'_>> =
        reads.map(|(lane, turns)| Reads::of(lane.calls(take), turns)).collect();
    let mut required = vec![0; lanes.len()];
    let mut writer = Writer::create(&directory.join("replay-before.tape"))?;
    let mut record = Vec::new();
    for (own, moment) in turns.moments() {
        record.clear();
        for (lane, reads) in reads.iter_mut().enumerate().filter(|(lane, _)| *lane != own) {
            let steps = reads.until(moment)?;
            if steps > required[lane] {
                required[lane] = steps;
                put(&mut record, lane as u64);
                put(&mut record, steps);
            }
        }
        writer.append(own as i64, &record)?;
    }
    writer.finish()
}

#[cfg(test)]
mod tests;

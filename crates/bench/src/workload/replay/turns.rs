//! The order of a replay while it runs: which turns have ended, how many steps each lane has executed, and what lanes
//! wait for. Lanes of several processes have these numbers in common.
//!
//! A lane that need not wait changes nothing. One that must wait says for what, looks once more and sleeps; whoever ends a
//! step wakes those who need not wait any longer.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use engine::SharedNumbers;

use super::plan::Step;

/// How often a lane looks before it sleeps: a hand-over between two processors takes less than waking up.
const LOOKS: usize = 200;

/// How long a lane sleeps at most until it sees that another one has failed.
const SLEEP: Duration = Duration::from_millis(100);

/// The numbers of all lanes: turns that have ended, lanes that wait, and whether a process has failed.
const ENDED: usize = 0;
const WAITING: usize = 1;
const FAILED: usize = 2;
const COMMON: usize = 3;

/// The numbers of a lane: steps executed; what changes when it is to wake up; and what it waits for: turns that must have
/// ended, with one added, how many lanes, and for each of these its number and the steps that it must have executed.
const EXECUTED: usize = 0;
const BELL: usize = 1;
const AFTER: usize = 2;
const LANES: usize = 3;
const LIST: usize = 4;
const OWN: usize = LIST + 2 * LISTED;

/// Lanes for which a lane says that it waits. If it waits for more, it may wake up too early, and looks again.
const LISTED: usize = 8;

/// How far a replay has come.
#[derive(Debug)]
pub(super) struct Turns(SharedNumbers);

impl Turns {
    /// No turn has ended yet, of so many lanes.
    ///
    /// # Errors
    /// The system has no memory.
    pub(super) fn of(lanes: usize) -> io::Result<Turns> {
        SharedNumbers::new(COMMON + lanes * OWN).map(Turns)
    }

    /// Those of another process.
    ///
    /// # Errors
    /// That process has ended.
    pub(super) fn open(path: &Path) -> io::Result<Turns> {
        SharedNumbers::open(path).map(Turns)
    }

    /// Where other processes find them.
    pub(super) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Has the lanes of all processes end.
    pub(super) fn fail(&self) {
        self.0[FAILED].store(1, Ordering::SeqCst);
    }

    fn number(&self, lane: usize, what: usize) -> &AtomicU64 {
        &self.0[COMMON + lane * OWN + what]
    }

    fn have_ended(&self, turns: u64) -> bool {
        self.0[ENDED].load(Ordering::SeqCst) >= turns
    }

    fn has_executed(&self, lane: usize, steps: u64) -> bool {
        self.number(lane, EXECUTED).load(Ordering::SeqCst) >= steps
    }

    fn may_begin(&self, step: &Step) -> bool {
        let mut before = step.before.iter();
        self.have_ended(step.after) && before.all(|(lane, steps)| self.has_executed(*lane, *steps))
    }

    /// Waits until a step of a lane may begin; `false` where another lane has failed.
    pub(super) fn wait(&self, lane: usize, step: &Step, has_failed: impl Fn() -> bool) -> bool {
        for _ in 0..LOOKS {
            if self.may_begin(step) {
                return true;
            }
            std::hint::spin_loop();
        }
        self.0[WAITING].fetch_add(1, Ordering::SeqCst);
        let failed = || has_failed() || self.0[FAILED].load(Ordering::SeqCst) != 0;
        while !self.may_begin(step) && !failed() {
            self.sleep(lane, step);
        }
        self.0[WAITING].fetch_sub(1, Ordering::SeqCst);
        !failed()
    }

    fn sleep(&self, lane: usize, step: &Step) {
        let bell = self.number(lane, BELL).load(Ordering::SeqCst);
        self.say(lane, step);
        if !self.may_begin(step) {
            self.0.sleep(COMMON + lane * OWN + BELL, bell, SLEEP);
        }
        self.number(lane, AFTER).store(0, Ordering::SeqCst);
    }

    /// Says what a lane waits for.
    fn say(&self, lane: usize, step: &Step) {
        let set = |what, number| self.number(lane, what).store(number, Ordering::SeqCst);
        let before = step.before.iter();
        let unmet = before.filter(|(of, steps)| !self.has_executed(*of, *steps));
        let mut count = 0;
        for (of, steps) in unmet.take(LISTED) {
            set(LIST + 2 * count, *of as u64);
            set(LIST + 2 * count + 1, *steps);
            count += 1;
        }
        set(LANES, count as u64);
        set(AFTER, step.after + 1);
    }

    /// Whether a lane waits and need not wait any longer, as far as it says for what.
    fn waits_for_nothing(&self, lane: usize) -> bool {
        let number = |what| self.number(lane, what).load(Ordering::SeqCst);
        let after = number(AFTER);
        let has_executed = |index| {
            let (of, steps) = (LIST + 2 * index, LIST + 2 * index + 1);
            self.has_executed(number(of) as usize, number(steps))
        };
        after > 0
            && self.have_ended(after - 1)
            && (0..(number(LANES) as usize).min(LISTED)).all(has_executed)
    }

    /// Notes that a lane has executed one more step, which ended a turn unless that is 0.
    pub(super) fn pass(&self, lane: usize, ends: u64) {
        self.number(lane, EXECUTED).fetch_add(1, Ordering::SeqCst);
        self.end(ends);
    }

    /// Notes that a turn has ended, unless it is 0.
    pub(super) fn end(&self, turn: u64) {
        self.0[ENDED].fetch_max(turn, Ordering::SeqCst);
        if self.0[WAITING].load(Ordering::SeqCst) > 0 {
            self.wake();
        }
    }

    /// Wakes those who need not wait any longer.
    fn wake(&self) {
        for lane in 0..(self.0.len() - COMMON) / OWN {
            if self.waits_for_nothing(lane) {
                self.0.wake(COMMON + lane * OWN + BELL);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(after: u64, before: &[(usize, u64)]) -> Step {
        Step { after, before: before.to_vec(), ..Step::default() }
    }

    #[test]
    fn a_lane_waits_for_turns_and_for_steps_of_other_lanes() {
        let turns = Turns::of(3).unwrap();
        let other = Turns::open(turns.path()).unwrap();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| turns.wait(0, &step(2, &[(1, 1), (2, 2)]), || false));
            for (lane, ends) in [(1, 1), (2, 2), (2, 0)] {
                std::thread::sleep(Duration::from_millis(5));
                assert!(!waiting.is_finished());
                other.pass(lane, ends);
            }
            assert!(waiting.join().unwrap());
        });
        assert_eq!(turns.0[WAITING].load(Ordering::SeqCst), 0);
    }

    #[test]
    fn nobody_waits_for_a_process_that_has_failed() {
        let turns = Turns::of(1).unwrap();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| turns.wait(0, &step(1, &[]), || false));
            turns.fail();
            assert!(!waiting.join().unwrap());
        });
        assert!(!turns.wait(0, &step(1, &[]), || true));
    }
}

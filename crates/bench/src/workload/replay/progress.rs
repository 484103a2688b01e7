//! The progress of a replay: the turns that have ended, the number of steps that each thread has executed, and the conditions
//! that threads wait for. Threads of several processes share these numbers.
//!
//! A thread that need not wait changes nothing. One that must wait publishes its condition, checks once more and sleeps. A
//! thread that ends a step wakes the threads whose conditions hold.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use engine::SharedNumbers;

use super::plan::Step;

/// How often a thread checks before it sleeps: a hand-over between two processors takes less than waking up.
const CHECKS: usize = 200;

/// Time after which a sleeping thread checks whether another one has failed.
const SLEEP: Duration = Duration::from_millis(100);

/// Numbers common to all threads: turns that have ended, threads that wait, and whether a process has failed.
const ENDED: usize = 0;
const WAITING: usize = 1;
const FAILED: usize = 2;
const COMMON: usize = 3;

/// Numbers of a thread: steps executed; a bell, which changes to wake it up; and its condition: one more than the turns that
/// must have ended, the number of threads it waits for, and for each of them its number and the steps that it must have
/// executed.
const EXECUTED: usize = 0;
const BELL: usize = 1;
const AFTER: usize = 2;
const THREADS: usize = 3;
const LIST: usize = 4;
const OWN: usize = LIST + 2 * LISTED;

/// Number of threads in a condition. A thread that waits for more may wake up too early, and checks again.
const LISTED: usize = 8;

/// The progress of a replay.
#[derive(Debug)]
pub(super) struct Progress(SharedNumbers);

impl Progress {
    /// Returns the beginning of a replay by this number of threads.
    ///
    /// # Errors
    /// The system has no memory.
    pub(super) fn new(threads: usize) -> io::Result<Progress> {
        SharedNumbers::new(COMMON + threads * OWN).map(Progress)
    }

    /// Returns the progress that another process shares.
    ///
    /// # Errors
    /// That process has ended.
    pub(super) fn open(path: &Path) -> io::Result<Progress> {
        SharedNumbers::open(path).map(Progress)
    }

    /// Returns the file by which other processes share it.
    pub(super) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Ends the threads of all processes.
    pub(super) fn fail(&self) {
        self.0[FAILED].store(1, Ordering::SeqCst);
    }

    fn number(&self, thread: usize, what: usize) -> &AtomicU64 {
        &self.0[COMMON + thread * OWN + what]
    }

    fn have_ended(&self, turns: u64) -> bool {
        self.0[ENDED].load(Ordering::SeqCst) >= turns
    }

    fn has_executed(&self, thread: usize, steps: u64) -> bool {
        self.number(thread, EXECUTED).load(Ordering::SeqCst) >= steps
    }

    fn may_begin(&self, step: &Step) -> bool {
        let mut before = step.before.iter();
        self.have_ended(step.after)
            && before.all(|(thread, steps)| self.has_executed(*thread, *steps))
    }

    /// Waits until a step of a thread may begin. Returns `false` if another thread has failed.
    pub(super) fn wait(&self, thread: usize, step: &Step, has_failed: impl Fn() -> bool) -> bool {
        for _ in 0..CHECKS {
            if self.may_begin(step) {
                return true;
            }
            std::hint::spin_loop();
        }
        self.0[WAITING].fetch_add(1, Ordering::SeqCst);
        let failed = || has_failed() || self.0[FAILED].load(Ordering::SeqCst) != 0;
        while !self.may_begin(step) && !failed() {
            self.sleep(thread, step);
        }
        self.0[WAITING].fetch_sub(1, Ordering::SeqCst);
        !failed()
    }

    fn sleep(&self, thread: usize, step: &Step) {
        let bell = self.number(thread, BELL).load(Ordering::SeqCst);
        self.publish(thread, step);
        if !self.may_begin(step) {
            self.0.sleep(COMMON + thread * OWN + BELL, bell, SLEEP);
        }
        self.number(thread, AFTER).store(0, Ordering::SeqCst);
    }

    /// Publishes the condition that a thread waits for.
    fn publish(&self, thread: usize, step: &Step) {
        let set = |what, number| self.number(thread, what).store(number, Ordering::SeqCst);
        let unmet = step.before.iter().filter(|(of, steps)| !self.has_executed(*of, *steps));
        let mut count = 0;
        for (of, steps) in unmet.take(LISTED) {
            set(LIST + 2 * count, *of as u64);
            set(LIST + 2 * count + 1, *steps);
            count += 1;
        }
        set(THREADS, count as u64);
        set(AFTER, step.after + 1);
    }

    /// Returns whether a thread waits and its published condition holds.
    fn can_wake(&self, thread: usize) -> bool {
        let number = |what| self.number(thread, what).load(Ordering::SeqCst);
        let after = number(AFTER);
        let has_executed = |index| {
            let (of, steps) = (LIST + 2 * index, LIST + 2 * index + 1);
            self.has_executed(number(of) as usize, number(steps))
        };
        after > 0
            && self.have_ended(after - 1)
            && (0..(number(THREADS) as usize).min(LISTED)).all(has_executed)
    }

    /// Notes that a thread has executed one more step, which ended a turn unless that is 0.
    pub(super) fn pass(&self, thread: usize, ends: u64) {
        self.number(thread, EXECUTED).fetch_add(1, Ordering::SeqCst);
        self.end(ends);
    }

    /// Notes that a turn has ended, unless it is 0.
    pub(super) fn end(&self, turn: u64) {
        self.0[ENDED].fetch_max(turn, Ordering::SeqCst);
        if self.0[WAITING].load(Ordering::SeqCst) > 0 {
            self.wake();
        }
    }

    /// Wakes the threads whose conditions hold.
    fn wake(&self) {
        for thread in 0..(self.0.len() - COMMON) / OWN {
            if self.can_wake(thread) {
                self.0.wake(COMMON + thread * OWN + BELL);
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
        let progress = Progress::new(3).unwrap();
        let other = Progress::open(progress.path()).unwrap();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| progress.wait(0, &step(2, &[(1, 1), (2, 2)]), || false));
            for (thread, ends) in [(1, 1), (2, 2), (2, 0)] {
                std::thread::sleep(Duration::from_millis(5));
                assert!(!waiting.is_finished());
                other.pass(thread, ends);
            }
            assert!(waiting.join().unwrap());
        });
        assert_eq!(progress.0[WAITING].load(Ordering::SeqCst), 0);
    }

    #[test]
    fn no_thread_waits_for_a_process_that_has_failed() {
        let progress = Progress::new(1).unwrap();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| progress.wait(0, &step(1, &[]), || false));
            progress.fail();
            assert!(!waiting.join().unwrap());
        });
        assert!(!progress.wait(0, &step(1, &[]), || true));
    }
}

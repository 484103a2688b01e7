//! The order of a replay while it runs: which turns have ended, how many steps each lane has executed, and the threads
//! that wait for that.
//!
//! A lane that need not wait takes no lock. One that must wait puts itself on a list, looks once more and sleeps;
//! whoever ends a step wakes those on the list who need not wait any longer.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread::Thread;
use std::time::Duration;

use super::plan::Plan;
use crate::locks::locked;
use crate::workload::team::Gate;

/// How often a lane looks before it sleeps: a hand-over between two processors takes less than waking up.
const LOOKS: usize = 200;

/// How long a lane sleeps at most until it sees that another one has failed.
const SLEEP: Duration = Duration::from_millis(100);

/// How far a replay has come.
#[derive(Debug)]
pub(super) struct Turns {
    /// As [`Plan::before`].
    before: Vec<Vec<(usize, u64)>>,
    ended: AtomicU64,
    executed: Vec<AtomicU64>,
    waiting: AtomicUsize,
    sleepers: Mutex<Vec<(Condition, Thread)>>,
}

/// What a step waits for.
#[derive(Clone, Copy, Debug)]
struct Condition {
    /// Turns that must have ended.
    after: u64,
    /// The turn that it begins; 0 for none.
    begins: u64,
}

impl Turns {
    pub(super) fn of(plan: &Plan) -> Turns {
        Turns {
            before: plan.before.clone(),
            ended: AtomicU64::new(0),
            executed: plan.lanes.iter().map(|_| AtomicU64::new(0)).collect(),
            waiting: AtomicUsize::new(0),
            sleepers: Mutex::default(),
        }
    }

    fn is_met(&self, condition: Condition) -> bool {
        let before = match condition.begins {
            0 => &[][..],
            turn => &self.before[turn as usize - 1],
        };
        self.ended.load(Ordering::SeqCst) >= condition.after
            && before
                .iter()
                .all(|(lane, steps)| self.executed[*lane].load(Ordering::SeqCst) >= *steps)
    }

    /// Waits until so many turns have ended and a turn, if one begins, may begin; `false` where another lane has failed.
    pub(super) fn wait(&self, after: u64, begins: u64, gate: &Gate) -> bool {
        let condition = Condition { after, begins };
        for _ in 0..LOOKS {
            if self.is_met(condition) {
                return true;
            }
            std::hint::spin_loop();
        }
        self.waiting.fetch_add(1, Ordering::SeqCst);
        locked(&self.sleepers).push((condition, std::thread::current()));
        while !self.is_met(condition) && !gate.is_cancelled() {
            std::thread::park_timeout(SLEEP);
        }
        let own = std::thread::current().id();
        locked(&self.sleepers).retain(|(_, thread)| thread.id() != own);
        self.waiting.fetch_sub(1, Ordering::SeqCst);
        !gate.is_cancelled()
    }

    /// Notes that a lane has executed one more step, which ended a turn unless that is 0.
    pub(super) fn pass(&self, lane: usize, ends: u64) {
        self.executed[lane].fetch_add(1, Ordering::SeqCst);
        self.end(ends);
    }

    /// Notes that a turn has ended, unless it is 0.
    pub(super) fn end(&self, turn: u64) {
        self.ended.fetch_max(turn, Ordering::SeqCst);
        if self.waiting.load(Ordering::SeqCst) > 0 {
            self.wake();
        }
    }

    /// Wakes those who need not wait any longer, without the list in hand: they look at it, too.
    fn wake(&self) {
        let mut sleepers = locked(&self.sleepers);
        let awake = sleepers.extract_if(.., |(condition, _)| self.is_met(*condition));
        let awake: Vec<Thread> = awake.map(|(_, thread)| thread).collect();
        drop(sleepers);
        awake.iter().for_each(Thread::unpark);
    }
}

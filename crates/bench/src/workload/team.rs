//! Threads that do one thing together: they get ready, begin at one moment, and stop together when one
//! of them fails. They may also wait until the clock has stopped before they leave, so that closing
//! connections costs no measured time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, scope};
use std::time::Instant;

use super::common::Stopwatch;
use crate::error::TrialError;
use crate::locks::locked;

/// Stack of a thread in bytes: SQLite needs far less than the usual two mebibytes, and thousands of
/// threads are started.
const STACK: usize = 512 << 10;

/// How far the threads are.
#[derive(Debug, Default)]
struct Stage {
    ready: usize,
    done: usize,
    began: Option<Instant>,
    may_leave: bool,
}

/// Where threads and the one who watches the clock wait for one another: apart, since a thread that is
/// done must not be woken by others while the clock runs.
#[derive(Debug, Default)]
pub(super) struct Gate {
    /// How many threads there are.
    team: usize,
    stage: Mutex<Stage>,
    workers: Condvar,
    watcher: Condvar,
    failed: AtomicBool,
}

impl Gate {
    fn of(team: usize) -> Gate {
        Gate { team, ..Gate::default() }
    }

    /// Whether a thread has failed, so that the others need not go on.
    pub(super) fn is_cancelled(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }

    /// Has a thread that is ready wait for all others; returns the moment at which all begin, or none
    /// where one has failed.
    pub(super) fn pass(&self) -> Option<Instant> {
        self.arrive(|stage| &mut stage.ready);
        let stage = self.wait(&self.workers, |stage| stage.began.is_some());
        stage.began.filter(|_| !self.is_cancelled())
    }

    /// Has a thread that is done wait until the clock has stopped.
    pub(super) fn wait_to_leave(&self) {
        self.arrive(|stage| &mut stage.done);
        drop(self.wait(&self.workers, |stage| stage.may_leave));
    }

    /// Has the one who watches wait until all are ready.
    pub(super) fn wait_until_ready(&self) {
        drop(self.wait(&self.watcher, |stage| stage.ready == self.team));
    }

    /// Has the one who watches wait until all are done.
    pub(super) fn wait_until_done(&self) {
        drop(self.wait(&self.watcher, |stage| stage.done == self.team));
    }

    /// Lets the threads begin.
    fn open(&self, began: Instant) {
        self.let_go(|stage| stage.began = Some(began));
    }

    /// Lets the threads leave.
    pub(super) fn dismiss(&self) {
        self.let_go(|stage| stage.may_leave = true);
    }

    /// Waits until all are ready and lets them begin; returns that moment.
    pub(super) fn begin(&self) -> Result<Instant, TrialError> {
        self.wait_until_ready();
        let began = Instant::now();
        self.open(began);
        Ok(began)
    }

    /// Waits until all are ready, starts the clock and lets them begin.
    pub(super) fn start_clock(&self) -> Result<Stopwatch, TrialError> {
        self.wait_until_ready();
        let watch = Stopwatch::start()?;
        self.open(watch.started());
        Ok(watch)
    }

    fn let_go(&self, change: impl FnOnce(&mut Stage)) {
        change(&mut locked(&self.stage));
        self.workers.notify_all();
    }

    fn fail(&self) {
        let stage = locked(&self.stage);
        self.failed.store(true, Ordering::Relaxed);
        drop(stage);
        self.workers.notify_all();
        self.watcher.notify_one();
    }

    /// Counts one more thread, the last of which wakes the one who watches.
    fn arrive(&self, arrived: impl FnOnce(&mut Stage) -> &mut usize) {
        let mut stage = locked(&self.stage);
        let arrived = arrived(&mut stage);
        *arrived += 1;
        if *arrived == self.team {
            self.watcher.notify_one();
        }
    }

    /// Waits until a stage is reached or a thread has failed.
    fn wait(&self, at: &Condvar, reached: impl Fn(&Stage) -> bool) -> MutexGuard<'_, Stage> {
        let stage = locked(&self.stage);
        at.wait_while(stage, |stage| !reached(stage) && !self.is_cancelled())
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// Tells the others when a thread fails or panics before it is done, or the one who watches gives up.
struct Alarm<'g> {
    gate: &'g Gate,
    armed: bool,
}

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        if self.armed {
            self.gate.fail();
        }
    }
}

/// Runs `work` in a thread for each of `parts` and returns what they return, in that order, with the
/// result of `watch`, which lets them begin.
///
/// # Errors
/// The first error in the order of the parts; a thread cannot be started; or the error of `watch`.
pub(super) fn together<P: Send, R: Send, S>(
    parts: Vec<P>,
    watch: impl FnOnce(&Gate) -> Result<S, TrialError>,
    work: impl Fn(P, &Gate) -> Result<R, TrialError> + Sync,
) -> Result<(Vec<R>, S), TrialError> {
    let threads = parts.len();
    let (gate, work) = (&Gate::of(threads), &work);
    scope(|scope| {
        let mut alarm = Alarm { gate, armed: true };
        let mut started = Vec::with_capacity(threads);
        for part in parts {
            let body = move || {
                let mut alarm = Alarm { gate, armed: true };
                let done = work(part, gate);
                alarm.armed = done.is_err();
                done
            };
            let thread = Builder::new().stack_size(STACK).spawn_scoped(scope, body);
            started.push(thread.map_err(|error| cannot_start(started.len(), threads, &error))?);
        }
        let watched = watch(gate)?;
        alarm.armed = false;
        let mut results = Vec::with_capacity(threads);
        for (number, thread) in started.into_iter().enumerate() {
            results.push(thread.join().map_err(|_| TrialError::Worker {
                who: format!("worker {}", number + 1),
                why: "it panicked".to_owned(),
            })??);
        }
        Ok((results, watched))
    })
}

fn cannot_start(started: usize, wanted: usize, error: &std::io::Error) -> TrialError {
    TrialError::CannotRun(format!(
        "{wanted} threads are required, but the system started only {started}: {error}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;
    use std::thread;
    use std::time::Duration;

    #[test]
    fn nobody_begins_before_all_are_ready_and_results_keep_their_order() {
        let ready = AtomicUsize::new(0);
        let (results, started) = together(
            (0..20).collect(),
            |gate| {
                gate.wait_until_ready();
                let all = ready.load(Ordering::SeqCst);
                gate.open(Instant::now());
                Ok(all)
            },
            |part, gate| {
                ready.fetch_add(1, Ordering::SeqCst);
                gate.pass();
                Ok((part, ready.load(Ordering::SeqCst)))
            },
        )
        .unwrap();
        assert_eq!(started, 20);
        let expected: Vec<(usize, usize)> = (0..20).map(|part| (part, 20)).collect();
        assert_eq!(results, expected);
    }

    #[test]
    fn one_that_fails_before_the_gate_holds_nobody_up_and_cancels_the_rest() {
        let failed = together((0..8).collect(), Gate::begin, |part, gate| {
            if part == 5 {
                return Err(TrialError::Measuring("as told".to_owned()));
            }
            gate.pass();
            while !gate.is_cancelled() {
                std::thread::yield_now();
            }
            Ok(())
        });
        assert!(failed.unwrap_err().to_string().contains("as told"));
    }

    #[test]
    fn a_worker_that_is_done_sleeps_until_it_may_leave() {
        const OTHERS: usize = 50;
        let gate = Gate::of(OTHERS + 1);
        let looked = AtomicUsize::new(0);
        thread::scope(|scope| {
            scope.spawn(|| {
                gate.arrive(|stage| &mut stage.done);
                drop(gate.wait(&gate.workers, |stage| {
                    looked.fetch_add(1, Ordering::Relaxed);
                    stage.may_leave
                }));
            });
            for _ in 0..OTHERS {
                thread::sleep(Duration::from_millis(1));
                gate.arrive(|stage| &mut stage.done);
            }
            gate.wait_until_done();
            gate.dismiss();
        });
        // Once before it sleeps and once when it may leave; a system may wake it for nothing, seldom.
        assert!(looked.into_inner() < OTHERS / 5);
    }
}

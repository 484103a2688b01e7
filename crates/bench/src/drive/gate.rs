//! Threads that start their work at one moment, and stop when one of them fails. They may also wait until the clock has
//! stopped before they end, so that closing connections costs no measured time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, scope};
use std::time::Instant;

use crate::error::{Result, TrialError};
use crate::workload::common::Stopwatch;
use engine::locked;

/// Stack of a thread in bytes: SQLite needs far less than the usual two mebibytes, and thousands of
/// threads are started.
const STACK: usize = 512 << 10;

/// Progress of the threads.
#[derive(Debug, Default)]
struct State {
    ready: usize,
    done: usize,
    began: Option<Instant>,
    may_leave: bool,
}

/// The point at which threads and the coordinator, which watches the clock, wait for one another. They wait apart, because a
/// thread that is done must not be woken by others while the clock runs.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    /// Number of threads.
    threads: usize,
    state: Mutex<State>,
    workers: Condvar,
    coordinator: Condvar,
    failed: AtomicBool,
}

impl Gate {
    fn new(threads: usize) -> Gate {
        Gate { threads, ..Gate::default() }
    }

    /// Returns whether a thread has failed, so that the others need not go on.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }

    /// Waits until all threads are ready. Returns the moment at which all begin, or `None` if one has failed.
    pub(crate) fn pass(&self) -> Option<Instant> {
        self.arrive(|state| &mut state.ready);
        let state = self.wait(&self.workers, |state| state.began.is_some());
        state.began.filter(|_| !self.is_cancelled())
    }

    /// Waits, as a thread that is done, until the clock has stopped.
    pub(crate) fn wait_for_dismissal(&self) {
        self.arrive(|state| &mut state.done);
        drop(self.wait(&self.workers, |state| state.may_leave));
    }

    /// Waits, as the coordinator, until all threads are ready.
    pub(crate) fn wait_until_ready(&self) {
        drop(self.wait(&self.coordinator, |state| state.ready == self.threads));
    }

    /// Waits, as the coordinator, until all threads are done.
    pub(crate) fn wait_until_done(&self) {
        drop(self.wait(&self.coordinator, |state| state.done == self.threads));
    }

    /// Lets the threads begin.
    fn open(&self, began: Instant) {
        self.release(|state| state.began = Some(began));
    }

    /// Lets the threads end.
    pub(crate) fn dismiss(&self) {
        self.release(|state| state.may_leave = true);
    }

    /// Waits until all are ready and lets them begin. Returns the moment.
    pub(crate) fn begin(&self) -> Result<Instant> {
        self.wait_until_ready();
        let began = Instant::now();
        self.open(began);
        Ok(began)
    }

    /// Waits until all are ready, starts the clock and lets them begin.
    pub(crate) fn start_clock(&self) -> Result<Stopwatch> {
        self.wait_until_ready();
        let watch = Stopwatch::start()?;
        self.open(watch.started());
        Ok(watch)
    }

    fn release(&self, change: impl FnOnce(&mut State)) {
        change(&mut locked(&self.state));
        self.workers.notify_all();
    }

    /// Counts one more thread. The last one wakes the coordinator.
    fn arrive(&self, arrived: impl FnOnce(&mut State) -> &mut usize) {
        let mut state = locked(&self.state);
        let arrived = arrived(&mut state);
        *arrived += 1;
        if *arrived == self.threads {
            self.coordinator.notify_one();
        }
    }

    /// Waits until the state satisfies a condition or a thread has failed.
    fn wait(&self, at: &Condvar, reached: impl Fn(&State) -> bool) -> MutexGuard<'_, State> {
        let state = locked(&self.state);
        at.wait_while(state, |state| !reached(state) && !self.is_cancelled())
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// Tells the other threads when one fails or panics before it is done, or the coordinator gives up.
struct FailureGuard<'g> {
    gate: &'g Gate,
    armed: bool,
}

impl Drop for FailureGuard<'_> {
    fn drop(&mut self) {
        if self.armed {
            let state = locked(&self.gate.state);
            self.gate.failed.store(true, Ordering::Relaxed);
            drop(state);
            self.gate.workers.notify_all();
            self.gate.coordinator.notify_one();
        }
    }
}

/// Runs `work` in a thread for each of `parts`, and `coordinate`, which lets them begin. Returns the results of the threads in
/// the order of the parts, and the result of `coordinate`.
///
/// # Errors
/// The first error in the order of the parts; a thread cannot be started; or the error of `coordinate`.
pub(crate) fn run_threads<P: Send, R: Send, S>(
    parts: Vec<P>,
    coordinate: impl FnOnce(&Gate) -> Result<S>,
    work: impl Fn(P, &Gate) -> Result<R> + Sync,
) -> Result<(Vec<R>, S)> {
    let threads = parts.len();
    let (gate, work) = (&Gate::new(threads), &work);
    scope(|scope| {
        let mut guard = FailureGuard { gate, armed: true };
        let mut started = Vec::with_capacity(threads);
        for part in parts {
            let body = move || {
                let mut guard = FailureGuard { gate, armed: true };
                let done = work(part, gate);
                guard.armed = done.is_err();
                done
            };
            let thread = Builder::new().stack_size(STACK).spawn_scoped(scope, body);
            started.push(thread.map_err(|error| cannot_start(started.len(), threads, &error))?);
        }
        let coordinated = coordinate(gate)?;
        guard.armed = false;
        let mut results = Vec::with_capacity(threads);
        for (number, thread) in started.into_iter().enumerate() {
            results.push(thread.join().map_err(|_| {
                TrialError::worker(format!("worker {}", number + 1), "it panicked")
            })??);
        }
        Ok((results, coordinated))
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
    fn no_thread_begins_before_all_are_ready_and_results_keep_their_order() {
        let ready = AtomicUsize::new(0);
        let (results, started) = run_threads(
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
        let failed = run_threads((0..8).collect(), Gate::begin, |part, gate| {
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
        let gate = Gate::new(OTHERS + 1);
        let looked = AtomicUsize::new(0);
        thread::scope(|scope| {
            scope.spawn(|| {
                gate.arrive(|state| &mut state.done);
                drop(gate.wait(&gate.workers, |state| {
                    looked.fetch_add(1, Ordering::Relaxed);
                    state.may_leave
                }));
            });
            for _ in 0..OTHERS {
                thread::sleep(Duration::from_millis(1));
                gate.arrive(|state| &mut state.done);
            }
            gate.wait_until_done();
            gate.dismiss();
        });
        // Once before it sleeps and once when it may leave; a system may wake it for nothing, seldom.
        assert!(looked.into_inner() < OTHERS / 5);
    }
}

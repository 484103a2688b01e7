//! Threads that do one thing together, and stop together when one of them fails.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard};
use std::thread::{Builder, scope};

use crate::error::TrialError;

/// Bytes of a thread's stack: SQLite needs far less, and thousands of threads are started.
const STACK_BYTES: usize = 512 * 1024;

/// Where threads wait until all are ready, so that the clock starts for all of them at once.
#[derive(Default)]
pub(super) struct Gate {
    state: Mutex<State>,
    changed: Condvar,
    cancelled: AtomicBool,
}

#[derive(Default)]
struct State {
    ready: usize,
    open: bool,
}

impl Gate {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Counting and opening cannot panic.
        self.state
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Whether a thread has failed, so that the others need not go on.
    pub(super) fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    fn arrive(&self) {
        self.lock().ready += 1;
        self.changed.notify_all();
    }

    fn wait_until_open(&self) {
        let mut state = self.lock();
        while !state.open {
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(|poisoned| poisoned.into_inner());
        }
    }

    /// Waits for `threads` threads, calls `start`, and lets them go.
    fn open_for<T>(&self, threads: usize, start: impl FnOnce() -> T) -> T {
        let mut state = self.lock();
        while state.ready < threads {
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(|poisoned| poisoned.into_inner());
        }
        let started = start();
        state.open = true;
        self.changed.notify_all();
        started
    }
}

/// A thread's ticket to the gate: it counts as ready once, even where the thread fails before.
pub(super) struct Ticket<'g> {
    gate: &'g Gate,
    used: bool,
}

impl Ticket<'_> {
    /// Says that this thread is ready and waits for all others.
    pub(super) fn pass(mut self) {
        self.used = true;
        self.gate.arrive();
        self.gate.wait_until_open();
    }
}

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        if !self.used {
            self.gate.arrive();
        }
    }
}

/// Runs `work` in a thread for each of `parts` and returns what they return, in that order. `start`
/// is called when all are ready, and its result is returned beside theirs.
///
/// # Errors
/// The first error in the order of the parts; or a thread cannot be started.
pub(super) fn together<P: Send, R: Send, S>(
    parts: Vec<P>,
    start: impl FnOnce() -> S,
    work: impl Fn(P, Ticket<'_>, &Gate) -> Result<R, TrialError> + Sync,
) -> Result<(Vec<R>, S), TrialError> {
    let (gate, work, threads) = (&Gate::default(), &work, parts.len());
    scope(|scope| {
        let mut handles = Vec::with_capacity(threads);
        let mut refused = None;
        for part in parts {
            let ticket = Ticket { gate, used: false };
            let body = move || {
                let done = work(part, ticket, gate);
                if done.is_err() {
                    gate.cancelled.store(true, Ordering::Relaxed);
                }
                done
            };
            match Builder::new()
                .stack_size(STACK_BYTES)
                .spawn_scoped(scope, body)
            {
                Ok(handle) => handles.push(handle),
                Err(error) => {
                    gate.cancelled.store(true, Ordering::Relaxed);
                    refused.get_or_insert(cannot_start(handles.len(), threads, &error));
                }
            }
        }
        // A thread that was refused gave its ticket back, so all have arrived in the end.
        let started = gate.open_for(threads, start);
        let mut results = Vec::with_capacity(threads);
        for handle in handles {
            results.push(handle.join().unwrap_or_else(|_| Err(panicked())));
        }
        match refused {
            Some(error) => Err(error),
            None => Ok((results.into_iter().collect::<Result<_, _>>()?, started)),
        }
    })
}

fn cannot_start(started: usize, wanted: usize, error: &std::io::Error) -> TrialError {
    TrialError::CannotRun(format!(
        "{wanted} threads are required, but the system started only {started}: {error}"
    ))
}

fn panicked() -> TrialError {
    TrialError::Measuring("a thread panicked".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;

    #[test]
    fn nobody_begins_before_all_are_ready_and_results_keep_their_order() {
        let ready = AtomicUsize::new(0);
        let (results, started) = together(
            (0..20).collect(),
            || ready.load(Ordering::SeqCst),
            |part, ticket, _| {
                ready.fetch_add(1, Ordering::SeqCst);
                ticket.pass();
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
        let failed = together(
            (0..8).collect(),
            || (),
            |part, ticket, gate| {
                if part == 5 {
                    return Err(TrialError::Measuring("as told".to_owned()));
                }
                ticket.pass();
                while !gate.is_cancelled() {
                    std::thread::yield_now();
                }
                Ok(())
            },
        );
        assert!(failed.unwrap_err().to_string().contains("as told"));
    }
}

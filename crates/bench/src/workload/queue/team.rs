//! Workers side by side: they get ready, begin at one moment, end together, and leave only when the
//! clock has stopped, so that opening and closing connections costs no measured time.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Instant;

use crate::error::TrialError;
use crate::target::queue::{Session, Store};
use crate::workload::common::{Elapsed, Stopwatch};

/// Stack of a worker in bytes: a thousand of them need not have the usual two mebibytes.
const STACK: usize = 512 << 10;

/// How far the workers are.
#[derive(Debug, Default)]
struct Stage {
    ready: usize,
    done: usize,
    began: Option<Instant>,
    may_leave: bool,
    failed: bool,
}

/// Where workers and the one who watches the clock wait for one another.
#[derive(Debug, Default)]
struct Gate {
    stage: Mutex<Stage>,
    changed: Condvar,
}

impl Gate {
    fn stage(&self) -> MutexGuard<'_, Stage> {
        // A stage is changed by single assignments that do not panic half way.
        self.stage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut Stage)) {
        change(&mut self.stage());
        self.changed.notify_all();
    }

    fn wait_until(&self, reached: impl Fn(&Stage) -> bool) -> MutexGuard<'_, Stage> {
        let mut stage = self.stage();
        while !reached(&stage) {
            let woken = self.changed.wait(stage);
            stage = woken.unwrap_or_else(PoisonError::into_inner);
        }
        stage
    }
}

/// Tells the others when a worker fails or panics before it is done.
struct Alarm<'g> {
    gate: &'g Gate,
    armed: bool,
}

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        if self.armed {
            self.gate.change(|stage| stage.failed = true);
        }
    }
}

/// Has a worker for each of `parts` do its part with a session of its own; gives what they return, in
/// the order of the parts, and the time from the moment at which all begin to that at which the last
/// has ended.
///
/// # Errors
/// The first that a worker returns; the others stop before they begin, or when they are done.
pub(super) fn work<P: Send, R: Send>(
    store: &dyn Store,
    parts: Vec<P>,
    work: impl Fn(P, &mut dyn Session, Instant) -> Result<R, TrialError> + Sync,
) -> Result<(Vec<R>, Elapsed), TrialError> {
    let gate = Gate::default();
    let workers = parts.len();
    let (gate, work) = (&gate, &work);
    thread::scope(|scope| {
        let mut started = Vec::with_capacity(workers);
        for (number, part) in parts.into_iter().enumerate() {
            let builder = thread::Builder::new()
                .name(format!("worker {}", number + 1))
                .stack_size(STACK);
            match builder.spawn_scoped(scope, move || attend(store, gate, part, work)) {
                Ok(worker) => started.push(worker),
                Err(error) => {
                    gate.change(|stage| stage.failed = true);
                    return Err(TrialError::CannotRun(format!(
                        "worker {} cannot be started: {error}",
                        number + 1
                    )));
                }
            }
        }
        drop(gate.wait_until(|stage| stage.ready == workers || stage.failed));
        let watch = Stopwatch::start()?;
        gate.change(|stage| stage.began = Some(watch.started()));
        drop(gate.wait_until(|stage| stage.done == workers || stage.failed));
        let elapsed = watch.stop()?;
        gate.change(|stage| stage.may_leave = true);
        let mut results = Vec::with_capacity(workers);
        for (number, worker) in started.into_iter().enumerate() {
            let result = worker.join().map_err(|_| TrialError::Worker {
                who: format!("worker {}", number + 1),
                why: "it panicked".to_owned(),
            })??;
            results.extend(result);
        }
        Ok((results, elapsed))
    })
}

/// What one worker does; none where another failed first.
fn attend<P, R>(
    store: &dyn Store,
    gate: &Gate,
    part: P,
    work: &(impl Fn(P, &mut dyn Session, Instant) -> Result<R, TrialError> + Sync),
) -> Result<Option<R>, TrialError> {
    let mut alarm = Alarm { gate, armed: true };
    let (mut part, mut result) = (Some(part), None);
    let attended = store.session(&mut |session| {
        gate.change(|stage| stage.ready += 1);
        let stage = gate.wait_until(|stage| stage.began.is_some() || stage.failed);
        let began = stage.began.filter(|_| !stage.failed);
        drop(stage);
        if let (Some(began), Some(part)) = (began, part.take()) {
            result = Some(work(part, session, began)?);
            gate.change(|stage| stage.done += 1);
            drop(gate.wait_until(|stage| stage.may_leave || stage.failed));
        }
        Ok(())
    });
    alarm.armed = attended.is_err();
    attended.map(|()| result)
}

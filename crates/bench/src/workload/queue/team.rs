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

/// Where workers and the one who watches the clock wait for one another: apart, since a worker that is
/// done must not be woken by others while the clock runs.
#[derive(Debug, Default)]
struct Gate {
    /// How many workers there are.
    team: usize,
    stage: Mutex<Stage>,
    workers: Condvar,
    watcher: Condvar,
}

impl Gate {
    fn for_team(team: usize) -> Gate {
        Gate {
            team,
            ..Gate::default()
        }
    }

    fn stage(&self) -> MutexGuard<'_, Stage> {
        // A stage is changed by single assignments that do not panic half way.
        self.stage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets the workers begin or leave.
    fn let_go(&self, change: impl FnOnce(&mut Stage)) {
        change(&mut self.stage());
        self.workers.notify_all();
    }

    fn fail(&self) {
        self.stage().failed = true;
        self.workers.notify_all();
        self.watcher.notify_one();
    }

    /// Counts one more worker, the last of which wakes the one who watches.
    fn arrive(&self, arrived: impl FnOnce(&mut Stage) -> &mut usize) {
        let mut stage = self.stage();
        let arrived = arrived(&mut stage);
        *arrived += 1;
        if *arrived == self.team {
            self.watcher.notify_one();
        }
    }

    /// Has the one who watches wait.
    fn watch_until(&self, reached: impl Fn(&Stage) -> bool) {
        drop(self.wait(&self.watcher, reached));
    }

    /// Has a worker wait.
    fn wait_until(&self, reached: impl Fn(&Stage) -> bool) -> MutexGuard<'_, Stage> {
        self.wait(&self.workers, reached)
    }

    fn wait(&self, at: &Condvar, reached: impl Fn(&Stage) -> bool) -> MutexGuard<'_, Stage> {
        let mut stage = self.stage();
        while !reached(&stage) {
            let woken = at.wait(stage);
            stage = woken.unwrap_or_else(PoisonError::into_inner);
        }
        stage
    }
}

/// Tells the others when a worker fails or panics before it is done, or the one who watches gives up.
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
    let workers = parts.len();
    let gate = Gate::for_team(workers);
    let (gate, work) = (&gate, &work);
    thread::scope(|scope| {
        let mut alarm = Alarm { gate, armed: true };
        let mut started = Vec::with_capacity(workers);
        for (number, part) in parts.into_iter().enumerate() {
            let builder = thread::Builder::new()
                .name(format!("worker {}", number + 1))
                .stack_size(STACK);
            match builder.spawn_scoped(scope, move || attend(store, gate, part, work)) {
                Ok(worker) => started.push(worker),
                Err(error) => {
                    return Err(TrialError::CannotRun(format!(
                        "worker {} cannot be started: {error}",
                        number + 1
                    )));
                }
            }
        }
        gate.watch_until(|stage| stage.ready == workers || stage.failed);
        let watch = Stopwatch::start()?;
        gate.let_go(|stage| stage.began = Some(watch.started()));
        gate.watch_until(|stage| stage.done == workers || stage.failed);
        let elapsed = watch.stop()?;
        gate.let_go(|stage| stage.may_leave = true);
        alarm.armed = false;
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
        gate.arrive(|stage| &mut stage.ready);
        let stage = gate.wait_until(|stage| stage.began.is_some() || stage.failed);
        let began = stage.began.filter(|_| !stage.failed);
        drop(stage);
        if let (Some(began), Some(part)) = (began, part.take()) {
            result = Some(work(part, session, began)?);
            gate.arrive(|stage| &mut stage.done);
            drop(gate.wait_until(|stage| stage.may_leave || stage.failed));
        }
        Ok(())
    });
    alarm.armed = attended.is_err();
    attended.map(|()| result)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    #[test]
    fn a_worker_that_is_done_sleeps_until_it_may_leave() {
        const OTHERS: usize = 50;
        let gate = Gate::for_team(OTHERS + 1);
        let looked = AtomicUsize::new(0);
        thread::scope(|scope| {
            scope.spawn(|| {
                gate.arrive(|stage| &mut stage.done);
                drop(gate.wait_until(|stage| {
                    looked.fetch_add(1, Ordering::Relaxed);
                    stage.may_leave
                }));
            });
            for _ in 0..OTHERS {
                thread::sleep(Duration::from_millis(1));
                gate.arrive(|stage| &mut stage.done);
            }
            gate.watch_until(|stage| stage.done == OTHERS + 1);
            gate.let_go(|stage| stage.may_leave = true);
        });
        // Once before it sleeps and once when it may leave; a system may wake it for nothing, seldom.
        assert!(looked.into_inner() < OTHERS / 5);
    }
}

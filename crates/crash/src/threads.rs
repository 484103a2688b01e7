//! Threads that share work.

use crate::error::Result;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

/// Lets threads take tasks one after another, each thread with tools of its own, until all are done or
/// one failed. Returns the results in the order of the tasks.
///
/// # Errors
/// The first of a thread.
pub(crate) fn in_threads<T: Sync, W, R: Send>(
    threads: usize,
    tasks: &[T],
    start: impl Fn() -> Result<W> + Sync,
    work: impl Fn(&mut W, &T) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let worker = || -> Result<Vec<(usize, R)>> {
        let mut tools = start()?;
        let mut done = Vec::new();
        while !failed.load(Ordering::Relaxed) {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(task) = tasks.get(number) else { break };
            let result = work(&mut tools, task);
            let result = result.inspect_err(|_| failed.store(true, Ordering::Relaxed));
            done.push((number, result?));
        }
        Ok(done)
    };
    let results: Vec<_> = thread::scope(|scope| {
        let threads = 0..threads.clamp(1, tasks.len().max(1));
        let threads: Vec<_> = threads.map(|_| scope.spawn(worker)).collect();
        threads.into_iter().map(|thread| thread.join()).collect()
    });
    let mut done = Vec::new();
    for result in results {
        done.extend(result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?);
    }
    done.sort_by_key(|(number, _)| *number);
    Ok(done.into_iter().map(|(_, result)| result).collect())
}

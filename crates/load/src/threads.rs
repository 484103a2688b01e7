//! Work on several threads whose results keep the order of its parts.

use std::collections::VecDeque;
use std::sync::mpsc::{SyncSender, channel, sync_channel};
use std::sync::{Mutex, PoisonError};

use crate::error::{LoadError, Result};

/// Results of a job that wait until those before are taken.
const WAITING: usize = 8;

/// Passes a result of a job on.
pub(crate) type Give<'g, R> = &'g mut dyn FnMut(R) -> Result<()>;

/// Does each job with one of the workers, which have a thread each. `take` gets the results of all jobs in their order.
///
/// # Errors
/// The first one of a job, of its work or of `take`.
pub(crate) fn in_order<W: Send, J: Send, R: Send>(
    workers: impl Iterator<Item = W>,
    jobs: impl Iterator<Item = Result<J>>,
    work: impl Fn(&mut W, J, Give<'_, R>) -> Result<()> + Sync,
    mut take: impl FnMut(R) -> Result<()>,
) -> Result<()> {
    let (sender, waiting) = channel::<(J, SyncSender<Result<R>>)>();
    let waiting = Mutex::new(waiting);
    std::thread::scope(|scope| {
        // The threads end when it is gone.
        let sender = sender;
        let mut ahead = 0;
        for mut worker in workers {
            let (waiting, work) = (&waiting, &work);
            ahead += 2;
            scope.spawn(move || {
                let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).recv();
                while let Ok((job, results)) = next() {
                    let mut give =
                        |result| results.send(Ok(result)).map_err(|_| LoadError::Interrupted);
                    if let Err(error) = work(&mut worker, job, &mut give) {
                        // The receiver is gone after another error.
                        let _ = results.send(Err(error));
                    }
                }
            });
        }
        let mut jobs = jobs.map(|job| {
            let (results, receiver) = sync_channel(WAITING);
            let _ = sender.send((job?, results));
            Ok(receiver)
        });
        let mut begun = jobs.by_ref().take(ahead).collect::<Result<VecDeque<_>>>()?;
        while let Some(results) = begun.pop_front() {
            results.into_iter().try_for_each(|result| take(result?))?;
            begun.extend(jobs.next().transpose()?);
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_the_order_of_their_jobs() {
        let mut taken = Vec::new();
        let jobs = (0..100_u64).map(Ok);
        let work = |_: &mut (), job, give: Give<'_, u64>| {
            std::thread::sleep(std::time::Duration::from_micros(job * 7919 % 100));
            (0..job % 20).try_for_each(|part| give(job * 100 + part))
        };
        in_order([(); 3].into_iter(), jobs, work, |result| {
            taken.push(result);
            Ok(())
        })
        .unwrap();
        assert!(taken.is_sorted() && taken.len() == 950, "{taken:?}");
    }

    #[test]
    fn the_first_error_ends_the_work() {
        let error = || LoadError::Check("no".to_owned());
        let jobs = || (0..1000).map(Ok);
        let pass = |_: &mut (), job, give: Give<'_, i32>| give(job);
        let fail = |_: &mut (), job, give: Give<'_, i32>| {
            if job == 7 { Err(error()) } else { give(job) }
        };
        let workers = || [(); 2].into_iter();
        let bad_job =
            jobs().map(|job: Result<i32>| if matches!(job, Ok(7)) { Err(error()) } else { job });
        assert!(in_order(workers(), bad_job, pass, |_| Ok(())).is_err());
        assert!(in_order(workers(), jobs(), fail, |_| Ok(())).is_err());
        let taken =
            in_order(workers(), jobs(), pass, |job| if job == 7 { Err(error()) } else { Ok(()) });
        assert!(taken.is_err());
    }
}

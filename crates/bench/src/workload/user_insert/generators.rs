//! Threads that generate rows for one that inserts, since SQLite has one writer at a time.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::{Builder, scope};

use crate::error::TrialError;
use crate::generate::{User, Users};

/// Parts that each thread may be ahead of the inserting.
const AHEAD: usize = 2;

/// Generates every part of `users` in `threads` threads and calls `insert` with each in this one,
/// in whatever order they come.
///
/// # Errors
/// The first of `insert`, which ends the generating; or a thread cannot be started.
pub(super) fn each_part(
    users: Users,
    threads: usize,
    mut insert: impl FnMut(&[User]) -> Result<(), TrialError>,
) -> Result<(), TrialError> {
    let (sender, receiver) = sync_channel(AHEAD * threads);
    let next = AtomicUsize::new(0);
    scope(|scope| {
        for _ in 0..threads {
            let (sender, next) = (sender.clone(), &next);
            Builder::new().spawn_scoped(scope, move || generate(users, next, &sender)).map_err(
                |error| {
                    TrialError::Measuring(format!("a generator thread cannot be started: {error}"))
                },
            )?;
        }
        drop(sender);
        // An error drops the receiver, by which the threads notice that nobody waits any more.
        for part in receiver {
            insert(&part)?;
        }
        Ok(())
    })
}

/// Generates parts until none is left, or until nobody takes them.
fn generate(users: Users, next: &AtomicUsize, sender: &SyncSender<Vec<User>>) {
    loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        if number >= users.parts() || sender.send(users.part(number).collect()).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab::seed::Seed;

    #[test]
    fn every_part_comes_once_whatever_the_order() {
        let users = Users::new(Seed(1), 1_234, 10, 50);
        let key = |user: &User| (user.area, user.age, user.active);
        let mut wanted: Vec<_> = users.all().map(|user| key(&user)).collect();
        wanted.sort_unstable();
        for threads in [1, 4] {
            let mut found = Vec::new();
            let generated = each_part(users, threads, |part| {
                found.extend(part.iter().map(key));
                Ok(())
            });
            assert!(generated.is_ok());
            found.sort_unstable();
            assert_eq!(found, wanted);
        }
    }

    #[test]
    fn an_error_of_the_inserting_ends_the_generating() {
        let users = Users::new(Seed(1), 1_000_000_000, 100, 50);
        let error = each_part(users, 2, |_| Err(TrialError::cannot_run("full")));
        assert!(error.unwrap_err().to_string().contains("full"));
    }
}

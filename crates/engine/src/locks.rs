//! Mutexes whose content stays whole where a thread panics: single calls change it, and a panic ends the work anyway.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a mutex.
pub fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the content of a mutex that nobody else uses any more.
pub fn unlocked<T>(mutex: Mutex<T>) -> T {
    mutex.into_inner().unwrap_or_else(PoisonError::into_inner)
}

//! Waiting for the locks of other connections: SQLite's own way, and a handler of the application.
//!
//! It stands apart because SQLite calls the handler through a raw pointer, whose lifetime is argued for here.

use super::Connection;
use crate::error::Result;
use std::ffi::{c_int, c_void};
use std::ptr::NonNull;
use std::time::Duration;

/// Gets the number of earlier calls for the same lock, returns whether to try once more.
pub(super) type BusyHandler = Box<dyn FnMut(u32) -> bool + Send>;

/// A handler that SQLite points to. It is kept as a raw pointer, since a box may not be moved while
/// something else points into it.
pub(super) struct Installed<T>(NonNull<T>);

// SAFETY: the handler is `Send` and owned by this value alone; SQLite calls it only on the thread that
// uses the connection.
unsafe impl<T: Send> Send for Installed<T> {}

impl<T> Installed<T> {
    pub(super) fn new(handler: T) -> Installed<T> {
        Installed(NonNull::from(Box::leak(Box::new(handler))))
    }

    /// Returns the pointer that SQLite passes to the callback.
    pub(super) fn argument(&self) -> *mut c_void {
        self.0.as_ptr().cast()
    }
}

impl<T> Drop for Installed<T> {
    fn drop(&mut self) {
        // SAFETY: the pointer came from a box, and SQLite no longer has it: it was given another, or
        // the connection was closed first.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

impl Connection {
    /// Sets how long a statement waits for another connection's lock before it is busy; rounded down
    /// to milliseconds, 0 turns waiting off (<https://sqlite.org/c3ref/busy_timeout.html>).
    ///
    /// # Errors
    /// SQLite's, which knows none at present.
    pub fn busy_timeout(&self, timeout: Duration) -> Result<()> {
        let milliseconds = c_int::try_from(timeout.as_millis()).unwrap_or(c_int::MAX);
        // SAFETY: the handle is open.
        let code = unsafe { (self.handle.api().busy_timeout)(self.as_ptr(), milliseconds) };
        self.handle.check(code, "setting the busy timeout")
    }

    /// Lets `handler` decide what to do when another connection holds a lock: it gets the number of its
    /// calls for this lock so far and returns whether SQLite tries once more, after
    /// whatever pause it makes (<https://sqlite.org/c3ref/busy_handler.html>). It replaces the busy
    /// timeout, which reads 0 from then on; setting a busy timeout replaces it in turn.
    ///
    /// SQLite does not call it where waiting could only end in a deadlock: a transaction that has read
    /// and wants to write is busy at once.
    ///
    /// # Errors
    /// SQLite's, which knows none at present.
    pub fn busy_handler(
        &mut self,
        handler: impl FnMut(u32) -> bool + Send + 'static,
    ) -> Result<()> {
        let installed = Installed::<BusyHandler>::new(Box::new(handler));
        let argument = installed.argument();
        // SAFETY: the handle is open, and `call` expects what it is given. That stays in place until
        // SQLite has been given another or is closed: below, and by the order of the fields. No call of
        // SQLite can be going on while it is replaced, because statements borrow the connection which is
        // borrowed mutably here.
        let code = unsafe { (self.handle.api().busy_handler)(self.as_ptr(), Some(call), argument) };
        self.handle.check(code, "setting the busy handler")?;
        self.busy = Some(installed);
        Ok(())
    }
}

/// Calls the handler for SQLite.
///
/// # Safety
/// `argument` must be a handler that nobody else uses.
unsafe extern "C" fn call(argument: *mut c_void, calls: c_int) -> c_int {
    // SAFETY: as the caller vouches. The handler runs within a call of SQLite, which one thread at a
    // time makes.
    let handler = unsafe { &mut *argument.cast::<BusyHandler>() };
    c_int::from(handler(u32::try_from(calls).unwrap_or(u32::MAX)))
}

//! A handler that is called when a commit in WAL mode has released its lock, before an automatic checkpoint.
//!
//! SQLite makes automatic checkpoints by such a handler of its own, which this one replaces, so it makes them itself.
//! It stands apart because SQLite calls it through a raw pointer.

use super::Connection;
use super::busy::Installed;
use crate::error::{Result, unsupported};
use crate::ffi::{self, WalCheckpoint};
use std::ffi::{c_char, c_int, c_void};
use std::ptr::null_mut;

/// The data that SQLite points to.
pub(super) struct Hook {
    handler: Box<dyn FnMut() + Send>,
    checkpoint: WalCheckpoint,
    /// Pages of the log from which on a checkpoint is made; `None` for no checkpoints.
    pages: Option<c_int>,
}

impl Connection {
    /// Calls `handler` after each commit in WAL mode, when other connections can write again, and before the
    /// automatic checkpoint that the commit brings about (<https://sqlite.org/c3ref/wal_hook.html>). Checkpoints are
    /// made from `pages` pages of the log on, never where that is 0. `PRAGMA wal_autocheckpoint` reads 0 from then on;
    /// setting it removes the handler.
    ///
    /// # Errors
    /// An engine without WAL.
    pub fn after_wal_commits(
        &mut self,
        pages: u32,
        handler: impl FnMut() + Send + 'static,
    ) -> Result<()> {
        let api = self.handle.api();
        let install = api.wal_hook.zip(api.wal_checkpoint_v2);
        let (install, checkpoint) =
            install.ok_or(unsupported("write-ahead log", "sqlite3_wal_hook"))?;
        let installed = Installed::new(Hook {
            handler: Box::new(handler),
            checkpoint,
            pages: c_int::try_from(pages).ok().filter(|pages| *pages > 0),
        });
        // SAFETY: the handle is open, and `call` expects what it is given. That stays in place until SQLite has
        // been given another or is closed: below, and by the order of the fields. No call of SQLite can be going
        // on while it is replaced, because statements borrow the connection which is borrowed mutably here.
        unsafe { install(self.as_ptr(), Some(call), installed.argument()) };
        self.wal_commit = Some(installed);
        Ok(())
    }
}

/// Calls the handler for SQLite, then checkpoints if it is time.
///
/// # Safety
/// `argument` must be a hook that nobody else uses; `database` and `name` must come from SQLite.
unsafe extern "C" fn call(
    argument: *mut c_void,
    database: *mut ffi::sqlite3,
    name: *const c_char,
    pages: c_int,
) -> c_int {
    // SAFETY: as the caller vouches. The handler runs within a call of SQLite, which one thread at a
    // time makes.
    let hook = unsafe { &mut *argument.cast::<Hook>() };
    (hook.handler)();
    if hook.pages.is_some_and(|least| pages >= least) {
        const PASSIVE: c_int = 0;
        // SAFETY: SQLite has passed the database and the name, and allows checkpoints here; results are not wanted.
        // As in SQLite's own handler, a checkpoint that cannot be made now is made after a later commit.
        unsafe { (hook.checkpoint)(database, name, PASSIVE, null_mut(), null_mut()) };
    }
    ffi::SQLITE_OK
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Library, OpenFlags, Source};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn the_handler_is_called_once_for_each_commit_and_checkpoints_are_made() {
        let directory = tempfile::tempdir().unwrap();
        let library = Arc::new(Library::load(&Source::Embedded).unwrap());
        let path = directory.path().join("a.db");
        let mut connection = Connection::open(&library, &path, OpenFlags::default(), None).unwrap();
        connection.execute("PRAGMA journal_mode = WAL; CREATE TABLE t(a)").unwrap();
        let calls = Arc::new(AtomicU32::new(0));
        let counter = Arc::clone(&calls);
        connection
            .after_wal_commits(20, move || {
                counter.fetch_add(1, Ordering::Relaxed);
            })
            .unwrap();
        for _ in 0..100 {
            connection.execute("INSERT INTO t VALUES (randomblob(3000))").unwrap();
        }
        connection.execute("BEGIN; ROLLBACK").unwrap();
        assert_eq!(calls.load(Ordering::Relaxed), 100);
        let log = path.with_extension("db-wal").metadata().unwrap().len();
        assert!(log < 60 * 4_120, "the log begins again after a checkpoint: {log}");
        connection.execute("PRAGMA wal_autocheckpoint = 1000; INSERT INTO t VALUES (1)").unwrap();
        assert_eq!(calls.load(Ordering::Relaxed), 100, "it is removed");
    }
}

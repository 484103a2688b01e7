//! Checkpoints and the counters of a connection.

use super::Connection;
use crate::error::{Result, unsupported};
use crate::ffi;
use std::ffi::c_int;

/// How far a checkpoint of the write-ahead log goes
/// (<https://sqlite.org/c3ref/wal_checkpoint_v2.html>).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub enum CheckpointMode {
    /// As many frames as possible without waiting for anyone.
    Passive = ffi::SQLITE_CHECKPOINT_PASSIVE,
    /// Waits for writers, then all frames.
    Full = ffi::SQLITE_CHECKPOINT_FULL,
    /// As full, then waits until readers let the log start anew.
    Restart = ffi::SQLITE_CHECKPOINT_RESTART,
    /// As restart, then truncates the log to nothing.
    Truncate = ffi::SQLITE_CHECKPOINT_TRUNCATE,
}

/// The result of a checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Checkpoint {
    /// Frames in the log (0 after a truncating checkpoint).
    pub log_frames: u32,
    /// Frames of the log that are in the database file.
    pub checkpointed_frames: u32,
}

/// A counter of a connection (<https://sqlite.org/c3ref/c_dbstatus_options.html>).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub enum DbStatus {
    /// Bytes of page cache.
    CacheUsed = 1,
    /// Pages found in the cache.
    CacheHit = 7,
    /// Pages not found in the cache.
    CacheMiss = 8,
    /// Pages written to the database file or its log.
    CacheWrite = 9,
    /// Whether rows refer to missing ones, by foreign keys that are checked at the end of the transaction.
    DeferredKeys = 10,
    /// Pages written in the middle of a transaction because the cache was full.
    CacheSpill = 12,
    /// Bytes written to temporary files because memory was not to hold them.
    TempSpill = 13,
}

/// The value of a counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Status {
    /// Now.
    pub current: i64,
    /// The most there has been; 0 for counters without a high-water mark.
    pub highwater: i64,
}

impl Connection {
    /// Writes the log of the main database back into it; `None` where the database is not in WAL mode.
    ///
    /// # Errors
    /// Busy, if a lock prevented the mode; SQLite's others; an engine without WAL.
    pub fn checkpoint(&self, mode: CheckpointMode) -> Result<Option<Checkpoint>> {
        let checkpoint = self.handle.api().wal_checkpoint_v2;
        let checkpoint =
            checkpoint.ok_or(unsupported("write-ahead log", "sqlite3_wal_checkpoint_v2"))?;
        let (mut log, mut done): (c_int, c_int) = (-1, -1);
        // SAFETY: the handle is open, the name is a C string and both results are valid pointers.
        let code = unsafe {
            checkpoint(self.as_ptr(), c"main".as_ptr(), mode as c_int, &mut log, &mut done)
        };
        self.handle.check(code, "checkpointing the write-ahead log")?;
        Ok(u32::try_from(log).ok().zip(u32::try_from(done).ok()).map(
            |(log_frames, checkpointed_frames)| Checkpoint { log_frames, checkpointed_frames },
        ))
    }

    /// Reads a counter of the connection; if `reset`, sets its high-water mark (or, for counters of
    /// events, the count) back.
    ///
    /// # Errors
    /// The engine is too old to know the counter.
    pub fn db_status(&self, counter: DbStatus, reset: bool) -> Result<Status> {
        let (api, database) = (self.handle.api(), self.as_ptr());
        let (counter, reset) = (counter as c_int, c_int::from(reset));
        let (mut current, mut highwater) = (0, 0);
        let code = match api.db_status64 {
            // SAFETY: the handle is open and both results are valid pointers.
            Some(status) => unsafe {
                status(database, counter, &mut current, &mut highwater, reset)
            },
            None => {
                let (mut now, mut most): (c_int, c_int) = (0, 0);
                // SAFETY: as above.
                let code =
                    unsafe { (api.db_status)(database, counter, &mut now, &mut most, reset) };
                (current, highwater) = (now.into(), most.into());
                code
            }
        };
        self.handle.check(code, "reading a counter of the connection")?;
        Ok(Status { current, highwater })
    }

    /// Bytes of memory that the whole library has allocated, now and at most since it was loaded
    /// (<https://sqlite.org/c3ref/memory_highwater.html>); if `reset`, the mark is set back to now.
    pub fn memory(&self, reset: bool) -> Status {
        let api = self.handle.api();
        // SAFETY: no preconditions. They are methods of the connection, not of the library, so that a
        // library with THREADSAFE=0 is called by one thread at a time.
        unsafe {
            Status {
                current: (api.memory_used)(),
                highwater: (api.memory_highwater)(c_int::from(reset)),
            }
        }
    }
}

//! Clients that work on a database at the same time, as the workloads `sql`, `contention`, `replay` and `queue` need them.
//!
//! Threads that share their work in memory pass a [`gate`]. Workers that have a connection each form a [`pool`] of threads
//! or processes: they receive tasks, whose [`pacing`] decides when operations begin, and answer with [`messages`], which add
//! up to the figures of a [`period`]. Both kinds of worker processes are [`child`] processes that exchange JSON lines.

pub(crate) mod answers;
pub(crate) mod gate;
pub(crate) mod messages;
pub(crate) mod pacing;
pub(crate) mod parameters;
pub(crate) mod period;
pub(crate) mod pool;
pub(crate) mod retry;
pub(crate) mod worker;

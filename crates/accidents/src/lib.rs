#![forbid(unsafe_code)]
//! Accidents that are made to happen, instead of being derived from a recording.
//!
//! - [`kill`]: a process that writes is killed at random moments, on the real file system;
//! - [`schedule`]: what one connection does is placed inside the file-system calls of another, which
//!   finds damage that needs no crash at all;
//! - [`syncs`]: an engine whose own syncs never reach the system loses everything in a power cut.
//!
//! The crate stands apart from `crash`, which works on recorded operations without starting a process
//! or touching a disk, while everything here does.

mod error;
pub mod kill;
pub mod schedule;
pub mod syncs;

pub use error::AccidentError;

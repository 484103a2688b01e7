#![forbid(unsafe_code)]
//! The object that records what programs do with SQLite, and the reader of what it has written.
//!
//! The object is C (`c/`), because it is loaded into programs of every language and must bring nothing along;
//! it is compiled with this crate and embedded. [`Folder`] unpacks it next to the file that it fills, so a
//! program needs no setting but `LD_PRELOAD`. [`read::Recording`] reads that file, however it ended: the
//! form of the file is described in [`layout`].
//!
//! This crate knows no other one, and nothing of traces: the crate `trace` makes them of recordings.

mod folder;
pub mod layout;
pub mod read;
mod recognise;

pub use folder::{Door, Folder, FolderError, Held, Options, Values};
pub use recognise::{Obstacle, obstacle};

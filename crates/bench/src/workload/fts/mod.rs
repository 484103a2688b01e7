//! Full-text search: what the tables of FTS5 cost to fill and to query, and what they find.
//!
//! The workloads share one table of documents: [`table`] makes it as the settings ask, [`source`]
//! gives its rows, [`load`] inserts them by the clock and [`verify`] reads them again.

mod insert;
mod load;
mod source;
mod table;
mod verify;

pub(super) use insert::FtsInsert;

//! Full-text search: what the tables of FTS5 cost to fill and to query, and what they find.
//!
//! The workloads share one table of documents: [`table`] makes it as the settings ask, [`source`]
//! gives its rows, [`load`] inserts them by the clock and [`verify`] reads them again. [`queries`]
//! holds the questions, [`ask`] times them, and [`truth`] and [`found`] say how good the answers are.

mod ask;
mod finish;
mod found;
mod insert;
mod load;
mod overlap;
mod queries;
mod query;
mod source;
mod table;
mod truth;
mod update;
mod verify;

pub(super) use insert::FtsInsert;
pub(super) use overlap::FtsOverlap;
pub(super) use query::FtsQuery;
pub(super) use update::FtsUpdate;

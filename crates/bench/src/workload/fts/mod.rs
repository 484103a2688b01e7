//! Full-text search: the cost of filling and querying FTS5 tables, and what queries return.
//!
//! The workloads share one table of documents: [`table`] creates it, [`source`] provides its rows,
//! [`load`] times their insertion and [`verify`] reads them back. [`queries`] holds the queries, [`draw`]
//! draws them from a file of the user's,
//! [`execute`] times them, and [`truth`] and [`recall`] measure precision and recall.

pub(crate) mod draw;
mod execute;
mod insert;
mod load;
mod overlap;
mod queries;
mod query;
mod recall;
mod source;
mod table;
mod truth;
mod update;

pub(super) use insert::FtsInsert;
pub(super) use overlap::FtsOverlap;
pub(super) use query::FtsQuery;
pub(super) use update::FtsUpdate;

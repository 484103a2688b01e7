//! Rows into one new table: five workloads that differ in the table, the rows and the ways of inserting.
//!
//! [`writer`] has the parts that they share: the connection, its transactions and statements, the clock and the last
//! figures.

mod bulk;
mod keyed;
mod quotes;
mod text;
mod user;
mod writer;

pub(super) use bulk::BulkInsert;
pub(super) use keyed::KeyedRows;
pub(super) use quotes::Quotes;
pub(super) use text::TextInsert;
pub(super) use user::UserInsert;

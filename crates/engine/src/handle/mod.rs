//! The raw handles of SQLite, each owned by exactly one value.
//!
//! They stand apart so that every call which rests on owning a handle, or on how long bound memory
//! lives, is in one place. What the borrow checker cannot see from here is the duty of `Statement`,
//! through the unsafe functions of [`StatementHandle`].

mod database;
mod statement;

pub(crate) use database::DatabaseHandle;
pub(crate) use statement::StatementHandle;

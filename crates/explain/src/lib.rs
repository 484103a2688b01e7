#![forbid(unsafe_code)]
//! Explains a statement on a database: the work of each loop of its plan, what is wrong with it, and what helps, tried on a
//! copy and judged by counters.
//!
//! An engine that counts rows, executions and cycles of each loop ([`engine::Source::Explaining`]) executes the statement
//! ([`observe`]). Its planner says which columns an index could serve ([`candidates`]). Those that it would use are made on
//! the copy and the statements are executed with them ([`advisor`]). [`faults`] names the causes in the text, the plan and the counts.
//! Nothing here prints or judges time: steps of SQLite's virtual machine and pages are the same in every execution.

mod advice;
pub mod advisor;
pub mod candidates;
mod conditions;
pub mod faults;
mod few_rows;
mod implied;
pub mod observe;
pub mod schema;
mod shelf;
mod subject;
pub mod values;

pub use few_rows::few_rows;
pub use subject::{Needs, Query, Subject};

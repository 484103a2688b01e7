#![forbid(unsafe_code)]
//! Scripts of SQL as a workload: pgbench's language, files of named queries, and plain lists of statements.
//!
//! [`parse`] turns the text of a file into [`Script`]s: SQL with its parameters, and the meta commands between
//! the statements as [`Op`]s over numbered variables, so that a transaction runs without allocation. Words, operators,
//! functions and their errors follow pgbench (<https://www.postgresql.org/docs/current/pgbench.html>), as far as SQLite
//! supports them; anything else is refused by name and line. The crate does no I/O and does not know SQLite: it splits
//! statements by the rules of `sqlite3_complete` (<https://sqlite.org/c3ref/complete.html>).

mod error;
mod expression;
mod random;
mod script;
mod sql;
mod variables;

pub use error::{EvaluationError, ScriptError};
pub use expression::Expression;
pub use random::Prng;
pub use script::{Deck, Draw, Form, Need, Op, Popularity, Script, Statement, parse, weighted};
pub use sql::{
    Hint, Kind, Parameter, Role, Token, closing, effect, ending_at, hints, is_complete,
    may_be_open, opening, orders_rows, parameters, significant, tables, tokens, unqualified,
    with_keys, without_limit,
};
pub use variables::{Names, PREDEFINED, Slot, Value, Variables};

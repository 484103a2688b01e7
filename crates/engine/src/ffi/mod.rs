//! SQLite's C interface as far as this project uses it: types, constants and the table of functions
//! that is filled when a library is loaded.
//!
//! It stands apart because it holds declarations only, transcribed from `sqlite3.h`; nothing here
//! calls anything. Calling the table's functions is unsafe and subject to the rules of
//! <https://sqlite.org/c3ref/intro.html>; [`crate::Connection`] and [`crate::Statement`] uphold them.

mod constants;
mod table;
mod types;

pub use constants::*;
pub use table::Api;
pub use types::*;

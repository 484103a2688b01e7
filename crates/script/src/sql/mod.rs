//! SQL as text: its tokens, where statements end, and what the text says of a parameter.

pub mod effect;
mod hint;
mod token;

pub use hint::{Hint, hints};
pub(crate) use hint::{hint, is_volatile};
pub use token::is_complete;
pub(crate) use token::{End, Kind, statement, tokens};

//! SQL as text: its tokens, where statements end, and what the text says of a parameter.

pub mod effect;
mod hint;
mod order;
mod token;

pub use hint::{Hint, Parameter, Role, ending_at, hints, parameters, tables};
pub(crate) use hint::{hint, is_volatile};
pub use order::{may_be_open, orders_rows, with_keys, without_limit};
pub(crate) use token::{End, statement};
pub use token::{Kind, Token, closing, is_complete, opening, significant, tokens, unqualified};

//! New traces from others: a part of one, several in one, or one without texts.
//!
//! The new trace gets its name when it is whole; the others are only read.

mod cut;
mod draft;
mod merge;
mod redact;

pub use cut::{Part, cut};
pub use merge::merge;
pub use redact::redact;

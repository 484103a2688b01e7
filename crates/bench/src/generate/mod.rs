//! Data made from a seed, before the clock starts.

pub mod corpus;
pub mod documents;
pub mod integers;
pub mod quotes;
pub mod users;

pub(crate) use corpus::{Corpus, Era};
pub use documents::{Documents, Texts};
pub(crate) use integers::{Integers, Order, Values};
pub use quotes::Quote;
pub use users::{User, Users};

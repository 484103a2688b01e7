//! Data made from a seed, before the clock starts.

pub mod corpus;
pub mod documents;
pub mod integers;
pub mod orders;
pub mod quotes;
pub mod text;
pub mod users;

pub(crate) use corpus::{Corpus, Era};
pub use documents::Documents;
pub(crate) use integers::{Integers, Values};
pub(crate) use orders::Order;
pub use quotes::{Quote, quotes};
pub use text::Texts;
pub use users::{User, Users};

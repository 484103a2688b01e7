//! Building SQLite libraries at run time, naming them and keeping them.
//!
//! A name such as `3.46.0+recommended` says which version is compiled with which option sets
//! ([`BuildName`]); what that means for the compiler is a [`Recipe`], which is pure. A [`Workshop`]
//! fetches the source through cargo, compiles it, and keeps the library in a [`Cache`] with its
//! [`Provenance`]. What is there is whole: a build is made elsewhere and moved, and the loader compares
//! the library's hash with the one written.
//!
//! It stands apart from loading because trials load libraries and never build any: building is done
//! ahead of a run.

mod cache;
mod compiler;
mod error;
mod fetch;
mod name;
mod provenance;
mod recipe;
mod release;
mod resolve;
mod sets;
mod workshop;

pub use cache::{Cache, Kept};
pub use error::BuildError;
pub use name::{BuildName, EngineName, is_for_adding};
pub use provenance::{Compiled, Provenance};
pub use recipe::{LIBRARY_FILE, Recipe};
pub use release::{CRATE, RELEASES, Release};
pub use resolve::at_hand;
pub use sets::{BINDING, BINDING_MEANING, DEFAULT, OPTION_SETS, OptionSet};
pub use workshop::{BuildEvent, Built, Now, Tools, Train, Workshop};

pub(crate) use provenance::check;

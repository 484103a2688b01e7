//! Building SQLite libraries at run time, naming them and keeping them.
//!
//! A name such as `3.46.0+recommended` says which version is compiled with which option sets ([`BuildName`]).
//! A [`Recipe`], which is pure, translates it into compiler arguments. A [`Builder`] fetches the source
//! through cargo, compiles it, and keeps the library in a [`Cache`] with its [`Provenance`]. Libraries in the
//! cache are complete: a build is made elsewhere and moved, and the loader compares the library's hash with
//! the recorded one.
//!
//! It stands apart from loading because trials load libraries and never build any: building is done ahead of
//! a run.

mod builder;
mod cache;
mod compiler;
mod error;
mod fetch;
mod name;
pub(crate) mod provenance;
mod recipe;
mod release;
mod sets;

pub use builder::{BuildEvent, Builder, Built, Now, Tools, Train};
pub use cache::{Cache, Kept, resolve};
pub use error::BuildError;
pub use name::{BuildName, EngineName, is_for_adding};
pub use provenance::{Compiled, Provenance, sha256};
pub use recipe::{LIBRARY_FILE, Recipe};
pub use release::{CRATE, FORKS, RELEASES, Release};
pub use sets::{BINDING, BINDING_MEANING, DEFAULT, OPTION_SETS, OptionSet};

#![forbid(unsafe_code)]
//! Drivers in other languages: what there is, what must be installed, and how each is started.
//!
//! A driver is a small program in `drivers/` that speaks the protocol of a trial (`docs/protocol.md`)
//! through a binding of its language. The sources are embedded in pragmark; a manifest beside them
//! says what a driver needs, how it is installed and how it is run, so that a new one is a folder and
//! no code here. Installing is asked for by the user, since it may use the network, and goes to the
//! user's cache; a driver that is not there is a reason to skip a variant, never to fail a run.
//!
//! This room stands between the runner, which starts whatever program it is told, and `bench`, which
//! knows PRAGMAs: it completes the specification of a trial for a program that knows neither, puts the
//! engine in front of bindings that load SQLite dynamically, and checks afterwards that it was that
//! engine, with those settings, that did the work.

mod command;
mod error;
mod front;
mod home;
mod manifest;
mod registry;

pub use error::DriverError;
pub use home::Home;
pub use manifest::{Library, Manifest, ManifestError};
pub use registry::{Description, Registry, State};

#![forbid(unsafe_code)]
//! Drivers in other languages: what there is, what must be installed, and how each is started.
//!
//! A driver is a small program in `drivers/` that speaks the protocol of a trial (`docs/protocol.md`)
//! through a binding of its language. The sources are embedded in pragmark; their manifest
//! states what a driver needs, how it is installed and how it is run, so that a new one is a folder and
//! no code here. The user's own directory of drivers is read in the same way. Only the user installs
//! drivers, into the user's cache, since that may use the network; a driver that is missing is a reason to
//! skip a variant, never to fail a run.
//!
//! This crate stands between the runner, which starts any program, and `bench`, which knows PRAGMAs: it
//! completes the specification of a trial for a program that knows neither, makes bindings that load
//! SQLite dynamically load the engine under test, and checks afterwards that this engine did the work,
//! with the settings of the variant.

use std::path::Path;

use lab::catalogue::{Catalogue, DriverInfo};

mod command;
mod error;
mod home;
mod manifest;
mod preload;
mod registry;
mod template;
mod workload;

pub use error::{DriverError, Result};
pub use home::Home;
pub use manifest::{Library, Manifest, ManifestTool};
pub use registry::{Description, Registry};
pub use template::{LANGUAGES, experiment_of, language, write_new};

/// Returns everything that experiment files may name, with the drivers and their workloads that come with pragmark,
/// those in the user's own directory, and those in the directory given.
///
/// # Errors
/// When a manifest cannot be read.
pub fn catalogue(directory: Option<&Path>) -> Result<Catalogue> {
    let mut catalogue = bench::catalogue();
    let found = manifest::discover(directory, &catalogue)?;
    catalogue.workloads.extend(found.workloads);
    let drivers = found
        .manifests
        .into_iter()
        .map(|driver| DriverInfo { name: driver.name, workloads: driver.workloads });
    Ok(catalogue.with_drivers(drivers.collect()))
}

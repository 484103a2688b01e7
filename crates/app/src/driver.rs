//! Drivers: pragmark itself, and those in other languages.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;

use drivers::{Description, Home, Manifest, Registry};
use lab::record::{EngineRecord, RunPlan};
use lab::trial::{DRIVER, NATIVE};
use runner::{Driver, Local};

use crate::error::{Error, Result};
use crate::interface::Interface;

/// Returns the drivers that come with pragmark, the user's own, and a directory's.
///
/// # Errors
/// A manifest is invalid.
pub fn registry(directory: Option<&Path>) -> Result<Registry> {
    let program = std::env::current_exe().map_err(|error| {
        Error::unusable(format!("cannot find the pragmark executable: {error}"))
    })?;
    Ok(Registry::new(directory, Home::of_user(), program)?)
}

/// A driver and how it describes itself, or why it cannot be used.
pub type DriverState<'r> = (&'r Manifest, drivers::Result<Description>);

/// Returns every driver and how it describes itself, or why it is not ready. All are queried at once, because each takes a while.
pub fn states(registry: &Registry) -> Vec<DriverState<'_>> {
    thread::scope(|scope| {
        let manifests = registry.manifests.iter();
        let queries: Vec<_> = manifests
            .map(|manifest| scope.spawn(move || (manifest, registry.describe(manifest))))
            .collect();
        queries.into_iter().filter_map(|query| query.join().ok()).collect()
    })
}

/// Returns the drivers of these names or folders, or all.
///
/// # Errors
/// There is neither a driver nor a folder of a name.
pub fn named<'r>(registry: &'r Registry, names: &[String]) -> Result<Vec<&'r Manifest>> {
    if names.is_empty() {
        return Ok(registry.manifests.iter().collect());
    }
    let named: Result<Vec<_>, _> = names.iter().map(|name| registry.named(name)).collect();
    Ok(named?.concat())
}

/// Returns pragmark itself, as the driver of trials.
pub(crate) fn native() -> Result<Driver> {
    let program = std::env::current_exe()
        .map_err(|error| Error::unusable(format!("cannot find pragmark's own program: {error}")))?;
    Ok(Driver { program, arguments: vec!["trial".into()], bindings: None })
}

/// Returns pragmark itself with the drivers in other languages, for the trials that name one.
pub(crate) fn with_bindings(directory: Option<&Path>) -> Result<Driver> {
    Ok(Driver { bindings: Some(Arc::new(registry(directory)?)), ..native()? })
}

/// A use case that runs trials.
pub(crate) struct Running<'a> {
    /// The programs that run them.
    pub(crate) driver: Driver,
    /// The address of the user's PostgreSQL server.
    pub(crate) postgres: Option<&'a str>,
    /// Becomes true when it is to stop.
    pub(crate) interrupted: Arc<AtomicBool>,
    /// Who started it.
    pub(crate) ui: &'a dyn Interface,
}

impl<'a> Running<'a> {
    /// Returns one whose trials need no other driver than pragmark itself.
    pub(crate) fn native(ui: &'a dyn Interface) -> Result<Running<'a>> {
        Ok(Running { interrupted: ui.interrupted()?, driver: native()?, postgres: None, ui })
    }

    /// Returns an executor of the trials of a run on this machine.
    pub(crate) fn local(&self, run: &str, engines: &[EngineRecord]) -> Local<'_> {
        Local::new(&self.driver, run, engines, &self.interrupted).with_postgres(self.postgres)
    }
}

/// Refuses to go on without the drivers that a run began with: their variants would be skipped.
pub(crate) fn check_present(plan: &RunPlan, directory: Option<&Path>) -> Result<()> {
    let catalogue = drivers::catalogue(directory)?;
    let is_known =
        |name: &str| name == NATIVE || catalogue.drivers.iter().any(|driver| driver.name == name);
    let mut named = plan.settings().filter_map(|settings| settings.get(DRIVER)?.as_text());
    match named.find(|name| !is_known(name)) {
        None => Ok(()),
        Some(name) => {
            Err(Error::mistake(format!("the run uses the driver `{name}`, which is not here"))
                .hint("give its directory again with `--drivers DIR` or PRAGMARK_DRIVERS"))
        }
    }
}

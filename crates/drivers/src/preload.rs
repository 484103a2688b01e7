//! Making bindings that load SQLite dynamically load the engine under test.
//!
//! The dynamic loader takes the first library of the wanted name along `LD_LIBRARY_PATH`, and
//! `LD_PRELOAD` comes even before paths compiled into a program (ld.so(8)). A fresh copy for each trial
//! makes its place in memory noise between trials instead of a bias, as for the native driver.

use std::ffi::OsString;
use std::path::Path;

use engine::Source;
use tempfile::TempDir;

use crate::error::{Context, DriverError, Result};

/// The name under which programs look for SQLite on Linux.
const NAME: &str = "libsqlite3.so.0";

/// A library that programs load in place of the system's: the variables that make a program load it, and the copy,
/// which the trial needs to its end.
pub(crate) type Preloaded = (Vec<(OsString, OsString)>, Option<TempDir>);

/// Returns a copy of this engine for a program to load; nothing for the system's own library, which programs load by
/// themselves.
///
/// # Errors
/// When the engine cannot be read, is not the one that was kept, or cannot be copied, or this system has
/// another loader.
pub(crate) fn preload(engine: &Source) -> Result<Preloaded> {
    let bytes = engine.bytes().map_err(|error| DriverError::Impossible(error.to_string()))?;
    let Some(bytes) = bytes else { return Ok(Preloaded::default()) };
    if !cfg!(target_os = "linux") {
        return Err(DriverError::Impossible(
            "only on Linux can a binding be made to load another engine; `--engine system` measures it with the library that it loads by itself".to_owned(),
        ));
    }
    let directory = tempfile::Builder::new()
        .prefix("pragmark-engine-")
        .tempdir()
        .context("create a directory in", &std::env::temp_dir())?;
    let path = directory.path().join(NAME);
    std::fs::write(&path, bytes).context("write", &path)?;
    Ok((environment(directory.path(), &path), Some(directory)))
}

fn environment(directory: &Path, library: &Path) -> Vec<(OsString, OsString)> {
    let with = |name: &str, path: &Path| {
        let inherited = std::env::var_os(name);
        (OsString::from(name), before(path, inherited))
    };
    vec![with("LD_LIBRARY_PATH", directory), with("LD_PRELOAD", library)]
}

/// Returns the path before those that pragmark itself was started with. They stay, because the native driver has them
/// too: an allocator that is preloaded for some bindings only would make the comparison unfair.
fn before(path: &Path, inherited: Option<OsString>) -> OsString {
    let mut all = path.as_os_str().to_owned();
    if let Some(inherited) = inherited.filter(|paths| !paths.is_empty()) {
        all.push(":");
        all.push(inherited);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_systems_library_needs_nothing_and_another_is_copied_under_the_wanted_name() {
        assert!(preload(&Source::System).unwrap().1.is_none());
        if !cfg!(target_os = "linux") {
            return;
        }
        let (environment, directory) = preload(&Source::Embedded).unwrap();
        let directory = directory.unwrap();
        let library = directory.path().join(NAME);
        assert!(library.metadata().unwrap().len() > 100_000);
        let named = |name: &str| {
            let found = environment.iter().find(|(key, _)| key == name);
            found.unwrap().1.to_string_lossy().into_owned()
        };
        assert!(named("LD_PRELOAD").starts_with(&*library.to_string_lossy()));
        assert!(named("LD_LIBRARY_PATH").starts_with(&*directory.path().to_string_lossy()));
    }

    #[test]
    fn what_pragmark_was_started_with_comes_after_the_engine() {
        let library = Path::new("/copy/libsqlite3.so.0");
        let with = |inherited: &str| before(library, Some(inherited.into()));
        assert_eq!(with("libjemalloc.so"), "/copy/libsqlite3.so.0:libjemalloc.so");
        assert_eq!(with(""), library.as_os_str());
        assert_eq!(before(library, None), library.as_os_str());
    }

    #[test]
    fn an_engine_that_is_not_there_is_named() {
        let missing = Source::Path("/no/such/libsqlite3.so".into());
        let error = preload(&missing).err().unwrap().to_string();
        assert!(error.contains("/no/such/libsqlite3.so"), "{error}");
    }
}

//! The context of a trial: everything that a workload and a target get from outside.

use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

use engine::vfs::CountingVfs;
use engine::{Connection, Library, Origin, Source};
use lab::level::{Level, Settings};
use lab::seed::Seed;

use crate::error::Result;

/// The context of a trial.
pub struct Trial<'a> {
    /// Every setting of the variant.
    pub settings: &'a Settings,
    /// The library to be measured.
    pub library: Arc<Library>,
    /// An empty directory of the trial's own.
    pub directory: &'a Path,
    /// Seed of all data.
    pub seed: Seed,
    /// The file system seen through counters, in a counting trial.
    pub counter: Option<Arc<CountingVfs>>,
    /// Address of a PostgreSQL server, for trials that drive one.
    pub postgres: Option<&'a str>,
    /// Where files that are a result are kept, if anywhere.
    pub artifacts: Option<&'a Path>,
    /// Whether it is tested what SQL leaves open in the answers.
    pub tests_open: bool,
    /// Tells the parent which phase begins.
    pub phase: &'a mut dyn FnMut(&str),
}

/// Loads the engine of a trial with what it has to know before the first connection.
///
/// # Errors
/// The engine cannot be loaded.
pub(crate) fn load_library(engine: &str, settings: &Settings) -> Result<Arc<Library>> {
    let library = Arc::new(Library::load(&Source::from_str(engine)?)?);
    if let Some(bytes) = settings.get("page_size").and_then(Level::as_int) {
        Connection::encrypt_pages_of(&library, bytes)?;
    }
    Ok(library)
}

impl<'a> Trial<'a> {
    /// Returns a context outside of a measured trial, such as a worker's: it reports no phases and counts nothing.
    pub(crate) fn detached(
        settings: &'a Settings,
        library: &Arc<Library>,
        directory: &'a Path,
    ) -> Trial<'a> {
        Trial {
            settings,
            library: Arc::clone(library),
            directory,
            seed: Seed(0),
            counter: None,
            postgres: None,
            artifacts: None,
            tests_open: false,
            // A closure without captures has no size, so nothing is allocated or leaked.
            phase: Box::leak(Box::new(|_: &str| {})),
        }
    }

    /// Returns the name by which another process loads the same engine.
    pub(crate) fn engine_name(&self) -> String {
        match &self.library.identity().origin {
            Origin::Embedded => "default".to_owned(),
            Origin::System(_) => "system".to_owned(),
            Origin::File(path) => path.display().to_string(),
        }
    }
}

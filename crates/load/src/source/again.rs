//! Reading the same files again, with the types of columns chosen from all rows: what is done where a value
//! behind the first rows does not go with the type that they suggest.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::{Opening, Sample, Source, SourceInfo, Typing, open};
use crate::affinity::Affinity;
use crate::batch::Batch;
use crate::error::LoadError;

/// How to read the same rows again.
#[derive(Debug, Clone)]
pub struct Again {
    paths: Vec<PathBuf>,
    opening: Opening,
}

impl Again {
    /// Opens the inputs again, with types from the same rows as before.
    ///
    /// # Errors
    /// See [`open`].
    pub(crate) fn open_as_before(self) -> Result<Box<dyn Source>, LoadError> {
        open(&self.paths, &self.opening)
    }

    /// Opens the inputs again and chooses types from all rows, which reads all of them, until `stop`.
    ///
    /// # Errors
    /// See [`open`]; or `stop` has become true.
    pub(crate) fn open(mut self, stop: &Arc<AtomicBool>) -> Result<Box<dyn Source>, LoadError> {
        self.opening.sample = Sample::All(Arc::clone(stop));
        open(&self.paths, &self.opening)
    }
}

/// A source of files that can be opened again.
pub(super) struct Reopenable {
    source: Box<dyn Source>,
    again: Again,
}

impl Reopenable {
    pub(super) fn new(source: Box<dyn Source>, paths: &[PathBuf], opening: &Opening) -> Reopenable {
        let again = Again { paths: paths.to_vec(), opening: opening.clone() };
        Reopenable { source, again }
    }
}

/// Whether an input can be opened again: neither standard input nor a pipe.
pub(super) fn is_reopenable(path: &Path) -> bool {
    path != Path::new("-") && path.is_file()
}

impl Source for Reopenable {
    fn info(&self) -> &SourceInfo {
        self.source.info()
    }

    fn again(&self) -> Option<Again> {
        Some(self.again.clone())
    }

    fn read_on_demand(&mut self) {
        self.source.read_on_demand();
    }

    fn set_typing(&mut self, typing: &[Typing]) {
        self.source.set_typing(typing);
    }

    fn begin(&mut self, affinities: &[Affinity], stop: &Arc<AtomicBool>) {
        self.source.begin(affinities, stop);
    }

    fn next(&mut self) -> Result<Option<Batch>, LoadError> {
        self.source.next()
    }
}

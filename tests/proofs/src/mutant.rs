//! Engines with one mutation selected: copies of the one compiled library with another number in them.

use crate::patch::{self, MARK, Mutation};
use engine::{EngineError, Library, Source};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// The library that holds every mutation, with none selected.
static LIBRARY: &[u8] = include_bytes!(env!("PRAGMARK_MUTANTS"));

/// Why a mutant could not be made.
#[derive(Debug, Error)]
pub enum MutantError {
    /// No mutation has that name.
    #[error("there is no mutation called {0}; see tests/proofs/mutations.toml")]
    Unknown(String),
    /// The mark of the number does not occur exactly once in the library.
    #[error(
        "the compiled library holds the mark of the selected mutation {0} times instead of once"
    )]
    Mark(usize),
    /// The library could not be written.
    #[error("cannot write the engine {path}: {source}")]
    Write {
        /// Where.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The engine could not be loaded.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

/// Makes mutants.
pub struct Mutants {
    mutations: Vec<Mutation>,
    /// The offset of the number in the library.
    number_at: usize,
}

impl Mutants {
    /// All mutations of the table.
    ///
    /// # Errors
    /// [`MutantError::Mark`] where the compiler treated the mark in a way not foreseen.
    pub fn new() -> Result<Mutants, MutantError> {
        let windows = LIBRARY.windows(MARK.len()).enumerate();
        let marks: Vec<usize> = windows
            .filter(|(_, window)| *window == MARK.as_bytes())
            .map(|(offset, _)| offset)
            .collect();
        match marks[..] {
            [offset] => {
                Ok(Mutants { mutations: crate::mutations(), number_at: offset + MARK.len() })
            }
            _ => Err(MutantError::Mark(marks.len())),
        }
    }

    /// The mutations.
    pub fn mutations(&self) -> &[Mutation] {
        &self.mutations
    }

    /// Writes the engine with that mutation, or with none, into a folder and returns its path: a
    /// library that `--engine` of any command takes.
    ///
    /// # Errors
    /// An unknown mutation; a folder that cannot be written.
    pub fn write(&self, mutation: Option<&str>, folder: &Path) -> Result<PathBuf, MutantError> {
        let [selected, with] = self.numbers(mutation)?;
        let mut library = LIBRARY.to_vec();
        library[self.number_at] = selected;
        library[self.number_at + 1] = with;
        let path = folder.join(format!("{}.so", mutation.unwrap_or("sound")));
        std::fs::write(&path, library)
            .map_err(|source| MutantError::Write { path: path.clone(), source })?;
        Ok(path)
    }

    /// Loads the engine with that mutation, or with none.
    ///
    /// # Errors
    /// As [`write`](Self::write), and those of loading.
    pub fn load(&self, mutation: Option<&str>, folder: &Path) -> Result<Library, MutantError> {
        let path = self.write(mutation, folder)?;
        Ok(Library::load(&Source::Path(path))?)
    }

    /// The numbers of a mutation and of the one that is selected with it; 0 for none.
    fn numbers(&self, mutation: Option<&str>) -> Result<[u8; 2], MutantError> {
        let Some(id) = mutation else {
            return Ok([0, 0]);
        };
        let number = |id: &str| {
            let number = patch::number(&self.mutations, id);
            number.ok_or_else(|| MutantError::Unknown(id.to_owned()))
        };
        let selected = number(id)?;
        let with = &self.mutations[usize::from(selected) - 1].with;
        let with = with.as_deref().map_or(Ok(0), number)?;
        Ok([selected, with])
    }
}

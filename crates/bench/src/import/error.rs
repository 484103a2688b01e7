//! Errors of files of documents.

use std::path::PathBuf;

use load::LoadError;

/// Problem of a file of documents.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// It cannot be read, or a row of it.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// It has no rows.
    #[error("{} has no rows", .0.display())]
    Empty(PathBuf),
    /// The file as a whole cannot be used.
    #[error("{}: {}", .0.display(), .1)]
    Unusable(PathBuf, String),
}

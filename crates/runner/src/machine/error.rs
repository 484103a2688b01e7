//! Errors of examining and probing a directory.

use std::io;
use std::path::{Path, PathBuf};

/// A directory could not be described or probed. Every variant names the directory; the cause, where
/// there is one, is the error's source.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MachineError {
    /// The directory does not exist.
    #[error("the directory {} does not exist", .0.display())]
    Missing(PathBuf),
    /// The path leads to something else.
    #[error("{} is not a directory", .0.display())]
    NotADirectory(PathBuf),
    /// The directory, or its file system, does not accept writes by this user.
    #[error("the directory {} is not writable", .0.display())]
    NotWritable(PathBuf, io::Error),
    /// No space is left, or the quota is used up.
    #[error("no space is left in the directory {}", .0.display())]
    Full(PathBuf, io::Error),
    /// Anything else that the system refused.
    #[error("cannot {action} in the directory {}", directory.display())]
    Io {
        /// The directory.
        directory: PathBuf,
        /// The attempted action, as an infinitive.
        action: &'static str,
        /// The system's reason.
        source: io::Error,
    },
}

impl MachineError {
    /// Gives an I/O error in `directory` its variant by its kind.
    pub(super) fn in_directory(directory: &Path, action: &'static str, source: io::Error) -> Self {
        let directory = directory.to_owned();
        match source.kind() {
            // A virtual file system (`/proc`) says the same of a file that it will not create.
            io::ErrorKind::NotFound if !directory.exists() => Self::Missing(directory),
            io::ErrorKind::NotADirectory => Self::NotADirectory(directory),
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                Self::NotWritable(directory, source)
            }
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                Self::Full(directory, source)
            }
            _ => Self::Io { directory, action, source },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kind_of_an_io_error_chooses_the_message() {
        let message = |kind: io::ErrorKind| {
            MachineError::in_directory(Path::new("/no/such/db"), "write", kind.into()).to_string()
        };
        let cases = [
            (io::ErrorKind::NotFound, "the directory /no/such/db does not exist"),
            (io::ErrorKind::NotADirectory, "/no/such/db is not a directory"),
            (io::ErrorKind::PermissionDenied, "the directory /no/such/db is not writable"),
            (io::ErrorKind::ReadOnlyFilesystem, "the directory /no/such/db is not writable"),
            (io::ErrorKind::StorageFull, "no space is left in the directory /no/such/db"),
            (io::ErrorKind::QuotaExceeded, "no space is left in the directory /no/such/db"),
            (io::ErrorKind::Other, "cannot write in the directory /no/such/db"),
        ];
        for (kind, expected) in cases {
            assert_eq!(message(kind), expected);
        }
    }

    #[test]
    fn a_directory_that_is_there_is_not_called_missing() {
        let here = tempfile::tempdir().unwrap();
        let refused = io::ErrorKind::NotFound.into();
        let error = MachineError::in_directory(here.path(), "write", refused);
        assert!(error.to_string().starts_with("cannot write in"), "{error}");
    }
}

//! Errors of examining and probing a directory.

use std::io;
use std::path::Path;

/// A directory could not be described or probed. Every variant names the directory; the cause, where
/// there is one, is the error's source.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct MachineError(String);

impl MachineError {
    pub(super) fn in_directory(directory: &Path, action: &str, source: io::Error) -> MachineError {
        let name = directory.display();
        MachineError(match source.kind() {
            // A virtual file system (`/proc`) says the same of a file that it will not create.
            io::ErrorKind::NotFound if !directory.exists() => {
                format!("the directory {name} does not exist")
            }
            io::ErrorKind::NotADirectory => format!("{name} is not a directory"),
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                format!("the directory {name} is not writable")
            }
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                format!("no space is left in the directory {name}")
            }
            _ => format!("cannot {action} in the directory {name}"),
        })
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

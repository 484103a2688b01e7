//! Whether a load would write a file that it reads, or use one file twice.

use std::ffi::OsStr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::error::LoadError;
use crate::request::Request;
use crate::source::Source;
use crate::staging::directory;

/// No file that is read can be written at the same time, and none be both database and rejected rows.
pub(crate) fn refuse_own_input(source: &dyn Source, request: &Request) -> Result<(), LoadError> {
    let same = |path: &Path, one, other| LoadError::SameFile { path: path.to_owned(), one, other };
    for input in &source.info().files {
        if is_same_file(input, &request.database) {
            return Err(same(input, INPUT, DATABASE));
        }
        if request.rejects.as_deref().is_some_and(|path| is_same_file(input, path)) {
            return Err(same(input, INPUT, REJECTS));
        }
    }
    match &request.rejects {
        Some(rejects) if rejects.is_dir() => Err(LoadError::Definition(format!(
            "{} is a directory; name a file for rejected rows",
            rejects.display()
        ))),
        Some(rejects) if is_same_path(rejects, &request.database) => {
            Err(same(rejects, DATABASE, REJECTS))
        }
        _ => Ok(()),
    }
}

const INPUT: &str = "an input";
const DATABASE: &str = "the database to load into";
const REJECTS: &str = "the file of rejected rows";

/// Whether two paths are, or would be, the same file.
fn is_same_path(one: &Path, other: &Path) -> bool {
    one == other
        || is_same_file(one, other)
        || location(one).is_some_and(|at| Some(at) == location(other))
}

/// The true path of a directory and the name of a file in it, which need not be there yet.
fn location(path: &Path) -> Option<(PathBuf, &OsStr)> {
    Some((directory(path).canonicalize().ok()?, path.file_name()?))
}

/// Whether two paths are the same file, by whatever links; false where one of them is none.
fn is_same_file(one: &Path, other: &Path) -> bool {
    let identity = |path: &Path| {
        let metadata = std::fs::metadata(path).ok()?;
        Some((metadata.dev(), metadata.ino()))
    };
    identity(one).is_some_and(|one| Some(one) == identity(other))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_known_by_any_path_before_it_exists() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir(at("sub")).unwrap();
        assert!(is_same_path(&at("new.db"), &at("./sub/../new.db")));
        assert!(!is_same_path(&at("new.db"), &at("sub/new.db")));
        assert!(!is_same_path(&at("new.db"), &at("missing/new.db")));
    }
}

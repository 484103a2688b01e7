//! Inputs as they are named: files, folders of files, and patterns.

use std::path::{Path, PathBuf};

use crate::error::{LoadError, Result};

/// Returns the files that inputs name: for a folder every file in it, except those whose names begin with a point
/// and `_SUCCESS`, and for a pattern (`*`, `?`, `[…]`, `**`) that is not the name of a file whatever matches it, each in the order
/// of the names.
///
/// # Errors
/// A folder has no files or cannot be read; nothing matches a pattern, or it is malformed.
pub fn expand(inputs: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let expanded: Result<Vec<Vec<PathBuf>>> =
        inputs.iter().map(|input| expand_one(input)).collect();
    Ok(expanded?.concat())
}

fn expand_one(input: &Path) -> Result<Vec<PathBuf>> {
    if input.is_dir() {
        return files_in(input);
    }
    let text = input.to_string_lossy();
    if text.contains(['*', '?', '[']) && !input.exists() {
        return matches(&text);
    }
    Ok(vec![input.to_owned()])
}

fn files_in(folder: &Path) -> Result<Vec<PathBuf>> {
    let unreadable = LoadError::open(folder);
    let entries: Result<Vec<_>, _> = std::fs::read_dir(folder).map_err(&unreadable)?.collect();
    let paths = entries.map_err(&unreadable)?.into_iter().map(|entry| entry.path());
    let is_hidden = |path: &Path| {
        let name = path.file_name().unwrap_or_default().as_encoded_bytes();
        // An empty file of Spark's.
        name.starts_with(b".") || name == b"_SUCCESS"
    };
    let mut files: Vec<PathBuf> = paths.filter(|path| path.is_file() && !is_hidden(path)).collect();
    files.sort();
    if files.is_empty() {
        let reason = "the folder has no files; a pattern such as 'FOLDER/**/*.csv' names the ones in its folders";
        Err(none(folder.display(), reason))
    } else {
        Ok(files)
    }
}

fn matches(pattern: &str) -> Result<Vec<PathBuf>> {
    let found = glob::glob(pattern).map_err(|error| none(pattern, &error.to_string()))?;
    let files: Result<Vec<PathBuf>, glob::GlobError> = found.collect();
    let files = files.map_err(|error| {
        LoadError::open(error.path())(std::io::Error::other(error.error().to_string()))
    })?;
    let files: Vec<PathBuf> = files.into_iter().filter(|path| path.is_file()).collect();
    if files.is_empty() { Err(none(pattern, "no file matches the pattern")) } else { Ok(files) }
}

fn none(input: impl std::fmt::Display, reason: &str) -> LoadError {
    LoadError::Definition(format!("{input}: {reason}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_and_patterns_become_files_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for name in ["b.csv", "a.csv", ".hidden", "_SUCCESS", "c.txt", "odd[1].csv"] {
            std::fs::write(path(name), "").unwrap();
        }
        std::fs::create_dir(path("more")).unwrap();
        let expanded = |input: PathBuf| expand(&[input]).map_err(|error| error.to_string());
        let all = ["a.csv", "b.csv", "c.txt", "odd[1].csv"].map(path);
        assert_eq!(expanded(folder.path().to_owned()).unwrap(), all);
        assert_eq!(expanded(path("?.csv")).unwrap(), all[..2]);
        assert_eq!(expanded(path("odd[1].csv")).unwrap(), all[3..]);
        assert_eq!(expanded("-".into()).unwrap(), [PathBuf::from("-")]);
        assert_eq!(expanded(path("none.csv")).unwrap(), [path("none.csv")]);
        assert!(expanded(path("more")).unwrap_err().contains("has no files"));
        assert!(expanded(path("*.json")).unwrap_err().contains("no file matches"));
        assert!(expanded(path("a[")).is_err());
    }
}

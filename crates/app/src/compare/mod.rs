//! Comparisons of two sides or more, without a verdict on time.

mod exact;
mod runs;

use std::path::{Path, PathBuf};

pub use exact::{ComparedSides, ExactRequest, compare_exactly};
pub use runs::{ComparedRuns, compare_runs};

use crate::error::{Error, Result};
use crate::files::begins_as_database;
use crate::runs::is_export_database;

/// The subjects of a comparison, by their paths.
#[derive(Debug, PartialEq, Eq)]
pub enum Compared {
    /// A recorded application.
    Trace(PathBuf),
    /// Folders of runs, and their exports.
    Runs(Vec<PathBuf>),
    /// Files of SQL; empty if statements are given on the command line.
    Scripts(Vec<PathBuf>),
}

impl Compared {
    /// Finds out what these paths are.
    ///
    /// # Errors
    /// A path cannot be read, or they do not belong together.
    pub fn of(paths: &[PathBuf]) -> Result<Compared> {
        let mut runs = 0;
        for path in paths {
            let is_run = path.is_dir() || is_export(path);
            runs += usize::from(is_run || (is_database(path)? && is_export_database(path)?));
        }
        match runs {
            0 => {}
            runs if runs == paths.len() => return Ok(Compared::Runs(paths.to_vec())),
            _ => {
                return Err(
                    Error::mistake("runs cannot be compared with other files").hint(
                        "a run is its folder or its export: JSON, SQLite, Parquet, or its table of trials (`pragmark report RUN --format csv --wide --out RUN.csv`)",
                    ),
                );
            }
        }
        let mut traces = Vec::new();
        for path in paths {
            if is_database(path)? {
                traces.push(path);
            }
        }
        match (traces.as_slice(), paths) {
            ([], scripts) => Ok(Compared::Scripts(scripts.to_vec())),
            ([trace], [_]) => Ok(Compared::Trace((*trace).clone())),
            ([_, _, ..], _) if traces.len() == paths.len() => Err(several(&traces)),
            _ => Err(Error::mistake("a database or trace cannot be compared with other files")
                .hint("name statements, and each database with --db: `pragmark compare queries.sql --db old.db --db new.db`")),
        }
    }
}

/// Why several databases are no subject: sealed traces are databases, too.
fn several(files: &[&PathBuf]) -> Error {
    if files.iter().all(|file| bench::check_trace(file).is_err()) {
        Error::mistake("databases are compared by the answers of statements, and none is named")
            .hint("name statements, and each database with --db: `pragmark compare queries.sql --db old.db --db new.db`")
    } else {
        Error::mistake("two traces cannot be compared: each records different work")
            .hint("compare one trace on two engines: --engine system --engine default")
    }
}

/// Whether it is meant to be an export.
fn is_export(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "json" || extension == "csv")
}

fn is_database(path: &Path) -> Result<bool> {
    begins_as_database(path).map_err(|error| Error::reading(path, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_is_told_from_scripts_by_its_content() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str, content: &[u8]| {
            let path = folder.path().join(name);
            std::fs::write(&path, content).unwrap();
            path
        };
        let trace = path("trace.sql", b"SQLite format 3\0 and more");
        let script = path("script.trace", b"SELECT 1");
        let of = |paths: &[&PathBuf]| {
            let paths: Vec<PathBuf> = paths.iter().map(|path| (*path).clone()).collect();
            Compared::of(&paths)
        };
        assert_eq!(of(&[&trace]).unwrap(), Compared::Trace(trace.clone()));
        let scripts = vec![script.clone(), script.clone()];
        assert_eq!(of(&[&script, &script]).unwrap(), Compared::Scripts(scripts));
        let run = folder.path().to_owned();
        assert_eq!(of(&[&run, &run]).unwrap(), Compared::Runs(vec![run.clone(), run.clone()]));
        let export = path("run.json", b"{}");
        assert!(matches!(of(&[&run, &export]).unwrap(), Compared::Runs(_)));
        let words = |paths: &[&PathBuf]| of(paths).unwrap_err().words();
        assert!(words(&[&trace, &trace]).contains("databases are compared"));
        assert!(words(&[&trace, &script]).contains("trace cannot be compared"));
        assert!(words(&[&trace, &run]).contains("runs cannot be compared"));
        assert!(words(&[&folder.path().join("none")]).contains("none"));
    }
}

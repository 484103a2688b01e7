//! What the arguments of `compare` name.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::commands::digests;
use crate::failure::Failure;

/// What is compared.
#[derive(Debug, PartialEq, Eq)]
pub enum Subject {
    /// A recorded application.
    Trace(PathBuf),
    /// Folders of runs, and their exports.
    Runs(Vec<PathBuf>),
    /// Files of SQL; none where statements are given on the command line.
    Scripts(Vec<PathBuf>),
}

/// The first bytes of every SQLite database, and so of every trace.
const SQLITE: &[u8] = b"SQLite format 3\0";

impl Subject {
    /// What these paths are.
    pub fn of(paths: &[PathBuf]) -> Result<Subject, Failure> {
        let mut runs = 0;
        for path in paths {
            let is_run = path.is_dir() || is_export(path);
            runs += usize::from(is_run || (is_database(path)? && digests::is_database(path)?));
        }
        match runs {
            0 => {}
            runs if runs == paths.len() => return Ok(Subject::Runs(paths.to_vec())),
            _ => {
                return Err(
                    Failure::usage("runs and other files exclude one another").hint(
                        "a run is its folder or its export: JSON, SQLite, Parquet, or its table of trials (`pragmark export RUN --wide --out RUN.csv`)",
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
            ([], scripts) => Ok(Subject::Scripts(scripts.to_vec())),
            ([trace], [_]) => Ok(Subject::Trace((*trace).clone())),
            ([_, _, ..], _) if traces.len() == paths.len() => Err(several(&traces)),
            _ => Err(Failure::usage("a trace and files of SQL exclude one another")),
        }
    }
}

/// Why several databases are no subject: sealed traces are databases, too.
fn several(files: &[&PathBuf]) -> Failure {
    match files.iter().all(|file| bench::check_trace(file).is_err()) {
        true => Failure::usage("databases are compared by what statements answer, and none is named")
            .hint("name statements, and each database with --db: `pragmark compare queries.sql --db old.db --db new.db`"),
        false => Failure::usage("two traces cannot be compared: each is other work")
            .hint("compare one trace on two engines: --engine system --engine default"),
    }
}

/// Whether it is meant to be an export.
fn is_export(path: &Path) -> bool {
    path.extension().is_some_and(|it| it == "json" || it == "csv")
}

fn is_database(path: &Path) -> Result<bool, Failure> {
    let cannot = |error: std::io::Error| {
        Failure::unusable(format!("cannot read {}: {error}", path.display()))
    };
    let mut start = Vec::new();
    let file = File::open(path).map_err(cannot)?;
    let mut head = file.take(SQLITE.len() as u64);
    head.read_to_end(&mut start).map_err(cannot)?;
    Ok(start == SQLITE)
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
            let paths: Vec<PathBuf> = paths.iter().map(|it| (*it).clone()).collect();
            Subject::of(&paths)
        };
        assert_eq!(of(&[&trace]).unwrap(), Subject::Trace(trace.clone()));
        let scripts = vec![script.clone(), script.clone()];
        assert_eq!(of(&[&script, &script]).unwrap(), Subject::Scripts(scripts));
        let run = folder.path().to_owned();
        assert_eq!(of(&[&run, &run]).unwrap(), Subject::Runs(vec![run.clone(), run.clone()]));
        let export = path("run.json", b"{}");
        assert!(matches!(of(&[&run, &export]).unwrap(), Subject::Runs(_)));
        let words = |paths: &[&PathBuf]| of(paths).unwrap_err().words();
        assert!(words(&[&trace, &trace]).contains("databases are compared"));
        assert!(words(&[&trace, &script]).contains("exclude"));
        assert!(words(&[&trace, &run]).contains("runs and other files"));
        assert!(words(&[&folder.path().join("none")]).contains("none"));
    }
}

//! `pragmark engine add`: stores a copy of a library under a name.

use std::path::Path;

use ::engine::build::Cache;

use super::describe;
use super::prepare::problem;
use crate::commands::{output, run::native_driver};
use crate::failure::{Exit, Failure};

/// Adds the library after querying its version.
pub fn execute(library: &Path, name: &str) -> Result<Exit, Failure> {
    let driver = native_driver()?;
    let path = library.canonicalize().map_err(|error| {
        Failure::unusable(format!("cannot read {}: {error}", library.display()))
            .hint("use the path of a libsqlite3 shared library")
    })?;
    let kept = Cache::of_user()?.add(name, &path, runner::now(), |path| {
        let library = path.display().to_string();
        let record = describe(&library, &library, &driver)?;
        match problem(&record) {
            Some(failure) => Err(failure),
            None => Ok((record.version, record.source_id)),
        }
    })?;
    let text = format!(
        "{name}: SQLite {}, {}\nuse it with `pragmark run --engine {name}`, or as a level of the factor `engine`\n",
        kept.provenance.version,
        kept.library.display()
    );
    output::display(&text)
}

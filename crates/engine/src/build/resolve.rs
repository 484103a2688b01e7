//! From a name to the library that is meant.

use super::cache::Cache;
use super::error::BuildError;
use super::name::EngineName;
use crate::library::Source;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The library that a name means, by a path that does not depend on the current directory; none where
/// it is a build, which a [`Builder`](super::Builder) finds or makes.
///
/// # Errors
/// No engine was added under the name, and there is no such file.
pub fn resolve(name: &EngineName, cache: &Cache) -> Result<Option<Source>, BuildError> {
    Ok(match name {
        EngineName::Embedded => Some(Source::Embedded),
        EngineName::System => Some(Source::System),
        EngineName::Build(_) => None,
        EngineName::File(path) => Some(Source::Path(file(path)?)),
        EngineName::Added(added) => Some(Source::Path(match cache.added(added)? {
            Some(kept) => kept.library,
            None => file(Path::new(added)).map_err(|error| no_such(added, error))?,
        })),
    })
}

fn file(path: &Path) -> Result<PathBuf, BuildError> {
    path.canonicalize().map_err(|source| BuildError::Io {
        doing: "use the engine",
        path: path.to_owned(),
        source,
    })
}

/// A bare word that names no file is more likely a misspelt name than a missing file.
fn no_such(added: &str, error: BuildError) -> BuildError {
    match error {
        BuildError::Io { source, .. } if source.kind() == ErrorKind::NotFound => {
            BuildError::Unknown(added.to_owned())
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_added_engine_comes_before_a_file_and_a_name_without_either_is_unknown() {
        let directory = tempfile::tempdir().expect("a directory");
        let cache = Cache::at(directory.path().join("cache"));
        let own = directory.path().join("own.so");
        std::fs::write(&own, "a library").expect("writes");
        let name = |text: &str| text.parse::<EngineName>().expect("a name");

        let error = resolve(&name("own"), &cache).expect_err("not added");
        assert!(matches!(error, BuildError::Unknown(_)), "{error}");
        cache
            .add("own", &own, "now".to_owned(), |_| {
                Ok::<_, BuildError>(("3.1.4".to_owned(), "id".to_owned()))
            })
            .expect("added");
        let Ok(Some(Source::Path(library))) = resolve(&name("own"), &cache) else {
            panic!("an added engine");
        };
        assert!(library.starts_with(cache.root()), "{}", library.display());
        let missing = directory.path().join("missing.so");
        let error = resolve(&EngineName::File(missing.clone()), &cache).expect_err("missing");
        assert!(error.to_string().contains("missing.so"), "{error}");
        assert_eq!(resolve(&name("3.46.0"), &cache).expect("a build"), None);
    }
}

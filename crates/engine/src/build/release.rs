//! The versions of SQLite that can be had as source, and where from.
//!
//! Each release of the crate `libsqlite3-sys` carries the amalgamation of one version; cargo, which
//! builds pragmark, can fetch any of them. Where several releases carry the same version, the newest
//! of them is named.

use crate::options::{CompileOption, on};

/// A version of SQLite, or a fork of it, and the release of a crate that carries its source.
#[derive(Debug, PartialEq, Eq)]
pub struct Release {
    /// The name of the engine: the version, for example `3.54.1`, or the name of the fork.
    pub name: &'static str,
    /// The version of SQLite.
    pub version: &'static str,
    /// The crate.
    pub package: &'static str,
    /// The release of the crate.
    pub crate_version: &'static str,
    /// The amalgamation, by its path in the crate.
    pub(super) source: &'static str,
    /// Options that it cannot be compiled without.
    pub(super) options: &'static [CompileOption],
    /// Arguments of the linker for libraries that it needs.
    pub(super) libraries: &'static [&'static str],
}

/// The crate whose releases carry the amalgamation.
pub const CRATE: &str = "libsqlite3-sys";

/// Every version, the newest first. The first is the one built into pragmark.
pub static RELEASES: &[Release] = &[
    release("3.54.1", "0.39.1"),
    release("3.54.0", "0.39.0"),
    release("3.53.2", "0.38.2"),
    release("3.53.1", "0.38.0"),
    release("3.51.3", "0.37.0"),
    release("3.51.1", "0.36.0"),
    release("3.50.2", "0.35.0"),
    release("3.49.2", "0.34.0"),
    release("3.49.1", "0.33.0"),
    release("3.48.0", "0.31.0"),
    release("3.46.0", "0.30.1"),
    release("3.45.0", "0.28.0"),
    release("3.44.0", "0.27.0"),
    release("3.41.2", "0.26.0"),
    release("3.39.2", "0.25.2"),
    release("3.38.2", "0.24.2"),
    release("3.37.0", "0.23.2"),
    release("3.35.4", "0.22.2"),
    release("3.33.0", "0.20.1"),
    release("3.31.1", "0.18.0"),
    release("3.28.0", "0.15.0"),
    release("3.26.0", "0.12.0"),
    release("3.24.0", "0.9.3"),
    release("3.17.0", "0.8.1"),
];

/// The forks of SQLite, by name.
pub static FORKS: &[Release] = &[
    Release {
        name: "libsql",
        package: "libsql-ffi",
        source: "bundled/src/sqlite3.c",
        ..release("3.47.0", "0.10.0")
    },
    // Needs the headers of OpenSSL. Temporary files stay in memory, because they would not be encrypted.
    Release {
        name: "sqlcipher",
        package: "sqlcipher-src",
        source: "sqlcipher/sqlcipher.c",
        options: &[
            on("SQLITE_HAS_CODEC", "databases are encrypted"),
            valued("SQLITE_TEMP_STORE", "2", "temporary files are kept in memory"),
            valued("SQLITE_EXTRA_INIT", "sqlcipher_extra_init", "starts the cipher"),
            valued("SQLITE_EXTRA_SHUTDOWN", "sqlcipher_extra_shutdown", "ends the cipher"),
        ],
        libraries: &["-lcrypto"],
        ..release("3.54.1", "420.0.0")
    },
];

const fn release(version: &'static str, crate_version: &'static str) -> Release {
    Release {
        name: version,
        version,
        package: CRATE,
        crate_version,
        source: "sqlite3/sqlite3.c",
        options: &[],
        libraries: &[],
    }
}

const fn valued(name: &'static str, value: &'static str, meaning: &'static str) -> CompileOption {
    CompileOption { name, value: Some(value), meaning }
}

/// Returns the release or fork of this name.
pub fn find(name: &str) -> Option<&'static Release> {
    RELEASES.iter().chain(FORKS).find(|release| release.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Library, Source};

    fn numbers(version: &str) -> Vec<u32> {
        version.split('.').map(|part| part.parse().expect("a number")).collect()
    }

    #[test]
    fn the_newest_comes_first_and_each_version_and_release_once() {
        for pair in RELEASES.windows(2) {
            assert!(numbers(pair[0].version) > numbers(pair[1].version));
            assert!(numbers(pair[0].crate_version) > numbers(pair[1].crate_version));
        }
    }

    #[test]
    fn the_first_is_the_one_built_in() {
        let built_in = Library::load(&Source::Embedded).expect("loads");
        assert_eq!(built_in.identity().version, RELEASES[0].version);
    }
}

//! Finds executables: along `PATH`, then in the places where packages put them.
//!
//! Apart from the list of tools because this is about directories and knows no tool.

use std::cmp::Reverse;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The first directory in which one of `commands` is executable, together with all `companions`;
/// gives the path of the command. Names are tried in the order given, each in every directory.
pub(super) fn find_executable(
    directories: &[PathBuf],
    commands: &[&str],
    companions: &[&str],
) -> Option<PathBuf> {
    commands.iter().find_map(|command| {
        directories
            .iter()
            .filter(|directory| {
                companions.iter().all(|companion| is_executable(&directory.join(companion)))
            })
            .map(|directory| directory.join(command))
            .find(|path| is_executable(path))
    })
}

/// The directories of `PATH`, then those that match `usual`.
pub(super) fn directories(path: Option<&OsStr>, usual: &[&str]) -> Vec<PathBuf> {
    let on_path = path.into_iter().flat_map(std::env::split_paths);
    on_path
        .filter(|directory| directory.is_absolute())
        .chain(usual.iter().flat_map(|pattern| expand(pattern)))
        .collect()
}

fn is_executable(path: &Path) -> bool {
    fs::metadata(path)
        .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

/// The directories that match a pattern with at most one `*`, which stands for part of one name: the
/// highest version first.
fn expand(pattern: &str) -> Vec<PathBuf> {
    let Some((before, after)) = pattern.split_once('*') else {
        return vec![pattern.into()];
    };
    let (parent, prefix) = before.rsplit_once('/').unwrap_or((".", before));
    let (suffix, below) = after.split_once('/').unwrap_or((after, ""));
    let Ok(entries) = fs::read_dir(parent) else {
        return Vec::new();
    };
    let mut matches: Vec<(Vec<u32>, PathBuf)> = entries
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let version = name.strip_prefix(prefix)?.strip_suffix(suffix)?;
            Some((numbers(version), entry.path().join(below)))
        })
        .collect();
    matches.sort_by_key(|entry| Reverse(entry.clone()));
    matches.into_iter().map(|(_, path)| path).collect()
}

/// The numbers in a version, so that 16 comes after 9.6.
fn numbers(version: &str) -> Vec<u32> {
    version.split(|c: char| !c.is_ascii_digit()).filter_map(|part| part.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn executable(path: &Path) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    #[test]
    fn the_path_comes_before_the_usual_places_and_higher_versions_first() {
        let root = tempfile::tempdir().unwrap();
        let at = |path: &str| root.path().join(path);
        for directory in ["pg/9.6/bin", "pg/16/bin", "pg/15/bin"] {
            fs::create_dir_all(at(directory)).unwrap();
        }
        let usual = at("pg/*/bin").display().to_string();
        let on_path = std::env::join_paths([at("first"), "relative".into()]).unwrap();
        assert_eq!(
            directories(Some(&on_path), &[&usual, "/plain"]),
            [at("first"), at("pg/16/bin"), at("pg/15/bin"), at("pg/9.6/bin"), "/plain".into()]
        );
        assert!(directories(None, &["/no/such/*/bin"]).is_empty());
    }

    #[test]
    fn a_star_may_be_part_of_a_name() {
        let root = tempfile::tempdir().unwrap();
        for directory in ["pgsql-13", "pgsql-17", "other-18"] {
            fs::create_dir_all(root.path().join(directory)).unwrap();
        }
        let pattern = root.path().join("pgsql-*/bin").display().to_string();
        assert_eq!(
            expand(&pattern),
            [root.path().join("pgsql-17/bin"), root.path().join("pgsql-13/bin")]
        );
    }

    #[test]
    fn what_is_not_executable_is_passed_over() {
        let root = tempfile::tempdir().unwrap();
        let (a, b) = (root.path().join("a"), root.path().join("b"));
        fs::create_dir_all(a.join("tool")).unwrap();
        executable(&b.join("tool"));
        fs::write(a.join("plain"), "").unwrap();
        let directories = [a, b.clone()];
        assert_eq!(find_executable(&directories, &["tool"], &[]), Some(b.join("tool")));
        assert_eq!(find_executable(&directories, &["plain"], &[]), None);
    }

    #[test]
    fn companions_must_be_in_the_same_directory() {
        let root = tempfile::tempdir().unwrap();
        let (a, b) = (root.path().join("a"), root.path().join("b"));
        executable(&a.join("initdb"));
        executable(&b.join("initdb"));
        executable(&b.join("pg_ctl"));
        assert_eq!(
            find_executable(&[a, b.clone()], &["initdb"], &["pg_ctl"]),
            Some(b.join("initdb"))
        );
    }

    #[test]
    fn the_first_name_is_preferred_wherever_it_is() {
        let root = tempfile::tempdir().unwrap();
        let (a, b) = (root.path().join("a"), root.path().join("b"));
        executable(&a.join("clang"));
        executable(&b.join("cc"));
        assert_eq!(find_executable(&[a, b.clone()], &["cc", "clang"], &[]), Some(b.join("cc")));
    }
}

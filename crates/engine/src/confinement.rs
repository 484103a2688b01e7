//! SQL of somebody else: it opens no file outside of one directory, and loads no code.
//!
//! A process is confined from its beginning to its end, by the environment variable [`CONFINED`], which the processes that
//! it starts inherit. Each of its connections has an authorizer (<https://sqlite.org/c3ref/set_authorizer.html>), which
//! SQLite calls when it compiles a statement: executing it costs nothing more.

use crate::ffi;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::path::{Component, Path, PathBuf};
use std::sync::OnceLock;

/// The environment variable that names the directory to which SQL is confined.
pub const CONFINED: &str = "PRAGMARK_CONFINED_TO";

/// Functions that load code.
const LOADING: [&str; 2] = ["load_extension", "fts3_tokenizer"];

/// PRAGMAs that have SQLite write elsewhere.
const ELSEWHERE: [&str; 2] = ["temp_store_directory", "data_store_directory"];

/// Returns the directory to which this process is confined, if it is.
fn directory() -> Option<&'static Path> {
    static DIRECTORY: OnceLock<Option<PathBuf>> = OnceLock::new();
    let named = || std::env::var_os(CONFINED).map(PathBuf::from);
    // A directory that does not exist holds no file: nothing can be opened then.
    let read = || named().map(|path| path.canonicalize().unwrap_or(path));
    DIRECTORY.get_or_init(read).as_deref()
}

/// Returns whether SQL is confined in this process.
pub(crate) fn is_on() -> bool {
    directory().is_some()
}

/// Decides whether SQLite may perform an action; called for each action of a statement.
pub(crate) unsafe extern "C" fn authorize(
    _: *mut c_void,
    action: c_int,
    first: *const c_char,
    second: *const c_char,
    _: *const c_char,
    _: *const c_char,
) -> c_int {
    let text = |text: *const c_char| {
        // SAFETY: SQLite passes null or a C string that lives as long as the call.
        (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy())
    };
    let (first, second) = (text(first), text(second));
    match directory() {
        Some(directory) if !may(directory, action, first.as_deref(), second.as_deref()) => {
            ffi::SQLITE_DENY
        }
        _ => ffi::SQLITE_OK,
    }
}

/// Returns whether a statement may do this.
fn may(directory: &Path, action: c_int, first: Option<&str>, second: Option<&str>) -> bool {
    let is_one_of = |names: &[&str], name: Option<&str>| {
        name.is_some_and(|name| names.iter().any(|known| known.eq_ignore_ascii_case(name)))
    };
    match action {
        // The name is missing where it is an expression. VACUUM INTO attaches its file, too.
        ffi::SQLITE_ATTACH => first.is_some_and(|file| is_inside(directory, file)),
        ffi::SQLITE_FUNCTION => !is_one_of(&LOADING, second),
        ffi::SQLITE_PRAGMA => second.is_none() || !is_one_of(&ELSEWHERE, first),
        _ => true,
    }
}

/// Returns whether a database of this name is in memory, temporary, or a file in the directory.
fn is_inside(directory: &Path, file: &str) -> bool {
    if file.is_empty() || file == ":memory:" {
        return true;
    }
    let is_uri = file.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("file:"));
    let Ok(path) = std::path::absolute(file) else { return false };
    let climbs = path.components().any(|part| part == Component::ParentDir);
    let parent = path.parent().and_then(|folder| folder.canonicalize().ok());
    let is_below = parent.is_some_and(|folder| folder.starts_with(directory));
    !is_uri && !climbs && is_below && !path.is_symlink()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_in_the_directory_are_inside() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        std::os::unix::fs::symlink("/etc/passwd", root.join("link")).unwrap();
        let own = |name: &str| root.join(name).display().to_string();
        for file in ["", ":memory:", &own("x.db")] {
            assert!(is_inside(&root, file), "{file}");
        }
        let outside = [
            "/etc/passwd",
            "x.db",
            "file:/etc/passwd",
            "FILE:x.db",
            &own("../x.db"),
            &own("none/x.db"),
            &own("link"),
        ];
        for file in outside {
            assert!(!is_inside(&root, file), "{file}");
        }
    }

    #[test]
    fn code_and_other_directories_are_refused() {
        let root = Path::new("/data");
        let load = Some("LOAD_EXTENSION");
        assert!(!may(root, ffi::SQLITE_FUNCTION, None, load));
        assert!(may(root, ffi::SQLITE_FUNCTION, None, Some("length")));
        let elsewhere = Some("temp_store_directory");
        assert!(!may(root, ffi::SQLITE_PRAGMA, elsewhere, Some("/etc")));
        assert!(may(root, ffi::SQLITE_PRAGMA, elsewhere, None));
        assert!(may(root, ffi::SQLITE_PRAGMA, Some("journal_mode"), Some("wal")));
        assert!(!may(root, ffi::SQLITE_ATTACH, None, None), "an expression");
    }
}

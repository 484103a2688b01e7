//! The module in Python, with the libraries that are installed there.

use std::path::Path;
use std::process::Command;

/// A folder with the module as a wheel would install it.
fn installed() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let package = folder.path().join("pragmark");
    std::fs::create_dir(&package).unwrap();
    let sources =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/python/module/pragmark");
    for name in ["__init__.py", "_pragmark.pyi", "py.typed"] {
        std::fs::copy(sources.join(name), package.join(name)).unwrap();
    }
    std::fs::copy(testing::shared_library("_pragmark"), package.join("_pragmark.abi3.so")).unwrap();
    folder
}

fn python() -> String {
    std::env::var("PRAGMARK_PYTHON").unwrap_or_else(|_| "python3".to_owned())
}

/// Runs the tests of the module that belong to a library.
fn test(library: &str) {
    test_class(library, &format!("With_{library}"));
}

/// Runs the tests of a class, which need a library.
fn test_class(library: &str, class: &str) {
    let has_it = Command::new(python())
        .args(["-c", &format!("import {library}")])
        .output()
        .is_ok_and(|output| output.status.success());
    if !has_it {
        testing::skip(format!("{} has no {library} (pip install {library})", python()));
        return;
    }
    let folder = installed();
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/module.py");
    let output = Command::new(python())
        .arg(tests)
        .arg(class)
        .env("PYTHONPATH", folder.path())
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    print!("{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn tables_of_pyarrow_are_loaded() {
    test("pyarrow");
}

#[test]
fn a_killed_process_leaves_the_old_database_or_the_complete_new_one() {
    test_class("pyarrow", "With_pyarrow_and_kills");
}

#[test]
fn frames_of_polars_are_loaded() {
    test("polars");
}

#[test]
fn frames_of_pandas_are_loaded() {
    test("pandas");
}

#[test]
fn relations_of_duckdb_are_loaded() {
    test("duckdb");
}

//! The examples do what they say, in every language whose tools are installed.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn example(name: &str) -> PathBuf {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    crates.parent().unwrap().join("examples/columns").join(name)
}

fn printed(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn the_example_in_c_inserts_a_batch() {
    if !Path::new("/usr/include/sqlite3.h").exists() {
        testing::skip("/usr/include/sqlite3.h is not installed (Debian: libsqlite3-dev)");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("insert");
    let compiled = Command::new("cc")
        .args(["-Wall", "-Wextra", "-Werror", "-o"])
        .args([&program, &example("insert.c")])
        .arg("-lsqlite3")
        .output()
        .unwrap();
    printed(&compiled);
    let output =
        Command::new(&program).arg(testing::shared_library("pragmark_columns")).output().unwrap();
    assert_eq!(printed(&output), "1|Ada\n2|NULL\n3|Grace\n");
}

#[test]
fn the_example_in_python_inserts_a_stream() {
    // Another Python can be named, for example one of a virtual environment that has pyarrow.
    let python = std::env::var("PRAGMARK_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let has_pyarrow = Command::new(&python)
        .args(["-c", "import pyarrow, ctypes.util; assert ctypes.util.find_library('sqlite3')"])
        .output()
        .is_ok_and(|output| output.status.success());
    if !has_pyarrow {
        testing::skip(format_args!("{python} has no pyarrow, or the system no libsqlite3"));
        return;
    }
    let output = Command::new(&python)
        .arg(example("insert.py"))
        .arg(testing::shared_library("pragmark_columns"))
        .output()
        .unwrap();
    assert_eq!(printed(&output), "1|Ada|0.5\n2|NULL|1.5\n3|Grace|NULL\n");
}

#[test]
fn the_example_in_rust_inserts_a_batch() {
    let program = testing::built("examples/insert");
    let output =
        Command::new(program).arg(testing::shared_library("pragmark_columns")).output().unwrap();
    assert_eq!(printed(&output), "1|Ada\n2|NULL\n3|Grace\n");
}

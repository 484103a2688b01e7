//! Compiles the recorder, a shared object that is loaded into other programs, and has the crate embed it.
//!
//! It links nothing but the C library. SQLite's headers come with `libsqlite3-sys`; its library is not used.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The files of the recorder.
const SOURCES: [&str; 13] = [
    "code.c", "commits.c", "configure.c", "doors.c", "file.c", "hooks.c", "library.c", "scan.c",
    "secrets.c", "shape.c", "snapshot.c", "texts.c", "values.c",
];

fn main() {
    println!("cargo:rerun-if-changed=c");
    println!("cargo:rerun-if-changed=build.rs");
    // Tests compile programs that contain SQLite.
    println!(
        "cargo:rustc-env=PRAGMARK_SQLITE_SOURCE={}",
        required_path("DEP_SQLITE3_INCLUDE").display()
    );
    make("PRAGMARK_RECORDER", "recorder.object", &[]);
    make("PRAGMARK_INTERPOSING_RECORDER", "interposing.object", &["interpose.c"]);
}

/// Compiles the recorder with further files, and has a variable name it.
fn make(variable: &str, name: &str, further: &[&str]) {
    let object = required_path("OUT_DIR").join(name);
    println!("cargo:rustc-env={variable}={}", object.display());
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        compile(&object, further);
    } else {
        // The doors are those of Linux; elsewhere the command says that it cannot record.
        std::fs::write(&object, []).expect("OUT_DIR is writable");
    }
}

fn required_path(variable: &str) -> PathBuf {
    std::env::var_os(variable)
        .unwrap_or_else(|| panic!("cargo did not set {variable} for the build script of recorder"))
        .into()
}

/// Compiles without gaps between segments: the file has two pages less, and stays below 64 KiB. Zig does not know this option
/// of the linker, and leaves no gaps.
fn compile(object: &Path, further: &[&str]) {
    let without_gaps = output(compilation(object, further).arg("-Wl,-z,noseparate-code"));
    if without_gaps.status.success() {
        return;
    }
    let output = output(&mut compilation(object, further));
    assert!(
        output.status.success(),
        "compiling the recorder failed ({})\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr),
    );
}

fn compilation(object: &Path, further: &[&str]) -> Command {
    let mut build = cc::Build::new();
    build.opt_level(2).debug(false).pic(true).warnings(false);
    // The programs into which it is loaded have no sanitizer, even where this one has.
    build.flag("-fno-sanitize=address");
    let mut command = build.get_compiler().to_command();
    command
        .args(["-std=gnu11", "-O2", "-Wall", "-Wextra", "-fvisibility=hidden"])
        .args(["-shared", "-s", "-Wl,-z,now", "-Wl,-z,defs", "-pthread"])
        .arg("-I")
        .arg(required_path("DEP_SQLITE3_INCLUDE"))
        .args(SOURCES.iter().chain(further).map(|name| Path::new("c").join(name)))
        .arg("-o")
        .arg(object)
        .arg("-ldl");
    command
}

fn output(command: &mut Command) -> Output {
    command.output().unwrap_or_else(|error| panic!("cannot start the C compiler: {error}"))
}

//! Compiles the default engine and the engine of explanations, shared SQLite libraries that the crate embeds, from the
//! amalgamation that `libsqlite3-sys` carries, and tells dependents where that amalgamation is.

#[path = "src/options.rs"]
#[allow(dead_code)]
mod options;

use std::path::{Path, PathBuf};
use std::process::Command;

/// The names the crate embeds; the same on every system, because they are never loaded under them.
const LIBRARY_FILE: &str = "default-engine.library";
const EXPLAINING_FILE: &str = "explaining-engine.library";

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=src/options.rs");
    let amalgamation = required_path("DEP_SQLITE3_INCLUDE");
    println!("cargo:rerun-if-changed={}", amalgamation.join("sqlite3.c").display());
    println!("cargo:amalgamation={}", amalgamation.display());
    // For the tests, which compile engines of other options.
    println!("cargo:rustc-env=PRAGMARK_AMALGAMATION={}", amalgamation.display());

    let source = amalgamation.join("sqlite3.c");
    let out = required_path("OUT_DIR");
    let (library, explaining) = (out.join(LIBRARY_FILE), out.join(EXPLAINING_FILE));
    let scan_status = [options::SCAN_STATUS_OPTIMISATION.to_owned(), options::SCAN_STATUS.define()];
    std::thread::scope(|scope| {
        scope.spawn(|| make(&source, &explaining, &scan_status));
        make(&source, &library, &[]);
    });
    println!("cargo:rustc-env=PRAGMARK_DEFAULT_ENGINE={}", library.display());
    println!("cargo:rustc-env=PRAGMARK_EXPLAINING_ENGINE={}", explaining.display());
}

fn required_path(variable: &str) -> PathBuf {
    std::env::var_os(variable)
        .unwrap_or_else(|| panic!("cargo did not set {variable} for the build script of engine"))
        .into()
}

/// Makes the shared library with one command. With the address sanitizer it takes two: the compiler would link its own
/// runtime into the library, which works only if nothing else in the process has one, and the Rust program has.
fn make(source: &Path, library: &Path, arguments: &[String]) {
    let compiler = compiler();
    if !is_sanitized() {
        let mut command = compile_command(&compiler, source, library, arguments);
        command.args(options::link_arguments(&target_system()));
        return run(command);
    }
    let object = library.with_extension("o");
    let mut compilation = compile_command(&compiler, source, &object, arguments);
    compilation.arg("-c");
    run(compilation);
    let mut linking = compiler.to_command();
    linking.arg("-fno-sanitize=address").arg(&object);
    linking.arg("-o").arg(library);
    linking.args(options::link_arguments(&target_system()));
    run(linking);
}

/// Whether the Rust code is compiled with the address sanitizer; `cc` has the C code compiled with it, too.
fn is_sanitized() -> bool {
    let sanitizers = std::env::var("CARGO_CFG_SANITIZE").unwrap_or_default();
    sanitizers.split(',').any(|name| name == "address")
}

fn compiler() -> cc::Tool {
    let mut build = cc::Build::new();
    build.opt_level(2).debug(false).warnings(false).pic(true);
    for flag in options::WHERE_SUPPORTED {
        build.flag_if_supported(*flag);
    }
    let compiler = build.get_compiler();
    assert!(
        !compiler.is_like_msvc(),
        "the default engine needs a gcc or clang compatible compiler"
    );
    compiler
}

/// The command that compiles the source. Flags which come last win, so the level of
/// optimisation is the declared one even where CFLAGS or the cargo profile ask for another.
fn compile_command(
    compiler: &cc::Tool,
    source: &Path,
    output: &Path,
    arguments: &[String],
) -> Command {
    let mut command = compiler.to_command();
    command.arg(options::OPTIMISATION);
    command.args(options::COMMON_FLAGS);
    command.args(options::COMPILE_OPTIONS.iter().map(options::CompileOption::define));
    command.args(arguments).arg(source).arg("-o").arg(output);
    command
}

fn target_system() -> String {
    std::env::var("CARGO_CFG_TARGET_OS").unwrap_or_default()
}

fn run(mut command: Command) {
    let output = command.output().unwrap_or_else(|error| {
        panic!("cannot start the C compiler: {error}\ncommand: {command:?}")
    });
    assert!(
        output.status.success(),
        "compiling the default engine failed ({})\ncommand: {command:?}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr),
    );
}

//! Compiles one SQLite library that holds every mutation of `mutations.toml`, with none selected.
//!
//! A mutation that does not fit this version of SQLite is left out here and reported by the tests, so
//! that a new amalgamation never keeps the rest of pragmark from being built.

#[path = "../../crates/engine/src/options.rs"]
#[allow(dead_code)]
mod options;
#[path = "src/patch.rs"]
#[allow(dead_code)]
mod patch;

use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    for file in ["build.rs", "mutations.toml", "src/patch.rs", "../../crates/engine/src/options.rs"]
    {
        println!("cargo:rerun-if-changed={file}");
    }
    let amalgamation = required_path("DEP_PRAGMARK_ENGINE_AMALGAMATION").join("sqlite3.c");
    println!("cargo:rerun-if-changed={}", amalgamation.display());
    println!("cargo:rustc-env=PRAGMARK_AMALGAMATION_FILE={}", amalgamation.display());

    let source = std::fs::read_to_string(&amalgamation)
        .unwrap_or_else(|error| panic!("cannot read {}: {error}", amalgamation.display()));
    let mutations = patch::parse(patch::TABLE).unwrap_or_else(|error| panic!("{error}"));
    let (patched, problems) = patch::apply(&source, &mutations);
    for problem in problems {
        println!("cargo:warning={problem}");
    }

    let out = required_path("OUT_DIR");
    let (mutated, library) = (out.join("mutants.c"), out.join("mutants.library"));
    std::fs::write(&mutated, patched)
        .unwrap_or_else(|error| panic!("cannot write {}: {error}", mutated.display()));
    run(compile_command(&mutated, &library));
    println!("cargo:rustc-env=PRAGMARK_MUTANTS={}", library.display());
}

fn required_path(variable: &str) -> PathBuf {
    std::env::var_os(variable)
        .unwrap_or_else(|| panic!("cargo did not set {variable} for the build script of proofs"))
        .into()
}

/// As the default engine is compiled, but with less optimisation: mutants are judged, never timed.
fn compile_command(source: &Path, library: &Path) -> Command {
    let compiler =
        cc::Build::new().opt_level(1).debug(false).warnings(false).pic(true).get_compiler();
    let mut command = compiler.to_command();
    command.args(["-O1", "-fPIC"]);
    command.args(options::COMPILE_OPTIONS.iter().map(options::CompileOption::define));
    let link: &[&str] = match std::env::var("CARGO_CFG_TARGET_OS").as_deref() {
        Ok("macos") => &["-dynamiclib"],
        _ => &["-shared", "-Wl,-Bsymbolic", "-s", "-lm", "-lpthread"],
    };
    command.arg(source).arg("-o").arg(library).args(link);
    command
}

fn run(mut command: Command) {
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("cannot start the C compiler: {error}\n{command:?}"));
    assert!(
        output.status.success(),
        "compiling the mutants failed ({})\n{command:?}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
}

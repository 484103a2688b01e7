//! What building an engine costs beyond the C compiler.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use engine::build::Provenance;
use lab::stats::quantile;

use crate::Failure;

/// Builds the engine with an empty cache, compiles the same source with the same command alone, in
/// alternating order, and compares the times.
pub fn run(pragmark: &Path, name: &str, pairs: usize) -> Result<(), Failure> {
    let mut ratios = Vec::new();
    for pair in 0..pairs {
        // The second one benefits from the kernel's page cache, so the order alternates.
        let cache = tempfile::tempdir()?;
        let (build_s, alone_s) = match pair % 2 {
            0 => {
                let (build_s, command) = build(pragmark, name, cache.path())?;
                (build_s, compile(&command)?)
            }
            _ => {
                let first = tempfile::tempdir()?;
                let (_, command) = build(pragmark, name, first.path())?;
                let alone_s = compile(&command)?;
                (build(pragmark, name, cache.path())?.0, alone_s)
            }
        };
        println!("  build {build_s:.2} s, compiler alone {alone_s:.2} s");
        ratios.push(build_s / alone_s);
    }
    let at = |fraction| quantile(&ratios, fraction).unwrap_or(f64::NAN);
    println!(
        "building {name}, {pairs} pairs: {:.3} of the compiler's time, {:.3} to {:.3} (target: 1.10)",
        at(0.5),
        at(0.0),
        at(1.0)
    );
    Ok(())
}

/// The input of the compiler.
struct Compilation {
    compiler: String,
    arguments: Vec<String>,
    source: String,
}

/// The time of the build in seconds, and how its source was compiled.
fn build(pragmark: &Path, name: &str, cache: &Path) -> Result<(f64, Compilation), Failure> {
    let clock = Instant::now();
    let answer = Command::new(pragmark)
        .args(["engine", "build", name])
        .env("PRAGMARK_CACHE", cache)
        .output()?;
    let seconds = clock.elapsed().as_secs_f64();
    if !answer.status.success() {
        return Err(String::from_utf8_lossy(&answer.stderr).into_owned().into());
    }
    let line = String::from_utf8(answer.stdout)?;
    let library = line.trim().rsplit('\t').next().unwrap_or_default();
    let made = Provenance::read(Path::new(library))?.ok_or("the build has no provenance")?;
    let compiled = made.compiled.ok_or("the engine was not compiled")?;
    if compiled.profile_guided {
        return Err("a profile-guided build needs more than one compiler command".into());
    }
    Ok((
        seconds,
        Compilation {
            compiler: compiled.compiler,
            arguments: compiled.arguments,
            // The source of the built-in version is available without cargo.
            source: format!("{}/sqlite3.c", env!("PRAGMARK_AMALGAMATION")),
        },
    ))
}

/// The time of the compiler alone in seconds.
fn compile(compilation: &Compilation) -> Result<f64, Failure> {
    let directory = tempfile::tempdir()?;
    let mut words = compilation.compiler.split_whitespace();
    let program = words.next().ok_or("the build names no compiler")?;
    let clock = Instant::now();
    let status = Command::new(program)
        .args(words)
        .args(&compilation.arguments)
        .arg(&compilation.source)
        .arg("-o")
        .arg(directory.path().join("alone.library"))
        .args(engine::link_arguments(std::env::consts::OS))
        .status()?;
    let seconds = clock.elapsed().as_secs_f64();
    match status.success() {
        true => Ok(seconds),
        false => Err(format!("the compiler failed: {status}").into()),
    }
}

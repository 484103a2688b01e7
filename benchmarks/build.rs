//! Passes on where the amalgamation lies that the engine was built from.

fn main() {
    let amalgamation = std::env::var("DEP_PRAGMARK_ENGINE_AMALGAMATION")
        .expect("the engine names its amalgamation");
    println!("cargo:rustc-env=PRAGMARK_AMALGAMATION={amalgamation}");
    println!(
        "cargo:rustc-env=PRAGMARK_TARGET={}",
        std::env::var("TARGET").expect("cargo names the target")
    );
}

//! Exports the runtime of the sanitizer, which the built-in SQLite uses, too: it is compiled with it and loaded at run time.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-link-arg-bins=-rdynamic");
}

//! Tests of the proofs, in one program so that its dependencies are linked once.

mod generated;
mod lies;
mod mutants;
mod noticed;
#[cfg(target_os = "linux")]
mod real;

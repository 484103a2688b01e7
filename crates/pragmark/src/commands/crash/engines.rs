//! The library that `--engine` means, built where it has to be.

use std::io::IsTerminal;

use engine::Source;
use lab::record::engine_to_load;

use crate::commands::engine::{named, prepare, problem};
use crate::commands::run::native_driver;
use crate::failure::Failure;
use crate::interrupt;

/// Where the library of this name is loaded from.
pub(super) fn source(name: &str) -> Result<Source, Failure> {
    named(name)?;
    let bar = std::io::stderr().is_terminal();
    let interrupted = interrupt::flag()?;
    let engines = prepare(&[name.to_owned()], &native_driver()?, &interrupted, bar)?;
    match engines.iter().find_map(problem) {
        Some(failure) => Err(failure),
        None => {
            let to_load = engine_to_load(&engines, name).map_err(Failure::unusable)?;
            to_load.parse().map_err(Failure::usage)
        }
    }
}

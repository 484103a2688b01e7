//! `pragmark describe-engine`: what a library says of itself, in a process of its own, so that a
//! broken library cannot harm the parent.

use super::output;
use crate::failure::{Exit, Failure};

/// Describes the engine as JSON.
pub fn execute(engine: &str) -> Result<Exit, Failure> {
    let record = bench::describe_engine(engine).map_err(Failure::unusable)?;
    let text = serde_json::to_string(&record).map_err(Failure::unusable)?;
    output::write_text(None, &text)
}

//! Why generated mutants went unnoticed, as somebody found who read their code.

use serde::Deserialize;

/// A reason, and the mutants that it concerns.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Unnoticed {
    /// Their verdict.
    pub verdict: Verdict,
    /// The reason.
    pub why: String,
    /// Their names.
    pub mutants: Vec<String>,
}

/// The verdict on a mutant that went unnoticed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It breaks no promise: another safeguard does the same, or what changes is only speed or an error's text.
    Equivalent,
    /// The laboratory does not do what it takes.
    OutOfReach,
    /// The laboratory could notice it, but does not.
    Missed,
}

/// The reasons of `unnoticed.toml`.
///
/// # Errors
/// The file is not valid.
pub fn unnoticed() -> Result<Vec<Unnoticed>, String> {
    #[derive(Deserialize)]
    struct Table {
        reason: Vec<Unnoticed>,
    }
    let table: Table = toml::from_str(include_str!("../../unnoticed.toml"))
        .map_err(|error| format!("unnoticed.toml: {error}"))?;
    Ok(table.reason)
}

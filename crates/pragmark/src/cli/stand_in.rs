//! Stand-ins for collations and functions that only a recorded application has.

use app::Error;
use clap::Args;

/// The option for stand-ins.
#[derive(Debug, Args)]
pub struct StandInArgs {
    /// Stand-in for a collation or function that only the application has: unicase=nocase (or binary, rtrim), or an SQL expression
    /// over its arguments, such as 'slugify=lower(?1)'. Answers may differ. Repeat it for several.
    // Few applications need it, and errors name it with what it has to stand in for.
    #[arg(long = "stand-in", value_name = "NAME=…", hide = true)]
    stand_ins: Vec<String>,
}

impl StandInArgs {
    /// Returns the stand-ins, a line each.
    pub fn lines(&self) -> String {
        self.stand_ins.join("\n")
    }

    /// Returns whether there are any.
    pub fn are_given(&self) -> bool {
        !self.stand_ins.is_empty()
    }
}

/// Returns the error of stand-ins for other work than a trace.
pub fn of_traces() -> Error {
    Error::mistake("--stand-in applies to traces")
}

//! Options that the commands which make a record share.

use std::path::PathBuf;

use clap::Args;

/// Where to measure and record.
#[derive(Debug, Args)]
pub struct RecordOptions {
    /// Directory to measure in.
    #[arg(long = "dir", value_name = "DIR")]
    pub dirs: Vec<PathBuf>,
    /// Folder for the record and the report [default: pragmark-runs/TIME in the current directory].
    #[arg(long, value_name = "FOLDER")]
    pub out: Option<PathBuf>,
}

//! Options of `inspect`.

use std::path::PathBuf;

use app::explain::{ExplainRequest, What};
use app::inspect::InspectRequest;
use app::{Error, Result};
use clap::Args;

use crate::commands::inspect;
use crate::exit::Exit;

/// Options of `inspect`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pragmark inspect app.db                        space, statistics, indexes, keys, version
  pragmark inspect app.db --queries queries.sql  also the indexes that its queries need
  pragmark inspect app.db --quick-check --through python-sqlite3")]
pub struct InspectArgs {
    /// Database to examine. pragmark examines a copy and only reads the file, its WAL and its
    /// journal.
    pub database: PathBuf,
    /// Also explain these queries and say which indexes help all of them together.
    #[arg(long, value_name = "FILE")]
    pub queries: Vec<PathBuf>,
    /// Also run quick_check and foreign_key_check; exit code 3 if the database is damaged.
    #[arg(long)]
    pub quick_check: bool,
    /// Driver whose binding your application uses (`pragmark driver list`); its version and defaults are
    /// reported [default: the system's SQLite].
    #[arg(long, value_name = "DRIVER", conflicts_with = "engine")]
    pub through: Option<String>,
    /// SQLite library that your application loads: see `pragmark engine list`.
    #[arg(long, value_name = "ENGINE")]
    pub engine: Option<String>,
    /// Directory for the copy [default: the current directory].
    #[arg(long, value_name = "DIR", default_value = ".", hide_default_value = true)]
    pub dir: PathBuf,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

impl InspectArgs {
    /// Examines the database.
    pub fn execute(self) -> Result<Exit> {
        if let Some(missing) = self.queries.iter().find(|file| !file.is_file()) {
            return Err(Error::mistake(format!("{}: no such file", missing.display())));
        }
        let explained = (!self.queries.is_empty()).then(|| ExplainRequest {
            what: What::Files(self.queries),
            databases: vec![self.database.clone()],
            vary: Vec::new(),
            values: Vec::new(),
            extensions: Vec::new(),
            stand_ins: String::new(),
            directory: self.dir.clone(),
        });
        let request = InspectRequest {
            database: self.database,
            directory: self.dir,
            quick_check: self.quick_check,
            through: self.through,
            engine: self.engine,
        };
        inspect::execute(&request, explained.as_ref(), self.json)
    }
}

//! Options of `explain`.

use std::path::{Path, PathBuf};

use app::Error;
use app::explain::{ExplainRequest, What, explain};
use clap::Args;

use super::values::settings;
use crate::exit::Exit;
use crate::output::{self, Output};

/// Options of `explain`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pragmark explain --db app.db 'SELECT * FROM orders WHERE customer_id = 7'
  pragmark explain --db app.db queries.sql            each query, and indexes for all of them together
  pragmark explain --db app.db queries.sql --set id=5 choose the value of a parameter
  pragmark explain app.trace --statement 3            a recorded statement with its values")]
pub struct ExplainArgs {
    /// SQL, files of SQL, or a trace that `pragmark record` has written.
    #[arg(required = true, value_name = "SQL|FILE")]
    pub what: Vec<String>,
    /// Database whose copy in the directory for temporary files (TMPDIR) is used; only read.
    #[arg(long, value_name = "FILE")]
    pub db: Option<PathBuf>,
    /// Explain only the statement of this number in the table of `pragmark trace`.
    #[arg(long, value_name = "NUMBER", conflicts_with = "db")]
    pub statement: Option<usize>,
    /// Value of a parameter, such as `id=5`; others are taken from the columns they are compared with.
    #[arg(long, value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    /// Extension that the database needs.
    #[arg(long, value_name = "FILE")]
    pub load_extension: Vec<PathBuf>,
    #[command(flatten)]
    pub output: Output,
}

impl ExplainArgs {
    /// Explains the statements.
    pub fn execute(self) -> Result<Exit, Error> {
        let request = ExplainRequest {
            what: what(self.what, self.db, self.statement)?,
            values: settings(&self.set, "--set")?,
            extensions: self.load_extension,
            directory: std::env::temp_dir(),
        };
        output::write_document(&self.output, &explain(&request)?, &())
    }
}

/// Returns what the arguments mean: files if all of them exist, else SQL.
fn what(
    arguments: Vec<String>,
    database: Option<PathBuf>,
    statement: Option<usize>,
) -> Result<What, Error> {
    let files: Vec<PathBuf> = arguments.iter().map(PathBuf::from).collect();
    let are_files = files.iter().all(|file| file.is_file());
    match (database, &files[..]) {
        (Some(database), _) if are_files => Ok(What::Files(files, database)),
        (Some(database), _) => {
            let missing = arguments.iter().find(|argument| looks_like_file(argument));
            match missing {
                Some(file) => Err(Error::mistake(format!("{file}: no such file"))),
                None => Ok(What::Statements(arguments, database)),
            }
        }
        (None, [trace]) if are_files => Ok(What::Trace(trace.clone(), statement)),
        (None, [file]) if looks_like_file(&arguments[0]) => {
            Err(Error::mistake(format!("{}: no such file", file.display())))
        }
        (None, _) => Err(Error::mistake("name the database with --db, or a trace instead of SQL")),
    }
}

/// Returns whether an argument is rather the name of a file than SQL.
fn looks_like_file(argument: &str) -> bool {
    !argument.contains(char::is_whitespace) && Path::new(argument).extension().is_some()
}

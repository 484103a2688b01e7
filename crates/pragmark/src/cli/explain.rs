//! Options of `explain`.

use std::path::{Path, PathBuf};

use app::Error;
use app::explain::{ExplainRequest, What, explain};
use clap::Args;

use super::stand_in::StandInArgs;
use super::values::{settings, varied};
use crate::exit::Exit;
use crate::output::{self, Output};
use crate::terminal::Terminal;

/// Options of `explain`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pragmark explain --db app.db 'SELECT * FROM orders WHERE customer_id = 7'
  pragmark explain --db app.db queries.sql            each query, and indexes for all of them together
  pragmark explain --db app.db queries.sql --set email=a@b.org
                                                      choose the value of a parameter
  pragmark explain app.trace 3                        a recorded statement with its values
  pragmark explain --db app.db queries.sql --vary engine=default,system
                                                      plans of two engines side by side
  pragmark explain --db app.db queries.sql --vary analyze=false,true
                                                      plans without and with new statistics
  pragmark explain app.trace 3 --stand-in unicase=nocase
                                                      another collation for one of the application's")]
pub struct ExplainArgs {
    /// SQL, files of SQL, or a trace of `pragmark record`. After a trace, name a statement by its
    /// number in the table of `pragmark trace`.
    #[arg(required = true, value_name = "SQL|FILE")]
    pub what: Vec<String>,
    /// The same as a number after a trace.
    #[arg(long, hide = true, value_name = "NUMBER")]
    pub statement: Option<String>,
    /// Your database. pragmark works on a copy in the directory for temporary files (TMPDIR) and
    /// never changes the file. Repeat it to compare plans on several databases.
    #[arg(long = "db", value_name = "FILE")]
    pub dbs: Vec<PathBuf>,
    /// Engines (engine=default,system) or statistics (analyze=false,true) whose plans are compared.
    /// The first is the baseline.
    #[arg(long, value_name = "NAME=VALUE,…")]
    pub vary: Vec<String>,
    /// Value of a parameter, such as `id=5`. Others get values from the columns that they are
    /// compared with.
    #[arg(long, value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    /// Extension that the database needs.
    #[arg(long, value_name = "FILE")]
    pub load_extension: Vec<PathBuf>,
    #[command(flatten)]
    pub stand_ins: StandInArgs,
    #[command(flatten)]
    pub output: Output,
}

impl ExplainArgs {
    /// Explains the statements.
    pub fn execute(self) -> Result<Exit, Error> {
        let request = ExplainRequest {
            what: what(
                self.what.into_iter().chain(self.statement).collect(),
                !self.dbs.is_empty(),
            )?,
            databases: self.dbs,
            vary: varied(&self.vary.iter().map(|text| with_default(text)).collect::<Vec<_>>())?,
            values: settings(&self.set, "--set")?,
            extensions: self.load_extension,
            stand_ins: self.stand_ins.lines(),
            directory: std::env::temp_dir(),
        };
        let explained = explain(&request, &Terminal::new())?;
        let exit = output::write_answer(&self.output, &explained.document)?;
        explained.failed.map_or(Ok(exit), Err)
    }
}

/// Compares a single engine, or a single kind of statistics, with what `explain` has without it.
fn with_default(text: &str) -> String {
    match text.split_once('=') {
        Some((_, one)) if one.contains(',') || ["default", "false"].contains(&one) => {
            text.to_owned()
        }
        Some(("engine", one)) => format!("engine=default,{one}"),
        Some(("analyze", one)) => format!("analyze=false,{one}"),
        _ => text.to_owned(),
    }
}

/// Returns what the arguments mean: files if all of them exist, else SQL.
fn what(arguments: Vec<String>, has_database: bool) -> Result<What, Error> {
    let file = |argument: &String| Path::new(argument).is_file();
    let are_files = arguments.iter().all(file);
    let files = || arguments.iter().map(PathBuf::from).collect();
    match (has_database, &arguments[..]) {
        (true, _) if are_files => Ok(What::Files(files())),
        (false, [trace]) if are_files => Ok(What::Trace(trace.into(), None)),
        (false, [trace, rest @ ..]) if file(trace) => {
            let number = match rest {
                [number] => number.parse().ok(),
                _ => None,
            };
            let wrong = || {
                let rest = rest.join(" ");
                Error::mistake(format!(
                    "{rest}: a trace is followed by the number of one statement"
                ))
                .hint("name the database with --db to explain SQL")
            };
            Ok(What::Trace(trace.into(), Some(number.ok_or_else(wrong)?)))
        }
        _ => match arguments.iter().find(|argument| looks_like_file(argument) && !file(argument)) {
            Some(file) => Err(Error::mistake(format!("{file}: no such file"))),
            None => Ok(What::Statements(arguments)),
        },
    }
}

/// Returns whether an argument is rather the name of a file than SQL.
fn looks_like_file(argument: &str) -> bool {
    !argument.contains(char::is_whitespace) && Path::new(argument).extension().is_some()
}

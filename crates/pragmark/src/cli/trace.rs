//! Options of `record` and `trace`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use app::trace::{Edit, ScriptRequest};
use app::{Error, Result};
use clap::{Args, Subcommand, ValueEnum};
use recorder::{Door, Options, Values};
use trace::edit::Part;
use trace::export::Form;

use super::values::{seconds, values_of};
use crate::commands::{record, trace as command};
use crate::exit::Exit;
use crate::output::{Format, Output, format_for};

values_of! {
    /// Ways into a program.
    enum DoorArg of Door {
        /// Through the table of functions that SQLite has for its extensions.
        Table,
        /// Through SQLite's exported functions.
        Symbol,
        /// By replacing SQLite's functions that open connections, in programs that load SQLite as a
        /// shared library. pragmark does not start SQLite before the program does.
        Interpose,
        /// Through an extension: pragmark prints its path, and records programs that load it until
        /// Ctrl-C or the end of the command. Use it where LD_PRELOAD has no effect.
        Extension,
    }
}

/// Options of `record`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pragmark record -- python3 app.py             record a program into python3.trace
  pragmark record --out load.trace -- ./server  choose the file
  pragmark record --redact -- rails server      hash texts and blobs
  pragmark record --door extension              for programs that can only load an extension
  pragmark trace python3.trace                  what it does")]
pub struct RecordArgs {
    /// Trace to write; by default the name of the program with `.trace`.
    #[arg(long, short, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Use only this way into the program. By default pragmark chooses.
    #[arg(long, value_enum)]
    pub door: Option<DoorArg>,
    /// Hash texts and blobs: the trace keeps their lengths, their equality, and the order of their
    /// beginnings. It has no snapshots, so it cannot be replayed.
    #[arg(long)]
    pub redact: bool,
    /// Seal a recording that was interrupted, such as `app.trace.recording`.
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["door", "redact", "command"])]
    pub seal: Option<PathBuf>,
    /// The program and its arguments.
    #[arg(trailing_var_arg = true, required_unless_present_any = ["door", "seal"])]
    pub command: Vec<OsString>,
}

impl RecordArgs {
    /// Records, or seals an interrupted recording.
    pub fn execute(self) -> Result<Exit> {
        if let Some(folder) = self.seal {
            return record::seal(&folder, self.out);
        }
        let door = self.door.map_or(Door::Any, Into::into);
        let program = self.command.first().map(Path::new).and_then(Path::file_name);
        let out = self.out.unwrap_or_else(|| {
            let mut name = program.unwrap_or("sqlite".as_ref()).to_owned();
            name.push(".trace");
            name.into()
        });
        let values = if self.redact { Values::Hashed } else { Values::Kept };
        record::record(&app::record::RecordRequest {
            out,
            options: Options { door, values },
            command: self.command,
        })
    }
}

/// Options of `trace`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
#[command(after_help = "\
Examples:
  pragmark trace app.trace                   summary for the terminal
  pragmark trace app.trace --out app.html    one page
  pragmark trace cut app.trace --to 60s --out first.trace
  pragmark trace redact app.trace --out to-share.trace")]
pub struct TraceArgs {
    #[command(subcommand)]
    pub command: Option<TraceCommand>,
    /// Trace that `pragmark record` has written.
    #[arg(required = true)]
    pub trace: Option<PathBuf>,
    /// Output format [default: the ending of --out; otherwise terminal]. `jsonl`, `parquet` and `sqlite` have a row for each
    /// execution of a statement.
    #[arg(long, value_enum)]
    pub format: Option<TraceFormat>,
    /// Write to this file instead of standard output.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

/// Formats of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TraceFormat {
    /// Summary for the terminal.
    Terminal,
    /// Summary as one self-contained page.
    Html,
    /// Summary as Markdown, for a wiki or an issue.
    Markdown,
    /// All executions as JSON Lines.
    Jsonl,
    /// All executions as Apache Parquet.
    Parquet,
    /// All executions as an SQLite database.
    Sqlite,
}

/// Commands of `trace`.
#[derive(Debug, Subcommand)]
pub enum TraceCommand {
    /// Write a new trace with a part of a trace: a time, or some connections.
    Cut(CutArgs),
    /// Merge several traces into one, such as traces of processes that you recorded one by one.
    Merge(MergeArgs),
    /// Write a trace whose texts and blobs are hashed, to share it.
    Redact(RedactArgs),
    /// Write a script for `pragmark measure` that does the same work with values of the same distributions.
    ToScript(ToScriptArgs),
}

/// Options of `trace to-script`.
#[derive(Debug, Args)]
pub struct ToScriptArgs {
    /// Trace to fit.
    pub trace: PathBuf,
    /// Script to write. The database as it was when recording began, or as at the end if it was empty then, is written next
    /// to it, with the extension `.db`.
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
    /// The recorded database whose work the script does, by its path or name; by default the one with most
    /// statements.
    #[arg(long, value_name = "NAME")]
    pub database: Option<String>,
}

/// Options of `trace cut`.
#[derive(Debug, Args)]
pub struct CutArgs {
    /// Trace to cut.
    pub trace: PathBuf,
    /// Only statements that started at this time or later, such as 90s after the beginning. The
    /// part then has no snapshots and cannot be replayed.
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    pub from: Option<f64>,
    /// Only statements that ended by this time.
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    pub to: Option<f64>,
    /// Only the connection of this number, as in the table `connection`; repeat it for several.
    #[arg(long, value_name = "NUMBER")]
    pub connection: Vec<i64>,
    /// Trace to write.
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
}

/// Options of `trace merge`.
#[derive(Debug, Args)]
pub struct MergeArgs {
    /// Traces to merge.
    #[arg(required = true, num_args = 2..)]
    pub traces: Vec<PathBuf>,
    /// Trace to write.
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
}

/// Options of `trace redact`.
#[derive(Debug, Args)]
pub struct RedactArgs {
    /// Trace to redact.
    pub trace: PathBuf,
    /// Trace to write.
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
}

impl TraceArgs {
    /// Shows a trace, or makes another one or a file.
    pub fn execute(self) -> Result<Exit> {
        match (self.command, self.trace) {
            (Some(command), _) => command.execute(),
            (None, Some(trace)) => show(trace, self.format, self.out),
            (None, None) => Err(Error::mistake("name a trace, such as `pragmark trace app.trace`")),
        }
    }
}

impl TraceCommand {
    fn execute(self) -> Result<Exit> {
        match self {
            TraceCommand::Cut(args) => args.execute(),
            TraceCommand::Merge(args) => command::edit(&Edit::Merge(args.traces), &args.out),
            TraceCommand::Redact(args) => command::edit(&Edit::Redact(args.trace), &args.out),
            TraceCommand::ToScript(args) => command::fit_script(&ScriptRequest {
                trace: args.trace,
                snapshot: args.out.with_extension("db"),
                out: args.out,
                database: args.database,
            }),
        }
    }
}

impl CutArgs {
    fn execute(self) -> Result<Exit> {
        match (self.from, self.to) {
            (None, None) if self.connection.is_empty() => {
                return Err(Error::mistake("name a part: --from, --to or --connection"));
            }
            (Some(from), Some(to)) if from >= to => {
                return Err(Error::mistake("--from must be earlier than --to"));
            }
            _ => {}
        }
        let micros = |seconds: f64| (seconds * 1e6) as i64;
        let part = Part {
            from_us: self.from.map_or(0, micros),
            to_us: self.to.map(micros),
            connections: self.connection,
        };
        command::edit(&Edit::Cut { trace: self.trace, part }, &self.out)
    }
}

/// Shows a trace, or writes it for other tools.
fn show(trace: PathBuf, format: Option<TraceFormat>, out: Option<PathBuf>) -> Result<Exit> {
    let form = match format_for(format, out.as_deref(), TraceFormat::Terminal)? {
        TraceFormat::Terminal => Err(Format::Terminal),
        TraceFormat::Html => Err(Format::Html),
        TraceFormat::Markdown => Err(Format::Markdown),
        TraceFormat::Jsonl => Ok(Form::JsonLines),
        TraceFormat::Parquet => Ok(Form::Parquet),
        TraceFormat::Sqlite => Ok(Form::Sqlite),
    };
    match (form, out) {
        (Err(format), out) => command::show(&trace, &Output { format: Some(format), out }),
        (Ok(form), Some(out)) => command::edit(&Edit::Export { trace, form }, &out),
        (Ok(_), None) => {
            Err(Error::mistake("this format is not text").hint("name a new file with --out"))
        }
    }
}

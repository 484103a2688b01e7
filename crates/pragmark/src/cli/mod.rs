//! The command line: what each option does and when to use it.

mod anonymize;
mod compare;
mod completions;
mod crash;
mod doctor;
mod driver;
mod engine;
mod fleet;
mod guard;
mod history;
mod load;
mod measure;
mod new;
mod reading;
mod record;
mod run;
mod runs;
#[cfg(test)]
mod tests;
mod trace;
mod tune;
mod values;

use std::path::PathBuf;

use app::Error;
use clap::{Args, CommandFactory, Parser, Subcommand};
use lab::experiment::nearest;

use self::anonymize::AnonymizeArgs;
use self::compare::CompareArgs;
use self::completions::CompletionsArgs;
use self::crash::CrashArgs;
use self::doctor::DoctorArgs;
use self::driver::DriverArgs;
use self::engine::EngineCommand;
use self::fleet::{AgentArgs, FleetCommand};
use self::guard::GuardArgs;
use self::history::HistoryArgs;
use self::load::LoadArgs;
use self::measure::MeasureArgs;
use self::new::NewCommand;
use self::reading::{ExportArgs, ListArgs, ReportArgs, SettingsArgs, ShowArgs};
use self::run::RunArgs;
use self::runs::{OpenArgs, RunsArgs};
use self::trace::{RecordArgs, TraceArgs};
use self::tune::TuneArgs;
use crate::action::Action;
use crate::exit::EXIT_CODES;

/// A performance laboratory for SQLite.
///
/// pragmark measures how fast SQLite is on your machine, which settings make it faster, how safe
/// they are, and whether published claims hold. To start, use `pragmark run`: it runs the most
/// informative experiments in less than five minutes and writes an HTML report.
#[derive(Debug, Parser)]
#[command(name = "pragmark", version, after_help = EXIT_CODES)]
struct Cli {
    /// The command; without one, a quick start is printed.
    #[command(subcommand)]
    command: Option<Command>,
}

/// Returns the definition of the command line.
pub fn command() -> clap::Command {
    Cli::command()
}

/// Returns what the command line of this process asks for. A wrong command line ends the process with a message, `--help` with
/// a text.
///
/// # Errors
/// Options do not go together.
pub fn parse() -> Result<Action, Error> {
    let cli = Cli::try_parse().unwrap_or_else(|error| with_suggestion(error).exit());
    cli.command.map_or(Ok(Action::QuickStart), Command::resolve)
}

/// The error of an unknown command with the nearest one ahead of those that clap suggests: `rnu` is a slip for `run`, which is
/// too short to be like it by clap's measure.
fn with_suggestion(mut error: clap::Error) -> clap::Error {
    use clap::error::{ContextKind, ContextValue};
    let given = match error.get(ContextKind::InvalidSubcommand) {
        Some(ContextValue::String(given)) => given.clone(),
        _ => return error,
    };
    let cli = Cli::command();
    let commands = cli.get_subcommands().filter(|command| !command.is_hide_set());
    let Some(nearest) = nearest(&given, commands.map(clap::Command::get_name)) else {
        return error;
    };
    let mut suggested = vec![nearest.to_owned()];
    if let Some(ContextValue::Strings(others)) = error.get(ContextKind::SuggestedSubcommand) {
        suggested.extend(others.iter().filter(|name| *name != nearest).cloned());
    }
    error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(suggested));
    error
}

/// The commands.
#[derive(Debug, Subcommand)]
enum Command {
    /// Run experiments, or a five-minute tour when none is named.
    Run(Box<RunArgs>),
    /// Measure your own SQL on a copy of your own database.
    Measure(Box<MeasureArgs>),
    /// Compare two runs; or two engines, databases, files of SQL or settings exactly, by what is counted.
    Compare(Box<CompareArgs>),
    /// Search for fast settings for a workload at a given safety, and measure what each brings.
    Tune(Box<TuneArgs>),
    /// Check in continuous integration that a change makes a project's database work no slower and no less safe.
    Guard(Box<GuardArgs>),
    /// Show how figures go over many runs, and where their level changed.
    History(HistoryArgs),
    /// List experiments, workloads, PRAGMAs or metrics.
    List(ListArgs),
    /// Show an experiment: its question, variants and claims, and the plan of a run.
    Show(ShowArgs),
    /// Print the report of a run, or write it to a file.
    Report(ReportArgs),
    /// Open the page of a run in the browser: of the latest one, unless another is named.
    Open(OpenArgs),
    /// List runs with question, answer, age and size, or remove old ones.
    Runs(RunsArgs),
    /// Print the settings that a run recommends, ready to paste into a program.
    Settings(SettingsArgs),
    /// Export the data of runs as CSV, JSON, SQLite or Parquet, or in the formats of services that track benchmarks.
    Export(ExportArgs),
    /// Load CSV, JSON Lines, Parquet or Arrow files into a SQLite table at disk speed.
    Load(Box<LoadArgs>),
    /// Record what a program does with SQLite, without changing the program.
    Record(RecordArgs),
    /// Show what a recorded application does, or make other traces of its trace.
    Trace(TraceArgs),
    /// Copy a database with other texts and blobs, to share it with its workload.
    Anonymize(AnonymizeArgs),
    /// Check this machine: disk, fsync latency, noise, engines and tools.
    Doctor(DoctorArgs),
    /// List, install or remove drivers for the bindings of other languages.
    Driver(DriverArgs),
    /// Write an experiment of your own, or a driver for your own code, ready to be measured and changed.
    #[command(subcommand)]
    New(NewCommand),
    /// Measure what a crash can destroy, for each choice of settings and storage model.
    Crash(Box<CrashArgs>),
    /// List, build, add, remove or show engines: the SQLite libraries to measure.
    #[command(subcommand)]
    Engine(EngineCommand),
    /// Carry out blocks of runs over a fleet on this machine, until stopped.
    Agent(Box<AgentArgs>),
    /// Show the agents and runs of a fleet, have agents end, or remove a run.
    #[command(subcommand)]
    Fleet(FleetCommand),
    /// Print or install shell completions: of commands, options, experiments, engines, bindings and runs.
    Completions(CompletionsArgs),
    /// Print the manual page in roff format.
    #[command(after_help = "Example: pragmark man | man -l -")]
    Man,
    /// Run one trial: read a specification from standard input, write messages to standard output.
    #[command(hide = true)]
    Trial,
    /// Act as one of several worker processes of a trial: read a specification and orders from
    /// standard input, write answers to standard output.
    #[command(hide = true)]
    ContentionWorker,
    /// Execute the part of a replay that is given to one process: read it and orders from standard input, write answers
    /// to standard output.
    #[command(hide = true)]
    ReplayWorker,
    /// Note the signals of a process group: for each line of standard input with the number of a signal, write whether it
    /// has arrived.
    #[command(hide = true)]
    SignalListener,
    /// Write to a database until killed; read the specification from standard input.
    #[command(hide = true)]
    WriteUntilKilled,
    /// Start a driver in another language so that it ends with its parent.
    #[command(hide = true)]
    Become(BecomeArgs),
    /// Commit with an engine after a line of standard input; print the syncs that SQLite requested.
    #[command(name = ::crash::syncs::COMMAND, hide = true)]
    MakeSyncedCommits {
        /// The engine.
        engine: String,
    },
    /// Describe an engine as JSON.
    #[command(hide = true)]
    DescribeEngine {
        /// The engine.
        engine: String,
    },
}

impl Command {
    /// Turns arguments into a request, so that they are interpreted once.
    fn resolve(self) -> Result<Action, Error> {
        Ok(match self {
            Command::Run(args) => args.resolve()?,
            Command::Measure(args) => args.resolve()?,
            Command::Compare(args) => args.resolve()?,
            Command::Tune(args) => args.resolve()?,
            Command::Guard(args) => args.resolve(),
            Command::History(args) => args.resolve(),
            Command::List(args) => args.resolve(),
            Command::Show(args) => args.resolve(),
            Command::Report(args) => args.resolve(),
            Command::Open(args) => Action::Open { run: args.run },
            Command::Runs(args) => args.resolve(),
            Command::Settings(args) => args.resolve(),
            Command::Export(args) => args.resolve(),
            Command::Load(args) => args.resolve()?,
            Command::Record(args) => args.resolve(),
            Command::Trace(args) => args.resolve()?,
            Command::Anonymize(args) => {
                let AnonymizeArgs { database, keep, out } = args;
                Action::Anonymize { database, keep, out }
            }
            Command::Doctor(args) => args.resolve(),
            Command::Driver(args) => args.resolve(),
            Command::New(NewCommand::Experiment(args)) => Action::NewExperiment { name: args.name },
            Command::New(NewCommand::Driver(args)) => {
                Action::NewDriver { name: args.name, language: args.language }
            }
            Command::Crash(args) => args.resolve()?,
            Command::Engine(command) => command.resolve(),
            Command::Agent(args) => args.resolve()?,
            Command::Fleet(command) => command.resolve()?,
            Command::Completions(args) => {
                Action::Completions { shell: args.shell, install: args.install }
            }
            Command::Man => Action::Man,
            Command::Trial => Action::Trial,
            Command::ContentionWorker => Action::ContentionWorker,
            Command::ReplayWorker => Action::ReplayWorker,
            Command::SignalListener => Action::SignalListener,
            Command::WriteUntilKilled => Action::WriteUntilKilled,
            Command::Become(args) => {
                Action::Become { program: args.program, arguments: args.arguments }
            }
            Command::MakeSyncedCommits { engine } => Action::MakeSyncedCommits { engine },
            Command::DescribeEngine { engine } => Action::DescribeEngine { engine },
        })
    }
}

/// The program that replaces this process.
#[derive(Debug, Args)]
struct BecomeArgs {
    /// The executable.
    program: PathBuf,
    /// Its arguments.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<std::ffi::OsString>,
}

//! The command line: what each option does and when to use it.

mod advice;
mod anonymize;
mod compare;
mod crash;
mod doctor;
mod driver;
mod engine;
mod fleet;
mod guard;
mod help;
mod list;
mod load;
mod measure;
mod new;
mod record;
mod report;
mod run;
mod runs;
#[cfg(test)]
mod tests;
mod trace;
mod tune;
mod values;

use std::path::PathBuf;

use app::Error;
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

use self::anonymize::AnonymizeArgs;
use self::compare::CompareArgs;
use self::crash::CrashArgs;
use self::doctor::DoctorArgs;
use self::driver::DriverArgs;
use self::engine::EngineCommand;
use self::fleet::FleetCommand;
use self::guard::GuardArgs;
use self::list::{ListArgs, ShowArgs};
use self::load::LoadArgs;
use self::measure::MeasureArgs;
use self::new::NewCommand;
use self::report::{ReportArgs, SettingsArgs};
use self::run::RunArgs;
use self::runs::RunsArgs;
use self::trace::{RecordArgs, TraceArgs};
use self::tune::TuneArgs;
use crate::action::{Action, Generated};

/// A performance laboratory for SQLite: your queries, your settings and crashes, on your machine.
#[derive(Debug, Parser)]
#[command(name = "pragmark", version, help_template = help::TEMPLATE)]
struct Cli {
    /// Print completions of a shell, `man` or `schema`.
    #[arg(long, value_enum, value_name = "FILE", hide_possible_values = true)]
    generate: Option<GenerateArg>,
    /// Install completions for a shell [default: yours].
    #[arg(long, value_name = "SHELL", num_args = 0..=1, conflicts_with = "generate", hide_possible_values = true)]
    install_completions: Option<Option<Shell>>,
    /// The command; without one, a quick start is printed.
    #[command(subcommand)]
    command: Option<Command>,
}

/// Files that are made from the definition of the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum GenerateArg {
    Bash,
    Elvish,
    Fish,
    Powershell,
    Zsh,
    Man,
    Schema,
}

impl From<GenerateArg> for Generated {
    fn from(argument: GenerateArg) -> Generated {
        match argument {
            GenerateArg::Bash => Generated::Completions(Shell::Bash),
            GenerateArg::Elvish => Generated::Completions(Shell::Elvish),
            GenerateArg::Fish => Generated::Completions(Shell::Fish),
            GenerateArg::Powershell => Generated::Completions(Shell::PowerShell),
            GenerateArg::Zsh => Generated::Completions(Shell::Zsh),
            GenerateArg::Man => Generated::Manual,
            GenerateArg::Schema => Generated::Schema,
        }
    }
}

/// Returns the definition of the command line.
pub fn command() -> clap::Command {
    help::grouped(Cli::command(), help::width())
}

/// Returns what the command line of this process asks for. A wrong command line ends the process with a message, `--help` with
/// a text.
///
/// # Errors
/// Options do not go together.
pub fn parse() -> Result<Action, Error> {
    let matches = command().try_get_matches();
    let cli = matches.and_then(|matches| Cli::from_arg_matches(&matches));
    let cli = cli.unwrap_or_else(|error| advice::with_advice(error).exit());
    match (cli.command, cli.generate, cli.install_completions) {
        (_, Some(file), _) => Ok(Action::Generate(file.into())),
        (_, _, Some(shell)) => Ok(Action::InstallCompletions { shell }),
        (Some(command), ..) => command.resolve(),
        (None, ..) => Ok(Action::QuickStart(help::quick_start(help::width()))),
    }
}

/// The commands.
#[derive(Debug, Subcommand)]
enum Command {
    /// Measure your SQL on a copy of your database.
    Measure(Box<MeasureArgs>),
    /// Find the fastest settings that are as safe as you need.
    Tune(Box<TuneArgs>),
    /// Compare two runs, or engines, databases or queries by counters instead of time.
    Compare(Box<CompareArgs>),
    /// Check in CI that a change makes the work of a database neither slower nor less safe.
    Guard(Box<GuardArgs>),
    /// Record what a program does with SQLite, without changing the program.
    Record(RecordArgs),
    /// Summarise a recording, or cut, merge, redact or export it.
    Trace(TraceArgs),
    /// Load CSV, JSON Lines, Parquet or Arrow files into a table at disk speed.
    Load(Box<LoadArgs>),
    /// Make a shareable copy of a database with scrambled texts and blobs.
    Anonymize(AnonymizeArgs),
    /// Show what a crash can destroy, by settings and storage model.
    Crash(Box<CrashArgs>),
    /// Run experiments, or the five-minute tour if none is named.
    Run(Box<RunArgs>),
    /// List experiments, workloads, PRAGMAs or metrics.
    List(ListArgs),
    /// Show an experiment: its question, variants and claims.
    Show(ShowArgs),
    /// Write an experiment of your own, or a driver for your own code.
    #[command(subcommand)]
    New(NewCommand),
    /// Print, open or export the report of a run.
    Report(ReportArgs),
    /// List runs, show how figures changed over many runs, or remove old runs.
    Runs(RunsArgs),
    /// Print the settings that a run recommends, ready to paste.
    Settings(SettingsArgs),
    /// Check this machine, or examine a database.
    Doctor(DoctorArgs),
    /// List, build, add or remove engines: the SQLite libraries to measure.
    #[command(subcommand)]
    Engine(EngineCommand),
    /// List, install or remove drivers for the bindings of other languages.
    Driver(DriverArgs),
    /// Measure on many machines: start an agent, show or end agents, remove a run.
    #[command(subcommand)]
    Fleet(FleetCommand),
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
            Command::List(args) => args.resolve(),
            Command::Show(args) => args.resolve(),
            Command::Report(args) => args.resolve()?,
            Command::Runs(args) => args.resolve(),
            Command::Settings(args) => args.resolve(),
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
            Command::Fleet(command) => command.resolve()?,
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

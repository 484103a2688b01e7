//! The command line: what each option does and when to use it.

mod advice;
mod anonymize;
mod compare;
mod crash;
mod doctor;
mod driver;
mod engine;
mod explain;
mod fleet;
mod guard;
mod help;
mod inspect;
mod list;
mod load;
mod measure;
mod new;
mod record;
mod report;
mod run;
mod runs;
pub mod stand_in;
#[cfg(test)]
mod tests;
mod trace;
mod tune;
mod unload;
mod values;
mod watch;

use std::ffi::OsString;
use std::path::PathBuf;

use app::Result;
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use lab::experiment::experiment_schema;

use self::anonymize::AnonymizeArgs;
use self::compare::CompareArgs;
use self::crash::CrashArgs;
use self::doctor::DoctorArgs;
use self::driver::DriverArgs;
use self::engine::EngineCommand;
use self::explain::ExplainArgs;
use self::fleet::FleetCommand;
use self::guard::GuardArgs;
use self::inspect::InspectArgs;
use self::list::{ListArgs, ShowArgs};
use self::load::LoadArgs;
use self::measure::MeasureArgs;
use self::new::NewCommand;
use self::report::{ReportArgs, SettingsArgs};
use self::run::RunArgs;
use self::runs::RunsArgs;
use self::trace::{RecordArgs, TraceArgs};
use self::tune::TuneArgs;
use self::unload::UnloadArgs;
use self::watch::WatchArgs;
use crate::commands::{self, generate, worker};
use crate::exit::Exit;
use crate::{output, terminal};

/// A performance laboratory for SQLite: your queries, your settings and crashes, on your machine.
#[derive(Debug, Parser)]
#[command(name = "pragmark", version)]
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

impl GenerateArg {
    fn execute(self) -> Result<Exit> {
        match self {
            GenerateArg::Bash => generate::completions(Shell::Bash),
            GenerateArg::Elvish => generate::completions(Shell::Elvish),
            GenerateArg::Fish => generate::completions(Shell::Fish),
            GenerateArg::Powershell => generate::completions(Shell::PowerShell),
            GenerateArg::Zsh => generate::completions(Shell::Zsh),
            GenerateArg::Man => generate::manual(command()),
            GenerateArg::Schema => output::display_json(experiment_schema()),
        }
    }
}

/// Returns the definition of the command line.
pub fn command() -> clap::Command {
    help::grouped(Cli::command(), help::width())
}

/// Carries out the command line of this process. A wrong one ends the process with a message, `--help` with a text.
///
/// # Errors
/// Options do not go together, or the command fails.
pub fn execute() -> Result<Exit> {
    let matches = command().try_get_matches_from(std::env::args_os().map(marked));
    let cli = matches.and_then(|matches| Cli::from_arg_matches(&matches));
    let cli = cli.unwrap_or_else(|error| advice::with_advice(error).exit());
    match (cli.command, cli.generate, cli.install_completions) {
        (_, Some(file), _) => file.execute(),
        (_, _, Some(shell)) => generate::install_completions(shell),
        (Some(command), ..) => command.execute(),
        (None, ..) => output::display(&help::quick_start(help::width())),
    }
}

/// Puts a space before SQL that begins with a comment, which would be an option.
fn marked(argument: OsString) -> OsString {
    let name =
        |text: &str| text.split('=').next().is_some_and(|name| name.contains(char::is_whitespace));
    let is_sql = |text: &&str| {
        text.starts_with("-- ") || (text.starts_with("--") && text.contains('\n') && name(text))
    };
    match argument.to_str().filter(is_sql) {
        Some(sql) => format!(" {sql}").into(),
        None => argument,
    }
}

/// The commands.
#[derive(Debug, Subcommand)]
enum Command {
    /// Show why a query is slow, and find a remedy.
    Explain(ExplainArgs),
    /// Measure your SQL on a copy of your database.
    Measure(Box<MeasureArgs>),
    /// Find the fastest settings that are safe enough.
    Tune(Box<TuneArgs>),
    /// Compare runs, engines, databases or queries.
    Compare(Box<CompareArgs>),
    /// Fail in CI if a change is slower or less safe.
    Guard(Box<GuardArgs>),
    /// Record what a program does with SQLite.
    Record(RecordArgs),
    /// Summarise, cut, merge, redact or export a trace.
    Trace(TraceArgs),
    /// Show a program's statements while it runs.
    Watch(WatchArgs),
    /// Show what is wrong with a database.
    Inspect(InspectArgs),
    /// Load CSV, JSON Lines, Parquet or Arrow files.
    Load(Box<LoadArgs>),
    /// Write rows to CSV, JSON, Parquet or Arrow files.
    Unload(UnloadArgs),
    /// Copy a database with scrambled texts and blobs.
    Anonymize(AnonymizeArgs),
    /// Show what a crash can destroy, by settings.
    Crash(Box<CrashArgs>),
    /// Run experiments, or a tour of five minutes.
    Run(Box<RunArgs>),
    /// List experiments, workloads, PRAGMAs or metrics.
    List(ListArgs),
    /// Show an experiment's question and claims.
    Show(ShowArgs),
    /// Write an experiment or a driver of your own.
    #[command(subcommand)]
    New(NewCommand),
    /// Print, open or export the report of a run.
    Report(ReportArgs),
    /// List runs, show their history or remove old ones.
    Runs(RunsArgs),
    /// Print the settings that a run recommends.
    Settings(SettingsArgs),
    /// Check this machine.
    Doctor(DoctorArgs),
    /// List, build, add or remove SQLite libraries.
    #[command(subcommand)]
    Engine(EngineCommand),
    /// List, install or remove drivers of bindings.
    Driver(DriverArgs),
    /// Measure on many machines.
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
    /// Carries out the command. Its arguments are interpreted once, by its own module here.
    fn execute(self) -> Result<Exit> {
        if let Command::Explain(_)
        | Command::Inspect(_)
        | Command::Trace(_)
        | Command::Anonymize(_) = self
        {
            terminal::remove_copies_at_signal()?;
        }
        match self {
            Command::Explain(args) => args.execute(),
            Command::Inspect(args) => args.execute(),
            Command::Run(args) => args.execute(),
            Command::Measure(args) => args.execute(),
            Command::Compare(args) => args.execute(),
            Command::Tune(args) => args.execute(),
            Command::Guard(args) => args.execute(),
            Command::List(args) => commands::list::execute(args.what),
            Command::Show(args) => commands::show::execute(&args.experiment, args.scale.into()),
            Command::Report(args) => args.execute(),
            Command::Runs(args) => args.execute(),
            Command::Settings(args) => args.execute(),
            Command::Load(args) => args.execute(),
            Command::Unload(args) => args.execute(),
            Command::Record(args) => args.execute(),
            Command::Trace(args) => args.execute(),
            Command::Watch(args) => args.execute(),
            Command::Anonymize(args) => {
                commands::anonymize::execute(&args.database, &args.keep, &args.out)
            }
            Command::Doctor(args) => args.execute(),
            Command::Driver(args) => args.execute(),
            Command::New(NewCommand::Experiment(args)) => commands::new::experiment(&args.name),
            Command::New(NewCommand::Driver(args)) => {
                commands::new::driver(&args.name, args.language)
            }
            Command::Crash(args) => args.execute(),
            Command::Engine(command) => command.execute(),
            Command::Fleet(command) => command.execute(),
            Command::Trial => worker::trial(),
            Command::ContentionWorker => worker::contention_worker(),
            Command::ReplayWorker => worker::replay_worker(),
            Command::SignalListener => worker::signal_listener(),
            Command::WriteUntilKilled => worker::write_until_killed(),
            Command::Become(args) => worker::become_program(&args.program, &args.arguments),
            Command::MakeSyncedCommits { engine } => worker::make_synced_commits(&engine),
            Command::DescribeEngine { engine } => worker::describe_engine(&engine),
        }
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

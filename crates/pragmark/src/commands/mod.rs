//! The commands, one file each.

mod agent;
mod anonymize;
mod ask;
mod compare;
mod completions;
mod conclusion;
mod crash;
mod digests;
mod doctor;
mod driver;
mod engine;
mod examination;
mod export;
mod fleet;
mod git;
mod guard;
mod history;
mod list;
mod load;
mod man;
mod measure;
mod needs;
mod new;
mod open;
mod outline;
mod output;
mod own_data;
mod own_text;
mod paper;
mod record;
mod repeat;
mod report;
mod run;
mod runs;
mod settings;
mod shared_memory;
mod show;
mod start;
mod tiers;
mod traffic;
mod trial;
mod trust;
mod tune;
mod work_folder;

pub use settings::binding;

use crate::cli::Command;
use crate::failure::{Exit, Failure};

/// Carries out a command, or prints the quick start.
pub fn execute(command: Option<Command>) -> Result<Exit, Failure> {
    match command {
        Some(command) => carry_out(command),
        None => start::execute(),
    }
}

fn carry_out(command: Command) -> Result<Exit, Failure> {
    match command {
        Command::Run(args) => run::execute(*args),
        Command::Measure(args) => measure::execute(&args),
        Command::Compare(args) => compare::execute(&args),
        Command::Tune(args) => tune::execute(&args),
        Command::Guard(args) => guard::execute(&args),
        Command::History(args) => history::execute(&args),
        Command::List(args) => list::execute(&args),
        Command::Show(args) => show::execute(&args),
        Command::Report(args) => report::execute(&args),
        Command::Open(args) => open::execute(&args),
        Command::Runs(args) => runs::execute(&args),
        Command::Settings(args) => settings::execute(&args),
        Command::Export(args) => export::execute(&args),
        Command::Load(args) => load::execute(&args),
        Command::Record(args) => record::execute(&args),
        Command::Trace(args) => traffic::execute(&args),
        Command::New(command) => new::execute(&command),
        Command::Anonymize(args) => anonymize::execute(&args),
        Command::Doctor(args) => doctor::execute(&args),
        Command::Crash(args) => crash::execute(&args),
        Command::Engine(command) => engine::execute(&command),
        Command::Agent(args) => agent::execute(&args),
        Command::Fleet(command) => fleet::execute(&command),
        Command::Completions(args) => completions::execute(&args),
        Command::Man => man::page(),
        Command::Trial => trial::execute(),
        Command::ContentionWorker => trial::contention_worker(),
        Command::ReplayWorker => trial::replay_worker(),
        Command::SignalListener => record::listen(),
        Command::WriteUntilKilled => trial::write_until_killed(),
        Command::Driver(args) => driver::execute(&args),
        Command::Become(args) => driver::become_program(&args),
        Command::MakeSyncedCommits { engine } => trial::make_synced_commits(&engine),
        Command::DescribeEngine { engine } => trial::describe_engine(&engine),
    }
}

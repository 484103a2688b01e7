//! The commands, one file each.

mod describe_engine;
mod doctor;
mod export;
mod list;
mod load;
mod man;
mod output;
mod paper;
mod report;
mod run;
mod show;
mod trial;

use crate::cli::Command;
use crate::failure::{Exit, Failure};

/// Carries out a command.
pub fn execute(command: Command) -> Result<Exit, Failure> {
    match command {
        Command::Run(args) => run::execute(args),
        Command::List(args) => list::execute(&args),
        Command::Show(args) => show::execute(&args),
        Command::Report(args) => report::execute(&args),
        Command::Export(args) => export::execute(&args),
        Command::Load(args) => load::execute(&args),
        Command::Doctor(args) => doctor::execute(&args),
        Command::Completions { shell } => man::completions(shell),
        Command::Man => man::page(),
        Command::Trial => trial::execute(),
        Command::DescribeEngine { engine } => describe_engine::execute(&engine),
    }
}

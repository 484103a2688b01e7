//! Options of `new`.

use clap::{Args, Subcommand};

/// The things that `new` makes.
#[derive(Debug, Subcommand)]
pub enum NewCommand {
    /// Write an experiment file with comments, which can be run at once.
    #[command(after_help = "\
Example:
  pragmark new experiment my-question     write my-question.toml
  pragmark run --quick my-question.toml   run it

`pragmark measure --write FILE` writes one from your own SQL and database.")]
    Experiment(NewExperimentArgs),
    /// Write a small driver for code of your own, with a workload, a metric and an experiment.
    #[command(after_help = "\
Example:
  pragmark new driver shop python              write the folder shop and the experiment shop.toml
  pragmark run shop.toml --drivers shop        measure it

Then replace its function `work` with calls of your own code.")]
    Driver(NewDriverArgs),
}

/// Options of `new experiment`.
#[derive(Debug, Args)]
pub struct NewExperimentArgs {
    /// Name of the experiment and of its file: lower-case letters, digits and hyphens.
    pub name: String,
}

/// Options of `new driver`.
#[derive(Debug, Args)]
pub struct NewDriverArgs {
    /// Name of the driver, of its workload and of the folder: lower-case letters, digits and hyphens.
    pub name: String,
    /// Language: python, ruby, node, go or java.
    #[arg(value_parser = drivers::language)]
    pub language: &'static str,
}

//! Options of `new`.

use clap::{Args, Subcommand};
use drivers::Language;

/// What `new` makes.
#[derive(Debug, Subcommand)]
pub enum NewCommand {
    /// Write a small driver for code of your own, with a workload, a metric and an experiment.
    #[command(after_help = "\
Example:
  pragmark new driver shop --language python   write the folder shop and the experiment shop.toml
  pragmark run shop.toml --drivers shop        measure it

Then replace its function `work` with calls of your own code.")]
    Driver(NewDriverArgs),
}

/// Options of `new driver`.
#[derive(Debug, Args)]
pub struct NewDriverArgs {
    /// Name of the driver, of its workload and of the folder: lower-case letters, digits and hyphens.
    pub name: String,
    /// Language: python, ruby, node, go or java.
    #[arg(long, value_name = "LANGUAGE")]
    pub language: Language,
}

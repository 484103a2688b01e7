//! Options of `list` and `show`.

use clap::Args;
use clap_complete::engine::ArgValueCompleter;
use lab::experiment::Scale;

use super::values::values_of;
use crate::commands::list::List;
use crate::complete;

/// Options of `list`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pragmark list             all experiments
  pragmark list workloads   what `base` and `factors` of an experiment accept
  pragmark list pragmas     PRAGMAs and connection settings")]
pub struct ListArgs {
    /// Kind of things to list.
    #[arg(value_enum, default_value = "experiments")]
    pub what: List,
}

/// Options of `show`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pragmark show index-timing       one experiment
  pragmark show my-question.toml   check a file of your own")]
pub struct ShowArgs {
    /// Experiment: a name from `pragmark list`, or the path of a file.
    #[arg(add = ArgValueCompleter::new(complete::experiments))]
    pub experiment: String,
    /// Scale to show variants for.
    #[arg(long, value_enum, default_value = "default")]
    pub scale: ScaleArg,
}

values_of! {
    /// Data size.
    enum ScaleArg of Scale {
        /// Less than a second per trial, for a first impression.
        Quick,
        /// A few seconds per trial, for reliable figures.
        Default,
        /// The published sizes: takes hours and much disk space.
        Paper,
    }
}

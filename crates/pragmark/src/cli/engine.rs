//! What is done with engines, and with which options.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// What is done with engines.
#[derive(Debug, Subcommand)]
#[command(after_help = "\
Examples:
  pragmark engine list                      what is at hand, and what can be built
  pragmark engine build 3.46.0 3.54.1+recommended+pgo
  pragmark engine build --for engines-versions-options
  pragmark engine add /opt/sqlite/libsqlite3.so --name ours
  pragmark engine show 3.54.1+article       how it is, or would be, compiled

Engines are kept in PRAGMARK_CACHE, or else in pragmark below XDG_CACHE_HOME or HOME/.cache.")]
pub enum EngineCommand {
    /// List the engines at hand, the versions that can be built, and the option sets.
    List {
        /// Print it as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Build engines ahead of a run, and print the path of each.
    Build(BuildArgs),
    /// Keep a copy of a shared library under a name.
    Add {
        /// The library.
        library: PathBuf,
        /// Its name: lower-case letters, digits and hyphens.
        #[arg(long, value_name = "NAME")]
        name: String,
    },
    /// Remove engines that were built or added.
    Remove {
        /// Their names.
        #[arg(required_unless_present = "all")]
        engines: Vec<String>,
        /// Remove every engine that is kept.
        #[arg(long, conflicts_with = "engines")]
        all: bool,
    },
    /// Show an engine: version, source id, options, and how it was or would be compiled.
    Show {
        /// Its name or path.
        engine: String,
        /// Print it as JSON.
        #[arg(long)]
        json: bool,
    },
}

/// Options of `engine build`.
#[derive(Debug, Args)]
pub struct BuildArgs {
    /// Versions with option sets, as in 3.46.0 or 3.54.1+recommended+lto.
    #[arg(required_unless_present = "experiments", value_name = "ENGINE")]
    pub engines: Vec<String>,
    /// Build what this experiment needs: a name from `pragmark list`, or the path of a file.
    #[arg(long = "for", value_name = "EXPERIMENT")]
    pub experiments: Vec<String>,
    /// Engines built at a time [default: as many as there are processors].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub jobs: Option<u16>,
    /// Print lines instead of a progress bar; the default where standard error is no terminal.
    #[arg(long)]
    pub plain: bool,
}

//! Options of `engine`.

use std::path::PathBuf;

use app::{Result, library};
use clap::{Args, Subcommand};
use clap_complete::engine::ArgValueCompleter;

use crate::commands::engine;
use crate::complete;
use crate::exit::Exit;

/// Commands of `engine`.
#[derive(Debug, Subcommand)]
#[command(after_help = "\
Examples:
  pragmark engine list                  available engines and option sets
  pragmark engine build 3.46.0 3.54.1+recommended+pgo
  pragmark engine build engines-versions-options
  pragmark engine add /opt/sqlite/libsqlite3.so ours
  pragmark engine show 3.54.1+article   how an engine is, or would be, compiled

Engines are stored in PRAGMARK_CACHE if it is set, otherwise in $XDG_CACHE_HOME/pragmark or ~/.cache/pragmark.")]
pub enum EngineCommand {
    /// List available engines, versions that can be built, and option sets.
    List {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Build engines and print the path of each; `run` also builds what it needs.
    Build(BuildArgs),
    /// Store a copy of a shared library under a name.
    Add {
        /// Path of the library.
        library: PathBuf,
        /// Name of the engine: lower-case letters, digits and hyphens.
        name: String,
    },
    /// Remove engines that were built or added.
    Remove {
        /// Engines to remove.
        #[arg(required_unless_present = "all", add = ArgValueCompleter::new(complete::engines))]
        engines: Vec<String>,
        /// Remove all stored engines.
        #[arg(long, conflicts_with = "engines")]
        all: bool,
    },
    /// Show an engine: version, source id, options, and how it was or would be compiled.
    Show {
        /// Name or path of the engine.
        #[arg(add = ArgValueCompleter::new(complete::engines))]
        engine: String,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

/// Options of `engine build`.
#[derive(Debug, Args)]
pub struct BuildArgs {
    /// Engines to build: versions with optional option sets, such as 3.46.0 or 3.54.1+recommended+lto; or experiments,
    /// by a name from `pragmark list` or the path of a file, whose engines are built ahead of a run.
    #[arg(required = true, value_name = "ENGINE", add = ArgValueCompleter::new(complete::engines))]
    pub engines: Vec<String>,
}

impl EngineCommand {
    /// Lists, builds, adds, removes or shows engines.
    pub fn execute(self) -> Result<Exit> {
        match self {
            EngineCommand::List { json } => engine::list(json),
            EngineCommand::Build(args) => {
                let known: Vec<String> = library::ids();
                let is_experiment = |name: &String| name.ends_with(".toml") || known.contains(name);
                let (experiments, engines): (Vec<_>, Vec<_>) =
                    args.engines.into_iter().partition(is_experiment);
                engine::build(&engines, &experiments)
            }
            EngineCommand::Add { library, name } => engine::add(&library, &name),
            EngineCommand::Remove { all: true, .. } => engine::remove_all(),
            EngineCommand::Remove { engines, .. } => engine::remove(&engines),
            EngineCommand::Show { engine: name, json } => engine::show(&name, json),
        }
    }
}
